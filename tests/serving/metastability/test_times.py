"""Collapse, return and the states between, against exact cycles and bounds."""

import math
from fractions import Fraction

import numpy as np
import pytest

from fluidkv.errors import InputError
from fluidkv.exact.one_class.equilibria import envelope
from fluidkv.exact.one_class.whole import whole_cycle
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.limits import Limits
from fluidkv.serving.metastability import times as metastability
from fluidkv.serving.metastability.cohorts import idle, serve_cohorts
from fluidkv.serving.metastability.collapse import (
    collapse_window,
    collapsed_cycles,
    collapsed_start,
    return_window,
)
from fluidkv.serving.metastability.survival import hazard, memoryless
from fluidkv.serving.metastability.times import Times, ramp, time_to_collapse, time_to_return
from fluidkv.serving.metastability.two_starts import two_starts
from fluidkv.workload import RequestClass, System, Workload

FIGURE_4, LIMITS = RequestClass(10, 40), Limits(2000)
SMALL, SMALL_LIMITS = RequestClass(3, 7), Limits(61)


# --- what the words mean --------------------------------------------------------------------------


def test_collapse_is_the_first_of_so_many_windows_that_evict_while_the_queue_grows() -> None:
    preempt = [[0, 1, 1, 0, 2, 3, 4, 5], [1, 1, 1, 1, 1, 1, 1, 1], [0, 0, 0, 0, 0, 0, 1, 1]]
    waiting = [[0, 1, 2, 3, 4, 5, 6, 7], [9, 8, 7, 6, 5, 4, 3, 4], [0, 0, 0, 0, 0, 0, 1, 2]]
    assert collapse_window(preempt, waiting, windows=3).tolist() == [4, -1, -1]
    assert collapse_window(preempt, waiting, windows=2).tolist() == [1, 6, 6]
    assert collapse_window(preempt, waiting, windows=9).tolist() == [-1, -1, -1]


def test_return_needs_calm_and_few_waiting() -> None:
    preempt = [[1, 0, 0, 0, 1, 0], [1, 0, 0, 0, 0, 0], [1, 1, 0, 0, 0, 1]]
    waiting = [[9, 9, 9, 2, 2, 2], [9, 9, 9, 2, 2, 2], [0, 0, 0, 0, 0, 0]]
    assert return_window(preempt, waiting, calm=3, few=3).tolist() == [-1, 3, 2]
    assert return_window(preempt, waiting, calm=3, few=10).tolist() == [1, 1, 2]


