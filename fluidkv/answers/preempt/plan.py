"""All that is run for an answer, decided and checked before anything runs."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from itertools import product
from typing import TypeVar

from fluidkv.answers.preempt.forecasts import Forecast, check_lists
from fluidkv.answers.preempt.objectives import Objectives
from fluidkv.answers.preempt.rules import PERFECT, Combination
from fluidkv.answers.served.cases import Case
from fluidkv.answers.served.demand import Demand, Draws
from fluidkv.answers.served.experiment import Experiment, experiment, workload_of
from fluidkv.answers.served.memory import BLOCK_SIZES, check_memory, equilibrium_of
from fluidkv.answers.served.window import check_rows
from fluidkv.errors import InputError
from fluidkv.runs.checks import count
from fluidkv.serving.clock import IterationClock, require_prefill
from fluidkv.serving.engines import served_engine
from fluidkv.serving.limits import Limits
from fluidkv.serving.rules import Allocation, EngineRules, Restore, Victim
from fluidkv.serving.swap import Swap
from fluidkv.traces import Trace
from fluidkv.workload import Workload

Rule = TypeVar("Rule", bound=Enum)

SEEDS = 8
"""Runs of each combination, where requests are drawn and nobody says how many."""


@dataclass(frozen=True, eq=False)
class Plan(Experiment):
    """Fields:
    engine, limits: as in `PreemptAnswer`.
    objectives: what each request is to meet; None: nothing.
    combinations: a full grid; the first is what the engine does.
    predictors: by the names in the combinations.
    assumed: whether nobody says what is known of lengths.
    """

    engine: EngineRules
    limits: Limits
    objectives: Objectives | None
    combinations: tuple[Combination, ...]
    predictors: Mapping[str, Forecast]
    assumed: bool

    @property
    def by_segment(self) -> bool:
        """Whether there is one run, of a trace: its parts then say what is chance."""
        return self.window is not None and len(self.tables) == 1


def planned(
    source: Workload | Trace,
    limits: Limits | int,
    rules: str | EngineRules,
    demand: Demand,
    clock: IterationClock,
    objectives: Objectives | None,
    chosen: Mapping[str, Iterable[Enum] | None],
    predictors: Mapping[str, Forecast] | None,
    draws: Draws,
) -> Plan:
    """What `preempt_study` is asked for, as a plan.

    Raises:
        InputError: as `preempt_study`.
    """
    own = _engine(rules)
    if not isinstance(limits, Limits):
        limits = Limits(count("capacity", limits), BLOCK_SIZES.get(own.name, 1))
    _check_demand(demand, clock, objectives)
    workload = workload_of(source)
    if demand.kind != "replay":
        check_memory(own, limits, workload, demand.asks)
    named = {PERFECT: Forecast()} if predictors is None else dict(predictors)
    combinations = _grid(own, limits, chosen, named)
    runs = experiment(
        source,
        workload,
        equilibrium_of(workload, limits.capacity),
        demand,
        clock,
        draws,
        runs=SEEDS,
        servers=[Case(own, limits, clock)] * len(combinations),
        called="combinations",
        runs_named="seeds",
        until_served=True,
    )
    replayed = runs.window is not None
    check_lists(named, source if isinstance(source, Trace) and replayed else None)
    for each in combinations if replayed else ():
        check_rows(runs.to_hold, served_engine(each.of(own)), limits, runs.window)
    return Plan(
        **vars(runs),
        engine=own,
        limits=limits,
        objectives=objectives,
        combinations=combinations,
        predictors=named,
        assumed=predictors is None,
    )


def _engine(rules: str | EngineRules) -> EngineRules:
    served = served_engine(rules)
    if served.caching:
        raise InputError("engine", served.name, f"{served.rules.name}: rules without a cache")
    own = served.rules
    if own.newcomers_first:
        raise InputError("engine", own.name, "one in which runs end: newcomers do not come first")
    return own


def _check_demand(demand: Demand, clock: IterationClock, objectives: Objectives | None) -> None:
    if demand.kind == "saturated" and objectives is not None and objectives.ttft is not None:
        allowed = "tbt or a scale where all requests wait at first"
        raise InputError("slo", f"ttft={objectives.ttft:g}", allowed)
    if objectives is not None and objectives.ttft is not None and clock.unit == "s":
        require_prefill(clock, "slo", f"ttft={objectives.ttft:g}")


def _grid(
    own: EngineRules,
    limits: Limits,
    chosen: Mapping[str, Iterable[Enum] | None],
    predictors: Mapping[str, Forecast],
) -> tuple[Combination, ...]:
    """Every combination, the engine's own first; its own rules are among them in any case."""
    swaps = limits.swap != Swap()
    victims = _with(own.victim, "victim", Victim, chosen.get("victim"), Victim)
    usual = Restore if swaps else ()
    restores = _with(own.restore, "restore", Restore, chosen.get("restore"), usual)
    allocations = _with(own.allocation, "allocation", Allocation, chosen.get("allocation"), ())
    if not predictors:
        raise InputError("predictors", "none", "at least one, by name")
    return tuple(
        Combination(victim, restore, allocation, predictor)
        for allocation, predictor, victim, restore in product(
            allocations, predictors, victims, restores
        )
    )


def _with(
    own: Rule, name: str, kind: type[Rule], chosen: Iterable[Enum] | None, usual: Iterable[Rule]
) -> tuple[Rule, ...]:
    rules = [own, *(usual if chosen is None else chosen)]
    for rule in rules:
        if not isinstance(rule, kind):
            raise InputError(name, rule, f"members of {kind.__name__}")
    return tuple(dict.fromkeys(rules))
