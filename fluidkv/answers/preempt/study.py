"""Every victim and restore rule, and what else is chosen, on the same requests."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Literal

import numpy as np
import xarray as xr

from fluidkv.answers.preempt.effects import main_effects
from fluidkv.answers.preempt.forecasts import Forecast
from fluidkv.answers.preempt.objectives import Objectives
from fluidkv.answers.preempt.pick import SHARES, Aim, pick
from fluidkv.answers.preempt.plan import Plan, planned
from fluidkv.answers.preempt.result import PreemptAnswer, throughput_of
from fluidkv.answers.preempt.rules import SEE_LENGTHS, Combination
from fluidkv.answers.served.bias import OUTPUT, Bias, Totals
from fluidkv.answers.served.cases import Case
from fluidkv.answers.served.demand import Demand, Draws
from fluidkv.answers.served.paired import against_first
from fluidkv.answers.served.segments import SEGMENTS, by_segment
from fluidkv.answers.served.slo import first_tokens
from fluidkv.answers.served.window import requests_of_log
from fluidkv.labels import column, completed, variable, with_columns
from fluidkv.logs.timed import TimedRun
from fluidkv.preempt.predictors.noise import Perfect
from fluidkv.preempt.slo import MeanTimes, attainment, mean_times, tails
from fluidkv.runs.dataset import RunStatus
from fluidkv.runs.measuring import Span, metrics
from fluidkv.runs.requests import Requests
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.limits import Limits
from fluidkv.serving.rules import Allocation, EngineRules, Restore, Victim
from fluidkv.serving.run import serve
from fluidkv.serving.server import Server
from fluidkv.traces import Trace
from fluidkv.workload import Workload

_OF_A_RUN = ("recompute_tax", "preemptions", "throughput", "throughput_per_time")
_OF_REQUESTS = ("ttft_p50", "ttft_p99", "longest_gap_p50", "longest_gap_p99")
ATTAINED = {"attained": "both", "attained_ttft": "ttft", "attained_tbt": "tbt"}
"""Metric -> what it is called by `attainment`."""
_BY_SEGMENT = "_by_segment"
_CHOICES = {
    "victim": "who is preempted",
    "restore": "how it comes back",
    "allocation": "what memory it is given",
    "predictor": "who predicts lengths",
}
_OF_LOG = ("ttft_p99", "latency_p99")
_LOGGED = {OUTPUT: "throughput_per_time"}  # of all requests, tokens and requests a second are one
_COLUMNS = (
    *("arrival", "first_token", "last_token", "longest_gap", "finished", "requests"),
    *("input_length", "output_length", "outputs"),
)


def preempt_study(
    source: Workload | Trace,
    limits: Limits | int,
    *,
    engine: str | EngineRules = "vllm",
    demand: Demand | None = None,
    clock: IterationClock | None = None,
    victims: Iterable[Victim] | None = None,
    restores: Iterable[Restore] | None = None,
    allocations: Iterable[Allocation] | None = None,
    predictors: Mapping[str, Forecast] | None = None,
    objectives: Objectives | None = None,
    log: TimedRun | None = None,
    totals: Totals | None = None,
    requests: int | None = None,
    seeds: int | None = None,
    seed: int = 0,
    backend: Literal["auto", "kernel", "reference"] = "auto",
    on_progress: Callable[[int, int, str], None] | None = None,
) -> PreemptAnswer:
    """Compare whom to preempt, how it comes back, what memory is given, and who predicts lengths.

    Every combination serves the same requests in a run, until all are served: drawn from the
    workload, other ones in each run, or those of a trace that is replayed, all of them unless fewer
    are asked for. The engine's own rules are among them, and what others are held against: run by
    run, or by the quarters of one run of a trace.

    Args:
        source: a workload, or a trace, which has one.
        limits: memory, caps and what swapping costs; or KV tokens alone, in the engine's blocks.
        engine: a name out of `fluidkv.serving.engines.ENGINES` without a cache, or rules.
        demand: who asks; None: requests that all wait from the start.
        clock: duration of an iteration; None: the theory's, where each lasts 1.
        victims: None: all.
        restores: None: all where `limits.swap` says what swapping costs, else the engine's own.
        allocations: None: the engine's own.
        predictors: by the names under which they are reported; None: the truth, and a rule that
            needs it is not picked. A rule that does not look at predictions is run once, and
            counts for each of them.
        objectives: for the first token and between tokens. `Victim.LOOSEST_OBJECTIVE` sees them; a
            scale of mean times is of the other victims then.
        log: what was measured where these requests, all of them at their own times, were served as
            `limits` say: how far the simulation of the engine's own rules is from it.
        totals: what else the log says.
        requests: in each run; None: all of a trace that is replayed, else ten times what memory
            carries, 200 to 2,000.
        seeds: runs of each combination; None: 8, or one of a trace that is replayed. More are
            consecutive parts of so many requests, each from an empty server.
        seed: of the first run; the others follow.
        backend: of `serve`.
        on_progress: told how many combinations are done, of how many that are run, and which is
            next.

    Raises:
        InputError: what `serve`, `Limits` and `Demand` refuse; an engine with a prefix cache, or
            whose newcomers come first; a replay without times or without a clock in seconds; an
            objective for the first token where all requests wait from the start; too many runs.

    Examples:
        >>> from fluidkv.serving import Victim
        >>> mix, victims = fk.Workload.from_lengths([(8, 10), (30, 20)]), [Victim.MOST_BLOCKS]
        >>> small = {"requests": 40, "seeds": 2, "backend": "reference"}
        >>> found = fk.preempt_study(mix, fk.Limits(128, 4), victims=victims, **small)
        >>> [each.names["victim"] for each in found.combinations]
        ['last-admitted', 'most-blocks']
        >>> [found.mean(index, "preemptions") for index in (0, 1)]
        [29.5, 18.5]
    """
    plan = planned(
        source,
        limits,
        engine,
        demand or Demand(),
        clock or IterationClock.iterations(),
        objectives,
        {"victim": victims, "restore": restores, "allocation": allocations},
        predictors,
        Draws(requests_of_log(requests, log, demand), seeds, seed),
    )
    own = Case(plan.engine, plan.limits, plan.clock)
    bias = {} if log is None else plan.bias(source, own, log, _OF_LOG, totals)
    rows, times = _everything(plan, backend, on_progress)
    return _answer(plan, xr.concat(rows, "combination", combine_attrs="override"), times, bias)


def _labelled(plan: Plan, table: xr.Dataset) -> xr.Dataset:
    """(combination, run), the four choices as coordinates."""
    names = {
        name: variable("combination", [each.names[name] for each in plan.combinations], "1", title)
        for name, title in _CHOICES.items()
    }
    labelled = completed(table.assign_coords(names), seed=plan.seed)
    labelled.attrs.pop("engine", None)  # of the first one
    return labelled


def _everything(
    plan: Plan,
    backend: Literal["auto", "kernel", "reference"],
    tell: Callable[[int, int, str], None] | None,
) -> tuple[list[xr.Dataset], MeanTimes | None]:
    """Metrics [run] of each combination; those that look at a scale of objectives come last."""
    objectives = plan.objectives
    scaled = objectives is not None and objectives.scale is not None
    order = sorted(
        range(len(plan.combinations)),
        key=lambda i: scaled and plan.combinations[i].victim is Victim.LOOSEST_OBJECTIVE,
    )
    tables = plan.tables
    if objectives is not None and not scaled:
        tables = objectives.given_to(tables, None, None, plan.seed)
    runs: dict[Combination, xr.Dataset] = {}
    rows: dict[Combination, xr.Dataset] = {}
    times: MeanTimes | None = None
    total = len({_same_run(combination, plan) for combination in plan.combinations})
    for index in order:
        combination = plan.combinations[index]
        if scaled and times is None and combination.victim is Victim.LOOSEST_OBJECTIVE:
            times, tables = _scaled(plan, runs)
        same = _same_run(combination, plan)
        if same in rows:
            continue
        if tell is not None:
            names = combination.names
            rules = f"{names['victim']}, {names['restore']}, {names['allocation']}"
            tell(len(rows), total, f"combinations; now {rules}")
        run = _served(plan, combination, tables, backend)
        rows[same] = _metrics(run).merge(_of_segments(plan, run))
        runs[same] = run[[*_COLUMNS]]
    if scaled and times is None:
        times, tables = _scaled(plan, runs)
    if objectives is not None:
        for same, run in runs.items():
            rows[same] = rows[same].merge(_attained(plan, run, tables))
    return [rows[_same_run(combination, plan)] for combination in plan.combinations], times


def _scaled(plan: Plan, runs: Mapping[Combination, xr.Dataset]) -> tuple[MeanTimes, list[Requests]]:
    """Mean times over what was run so far, and objectives of them."""
    assert plan.objectives is not None  # the caller looked
    times = mean_times(list(runs.values()))
    if not first_tokens(plan.demand, plan.clock):  # none to speak of
        times = replace(times, ttft=np.nan)
    chunk = plan.limits.max_num_batched_tokens
    return times, plan.objectives.given_to(plan.tables, times, chunk, plan.seed)


def _same_run(combination: Combination, plan: Plan) -> Combination:
    """The combination that stands for all with the same run."""
    if combination.predicts:
        return combination
    return replace(combination, predictor=next(iter(plan.predictors)))


def _served(
    plan: Plan,
    combination: Combination,
    tables: Sequence[Requests],
    backend: Literal["auto", "kernel", "reference"],
) -> xr.Dataset:
    forecast = plan.predictors[combination.predictor]
    size = len(plan.tables[0])  # of each part of a trace; other runs have no numbers
    first = 0 if plan.window is None else plan.window.first
    seeds = range(plan.seed, plan.seed + len(tables))
    return serve(
        [forecast.of(table, plan.seed + r, first + r * size) for r, table in enumerate(tables)],
        Server(
            combination.of(plan.engine),
            [replace(plan.limits, seed=seed) for seed in seeds],
            clock=plan.clock,
            backend=backend,
        ),
        clients=plan.demand.clients,
        iterations=plan.horizon,
        every=plan.every,
    )


def _metrics(run: xr.Dataset) -> xr.Dataset:
    """One value for each run."""
    columns = metrics(run)[[*_OF_A_RUN, *_OF_REQUESTS, "censored"]]
    unit = run.attrs["unit"]
    own = {
        "normalised_latency": column(
            tails(run).normalised_latency_mean,
            f"{unit} / token",
            "from arrival to last token over outputs, mean",
        ),
        # the paper's preemption time
        "halted_mean": column(
            run.halted.mean("request"), unit, "from preemptions to the next new token, mean"
        ),
        "ended": column(run.status == RunStatus.DONE.name, "1", "whether every request was served"),
    }
    return with_columns(columns, own)


def _of_segments(plan: Plan, run: xr.Dataset) -> xr.Dataset:
    """Of one run of a trace: what users feel in each of its parts."""
    if not plan.by_segment:
        return xr.Dataset()
    throughput = throughput_of(plan.clock)
    parts = by_segment(run, (f"output_{throughput}", "ttft_p99", "longest_gap_p99"))
    named = {name: f"{str(name).removeprefix('output_')}{_BY_SEGMENT}" for name in parts}
    return parts.rename(named)


def _attained(plan: Plan, run: xr.Dataset, tables: Sequence[Requests]) -> xr.Dataset:
    """Shares of all requests, and, of one run of a trace, of those that come in each part."""
    shares_of = attainment(run, tables)
    shares = xr.Dataset({name: shares_of[of] for name, of in ATTAINED.items()})
    if not plan.by_segment:
        return shares
    parts = np.array_split(run.arrival.values[0], SEGMENTS)
    edges = [*(part[0] for part in parts if part.size), np.inf]
    spans = [attainment(run, tables, span=Span(*edge)) for edge in pairwise(edges)]
    both = xr.concat([each[ATTAINED["attained"]] for each in spans], "segment")
    return shares.assign({f"attained{_BY_SEGMENT}": both.transpose("run", "segment")})


def _answer(
    plan: Plan, table: xr.Dataset, times: MeanTimes | None, bias: Mapping[str, Bias]
) -> PreemptAnswer:
    parts = {
        str(name).removesuffix(_BY_SEGMENT): table[name].values.reshape(len(plan.combinations), -1)
        for name in table.data_vars
        if str(name).endswith(_BY_SEGMENT)
    }
    table = _labelled(plan, table.drop_vars([f"{name}{_BY_SEGMENT}" for name in parts]))
    values = {str(name): column.values for name, column in table.data_vars.items()}
    numbers = {name: column for name, column in values.items() if name != "ended"}
    pairs = numbers | parts
    aims = tuple(aim for aim in _aims(plan) if np.isfinite(pairs[aim.metric]).all())
    comparisons = (len(plan.combinations) - 1) * max(1, len(aims))
    against = {
        name: against_first(column, comparisons=comparisons, relative=name not in SHARES)
        for name, column in pairs.items()
    }
    effects = {name: main_effects(column, plan.combinations) for name, column in numbers.items()}
    margins = {_LOGGED.get(name, name): one.error_bar for name, one in bias.items()}
    ended = np.asarray(values["ended"].all(axis=1))
    truth = {name for name, each in plan.predictors.items() if isinstance(each.predictor, Perfect)}
    knows = np.array(
        [
            each.victim in SEE_LENGTHS or (each.predicts and each.predictor in truth)
            for each in plan.combinations
        ]
    )
    oracles = knows & (plan.assumed or not truth)  # who names the truth may have it
    return PreemptAnswer(
        engine=plan.engine,
        limits=plan.limits,
        demand=plan.demand,
        clock=plan.clock,
        objectives=plan.objectives,
        times=times,
        combinations=plan.combinations,
        table=table,
        against=against,
        effects={name: effect for name, effect in effects.items() if effect is not None},
        aims=aims,
        pick=pick(pairs, aims, against, ended, margins, oracles),
        pairs="segment" if parts else "run",
        knows=tuple(np.flatnonzero(knows).tolist()),
        bias=bias,
        requests=len(plan.tables[0]),
        window=plan.window,
        seed=plan.seed,
    )


def _aims(plan: Plan) -> tuple[Aim, ...]:
    """What users feel: the share that meets its objectives, or tails; and throughput."""
    throughput = Aim(throughput_of(plan.clock), 1)
    if plan.objectives is not None:
        return Aim("attained", 1), replace(throughput, leads=False)
    first = (Aim("ttft_p99", -1),) if first_tokens(plan.demand, plan.clock) else ()
    return throughput, *first, Aim("longest_gap_p99", -1)
