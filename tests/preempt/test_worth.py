"""Where a length predictor stops being worth it."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from fluidkv.errors import InputError
from fluidkv.preempt import DrawnFromWorkload, Perfect, crossing, gains, with_and_without
from fluidkv.runs.arrivals import saturated
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.engines import VLLM
from fluidkv.serving.limits import Limits
from fluidkv.serving.rules import Allocation
from fluidkv.workload import RequestClass, Workload

MIX = Workload(tuple(RequestClass(4, n, Fraction(1, 4)) for n in (2, 5, 9, 20)))
TABLES = [saturated(MIX, 40, rng=run) for run in range(3)]
ESTIMATES = replace(VLLM, allocation=Allocation.ESTIMATE_THEN_BLOCKS)
CLOCK, LIMITS = IterationClock(1.0), Limits(60)
LEVELS = {0.0: Perfect(), 1.0: DrawnFromWorkload()}


def test_without_is_what_the_other_rules_do_and_predictions_do_not_matter_to_it() -> None:
    found = with_and_without(TABLES, VLLM, VLLM, LIMITS, CLOCK, LEVELS)
    assert (gains(found, "recompute_tax") == 0).all()
    assert found.without_recompute_tax.dims == ("run",)


def test_perfect_estimates_recompute_nothing_and_wrong_ones_do() -> None:
    found = with_and_without(TABLES, ESTIMATES, VLLM, LIMITS, CLOCK, LEVELS)
    assert (found.recompute_tax.sel(error=0) == 0).all()
    assert (found.recompute_tax.sel(error=1) > 0).all()
    assert (found.without_recompute_tax > 0).all()
    assert (gains(found, "recompute_tax")[0] == found.without_recompute_tax).all()


def test_a_higher_throughput_is_a_gain_and_a_longer_tail_is_none() -> None:
    found = with_and_without(TABLES, ESTIMATES, VLLM, LIMITS, CLOCK, LEVELS)
    more = found.output_throughput_per_time - found.without_output_throughput_per_time
    assert np.array_equal(gains(found, "output_throughput_per_time"), more)
    later = found.ttft_p99 - found.without_ttft_p99
    assert np.array_equal(gains(found, "ttft_p99"), -later)


def test_gains_end_where_a_line_through_them_does() -> None:
    gained = np.array([[3.0, 3], [1, 1], [-1, -1], [2, 2]])
    found = crossing([0, 1, 2, 3], gained)
    assert (found.level, found.low, found.high) == (1.5, 1.5, 1.5)


def test_gains_that_never_end_or_never_begin() -> None:
    assert crossing([0, 1], np.ones((2, 4))).level == np.inf
    assert crossing([0.5, 1], -np.ones((2, 4))).level == 0.5


def test_the_interval_is_wider_where_runs_differ() -> None:
    same = np.repeat([[1.0], [-1.0]], 20, axis=1)
    far = same + np.random.default_rng(0).normal(0, 1, 20)
    found = crossing([0, 1], far)
    assert found.low < found.level < found.high
    assert crossing([0, 1], same).low == 0.5
    assert crossing([0, 1], far) == found


@pytest.mark.parametrize(
    "bad",
    [
        lambda: with_and_without(TABLES, VLLM, VLLM, LIMITS, CLOCK, {}),
        lambda: gains(with_and_without(TABLES, VLLM, VLLM, LIMITS, CLOCK, LEVELS), "tpot"),
        lambda: crossing([1, 0], np.ones((2, 2))),
        lambda: crossing([0], np.ones((2, 2))),
    ],
)
def test_bad_input_is_one_line(bad) -> None:
    with pytest.raises(InputError):
        bad()
