"""What a comparison will run, decided and checked before anything runs."""

from collections.abc import Sequence
from dataclasses import dataclass

from fluidkv.answers.served.cases import Case
from fluidkv.answers.served.demand import (
    MOST_RUNS,
    Demand,
    Draws,
    check_pace,
    horizon_of,
    length_of,
    mostly_start,
    prompts_of,
    requests_of_run,
    tables_of,
)
from fluidkv.answers.served.memory import BLOCK_SIZES, equilibrium_of
from fluidkv.answers.served.setting import Setting, limits_of
from fluidkv.answers.served.window import Window, check_rows, tables_to_hold, window_of
from fluidkv.errors import InputError
from fluidkv.prefix.prompts import Prompts
from fluidkv.record import Record
from fluidkv.runs.requests import Requests
from fluidkv.serving.caching.table import check_modelled
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.engine_text import ServedEngine
from fluidkv.serving.engines import served_engine
from fluidkv.serving.limits import Limits
from fluidkv.serving.rules import EngineRules
from fluidkv.traces import Trace
from fluidkv.workload import Workload

RUNS = 8
"""Runs of each engine, where requests are drawn and nobody says how many."""
_WINDOWS = 400  # records of each run
_OF_ONE = 10_000  # of a single run: its parts are the pairs, and their ends lie within a record


@dataclass(frozen=True)
class Asked(Record):
    """One comparison.

    Args:
        capacity: M, KV tokens, of every server.
        demand: who asks.
        clock: duration of an iteration, of every server.
        now: caps and watermark of every server.
        block_size: tokens; None: of each engine its own.
        max_num_batched_tokens: most tokens of an iteration.
        requests, runs, seed: as of `Draws`.
    """

    capacity: int
    demand: Demand
    clock: IterationClock
    now: Setting
    block_size: int | None = None
    max_num_batched_tokens: int | None = None
    requests: int | None = None
    runs: int | None = None
    seed: int = 0

    def limits(self, engine: ServedEngine) -> Limits:
        """Of a server with this engine."""
        size = self.block_size or BLOCK_SIZES.get(engine.rules.name, 1)
        budget = self.max_num_batched_tokens
        return limits_of(Limits(self.capacity, size, max_num_batched_tokens=budget), self.now)

    def case(self, engine: ServedEngine) -> Case:
        """A server with this engine."""
        return Case(engine, self.limits(engine), self.clock, self.demand.clients)


@dataclass(frozen=True, eq=False)
class Plan:
    """Fields:
    engines, asked: as they were given.
    tables: the requests of each run, the same for every engine.
    prompts: what they say, for engines with a cache; None: nobody shares anything.
    window: what they are of a trace that is replayed; None: they are drawn.
    horizon: iterations; None where runs go on until every request is served.
    every: iterations of a record; warm_up: records left out at the start.
    short: whether runs are mostly start.
    """

    engines: tuple[ServedEngine, ...]
    asked: Asked
    tables: list[Requests]
    prompts: tuple[Prompts | None, ...]
    window: Window | None
    horizon: int | None
    every: int
    warm_up: int
    short: bool

    @property
    def cases(self) -> list[Case]:
        """A server for each engine."""
        return [self.asked.case(engine) for engine in self.engines]


def planned(
    source: Workload | Trace, engines: Sequence[str | EngineRules | ServedEngine], asked: Asked
) -> Plan:
    """What `compare_engines` is asked for, as a plan.

    Raises:
        InputError: as `compare_engines`.
    """
    served = tuple(served_engine(engine) for engine in engines)
    if len(served) < 2:
        raise InputError("engines", len(served), "at least 2, to compare")
    told_apart = [(engine, engine.note) for engine in served]  # versions that share rules are two
    for place, engine in enumerate(served):
        if told_apart[place] in told_apart[:place]:
            raise InputError("engine", engine.name, "each engine once")
    demand, clock = asked.demand, asked.clock
    if demand.kind == "replay" and clock.unit != "s":
        raise InputError("replay", "a clock in iterations", "together with a clock in seconds")
    workload = source.workload() if isinstance(source, Trace) else source
    for engine in served:
        asked.limits(engine)  # refuses what is out of range, before requests are drawn
    equilibrium = equilibrium_of(workload, asked.capacity)
    longest = max(c.decode_length for c in workload.classes)
    cases = [asked.case(engine) for engine in served]
    window = window_of(source, demand, Draws(asked.requests, asked.runs), cases)
    runs = RUNS if asked.runs is None else asked.runs
    first = 0
    if window is None:
        size = requests_of_run(asked.requests, demand, equilibrium, longest)
    else:
        size, runs, first = window.requests, window.runs, window.first
    part = source if window is None else window.of_trace(source)
    tables = tables_of(part, workload, demand, clock, size, runs, asked.seed, first)
    if len(served) * len(tables) > MOST_RUNS:
        tried = f"{len(served)} engines, {len(tables)} runs each"
        raise InputError("runs", tried, f"{MOST_RUNS:,} runs in all")
    check_pace(demand, clock, [asked.now], size)
    to_hold = tables_to_hold(tables, source, workload, demand, clock, window)
    for case, engine in zip(cases, served, strict=True):
        check_case(case, engine, to_hold, window)
    horizon = horizon_of(demand, equilibrium, size)
    length = horizon or length_of(demand, clock, equilibrium, tables)
    every = max(1, length // (_WINDOWS if len(tables) > 1 else _OF_ONE))
    return Plan(
        engines=served,
        asked=asked,
        tables=tables,
        prompts=prompts_of(part, demand, tables, any(e.finds_prefixes for e in served)),
        window=window,
        horizon=horizon,
        every=every,
        warm_up=0 if horizon is None else length // every // 5,
        short=mostly_start(demand, equilibrium, size),
    )


def check_case(
    case: Case, engine: ServedEngine, tables: Sequence[Requests], window: Window | None = None
) -> None:
    """Refuse an engine that these requests cannot be simulated for, with the row at fault.

    Raises:
        InputError: that names the engine beside what is wrong.
    """
    try:
        if case.limits.watermark and not _has_watermark(engine):
            raise InputError("watermark", case.limits.watermark, "0: it has none")
        if engine.rules.may_cycle:
            raise InputError("engine", engine.name, "one under which every run ends")
        if engine.caching and not engine.own_scheduler:
            check_modelled(engine.rules, case.limits)
        check_rows(tables, engine, case.limits, window)
    except InputError as error:
        if error.argument == "engine":
            raise
        allowed = f"{error.allowed}; under {engine.name}"
        raise InputError(error.argument, error.value, allowed) from None


def _has_watermark(engine: ServedEngine) -> bool:
    """Models without flags have all."""
    return not engine.rules.flags or "watermark" in dict(engine.rules.flags)
