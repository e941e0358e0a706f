"""The same requests through every setting, and what they say: the frontier, and what to take."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Float

from fluidkv.answers.recommend.choosing import Choice
from fluidkv.answers.recommend.flags import at_hand, of_the_engine
from fluidkv.answers.recommend.frontier import (
    pareto,
    smallest_without_preemptions,
    without_twins,
)
from fluidkv.answers.recommend.gains import Gains, Pick, picked
from fluidkv.answers.recommend.likes import days_of, likes_of, pick_that_holds
from fluidkv.answers.recommend.plan import Plan, planned
from fluidkv.answers.recommend.result import Picks, Recommendation
from fluidkv.answers.recommend.runs import Progress, Ran, case_of, run_all, run_now
from fluidkv.answers.recommend.what_if import WhatIf, what_if
from fluidkv.answers.served.bias import Bias, Totals
from fluidkv.answers.served.demand import Demand, Draws
from fluidkv.answers.served.experiment import Backend
from fluidkv.answers.served.fresh import Horizon, draws_of
from fluidkv.answers.served.goodput import bounds_of
from fluidkv.answers.served.memory import BLOCK_SIZES
from fluidkv.answers.served.setting import Setting
from fluidkv.answers.served.slo import Slo
from fluidkv.answers.served.window import requests_of_log
from fluidkv.errors import InputError
from fluidkv.logs.timed import TimedRun
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.engine_text import ServedEngine
from fluidkv.serving.engines import with_cache
from fluidkv.serving.limits import Limits
from fluidkv.serving.rules import EngineRules
from fluidkv.traces import Trace
from fluidkv.workload import Workload

LITTLE = 4_000
"""Requests of all runs up to which what-if rows are run where nothing can be gained."""


def recommend_settings(
    source: Workload | Trace,
    capacity: int,
    *,
    engine: str | EngineRules | ServedEngine = "vllm",
    demand: Demand | None = None,
    clock: IterationClock | None = None,
    now: Setting | None = None,
    candidates: Mapping[str, Sequence[Any]] | None = None,
    slos: Iterable[Slo] = (),
    objective: str = "throughput",
    version: str | None = None,
    log: TimedRun | None = None,
    totals: Totals | None = None,
    block_size: int | None = None,
    max_num_batched_tokens: int | None = None,
    requests: int | None = None,
    runs: int | None = None,
    seed: int = 0,
    draws: int | None = None,
    horizon: Horizon | None = None,
    backend: Backend = "auto",
    on_progress: Progress | None = None,
    on_first: Callable[[Mapping[str, Bias]], None] | None = None,
) -> Recommendation:
    """Try settings on the same requests, and say which to take.

    Where all wait from the start, runs have a horizon before which work does not run out. Where
    nothing can be gained, only `now` is run. A pick without a gain on fresh draws is given up.

    Args:
        source: a workload, or a trace, which has one.
        capacity: M, KV tokens.
        engine: as `serve` takes it; with a cache a preempted request finds what is left of itself.
        demand: who asks; None: requests that all wait from the start.
        clock: duration of an iteration; None: the theory's, where each lasts 1.
        now: how the server is set; None: no watermark and no caps.
        candidates: knob -> values to try, not the usual ones; empty: none. Clients only if given.
        slos: what must hold in every run; for "goodput", times of each request.
        objective: what the pick is the best in, one of `OBJECTIVES`.
        version: of the server, where `engine` names none; what it lacks is said to be needed.
        log: what was measured where these requests were served as `now` says, at their own times;
            a gain no larger than what the simulation misses there is none.
        totals: what else it says. block_size: tokens; None: out of `BLOCK_SIZES`.
        max_num_batched_tokens: most tokens an iteration computes.
        requests: in each run; None: all of a trace that is replayed, else ten times what memory
            carries, 200 to 2,000, and more where memory is always full.
        runs, seed: of each setting (None: 4, or one of a trace, by its quarters); of the first run.
        draws: fresh ones, on which a pick is run again; None: 20. horizon: of each.
        backend: of `serve`. on_progress: told how many requests are served, of how many.
        on_first: told what the log says and what the simulation of its server does.

    Raises:
        InputError: what `serve` and `Limits` refuse; a knob that the engine does not have; a replay
            without times or a clock in seconds; times that this demand or clock does not have; too
            few requests for a run as long as the longest answer, or too many; another log.

    Examples:
        >>> mix = fk.Workload.from_lengths([(8, 10), (8, 20)])
        >>> small = {"requests": 104, "runs": 2, "backend": "reference"}
        >>> tried = {"max_num_seqs": [12], "watermark": [], "admission_rate": []}
        >>> found = fk.recommend_settings(mix, 400, candidates=tried, **small)
        >>> [found.mean(index, "preemptions") for index in range(len(found.settings))]
        [13.0, 0.0]
    """
    if log is not None:
        _check_log(log, source)
    block = block_size or BLOCK_SIZES.get(with_cache(engine)[0].name, 1)
    plan = planned(
        source,
        Limits(capacity, block, max_num_batched_tokens=max_num_batched_tokens),
        engine,
        demand or Demand(),
        clock or IterationClock.iterations(),
        now or Setting(),
        candidates,
        tuple(slos),
        objective,
        Draws(requests_of_log(requests, log, demand), runs, seed),
    )
    bias = {} if log is None else _bias(plan, log, totals)
    if on_first is not None and bias:
        on_first(bias)
    seen = bool(totals and totals.preemptions)  # then something preempts, whatever we simulate
    ran = (None if seen else run_now(plan, backend)) or run_all(plan, backend, on_progress)
    changes = what_if(plan, backend) if _is_little(plan, ran) else ()
    found = _answer(plan, ran, changes, bias, totals, plan.engine.version or version)
    return _on_fresh_draws(found, source, draws_of(draws), horizon or Horizon(), seed, backend)


def _on_fresh_draws(
    found: Recommendation,
    source: Workload | Trace,
    draws: int,
    horizon: Horizon,
    seed: int,
    backend: Backend,
) -> Recommendation:
    """What would be taken, run again where it was not chosen; what gains nothing there is not."""
    if not draws:
        return found
    days = days_of(source, found.plan, draws, horizon, seed)
    picks = (found.picks.of_engine, found.picks.at_hand, found.picks.in_front)
    first = (pick.index or pick.candidate for pick in picks)
    indices = [index for index in dict.fromkeys(first) if index]
    if not indices:
        return found
    likes = likes_of(found.plan, found.settings, indices, days, backend)
    picks = Picks(*(pick_that_holds(pick, likes, found.gains) for pick in picks))
    return replace(found, picks=picks, likes=likes)


def _check_log(log: TimedRun, source: Workload | Trace) -> None:
    """Refuse a source of other requests than the log's."""
    there = source.input_lengths if isinstance(source, Trace) else ()
    if not np.array_equal(np.sort(there), np.sort(log.input_lengths)):
        allowed = f"the {len(there)} of the source"
        raise InputError("log", f"{len(log.input_lengths)} requests", allowed)