@pytest.mark.parametrize("windows", [2, 10])
def test_chunks_leave_no_seam(monkeypatch: pytest.MonkeyPatch, windows: int) -> None:
    """In pieces of 7 windows, as in one piece. A single run draws the same arrivals either way."""
    horizon, rate, seen = 700, 1.1, set()
    monkeypatch.setattr(metastability, "_CHUNK", 7)
    for seed in range(20):
        times = time_to_collapse(
            SMALL, SMALL_LIMITS, rate, rng=seed, runs=1, horizon=horizon, windows=windows
        )
        arrivals = np.random.default_rng(seed).poisson(rate, (horizon, 1))
        records, _ = serve_cohorts(SMALL, SMALL_LIMITS, arrivals, every=7)
        (onset,) = collapse_window(records.preempt, records.waiting, windows=windows)
        cut = 100 - windows + 1
        assert times.observed.tolist() == [onset >= 0]
        assert times.duration.tolist() == [7 * (onset + 1 if onset >= 0 else cut)]
        seen.add(int(onset) // 7)
    assert len(seen) > 1  # in several pieces


def test_runs_that_are_let_go_leave_the_others_in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """Backlogs out of order: each run takes the time of its own."""
    monkeypatch.setattr(metastability, "_CHUNK", 3)
    backlog = np.array([100, 0, 300, 30])
    start = idle(SMALL, 4)._replace(queue=backlog)
    times = time_to_return(SMALL, SMALL_LIMITS, 0.01, start, rng=0, horizon=7000, calm=2)
    assert times.observed.all()
    assert np.argsort(times.duration).tolist() == np.argsort(backlog).tolist()


def test_runs_without_collapse_are_cut_off_where_the_last_could_have_begun() -> None:
    found = time_to_collapse(FIGURE_4, LIMITS, 0.3, rng=0, runs=2, horizon=1010, windows=10)
    assert found.duration.tolist() == [(25 - 10 + 1) * 40] * 2
    assert not found.observed.any()


# --- the collapsed state --------------------------------------------------------------------------


def test_collapsed_states_are_two_exact_cycles() -> None:
    """1.00 of the paper, and 531/511: why whole requests show "about 1.04" and 4.2 evictions."""
    cycles = collapsed_cycles(FIGURE_4, LIMITS, rng=1, runs=60, settle=60)
    assert {(c.throughput, c.preemptions, c.period) for c in cycles} == {
        (Fraction(531, 511), Fraction(2158, 511), 511),
        (Fraction(1), Fraction(179, 40), 40),
    }
    assert sum(c.runs for c in cycles) == 60
    system = System(Workload((FIGURE_4,)), 2000)
    assert envelope(system)[-1].lowest == 1


@pytest.mark.thorough
def test_the_exact_map_ends_on_the_same_cycle() -> None:
    start = collapsed_start(FIGURE_4, LIMITS, rng=1, runs=1, backlog=0, settle=60)
    # With j outputs before an iteration: at stage j - 1 after admission of the one before.
    state = [*start.cohorts[:, 0].tolist(), 0]
    system = System(Workload((FIGURE_4,)), 2000)
    cycle = whole_cycle(system, state, iterations=5_000)
    assert cycle is not None
    assert (cycle.throughput, cycle.period) in {(Fraction(531, 511), 511), (Fraction(1), 40)}


def test_a_run_that_does_not_repeat_itself_in_time_is_said() -> None:
    with pytest.raises(ArithmeticError, match="have not repeated themselves"):
        collapsed_cycles(FIGURE_4, LIMITS, rng=1, runs=4, settle=5)


def test_collapsed_starts_have_the_backlog_and_no_more_than_the_memory() -> None:
    start = collapsed_start(FIGURE_4, LIMITS, rng=1, runs=5, backlog=77, settle=10)
    assert start.queue.tolist() == [77] * 5
    tokens = (start.cohorts * (10 + np.arange(1, 40))[:, None]).sum(0)
    assert (tokens <= 2000).all()
    assert (tokens > 1000).all()


# --- collapse and return --------------------------------------------------------------------------


@pytest.mark.thorough
def test_collapse_comes_sooner_under_more_load_and_without_memory() -> None:
    """Seeds 0; rates apart by far more than the intervals are wide."""
    previous = math.inf
    for rate, horizon in ((1.2, 6000), (1.3, 6000), (1.4, 3000)):
        times = time_to_collapse(FIGURE_4, LIMITS, rate, rng=0, runs=300, horizon=horizon)
        found = hazard(times.duration, times.observed)
        assert 1 / found.low < previous
        previous = 1 / found.high
        if rate == 1.2:
            # A p-value below 0.001 would come once in 1,000 seeds; this is one fixed seed.
            assert memoryless(times.duration, times.observed, after=400, resolution=40) > 1e-3


def test_below_the_collapsed_rate_a_server_drains_and_returns() -> None:
    start = collapsed_start(FIGURE_4, LIMITS, rng=3, runs=100, backlog=100)
    times = time_to_return(FIGURE_4, LIMITS, 0.8, start, rng=3, horizon=4000)
    assert times.observed.all()
    # Between the fluid times of the fastest cycle and, twice over, of the slowest.
    assert np.median(times.duration) >= 100 / (531 / 511 - 0.8)
    assert np.median(times.duration) < 2 * 100 / (1 - 0.8)


def test_above_the_collapsed_rate_a_backlog_keeps_it_collapsed() -> None:
    start = collapsed_start(FIGURE_4, LIMITS, rng=3, runs=50, backlog=200)
    times = time_to_return(FIGURE_4, LIMITS, 1.2, start, rng=3, horizon=3000)
    assert not times.observed.any()


def test_a_rate_cap_ends_evictions_within_one_lifetime() -> None:
    """Congestion 5.1 in whole requests, a cap a little below x* = 100/61."""
    start = collapsed_start(FIGURE_4, LIMITS, rng=3, runs=100, backlog=200)
    arrivals = np.random.default_rng(0).poisson(1.4, (2000, 100))
    capped = Limits(2000, admission_rate=Fraction(8, 5))
    records, _ = serve_cohorts(FIGURE_4, capped, arrivals, state=start)
    assert records.preempt[:, :40].sum() > 0
    assert records.preempt[:, 40:].sum() == 0
    assert np.median(records.waiting[:, -1]) < 20


def test_max_num_seqs_does_not_bring_it_back() -> None:
    """Low enough to end evictions, it serves M / (l0 + l1) requests in l1: the worst cycle."""
    start = collapsed_start(FIGURE_4, LIMITS, rng=3, runs=50, backlog=200)
    arrivals = np.random.default_rng(0).poisson(1.4, (4000, 50))
    safe, _ = serve_cohorts(
        FIGURE_4, Limits(2000, max_num_seqs=40), arrivals, state=start, every=40
    )
    assert safe.preempt[:, 1:].sum() == 0
    assert (safe.completed[:, 50:] == 40).all()
    for sequences in (48, 56, 64):
        limits = Limits(2000, max_num_seqs=sequences)
        records, _ = serve_cohorts(FIGURE_4, limits, arrivals, state=start, every=40)
        assert records.completed[:, 50:].mean() / 40 < 1.1
        assert (records.waiting[:, -1] > 500).all()


def test_a_ramp_comes_down_on_another_branch() -> None:
    up = [0.9, 1.1, 1.3, 1.5]
    found = ramp(FIGURE_4, LIMITS, [*up, *up[-2::-1]], hold=600, rng=2, runs=40).median("run")
    throughput = found.throughput.values
    assert throughput[1] == pytest.approx(1.1, abs=0.03)  # 1.1 / 600 / 40: 4 sigma are 0.027
    assert throughput[5] < 1.06
    assert found.waiting.values[5] > 100
    assert found.rate.values.tolist() == [0.9, 1.1, 1.3, 1.5, 1.3, 1.1, 0.9]


# --- any engine -----------------------------------------------------------------------------------


@pytest.mark.thorough
def test_restart_request_by_request_agrees_with_cohorts() -> None:
    """From empty 1.1 is served; from a backlog the collapsed cycles are."""
    found = two_starts(
        FIGURE_4,
        "restart",
        LIMITS,
        1.1,
        backlog=300,
        count=1200,
        rng=1,
        runs=2,
        backend="reference",
    )
    empty, backlog = found.sel(start="empty"), found.sel(start="backlog")
    np.testing.assert_allclose(empty.throughput, empty.offered, rtol=0.05)
    assert (backlog.throughput < 1.06).all()
    assert (backlog.waiting > 200).all()
    assert (empty.waiting < 5).all()


def test_progress_that_is_kept_costs_prefill_time_instead() -> None:
    """`vllm`: no loss where prefill is free; metastable where a prefilled token takes time."""
    arguments = {"backlog": 300, "count": 1200, "rng": 1, "runs": 1, "backend": "reference"}
    free = two_starts(FIGURE_4, "vllm", LIMITS, 1.1, **arguments)
    assert (free.waiting < 10).all()
    clock = IterationClock(1.0, 0.0, 0.02)
    paid = two_starts(FIGURE_4, "vllm", LIMITS, 0.9, clock=clock, **arguments)
    assert paid.waiting.sel(start="empty").item() < 10
    assert paid.waiting.sel(start="backlog").item() > 200
    assert paid.preemptions.sel(start="backlog").item() > 0.5


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"rate": 0.0}, "rate"),
        ({"rate": math.nan}, "rate"),
        ({"runs": 0}, "runs"),
        ({"horizon": 100}, "horizon"),
        ({"windows": 1}, "windows"),
    ],
)
def test_bad_input_is_one_line(change: dict, named: str) -> None:
    arguments = {"rate": 1.0, "rng": 0, "runs": 2, "horizon": 800, **change}
    with pytest.raises(InputError, match=rf"^{named}: got "):
        time_to_collapse(FIGURE_4, LIMITS, **arguments)


def test_other_bad_input() -> None:
    start = idle(FIGURE_4, 2)
    with pytest.raises(InputError, match=r"^horizon: got"):
        time_to_return(FIGURE_4, LIMITS, 1.0, start, rng=0, horizon=100)
    with pytest.raises(InputError, match=r"^rates: got"):
        ramp(FIGURE_4, LIMITS, [], hold=10, rng=0, runs=1)
    with pytest.raises(InputError, match=r"^runs: got"):
        two_starts(FIGURE_4, "vllm", LIMITS, 1.0, backlog=1, count=1, rng=0, runs=0)


def test_times_are_what_survival_takes() -> None:
    times = Times(np.array([4, 6]), np.array([True, False]))
    assert hazard(times.duration, times.observed).events == 1
