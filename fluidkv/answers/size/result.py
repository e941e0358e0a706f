"""What sizing found, as plain values."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fluidkv.answers.served import bias as of_log
from fluidkv.answers.served.clock import clock_values
from fluidkv.answers.served.slo import Slo
from fluidkv.answers.size.cliff import TIMES_WORSE, Cliff
from fluidkv.answers.size.edge import Edge
from fluidkv.answers.size.load import Bounds
from fluidkv.answers.size.nearly import Nearly
from fluidkv.answers.size.plan import Plan
from fluidkv.answers.size.search import meets
from fluidkv.answers.size.sizes import Size
from fluidkv.answers.size.trials import EXTRAS, Values
from fluidkv.labels import Column, dataset
from fluidkv.plain import finite
from fluidkv.record import Record
from fluidkv.runs.measuring import title_of as title_of_metric

if TYPE_CHECKING:
    import xarray as xr

NEAR = 0.95
"""Of a bound on the rate: arrivals nearer to it end at it."""


@dataclass(frozen=True, eq=False)
class Against(Record):
    """What is found if the server is slower than the simulation, by its error bar on the log.

    Fields:
        bar: by which share every iteration lasts longer.
        edge: where the sizes that meet what is asked begin then; None: none tried does.
        along: the sizes tried so, hardest first.
    """

    bar: float
    edge: Edge | None
    along: Mapping[Size, Values]


@dataclass(frozen=True, eq=False)
class SizeAnswer(Record):
    """What sizing found.

    Fields:
        plan: what was asked and run.
        along: sizes that differ in what is looked for -> metrics of each run, hardest first.
        across: at the answer, with faster arrivals (or, of a rate, less memory).
        edge: where the sizes that meet every SLO in every run begin.
        nearly: where those begin that meet it in nearly every fresh draw; None: none were drawn.
        bias: metric -> measured and simulated, of today's server on its log; empty without a log.
        against: the same with the simulation's error against you; None without a log.
        cliff: what lies beyond the answer.
        other: the same for faster arrivals (of a rate: less memory) at the answer.
        within: how near the sizes on both sides of an edge are.

    Examples:
        >>> from fluidkv.answers import Slo
        >>> mix, slos = fk.Workload.from_lengths([(40, 30), (120, 60)]), [Slo("ttft_p99", 1.0)]
        >>> clock = fk.IterationClock(0.01, 1e-6, 1e-5)
        >>> small = {"engine": "vllm", "capacity": 256, "rate": 8.0, "requests": 20, "runs": 1}
        >>> found = fk.size_server(mix, slos, find="replicas", clock=clock, draws=0, **small)
        >>> {size.replicas: found.meets(size) for size in found.along}
        {1: False, 2: True, 3: True, 4: True, 6: True}
        >>> found.tokens(found.answer), found.rate(found.answer)
        (256, 8.0)
    """

    plan: Plan
    along: Mapping[Size, Values]
    across: Mapping[Size, Values]
    edge: Edge
    nearly: Nearly | None
    bias: Mapping[str, of_log.Bias]
    against: Against | None
    cliff: Cliff
    other: Cliff
    within: float

    @property
    def answer(self) -> Size:
        """What meets every SLO in every run, and in nearly every draw where some size does."""
        there = [e.answer for e in (self.edge, self.nearly and self.nearly.edge) if e is not None]
        return self.plan.axis.harder_first(there)[-1]

    @property
    def today(self) -> Size | None:
        """Today's server, if it was tried."""
        found = Size(self.plan.today or 0)
        return found if found in self.along else None

    @property
    def runs(self) -> int:
        return len(self.plan.tables)

    @property
    def tail(self) -> str:
        return self.cliff.metric

    def tokens(self, size: Size) -> int:
        """KV tokens of a replica."""
        return size.blocks * self.plan.block_size

    def rate(self, size: Size) -> float:
        """Arrivals a unit of the clock, at all replicas together."""
        return self.plan.rate * size.speed

    def rate_served(self, size: Size) -> float:
        """The same in what is run: more, where that is the busiest part of a trace."""
        return self.rate(size) * self.plan.busier

    def found(self, size: Size) -> Values:
        """Metrics of each run at a size that was tried."""
        return self.along[size] if size in self.along else self.across[size]

    def worst(self, size: Size, metric: str) -> float:
        """Of the worst run."""
        return worst_of(self.found(size), metric)

    def mean(self, size: Size, metric: str) -> float:
        return float(self.found(size)[metric].mean())

    def meets(self, size: Size) -> bool:
        return meets(self.found(size), self.plan.slos)

    def each_run(self) -> list[Size | None]:
        """The answer of each run by itself, of the sizes tried: how much of it is chance."""
        from fluidkv.answers.size.edge import edge_of

        found = []
        for run in range(self.runs):
            met = {
                size: meets(
                    {name: column[[run]] for name, column in values.items()}, self.plan.slos
                )
                for size, values in self.along.items()
            }
            edge = edge_of(self.plan.axis, met)
            found.append(None if edge is None else edge.answer)
        return found

    @property
    def bounds(self) -> Bounds:
        """Of a replica of the answer, in requests a unit of the clock."""
        return self.plan.theory.bounds(self.tokens(self.answer))

    @property
    def binds(self) -> str:
        """What the answer ends at: "memory" or "compute" where arrivals are within 5 % of that
        bound, else the "target", which fails first.
        """
        rate, bounds = self.rate_served(self.answer) / self.answer.replicas, self.bounds
        if rate >= NEAR * min(bounds.memory, bounds.compute):
            return "memory" if bounds.memory <= bounds.compute else "compute"
        return "target"

    def to_xarray(self) -> "xr.Dataset":
        """Metrics [size, run] of every size tried, with what it is as coordinates."""
        sizes = [*self.along, *(size for size in self.across if size not in self.along)]
        unit = self.plan.clock.unit
        variables: dict[str, Column] = {
            name: (("size", "run"), np.stack([self.found(s)[name] for s in sizes]), *of)
            for name in self.found(sizes[0])
            for of in [title_of(name, unit)]
        }
        capacities = [self.tokens(size) for size in sizes]
        rates = [self.rate(size) for size in sizes]
        coords: dict[str, Column] = {
            "capacity": ("size", capacities, "token", "KV tokens of a replica"),
            "rate": ("size", rates, f"request / {unit}", "arrivals at all replicas together"),
            "replicas": ("size", [size.replicas for size in sizes], "1", "replicas"),
            "met": ("size", [self.meets(size) for size in sizes], "1", "whether every SLO is met"),
        }
        return dataset(variables, coords, find=self.plan.axis.find, unit=unit)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; a number that is not there is None."""
        plan = self.plan
        return {
            "find": plan.axis.find,
            "engine": {"name": plan.rules.name, "version": plan.rules.version},
            "caching": plan.caching,
            "clock": clock_values(plan.clock),
            "block_size": plan.block_size,
            "max_num_seqs": plan.server.limits.max_num_seqs,
            "max_num_batched_tokens": plan.server.limits.max_num_batched_tokens,
            "watermark": plan.server.limits.watermark,
            "requests": len(plan.tables[0]),
            "runs": self.runs,
            "window": None if plan.window is None else plan.window.to_dict(),
            "own_rate": plan.own_rate,
            "slos": [_slo(slo, self.worst(self.answer, slo.metric)) for slo in plan.slos],
            "answer": self._edge(replace(self.edge, answer=self.answer)),
            "of_runs": {"value": self._value(self.edge.answer)},
            "draws": self._nearly(),
            "bounds": {
                "memory": self.bounds.memory,
                "compute": finite(self.bounds.compute),
                "binds": self.binds,
            },
            "against_bias": self._against(),
            "bias": of_log.as_dict(self.bias),
            "each_run": [None if s is None else self._value(s) for s in self.each_run()],
            "cliff": self._cliff(self.cliff),
            "other": self._cliff(self.other),
            "today": None if self.today is None else self._row(self.today),
            "sizes": [self._row(size) for size in self.along],
            "other_sizes": [self._row(size) for size in self.across],
        }

    def _value(self, size: Size) -> float:
        """What is looked for: tokens, arrivals a unit of the clock, or replicas."""
        kind = self.plan.axis.find
        if kind == "kv":
            return self.tokens(size)
        return self.rate(size) if kind == "rate" else size.replicas

    def _edge(self, edge: Edge) -> dict[str, Any]:
        def value(size: Size | None) -> float | None:
            return None if size is None else self._value(size)

        return {
            "value": self._value(edge.answer),
            "not_met_at": value(edge.blocker),
            "up_to": value(edge.ceiling),
            "not_met_above": value(edge.too_easy),
            "also_met": [[self._value(first), self._value(last)] for first, last in edge.islands],
            **self._row(edge.answer),
        }

    def _nearly(self) -> dict[str, Any] | None:
        nearly = self.nearly
        if nearly is None:
            return None
        edge, worst = nearly.edge, {}
        if edge is not None:
            for slo in self.plan.slos:
                worst[slo.metric] = finite(worst_of(nearly.along[edge.answer], slo.metric))
        blocker = edge and edge.blocker
        return {
            "count": nearly.draws,
            "requests": nearly.horizon,
            "may_miss": nearly.misses,
            "share": nearly.share,
            "slos": [_slo(slo) for slo in self.plan.slos_of_draws],
            "value": None if edge is None else self._value(edge.answer),
            "not_met_at": None if blocker is None else self._value(blocker),
            "worst": worst,
            "stretch": None if nearly.stretch is None else nearly.stretch.to_dict(),
            "tried": [self._value(size) for size in nearly.along],
        }

    def _against(self) -> dict[str, Any] | None:
        if self.against is None:
            return None
        edge = self.against.edge
        return {
            "bar": self.against.bar,
            "value": None if edge is None else self._value(edge.answer),
            "tried": [self._value(size) for size in self.against.along],
        }

    def _row(self, size: Size) -> dict[str, Any]:
        carried = self.plan.theory.carried(self.tokens(size))
        values = self.found(size)
        return {
            "tokens": self.tokens(size),
            "blocks": size.blocks,
            "rate": self.rate(size),
            "speed": size.speed,
            "replicas": size.replicas,
            "load": self.plan.load(size),
            "theory": {
                "in_flight": carried.in_flight,
                "completions_per_iteration": carried.per_iteration,
                "rate": carried.rate,
                "rate_reserving": carried.reserving,
            },
            "met": self.meets(size),
            "metrics": {name: finite(float(column.mean())) for name, column in values.items()},
        }

    def _cliff(self, cliff: Cliff) -> dict[str, Any]:
        return {
            "metric": cliff.metric,
            "times_worse": TIMES_WORSE,
            "at_answer": finite(cliff.at),
            "worse": None if cliff.worse is None else self._row(cliff.worse),
            "margin": cliff.margin,
            "preempts": None if cliff.preempts is None else self._row(cliff.preempts),
            "preempts_margin": cliff.preempts_margin,
        }


def worst_of(values: Values, metric: str) -> float:
    """A metric in its worst run."""
    least = metric.startswith(("output", "throughput"))
    return float(values[metric].min() if least else values[metric].max())


def title_of(metric: str, unit: str) -> tuple[str, str]:
    """The units of a metric, and what it is."""
    if metric in EXTRAS:
        return "token" if metric == "peak_kv" else "1", EXTRAS[metric]
    units, title = title_of_metric(metric)
    return units.replace("time", unit), title


def in_order(plan: Plan, along: Mapping[Size, Values]) -> dict[Size, Values]:
    """Hardest first."""
    return {size: along[size] for size in plan.axis.harder_first(list(along))}


def _slo(slo: Slo, found: float | None = None) -> dict[str, Any]:
    row: dict[str, Any] = {"metric": slo.metric, "bound": slo.bound, "at_least": slo.at_least}
    return row if found is None else row | {"worst_run": finite(found)}
