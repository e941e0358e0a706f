"""Engines and versions on the same requests: which is better, by how much, and is that real."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
import xarray as xr

from fluidkv.answers.compare.plan import Asked, Plan, planned
from fluidkv.answers.compare.result import THROUGHPUTS, EngineComparison
from fluidkv.answers.served.bias import OUTPUT, Bias, Totals, biases
from fluidkv.answers.served.cases import measured_cases
from fluidkv.answers.served.demand import Demand
from fluidkv.answers.served.fresh import HORIZON, Days, Horizon, days_like, draws_of
from fluidkv.answers.served.paired import Against, against_first
from fluidkv.answers.served.segments import by_segment
from fluidkv.answers.served.setting import Setting
from fluidkv.answers.served.window import requests_of_log
from fluidkv.errors import InputError
from fluidkv.labels import completed, variable
from fluidkv.logs.timed import TimedRun
from fluidkv.runs.dataset import RunStatus
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.engine_text import ServedEngine
from fluidkv.serving.rules import EngineRules
from fluidkv.serving.run import serve
from fluidkv.serving.server import Server
from fluidkv.traces import Trace
from fluidkv.workload import Workload

_SEGMENT = "segment:"


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
    backend: Literal["auto", "kernel", "reference"] = "auto",
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
    asked = Asked(
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
    plan = planned(source, engines, asked)
    if log is not None and len(plan.tables[0]) != len(log.input_lengths):
        raise InputError(
            "log", f"{len(log.input_lengths)} requests", f"the {len(plan.tables[0])} that are run"
        )
    felt = felt_of(asked.demand, asked.clock)
    table, statuses = _served(plan, felt, backend, on_progress)
    days = _days(source, plan, draws, horizon or Horizon())
    against, counts = _over_pairs(plan, table, felt, days, backend)
    bias = _bias(plan, log, logged, felt, totals)
    found = _answer(plan, table, against, felt, statuses, bias, None if log is None else logged)
    return found if days is None else replace(found, pairs="draw", days=days, counts=counts)


def _over_pairs(
    plan: Plan,
    table: xr.Dataset,
    felt: tuple[str, ...],
    days: Days | None,
    backend: Literal["auto", "kernel", "reference"],
) -> tuple[Mapping[str, Against], dict[str, np.ndarray]]:
    """Differences over fresh draws, with counts of these; over what was run, where none are."""
    if days is None:
        return _against(table, felt, len(plan.engines), 1.0), {}
    fresh = replace(plan, tables=list(days.tables), prompts=tuple(days.prompts))
    drawn = _served(fresh, felt, backend, None)[0]
    counts = {name: drawn[name].values for name in ("preemptions", "recompute_tax")}
    return _against(drawn, felt, len(plan.engines), days.widen), counts


def _days(source: Workload | Trace, plan: Plan, draws: int | None, horizon: Horizon) -> Days | None:
    """Fresh draws of a trace that is replayed; None: none are asked for, or runs are draws."""
    window = plan.window
    if window is None or window.rate is None:
        for name, value in (("draws", draws), ("horizon", None if horizon == Horizon() else "one")):
            if value:
                allowed = "none where requests are drawn for each run: runs and requests say it"
                raise InputError(name, value, allowed)
        return None
    if not draws_of(draws):
        return None
    log = window.drawn_from(source)
    caching = any(engine.finds_prefixes for engine in plan.engines)
    asked = plan.asked
    return days_like(
        log,
        draws_of(draws),
        horizon,
        asked.demand,
        asked.clock,
        usual=min(len(log), HORIZON),
        caching=caching,
        seed=asked.seed,
    )


def _served(
    plan: Plan,
    felt: tuple[str, ...],
    backend: Literal["auto", "kernel", "reference"],
    on_progress: Callable[[int, int], None] | None,
) -> tuple[xr.Dataset, list[str]]:
    """Metrics [engine, run], and of one run also those of its parts; how each run ended."""

    def segments(run: xr.Dataset) -> xr.Dataset:
        found = by_segment(run, felt, plan.warm_up)
        return found.rename({name: f"{_SEGMENT}{name}" for name in found.data_vars})

    table, statuses = measured_cases(
        plan.cases,
        plan.tables,
        plan.prompts,
        horizon=plan.horizon,
        every=plan.every,
        warm_up=plan.warm_up,
        backend=backend,
        also=segments if len(plan.tables) == 1 else None,
        on_progress=on_progress,
    )
    return table.rename(case="engine"), statuses


def felt_of(demand: Demand, clock: IterationClock) -> tuple[str, ...]:
    """What users feel, in the order in which it counts; first tokens only on a clock that says
    when they come.
    """
    throughput = THROUGHPUTS[0] if clock.unit == "s" else THROUGHPUTS[1]
    if demand.kind == "saturated":
        return (throughput, "tpot_p99", "longest_gap_p99")
    first = ("ttft_p50", "ttft_p99") if clock.prefills else ()
    return (throughput, *first, "latency_p99", "tpot_p99", "longest_gap_p99")


def _against(
    table: xr.Dataset, felt: tuple[str, ...], engines: int, widen: float
) -> Mapping[str, Against]:
    """Of the metrics felt all at once; of what memory does each by itself."""
    found = {}
    for metric in (*felt, "preemptions", "recompute_tax"):
        values = table[metric].values
        if f"{_SEGMENT}{metric}" in table:
            values = table[f"{_SEGMENT}{metric}"].values.reshape(engines, -1)
            values = values[:, np.isfinite(values).all(axis=0)]
        together = (engines - 1) * len(felt) if metric in felt else 1
        relative = metric in felt
        if values.shape[1]:
            found[metric] = against_first(
                values, comparisons=together, relative=relative, widen=widen
            )
        else:
            none = np.full(engines, np.nan)
            found[metric] = Against(none, none, none, relative)
    return found


def _bias(
    plan: Plan,
    log: TimedRun | None,
    logged: int,
    felt: tuple[str, ...],
    totals: Totals | None,
) -> Mapping[str, Bias]:
    """What the simulation of the log's own engine misses; the run is made again."""
    if log is None:
        return {}
    case = plan.cases[logged]
    prompts = plan.prompts[0] if plan.engines[logged].caching else None
    run = serve(plan.tables[0], Server(case.engine, case.limits, clock=case.clock, prompts=prompts))
    return biases(run, log, tuple(dict.fromkeys((OUTPUT, *felt))), totals=totals)


