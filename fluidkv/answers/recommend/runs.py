"""The same requests through every setting: as it is now first, then what may be better.

Where nothing is preempted now and nobody waits for a cap, nothing else is run. Where runs go one
after the other and are many, pairs of knobs are only those of the values that are best alone.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import xarray as xr

from fluidkv.answers.compare.plan import Setup
from fluidkv.answers.recommend.records import felt_of, more_is_better
from fluidkv.answers.recommend.settings import (
    IN_PAIRS,
    check_options,
    objectives_of,
    settings_of,
)
from fluidkv.answers.served.cases import Case
from fluidkv.answers.served.demand import Draws
from fluidkv.answers.served.experiment import Backend, Experiment, experiment, workload_of
from fluidkv.answers.served.goodput import bounds_of, goodput, shares_by_segment
from fluidkv.answers.served.memory import check_memory, equilibrium_of
from fluidkv.answers.served.segments import by_segment
from fluidkv.answers.served.setting import KNOBS, Setting, engine_of
from fluidkv.answers.served.slo import Slo
from fluidkv.answers.served.window import check_rows
from fluidkv.labels import completed, variable
from fluidkv.record import Record
from fluidkv.runs.requests import Requests
from fluidkv.serving.caching.run import one_by_one
from fluidkv.serving.engine_text import ServedEngine
from fluidkv.serving.limits import Limits
from fluidkv.traces import Trace
from fluidkv.workload import Workload

Progress = Callable[[int, int], None]

RUNS = 4
"""Runs of each setting, where requests are drawn and nobody says how many."""
WORK = 40_000_000
"""Output tokens in all settings, from which on pairs are picked: about a minute, one by one."""
ENOUGH = 10_000
"""Requests of runs without a preemption, after which no more draws are looked at."""
_BEST = 2  # values of each knob that are tried in pairs
_KNOBS = {  # of `KNOBS`: unit, what it is
    "watermark": ("1", "share of the blocks that admission leaves free"),
    "max_num_seqs": ("request", "most requests running at once; NaN: no cap"),
    "admission_rate": ("request / iteration", "most admissions; NaN: no cap"),
    "clients": ("request", "requests in the system at once; NaN: they come at their times"),
    "conservativeness": ("1", "of SGLang's admission; NaN: as the engine has it"),
}


@dataclass(frozen=True, eq=False)
class Plan(Experiment):
    """Fields:
    engine: as it is passed on.
    setup: memory, clock, when requests come; caps as they are set now.
    slos: what is asked.
    felt: metrics that users feel, in the order in which it counts.
    settings: what may be tried; the first is how the server is set now.
    chosen: whether a user said what is to be tried.
    objectives: metrics that the frontier is about: throughput, preemptions, tails of times.
    """

    engine: ServedEngine
    setup: Setup
    slos: tuple[Slo, ...]
    felt: tuple[str, ...]
    settings: tuple[Setting, ...]
    chosen: bool
    objectives: tuple[str, ...]

    @property
    def limits(self) -> Limits:
        """Memory, and most tokens of an iteration; caps are those of a setting."""
        return self.case(Setting()).limits

    @property
    def bounds(self) -> Mapping[str, float]:
        """Of the times of each request, where goodput is asked for."""
        return bounds_of(self.slos) if "goodput" in self.felt else {}

    @property
    def asked(self) -> tuple[Slo, ...]:
        """What has to hold in every run; bounds of goodput are about each request."""
        bounds = self.bounds
        return tuple(slo for slo in self.slos if slo.metric.rpartition("_")[0] not in bounds)

    def case(self, setting: Setting) -> Case:
        """The server as it is set so."""
        case = replace(self.setup, now=setting).case(engine_of(self.engine, setting))
        return replace(case, clients=setting.clients)

    def check_rows(self, tables: Sequence[Requests], setting: Setting, start: int = 0) -> None:
        """Refuse a setting under which a request of a trace can never be served, with its row.

        Args:
            tables: of requests.
            setting: of the server.
            start: row of the trace with which the first table begins.
        """
        if self.window is not None:
            limits = self.case(setting).limits
            check_rows(tables, engine_of(self.engine, setting), limits, self.window, start)


def planned(
    source: Workload | Trace,
    engine: ServedEngine,
    setup: Setup,
    candidates: Mapping[str, Sequence[Any]],
    slos: tuple[Slo, ...],
    objective: str,
) -> Plan:
    """All that will be run, decided and checked before anything runs.

    Raises:
        InputError: as `recommend_settings`.
    """
    demand = setup.demand
    limits = replace(setup, now=Setting()).limits(engine)
    setup = replace(setup, now=replace(setup.now, clients=demand.clients))
    workload = workload_of(source)
    check_options(engine, setup, objective, slos, candidates)
    if demand.kind != "replay":
        check_memory(engine.rules, limits, workload, demand.asks)
    equilibrium = equilibrium_of(workload, setup.capacity)
    settings = settings_of(engine, setup, workload, equilibrium, candidates)
    runs = experiment(
        source,
        workload,
        equilibrium,
        demand,
        setup.clock,
        Draws(setup.requests, setup.runs, setup.seed),
        runs=RUNS,
        servers=[setup.case(engine_of(engine, setup.now))] * len(settings),
        called="settings",
        settings=settings,
        caching=engine.finds_prefixes,
    )
    objectives = objectives_of(setup)
    plan = Plan(
        **vars(runs),
        engine=engine,
        setup=setup,
        slos=slos,
        felt=felt_of(objective, objectives[0], objectives[2:]),
        settings=settings,
        chosen=any(len(values) for values in candidates.values()),
        objectives=objectives,
    )
    plan.check_rows(plan.to_hold, settings[0])
    return plan


@dataclass(frozen=True, eq=False)
class Ran(Record):
    """What was run.

    Fields:
        settings: the first is how the server is set now.
        table: metrics [setting, run], the knobs as coordinates.
        segments: metrics [setting, run, segment] of what users feel; None of several runs.
        statuses: how each run ended.
        left_out: settings that were not run, since their knobs are not the best alone.
        nothing_to_gain: whether only `now` was run, because nothing could be gained on it.
    """

    settings: tuple[Setting, ...]
    table: xr.Dataset
    segments: xr.Dataset | None
    statuses: tuple[str, ...]
    left_out: int = 0
    nothing_to_gain: bool = False


def run_now(plan: Plan, backend: Backend) -> Ran | None:
    """The server as it is, if that is all that needs to be run; None: the others have to be.

    Nothing can be gained where nothing is preempted, and where nobody waits or no cap of today's
    makes them. Caps only let less run at once. So it ends with the first run that preempts, and
    what was chosen by a user is run in any case.
    """
    if plan.chosen or plan.demand.kind == "saturated" or not _caps_cannot_help(plan):
        return None
    parts: list[Ran] = []
    for table, prompts in zip(plan.tables, plan.prompts, strict=True):
        alone = replace(plan, tables=[table], prompts=(prompts,))
        parts.append(run_settings(alone, plan.settings[:1], backend))
        if not _nothing_to_gain(parts[-1], plan):
            return None
        if len(parts) * plan.size >= ENOUGH:
            break
    now = replace(_joined(parts, "run"), settings=plan.settings[:1], nothing_to_gain=True)
    return now if len(parts) == 1 else replace(now, segments=None)


def run_all(plan: Plan, backend: Backend, on_progress: Progress | None) -> Ran:
    """Every setting; or, where they are many, pairs of the best values alone."""
    alone = tuple(s for s in plan.settings if len(s.changed(plan.settings[0])) < 2)
    tokens = sum(int(table.output_length.sum()) for table in plan.tables)
    if not one_by_one(plan.engine) or len(plan.settings) * tokens <= WORK:
        alone = plan.settings
    for setting in plan.settings:
        plan.check_rows(plan.tables, setting, plan.window.first if plan.window else 0)
    parts = [run_settings(plan, alone, backend, on_progress)]
    pairs = _best_pairs(plan, parts[0]) if len(alone) < len(plan.settings) else ()
    if pairs:
        parts.append(run_settings(plan, pairs, backend, on_progress))
    return replace(_joined(parts, "setting"), left_out=len(plan.settings) - len(alone) - len(pairs))


def run_settings(
    plan: Plan, settings: Sequence[Setting], backend: Backend, on_progress: Progress | None = None
) -> Ran:
    """Just these settings."""
    table, segments, statuses = plan.measured(
        [plan.case(setting) for setting in settings],
        backend,
        parts=lambda run: _parts(plan, run),
        also=lambda run: _also(plan, run),
        on_progress=on_progress,
    )
    table = table.rename(case="setting").assign_coords(
        {name: _column_of(name, settings) for name in KNOBS}
    )
    segments = None if segments is None else segments.rename(case="setting")
    return Ran(tuple(settings), table, segments, statuses)


def _column_of(knob: str, settings: Sequence[Setting]) -> Any:
    """A knob's values, NaN where it is not set."""
    values = (getattr(setting, knob) for setting in settings)
    numbers = [np.nan if value is None else float(value) for value in values]
    return variable("setting", numbers, *_KNOBS[knob])


