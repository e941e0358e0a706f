"""All that is decided before anything runs: the servers, and requests that no size changes."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from fluidkv.answers.served.cases import Case
from fluidkv.answers.served.demand import Demand, Draws
from fluidkv.answers.served.experiment import Backend, Experiment, experiment, workload_of
from fluidkv.answers.served.fresh import (
    DRAWS,
    DRAWS_OF_LOG,
    MOST_DRAWS,
    Days,
    Horizon,
    Stretch,
    days_like,
    draws_of,
    fresh_of_mix,
)
from fluidkv.answers.served.memory import equilibrium_of
from fluidkv.answers.served.part import rate_of
from fluidkv.answers.served.population import lengths_anew
from fluidkv.answers.served.slo import Slo
from fluidkv.answers.served.window import check_rows, times_of
from fluidkv.answers.size.load import Theory
from fluidkv.answers.size.sizes import AXES, Axis, Size
from fluidkv.errors import InputError
from fluidkv.questions.kinds import Word
from fluidkv.runs.max_tokens import MaxTokens
from fluidkv.runs.requests import Requests
from fluidkv.serving.checks import largest_request
from fluidkv.serving.clock import IterationClock, require_prefill
from fluidkv.serving.engine_text import ServedEngine
from fluidkv.serving.engines import served_engine
from fluidkv.serving.limits import UNLIMITED, Limits
from fluidkv.traces import Trace
from fluidkv.workload import Workload

REQUESTS, RUNS = 1000, 2
"""Requests of a run and runs, where requests are drawn and nobody says how many."""
_SIZES = {"kv": 55, "rate": 55, "replicas": 10}
"""Sizes that a search tries, about: for 300 requests 15 to 42 pools, 41 to 55 rates, 11 fleets."""
_RECORDS, _RECORDS_FRESH = 20_000, 1_000  # of a run, at most, roughly


@dataclass(frozen=True, eq=False)
class Plan(Experiment):
    """Fields:
    axis: what is looked for.
    slos: what has to hold.
    server: engine, caps and clock of every size.
    backend: of `serve`.
    theory: the mass model of the requests.
    rate: arrivals at speed 1, in the mean of the whole trace where its busiest part is served.
    today: blocks of today's server; None: not known.
    least: blocks that hold the largest request; most: that hold all requests together.
    draws: the same for fresh draws of what is like these requests, which are its runs: a count is
        bounded as often for as many requests; None: none are drawn.
    stretch: of draws of a trace with times, the part that they are like.
    sample: whether the source is of a log, which says its like only roughly, and no known mix.
    """

    axis: Axis
    slos: tuple[Slo, ...]
    server: Case
    backend: Backend
    theory: Theory
    rate: float
    today: int | None
    least: int
    most: int
    sample: bool
    draws: "Plan | None" = None
    stretch: Stretch | None = None

    @property
    def engine(self) -> ServedEngine:
        """That serves at every size."""
        return served_engine(self.server.engine)

    @property
    def limits(self) -> Limits:
        """Block size and caps of every size."""
        return self.server.limits

    @property
    def one_by_one(self) -> bool:
        """Whether runs go one after the other, so that a batch saves nothing."""
        return self.engine.own_scheduler

    @property
    def own_rate(self) -> float | None:
        """Arrivals a second at the source's own times, as `rate` counts them; None: it has none."""
        return None if self.window is None else self.window.own_rate

    @property
    def busier(self) -> float:
        """How many times faster what is run comes: the busiest part of a trace, else 1."""
        if self.window is None or self.window.rate is None or self.window.own_rate is None:
            return 1.0
        return self.window.rate / self.window.own_rate

    def case_of(self, size: Size, tables: Sequence[Requests] | None = None) -> Case:
        """A server of a size; of these requests, where it gets only some of them."""
        return _sized(self.server, size.blocks, tables)

    def holds(self, size: Size) -> bool:
        """Whether a size can serve each of the requests."""
        return all(_fits(self.server, size.blocks, table) for table in self.tables)

    def tokens(self, size: Size) -> int:
        """KV tokens of a replica."""
        return size.blocks * self.limits.block_size

    def value(self, size: Size) -> float:
        """What is looked for: tokens, arrivals a unit of the clock, or replicas."""
        if self.axis.find == "kv":
            return self.tokens(size)
        return self.rate * size.speed if self.axis.find == "rate" else size.replicas

    def load(self, size: Size) -> float:
        """Arrivals over what this memory carries, in theory."""
        carried = self.theory.carried(self.tokens(size))
        return self.rate * self.busier * size.speed / size.replicas / carried.rate

    def blocks_of(self, load: float) -> int:
        """At which memory of one replica arrivals are so much of what it carries, or a bit more.

        What memory carries grows with it, up to a cap on running requests.
        """
        low, high = 1, self.most
        while low < high:
            middle = (low + high) // 2
            low, high = (middle + 1, high) if self.load(Size(middle)) > load else (low, middle)
        return low

    def speed_of(self, load: float, size: Size) -> float:
        """At which arrivals are so much of what the memory of a size carries."""
        return load / self.load(replace(size, speed=1.0))


