"""All that a sweep will run, decided and checked before anything runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fluidkv.answers.recommend.choosing import Felt
from fluidkv.answers.recommend.settings import check_options, objectives_of, settings_of
from fluidkv.answers.served.cases import Case
from fluidkv.answers.served.clock import clock_values
from fluidkv.answers.served.demand import (
    MOST_RUNS,
    Demand,
    Draws,
    check_pace,
    horizon_of,
    length_of,
    prompts_of,
    requests_of_run,
    tables_of,
)
from fluidkv.answers.served.goodput import bounds_of
from fluidkv.answers.served.memory import check_memory, equilibrium_of
from fluidkv.answers.served.setting import Setting, engine_of, limits_of
from fluidkv.answers.served.slo import Slo
from fluidkv.answers.served.window import Window, check_rows, tables_to_hold, window_of
from fluidkv.errors import InputError
from fluidkv.exact.survival import Equilibrium
from fluidkv.prefix.prompts import Prompts
from fluidkv.record import Record
from fluidkv.runs.requests import Requests
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.engine_text import ServedEngine
from fluidkv.serving.engines import served_engine
from fluidkv.serving.limits import Limits
from fluidkv.serving.rules import EngineRules
from fluidkv.traces import Trace
from fluidkv.workload import Workload

RUNS = 4
"""Runs of each setting, where requests are drawn and nobody says how many."""
_WINDOWS = 400  # records of each run
_OF_ONE = 10_000  # of a single run: its parts are the pairs, and their ends lie within a record


@dataclass(frozen=True, eq=False)
class Plan(Record):
    """Fields:
    engine: as it is passed on.
    rules, caching, limits, demand, clock, equilibrium, slos, felt: as in `Recommendation`.
    settings: what may be tried; the first is how the server is set now.
    chosen: whether a user said what is to be tried.
    tables: the requests of each run, the same in every setting.
    prompts: what they say, for an engine with a cache; None: nobody shares anything.
    window: what they are of a trace that is replayed; None: they are drawn.
    horizon: iterations; None where runs go on until every request is served.
    every: iterations of a record; warm_up: records left out at the start.
    objectives: metrics that the frontier is about.
    """

    engine: ServedEngine
    rules: EngineRules
    caching: bool
    limits: Limits
    demand: Demand
    clock: IterationClock
    equilibrium: Equilibrium
    slos: tuple[Slo, ...]
    felt: Felt
    settings: tuple[Setting, ...]
    chosen: bool
    tables: list[Requests]
    prompts: tuple[Prompts | None, ...]
    window: Window | None
    horizon: int | None
    every: int
    warm_up: int
    objectives: tuple[str, ...]

    @property
    def asked(self) -> tuple[Slo, ...]:
        """What has to hold in every run; bounds of goodput are about each request."""
        each = bounds_of(self.slos) if "goodput" in self.felt.order else {}
        return tuple(slo for slo in self.slos if slo.metric.rpartition("_")[0] not in each)

    @property
    def size(self) -> int:
        """Requests of a run."""
        return len(self.tables[0])


def planned(
    source: Workload | Trace,
    limits: Limits,
    engine: str | EngineRules | ServedEngine,
    demand: Demand,
    clock: IterationClock,
    now: Setting,
    candidates: Mapping[str, Sequence[Any]] | None,
    slos: tuple[Slo, ...],
    objective: str,
    draws: Draws,
) -> Plan:
    """What `recommend_settings` is asked for, as a plan.

    Raises:
        InputError: as `recommend_settings`.
    """
    served = served_engine(engine)
    rules, caching = served.rules, served.caching
    now = replace(now, clients=demand.clients)
    workload = source.workload() if isinstance(source, Trace) else source
    check_options(rules, demand, caching, clock, objective, slos, now, candidates)
    if demand.kind != "replay":
        check_memory(rules, limits, workload, demand.asks)
    equilibrium = equilibrium_of(workload, limits.capacity)
    settings = settings_of(served, limits, demand, workload, equilibrium, now, candidates)
    longest = max(c.decode_length for c in workload.classes)
    first_engine, first_limits = engine_of(served, settings[0]), limits_of(limits, settings[0])
    as_it_is = Case(first_engine, first_limits, clock, demand.clients)
    window = window_of(source, demand, draws, [as_it_is] * len(settings))
    runs = RUNS if draws.runs is None else draws.runs
    first = 0
    if window is None:
        size = requests_of_run(draws.requests, demand, equilibrium, longest)
    else:
        size, runs, first = window.requests, window.runs, window.first
    part = source if window is None else window.of_trace(source)
    tables = tables_of(part, workload, demand, clock, size, runs, draws.seed, first)
    if window is not None:
        to_hold = tables_to_hold(tables, source, workload, demand, clock, window)
        check_rows(to_hold, first_engine, first_limits, window)
    if len(settings) * len(tables) > MOST_RUNS:
        tried = f"{len(settings)} settings, {len(tables)} runs each"
        raise InputError("runs", tried, f"{MOST_RUNS:,} runs in all")
    check_pace(demand, clock, settings, size)
    horizon = horizon_of(demand, equilibrium, size)
    length = horizon or length_of(demand, clock, equilibrium, tables)
    every = max(1, length // (_WINDOWS if len(tables) > 1 else _OF_ONE))
    objectives = objectives_of(demand, clock)
    return Plan(
        engine=served,
        rules=rules,
        caching=caching,
        limits=limits,
        demand=demand,
        clock=clock,
        equilibrium=equilibrium,
        slos=slos,
        felt=Felt.of(objective, objectives[0], objectives[2:]),
        settings=settings,
        chosen=any(len(values) for values in (candidates or {}).values()),
        tables=tables,
        prompts=prompts_of(part, demand, tables, served.finds_prefixes),
        window=window,
        horizon=horizon,
        every=every,
        warm_up=0 if horizon is None else length // every // 5,
        objectives=objectives,
    )


def as_dict(plan: Plan) -> dict[str, Any]:
    """What was asked for and of whom, as plain values for JSON."""
    demand, clock = plan.demand, plan.clock
    given = {name: getattr(demand, name) for name in ("rate", "clients", "speed")}
    return {
        "engine": {
            "name": plan.rules.name,
            "version": plan.rules.version,
            "text": plan.engine.name,
        },
        "prefix_cache": plan.caching,
        "capacity": plan.limits.capacity,
        "block_size": plan.limits.block_size,
        "max_num_batched_tokens": plan.limits.max_num_batched_tokens,
        "demand": {"kind": demand.kind}
        | {name: value for name, value in given.items() if value not in (None, 1.0)},
        "window": None if plan.window is None else plan.window.to_dict(),
        "clock": clock_values(clock),
        "equilibrium": {
            "rate": float(plan.equilibrium.rate),
            "in_flight": float(plan.equilibrium.in_flight),
        },
        "objective": plan.felt.order[0],
        "slos": {slo.metric: slo.bound for slo in plan.slos},
    }
