"""Policies side by side: the same prompts, the same tokens held, measured alike."""

import numpy as np
import pytest

from fluidkv.runs.requests import Requests
from fluidkv.serving.clock import IterationClock
from fluidkv.wait.policy import NestedWait, Wait
from fluidkv.wait.runs.stages import LPF
from fluidkv_papers.wait.instances.compared import Served, Unlimited, compare_policies

CLOCK = IterationClock(1.0)


def _table(size: int = 12, *, inputs: int = 3, outputs: int = 2) -> Requests:
    """One prompt a second from 0 on."""
    return Requests(
        np.full(size, inputs), np.full(size, outputs), arrival=np.arange(size, dtype=float)
    )


def test_a_lone_prompt_takes_the_same_time_everywhere() -> None:
    """Far apart, l' + 1 = 3 iterations each, whoever serves them."""
    table = Requests(np.full(5, 3), np.full(5, 2), arrival=10.0 * np.arange(5))
    policies = {"lpf": [Served(LPF)], "wait": [Wait([1])], "nested": [NestedWait([2], [1])]}
    setting = {"clock": CLOCK, "capacity": 20, "windows": [(5.0, 35.0)]}
    measured = compare_policies([table], policies, **setting)
    # Under WAIT each further stage waits for a newcomer: the next two come 10 and 20 later.
    # Of the arrivals 10, 20, 30 the last is cut off at 40, one stage before its end.
    cut = (21 + 20 + 10) / 3
    assert measured["latency_mean"][:, 0].tolist() == pytest.approx([3, cut, cut])
    assert measured["unfinished"][:, 0].tolist() == pytest.approx([0, 2 / 3, 2 / 3])


def test_measures_by_hand() -> None:
    """Twelve prompts, one a second, thresholds of one: all three stages run in every iteration."""
    setting = {"clock": CLOCK, "capacity": 12, "windows": [(3.0, 8.0)]}
    measured = compare_policies([_table()], {"wait": [Wait([1])]}, **setting)
    assert measured["throughput"] == pytest.approx(2.0)  # one of two outputs a second
    assert measured["offered"] == pytest.approx(2.0)
    assert measured["latency_mean"] == pytest.approx(3.0)
    assert measured["peak"] == pytest.approx((3 + 4 + 5) / 12)
    assert measured["evictions"] == measured["recompute_tax"] == measured["unfinished"] == 0


def test_who_is_not_served_counts_so_far() -> None:
    """A threshold that is never reached: nobody is served, and latencies are not missing."""
    setting = {"clock": CLOCK, "capacity": 400, "windows": [(0.0, 11.0)]}
    measured = compare_policies([_table()], {"wait": [Wait([13])]}, **setting)
    assert measured["unfinished"] == 1
    assert measured["throughput"] == measured["peak"] == 0
    assert measured["latency_mean"] == pytest.approx(np.mean(11 - np.arange(11)))


def test_without_a_limit_the_peak_says_how_far_above() -> None:
    policies = {"free": [Unlimited(Wait([3]))], "tight": [Wait([3])]}
    setting = {"clock": CLOCK, "capacity": 20, "windows": [(0.0, 11.0)]}
    measured = compare_policies([_table()], policies, **setting)
    assert measured["evictions"][0] == 0
    assert measured["peak"][1] <= 1 < measured["peak"][0]


def test_many_runs_are_each_alone() -> None:
    """Tables, windows and policies by run; a policy that is not in a run is NaN."""
    tables, windows = [_table(12), _table(20, outputs=3)], [(2.0, 9.0), (4.0, 17.0)]
    policies = {"wait": [Wait([2])] * 2, "some": [None, Served("vllm")]}
    both = compare_policies(tables, policies, clock=CLOCK, capacity=30, windows=windows)
    for run, (table, window) in enumerate(zip(tables, windows, strict=True)):
        setting = {"clock": CLOCK, "capacity": 30, "windows": [window]}
        alone = compare_policies([table], {"wait": [Wait([2])]}, **setting)
        assert {name: values[0, run] for name, values in both.items()} == {
            name: values[0, 0] for name, values in alone.items()
        }
    assert np.isnan(both["throughput"][1, 0])
    assert both["throughput"][1, 1] > 0
