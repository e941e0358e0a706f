"""Points of a log and the clock through them: from runs whose clock is known, and the real log."""

import dataclasses
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

from fluidkv.errors import InputError
from fluidkv.logs import read_log
from fluidkv.runs.requests import Requests
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.clock_fit.fit import (
    SLOW,
    Half,
    _columns,
    clock_residuals,
    fit_clock,
    hidden_recompute,
)
from fluidkv.serving.clock_fit.line import least_squares
from fluidkv.serving.clock_fit.points import FEW, FIRST, IDLE, RECOMPUTE, TickPoints, tick_points
from fluidkv.serving.limits import Limits
from fluidkv.serving.run import serve
from fluidkv.serving.server import Server

PAGE = Path(__file__).parents[3] / "docs" / "clock.md"

CLOCK = IterationClock(0.0156, 2.4e-7, 8.8e-5)


@cache
def preempting_run(seed: int = 0, capacity: int = 41408, span_s: float = 60.0) -> xr.Dataset:
    """A server that preempts: 200 requests through the vllm rules on a known clock."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(200, 1500, 200), rng.integers(300, 800, 200)
    requests = Requests(*lengths, arrival=np.sort(rng.uniform(0, span_s, 200)))
    limits = Limits(capacity, 16, 256, 2048)
    return serve(requests, Server("vllm", limits, clock=CLOCK, backend="reference")).isel(run=0)


def log_of(run: xr.Dataset, tick_s: float = 1.0) -> dict[str, Any]:
    """What an engine that ran so would have logged: counters at ticks, times of requests."""
    ends = tick_s * np.arange(1, np.ceil(run.time.values.max() / tick_s) + 1)
    left = np.searchsorted(run.time.values, ends, side="right")

    def after(values: np.ndarray) -> np.ndarray:
        return np.concatenate(([0.0], values))[left]

    blocks = np.append(run.used_blocks.values[:-1], 0.0)
    return {
        "tick_ends_s": ends,
        "running": after(run.running.values - run.completed.values),
        "kv_tokens": after(blocks) * int(run.block_size),
        "generated_tokens": np.diff(after(np.cumsum(run.new_outputs.values)), prepend=0.0),
        "input_lengths": run.input_length.values,
        "scheduled_s": run.admitted.values,
        "first_token_s": run.first_token.values,
        "last_token_s": run.last_token.values,
    }


def exact_points(
    kv: Sequence[float], prefill: Sequence[float], clock: IterationClock
) -> TickPoints:
    """Ticks of 40 iterations that a clock accounts for to the last bit."""
    count = len(kv)
    n, kv_tokens, prompts = np.full(count, 40.0), np.array(kv), np.array(prefill)
    durations = n * (clock.base + clock.per_kv_token * kv_tokens) + (
        clock.per_prefill_token * prompts
    )
    return TickPoints(
        tick_ends_s=np.cumsum(durations),
        duration_s=durations,
        iterations=n,
        decoding=np.full(count, 10.0),
        kv_tokens=kv_tokens,
        prefill_tokens=prompts,
        context=kv_tokens / 10,
        resumed=np.zeros(count),
        dropped=("",) * count,
    )


def test_ticks_on_a_line_give_the_line():
    points = exact_points([1e4, 2e4, 3e4, 4e4, 1e4], [0, 500, 0, 2000, 900], CLOCK)
    fit = fit_clock(points)
    ours = [fit.clock.base, fit.clock.per_kv_token, fit.clock.per_prefill_token]
    truth = [CLOCK.base, CLOCK.per_kv_token, CLOCK.per_prefill_token]
    assert ours == pytest.approx(truth, rel=1e-9, abs=0)  # rounding, times the condition
    assert fit.unseen == ()
    assert fit.residuals.rms < 1e-12
    assert fit.residuals.r2 == pytest.approx(1, abs=1e-12)
    assert fit.kv_tokens == (1e4, 4e4)
    assert all(error is not None and error < 1e-9 for error in fit.standard_error)


def test_a_cache_that_is_always_as_full_does_not_show_what_a_token_costs():
    points = exact_points([4e4] * 6, [0, 500, 0, 2000, 900, 0], CLOCK)
    fit = fit_clock(points)
    assert fit.unseen == ("per_kv_token",)
    assert fit.clock.per_kv_token == 0
    full = CLOCK.base + CLOCK.per_kv_token * 4e4
    assert fit.clock.base == pytest.approx(full, rel=1e-9)
    assert fit.standard_error[1] is None


def test_without_prompts_prefill_is_unseen():
    fit = fit_clock(exact_points([1e4, 2e4, 3e4, 4e4, 1e4], [0] * 5, CLOCK))
    assert fit.unseen == ("per_prefill_token",)
    assert fit.clock.base == pytest.approx(CLOCK.base, rel=1e-9)
    with pytest.raises(InputError, match=r"per_prefill_token: got 0\.0"):
        hidden_recompute(fit.clock, exact_points([1e4] * 2, [0] * 2, CLOCK))


def ratios(clock: IterationClock) -> np.ndarray:
    """The three coefficients over those of `CLOCK`."""
    found = np.array([clock.base, clock.per_kv_token, clock.per_prefill_token])
    return found / [CLOCK.base, CLOCK.per_kv_token, CLOCK.per_prefill_token]


def test_the_clock_of_a_run_with_preemptions_comes_back():
    """d0 and d1 to 4 %, d2 to 8 %: a tick holds some 35 iterations, cut at its ends, so each tick
    is known to 3 %, and few have prompts."""
    run = preempting_run()
    assert int(run.preempt.sum()) > 50
    fit = fit_clock(tick_points(**log_of(run)))
    assert fit.unseen == ()
    assert (np.abs(ratios(fit.clock) - 1) < [0.04, 0.04, 0.08]).all()


@pytest.mark.thorough
def test_leaving_slow_ticks_out_takes_the_error_from_a_fifth_to_a_few_per_cent():
    """16 runs; what docs/clock.md says of them."""
    plain, ours, again = [], [], []
    for seed in range(16):
        run = preempting_run(seed, [41392, 30000][seed % 2], [30.0, 60.0, 90.0][seed % 3])
        points = tick_points(**log_of(run))
        used = points.used
        clock = fit_clock(points).clock
        _, values = least_squares(_columns(points)[used], points.duration_s[used])
        plain.append(ratios(IterationClock(*values.tolist())))
        ours.append(ratios(clock))
        found = hidden_recompute(clock, points)
        assert found is not None
        again.append(found.tokens / float(run.recomputed_tokens.sum()))
    errors, before = np.abs(np.array(ours) - 1).max(axis=0), np.array(plain)[:, 1]
    assert (errors < [0.02, 0.04, 0.08]).all()
    assert before.min() > 1.04
    assert before.max() > 1.2
    found = [min(again), float(np.median(again)), max(again)]  # docs/replay.md has these, too
    assert found == pytest.approx([0.53, 0.85, 0.97], abs=0.01)


def test_what_is_recomputed_can_be_read_off_the_time_left_over():
    """Most of it, with the clock itself: ticks without one known iteration are not looked at."""
    run = preempting_run()
    found = hidden_recompute(CLOCK, tick_points(**log_of(run)))
    assert found is not None
    assert 0.7 < found.tokens / float(run.recomputed_tokens.sum()) < 1.05
    assert found.resumed <= float(run.preempt.sum())


def test_a_slow_tick_is_left_out_and_reported():
    kv, prefill = [1e4, 2e4, 3e4, 4e4, 1e4, 2e4, 3e4], [0, 500, 0, 2000, 900, 0, 700]
    points = exact_points(kv, prefill, CLOCK)
    slow = points.duration_s.copy()
    slow[3] += 0.2
    fit = fit_clock(dataclasses.replace(points, duration_s=slow))
    assert ratios(fit.clock) == pytest.approx(1, rel=1e-6)  # the linear program starts it at 1e-9
    assert fit.dropped == ((SLOW, 1),)
    assert len(fit.residuals) == 6


def test_iterations_are_counted_without_knowing_the_clock():
    points = tick_points(**log_of(preempting_run()))
    run = preempting_run()
    ends = np.searchsorted(run.time.values, points.tick_ends_s, side="right")
    true = np.diff(ends, prepend=0)
    used = points.used
    # +- 1 at the ends of a tick, and what the preempted are in between
    assert np.abs(points.iterations[used] / true[used] - 1).max() < 0.2
    assert points.iterations[used].sum() == pytest.approx(true[used].sum(), rel=0.02)


def test_every_tick_has_one_fate():
    points = tick_points(**log_of(preempting_run()))
    count = len(points.dropped)
    assert int(points.used.sum()) + sum(n for _, n in points.dropped_because) == count
    assert set(points.dropped) <= {"", FIRST, FEW, IDLE, RECOMPUTE}
    assert points.dropped[0] == FIRST


def small_log(**changed) -> dict[str, object]:
    """One request of 11 outputs in the seconds 1 to 3, alone."""
    return {
        "tick_ends_s": [1.0, 2.0, 3.0, 4.0, 5.0],
        "running": [1, 1, 1, 0, 0],
        "kv_tokens": [10, 20, 30, 0, 0],
        "generated_tokens": [1, 5, 5, 0, 0],
        "input_lengths": [10],
        "scheduled_s": [0.5],
        "first_token_s": [1.0],
        "last_token_s": [3.0],
    } | changed


def test_a_request_alone_gives_its_tokens_as_iterations():
    points = tick_points(**small_log())  # pyright: ignore[reportArgumentType]
    assert points.iterations[1:3].tolist() == [5, 5]
    assert points.dropped == (FIRST, "", "", FEW, FEW)
    assert points.prefill_tokens.tolist() == [10, 0, 0, 0, 0]
    assert points.middle_s == 2.5


def test_where_memory_is_never_nearly_full_nobody_is_preempted():
    """A snapshot that lags behind what was scheduled looks like a preemption, and is none."""
    lagging = small_log(running=[1, 0, 1, 0, 0])
    for capacity, used, gone in ((None, False, 1), (37, False, 1), (38, True, 0)):
        points = tick_points(**lagging, capacity=capacity)  # pyright: ignore[reportArgumentType]
        assert bool(points.used[2]) is used
        assert np.maximum(-points.resumed, 0).sum() == gone


def test_a_part_without_requests_makes_a_tick_idle():
    points = tick_points(
        **small_log(  # pyright: ignore[reportArgumentType]
            generated_tokens=[1, 5, 4, 0, 0],
            input_lengths=[10, 10, 10],
            scheduled_s=[0.5] * 3,
            first_token_s=[1.0] * 3,
            last_token_s=[2.5] * 3,
            running=[3, 3, 0, 0, 0],
        )
    )
    assert points.dropped[2] == IDLE


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"tick_ends_s": [1.0]}, "tick_ends_s: got '1 times'"),
        ({"tick_ends_s": [1.0, 3.0, 2.0, 4.0, 5.0]}, "tick_ends_s: got '5 times'"),
        ({"running": [1, 1]}, "running: got 'shape (2,)'; allowed: 5 numbers"),
        ({"kv_tokens": [1, 2, np.nan, 0, 0]}, "kv_tokens: got 'nan in place 2'"),
        ({"input_lengths": []}, "input_lengths: got 'shape (0,)'"),
        ({"last_token_s": [0.9]}, "first_token_s: got '1 of request 0'"),
        ({"scheduled_s": [1.1]}, "first_token_s: got '1 of request 0'"),
    ],
)
def test_bad_logs_get_one_line(changed, message):
    with pytest.raises(InputError, match="^" + re.escape(message)):
        tick_points(**small_log(**changed))  # pyright: ignore[reportArgumentType]


def test_too_few_points_are_refused_with_the_reasons():
    points = tick_points(**small_log())  # pyright: ignore[reportArgumentType]
    with pytest.raises(InputError, match=r"points: got '2 of 5 ticks'; allowed: 4 usable ticks"):
        fit_clock(points)
    with pytest.raises(InputError, match="half: got 'third'"):
        fit_clock(points, half="third")  # pyright: ignore[reportArgumentType]
    with pytest.raises(InputError, match="clock: got 'iteration'; allowed: a clock in seconds"):
        clock_residuals(IterationClock.iterations(), points)


@pytest.fixture(scope="module")
def measured(traces_dir) -> TickPoints:
    log = read_log(traces_dir / "vllm_rtx4090_llama31_8b").timed()
    return tick_points(**log.clock_arrays())


def test_nobody_gets_more_tokens_than_there_were_iterations(traces_dir, measured):
    """A second count: a request without preemptions makes outputs - 1 iterations from its first
    token to its last, and no request makes more. So the least ratio is 1 but for errors: 2 %."""
    log = read_log(traces_dir / "vllm_rtx4090_llama31_8b").timed()
    ends = np.concatenate(([0.0], measured.tick_ends_s))
    so_far = np.concatenate(([0.0], np.nancumsum(measured.iterations)))
    passed = np.interp(log.last_token_s, ends, so_far) - np.interp(log.first_token_s, ends, so_far)
    ratio = passed / (log.decode_lengths - 1)
    assert ratio.min() > 0.98
    assert np.median(ratio) == pytest.approx(1, abs=0.02)  # most were never preempted


def test_the_measured_run_fits_a_line_and_its_halves_agree_where_both_see(measured):
    """Coefficients to three standard errors of the other half's; recorded from the log."""
    whole, second = fit_clock(measured), fit_clock(measured, half="second")
    assert whole.unseen == second.unseen == ()
    assert whole.residuals.rms < 0.05
    assert whole.residuals.r2 is not None
    assert whole.residuals.r2 > 0.95
    first = fit_clock(measured, half="first")
    error = second.standard_error[2]
    assert error is not None
    assert abs(first.clock.per_prefill_token - second.clock.per_prefill_token) < 3 * error
    assert 1e3 * whole.clock.base == pytest.approx(14.89, abs=0.01)  # rounding of the record
    assert 1e6 * whole.clock.per_kv_token == pytest.approx(0.260, abs=0.001)
    assert 1e6 * whole.clock.per_prefill_token == pytest.approx(86.8, abs=0.1)