def _joined(parts: Sequence[Ran], along: str) -> Ran:
    """Runs of the same settings, or settings of the same runs, as one."""
    segments = [part.segments for part in parts if part.segments is not None]
    tables = [part.table for part in parts]
    return Ran(
        settings=tuple(setting for part in parts for setting in part.settings),
        table=completed(xr.concat(tables, along, combine_attrs="override")),
        segments=xr.concat(segments, along) if segments else None,
        statuses=tuple(status for part in parts for status in part.statuses),
    )


def _also(plan: Plan, run: xr.Dataset) -> xr.Dataset:
    """The longest queue and batch, and goodput."""
    columns = {}
    for name, records in (("queue_most", run.waiting), ("running_most", run.running)):
        columns[name] = records.max("window")
        columns[name].attrs = {"long_name": f"most requests {records.name}", "units": "request"}
    if plan.bounds:
        columns["goodput"] = goodput(run, plan.bounds)
    return xr.Dataset(columns)


def _parts(plan: Plan, run: xr.Dataset) -> xr.Dataset:
    """What users feel in the parts of a single run."""
    parts = by_segment(run, plan.felt, plan.warm_up)
    return parts.assign(goodput=shares_by_segment(run, plan.bounds)) if plan.bounds else parts


# --- whether anything can be gained -------------------------------------------------------------


