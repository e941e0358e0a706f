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

from fluidkv.answers.replay.account import (
    SERIES,
    Account,
    of_constant_rates,
    of_log,
    of_run,
    shares_after,
)
from fluidkv.answers.replay.errors import RelativeError, SeriesError, relative_error, series_error
from fluidkv.answers.replay.swing import Swing, backlog_of, swing_of
from fluidkv.errors import InputError
from fluidkv.logs.folder.vllm import TICKS_FILE
from fluidkv.logs.read import log_folder, read_log
from fluidkv.logs.settings import LoggedSettings
from fluidkv.logs.timed import TimedRun
from fluidkv.runs.dataset import RunStatus
from fluidkv.runs.requests import Requests
from fluidkv.serving.caching.run import serve_caching
from fluidkv.serving.clock_fit.fit import ClockFit, Half, Recompute, fit_clock, hidden_recompute
from fluidkv.serving.clock_fit.points import TickPoints, tick_points
from fluidkv.serving.engines import CACHE, VLLM, VLLM_0_11, with_cache
from fluidkv.serving.limits import Limits
from fluidkv.serving.rules import EngineRules
from fluidkv.serving.run import serve
from fluidkv.traces.format import BadRow
from fluidkv.traces.source import json_records
from fluidkv.traces.vllm_bench import REQUESTS_FILE

_OTHER: Mapping[Half, Half] = {"first": "second", "second": "first"}
Errors = Mapping[str, SeriesError | RelativeError | None]
"""Keyed as `SERIES` and `LATENCIES`; None where the part has no such request."""