def _shown(plan: Plan, table: xr.Dataset) -> xr.Dataset:
    """Without the parts of a run, engines by their names."""
    whole = table.drop_vars([name for name in table if str(name).startswith(_SEGMENT)])
    names = variable("engine", [engine.name for engine in plan.engines], "1", "engine")
    shown = completed(whole.assign_coords(engine=names), seed=plan.asked.seed)
    shown.attrs.pop("engine", None)  # of the first one
    return shown


def _answer(
    plan: Plan,
    table: xr.Dataset,
    against: Mapping[str, Against],
    felt: tuple[str, ...],
    statuses: Sequence[str],
    bias: Mapping[str, Bias],
    logged: int | None,
) -> EngineComparison:
    right = RunStatus.DONE if plan.horizon is None else RunStatus.HORIZON
    ended = np.array([status != right.name for status in statuses]).reshape(len(plan.engines), -1)
    return EngineComparison(
        engines=plan.engines,
        asked=plan.asked,
        limits=tuple(case.limits for case in plan.cases),
        felt=felt,
        table=_shown(plan, table),
        against=against,
        pairs="segment" if table.sizes["run"] == 1 else "run",
        bias=bias,
        logged=logged,
        requests=len(plan.tables[0]),
        window=plan.window,
        iterations=plan.horizon,
        warm_up=plan.warm_up * plan.every,
        unfinished=tuple((i, int(n)) for i, n in enumerate(ended.sum(axis=1)) if n),
        short=plan.short,
        shared=any(plan.prompts),
    )