def _bias(plan: Plan, log: TimedRun, totals: Totals | None) -> Mapping[str, Bias]:
    """What the simulation of the log's own server misses."""
    server = case_of(plan, plan.settings[0])
    metrics = (*plan.felt.order, *plan.objectives, *(slo.metric for slo in plan.slos))
    return plan.bias(server, log, metrics, totals, bounds_of(plan.slos))


def _is_little(plan: Plan, ran: Ran) -> bool:
    """Whether a few runs more are soon done; where nothing can be gained, an answer comes first."""
    return not ran.nothing_to_gain or len(plan.tables) * plan.size <= LITTLE


def _answer(
    plan: Plan,
    ran: Ran,
    changes: tuple[WhatIf, ...],
    bias: Mapping[str, Bias],
    totals: Totals | None,
    version: str | None,
) -> Recommendation:
    """What the runs say: the frontier, and what to take."""
    table = ran.table
    values = {str(name): column.values for name, column in table.data_vars.items()}
    gains = Gains(table, ran.segments, bias, plan.felt)
    rules, settings = plan.rules, ran.settings
    end = smallest_without_preemptions(settings, values["preemptions"])
    picks = Picks(
        *(
            picked(settings, values, plan.asked, gains, among)
            for among in (of_the_engine(settings), at_hand(rules, settings, version), None)
        )
    )
    if plan.short:  # they say nothing of later
        nothing = Pick(Choice(None, (), (), None), None)
        picks, end = Picks(nothing, nothing, nothing), None
    objectives = np.stack([values[name].mean(axis=1) for name in plan.objectives], axis=1)
    return Recommendation(
        plan=plan,
        ran=ran,
        gains=gains,
        frontier=_frontier(objectives, settings),
        picks=picks,
        totals=totals or Totals(),
        version=version,
        end_of_preemption=end,
        unfinished=int(plan.unfinished(ran.statuses).sum()),
        what_if=changes,
        likes=None,
    )


def _frontier(
    means: Float[np.ndarray, "setting objective"], settings: Sequence[Setting]
) -> tuple[int, ...]:
    kept = np.array(without_twins(means, settings))
    higher = [True] + [False] * (means.shape[1] - 1)
    return tuple(kept[pareto(means[kept], higher)].tolist())
