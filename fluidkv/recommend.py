"""Which settings of an engine to take for a workload and a KV capacity.

A sweep: the same requests through every setting, in one batch of whole-request runs. It answers
with the frontier of throughput against preemptions and tails, and with one setting, taken by the
rule that `fluidkv.serving.frontier.RULE` states. Printing is the command line's.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
import xarray as xr
from jaxtyping import Float

from fluidkv.errors import InputError
from fluidkv.exact.survival import Equilibrium, eviction_free_equilibrium
from fluidkv.serving.arrivals import poisson, replayed, saturated
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.engines import engine as named
from fluidkv.serving.frontier import (
    KNOBS,
    MARGIN,
    Choice,
    Setting,
    Slo,
    choose,
    pareto,
    smallest_without_preemptions,
    sweep,
    watermarks_alone,
    within_noise,
    without_twins,
)
from fluidkv.serving.limits import Limits
from fluidkv.serving.metrics import metrics
from fluidkv.serving.requests import Requests
from fluidkv.serving.result import RunStatus
from fluidkv.serving.rules import EngineRules
from fluidkv.serving.serve import largest_request, serve
from fluidkv.traces import Trace
from fluidkv.workload import System, Workload

BLOCK_SIZES: Mapping[str, int] = MappingProxyType(
    {
        "vllm": 16,
        "vllm-0.11": 16,
        "vidur-sarathi": 16,
        "trtllm-max-utilization": 32,
        "trtllm-no-evict": 32,
    }
)
"""Tokens a block where nobody says otherwise: the engines' own defaults; 1 for the others."""

WATERMARKS = (0.0, 0.01, 0.02, 0.05, 0.10, 0.20)
_SEQUENCES = (1.0, 0.9, 0.8, 0.7, 0.6)  # of what the eviction-free equilibrium carries
_RATES = (1.0, 0.95, 0.9, 0.8)  # of its rate x*
_RATE_STEP = 10**6  # rates are multiples of 1/this, rounded down: x* itself is never exceeded

# Requests a run: ten times what memory carries, so that start and end are a small part of it; less
# where that are many, but where memory is always full, not so few that a run is all start.
_TURNOVERS, _FEWEST, _MOST = 10, 200, 2000
LEAST_TURNOVERS = 4
MOST_REQUESTS = 100_000
MOST_RUNS = 20_000
_WINDOWS = 400  # records a run
_SLOWEST = 10**7  # iterations that arrivals or permits alone may take

TIMED = ("ttft", "latency")  # metrics that need arrival times
Kind = Literal["saturated", "rate", "clients", "replay"]


@dataclass(frozen=True)
class Demand:
    """Who asks: requests that all wait from the start, unless one of these says otherwise.

    Args:
        rate: Poisson arrivals, requests a unit of the clock.
        clients: so many clients, each of whom asks again when it has its answer.
        replay: a trace at its own times, on a clock in seconds.
        speed: of the replay, times as fast.

    Raises:
        InputError: more than one of the first three; a rate or speed that is not finite and above
            0; fewer than 1 client; a speed without a replay.
    """

    rate: float | None = None
    clients: int | None = None
    replay: bool = False
    speed: float = 1.0

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

    @property
    def kind(self) -> Kind:
        if self.rate is not None:
            return "rate"
        if self.clients is not None:
            return "clients"
        return "replay" if self.replay else "saturated"


