"""All that is decided before anything runs: the servers, and requests that no size changes."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from fluidkv.answers.served.cases import Case
from fluidkv.answers.served.demand import Demand, Draws, tables_of
from fluidkv.answers.served.fresh import (
    DRAWS,
    DRAWS_OF_LOG,
    MOST_DRAWS,
    Horizon,
    Stretch,
    days_like,
    draws_of,
    fresh_of_mix,
)
from fluidkv.answers.served.memory import BLOCK_SIZES
from fluidkv.answers.served.part import rate_of_trace
from fluidkv.answers.served.population import lengths_anew
from fluidkv.answers.served.setting import Setting, limits_of
from fluidkv.answers.served.slo import Slo
from fluidkv.answers.served.window import Window, tables_to_hold, window_of
from fluidkv.answers.size.blocks import all_at_once, check_today, least_blocks
from fluidkv.answers.size.load import Theory
from fluidkv.answers.size.sizes import Axis, Size, axis_of
from fluidkv.answers.size.trials import SizedServer
from fluidkv.errors import InputError
from fluidkv.record import Record
from fluidkv.runs.checks import count
from fluidkv.runs.max_tokens import EXACT, MaxTokens
from fluidkv.runs.requests import Requests
from fluidkv.serving.clock import IterationClock, require_prefill
from fluidkv.serving.engines import with_cache
from fluidkv.serving.limits import UNLIMITED, Limits
from fluidkv.serving.rules import EngineRules
from fluidkv.traces import Trace
from fluidkv.workload import Workload

REQUESTS, RUNS = 1000, 2
"""Requests of a run and runs, where requests are drawn and nobody says how many."""
_SIZES = {"kv": 55, "rate": 55, "replicas": 10}  # tried; of 300 requests 15 to 42, 41 to 55, 11
_RECORDS, _RECORDS_FRESH = 20_000, 1_000  # of a run, at most, roughly


@dataclass(frozen=True)
class Asked:
    """What is asked for.

    Fields:
        find: "kv", "rate" or "replicas".
        slos: what has to hold in every run; at least one.
        capacity: KV tokens of today's server; None: not known.
        rate: arrivals a unit of the clock; None: a trace's own.
        draws: which requests are run.
        fresh: how many draws beside; None: the usual number; 0: none.
        horizon: how long each of these is.
        max_tokens: what clients ask for at most; None: what they get.
    """

    find: str
    slos: tuple[Slo, ...]
    capacity: int | None
    rate: float | None
    draws: Draws
    fresh: int | None
    horizon: Horizon
    max_tokens: MaxTokens | None


@dataclass(frozen=True, eq=False)
class Plan(Record):
    """What will be run.

    Fields:
        axis: what is looked for.
        slos: what has to hold.
        server: engine, caps, clock and the requests of each run.
        rules, caching: the engine's, apart.
        theory: the mass model of these requests.
        window: what is served of a trace with times; None: requests are drawn.
        rate: arrivals at speed 1, in the mean of the whole trace where its busiest part is served.
        today: blocks of today's server; None: not known.
        least: blocks that hold the largest request; most: that hold all requests together.
        fresh: draws of what is like these requests, at speed 1; every_fresh: iterations of a record
            of theirs; stretch: of a trace with times, the part that they are like.
        sample: whether the source is of a log, which says its like only roughly, and no known mix.
    """

    axis: Axis
    slos: tuple[Slo, ...]
    server: SizedServer
    rules: EngineRules
    caching: bool
    theory: Theory
    window: Window | None
    rate: float
    today: int | None
    least: int
    most: int
    fresh: Sequence[Requests]
    every_fresh: int
    stretch: Stretch | None
    sample: bool

    @property
    def own_rate(self) -> float | None:
        """Arrivals a second at the source's own times, as `rate` counts them; None: it has none."""
        return None if self.window is None else self.window.own_rate

    @property
    def busier(self) -> float:
        """How many times faster what is run comes: the busiest part of a trace, else 1."""
        window = self.window
        if window is None or window.rate is None or window.own_rate is None:
            return 1.0
        return window.rate / window.own_rate

    @property
    def tables(self) -> Sequence[Requests]:
        return self.server.tables

    @property
    def slos_of_draws(self) -> tuple[Slo, ...]:
        """What has to hold in a draw: as often for as many requests, where it is a count."""
        longer = min(map(len, self.fresh)) / len(self.tables[0])
        return tuple(slo.over(longer) for slo in self.slos)

    @property
    def clock(self) -> IterationClock:
        return self.server.clock

    @property
    def block_size(self) -> int:
        return self.server.limits.block_size

    def load(self, size: Size) -> float:
        """Arrivals over what this memory carries, in theory."""
        carried = self.theory.carried(size.blocks * self.block_size)
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
    asked: Asked,
    engine: str | EngineRules,
    clock: IterationClock,
    setting: Setting,
    block_size: int | None,
    max_num_batched_tokens: int | None,
    backend: Literal["auto", "kernel", "reference"] = "auto",
) -> Plan:
    """What `size_server` is asked for, as a plan.

    Raises:
        InputError: as `size_server`.
    """
    axis = axis_of(asked.find)
    rules, caching = with_cache(engine)
    _check(asked, axis, rules, clock, setting)
    size = block_size or BLOCK_SIZES.get(rules.name, 1)
    caps = limits_of(
        Limits(UNLIMITED - 1, size, max_num_batched_tokens=max_num_batched_tokens), setting
    )
    today = None if asked.capacity is None else asked.capacity // size
    workload = source.workload() if isinstance(source, Trace) else source
    window = _window(source, asked, _server_of_today(engine, caps, clock, asked.capacity))
    own = None if window is None else window.own_rate
    rate = asked.rate or own or _first_rate(workload, clock, setting, axis, asked.capacity)
    tables = _tables(source, workload, window, rate, clock, asked)
    theory = Theory(_mix(tables, workload), clock, setting.max_num_seqs)
    asks = Demand(replay=window is not None, max_tokens=asked.max_tokens)
    to_hold = tables_to_hold(tables, source, workload, asks, clock, window)
    least = max(least_blocks(engine, rules, caps, table) for table in to_hold)
    if today is not None and (today < least or axis.find != "kv"):
        check_today(today, rules, caps, to_hold, window)
    most = max(least, *(all_at_once(caps, table) for table in tables))
    blocks = today or least
    every = max(1, int(_length(tables, theory, clock, blocks) // _RECORDS))
    fresh, stretch = _fresh(source, workload, window, rate, clock, asked)
    seldom = int(_length(fresh, theory, clock, blocks) // _RECORDS_FRESH) if fresh else 1
    return Plan(
        axis=axis,
        slos=asked.slos,
        server=SizedServer(engine, caps, clock, tables, every, backend),
        rules=rules,
        caching=caching,
        theory=theory,
        window=window,
        rate=rate,
        today=today,
        least=least,
        most=most,
        fresh=fresh,
        every_fresh=max(1, seldom),
        stretch=stretch,
        sample=isinstance(source, Trace),
    )


def _check(
    asked: Asked, axis: Axis, rules: EngineRules, clock: IterationClock, setting: Setting
) -> None:
    if not asked.slos:
        raise InputError("slos", "none", "at least one bound, such as ttft_p99=2s")
    for slo in asked.slos:
        if slo.metric.startswith("ttft"):
            require_prefill(clock, "slo", slo.metric)
    if axis.find != "kv" and asked.capacity is None:
        raise InputError("capacity", "none", "the KV tokens of a server")
    if asked.rate is not None and not (math.isfinite(asked.rate) and asked.rate > 0):
        raise InputError("rate", asked.rate, "a finite number above 0")
    if setting.clients is not None:
        raise InputError("clients", setting.clients, "none: requests come at their times")


def _first_rate(
    workload: Workload,
    clock: IterationClock,
    setting: Setting,
    axis: Axis,
    capacity: int | None,
) -> float:
    """Where the rate itself is looked for: what memory carries, in theory."""
    if axis.find != "rate" or capacity is None:
        raise InputError("rate", "none", "arrivals a second, for requests without times")
    return Theory(workload, clock, setting.max_num_seqs).carried(capacity).rate


def _server_of_today(
    engine: str | EngineRules, caps: Limits, clock: IterationClock, capacity: int | None
) -> Case:
    """With the memory that it has; with all that there may be, where nobody says it."""
    tokens = caps.capacity if capacity is None else min(capacity, caps.capacity)
    return Case(engine, replace(caps, capacity=max(tokens, caps.block_size)), clock)


def _window(source: Workload | Trace, asked: Asked, server: Case) -> Window | None:
    """What is served of a trace with times; None without them, or where all come at once."""
    if not isinstance(source, Trace) or source.arrival_times_s is None:
        return None
    own = rate_of_trace(source)
    speed = asked.rate / own if asked.rate and math.isfinite(own) else 1.0
    servers = [server] * _SIZES[asked.find]
    window = window_of(source, Demand(replay=True, speed=speed), asked.draws, servers)
    if window is None or window.rate is None:
        return None
    if server.clock.unit != "s":
        allowed = "a clock in seconds, for a trace's times"
        raise InputError("clock", "a clock in iterations", allowed)
    return window


def _tables(
    source: Workload | Trace,
    workload: Workload,
    window: Window | None,
    rate: float,
    clock: IterationClock,
    asked: Asked,
) -> list[Requests]:
    """A trace with times is replayed, faster or slower where a rate is asked for; else Poisson."""
    draws, first = asked.draws, 0
    if window is not None and window.own_rate is not None:
        demand = Demand(replay=True, speed=rate / window.own_rate, max_tokens=asked.max_tokens)
        size, runs, source = window.requests, window.runs, window.of_trace(source)
        first = window.first
    else:
        demand = Demand(rate=rate, max_tokens=asked.max_tokens)
        size = REQUESTS if draws.requests is None else count("requests", draws.requests)
        runs = RUNS if draws.runs is None else draws.runs
    return tables_of(source, workload, demand, clock, size, runs, draws.seed, first)


def _fresh(
    source: Workload | Trace,
    workload: Workload,
    window: Window | None,
    rate: float,
    clock: IterationClock,
    asked: Asked,
) -> tuple[Sequence[Requests], Stretch | None]:
    """Draws of what is like the requests that are run, at the same rate.

    A rate that somebody names, or that is looked for, is just so; a trace's own is known no better
    than a trace of that length tells it.
    """
    seed = asked.draws.seed
    draws = draws_of(asked.fresh, DRAWS_OF_LOG if isinstance(source, Trace) else DRAWS)
    if not draws:
        return [], None
    if window is None or window.own_rate is None:
        whole = clock.unit == "iteration"
        how = {"per_iteration": whole, "asks": asked.max_tokens or EXACT}
        if not isinstance(source, Trace):
            return fresh_of_mix(workload, draws, asked.horizon, rate, seed=seed, **how), None
        seeds = range(seed * MOST_DRAWS, seed * MOST_DRAWS + draws)
        mixes = [(lengths_anew(source, each), each) for each in seeds]
        days = [fresh_of_mix(mix, 1, asked.horizon, rate, seed=s, **how) for mix, s in mixes]
        return [table for day in days for table in day], None
    demand = Demand(replay=True, speed=rate / window.own_rate, max_tokens=asked.max_tokens)
    known = asked.rate is not None or asked.find == "rate"
    log = window.drawn_from(source)
    days = days_like(log, draws, asked.horizon, demand, clock, known=known, seed=seed)
    return days.tables, days.stretch


def _mix(tables: Sequence[Requests], workload: Workload) -> Workload:
    """The lengths that are run, as a mix: of a trace only a part may be."""
    lengths = [
        pair
        for table in tables
        for pair in zip(table.input_length.tolist(), table.output_length.tolist(), strict=True)
    ]
    return Workload.from_lengths(lengths, name=workload.name)


def _length(
    tables: Sequence[Requests], theory: Theory, clock: IterationClock, blocks: int
) -> float:
    """Iterations of a run, roughly, in a memory of so many blocks or more."""
    busy = max(map(len, tables)) / theory.carried(blocks).per_iteration
    if clock.jumps:
        return busy
    return max(busy, *(float(table.arrival[-1]) / clock.base for table in tables))
