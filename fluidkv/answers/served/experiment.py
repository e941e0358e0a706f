"""One experiment: the same requests through several servers, which are held against the first."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, Self

import numpy as np
import xarray as xr
from jaxtyping import Bool, Float

from fluidkv.answers.served.bias import OUTPUT, Bias, Totals, biases
from fluidkv.answers.served.cases import Case, measured_cases
from fluidkv.answers.served.demand import (
    MOST_REQUESTS,
    MOST_RUNS,
    Demand,
    Draws,
    at_once,
    check_pace,
    horizon_of,
    length_of,
    mostly_start,
    prompts_of,
    requests_of_run,
    tables_of,
    usual_requests,
)
from fluidkv.answers.served.fresh import HORIZON, Days, Horizon, days_like
from fluidkv.answers.served.setting import Setting
from fluidkv.answers.served.window import Window, tables_to_hold, window_of
from fluidkv.errors import InputError
from fluidkv.exact.survival import Equilibrium
from fluidkv.logs.timed import TimedRun
from fluidkv.prefix.prompts import Prompts
from fluidkv.record import Record
from fluidkv.runs.checks import count, instance
from fluidkv.runs.dataset import RunStatus
from fluidkv.runs.requests import Requests
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.engines import with_cache
from fluidkv.serving.run import serve
from fluidkv.serving.server import Server
from fluidkv.traces import Trace
from fluidkv.workload import Workload

Backend = Literal["auto", "kernel", "reference"]
_WINDOWS = 400  # records of each run
_OF_ONE = 10_000  # of a single run: its parts are the pairs, and their ends lie within a record
_PART = "_by_segment"
_PATIENCE = 20  # times the usual iterations, after which a run counts as not finished


@dataclass(frozen=True, eq=False)
class Experiment(Record):
    """The requests of each run, the same for every server, and for how long they are served.

    Fields:
        demand: when requests come.
        clock: duration of an iteration.
        equilibrium: of the mix, at the memory of the first server.
        tables: the requests of each run.
        prompts: what they say, for engines with a cache; None: nobody shares anything.
        window: what they are of a trace that is replayed; None: they are drawn.
        to_hold: what memory has to hold: more than is served, where draws of a trace have more.
        seed: of the first run.
        horizon: iterations; None where runs go on until every request is served.
        every: iterations of a record.
        warm_up: records left out at the start.
        ends: how a run ends that nothing cuts off.
        short: whether runs are mostly start.
    """

    demand: Demand
    clock: IterationClock
    equilibrium: Equilibrium
    tables: list[Requests]
    prompts: tuple[Prompts | None, ...]
    window: Window | None
    to_hold: list[Requests]
    seed: int
    horizon: int | None
    every: int
    warm_up: int
    ends: RunStatus
    short: bool

    @property
    def size(self) -> int:
        """Requests of a run."""
        return len(self.tables[0])

    def measured(
        self,
        cases: Sequence[Case],
        backend: Backend,
        *,
        parts: Callable[[xr.Dataset], xr.Dataset] | None = None,
        also: Callable[[xr.Dataset], xr.Dataset] | None = None,
        on_progress: Callable[[int, int], None] | None = None,
    ) -> "Measured":
        """What every server does with the requests; arguments as of `measured_cases`.

        Args:
            parts: metrics (run, segment) of the parts of a run, where there is but one run.
        """

        def columns(run: xr.Dataset) -> xr.Dataset:
            more = xr.Dataset() if also is None else also(run)
            if parts is None or len(self.tables) > 1:
                return more
            segments = parts(run)
            return more.merge(segments.rename({name: f"{name}{_PART}" for name in segments}))

        table, statuses = measured_cases(
            cases,
            self.tables,
            self.prompts,
            horizon=self.horizon,
            every=self.every,
            warm_up=self.warm_up,
            backend=backend,
            also=columns,
            on_progress=on_progress,
        )
        names = {name: str(name).removesuffix(_PART) for name in table if str(name).endswith(_PART)}
        segments = table[[*names]].rename(names) if names else None
        return Measured(table.drop_vars([*names]), segments, tuple(statuses))

    def days_like(
        self, source: Workload | Trace, draws: int, horizon: Horizon, caching: bool
    ) -> Days | None:
        """Fresh draws of a trace that is replayed; None: requests have no times of their own.

        Args:
            source: of which the requests are.
            draws: how many.
            horizon: of each; as long as what is served where nobody says, 3,000 requests at most.
            caching: whether an engine looks at prompts.
        """
        if self.window is None or self.window.rate is None:
            return None
        log = self.window.drawn_from(source)
        how = {"usual": min(len(log), HORIZON), "caching": caching, "seed": self.seed}
        return days_like(log, draws, horizon, self.demand, self.clock, **how)

    def on(self, days: Days) -> Self:
        """The same servers and settings on fresh draws."""
        return replace(self, tables=list(days.tables), prompts=tuple(days.prompts))

    def unfinished(self, statuses: Sequence[str]) -> Bool[np.ndarray, " run"]:
        """Whether runs did not end as they should.

        Args:
            statuses: how each ended.
        """
        return np.array([status != self.ends.name for status in statuses])

    def bias(
        self,
        source: Workload | Trace,
        case: Case,
        log: TimedRun,
        metrics: Sequence[str],
        totals: Totals | None,
        bounds: Mapping[str, float] | None = None,
    ) -> Mapping[str, Bias]:
        """What the simulation of a log's own server misses; arguments as of `bias_of`.

        The log's requests are run at their own times, whatever the demand of the experiment is.

        Args:
            source: a trace of the log's requests, with their times.

        Raises:
            InputError: a source of other requests than the log's, or without times.
        """
        trace = _trace_of(source, log)
        own = replace(self.demand, rate=None, clients=None, replay=True, speed=1.0)
        tables = tables_of(trace, workload_of(trace), own, self.clock, len(trace), 1, self.seed)
        (prompts,) = prompts_of(trace, own, tables, with_cache(case.engine)[1])
        return bias_of(tables[0], prompts, case, log, metrics, totals, bounds)


class Measured(NamedTuple):
    """What servers did with the same requests.

    Fields:
        table: metrics [case, run].
        segments: of a single run, those of its parts [case, run, segment]; else None.
        statuses: how each run ended, case by case.
    """

    table: xr.Dataset
    segments: xr.Dataset | None
    statuses: tuple[str, ...]

    def pairs(self, metric: str) -> Float[np.ndarray, "case pair"]:
        """Values to pair, run by run or part by part: parts without a value are left out."""
        if self.segments is None or metric not in self.segments:
            return self.table[metric].values
        values = self.segments[metric].values
        values = values.reshape(len(values), -1)
        return values[:, np.isfinite(values).all(axis=0)]


def bias_of(
    requests: Requests,
    prompts: Prompts | None,
    case: Case,
    log: TimedRun,
    metrics: Sequence[str],
    totals: Totals | None,
    bounds: Mapping[str, float] | None = None,
) -> Mapping[str, Bias]:
    """What the simulation of a log's own server misses.

    Args:
        requests: those of the log, at their own times.
        prompts: what they say, for an engine with a cache.
        case: the server of the log.
        log: what was measured.
        metrics: those to look at, beside output.
        totals: what else the log says.
        bounds: of times of a request, for goodput.
    """
    run = serve(requests, Server(case.engine, case.limits, clock=case.clock, prompts=prompts))
    return biases(run, log, tuple(dict.fromkeys((OUTPUT, *metrics))), bounds, totals)


def _trace_of(source: Workload | Trace, log: TimedRun) -> Trace:
    """The source, if it has the requests of the log, in whatever order, and times."""
    measured = f"{len(log.input_lengths):,} requests"
    if not isinstance(source, Trace) or source.arrival_times_s is None:
        raise InputError("log", measured, "only with a source that is a trace with their times")
    inputs, outputs = np.sort(source.input_lengths), np.sort(source.decode_lengths)
    same = np.array_equal(inputs, np.sort(log.input_lengths))
    if not (same and np.array_equal(outputs, np.sort(log.decode_lengths))):
        raise InputError("log", measured, f"of the lengths of the {len(source):,} of the source")
    return source


def workload_of(source: Workload | Trace) -> Workload:
    """The mix of a trace, or the workload itself."""
    workload = source.workload() if isinstance(source, Trace) else source
    return instance("source", workload, Workload, "a workload or a trace")


def experiment(
    source: Workload | Trace,
    workload: Workload,
    equilibrium: Equilibrium,
    demand: Demand,
    clock: IterationClock,
    draws: Draws,
    *,
    runs: int,
    servers: Sequence[Case],
    called: str,
    runs_named: str = "runs",
    settings: Sequence[Setting] = (Setting(),),
    caching: bool = False,
    until_served: bool = False,
    usual: int | None = None,
) -> Experiment:
    """Requests for so many servers, checked before anything runs.

    Args:
        source: a workload, or a trace, which has one.
        workload: its mix.
        equilibrium: of that, at the memory of the first server.
        demand, clock: of all servers.
        draws: which requests are run.
        runs: of each server, where requests are drawn and nobody says how many.
        servers: that are compared, about.
        called: what errors call them.
        runs_named: the argument that says how many runs there are.
        settings: of the servers: a limit on admissions may take too long.
        caching: whether an engine looks at prompts.
        until_served: whether runs go on until all is served also where all wait from the start; so
            long that a run of an engine that never ends is ended.
        usual: requests of a run where they are drawn and nobody says how many; None: as many as
            memory needs to be filled and emptied a few times.

    Raises:
        InputError: a replay without a clock in seconds, or without times; too few requests, or too
            many runs.
    """
    if demand.kind == "replay" and clock.unit != "s":
        raise InputError("replay", "a clock in iterations", "together with a clock in seconds")
    window = window_of(source, demand, draws, servers, runs_named=runs_named)
    first = 0
    if window is not None:
        size, runs, first = window.requests, window.runs, window.first
    else:
        runs = runs if draws.runs is None else count(runs_named, draws.runs, most=MOST_RUNS)
        if usual is not None:
            size = usual if draws.requests is None else count("requests", draws.requests)
        elif until_served and draws.requests is not None:
            size = count("requests", draws.requests, most=MOST_REQUESTS)
        elif until_served:
            size = usual_requests(at_once(demand, equilibrium))
        else:
            longest = max(each.decode_length for each in workload.classes)
            size = requests_of_run(draws.requests, demand, equilibrium, longest)
    if len(servers) * runs > MOST_RUNS:
        most = f"at most {MOST_RUNS // len(servers):,}"
        why = f"{len(servers):,} {called} are run, {MOST_RUNS:,} runs at most in all"
        raise InputError(runs_named, runs, f"{most}: {why}")
    part = source if window is None else window.of_trace(source)
    tables = tables_of(part, workload, demand, clock, size, runs, draws.seed, first)
    check_pace(demand, clock, settings, size)
    how_long = _until_served if until_served else _how_long
    return Experiment(
        demand=demand,
        clock=clock,
        equilibrium=equilibrium,
        tables=tables,
        prompts=prompts_of(part, demand, tables, caching),
        window=window,
        to_hold=tables_to_hold(tables, source, workload, demand, clock, window),
        seed=draws.seed,
        short=mostly_start(demand, equilibrium, size),
        **how_long(demand, clock, equilibrium, tables),
    )


def _how_long(
    demand: Demand, clock: IterationClock, equilibrium: Equilibrium, tables: Sequence[Requests]
) -> dict[str, Any]:
    horizon = horizon_of(demand, equilibrium, len(tables[0]))
    length = horizon or length_of(demand, clock, equilibrium, tables)
    every = max(1, length // (_WINDOWS if len(tables) > 1 else _OF_ONE))
    warm_up = 0 if horizon is None else length // every // 5
    ends = RunStatus.DONE if horizon is None else RunStatus.HORIZON
    return {"horizon": horizon, "every": every, "warm_up": warm_up, "ends": ends}


def _until_served(
    demand: Demand, clock: IterationClock, equilibrium: Equilibrium, tables: Sequence[Requests]
) -> dict[str, Any]:
    length = max(1, length_of(demand, clock, equilibrium, tables))
    longest = max(int(table.output_length.max()) for table in tables)
    horizon = _PATIENCE * (length + longest)
    every = max(1, length // _WINDOWS)
    return {"horizon": horizon, "every": every, "warm_up": 0, "ends": RunStatus.DONE}
