"""All that a sweep of settings will run, decided and checked before anything runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fluidkv.answers.recommend.objective import Felt
from fluidkv.answers.recommend.settings import check_options, objectives_of, settings_of
from fluidkv.answers.served.cases import Case
from fluidkv.answers.served.demand import Demand, Draws
from fluidkv.answers.served.experiment import Experiment, experiment, workload_of
from fluidkv.answers.served.goodput import bounds_of
from fluidkv.answers.served.memory import check_memory, equilibrium_of
from fluidkv.answers.served.setting import Setting, engine_of, limits_of
from fluidkv.answers.served.slo import Slo
from fluidkv.answers.served.window import check_rows
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.engine_text import ServedEngine
from fluidkv.serving.limits import Limits
from fluidkv.traces import Trace
from fluidkv.workload import Workload

RUNS = 4
"""Runs of each setting, where requests are drawn and nobody says how many."""


@dataclass(frozen=True, eq=False)
class Plan(Experiment):
    """Fields:
    engine: as it is passed on.
    limits: memory, and most tokens of an iteration; caps are those of a setting.
    slos: what is asked.
    felt: what users feel, in the order in which it counts.
    settings: what may be tried; the first is how the server is set now.
    chosen: whether a user said what is to be tried.
    objectives: metrics that the frontier is about: throughput, preemptions, tails of times.
    """

    engine: ServedEngine
    limits: Limits
    slos: tuple[Slo, ...]
    felt: Felt
    settings: tuple[Setting, ...]
    chosen: bool
    objectives: tuple[str, ...]

    @property
    def bounds(self) -> Mapping[str, float]:
        """Of the times of each request, where goodput is asked for."""
        return bounds_of(self.slos) if "goodput" in self.felt.order else {}

    @property
    def asked(self) -> tuple[Slo, ...]:
        """What has to hold in every run; bounds of goodput are about each request."""
        bounds = self.bounds
        return tuple(slo for slo in self.slos if slo.metric.rpartition("_")[0] not in bounds)

    def case(self, setting: Setting) -> Case:
        """The server as it is set so."""
        engine, limits = engine_of(self.engine, setting), limits_of(self.limits, setting)
        return Case(engine, limits, self.clock, setting.clients)

    def check_rows(self, tables: Sequence[Any], setting: Setting, start: int = 0) -> None:
        """Refuse a setting under which a request of a trace can never be served, with its row.

        Args:
            tables: of requests.
            setting: of the server.
            start: row of the trace with which the first table begins.
        """
        if self.window is not None:
            engine, limits = engine_of(self.engine, setting), limits_of(self.limits, setting)
            check_rows(tables, engine, limits, self.window, start)


def planned(
    source: Workload | Trace,
    limits: Limits,
    engine: ServedEngine,
    demand: Demand,
    clock: IterationClock,
    now: Setting,
    candidates: Mapping[str, Sequence[Any]],
    slos: tuple[Slo, ...],
    objective: str,
    draws: Draws,
) -> Plan:
    """What `recommend_settings` is asked for, as a plan.

    Raises:
        InputError: as `recommend_settings`.
    """
    now = replace(now, clients=demand.clients)
    workload = workload_of(source)
    check_options(engine, demand, clock, objective, slos, now, candidates)
    if demand.kind != "replay":
        check_memory(engine.rules, limits, workload, demand.asks)
    equilibrium = equilibrium_of(workload, limits.capacity)
    settings = settings_of(engine, limits, demand, workload, equilibrium, now, candidates)
    server = Case(engine_of(engine, now), limits_of(limits, now), clock, demand.clients)
    runs = experiment(
        source,
        workload,
        equilibrium,
        demand,
        clock,
        draws,
        runs=RUNS,
        servers=[server] * len(settings),
        called="settings",
        settings=settings,
        caching=engine.finds_prefixes,
    )
    objectives = objectives_of(demand, clock)
    plan = Plan(
        **vars(runs),
        engine=engine,
        limits=limits,
        slos=slos,
        felt=Felt.of(objective, objectives[0], objectives[2:]),
        settings=settings,
        chosen=any(len(values) for values in candidates.values()),
        objectives=objectives,
    )
    plan.check_rows(plan.to_hold, settings[0])
    return plan
