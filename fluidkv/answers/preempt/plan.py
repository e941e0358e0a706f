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
from fluidkv.answers.served.demand import (
    MOST_REQUESTS,
    MOST_RUNS,
    Demand,
    Draws,
    at_once,
    check_pace,
    length_of,
    tables_of,
    usual_requests,
)
from fluidkv.answers.served.memory import BLOCK_SIZES, check_memory, equilibrium_of
from fluidkv.answers.served.setting import Setting
from fluidkv.answers.served.window import Window, check_rows, tables_to_hold, window_of
from fluidkv.errors import InputError
from fluidkv.exact.survival import Equilibrium
from fluidkv.runs.checks import count, instance
from fluidkv.runs.requests import Requests
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

_WINDOWS = 400  # records of a run
_PATIENCE = 20  # times the usual iterations, after which a run counts as not finished


@dataclass(frozen=True, eq=False)
class Plan:
    """Fields:
    engine, limits, demand, clock: as in `PreemptAnswer`.
    combinations: a full grid; the first is what the engine does.
    predictors: by the names in the combinations.
    tables: the requests of each run, the same for all combinations.
    window: what they are of a trace that is replayed; None: they are drawn.
    seed: of the first run.
    horizon: iterations after which a run counts as not finished; every: of a record.
    """

    engine: EngineRules
    limits: Limits
    demand: Demand
    clock: IterationClock
    objectives: Objectives | None
    combinations: tuple[Combination, ...]
    predictors: Mapping[str, Forecast]
    assumed: bool
    tables: list[Requests]
    window: Window | None
    seed: int
    horizon: int
    every: int

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
    workload = source.workload() if isinstance(source, Trace) else source
    instance("source", workload, Workload, "a workload or a trace")
    if demand.kind != "replay":
        check_memory(own, limits, workload, demand.asks)
    equilibrium = equilibrium_of(workload, limits.capacity)
    named = {PERFECT: Forecast()} if predictors is None else dict(predictors)
    combinations = _grid(own, limits, chosen, named)
    servers = [Case(own, limits, clock)] * len(combinations)
    window = window_of(source, demand, draws, servers, runs_named="seeds")
    check_lists(named, source if isinstance(source, Trace) and window is not None else None)
    first = 0
    if window is None:
        size, seeds = _drawn(demand, equilibrium, draws)
    else:
        size, seeds, first = window.requests, window.runs, window.first
    part = source if window is None else window.of_trace(source)
    if len(combinations) * seeds > MOST_RUNS:
        tried = f"{len(combinations):,} combinations, {seeds} runs each"
        raise InputError("seeds", tried, f"{MOST_RUNS:,} runs in all")
    tables = tables_of(part, workload, demand, clock, size, seeds, draws.seed, first)
    to_hold = tables_to_hold(tables, source, workload, demand, clock, window)
    for each in combinations if window is not None else ():
        check_rows(to_hold, served_engine(each.of(own)), limits, window)
    check_pace(demand, clock, [Setting()], size)
    length = max(1, length_of(demand, clock, equilibrium, tables))
    longest = max(int(table.output_length.max()) for table in tables)
    return Plan(
        own,
        limits,
        demand,
        clock,
        objectives,
        combinations,
        named,
        predictors is None,
        tables,
        window,
        draws.seed,
        horizon=_PATIENCE * (length + longest),
        every=max(1, length // _WINDOWS),
    )


def _drawn(demand: Demand, equilibrium: Equilibrium, draws: Draws) -> tuple[int, int]:
    """Requests of a run, and how many runs: as asked for, or the usual numbers."""
    seeds = SEEDS if draws.runs is None else count("seeds", draws.runs)
    if draws.requests is not None:
        return count("requests", draws.requests, most=MOST_REQUESTS), seeds
    return usual_requests(at_once(demand, equilibrium)), seeds


def _engine(rules: str | EngineRules) -> EngineRules:
    served = served_engine(rules)
    if served.caching:
        raise InputError("engine", served.name, f"{served.rules.name}: rules without a cache")
    own = served.rules
    if own.newcomers_first:
        raise InputError("engine", own.name, "one in which runs end: newcomers do not come first")
    return own


def _check_demand(demand: Demand, clock: IterationClock, objectives: Objectives | None) -> None:
    if demand.kind == "replay" and clock.unit != "s":
        raise InputError("replay", "a clock in iterations", "together with a clock in seconds")
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
    own: Rule, name: str, kind: type[Rule], given: Iterable[Enum] | None, usual: Iterable[Rule]
) -> tuple[Rule, ...]:
    found = [own, *(usual if given is None else given)]
    for rule in found:
        if not isinstance(rule, kind):
            raise InputError(name, rule, f"members of {kind.__name__}")
    return tuple(dict.fromkeys(found))
