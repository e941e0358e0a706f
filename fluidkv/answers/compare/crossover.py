"""MAX_UTILIZATION against GUARANTEED_NO_EVICT: for which max_tokens, and which pool, is each.

No-evict sets aside all that a request may ask for, so that it loses as clients ask for more than
they get; the other never looks at it, and loses as memory is short, by evicting. Both serve the
same requests at every point, so that differences are taken run by run.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import xarray as xr
from jaxtyping import Float

from fluidkv.answers.compare.plan import Plan, Setup, check_case, felt_of, planned
from fluidkv.answers.served.cases import Case
from fluidkv.answers.served.described import THROUGHPUTS
from fluidkv.answers.served.paired import CONFIDENCE, against_first
from fluidkv.errors import InputError
from fluidkv.labels import completed, variable
from fluidkv.questions.answer import table_csv
from fluidkv.record import Record
from fluidkv.runs.max_tokens import MaxTokens
from fluidkv.runs.requests import Requests
from fluidkv.serving.engines import served_engine
from fluidkv.traces import Trace
from fluidkv.workload import Workload

POLICIES = ("trtllm-no-evict", "trtllm-max-utilization")
"""The two rules, the one that reserves first."""

_AXES = {
    "max_tokens": ("1", "what is asked for, in multiples of what is put out"),
    "capacity": ("token", "KV tokens of the pool"),
}

MULTIPLES = tuple(Fraction(text) for text in ("1", "5/4", "3/2", "2", "3", "4", "8"))
"""Of what is put out, that clients ask for."""

POOLS = tuple(Fraction(text) for text in ("1/2", "3/4", "1", "3/2", "2", "4"))
"""Of the pool that is asked about."""


@dataclass(frozen=True)
class Crossing(Record):
    """Where two policies change places in a metric, along an axis.

    Fields:
        metric: of a run.
        before, after: the policy that is better at the first and at the last point, by more than
            noise at all points at once; None: neither.
        at: where the mean difference is 0, between two points in proportion (of logarithms); None
            where it does not change its sign.
        low, high: the last point at which `before` is better and the first at which `after` is;
            None where there is none.
        same_from: the first point from which on they do not differ beyond noise; None: at the last
            one they do.

    Examples:
        >>> from fluidkv.answers.compare.crossover import Crossing
        >>> two = ("trtllm-no-evict", "trtllm-max-utilization")
        >>> found = Crossing("latency_p99", *two, at=2.83, low=2.0, high=4.0, same_from=None)
        >>> found.found, found.before, (found.low, found.high)
        (True, 'trtllm-no-evict', (2.0, 4.0))
    """

    metric: str
    before: str | None
    after: str | None
    at: float | None
    low: float | None
    high: float | None
    same_from: float | None

    @property
    def found(self) -> bool:
        """Whether they change places, and both sides are beyond noise."""
        return None not in (self.at, self.low, self.high) and self.before != self.after

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "before": self.before,
            "after": self.after,
            "at": self.at,
            "low": self.low,
            "high": self.high,
            "found": self.found,
            "same_from": self.same_from,
        }


@dataclass(frozen=True, eq=False)
class Along(Record):
    """Both policies along an axis.

    Fields:
        axis: "max_tokens" (multiples of what is put out) or "capacity" (KV tokens).
        points: rising.
        table: metrics [policy, point, run], policies as in `POLICIES`.
        crossings: metric -> where they change places.
        refused: points at which no-evict could not serve the largest request.

    Examples:
        >>> import xarray as xr
        >>> from fluidkv.answers.compare.crossover import Along
        >>> rates = np.array([[[12.0, 12.4], [9.0, 9.2]], [[10.0, 10.2], [10.0, 10.2]]])
        >>> table = xr.Dataset({"output_throughput": (("policy", "point", "run"), rates)})
        >>> found = Along("max_tokens", (1.0, 4.0), table, crossings={})
        >>> mean, half = found.gain("output_throughput")
        >>> mean.round(2)
        array([ 0.21, -0.1 ])
    """

    axis: Literal["max_tokens", "capacity"]
    points: tuple[float, ...]
    table: xr.Dataset
    crossings: Mapping[str, Crossing]
    refused: tuple[float, ...] = ()

    def gain(self, metric: str) -> tuple[np.ndarray, np.ndarray]:
        """No-evict less the other, in parts of the other, at each point; and half its interval."""
        return _gaps(self.table[metric].values, len(self.points))

    def to_xarray(self) -> "xr.Dataset":
        """Metrics [policy, point, run]; `point` has the values along the axis."""
        return self.table

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "axis": self.axis,
            "points": list(self.points),
            "refused": list(self.refused),
            "metrics": {
                str(name): dict(zip(POLICIES, column.mean("run").values.tolist(), strict=True))
                for name, column in self.table.data_vars.items()
            },
            "gain": {
                metric: {"mean": mean.tolist(), "half_width": half.tolist()}
                for metric, (mean, half) in ((m, self.gain(m)) for m in self.crossings)
            },
            "crossings": {metric: each.to_dict() for metric, each in self.crossings.items()},
        }


@dataclass(frozen=True, eq=False)
class Crossover(Record):
    """Fields:
    setup: memory, clock, who asks.
    felt: metrics of the crossings, in the order in which they count.
    by_max_tokens: the pool as asked, clients that ask for multiples of what they get.
    by_capacity: clients as asked, other pools.
    ratio: mean of what is asked for over what is put out, as asked.
    runs, requests: of each point; how many in each.

    Examples:
        >>> from fluidkv.answers import Demand, Setting, policies_crossover
        >>> from fluidkv.answers.compare.plan import Setup
        >>> clock = fk.IterationClock(0.02, 1e-6, 4e-3)
        >>> setup = Setup(200, Demand(clients=4), clock, Setting(), 4, requests=20, runs=2)
        >>> mix, two = fk.Workload.from_lengths([(60, 4), (60, 12)]), [Fraction(1), Fraction(2)]
        >>> found = policies_crossover(mix, setup, multiples=two, pools=two, backend="reference")
        >>> found.by_max_tokens.points, found.by_capacity.points, found.ratio
        ((1.0, 2.0), (200.0, 400.0), 1.0)
        >>> found.by_capacity.crossings["latency_p99"].same_from
        200.0
    """

    setup: Setup
    felt: tuple[str, ...]
    by_max_tokens: Along
    by_capacity: Along
    ratio: float
    runs: int
    requests: int

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "policies": list(POLICIES),
            "confidence": CONFIDENCE,
            "asked_over_put_out": self.ratio,
            "by_max_tokens": self.by_max_tokens.to_dict(),
            "by_capacity": self.by_capacity.to_dict(),
        }

    def to_csv(self) -> str:
        """A row for each axis, point, policy and run."""
        first, second = (
            table_csv(
                along.table.transpose("point", "policy", "run").expand_dims({"axis": [along.axis]}),
                whole=True,
            )
            for along in (self.by_max_tokens, self.by_capacity)
        )
        return first + second.partition("\n")[2]


def policies_crossover(
    source: Workload | Trace,
    setup: Setup,
    *,
    multiples: Sequence[Fraction] = MULTIPLES,
    pools: Sequence[Fraction] = POOLS,
    backend: Literal["auto", "kernel", "reference"] = "auto",
    on_progress: Callable[[int, int], None] | None = None,
) -> Crossover:
    """Both capacity policies of TensorRT-LLM on the same requests, along max_tokens and pool size.

    Args:
        source: a workload, or a trace.
        setup: as `compare_engines` is asked; its pool is where max_tokens is turned, and what its
            clients ask for is what holds where the pool is.
        multiples: of what is put out, that clients ask for, rising; at least 1.
        pools: parts of the pool, rising.
        backend: of `serve`.
        on_progress: told how many requests are served, of how many in all runs.

    Raises:
        InputError: as `compare_engines`; multiples or pools that do not rise.

    Examples:
        >>> from fluidkv.answers import Demand, Setting, policies_crossover
        >>> from fluidkv.answers.compare.plan import Setup
        >>> clock = fk.IterationClock(0.02, 1e-6, 4e-3)
        >>> setup = Setup(200, Demand(clients=4), clock, Setting(), 4, requests=20, runs=2)
        >>> mix, two = fk.Workload.from_lengths([(60, 4), (60, 12)]), [Fraction(1), Fraction(2)]
        >>> found = policies_crossover(mix, setup, multiples=two, pools=two, backend="reference")
        >>> evictions = found.by_capacity.table.preemptions.mean("run")
        >>> evictions.sel(policy="trtllm-max-utilization").values  # of 200 tokens, of 400
        array([5., 0.])
    """
    for name, values in (("multiples", multiples), ("pools", pools)):
        if len(values) < 2 or any(a >= b for a, b in pairwise(values)) or values[0] <= 0:
            raise InputError(name, [str(value) for value in values], "at least 2, rising, above 0")
    plan = planned(source, POLICIES, setup)
    outputs = [table.asking(table.output_length) for table in plan.tables]
    steps = [MaxTokens("multiple", factor=factor) for factor in multiples]
    fits = [_fits(plan, [step.of(table) for table in outputs]) for step in steps]
    asking = [step for step, fine in zip(steps, fits, strict=True) if fine]
    sizes = [max(1, math.floor(setup.capacity * part)) for part in pools]
    servers = [replace(setup, capacity=size) for size in sizes]
    pooled = [s for s in servers if _fits(replace(plan, setup=s), plan.tables)]
    progress = _Progress((len(asking) + 1 + 2 * len(pooled)) * sum(map(len, outputs)), on_progress)
    felt = felt_of(setup.demand, setup.clock)

    def run(policy: str, servers: Sequence[Setup], tables: Sequence[Requests]) -> xr.Dataset:
        cases = [server.case(served_engine(policy)) for server in servers]
        return _measured(plan, cases, tables, backend, progress)

    every = [step.of(table) for step in asking for table in outputs]
    runs = len(outputs)
    reserving = _points(run(POLICIES[0], [setup], every), len(asking), runs)
    evicting = _points(run(POLICIES[1], [setup], outputs), 1, runs)
    evicting = evicting.isel(point=[0] * len(asking))
    by_asked = _along(
        "max_tokens",
        [float(step.factor) for step in asking],
        (reserving, evicting),
        felt,
        [float(s.factor) for s, fine in zip(steps, fits, strict=True) if not fine],
    )
    both = tuple(
        _points(run(policy, pooled, plan.tables), len(pooled), runs) for policy in POLICIES
    )
    by_pool = _along(
        "capacity",
        [float(server.capacity) for server in pooled],
        both,
        felt,
        [float(server.capacity) for server in servers if server not in pooled],
    )
    ratio = float(np.mean([(t.max_output / t.output_length).mean() for t in plan.tables]))
    return Crossover(setup, felt, by_asked, by_pool, ratio, runs, len(outputs[0]))


class _Progress:
    """Progress over several calls."""

    def __init__(self, total: int, tell: Callable[[int, int], None] | None) -> None:
        self.before, self.total, self._tell = 0, total, tell

    def __call__(self, served: int, _: int) -> None:
        if self._tell is not None:
            self._tell(self.before + served, self.total)


def _fits(plan: Plan, tables: Sequence[Requests]) -> bool:
    """Whether both policies can serve each request."""
    try:
        for name in POLICIES:
            engine = served_engine(name)
            check_case(plan.setup.case(engine), engine, tables)
    except InputError:
        return False
    return True


def _measured(
    plan: Plan,
    cases: list[Case],
    tables: Sequence[Requests],
    backend: Literal["auto", "kernel", "reference"],
    progress: _Progress,
) -> xr.Dataset:
    runs = replace(plan, tables=list(tables), prompts=(None,) * len(tables))
    table = runs.measured(cases, backend, on_progress=progress).table
    progress.before += len(cases) * sum(map(len, tables))
    return table


def _points(table: xr.Dataset, points: int, runs: int) -> xr.Dataset:
    """(case, run) in order as (point, run)."""
    columns = {
        str(name): (("point", "run"), column.values.reshape(points, runs), column.attrs)
        for name, column in table.data_vars.items()
    }
    return xr.Dataset(columns)


def _along(
    axis: Literal["max_tokens", "capacity"],
    points: Sequence[float],
    both: tuple[xr.Dataset, ...],
    felt: tuple[str, ...],
    refused: Sequence[float],
) -> Along:
    unit, title = _AXES[axis]
    table = completed(
        xr.concat(both, "policy").assign_coords(
            policy=variable("policy", list(POLICIES), "1", "capacity policy"),
            point=variable("point", list(points), unit, title),
        )
    )
    crossings = {metric: crossing(metric, points, table[metric].values) for metric in felt}
    return Along(axis, tuple(points), table, crossings, tuple(refused))


def crossing(
    metric: str, points: Sequence[float], values: Float[np.ndarray, "policy point run"]
) -> Crossing:
    """Where the first policy and the second change places.

    Args:
        metric: of which more is better if it is a throughput, else less.
        points: rising, above 0.
        values: of the metric.
    """
    mean, half = _gaps(values, len(points))
    sign = 1 if metric in THROUGHPUTS else -1
    better = np.where(np.abs(mean) > half, np.sign(sign * mean), 0.0)  # 0 of NaN
    sides = [side for side in better if side]
    before, after = (_policy(sides[0]), _policy(sides[-1])) if sides else (None, None)
    at = low = high = None
    if before != after:
        low = max(p for p, side in zip(points, better, strict=True) if side == sides[0])
        high = min(
            (p for p, side in zip(points, better, strict=True) if side == sides[-1] and p > low),
            default=None,
        )
        between = [low <= p <= (high or math.inf) for p in points]
        at = _zero(np.array(points)[between].tolist(), mean[between])
    last = int(np.max(np.flatnonzero(better), initial=-1))
    same_from = points[last + 1] if last + 1 < len(points) else None
    return Crossing(metric, before, after, at, low, high, same_from)


def _policy(side: float) -> str:
    return POLICIES[0] if side > 0 else POLICIES[1]


def _gaps(
    values: Float[np.ndarray, "policy point run"], comparisons: int
) -> tuple[Float[np.ndarray, " point"], Float[np.ndarray, " point"]]:
    """The first policy less the second, in parts of the second, and half the interval of that for
    all points at once.
    """
    reserving, evicting = values
    each = [
        against_first(np.stack([theirs, ours]), comparisons=comparisons, relative=True)
        for ours, theirs in zip(reserving, evicting, strict=True)
    ]
    return np.array([one.mean[1] for one in each]), np.array([one.wide[1] for one in each])


def _zero(points: Sequence[float], mean: Float[np.ndarray, " point"]) -> float | None:
    """Where a line through neighbours of different signs is 0, points by their logarithms."""
    there = [(math.log(p), m) for p, m in zip(points, mean, strict=True) if math.isfinite(m)]
    for (left, a), (right, b) in pairwise(there):
        if a * b < 0:
            return math.exp(left + (right - left) * a / (a - b))
    return None
