"""The demand: the requests of each run, and how long a run has to be."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np

from fluidkv.answers.prompted import prompts_of_trace
from fluidkv.answers.served.setting import Setting
from fluidkv.errors import InputError
from fluidkv.exact.survival import Equilibrium
from fluidkv.prefix.prompts import Prompts
from fluidkv.record import Record
from fluidkv.runs.arrivals import poisson, replayed, saturated
from fluidkv.runs.checks import count
from fluidkv.runs.max_tokens import EXACT, MaxTokens
from fluidkv.runs.requests import Requests
from fluidkv.serving.clock import IterationClock
from fluidkv.traces import Trace
from fluidkv.workload import Workload

# Requests a run: ten times what memory carries, so that start and end are a small part of it; less
# where that are many, but where memory is always full, not so few that a run is all start.
_TURNOVERS, _FEWEST, _MOST = 10, 200, 2000
LEAST_TURNOVERS = 4
MOST_REQUESTS = 100_000
MOST_RUNS = 20_000
_SLOWEST = 10**7  # iterations that arrivals or permits alone may take

Kind = Literal["saturated", "rate", "clients", "replay"]


@dataclass(frozen=True)
class Demand(Record):
    """Who asks: requests that all wait from the start, unless one of these says otherwise.

    Args:
        rate: Poisson arrivals, requests a unit of the clock.
        clients: so many clients, each of whom asks again when it has its answer.
        replay: a trace at its own times, on a clock in seconds.
        speed: of the replay, times as fast.
        max_tokens: what each asks for at most; None: nobody said, and it is taken to be just what
            it puts out.

    Raises:
        InputError: more than one of the first three; a rate or speed that is not finite and above
            0; fewer than 1 client; a speed without a replay; a column of a trace without one.

    Examples:
        >>> from fluidkv.answers import Demand
        >>> Demand().kind, Demand(rate=4.0).kind, Demand(clients=32).kind
        ('saturated', 'rate', 'clients')
        >>> try:
        ...     Demand(rate=4.0, clients=32)
        ... except fk.InputError as error:
        ...     print(error)
        demand: got 'several'; allowed: one of rate, clients and replay
    """

    rate: float | None = None
    clients: int | None = None
    replay: bool = False
    speed: float = 1.0
    max_tokens: MaxTokens | None = None

    def __post_init__(self) -> None:
        given = [self.rate is not None, self.clients is not None, self.replay]
        if sum(given) > 1:
            raise InputError("demand", "several", "one of rate, clients and replay")
        for name in ("rate", "speed"):
            value = getattr(self, name)
            if value is not None and not (math.isfinite(value) and value > 0):
                raise InputError(name, value, "a finite number above 0")
        if self.clients is not None and self.clients < 1:
            raise InputError("clients", self.clients, "an integer of at least 1")
        if self.speed != 1 and not self.replay:
            raise InputError("speed", self.speed, "only with replay")
        if self.asks.rule == "column" and not self.replay:
            allowed = "another rule, or a trace replayed at its own times on a clock in seconds"
            raise InputError("max_tokens", str(self.max_tokens), allowed)

    @property
    def asks(self) -> MaxTokens:
        """What each asks for, also where nobody said."""
        return self.max_tokens or EXACT

    @property
    def kind(self) -> Kind:
        if self.rate is not None:
            return "rate"
        if self.clients is not None:
            return "clients"
        return "replay" if self.replay else "saturated"


@dataclass(frozen=True)
class Draws(Record):
    """Which requests are run.

    Args:
        requests: of each run; None: all of a trace that is replayed, else the usual number.
        runs: each with other requests; None: one of a trace that is replayed, else the usual
            number.
        seed: of the first run that is drawn; the others follow.
    """

    requests: int | None = None
    runs: int | None = None
    seed: int = 0


def requests_of_run(
    requests: int | None, demand: Demand, equilibrium: Equilibrium, longest: int
) -> int:
    """How many requests a run has: what was asked for, checked, or the usual number.

    Args:
        longest: output of all that may be asked for, tokens.
    """
    least = _least_requests(equilibrium, longest) if demand.kind == "saturated" else 1
    if requests is None:
        together = at_once(demand, equilibrium)
        most = max(_MOST, math.ceil(LEAST_TURNOVERS * together)) if is_full(demand) else _MOST
        requests = max(usual_requests(together, min(most, MOST_REQUESTS)), least)
    if isinstance(requests, bool) or not 1 <= requests <= max(MOST_REQUESTS, least):
        raise InputError("requests", requests, f"an integer from 1 to {MOST_REQUESTS:,}")
    if least > MOST_REQUESTS:
        raise InputError(
            "capacity",
            f"memory for {float(equilibrium.in_flight):,.0f} requests",
            f"less, or clients or a rate: where all requests wait from the start, {least:,} would "
            f"be needed for a run as long as the longest answer, of {MOST_REQUESTS:,} at most",
        )
    if requests < least:
        horizon = horizon_of(demand, equilibrium, requests)
        raise InputError(
            "requests",
            requests,
            f"at least {least:,}: work for {horizon} iterations is sure, and the longest answer "
            f"takes {longest:,}",
        )
    return requests


def usual_requests(together: float, most: int = _MOST) -> int:
    """Requests of a run where nobody says how many: ten times what memory carries, 200 to `most`.

    Args:
        together: requests that run at once.
    """
    return min(max(math.ceil(_TURNOVERS * together), _FEWEST), most)


def _least_requests(equilibrium: Equilibrium, longest: int) -> int:
    """With fewer, the horizon ends before an answer of the longest kind can."""
    work = longest * equilibrium.rate
    return math.ceil(min(work + 3 * equilibrium.in_flight, 4 * work))


def mostly_start(demand: Demand, equilibrium: Equilibrium, size: int) -> bool:
    """Whether runs are too short for memory to be filled and emptied a few times."""
    return is_full(demand) and size < LEAST_TURNOVERS * at_once(demand, equilibrium)


def is_full(demand: Demand) -> bool:
    """Whether there is always somebody to admit."""
    return demand.kind in ("saturated", "clients")


def at_once(demand: Demand, equilibrium: Equilibrium) -> float:
    """Requests that run together where memory is full or all clients are served."""
    return min(float(equilibrium.in_flight), demand.clients or math.inf)


def tables_of(
    source: Workload | Trace,
    workload: Workload,
    demand: Demand,
    clock: IterationClock,
    size: int,
    runs: int,
    seed: int,
    first: int = 0,
) -> list[Requests]:
    """The requests of each run: drawn with seeds from `seed` on, or parts of a trace.

    Args:
        first: row with which a trace begins in the one that it is a part of, for errors.

    Raises:
        InputError: one that asks for less than it puts out, with its row.
    """
    drawn = _tables(source, workload, demand, clock, size, runs, seed, first)
    return [demand.asks.of(table, seed + run) for run, table in enumerate(drawn)]


def prompts_of(
    source: Workload | Trace, demand: Demand, tables: Sequence[Requests], caching: bool
) -> tuple[Prompts | None, ...]:
    """What the requests of each run say, for an engine with a cache; None: nobody shares anything.

    Only a replay has the prompts of its trace: lengths that are drawn say nothing.

    Args:
        tables: of `tables_of`.

    Raises:
        InputError: ids of blocks that contradict each other.
    """
    whole = None
    if caching and demand.kind == "replay" and isinstance(source, Trace):
        whole = prompts_of_trace(source) if source.shares_prefixes else None
    if whole is None:
        return (None,) * len(tables)
    ends = np.cumsum([len(table) for table in tables]).tolist()
    rows = [slice(end - len(table), end) for end, table in zip(ends, tables, strict=True)]
    return tuple(Prompts(whole.prompts[part], whole.outputs[part]) for part in rows)


def _tables(
    source: Workload | Trace,
    workload: Workload,
    demand: Demand,
    clock: IterationClock,
    size: int,
    runs: int,
    seed: int,
    first: int,
) -> list[Requests]:
    """What they put out is what they ask for."""
    runs, seed = count("runs", runs, most=MOST_RUNS), count("seed", seed, least=0)
    if demand.kind == "replay":
        assert isinstance(source, Trace)  # `window_of` looked
        parts = [slice(run * size, (run + 1) * size) for run in range(runs)]
        return [_part(source, rows, demand, first) for rows in parts]
    seeds = range(seed, seed + runs)
    if demand.rate is None:
        return [saturated(workload, size, rng=s) for s in seeds]
    whole = clock.unit == "iteration"
    return [poisson(workload, demand.rate, size, rng=s, per_iteration=whole) for s in seeds]


def _part(trace: Trace, rows: slice, demand: Demand, first: int) -> Requests:
    assert trace.arrival_times_s is not None
    part = replayed(
        trace.input_lengths[rows],
        trace.decode_lengths[rows],
        trace.arrival_times_s[rows],
        speed=demand.speed,
    )
    if demand.asks.rule != "column":
        return part
    if trace.max_tokens is None:
        raise InputError("max_tokens", str(demand.asks), "a trace with such a column")
    asked = np.array(trace.max_tokens[rows])
    if (asked < part.output_length).any():
        row = int(np.argmax(asked < part.output_length))
        short = f"the {part.output_length[row]:,} outputs of request {first + rows.start + row}"
        allowed = f"at least {short}, counted from 0"
        raise InputError("max_tokens", f"{asked[row]} in {demand.asks}", allowed)
    return part.asking(asked)


def check_pace(
    demand: Demand, clock: IterationClock, settings: Sequence[Setting], size: int
) -> None:
    """Refuse what would spend its time waiting: on the theory's clock an idle iteration is one."""
    least = size / _SLOWEST
    if demand.rate is not None and not clock.jumps and demand.rate < least:
        raise InputError(
            "rate", demand.rate, f"at least {least:g} an iteration for {size:,} requests"
        )
    slowest = min((s.admission_rate for s in settings if s.admission_rate), default=None)
    if slowest is not None and slowest < least:
        raise InputError(
            "admission_rate", float(slowest), f"at least {least:g} for {size:,} requests"
        )


def horizon_of(demand: Demand, equilibrium: Equilibrium, size: int) -> int | None:
    """Iterations in which work cannot run out: at most x* are completed in each, and few start.

    Three times what memory carries is left over, because a cold start admits more than that.
    """
    if demand.kind != "saturated":
        return None
    rest = max(size - 3 * equilibrium.in_flight, Fraction(size, 4))
    return max(1, math.floor(rest / equilibrium.rate))


def length_of(
    demand: Demand, clock: IterationClock, equilibrium: Equilibrium, tables: Sequence[Requests]
) -> int:
    """Iterations until all are served, roughly; it only sets the length of a window."""
    busy = len(tables[0]) / float(equilibrium.rate)
    if demand.kind == "clients":
        return int(busy)
    return int(max(busy, max(float(table.arrival[-1]) for table in tables) / clock.base))