def _caps_cannot_help(plan: Plan) -> bool:
    """Whether what is asked for is nothing that a smaller batch may better by itself."""
    bounded = bounds_of(plan.slos)
    return not plan.felt[0].startswith(("tpot", "longest_gap")) and not bounded


def _nothing_to_gain(ran: Ran, plan: Plan) -> bool:
    if float(ran.table.preemptions.max()):
        return False
    now = plan.settings[0]
    capped = now.max_num_seqs is not None and float(ran.table.running_most.max()) >= (
        now.max_num_seqs - 1e-9
    )
    held_back = bool(now.watermark) or now.admission_rate is not None or capped
    conservative = "conservativeness" in dict(plan.engine.rules.flags)
    return not float(ran.table.queue_most.max()) or not (held_back or conservative)


# --- pairs of the best --------------------------------------------------------------------------


def _best_pairs(plan: Plan, ran: Ran) -> tuple[Setting, ...]:
    """Of the planned pairs, those of the values that are the best alone in the objective."""
    objective = plan.felt[0]
    sign = -1 if more_is_better(objective) else 1
    means = sign * ran.table[objective].values.mean(axis=1)
    now = ran.settings[0]
    best = {}
    for knob in IN_PAIRS:
        alone = [i for i, s in enumerate(ran.settings) if s.changed(now) == (knob,)]
        alone.sort(key=lambda i: (math.isnan(means[i]), means[i]))
        best[knob] = {getattr(ran.settings[i], knob) for i in alone[:_BEST]}
    return tuple(
        setting
        for setting in plan.settings
        if setting not in ran.settings
        and all(getattr(setting, knob) in best.get(knob, ()) for knob in setting.changed(now))
    )