def test_the_first_half_has_a_full_cache_and_cannot_tell_what_a_token_costs(measured):
    """Its cache is 96 % full or more in every tick used. The clock is then too slow for the end of
    the run, where the cache empties; the second half's is right for the first."""
    first, second = fit_clock(measured, half="first"), fit_clock(measured, half="second")
    assert first.unseen == ("per_kv_token",)
    assert first.kv_tokens[0] > 0.96 * 41408
    assert clock_residuals(second.clock, measured, half="first").rms < 0.035
    assert clock_residuals(first.clock, measured, half="second").rms > 0.1


def test_the_prefix_cache_halved_what_was_computed_again(traces_dir, measured):
    """The same requests without a cache, on the same clock, read in the same way: twice as much.

    Sampled: one simulated run, whose own total is read to 5 %.
    """
    log = read_log(traces_dir / "vllm_rtx4090_llama31_8b").timed()
    clock = fit_clock(measured).clock
    requests = Requests(
        log.input_lengths, log.decode_lengths, arrival=log.arrival_s - log.arrival_s[0]
    )
    limits = Limits(41392, 16, 256, 2048)  # vLLM keeps one of its 2,588 blocks for itself
    run = serve(requests, Server("vllm", limits, clock=clock, backend="reference")).isel(run=0)
    points = tick_points(**log_of(run))
    without, found = (
        hidden_recompute(fit_clock(points).clock, points),
        hidden_recompute(clock, measured),
    )
    assert without is not None
    assert found is not None
    assert without.tokens == pytest.approx(float(run.recomputed_tokens.sum()), rel=0.05)
    assert 0.4 < found.tokens / without.tokens < 0.6
    page = PAGE.read_text(encoding="utf-8")
    for tokens in (without.tokens, float(run.recomputed_tokens.sum())):
        assert f"{round(tokens, -3):,.0f}" in page


