"""The same requests through every setting, and what they say: the frontier, and what to take."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fluidkv.answers.compare.plan import Setup
from fluidkv.answers.recommend.choosing import (
    Gains,
    choose_gains,
    frontier_of,
    smallest_without_preemptions,
)
from fluidkv.answers.recommend.likes import days_of, likes_of
from fluidkv.answers.recommend.records import Choice
from fluidkv.answers.recommend.result import Picks, Recommendation
from fluidkv.answers.recommend.runs import Plan, Progress, Ran, planned, run_all, run_now
from fluidkv.answers.recommend.settings import at_hand, of_the_engine
from fluidkv.answers.recommend.what_if import what_if
from fluidkv.answers.served.bias import Bias, Totals
from fluidkv.answers.served.demand import Demand
from fluidkv.answers.served.experiment import Backend
from fluidkv.answers.served.fresh import Horizon, draws_of
from fluidkv.answers.served.goodput import bounds_of
from fluidkv.answers.served.setting import Setting
from fluidkv.answers.served.slo import Slo
from fluidkv.answers.served.window import requests_of_log
from fluidkv.logs.timed import TimedRun
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.engine_text import ServedEngine
from fluidkv.serving.engines import served_engine
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
        totals: what else the log says.
        block_size: tokens; None: the engine's own.
        max_num_batched_tokens: most tokens an iteration computes.
        requests: in each run; None: all of a trace that is replayed, else ten times what memory
            carries, 200 to 2,000, and more where memory is always full.
        runs: of each setting; None: 4, or one of a trace that is replayed, by its quarters.
        seed: of the first run.
        draws: fresh ones, on which a pick is run again; None: 20.
        horizon: of each draw; None: as long as the trace, 3,000 requests at most, or as a run.
        backend: of `serve`.
        on_progress: told how many requests are served, of how many.
        on_first: told what the log says and what the simulation of its server does.

    Raises:
        InputError: what `serve` and `Limits` refuse; a knob that the engine does not have; a replay
            without times or a clock in seconds; times that this demand or clock does not have; too
            few requests for a run as long as the longest answer, or too many; another log.

    Examples:
        >>> mix = fk.Workload.from_lengths([(8, 10), (8, 20)])
        >>> small = {"requests": 104, "runs": 2, "backend": "reference"}
        >>> tried = {"max_num_seqs": [12], "watermark": [], "admission_rate": []}
        >>> answer = fk.recommend_settings(mix, 400, candidates=tried, **small)
        >>> [answer.mean(index, "preemptions") for index in range(len(answer.settings))]
        [13.0, 0.0]
    """
    setup = Setup(
        capacity,
        demand or Demand(),
        clock or IterationClock.iterations(),
        now or Setting(),
        block_size,
        max_num_batched_tokens,
        requests_of_log(requests, log, demand),
        runs,
        seed,
    )
    plan = planned(source, served_engine(engine), setup, candidates or {}, tuple(slos), objective)
    bias = _bias(plan, source, log, totals)
    if on_first is not None and bias:
        on_first(bias)
    ran = _run(plan, totals, backend, on_progress)
    answer = _answer(plan, ran, bias, totals, version, backend)
    return _on_fresh_draws(answer, source, draws_of(draws), horizon or Horizon(), backend)


def _bias(
    plan: Plan, source: Workload | Trace, log: TimedRun | None, totals: Totals | None
) -> Mapping[str, Bias]:
    """What the simulation of the log's own server misses."""
    if log is None:
        return {}
    metrics = (*plan.felt, *plan.objectives, *(slo.metric for slo in plan.slos))
    case, bounds = plan.case(plan.settings[0]), bounds_of(plan.slos)
    return plan.bias(source, case, log, metrics, totals, bounds)


def _run(plan: Plan, totals: Totals | None, backend: Backend, on_progress: Progress | None) -> Ran:
    """Today alone, if that says that nothing can be gained; what preempts in the log can be."""
    preempts = bool(totals and totals.preemptions)
    return (None if preempts else run_now(plan, backend)) or run_all(plan, backend, on_progress)


def _answer(
    plan: Plan,
    ran: Ran,
    bias: Mapping[str, Bias],
    totals: Totals | None,
    version: str | None,
    backend: Backend,
) -> Recommendation:
    """What the runs say: the frontier, and what to take."""
    values = {str(name): column.values for name, column in ran.table.data_vars.items()}
    version, settings = plan.engine.version or version, ran.settings
    gains = Gains(ran.table, ran.segments, bias, plan.felt)
    picks, end = [Choice()] * 3, None  # runs that are mostly start say nothing of later
    if not plan.short:
        end = smallest_without_preemptions(settings, values["preemptions"])
        known = at_hand(plan.engine.rules, settings, version)
        picks = [
            choose_gains(settings, values, plan.asked, gains, among)
            for among in (of_the_engine(settings), known, None)
        ]
    # Where nothing can be gained, the answer comes first, and a few runs more are soon done.
    few = not ran.nothing_to_gain or len(plan.tables) * plan.size <= LITTLE
    objectives = np.stack([values[name].mean(axis=1) for name in plan.objectives], axis=1)
    return Recommendation(
        plan=plan,
        version=version,
        ran=ran,
        gains=gains,
        frontier=frontier_of(objectives, settings),
        picks=Picks(*picks),
        end_of_preemption=end,
        unfinished=int(plan.unfinished(ran.statuses).sum()),
        what_if=what_if(plan, backend) if few else (),
        totals=totals,
    )


def _on_fresh_draws(
    answer: Recommendation,
    source: Workload | Trace,
    draws: int,
    horizon: Horizon,
    backend: Backend,
) -> Recommendation:
    """What would be taken, run again where it was not chosen; what gains nothing there is not."""
    if not draws:
        return answer
    days = days_of(source, answer.plan, draws, horizon)
    first = (choice.index or choice.candidate for choice in answer.picks)
    indices = [index for index in dict.fromkeys(first) if index]
    if not indices:
        return answer
    likes = likes_of(answer.plan, answer.settings, indices, days, backend)
    picks = Picks(*(likes.that_holds(choice, answer.gains) for choice in answer.picks))
    return replace(answer, picks=picks, likes=likes)