@dataclass(frozen=True, eq=False)
class Prediction:
    """One way to serve the requests of a log.

    Fields:
        name: of the engine, with "+cache" if a preempted request finds what is left of itself.
        rules, caching: the same apart.
        account: at the log's ticks and for its requests.
        errors, errors_fitted: in the half that was predicted; in the one with the clock's fit.
        swing, swing_predicted: of its batch, in the windows of `Replay`.
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
    swing_predicted: Swing
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
        measured: the log's account.
        swing: of its batch, over the window that `fluidkv.measured` takes from the log. It lies in
            both halves.
        swing_predicted: the same over the predicted half, as far as there is a backlog.
        predictions: the first is the one that the server's settings ask for.
        baseline, baseline_errors: constant rates of the fitted half.
        preemptions_seen: that the log shows at least: rises of the requests that were scheduled
            once, are not done and do not run, between ticks.
        recompute_seen: what the log shows of tokens computed again, by a clock from all of it;
            None where it shows nothing.
    """

    log: TimedRun
    server: LoggedSettings
    limits: Limits
    fitted: Half
    fit: ClockFit
    middle_s: float
    measured: Account
    swing: Swing
    swing_predicted: Swing
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
        source: a folder as `read_log` reads it.
        fit: the half of the run, by time, that the clock is fitted on.
        engine: None takes `vllm`, or `vllm-0.11` where meta.json says that admission looks at the
            first chunk only. With "+cache" there is a cache, whatever meta.json says.
        capacity: KV tokens that requests can hold; None as in meta.json, as are the next three.
        block_size, max_num_seqs, max_num_batched_tokens, watermark: as `Limits` has them.
        on_run: called with the name of each prediction before it is made.

    Raises:
        InputError: what the readers refuse; times that go backwards; ticks that end before the
            requests do; a capacity or block size that neither is given nor in
            meta.json; a given one of which blocks do not make up the capacity; a log whose half has
            no tick to fit a clock on; a run that gets stuck.
    """
    log, server = _log(Path(source))
    limits = _limits(server, capacity, block_size, max_num_seqs, max_num_batched_tokens, watermark)
    arrival = log.arrival_s - log.arrival_s[0]
    requests = Requests(log.input_lengths, log.decode_lengths, arrival=arrival)
    # What requests can hold, which a log's own capacity may be a block above.
    points = tick_points(**replace(log, capacity=limits.blocks * limits.block_size).clock_arrays())
    clock_fit = fit_clock(points, half=fit)
    fitted, other = (_part(log, points, half) for half in (fit, _OTHER[fit]))
    measured = of_log(log, points.duration_s)
    swing = swing_of(measured, log, None)
    alone = swing_of(measured, log, backlog_of(log, other.ticks))

    def predict(rules: EngineRules, caching: bool) -> Prediction:
        name = rules.name + CACHE * caching
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
            swing=swing_of(account, log, swing.window_s),
            swing_predicted=swing_of(account, log, alone.window_s),
            preemptions=int(run.preempt.sum()),
            recomputed_tokens=int(run.recomputed_tokens.sum()),
            reused_tokens=int(run.found_tokens.sum()) if caching else 0,
            duration_s=float(run.time.max()),
        )

    baseline = of_constant_rates(log, points.duration_s, fitted.ticks, fitted.requests)
    return Replay(
        log=log,
        server=server,
        limits=limits,
        fitted=fit,
        fit=clock_fit,
        middle_s=points.middle_s,
        measured=measured,
        swing=swing,
        swing_predicted=alone,
        predictions=tuple(predict(*which) for which in _ways(engine, server)),
        baseline=baseline,
        baseline_errors=_errors(baseline, measured, log, other),
        preemptions_seen=int(np.maximum(-points.resumed, 0).sum()),
        recompute_seen=_recompute(points),
    )


def _log(source: Path) -> tuple[TimedRun, LoggedSettings]:
    """The log, refused where it is cut off: a half of a part is no half of the run."""
    folder = log_folder(source)
    try:
        read = read_log(folder)
        log = read.timed()
    except InputError as error:
        broken = _broken_line(folder / REQUESTS_FILE)
        if broken is None:
            raise
        raise InputError(error.argument, error.value, f"{error.allowed}; {broken}") from None
    end, last = float(log.tick_ends_s[-1]), float(log.last_token_s.max())
    # Ticks are as long as the one before them: the last one may be counted from its beginning.
    if last > end + float(log.tick_ends_s[-1] - log.tick_ends_s[-2]):
        late = int((log.last_token_s > end).sum())
        raise InputError(
            "source",
            str(folder / TICKS_FILE),
            f"ticks to the end of the run: they stop at {end:.1f} s, {late} requests have their "
            f"last token later, at {last:.1f} s at the latest",
        )
    return log, read.settings


def _broken_line(path: Path) -> str | None:
    """The first line that is no JSON object, in words."""
    try:
        for line, record in json_records(path):
            if isinstance(record, BadRow):
                return f"line {line} of {path.name} is broken ({record.what})"
    except InputError:  # the file as a whole: the reader has said so
        pass
    return None


def _limits(
    server: LoggedSettings,
    capacity: int | None,
    block_size: int | None,
    max_num_seqs: int | None,
    max_num_batched_tokens: int | None,
    watermark: float,
) -> Limits:
    given = capacity is not None or block_size is not None
    block = block_size or server.block_size
    if block is None:
        raise InputError("block_size", "none", "tokens a block, where meta.json does not say")
    if capacity is None and server.blocks is not None:
        capacity = server.blocks * (server.block_size or block)
    if capacity is None:
        raise InputError("capacity", "none", "KV tokens, where meta.json does not say")
    if given and capacity % block:
        raise InputError(
            "capacity" if block_size is None else "block_size",
            capacity if block_size is None else block_size,
            f"blocks that make up the capacity: {capacity:,} tokens are {capacity // block:,} "
            f"blocks of {block:,} and {capacity % block:,} tokens",
        )
    return Limits(
        capacity,
        block,
        max_num_seqs or server.max_num_seqs,
        max_num_batched_tokens or server.max_num_batched_tokens,
        watermark,
    )


def rules_of_server(server: LoggedSettings) -> tuple[EngineRules, bool]:
    """The rules that the settings of a logged server ask for, and whether there is a cache."""
    rules = VLLM_0_11 if server.reserves_full_input is False else VLLM
    return rules, server.prefix_caching is not False


def _ways(
    engine: str | EngineRules | None, server: LoggedSettings
) -> tuple[tuple[EngineRules, bool], ...]:
    """Rules, and whether there is a cache: as the server was set; without; by the other version."""
    logged, caching = rules_of_server(server)
    rules, asked = (logged, False) if engine is None else with_cache(engine)
    of_vllm = rules in (VLLM, VLLM_0_11)
    caching = asked or (caching and of_vllm)
    ways = ((rules, True), (rules, False)) if caching else ((rules, False),)
    if not of_vllm:
        return ways
    return (*ways, (VLLM_0_11 if rules is VLLM else VLLM, caching))


@dataclass(frozen=True, eq=False)
class _Part:
    """Masks of the ticks of a half and of the requests that finished in it; where it begins."""

    ticks: Bool[np.ndarray, " tick"]
    requests: Bool[np.ndarray, " request"]
    since_s: float


def _part(log: TimedRun, points: TickPoints, half: Half) -> _Part:
    ticks, requests = (x <= points.middle_s for x in (log.tick_ends_s, log.last_token_s))
    if half == "first":
        found = _Part(ticks, requests, -np.inf)
    else:
        found = _Part(~ticks, ~requests, points.middle_s)
    if not found.requests.any():
        raise InputError("source", f"no request that finished in the {half} half", "some in both")
    return found


def _run(
    requests: Requests, rules: EngineRules, limits: Limits, fit: ClockFit, caching: bool
) -> xr.Dataset:
    """The run; refused where it gets stuck, since requests without an end have no times."""
    if caching:
        run = serve_caching(requests, rules, limits, fit.clock)
    else:
        # One run of some thousand iterations is over before a compiled engine would have compiled.
        run = serve(requests, rules, limits, clock=fit.clock, backend="reference")
    if run.status.item() != RunStatus.DONE.name:
        served = f"{int(run.served.item())} of {len(requests)} requests"
        said = f"memory in which {run.attrs['engine']} serves all: it gets stuck after {served}"
        raise InputError("capacity", limits.capacity, said)
    return run


def _errors(account: Account, measured: Account, log: TimedRun, part: _Part) -> Errors:
    ours, theirs = account.latencies(log), measured.latencies(log)
    shares = shares_after(log, part.since_s)
    return {
        name: series_error(getattr(account, name), getattr(measured, name), part.ticks)
        for name in SERIES
    } | {
        name: relative_error(ours[name], theirs[name], part.requests, shares[name])
        for name in theirs
    }


def _recompute(points: TickPoints) -> Recompute | None:
    """By a clock from all of the log: this reads the log, it predicts nothing."""
    clock = fit_clock(points).clock
    return hidden_recompute(clock, points) if clock.per_prefill_token > 0 else None
