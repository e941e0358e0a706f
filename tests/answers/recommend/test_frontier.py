"""Settings against each other: what is tried, what is on the frontier, what is taken."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fluidkv.answers.recommend.choosing import (
    frontier_of,
    smallest_without_preemptions,
    watermarks_alone,
)
from fluidkv.answers.recommend.settings import sweep
from fluidkv.answers.served.paired import difference, within_noise
from fluidkv.answers.served.setting import Setting
from fluidkv.answers.served.slo import SLO_METRICS, Slo
from fluidkv.errors import InputError

NOW = Setting()


def test_sweep_turns_each_knob_alone_and_the_two_caps_in_pairs():
    rate = Fraction(1, 2)
    found = sweep(NOW, {"watermark": [0.0, 0.1], "max_num_seqs": [8, 9], "admission_rate": [rate]})
    assert found[0] == NOW
    assert set(found) == {
        NOW,
        Setting(watermark=0.1),
        Setting(max_num_seqs=8),
        Setting(max_num_seqs=9),
        Setting(admission_rate=rate),
        Setting(watermark=0.1, max_num_seqs=8),
        Setting(watermark=0.1, max_num_seqs=9),
    }
    assert len(found) == len(set(found))


def test_sweep_keeps_what_is_set_now_in_all_other_knobs():
    now = Setting(watermark=0.05, max_num_seqs=64)
    found = sweep(now, {"admission_rate": [Fraction(2)]})
    assert found == (now, Setting(0.05, 64, Fraction(2)))
    assert found[1].changed(now) == ("admission_rate",)


def _beats(row, other):
    """Literally: as good everywhere and better somewhere; more in the first, less in the others."""
    less = all(a <= b for a, b in zip(row[1:], other[1:], strict=True))
    return row != other and row[0] >= other[0] and less


@given(st.sets(st.tuples(*[st.integers(0, 4)] * 3), min_size=1, max_size=12))
def test_the_frontier_is_what_no_other_beats(points):
    rows = list(points)
    frontier = frontier_of(np.array(rows, float), [NOW] * len(rows))
    assert frontier == tuple(
        i for i, row in enumerate(rows) if not any(_beats(other, row) for other in rows)
    )


def test_a_missing_value_is_the_worst():
    values = np.array([[1.0, math.nan], [1.0, 5.0], [2.0, math.nan]])
    assert frontier_of(values, [NOW] * 3) == (1, 2)


def test_of_twins_the_one_with_fewest_knobs_turned_stays():
    settings = [NOW, Setting(0.1, 8), Setting(0.0, 8), Setting(0.2, 8)]
    values = np.array([[1.0, 2.0], [3.0, 4.0], [3.0, 4.0], [3.0, 5.0]])
    assert frontier_of(values, settings) == (0, 2)


def test_difference_is_students_interval_of_the_paired_gaps():
    """Gaps 1, 2, 3: mean 2, standard error 1/sqrt(3); t(0.975, 2 degrees) = 4.30265 (any table)."""
    mean, half = difference(np.array([2.0, 4.0, 6.0]), np.array([1.0, 2.0, 3.0]))
    assert mean == 2
    assert half == pytest.approx(4.302653 / math.sqrt(3), rel=1e-6)  # the table's digits
    assert within_noise(np.array([2.0, 4.0, 6.0]), np.array([1.0, 2.0, 3.0]))


def test_runs_are_compared_with_their_own_twin():
    """Means 1 apart, runs 100 apart: paired, the gap is the same in each run, so it is no noise."""
    base = np.array([0.0, 100.0, 200.0])
    assert not within_noise(base + 1, base)
    assert within_noise(base, base)


def test_one_run_knows_no_noise():
    assert difference(np.array([2.0]), np.array([1.0])) == (1.0, 0.0)
    assert not within_noise(np.array([2.0]), np.array([1.0]))
    assert within_noise(np.array([2.0]), np.array([2.0]))


def test_a_missed_bound_is_measured_in_the_bound_and_zero_in_the_worst():
    values = np.array([[3.0, 1.0], [2.0, 2.0], [math.nan, 1.0]])
    assert Slo("ttft_p99", 2.0).excess(values).tolist() == [0.5, 0.0, math.inf]
    assert Slo("ttft_p99", 0.0).excess(values).tolist() == [1.0, 2 / 3, math.inf]
    assert Slo("throughput", 2.0).excess(values).tolist() == [0.5, 0.0, math.inf]


@pytest.mark.parametrize(
    ("metric", "bound"), [("p99", 1.0), ("ttft_p99", -1.0), ("ttft_p99", math.inf)]
)
def test_slos_that_mean_nothing_are_refused(metric, bound):
    with pytest.raises(InputError):
        Slo(metric, bound)


def test_more_is_better_of_throughputs_alone():
    assert {name for name, least in SLO_METRICS.items() if least} == {
        "".join(parts)
        for parts in itertools.product(("", "output_"), ("throughput",), ("", "_per_time"))
    }


def test_the_smallest_watermark_that_ends_preemption_in_every_run():
    settings = (NOW, Setting(0.2), Setting(0.1), Setting(0.01, 8), Setting(0.05))
    preemptions = np.array([[5, 0], [0, 0], [0, 0], [0, 0], [0, 1]])
    assert watermarks_alone(settings) == (0, 4, 2, 1)
    assert smallest_without_preemptions(settings, preemptions) == 2
    assert smallest_without_preemptions(settings[:1], preemptions[:1]) is None
