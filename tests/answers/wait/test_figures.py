"""The pictures of an answer about WAIT: their numbers, and that they draw in every case."""

from fractions import Fraction

import numpy as np
import pytest

from fluidkv.answers.wait.figures import wait_figures
from fluidkv.answers.wait.study import wait_study
from fluidkv.figures import write_figures
from fluidkv.wait.model import PromptType, WaitSystem
from fluidkv.wait.theory.fluid import fluid_equilibrium

TENTH = Fraction(1, 10)
TWO = WaitSystem((PromptType(1, 1, 1), PromptType(1, 1, 2)), TENTH, TENTH)


def test_memory_by_rate_is_the_balanced_state_and_above_it_the_thresholds():
    (figure,) = wait_figures(wait_study(TWO, 9, simulate=False))
    data = figure.data()
    factors, balanced = data["rate_factor"], data["balanced"]
    for factor, held in zip(factors, balanced, strict=True):
        exact = fluid_equilibrium(TWO.scaled(Fraction(f"{factor:.3f}"))).memory
        assert held == float(exact)
    assert (data["whole"] >= balanced).all()
    assert (np.diff(data["whole"]) >= 0).all()
    assert data["limit"] == 1 / 0.9
    assert factors.max() < data["limit"]


def test_memory_by_segments_is_the_bound_in_its_terms():
    answer = wait_study(TWO, 200, unknown_lengths=True, simulate=False)
    assert answer.nested is not None
    data = wait_figures(answer)[1].data()
    assert data["segments"].tolist() == [2]  # one alone has a load above 1
    total = sum(data[name][0] for name in ("batch", "queue", "tail"))
    assert total == pytest.approx(answer.nested.chosen.bound.upper, rel=1e-9)
    assert data["chosen"] == answer.nested.chosen.bound.capacity


def test_policies_have_a_point_for_each_seed():
    """That all of them draw, `tests/questions/test_contract.py` holds."""
    answer = wait_study(TWO, 9, unknown_lengths=True, seeds=2, duration=50)
    figures = wait_figures(answer)
    assert [figure.id for figure in figures] == ["memory_by_rate", "memory_by_segments", "policies"]
    data = figures[-1].data()
    assert answer.runs is not None
    assert data["policy"].tolist() == [0, 0, 1, 1, 2, 2]
    assert data["throughput"][:2].tolist() == list(answer.runs.policies[0].throughput)


def test_titles_say_what_they_are_about():
    answer = wait_study(TWO, 200, unknown_lengths=True, seeds=2, duration=50)
    rates, segments, policies = wait_figures(answer)
    assert rates.title.startswith("If outputs were known: ")
    assert segments.title.startswith("Best found: ")
    assert "FCFS, running first: 0. Here nobody is evicted, and first come" in policies.title


def test_no_marker_is_cut_off():
    from matplotlib.figure import Figure as Canvas

    *_, policies = wait_figures(wait_study(TWO, 9, seeds=2, duration=50))
    canvas, data = Canvas(), policies.data()
    policies.draw(data, canvas)
    for ax, name in zip(canvas.axes, ("throughput", "latency_p99", "evictions"), strict=True):
        assert ax.get_ylim()[1] >= 1.08 * np.nanmax(data[name])


def test_a_clock_without_memory_draws(tmp_path):
    free = WaitSystem(TWO.types, 1, 0)
    write_figures(wait_figures(wait_study(free, 90, simulate=False)), tmp_path / "new")
