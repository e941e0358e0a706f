"""Engines and versions on the same requests: which is better, by how much, and is that real."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import xarray as xr

from fluidkv.answers.compare.plan import Plan, Setup, felt_of, planned
from fluidkv.answers.compare.result import EngineComparison
from fluidkv.answers.served.bias import Bias, Totals
from fluidkv.answers.served.demand import Demand
from fluidkv.answers.served.experiment import Backend, Measured
from fluidkv.answers.served.fresh import Days, Horizon, draws_of
from fluidkv.answers.served.paired import Against, against_first
from fluidkv.answers.served.segments import by_segment
from fluidkv.answers.served.setting import Setting
from fluidkv.answers.served.window import requests_of_log
from fluidkv.errors import InputError
from fluidkv.labels import completed, variable
from fluidkv.logs.timed import TimedRun
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.engine_text import ServedEngine
from fluidkv.serving.rules import EngineRules
from fluidkv.traces import Trace
from fluidkv.workload import Workload


def compare_engines(
    source: Workload | Trace,
    capacity: int,
    engines: Sequence[str | EngineRules | ServedEngine],
    *,
    demand: Demand | None = None,
    clock: IterationClock | None = None,
    now: Setting | None = None,
    block_size: int | None = None,
    max_num_batched_tokens: int | None = None,
    requests: int | None = None,
    runs: int | None = None,
    seed: int = 0,
    draws: int | None = None,
    horizon: Horizon | None = None,
    log: TimedRun | None = None,
    logged: int = 0,
    totals: Totals | None = None,
    backend: Backend = "auto",
    on_progress: Callable[[int, int], None] | None = None,
) -> EngineComparison:
    """Serve the same requests by several engines, and hold all against the first.

    Differences are taken run by run, each run with the same requests for every engine; of a trace
    that is replayed, by fresh draws of what is like it (without any, by its consecutive parts
    where it is one run). A difference is real
    where its interval, for all engines and metrics that users feel at once (Bonferroni), does not
    reach 0; and, where one engine's log is given, where it exceeds what the simulation misses
    there.

    Args:
        source: a workload, or a trace, which has one.
        capacity: M, KV tokens of each server.
        engines: at least two, as `serve` takes them: "vllm-0.19+cache",
            "sglang+cache:conservativeness=0.3", rules.
        demand: who asks; None: requests that all wait from the start.
        clock: duration of an iteration of every server; None: the theory's, where each lasts 1.
        now: caps of every server; a watermark only where all engines have one.
        block_size: tokens; None: each engine's own.
        max_num_batched_tokens: most tokens an iteration computes.
        requests: in each run; None: as `recommend_settings`.
        runs: of each engine; None: 8, or one of a trace that is replayed; as `recommend_settings`.
        seed: of the first run's requests; the others follow.
        draws: fresh ones, of a trace that is replayed; None: 20. Elsewhere runs are draws.
        horizon: of a draw; None: as long as the trace, 3,000 requests at most.
        log: what was measured where these requests, all of them at their own times, were served by
            the engine number `logged`.
        logged: see there.
        totals: what else the log says.
        backend: of `serve`.
        on_progress: told how many requests are served, of how many in all runs.

    Raises:
        InputError: before anything runs: fewer than two engines, or one twice; an engine for which
            these requests cannot be simulated, with the row at fault; what `serve`, `Limits` and
            `Demand` refuse; too many runs.

    Examples:
        >>> mix = fk.Workload.from_lengths([(8, 10), (30, 20)])
        >>> names = ["vllm", "trtllm-no-evict"]
        >>> said = {"block_size": 4, "requests": 30, "runs": 2, "backend": "reference"}
        >>> found = fk.compare_engines(mix, 160, names, **said)
        >>> [found.mean(index, "preemptions") for index in (0, 1)]
        [4.0, 0.0]
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
    plan = planned(source, engines, setup)
    felt = felt_of(setup.demand, setup.clock)
    bias = {} if log is None else plan.bias(source, plan.cases[logged], log, felt, totals)
    measured = _measured(plan, felt, backend, on_progress)
    days = _days(source, plan, draws, horizon or Horizon())
    return _answer(plan, measured, days, felt, backend, bias, None if log is None else logged)


def _answer(
    plan: Plan,
    measured: Measured,
    days: Days | None,
    felt: tuple[str, ...],
    backend: Backend,
    bias: Mapping[str, Bias],
    logged: int | None,
) -> EngineComparison:
    """What runs say; differences are over fresh draws, where there are any."""
    pairs, widen = measured, 1.0
    counts: dict[str, np.ndarray] = {}
    if days is not None:
        pairs, widen = _measured(plan.on(days), felt, backend, None), days.widen
        counts = {name: pairs.table[name].values for name in ("preemptions", "recompute_tax")}
    late = plan.unfinished(measured.statuses).reshape(len(plan.engines), -1).sum(axis=1)
    of_one = "segment" if len(plan.tables) == 1 else "run"
    return EngineComparison(
        engines=plan.engines,
        setup=plan.setup,
        limits=tuple(case.limits for case in plan.cases),
        felt=felt,
        table=_labelled(plan, measured.table),
        against=_against(pairs, felt, len(plan.engines), widen),
        pairs=of_one if days is None else "draw",
        bias=bias,
        logged=logged,
        requests=plan.size,
        window=plan.window,
        iterations=plan.horizon,
        warm_up=plan.warm_up * plan.every,
        unfinished=tuple((index, int(runs)) for index, runs in enumerate(late) if runs),
        short=plan.short,
        shared=any(plan.prompts),
        days=days,
        counts=counts,
    )


def _measured(
    plan: Plan,
    felt: tuple[str, ...],
    backend: Backend,
    on_progress: Callable[[int, int], None] | None,
) -> Measured:
    def parts(run: xr.Dataset) -> xr.Dataset:
        return by_segment(run, felt, plan.warm_up)

    return plan.measured(plan.cases, backend, parts=parts, on_progress=on_progress)


def _days(source: Workload | Trace, plan: Plan, draws: int | None, horizon: Horizon) -> Days | None:
    """Fresh draws of a trace that is replayed; None: none are asked for, or runs are draws."""
    window = plan.window
    if window is None or window.rate is None:
        for name, value in (("draws", draws), ("horizon", None if horizon == Horizon() else "one")):
            if value:
                allowed = "none where requests are drawn for each run: runs and requests say it"
                raise InputError(name, value, allowed)
        return None
    caching = any(engine.finds_prefixes for engine in plan.engines)
    count = draws_of(draws)
    return plan.days_like(source, count, horizon, caching) if count else None


def _against(
    measured: Measured, felt: tuple[str, ...], engines: int, widen: float
) -> Mapping[str, Against]:
    """Of the metrics felt all at once; of what memory does, of each metric by itself."""
    gaps = {}
    for metric in (*felt, "preemptions", "recompute_tax"):
        values, relative = measured.pairs(metric), metric in felt
        together = (engines - 1) * len(felt) if relative else 1
        if values.shape[1]:
            gaps[metric] = against_first(
                values, comparisons=together, relative=relative, widen=widen
            )
        else:
            none = np.full(engines, np.nan)
            gaps[metric] = Against(none, none, none, relative)
    return gaps


def _labelled(plan: Plan, table: xr.Dataset) -> xr.Dataset:
    """Metrics [engine, run], engines by their names."""
    names = variable("engine", [engine.name for engine in plan.engines], "1", "engine")
    labelled = completed(table.rename(case="engine").assign_coords(engine=names), seed=plan.seed)
    labelled.attrs.pop("engine", None)  # of the first one
    return labelled
