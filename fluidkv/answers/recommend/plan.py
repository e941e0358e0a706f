"""All that a sweep will run, decided and checked before anything runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fluidkv.answers.recommend.choosing import Felt
from fluidkv.answers.recommend.settings import check_options, objectives_of, settings_of
from fluidkv.answers.served.cases import Case
from fluidkv.answers.served.clock import clock_values
from fluidkv.answers.served.demand import Demand, Draws
from fluidkv.answers.served.experiment import Experiment, experiment, workload_of
from fluidkv.answers.served.goodput import bounds_of
from fluidkv.answers.served.memory import check_memory, equilibrium_of
from fluidkv.answers.served.setting import Setting, engine_of, limits_of
from fluidkv.answers.served.slo import Slo
from fluidkv.answers.served.window import check_rows
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.engine_text import ServedEngine
from fluidkv.serving.engines import served_engine
from fluidkv.serving.limits import Limits
from fluidkv.serving.rules import EngineRules
from fluidkv.traces import Trace
from fluidkv.workload import Workload

RUNS = 4
"""Runs of each setting, where requests are drawn and nobody says how many."""


@dataclass(frozen=True, eq=False)
class Plan(Experiment):
    """Fields:
    engine: as it is passed on.
    rules, caching, limits, slos, felt: as in `Recommendation`.
    settings: what may be tried; the first is how the server is set now.
    chosen: whether a user said what is to be tried.
    objectives: metrics that the frontier is about.
    """

    engine: ServedEngine
    rules: EngineRules
    caching: bool
    limits: Limits
    slos: tuple[Slo, ...]
    felt: Felt
    settings: tuple[Setting, ...]
    chosen: bool
    objectives: tuple[str, ...]

    @property
    def asked(self) -> tuple[Slo, ...]:
        """What has to hold in every run; bounds of goodput are about each request."""
        each = bounds_of(self.slos) if "goodput" in self.felt.order else {}
        return tuple(slo for slo in self.slos if slo.metric.rpartition("_")[0] not in each)


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
    workload = workload_of(source)
    check_options(rules, demand, caching, clock, objective, slos, now, candidates)
    if demand.kind != "replay":
        check_memory(rules, limits, workload, demand.asks)
    equilibrium = equilibrium_of(workload, limits.capacity)
    settings = settings_of(served, limits, demand, workload, equilibrium, now, candidates)
    first = engine_of(served, settings[0]), limits_of(limits, settings[0])
    runs = experiment(
        source,
        workload,
        equilibrium,
        demand,
        clock,
        draws,
        runs=RUNS,
        servers=[Case(*first, clock, demand.clients)] * len(settings),
        called="settings",
        settings=settings,
        caching=served.finds_prefixes,
    )
    if runs.window is not None:
        check_rows(runs.to_hold, *first, runs.window)
    objectives = objectives_of(demand, clock)
    return Plan(
        **vars(runs),
        engine=served,
        rules=rules,
        caching=caching,
        limits=limits,
        slos=slos,
        felt=Felt.of(objective, objectives[0], objectives[2:]),
        settings=settings,
        chosen=any(len(values) for values in (candidates or {}).values()),
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
