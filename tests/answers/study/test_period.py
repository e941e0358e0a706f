"""The period that a study holds against a log."""

import fluidkv as fk
from fluidkv.answers.study.study import study_system
from fluidkv.measured import measure
from tests.measured.series import sine


def _predicted_iterations(lengths: list[tuple[int, int]], capacity: int) -> float:
    measured = measure(sine(20.0), window=(0, 199))
    system = fk.System(fk.Workload.from_lengths(lengths), capacity)
    comparison = study_system(system, iterations=40, measurement=measured).comparison
    assert comparison is not None
    assert comparison.predicted_period_s is not None
    return comparison.predicted_period_s * measured.iterations_per_s


def test_where_all_are_alike_it_is_that_of_the_worst_case() -> None:
    """All modes grow as fast; the one listed first turns once in two iterations."""
    assert round(_predicted_iterations([(4, 8)], 100), 9) == 8


def test_of_a_mix_it_is_that_of_the_leading_mode() -> None:
    lengths = [(4, 8), (4, 5)]
    leading = fk.stability(fk.System(fk.Workload.from_lengths(lengths), 100)).leading_period
    assert leading is not None
    assert round(_predicted_iterations(lengths, 100), 9) == round(leading, 9)