@dataclass(frozen=True, eq=False)
class Recommendation:
    """What a sweep found; indices are of settings.

    Fields:
        engine: its rules.
        limits: capacity, block size and token budget, which all settings share.
        demand: who asked.
        clock: how long an iteration lasts.
        equilibrium: of the mass model at this capacity; where the rate caps come from.
        settings: what was tried; the first is how the server is set now.
        table: metrics [setting, run], from `fluidkv.serving.metrics`; coordinates are the knobs.
        objectives: metrics that the frontier is about; the first is the throughput.
        frontier: settings that no other beats in all objectives, by their means; of settings with
            the same means, the one with the fewest knobs turned.
        slos, choice: what was asked, and what to take.
        end_of_preemption: smallest watermark, all else as now, with which no run preempts; None
            if none that was tried.
        requests: in each run.
        warm_up, iterations: where requests wait from the start, iterations left out, and in all;
            0 and None where runs go on until every request is served.
        unfinished: runs that did not end as runs of this kind should.
    """

    engine: EngineRules
    limits: Limits
    demand: Demand
    clock: IterationClock
    equilibrium: Equilibrium
    settings: tuple[Setting, ...]
    table: xr.Dataset
    objectives: tuple[str, ...]
    frontier: tuple[int, ...]
    slos: tuple[Slo, ...]
    choice: Choice
    end_of_preemption: int | None
    requests: int
    warm_up: int
    iterations: int | None
    unfinished: int

    @property
    def throughput(self) -> str:
        """The metric to make large."""
        return self.objectives[0]

    @property
    def tails(self) -> tuple[str, ...]:
        """The metrics of the frontier that are tails of times."""
        return self.objectives[2:]

    @property
    def runs(self) -> int:
        """Runs of each setting, with other requests each."""
        return self.table.sizes["run"]

    @property
    def watermarks(self) -> tuple[int, ...]:
        """Settings that differ from now in the watermark only, ascending."""
        return watermarks_alone(self.settings)

    @property
    def all_start(self) -> bool:
        """Whether runs are too short for memory to be filled and emptied a few times."""
        few = self.requests < LEAST_TURNOVERS * _at_once(self.demand, self.equilibrium)
        return few and _is_full(self.demand)

    def mean(self, index: int, metric: str) -> float:
        """Over the runs of a setting; NaN where a run has no value."""
        return float(self.table[metric].values[index].mean())

    def as_fast(self, index: int) -> bool:
        """Whether its throughput is within `MARGIN` of the highest of all settings."""
        means = self.table[self.throughput].values.mean(axis=1)
        return bool(means[index] >= (1 - MARGIN) * means.max())

    def in_noise(self, index: int) -> bool:
        """Whether the runs do not tell its throughput from the highest of all settings."""
        speeds = self.table[self.throughput].values
        return within_noise(speeds[index], speeds[speeds.mean(axis=1).argmax()])

    def flags(self, index: int) -> tuple[tuple[str, str], ...]:
        """(flag, value) for what differs from now and has a flag in this engine."""
        known = dict(self.engine.flags)
        setting = self.settings[index]
        return tuple(
            (known[name], _spelled(getattr(setting, name)))
            for name in setting.changed(self.settings[0])
            if name in known
        )

    def without_flag(self, index: int) -> tuple[str, ...]:
        """Knobs that differ from now and have no flag in this engine."""
        changed = self.settings[index].changed(self.settings[0])
        return tuple(name for name in changed if name not in dict(self.engine.flags))

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON, under keys that stay."""
        choice = self.choice
        return {
            "engine": {"name": self.engine.name, "version": self.engine.version},
            "capacity": self.limits.capacity,
            "block_size": self.limits.block_size,
            "max_num_batched_tokens": self.limits.max_num_batched_tokens,
            "demand": {"kind": self.demand.kind}
            | {
                name: getattr(self.demand, name)
                for name in ("rate", "clients", "speed")
                if getattr(self.demand, name) not in (None, 1.0)
            },
            "clock": {
                "unit": self.clock.unit,
                "base": self.clock.base,
                "per_kv_token": self.clock.per_kv_token,
                "per_prefill_token": self.clock.per_prefill_token,
            },
            "equilibrium": {
                "rate": float(self.equilibrium.rate),
                "in_flight": float(self.equilibrium.in_flight),
            },
            "simulated": {
                "evidence": "sampled",
                "settings": len(self.settings),
                "runs_each": self.runs,
                "requests_each": self.requests,
                "iterations": self.iterations,
                "warm_up": self.warm_up,
                "unfinished": self.unfinished,
                "all_start": self.all_start,
            },
            "slos": {slo.metric: slo.bound for slo in self.slos},
            "now": self._row(0),
            "pick": None if choice.index is None else self._row(choice.index),
            "closest": None if choice.closest is None else self._row(choice.closest),
            "flags": {} if choice.index is None else dict(self.flags(choice.index)),
            "frontier": [self._row(index) for index in self.frontier],
            "end_of_preemption": None
            if self.end_of_preemption is None
            else self.settings[self.end_of_preemption].watermark,
        }

    def _row(self, index: int) -> dict[str, Any]:
        rate = self.settings[index].admission_rate
        return {
            **{name: getattr(self.settings[index], name) for name in KNOBS},
            "admission_rate": None if rate is None else float(rate),
            "metrics": {
                str(name): _number(float(column.values[index].mean()))
                for name, column in self.table.data_vars.items()
            },
        }


def recommend(
    source: Workload | Trace,
    capacity: int,
    *,
    engine: str | EngineRules = "vllm",
    demand: Demand | None = None,
    clock: IterationClock | None = None,
    now: Setting | None = None,
    candidates: Mapping[str, Sequence[Any]] | None = None,
    slos: Iterable[Slo] = (),
    block_size: int | None = None,
    max_num_batched_tokens: int | None = None,
    requests: int | None = None,
    runs: int = 4,
    seed: int = 0,
    backend: Literal["auto", "jax", "reference"] = "auto",
    on_progress: Callable[[int, int], None] | None = None,
) -> Recommendation:
    """Try settings on the same requests, and say which to take.

    Requests are drawn from the workload, other ones in each run; a replay takes consecutive parts
    of the trace instead. Where requests wait from the start, runs have a horizon before which work
    does not run out, and a fifth of it is left out as warm-up; other runs go on until every request
    is served.

    Args:
        source: a workload, or a trace, which has one.
        capacity: M, KV tokens.
        engine: a name out of `fluidkv.serving.engines.ENGINES`, or rules.
        demand: who asks; None: requests that all wait from the start.
        clock: duration of an iteration; None: the theory's, where each lasts 1.
        now: how the server is set; None: no watermark and no caps.
        candidates: knob -> values to try, instead of the usual ones. An empty list: none. Other
            numbers of clients are tried only if given here: they are another demand, and those who
            then wait outside are in no latency.
        slos: what must hold in every run.
        block_size: tokens; None: out of `BLOCK_SIZES`.
        max_num_batched_tokens: most tokens an iteration computes.
        requests: in each run; None: ten times what memory carries, 200 to 2,000; where memory is
            always full, four times what it carries at least.
        runs: of each setting. A replay has no more than the trace has parts.
        seed: of the first run's requests; the others follow.
        backend: of `serve`.
        on_progress: of `serve`.

    Raises:
        InputError: what `serve` and `Limits` refuse; a knob that the engine does not have; a replay
            without times or without a clock in seconds; an SLO on times since arrival where all
            requests wait from the start; too many runs.
    """
    rules, demand = named(engine), demand or Demand()
    clock = clock or IterationClock.iterations()
    now, slos = replace(now or Setting(), clients=demand.clients), tuple(slos)
    limits = Limits(
        capacity,
        block_size or BLOCK_SIZES.get(rules.name, 1),
        max_num_batched_tokens=max_num_batched_tokens,
    )
    workload = source.workload() if isinstance(source, Trace) else source
    _check(rules, demand, clock, slos, now, candidates)
    if demand.kind != "replay":
        _check_memory(rules, limits, workload)
    equilibrium = _equilibrium(workload, capacity)
    settings = _settings(rules, limits, demand, workload, equilibrium, now, candidates)
    size = _requests(requests, demand, equilibrium)
    tables = _tables(source, workload, demand, clock, size, runs, seed)
    size = len(tables[0])
    if len(settings) * len(tables) > MOST_RUNS:
        raise InputError(
            "runs",
            f"{len(settings)} settings, {len(tables)} runs each",
            f"{MOST_RUNS:,} runs in all",
        )
    _check_pace(demand, clock, settings, size)
    horizon = _horizon(demand, equilibrium, size)
    length = horizon or _estimate(demand, clock, equilibrium, tables)
    every = max(1, length // _WINDOWS)
    warm_up = 0 if horizon is None else length // every // 5
    each = [setting for setting in settings for _ in tables]
    run = serve(
        tables * len(settings),
        rules,
        [_limits(limits, setting) for setting in each],
        clock=clock,
        clients=[setting.clients for setting in each],
        iterations=horizon,
        every=every,
        backend=backend,
        on_progress=on_progress,
    )
    table = _table(run, settings, len(tables), warm_up)
    objectives = _objectives(demand, clock)
    values = {str(name): column.values for name, column in table.data_vars.items()}
    means = np.stack([values[name].mean(axis=1) for name in objectives], axis=1)
    right = RunStatus.DONE if horizon is None else RunStatus.HORIZON
    return Recommendation(
        engine=rules,
        limits=limits,
        demand=demand,
        clock=clock,
        equilibrium=equilibrium,
        settings=settings,
        table=table,
        objectives=objectives,
        frontier=_frontier(means, settings),
        slos=slos,
        choice=choose(settings, values, slos, throughput=objectives[0], tails=objectives[2:]),
        end_of_preemption=smallest_without_preemptions(settings, values["preemptions"]),
        requests=size,
        warm_up=warm_up * every,
        iterations=horizon,
        unfinished=int((run.status != right.name).sum()),
    )


def knobs(rules: EngineRules, demand: Demand) -> tuple[str, ...]:
    """What can be turned: what the engine has flags for, all of it in a model without flags.

    A rate limit stands in front of the engine; clients can be limited where they are given.
    """
    own = [name for name in ("watermark", "max_num_seqs") if name in dict(rules.flags)]
    return (
        *(own if rules.flags else ("watermark", "max_num_seqs")),
        "admission_rate",
        *(["clients"] if demand.clients is not None else []),
    )


# --- what goes in -------------------------------------------------------------------------------


def _check(
    rules: EngineRules,
    demand: Demand,
    clock: IterationClock,
    slos: Sequence[Slo],
    now: Setting,
    candidates: Mapping[str, Sequence[Any]] | None,
) -> None:
    there = knobs(rules, demand)
    turned = {name: getattr(now, name) for name in now.changed(Setting(clients=now.clients))}
    for name, value in [*turned.items(), *(candidates or {}).items()]:
        if name not in there:
            why = "no clients are given" if name == "clients" else f"{rules.label} has no such flag"
            raise InputError(name, value, f"none: {why}; it has {', '.join(there)}")
    if demand.kind == "replay" and clock.unit != "s":
        raise InputError("replay", "a clock in iterations", "together with a clock in seconds")
    for slo in slos:
        if demand.kind == "saturated" and slo.metric.startswith(TIMED):
            raise InputError(
                "slo", slo.metric, "tpot, longest_gap and rates where all requests wait at first"
            )


def _check_memory(rules: EngineRules, limits: Limits, workload: Workload) -> None:
    """Of all classes, whether or not a run draws them: the answer must not turn on a seed."""
    table = Requests(
        [c.input_length for c in workload.classes], [c.decode_length for c in workload.classes]
    )
    worst, needed, there = largest_request(rules, limits, table)
    if needed > there:
        largest = workload.classes[worst]
        raise InputError(
            "capacity",
            limits.capacity,
            f"memory for the largest request, {largest.input_length} input + "
            f"{largest.decode_length} output tokens: {needed} blocks of {limits.block_size} under "
            f"{rules.label}; {there} are there",
        )


def _equilibrium(workload: Workload, capacity: int) -> Equilibrium:
    """Where memory just holds the largest request, an engine may serve what the theory refuses."""
    return eviction_free_equilibrium(
        System(workload, max(capacity, workload.largest_footprint + 1))
    )


def _settings(
    rules: EngineRules,
    limits: Limits,
    demand: Demand,
    workload: Workload,
    equilibrium: Equilibrium,
    now: Setting,
    candidates: Mapping[str, Sequence[Any]] | None,
) -> tuple[Setting, ...]:
    usual = _usual(rules, limits, demand, workload, equilibrium, now)
    settings = sweep(now, usual | dict(candidates or {}))
    for setting in settings:
        _limits(limits, setting)  # refuses what is out of range
    return settings


def _usual(
    rules: EngineRules,
    limits: Limits,
    demand: Demand,
    workload: Workload,
    equilibrium: Equilibrium,
    now: Setting,
) -> dict[str, list[Any]]:
    carried = float(equilibrium.in_flight)
    # As many as fit if all are the longest: no cap needs to be lower.
    least = max(1, limits.capacity // workload.largest_footprint)
    sequences = {least, *(max(least, round(carried * share)) for share in _SEQUENCES)}
    rates = [
        Fraction(math.floor(equilibrium.rate * Fraction(str(share)) * _RATE_STEP), _RATE_STEP)
        for share in _RATES
    ]
    usual = {
        "watermark": list(WATERMARKS),
        "max_num_seqs": sorted(n for n in sequences if n <= (now.max_num_seqs or n)),
        "admission_rate": [rate for rate in rates if rate > 0],
    }
    return {name: values for name, values in usual.items() if name in knobs(rules, demand)}


def _limits(limits: Limits, setting: Setting) -> Limits:
    return replace(
        limits,
        watermark=setting.watermark,
        max_num_seqs=setting.max_num_seqs,
        admission_rate=setting.admission_rate,
    )


def _requests(requests: int | None, demand: Demand, equilibrium: Equilibrium) -> int:
    if requests is None:
        at_once = _at_once(demand, equilibrium)
        most = max(_MOST, math.ceil(LEAST_TURNOVERS * at_once)) if _is_full(demand) else _MOST
        return min(max(math.ceil(_TURNOVERS * at_once), _FEWEST), most, MOST_REQUESTS)
    if isinstance(requests, bool) or not 1 <= requests <= MOST_REQUESTS:
        raise InputError("requests", requests, f"an integer from 1 to {MOST_REQUESTS:,}")
    return requests


def _is_full(demand: Demand) -> bool:
    """Whether there is always somebody to admit."""
    return demand.kind in ("saturated", "clients")


def _at_once(demand: Demand, equilibrium: Equilibrium) -> float:
    """Requests that run together where memory is full or all clients are served."""
    return min(float(equilibrium.in_flight), demand.clients or math.inf)


def _tables(
    source: Workload | Trace,
    workload: Workload,
    demand: Demand,
    clock: IterationClock,
    size: int,
    runs: int,
    seed: int,
) -> list[Requests]:
    if isinstance(runs, bool) or not 1 <= runs <= MOST_RUNS:
        raise InputError("runs", runs, f"an integer from 1 to {MOST_RUNS:,}")
    if demand.kind == "replay":
        return _parts(source, demand.speed, size, runs)
    seeds = range(seed, seed + runs)
    if demand.rate is None:
        return [saturated(workload, size, rng=s) for s in seeds]
    whole = clock.unit == "iteration"
    return [poisson(workload, demand.rate, size, rng=s, per_iteration=whole) for s in seeds]


def _parts(source: Workload | Trace, speed: float, size: int, runs: int) -> list[Requests]:
    """Consecutive parts of a trace, as many as it has and no more than `runs`; each from time 0."""
    if not isinstance(source, Trace) or source.arrival_times_s is None:
        raise InputError("replay", "no arrival times", "a trace that has them")
    times = source.arrival_times_s
    size = min(size, len(source))
    late = next((i for i in range(1, len(times)) if times[i] < times[i - 1]), None)
    if late is not None:
        raise InputError(
            "replay",
            f"request {late} at {times[late]:g} s",
            f"times that do not go backwards: no earlier than {times[late - 1]:g} s",
        )
    return [
        replayed(
            source.input_lengths[first : first + size],
            source.decode_lengths[first : first + size],
            times[first : first + size],
            speed=speed,
        )
        for first in range(0, len(source) - size + 1, size)[:runs]
    ]


# --- how long ----------------------------------------------------------------------------------


def _check_pace(
    demand: Demand, clock: IterationClock, settings: Sequence[Setting], size: int
) -> None:
    """Refuse what would spend its time waiting: on the theory's clock an idle iteration is one."""
    least = size / _SLOWEST
    if demand.rate is not None and not clock.jumps and demand.rate < least:
        raise InputError("rate", demand.rate, f"at least {least:g} an iteration for {size:,}")
    slowest = min((s.admission_rate for s in settings if s.admission_rate), default=None)
    if slowest is not None and slowest < least:
        raise InputError("admission_rate", float(slowest), f"at least {least:g} for {size:,}")


