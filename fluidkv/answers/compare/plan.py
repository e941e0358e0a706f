"""What a comparison will run, decided and checked before anything runs."""

from collections.abc import Sequence
from dataclasses import dataclass

from fluidkv.answers.served.cases import Case
from fluidkv.answers.served.demand import Demand, Draws
from fluidkv.answers.served.described import THROUGHPUTS
from fluidkv.answers.served.experiment import Experiment, experiment, workload_of
from fluidkv.answers.served.memory import BLOCK_SIZES, equilibrium_of
from fluidkv.answers.served.setting import Setting, limits_of
from fluidkv.answers.served.window import Window, check_rows
from fluidkv.errors import InputError
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


@dataclass(frozen=True)
class Setup(Record):
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
class Plan(Experiment):
    """Fields:
    engines: the first is what others are held against.
    setup: memory, caps and runs.
    """

    engines: tuple[ServedEngine, ...]
    setup: Setup

    @property
    def cases(self) -> list[Case]:
        """A server for each engine."""
        return [self.setup.case(engine) for engine in self.engines]


def planned(
    source: Workload | Trace, engines: Sequence[str | EngineRules | ServedEngine], setup: Setup
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
    for engine in served:
        setup.limits(engine)  # refuses what is out of range, before requests are drawn
    workload = workload_of(source)
    cases = [setup.case(engine) for engine in served]
    runs = experiment(
        source,
        workload,
        equilibrium_of(workload, setup.capacity),
        setup.demand,
        setup.clock,
        Draws(setup.requests, setup.runs, setup.seed),
        runs=RUNS,
        servers=cases,
        called="engines",
        settings=[setup.now],
        caching=any(engine.finds_prefixes for engine in served),
    )
    for case, engine in zip(cases, served, strict=True):
        check_case(case, engine, runs.to_hold, runs.window)
    return Plan(**vars(runs), engines=served, setup=setup)


def felt_of(demand: Demand, clock: IterationClock) -> tuple[str, ...]:
    """What users feel, in the order in which it counts; first tokens only on a clock that says
    when they come.
    """
    throughput = THROUGHPUTS[0] if clock.unit == "s" else THROUGHPUTS[1]
    if demand.kind == "saturated":
        return (throughput, "tpot_p99", "longest_gap_p99")
    first = ("ttft_p50", "ttft_p99") if clock.prefills else ()
    return (throughput, *first, "latency_p99", "tpot_p99", "longest_gap_p99")


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
