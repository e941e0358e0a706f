"""The requests of a measured run through an engine's rules, with a clock from half of the run.

Predicted are the ticks of the other half (running, waiting, KV in use, tokens) and the latencies of
the requests that finished in it. The engine is told what a server knows beforehand, its settings,
and what only the log knows: when requests came and how long their answers were.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import starmap
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool

from fluidkv.answers.replay.account import (
    LATENCIES,
    SERIES,
    Account,
    PerTick,
    of_constant_rates,
    of_log,
    of_run,
    rates_of,
    shares_after,
)
from fluidkv.answers.replay.errors import relative_error, series_error
from fluidkv.answers.replay.repeats import read_repeats
from fluidkv.answers.replay.result import Errors, Prediction, Replay
from fluidkv.answers.replay.rows import step_rows
from fluidkv.answers.replay.source import Source, limits_of_source, read_source
from fluidkv.answers.replay.swing import backlog_of, swing_of
from fluidkv.answers.replay.ways import asked_engine, own_settings, served, ways_of
from fluidkv.errors import InputError
from fluidkv.logs.timed import TimedRun
from fluidkv.serving.clock_fit.fit import ClockFit, Recompute, fit_clock, hidden_recompute
from fluidkv.serving.clock_fit.line import Half
from fluidkv.serving.clock_fit.points import TickPoints, tick_points
from fluidkv.serving.clock_fit.steps import StepFit, fit_steps
from fluidkv.serving.engine_text import ServedEngine
from fluidkv.serving.limits import Limits
from fluidkv.serving.rules import EngineRules

_OTHER: Mapping[Half, Half] = {"first": "second", "second": "first"}


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
    on_progress: Callable[[int, int, str], None] | None = None,
) -> Replay:
    """Replay the folder of a measured run of vLLM or SGLang.

    Args:
        source: a folder as `read_log` reads it.
        fit: the half of the logged time that the clock is fitted on.
        engine: None, or a name without a version: the rules of the log's, or the nearest known.
            With "+cache" there is a cache, whatever meta.json says.
        capacity: KV tokens that requests can hold; None as in meta.json, as are the next three.
            Blocks that it does not say either are of 16 for vLLM, and of 1 for SGLang.
        block_size, max_num_seqs, max_num_batched_tokens, watermark: as `Limits` has them.
        on_progress: told before each prediction how many are made, of how many, and its name.

    Raises:
        InputError: what the readers refuse; times that go backwards; ticks that end before the
            requests do; a capacity or block size that nobody says, or that do not go together; a
            half without a tick to fit a clock on; a run that gets stuck.

    Examples:
        >>> answer = fk.replay_log("sample:vllm-rtx4090")  # the clock is of its first half
        >>> answer.predicted, round(answer.main.errors["latency"].median_relative, 3)
        ('second', 0.012)
    """
    read, repeats = read_source(Path(source)), read_repeats(source)
    log, server, product = read.run, read.settings, read.log.engine or "vllm"
    given = (capacity, block_size, max_num_seqs, max_num_batched_tokens, watermark)
    limits = limits_of_source(server, *given, product)
    seen = _seen(read, limits, fit)
    fitted, other = (_part(log, seen.middle_s, half) for half in (fit, _OTHER[fit]))
    measured = of_log(log, seen.durations_s, read.preempted_s)
    swing = swing_of(measured, None)
    alone = swing_of(measured, backlog_of(log, other.ticks))
    ways, tell = ways_of(engine, server, product), on_progress or (lambda *_: None)

    def predict(place: int, way: ServedEngine) -> Prediction:
        tell(place, len(ways), f"predictions; now {way.name}")
        run = served(read, way, limits, seen.fit.clock)
        account = of_run(run, log, seen.durations_s, way.name)
        reused = int(run.found_tokens.sum() - run.first_hit_tokens.sum()) if way.caching else 0
        return Prediction(
            rules=way.rules,
            caching=way.caching,
            account=account,
            errors=_errors(account, measured, other),
            errors_fitted=_errors(account, measured, fitted),
            swing=swing_of(account, swing.window_s),
            swing_predicted=swing_of(account, alone.window_s),
            preemptions=int(run.preempt.sum()),
            recomputed_tokens=int(run.recomputed_tokens.sum()),
            reused_tokens=reused,
            duration_s=float(run.time.max()) + log.delay_s,
        )

    rates = rates_of(log, seen.durations_s, fitted.ticks, fitted.requests, seen.steps)
    baseline = of_constant_rates(log, rates)
    return Replay(
        engine=product,
        note=asked_engine(engine, server, product).note,
        log=log,
        server=server,
        limits=limits,
        fitted=fit,
        fit=seen.fit,
        middle_s=seen.middle_s,
        measured=measured,
        swing=swing,
        swing_predicted=alone,
        predictions=tuple(starmap(predict, enumerate(ways))),
        baseline=baseline,
        baseline_errors=_errors(baseline, measured, other),
        repeats=repeats,
        options=own_settings(ways[0], server, limits),
        **seen.counted,
    )


@dataclass(frozen=True, eq=False)
class _Part:
    """Masks of the ticks of a half and of the requests that finished in it; where it begins."""

    ticks: Bool[np.ndarray, " tick"]
    requests: Bool[np.ndarray, " request"]
    since_s: float


@dataclass(frozen=True, eq=False)
class _Seen:
    """What a log shows of its clock, and of what preemptions cost.

    Args:
        fit: the clock.
        middle_s: where the halves meet.
        durations_s: of each tick.
        counted: fields of `Replay`.
        steps: of decoding, during each tick; None: the log does not count them.
    """

    fit: ClockFit | StepFit
    middle_s: float
    durations_s: PerTick
    counted: dict[str, Any]
    steps: PerTick | None = None


def _seen(read: Source, limits: Limits, fit: Half) -> _Seen:
    ticks = read.log.ticks
    retracted = None if ticks is None else ticks.preemptions
    counted: dict[str, Any] = {
        "preemptions_seen": 0 if retracted is None else int(retracted[-1]),
        "preemptions_counted": retracted is not None,
    }
    if read.counts_steps and ticks is not None:
        rows, counted["recomputed_logged"] = step_rows(read.log, limits.capacity)
        steps = np.diff(np.asarray(ticks.decode_steps), prepend=0.0)
        durations = np.diff(rows.ends_s, prepend=0.0)
        return _Seen(fit_steps(rows, half=fit), rows.middle_s, durations, counted, steps)
    # What requests can hold, which a log's own capacity may be a block above.
    log = replace(read.run, capacity=limits.blocks * limits.block_size)
    points = tick_points(**log.clock_arrays())  # iterations of each tick are estimated
    if retracted is None:
        counted["preemptions_seen"] = int(np.maximum(-points.resumed, 0).sum())
    counted["recompute_seen"] = _recompute(points)
    clock = fit_clock(points, half=fit)
    return _Seen(clock, points.middle_s, points.duration_s, counted)


def _part(log: TimedRun, middle_s: float, half: Half) -> _Part:
    ticks, requests = (x <= middle_s for x in (log.tick_ends_s, log.last_token_s))
    if half == "first":
        part = _Part(ticks, requests, -np.inf)
    else:
        part = _Part(~ticks, ~requests, middle_s)
    if not part.requests.any() and not np.isnan(log.last_token_s).all():
        raise InputError("source", f"no request that finished in the {half} half", "some in both")
    return part


def _errors(account: Account, measured: Account, part: _Part) -> Errors:
    shares = shares_after(measured.log, part.since_s)
    both = {name: (getattr(account, name), getattr(measured, name)) for name in SERIES + LATENCIES}
    return {name: series_error(*both[name], part.ticks) for name in SERIES} | {
        name: relative_error(*both[name], part.requests, shares[name]) for name in LATENCIES
    }


def _recompute(points: TickPoints) -> Recompute | None:
    """By a clock from all of the log: this reads the log, it predicts nothing."""
    fit = fit_clock(points)
    if fit.reckons or fit.clock.per_prefill_token == 0:
        return None
    return hidden_recompute(fit.clock, points)