def _horizon(demand: Demand, equilibrium: Equilibrium, size: int) -> int | None:
    """Iterations in which work cannot run out: at most x* are completed in each, and few start.

    Three times what memory carries is left over, because a cold start admits more than that.
    """
    if demand.kind != "saturated":
        return None
    rest = max(size - 3 * equilibrium.in_flight, Fraction(size, 4))
    return max(1, math.floor(rest / equilibrium.rate))


def _estimate(
    demand: Demand, clock: IterationClock, equilibrium: Equilibrium, tables: Sequence[Requests]
) -> int:
    """Iterations until all are served, roughly; it only sets the length of a window."""
    busy = len(tables[0]) / float(equilibrium.rate)
    if demand.kind == "clients":
        return int(busy)
    return int(max(busy, max(float(table.arrival[-1]) for table in tables) / clock.base))


# --- what comes out -----------------------------------------------------------------------------


def _objectives(demand: Demand, clock: IterationClock) -> tuple[str, ...]:
    """Throughput, preemptions, tails."""
    throughput = "output_throughput_per_time" if clock.unit == "s" else "output_throughput"
    timed = demand.kind != "saturated"
    tails = ("ttft_p99", "latency_p99") if timed else ("longest_gap_p99",)
    return (throughput, "preemptions", *tails)