def test_the_page_shows_these_numbers(measured):
    """The two tables of docs/clock.md, cell by cell."""
    page = PAGE.read_text(encoding="utf-8")
    halves: dict[str, Half | None] = {"all": None, "first half": "first", "second half": "second"}
    for name, half in halves.items():
        fit = fit_clock(measured, half=half)
        clock, found = fit.clock, fit.residuals
        cells = [
            "–" if error is None else f"{scale * value:.{places}f} ± {scale * error:.{places}f}"
            for value, error, scale, places in (
                (clock.base, fit.standard_error[0], 1e3, 2),
                (clock.per_kv_token, fit.standard_error[1], 1e6, 3),
                (clock.per_prefill_token, fit.standard_error[2], 1e6, 1),
            )
        ]
        slow = dict(fit.dropped).get(SLOW, 0)
        row = [name, *cells, str(len(found)), str(slow), f"{found.rms:.1%}", f"{found.r2:.3f}"]
        assert f"| {' | '.join(row).replace('%', ' %')} |" in page
    pairs: list[tuple[Half, Half]] = [("first", "second"), ("second", "first")]
    for half, other in pairs:
        found = clock_residuals(fit_clock(measured, half=half).clock, measured, half=other)
        row = f"| {half} half | {other} | {found.rms:.1%} | {found.mean:.1%} |"
        assert row.replace("%", " %").replace("| -", "| −") in page
    recompute = hidden_recompute(fit_clock(measured).clock, measured)
    assert recompute is not None
    assert f"some {round(recompute.tokens, -3):,.0f} tokens, or {recompute.seconds:.1f} s" in page