def planned(
    source: Workload | Trace,
    slos: tuple[Slo, ...],
    server: Case,
    *,
    find: str,
    capacity: int | None,
    rate: float | None,
    draws: Draws,
    fresh: int | None,
    horizon: Horizon,
    max_tokens: MaxTokens | None,
    backend: Backend,
) -> Plan:
    """What `size_server` is asked for, as a plan; arguments as there.

    Args:
        server: engine, caps and clock; of its memory, all that there may be.
        draws: which requests are run.
        fresh: how many draws beside.

    Raises:
        InputError: as `size_server`.
    """
    axis = AXES[Word(tuple(AXES)).read("find", find)]
    clock, limits = server.clock, server.limits
    _check(slos, server, find, capacity, rate)
    workload, own = workload_of(source), _own_rate(source, draws, clock)
    at = rate or own or _first_rate(workload, server, find, capacity)
    demand = (
        Demand(rate=at, max_tokens=max_tokens)
        if own is None
        else Demand(replay=True, speed=at / own, max_tokens=max_tokens)
    )
    memory = limits.capacity if capacity is None else min(capacity, limits.capacity)
    runs = experiment(
        source,
        workload,
        equilibrium_of(workload, memory),
        demand,
        clock,
        draws,
        runs=RUNS,
        usual=REQUESTS,
        servers=[_sized(server, memory // limits.block_size)] * _SIZES[find],
        called="sizes or so",
    )
    theory = Theory(_mix(runs.tables, workload), clock, limits.max_num_seqs)
    least = max(least_blocks(server, table) for table in runs.to_hold)
    today = None if capacity is None else capacity // limits.block_size
    if today is not None and (today < least or find != "kv"):
        engine = served_engine(server.engine)
        check_rows(runs.to_hold, engine, replace(limits, capacity=capacity), runs.window)
    length = _length(theory, clock, today or least, runs.tables)
    plan = Plan(
        **vars(replace(runs, every=max(1, int(length // _RECORDS)))),
        axis=axis,
        slos=slos,
        server=server,
        backend=backend,
        theory=theory,
        rate=at,
        today=today,
        least=least,
        most=max(least, *(_all_at_once(limits, table) for table in runs.tables)),
        sample=isinstance(source, Trace),
    )
    known = rate is not None or find == "rate"
    days = _fresh(source, workload, plan, draws=fresh, horizon=horizon, known=known)
    return plan if days is None else replace(plan, draws=_of_draws(plan, days))


def _check(
    slos: tuple[Slo, ...], server: Case, find: str, capacity: int | None, rate: float | None
) -> None:
    """Refuse what cannot be looked for, before requests are drawn."""
    if not slos:
        raise InputError("slos", "none", "at least one bound, such as ttft_p99=2s")
    for slo in slos:
        if slo.metric.startswith("ttft"):
            require_prefill(server.clock, "slo", slo.metric)
    if find != "kv" and capacity is None:
        raise InputError("capacity", "none", "the KV tokens of a server")
    if rate is not None and not (math.isfinite(rate) and rate > 0):
        raise InputError("rate", rate, "a finite number above 0")
    if server.clients is not None:
        raise InputError("clients", server.clients, "none: requests come at their times")


def _own_rate(source: Workload | Trace, draws: Draws, clock: IterationClock) -> float | None:
    """Arrivals a second of what is asked for of a trace; None without times, or where all come at
    once: requests then come as Poisson.
    """
    if not isinstance(source, Trace) or source.arrival_times_s is None:
        return None
    times = times_of(source)
    if draws != Draws(seed=draws.seed):
        requests = len(source) if draws.requests is None else draws.requests
        times = times[: requests * (draws.runs or 1)]
    rate = rate_of(times)
    if not math.isfinite(rate):
        return None
    if clock.unit != "s":
        allowed = "a clock in seconds, for a trace's times"
        raise InputError("clock", "a clock in iterations", allowed)
    return rate


def _first_rate(workload: Workload, server: Case, find: str, capacity: int | None) -> float:
    """Where the rate itself is looked for: what memory carries, in theory."""
    if find != "rate" or capacity is None:
        raise InputError("rate", "none", "arrivals a second, for requests without times")
    theory = Theory(workload, server.clock, server.limits.max_num_seqs)
    return theory.carried(capacity).rate


# --- requests -----------------------------------------------------------------------------------


def _fresh(
    source: Workload | Trace,
    workload: Workload,
    plan: Plan,
    *,
    draws: int | None,
    horizon: Horizon,
    known: bool,
) -> Days | None:
    """Draws of what is like the requests that are run, at the same rate.

    A rate that somebody names, or that is looked for, is just so: it is known. A trace's own is
    known no better than a trace of that length tells it.
    """
    draws = draws_of(draws, DRAWS_OF_LOG if isinstance(source, Trace) else DRAWS)
    if not draws:
        return None
    seed, clock, demand, rate = plan.seed, plan.clock, plan.demand, plan.rate
    if plan.window is not None:
        log = plan.window.drawn_from(source)
        return days_like(log, draws, horizon, demand, clock, known=known, seed=seed)
    how = {"per_iteration": clock.unit == "iteration", "asks": demand.asks}
    mixes = [(workload, draws, seed)]
    if isinstance(source, Trace):
        seeds = range(seed * MOST_DRAWS, seed * MOST_DRAWS + draws)
        mixes = [(lengths_anew(source, each), 1, each) for each in seeds]
    days = [fresh_of_mix(mix, count, horizon, rate, seed=s, **how) for mix, count, s in mixes]
    return Days([table for day in days for table in day], (), None)


def _of_draws(plan: Plan, days: Days) -> Plan:
    """The plan of fresh draws.

    Raises:
        InputError: a request that is drawn and that memory, which is not looked for, cannot hold.
    """
    tables, blocks = [*days.tables], plan.today or plan.least
    longer = min(map(len, tables)) / plan.size
    length = _length(plan.theory, plan.clock, blocks, tables)
    draws = replace(
        plan,
        tables=tables,
        slos=tuple(slo.over(longer) for slo in plan.slos),
        least=max(least_blocks(plan.server, table) for table in tables),
        every=max(1, int(length // _RECORDS_FRESH)),
        stretch=days.stretch,
    )
    if plan.axis.find != "kv" and not draws.holds(Size(blocks)):
        needed = f"at least {draws.tokens(Size(draws.least)):,} tokens"
        what = "which the largest request of the fresh draws needs; with 0 draws less is enough"
        raise InputError("capacity", plan.tokens(Size(blocks)), f"{needed}, {what}")
    return draws


def _mix(tables: Sequence[Requests], workload: Workload) -> Workload:
    """The lengths that are run, as a mix: of a trace only a part may be."""
    lengths = [
        pair
        for table in tables
        for pair in zip(table.input_length.tolist(), table.output_length.tolist(), strict=True)
    ]
    return Workload.from_lengths(lengths, name=workload.name)


def _length(
    theory: Theory, clock: IterationClock, blocks: int, tables: Sequence[Requests]
) -> float:
    """Iterations of a run, roughly, in a memory of so many blocks or more."""
    busy = max(map(len, tables)) / theory.carried(blocks).per_iteration
    if clock.jumps:
        return busy
    return max(busy, *(float(table.arrival[-1]) / clock.base for table in tables))


# --- blocks that requests need ------------------------------------------------------------------


def _sized(server: Case, blocks: int, tables: Sequence[Requests] | None = None) -> Case:
    capacity = max(1, blocks) * server.limits.block_size
    return replace(server, limits=replace(server.limits, capacity=capacity), tables=tables)


def least_blocks(server: Case, table: Requests) -> int:
    """The smallest memory in which each request can be served; of an engine with a scheduler of its
    own, the first from there on that it does not refuse.
    """
    engine, blocks = served_engine(server.engine), 1
    while True:
        _, needed, there = largest_request(engine.rules, _sized(server, blocks).limits, table)
        if needed <= there:
            break
        blocks += needed - there
    while engine.own_scheduler and not _fits(server, blocks, table):
        blocks += 1 + blocks // 100
    return blocks


def _fits(server: Case, blocks: int, table: Requests) -> bool:
    try:
        check_rows([table], served_engine(server.engine), _sized(server, blocks).limits, None)
    except InputError as error:
        if error.argument != "capacity":
            raise
        return False
    return True


def _all_at_once(caps: Limits, table: Requests) -> int:
    """Memory in which all requests fit together at their longest, what admission leaves free
    included: more is never used."""
    tokens = table.input_length + np.maximum(table.output_length, table.max_output) + 1
    blocks = int((-(-tokens // caps.block_size) + 1).sum())
    return min(
        math.ceil((blocks + 2) / (1 - caps.watermark)) + 1, (UNLIMITED - 1) // caps.block_size
    )
