"""Policies side by side: the same prompts, the same tokens held, measured alike."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fluidkv.errors import InputError
from fluidkv.runs.requests import Requests
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.limits import Limits
from fluidkv.serving.run import serve
from fluidkv.serving.server import Server
from fluidkv.wait.policy import NestedWait, Wait
from fluidkv.wait.runs.compare import MEASURES, Served, Unlimited, compare_policies
from fluidkv.wait.runs.stages import LPF, engine_requests

CLOCK = IterationClock(1.0)


def _table(size: int = 12, *, inputs: int = 3, outputs: int = 2) -> Requests:
    """One prompt a second from 0 on."""
    return Requests(
        np.full(size, inputs), np.full(size, outputs), arrival=np.arange(size, dtype=float)
    )


prompts = st.lists(
    st.tuples(st.integers(2, 9), st.integers(1, 8), st.integers(0, 3)), min_size=1, max_size=25
)


@settings(max_examples=40)
@given(prompts, st.integers(18, 60), st.sampled_from([None, Fraction(3, 2)]))
def test_lpf_on_prompts_is_restart_on_the_requests_of_congestion(
    rows: list[tuple[int, int, int]], capacity: int, rate: Fraction | None
) -> None:
    """l0 = l - 1 and l1 = l' + 1: the same tokens, evictions and completions, by iteration."""
    inputs, outputs, gaps = (np.array(column) for column in zip(*rows, strict=True))
    arrival = np.cumsum(gaps).astype(float)
    limits = Limits(capacity, admission_rate=rate)
    ours = engine_requests(Requests(inputs, outputs, arrival=arrival))
    theirs = Requests(inputs - 1, outputs + 1, arrival=arrival)
    one = serve(ours, Server(LPF, limits, backend="reference"))
    other = serve(theirs, Server("restart", limits, backend="reference"))
    for name in ("used_blocks", "preempt", "completed", "admit_new", "waiting"):
        np.testing.assert_array_equal(one[name], other[name], err_msg=name)


def test_a_lone_prompt_takes_the_same_time_everywhere() -> None:
    """Far apart, l' + 1 = 3 iterations each, whoever serves them."""
    arrival = 10.0 * np.arange(5)
    table = Requests(np.full(5, 3), np.full(5, 2), arrival=arrival)
    found = compare_policies(
        table,
        {"wait": Wait([1]), "nested": NestedWait([2], [1]), "lpf": Served(LPF)},
        clock=CLOCK,
        capacity=20,
        window=(5.0, 35.0),
    )
    # Under WAIT each further stage waits for a newcomer: the next two come 10 and 20 later.
    assert found.latency_mean.sel(policy="lpf").item() == pytest.approx(3.0, abs=1e-12)
    for name in ("wait", "nested"):
        # arrivals 10, 20, 30; the last is cut off at 40, one stage before its end
        assert found.latency_mean.sel(policy=name).item() == pytest.approx((21 + 20 + 10) / 3)
        assert found.unfinished.sel(policy=name).item() == pytest.approx(2 / 3)


def test_measures_by_hand() -> None:
    """Twelve prompts, one a second, thresholds of one: all three stages run in every iteration."""
    found = compare_policies(
        _table(), {"wait": Wait([1])}, clock=CLOCK, capacity=12, window=(3.0, 8.0)
    ).isel(policy=0, run=0)
    assert found.throughput == pytest.approx(2.0)  # one of two outputs a second
    assert found.offered == pytest.approx(2.0)
    assert found.latency_mean == pytest.approx(3.0)
    assert found.peak == pytest.approx((3 + 4 + 5) / 12)
    assert found.evictions == found.recompute_tax == found.unfinished == 0


def test_who_is_not_served_counts_so_far() -> None:
    """A threshold that is never reached: nobody is served, and latencies are not missing."""
    found = compare_policies(
        _table(), {"wait": Wait([13])}, clock=CLOCK, capacity=400, window=(0.0, 11.0)
    ).isel(policy=0, run=0)
    assert found.unfinished == 1
    assert found.throughput == found.peak == 0
    assert found.latency_mean == pytest.approx(np.mean(11 - np.arange(11)))


def test_without_a_limit_the_peak_says_how_far_above() -> None:
    table = Requests(np.full(12, 3), np.full(12, 2), arrival=np.arange(12.0))
    policy = Wait([3])
    found = compare_policies(
        table,
        {"free": Unlimited(policy), "tight": policy},
        clock=CLOCK,
        capacity=20,
        window=(0.0, 11.0),
    )
    free, tight = (found.sel(policy=name).isel(run=0) for name in ("free", "tight"))
    assert free.evictions == 0
    assert free.peak > 1
    assert tight.peak <= 1


def test_many_runs_are_each_alone() -> None:
    """Tables, capacities, windows and policies by run; a policy that is not in a run is NaN."""
    tables = [_table(12), _table(20, outputs=3)]
    windows = [(2.0, 9.0), (4.0, 17.0)]
    both = compare_policies(
        tables,
        {"wait": Wait([2]), "some": [None, Served("vllm")]},
        clock=CLOCK,
        capacity=[30, 50],
        window=windows,
    )
    for run, (table, room, window) in enumerate(zip(tables, (30, 50), windows, strict=True)):
        alone = compare_policies(
            table, {"wait": Wait([2])}, clock=CLOCK, capacity=room, window=window
        )
        for name in MEASURES:
            assert both[name].sel(policy="wait")[run] == alone[name][0, 0], name
    assert np.isnan(both.throughput.sel(policy="some")[0])
    assert both.throughput.sel(policy="some")[1] > 0


@pytest.mark.parametrize(
    ("changed", "argument"),
    [
        ({"contenders": {}}, "contenders"),
        ({"clock": replace(CLOCK, per_prefill_pair=0.1)}, "clock"),
        ({"clock": IterationClock.iterations()}, "clock"),
        ({"window": (2.0, 2.0)}, "window"),
        ({"window": (2.0, 12.0)}, "window"),
        ({"capacity": [20, 20, 20], "requests": [_table(), _table()]}, "requests"),
    ],
)
def test_what_cannot_be_compared_is_named(changed: dict, argument: str) -> None:
    given = {
        "requests": _table(),
        "contenders": {"wait": Wait([1])},
        "clock": CLOCK,
        "capacity": 20,
        "window": (2.0, 9.0),
    } | changed
    with pytest.raises(InputError) as caught:
        compare_policies(given.pop("requests"), given.pop("contenders"), **given)
    assert caught.value.argument == argument
