"""The requests of a measured vLLM run through an engine's rules, with a clock from half of the run.

Predicted are the ticks of the other half (running, waiting, KV in use, tokens) and the latencies of
the requests that finished in it. The engine is told what a server knows beforehand, its settings,
and what only the log knows: when requests came and how long their answers were.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import xarray as xr
from jaxtyping import Bool

from fluidkv.errors import InputError
from fluidkv.measured import Measurement, Timeseries, measure
from fluidkv.replay.account import SERIES, Account, of_constant_rates, of_log, of_run
from fluidkv.replay.errors import RelativeError, SeriesError, relative_error, series_error
from fluidkv.serving.clock_fit.fit import ClockFit, Half, Recompute, fit_clock, hidden_recompute
from fluidkv.serving.clock_fit.points import TickPoints, tick_points
from fluidkv.serving.engines import VLLM, VLLM_0_11
from fluidkv.serving.engines import engine as named
from fluidkv.serving.limits import Limits
from fluidkv.serving.prefix_cache import serve_caching
from fluidkv.serving.requests import Requests
from fluidkv.serving.rules import EngineRules
from fluidkv.serving.serve import serve
from fluidkv.traces.vllm_log import VllmLog, read_vllm_log
from fluidkv.traces.vllm_meta import VllmServer, read_vllm_server

Errors = Mapping[str, SeriesError | RelativeError | None]
"""Keyed as `SERIES` and `LATENCIES`; None where the part has no such request."""


@dataclass(frozen=True)
class Swing:
    """The oscillation of the batch, over the window that `measured` takes from the log.

    Fields:
        mean: requests running.
        deviation: standard deviation about a straight line.
        period_s, p_value: see `fluidkv.measured.Oscillation`; None where no period is found.
    """

    mean: float
    deviation: float
    period_s: float | None
    p_value: float | None


@dataclass(frozen=True, eq=False)
class Prediction:
    """One way to serve the requests of a log.

    Fields:
        name: of the engine, with "+cache" if a preempted request finds what is left of itself.
        rules, caching: the same apart.
        account: at the log's ticks and for its requests.
        errors, errors_fitted: in the half that was predicted; in the one with the clock's fit.
        swing: of its batch.
        preemptions, recomputed_tokens, reused_tokens: of the whole run. Reused were found in the
            cache by preempted requests, where otherwise they would have been recomputed.
        duration_s: from the first arrival to the last token.
    """

    name: str
    rules: EngineRules
    caching: bool
    account: Account
    errors: Errors
    errors_fitted: Errors
    swing: Swing
    preemptions: int
    recomputed_tokens: int
    reused_tokens: int
    duration_s: float

    @property
    def recomputed_share(self) -> float | None:
        """Of the tokens that preempted requests came back with; None if none came back."""
        lost = self.recomputed_tokens + self.reused_tokens
        return self.recomputed_tokens / lost if lost else None


@dataclass(frozen=True, eq=False)
class Replay:
    """A log, and what we say of it.

    Fields:
        log, server, limits: what was replayed, and with which settings.
        fitted: the half that the clock is from; the other one is predicted.
        fit: the clock.
        middle_s: where the halves meet.
        measured: the log's account; `swing` of its batch.
        predictions: the first is the one that the server's settings ask for.
        baseline, baseline_errors: constant rates of the fitted half.
        preemptions_seen: that the log shows at least: rises of the requests that were scheduled
            once, are not done and do not run, between ticks.
        recompute_seen: what the log shows of tokens computed again, by a clock from all of it;
            None where it shows nothing.
    """

    log: VllmLog
    server: VllmServer
    limits: Limits
    fitted: Half
    fit: ClockFit
    middle_s: float
    measured: Account
    swing: Swing
    predictions: tuple[Prediction, ...]
    baseline: Account
    baseline_errors: Errors
    preemptions_seen: int
    recompute_seen: Recompute | None

    @property
    def main(self) -> Prediction:
        """The prediction that the server's settings ask for."""
        return self.predictions[0]

    @property
    def predicted(self) -> Half:
        """The half that the clock is not from."""
        return "second" if self.fitted == "first" else "first"