def _frontier(
    means: Float[np.ndarray, "setting objective"], settings: Sequence[Setting]
) -> tuple[int, ...]:
    kept = np.array(without_twins(means, settings))
    higher = [True] + [False] * (means.shape[1] - 1)
    return tuple(kept[pareto(means[kept], higher)].tolist())


def _table(run: xr.Dataset, settings: Sequence[Setting], runs: int, warm_up: int) -> xr.Dataset:
    """Metrics [setting, run]. Where all wait from the start, of requests from their first token."""
    found = metrics(run)
    if warm_up:
        late = metrics(run, first=warm_up)
        keep = [n for n in found if str(n).startswith(("tpot", "longest_gap"))]
        drop = [n for n in late if str(n).startswith((*TIMED, "tpot", "longest_gap", "censored"))]
        found = late.drop_vars(drop).merge(found[keep])
    table = xr.Dataset(
        {
            name: (("setting", "run"), column.values.reshape(len(settings), runs), column.attrs)
            for name, column in found.data_vars.items()
        },
        attrs=run.attrs,
    )
    knob = {
        name: ("setting", [_float(getattr(setting, name)) for setting in settings])
        for name in KNOBS
    }
    return table.assign_coords(knob)


def _float(value: float | Fraction | None) -> float:
    return math.nan if value is None else float(value)


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _spelled(value: float | int | None) -> str:
    return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
