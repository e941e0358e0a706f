"""How much of a replayed trace is served: all, what is asked for, or where it is busiest."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fluidkv.answers.served.cases import Case
from fluidkv.answers.served.demand import Demand, Draws, tables_of
from fluidkv.answers.served.part import busiest_rows, part_of, rate_of, rates_of_tenths
from fluidkv.answers.served.work import work_of
from fluidkv.errors import InputError
from fluidkv.keys import Key, Keyed
from fluidkv.logs.timed import TimedRun
from fluidkv.runs.arrivals import replayed
from fluidkv.runs.checks import count
from fluidkv.runs.requests import Requests
from fluidkv.serving.caching.sglang.table import check_table
from fluidkv.serving.checks import check_fits
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.engine_text import ServedEngine
from fluidkv.serving.limits import Limits
from fluidkv.traces import Trace
from fluidkv.workload import Workload

MOST_OF_TRACE = 10**6
_FEWEST_OF_TRACE = 3_000  # however long they take: 30 are beyond a 99th percentile
MINUTE_S = 60.0
"""What a trace may take in all where nobody says how much of it is served: else a part is.

>>> from fluidkv.answers.served.window import MINUTE_S
>>> MINUTE_S
60.0
"""
_MOST_IN_MEMORY = 5 * 10**6  # requests of all servers together: 200 bytes of each, a gigabyte


@dataclass(frozen=True)
class Window(Keyed):
    """What is served of a trace that is replayed: all of it, its first requests, or the busiest.

    Fields:
        requests: of each run; with several runs, consecutive parts of the trace.
        runs: how many; each begins with an empty server.
        of: requests that the trace has.
        rate: arrivals a second at the trace's own times, of what is served; None where all come at
            once.
        rate_of_all: arrivals a second at the trace's own times, of the whole trace; None where all
            come at once.
        first: row of the trace with which it begins.
        busiest: whether it is the busiest part, since the whole may take over a minute or a
            gigabyte.
        tenths: the rate in each tenth of the time that is served; none where all come at once.
    """

    requests: int
    runs: int
    of: int
    rate: float | None
    rate_of_all: float | None
    first: int
    busiest: bool
    tenths: tuple[float, ...]

    KEYS = (
        Key("requests", "count"),
        Key("runs", "count"),
        Key("of", "count"),
        Key("rate", "per second"),
        Key("rate_of_all", "per second"),
        Key("first", "count"),
        Key("busiest", "yes/no"),
        Key("tenths[]", "per second"),
    )

    @property
    def rows(self) -> slice:
        """Of the trace."""
        return slice(self.first, self.first + self.requests * self.runs)

    def of_trace(self, source: Workload | Trace) -> Trace:
        """What is served of the trace that it is of."""
        assert isinstance(source, Trace)  # windows are of traces
        return part_of(source, self.rows)

    def drawn_from(self, source: Workload | Trace) -> Trace:
        """What fresh draws are like the busiest stretch of: also where a part is, all of it."""
        assert isinstance(source, Trace)  # windows are of traces
        return source if self.busiest else self.of_trace(source)

    @property
    def own_rate(self) -> float | None:
        """What a rate that is asked for counts in: the whole's, where its busiest part is served.

        Then the part comes faster than that, as it does in the trace.
        """
        return self.rate_of_all if self.busiest else self.rate

    @property
    def whole(self) -> bool:
        """Whether the trace is served as it came, in one run."""
        return self.requests == self.of


def window_of(
    source: Workload | Trace,
    demand: Demand,
    draws: Draws,
    servers: Sequence[Case],
    *,
    runs_named: str = "runs",
) -> Window | None:
    """What is served of a trace that is replayed: the whole, unless somebody asks for less.

    A part of a trace says nothing of the rest: its start may be quiet. So where nobody asks, and
    the whole may take over a minute, or a gigabyte, its busiest requests in a row are served.

    Args:
        servers: that are going to serve it, about.
        runs_named: what the caller calls the number of runs.

    Returns:
        None where nothing is replayed.

    Raises:
        InputError: no trace, or one without times, or whose times go backwards; more requests or
            runs than it has, or than a run can be of.
    """
    if demand.kind != "replay":
        return None
    if not isinstance(source, Trace) or source.arrival_times_s is None:
        raise InputError("replay", "no arrival times", "a trace that has them")
    at, there = times_of(source), len(source)
    first, size, runs = 0, there, 1
    whole_or_busiest = draws.requests is None and draws.runs is None
    if whole_or_busiest:
        rows = _soon_served(source, at, demand.speed, servers)
        first, size = rows.start, rows.stop - rows.start
    else:
        size, runs = _asked_of(there, draws, runs_named)
    part = at[first : first + runs * size]
    rate, of_all = (rate if math.isfinite(rate) else None for rate in map(rate_of, (part, at)))
    busy = whole_or_busiest and size < there
    return Window(size, runs, there, rate, of_all, first, busy, rates_of_tenths(part))


def times_of(trace: Trace) -> np.ndarray:
    """Of arrival, which may not go backwards.

    Raises:
        InputError: they do, with the row.
    """
    at = np.asarray(trace.arrival_times_s)
    if (late := np.flatnonzero(np.diff(at) < 0)).size:
        row = int(late[0]) + 1
        raise InputError(
            "source",
            f"request {row} at {at[row]:g} s",
            f"times that do not go backwards: no earlier than {at[row - 1]:g} s",
        )
    return at


def _soon_served(trace: Trace, at: np.ndarray, speed: float, servers: Sequence[Case]) -> slice:
    """All rows, or the busiest of them where all may take over a minute, or a gigabyte.

    Where these all come at once, they have no rate: then all rows, if a run may have so many.
    """
    there = len(at)
    table = replayed(trace.input_lengths, trace.decode_lengths, at.tolist(), speed=speed)
    alike = Counter(servers)
    shares = trace.shares_prefixes
    work = [times * work_of(table, case, shares=shares).seconds for case, times in alike.items()]
    soon = min(int(MINUTE_S / sum(work) * there), _MOST_IN_MEMORY // len(servers))
    size = min(there, max(_FEWEST_OF_TRACE, soon), MOST_OF_TRACE)
    rows = busiest_rows(at, size)
    at_once = at[rows.stop - 1] == at[rows.start]
    return slice(0, there) if at_once and there <= MOST_OF_TRACE else rows


def _asked_of(there: int, draws: Draws, runs_named: str) -> tuple[int, int]:
    """Requests of a run and runs, as somebody asks for them, of so many rows."""
    size = there if draws.requests is None else count("requests", draws.requests)
    if size > there:
        raise InputError("requests", size, f"at most the {there:,} that the trace has")
    if size > MOST_OF_TRACE:
        few = f"at most {MOST_OF_TRACE:,} in a run; a number of requests takes the first ones"
        raise InputError("source", f"{size:,} requests", few)
    runs = 1 if draws.runs is None else count(runs_named, draws.runs)
    if runs > there // size:
        parts = f"at most {there // size}: the trace has {there:,} requests, and a run {size:,}"
        raise InputError(runs_named, runs, parts)
    return size, runs


def tables_to_hold(
    tables: list[Requests],
    source: Workload | Trace,
    workload: Workload,
    demand: Demand,
    clock: IterationClock,
    window: Window | None,
) -> list[Requests]:
    """What memory has to hold: the runs; of a trace all, if a part is served, as draws have more.

    Args:
        tables: of the runs.
    """
    if window is None or not window.busiest:
        return tables
    return tables_of(source, workload, demand, clock, window.of, 1, 0)


def check_rows(
    tables: Sequence[Requests],
    engine: ServedEngine,
    limits: Limits,
    window: Window | None,
    start: int = 0,
) -> None:
    """Refuse a request that this server can never serve, with its row: of a trace, if it is one.

    Args:
        tables: of `tables_to_hold`, or of the runs.
        start: row of the trace with which the first table begins.

    Raises:
        InputError: naming the request.
    """
    for place, table in enumerate(tables):
        first = start if window is None else start + place * window.requests
        if engine.own_scheduler:
            check_table(table, engine.settings_of(limits), first)
        else:
            check_fits(table, engine.rules, limits, first)


def requests_of_log(
    requests: int | None, log: TimedRun | None, demand: Demand | None
) -> int | None:
    """Requests of a run: all of a log that is held against the answer, unless fewer are asked for.

    What the simulation misses is taken from all requests of the log, so no part of it is served.
    """
    replayed = demand is not None and demand.kind == "replay"
    return len(log.input_lengths) if log and replayed and requests is None else requests