def replay_log(
    source: Path | str,
    *,
    fit: Half = "first",
    engine: str | EngineRules | None = None,
    capacity: int | None = None,
    block_size: int | None = None,
    max_num_seqs: int | None = None,
    max_num_batched_tokens: int | None = None,
    watermark: float = 0.0,
    on_run: Callable[[str], None] | None = None,
) -> Replay:
    """Replay the folder of a measured vLLM run.

    Args:
        source: a folder as `read_vllm_log` reads it.
        fit: the half of the run, by time, that the clock is fitted on.
        engine: None takes `vllm`, or `vllm-0.11` where meta.json says that admission looks at the
            first chunk only.
        capacity: KV tokens that requests can hold; None as in meta.json, as are the next three.
        block_size, max_num_seqs, max_num_batched_tokens, watermark: as `Limits` has them.
        on_run: called with the name of each prediction before it is made.

    Raises:
        InputError: what the readers refuse; times that go backwards; a capacity or block size that
            neither is given nor in meta.json; a log whose half has no tick to fit a clock on.
    """
    log, server = read_vllm_log(source), read_vllm_server(source)
    limits = _limits(server, capacity, block_size, max_num_seqs, max_num_batched_tokens, watermark)
    requests = Requests(
        log.input_lengths, log.decode_lengths, arrival=log.arrival_s - log.arrival_s[0]
    )
    # What requests can hold, which a log's own capacity may be a block above.
    points = tick_points(**replace(log, capacity=limits.blocks * limits.block_size).clock_arrays())
    clock_fit = fit_clock(points, half=fit)
    fitted = _part(log, points, fit)
    other = _part(log, points, "second" if fit == "first" else "first")
    measured = of_log(log, points.duration_s)
    window, swing = _swing(measured, log, None)

    def predict(rules: EngineRules, caching: bool) -> Prediction:
        name = rules.name + "+cache" * caching
        if on_run is not None:
            on_run(name)
        run = _run(requests, rules, limits, clock_fit, caching)
        account = of_run(run, log, points.duration_s)
        return Prediction(
            name=name,
            rules=rules,
            caching=caching,
            account=account,
            errors=_errors(account, measured, log, other),
            errors_fitted=_errors(account, measured, log, fitted),
            swing=_swing(account, log, window)[1],
            preemptions=int(run.preempt.sum()),
            recomputed_tokens=int(run.recomputed_tokens.sum()),
            reused_tokens=int(run.reused_tokens.sum()) if caching else 0,
            duration_s=float(run.time.max()),
        )

    baseline = of_constant_rates(log, points.duration_s, *fitted)
    return Replay(
        log=log,
        server=server,
        limits=limits,
        fitted=fit,
        fit=clock_fit,
        middle_s=points.middle_s,
        measured=measured,
        swing=swing,
        predictions=tuple(predict(*which) for which in _ways(engine, server)),
        baseline=baseline,
        baseline_errors=_errors(baseline, measured, log, other),
        preemptions_seen=int(np.maximum(-points.resumed, 0).sum()),
        recompute_seen=_recompute(points),
    )


def _limits(
    server: VllmServer,
    capacity: int | None,
    block_size: int | None,
    max_num_seqs: int | None,
    max_num_batched_tokens: int | None,
    watermark: float,
) -> Limits:
    block = block_size or server.block_size
    if block is None:
        raise InputError("block_size", None, "tokens a block, where meta.json does not say")
    if capacity is None and server.blocks is not None:
        capacity = server.blocks * (server.block_size or block)
    if capacity is None:
        raise InputError("capacity", None, "KV tokens, where meta.json does not say")
    return Limits(
        capacity,
        block,
        max_num_seqs or server.max_num_seqs,
        max_num_batched_tokens or server.max_num_batched_tokens,
        watermark,
    )


def _ways(
    engine: str | EngineRules | None, server: VllmServer
) -> tuple[tuple[EngineRules, bool], ...]:
    """Rules, and whether there is a cache: as the server was set; without; by the other version."""
    if engine is None:
        rules = VLLM_0_11 if server.reserves_full_input is False else VLLM
    else:
        rules = named(engine)
    if rules not in (VLLM, VLLM_0_11):
        return ((rules, False),)
    caching = server.prefix_caching is not False
    other = VLLM_0_11 if rules is VLLM else VLLM
    return ((rules, caching), *(((rules, False),) if caching else ()), (other, caching))


def _part(
    log: VllmLog, points: TickPoints, half: Half
) -> tuple[Bool[np.ndarray, " tick"], Bool[np.ndarray, " request"]]:
    """Ticks of a half, and the requests that finished in it."""
    ticks, requests = (x <= points.middle_s for x in (log.tick_ends_s, log.last_token_s))
    found = (ticks, requests) if half == "first" else (~ticks, ~requests)
    if not found[1].any():
        raise InputError("source", f"no request that finished in the {half} half", "some in both")
    return found


def _run(
    requests: Requests, rules: EngineRules, limits: Limits, fit: ClockFit, caching: bool
) -> xr.Dataset:
    if caching:
        return serve_caching(requests, rules, limits, fit.clock)
    # One run of some thousand iterations is over before a compiled engine would have compiled.
    return serve(requests, rules, limits, clock=fit.clock, backend="reference")


def _errors(
    account: Account,
    measured: Account,
    log: VllmLog,
    part: tuple[Bool[np.ndarray, " tick"], Bool[np.ndarray, " request"]],
) -> Errors:
    ticks, requests = part
    ours, theirs = account.latencies(log), measured.latencies(log)
    return {
        name: series_error(getattr(account, name), getattr(measured, name), ticks)
        for name in SERIES
    } | {name: relative_error(ours[name], theirs[name], requests) for name in theirs}


def _swing(
    account: Account, log: VllmLog, window: tuple[float, float] | None
) -> tuple[tuple[float, float], Swing]:
    """The window that was used, and the oscillation in it."""
    series = Timeseries(log.tick_ends_s, account.running, account.waiting, account.generated)
    found: Measurement = measure(series, window=window)
    first, last = found.window_s
    inside = (log.tick_ends_s >= first) & (log.tick_ends_s <= last)
    t, running = log.tick_ends_s[inside], account.running[inside]
    line = np.polynomial.Polynomial.fit(t, running, min(1, t.size - 1))(t)
    wave = found.oscillation
    return found.window_s, Swing(
        mean=found.running_mean,
        deviation=float((running - line).std()),
        period_s=None if wave is None else wave.period_s,
        p_value=None if wave is None else wave.p_value,
    )


def _recompute(points: TickPoints) -> Recompute | None:
    """By a clock from all of the log: this reads the log, it predicts nothing."""
    clock = fit_clock(points).clock
    return hidden_recompute(clock, points) if clock.per_prefill_token > 0 else None
