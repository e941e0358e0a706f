"""What sizing found: the answer, how sure it is, and what lies beyond it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from fluidkv.answers.memory import UNSAID_MEMORY, Memory
from fluidkv.answers.served.described import BIAS, STRETCH, below, clock_json, cost_keys
from fluidkv.answers.size.sizes import TIMES_WORSE, Cliff, Edge, Size, edge_of
from fluidkv.plain import csv_text, finite
from fluidkv.questions.answer import Answer, Described, described
from fluidkv.report.page import Row

if TYPE_CHECKING:
    import xarray as xr

    from fluidkv.answers.served.bias import Bias
    from fluidkv.answers.served.cost import Cost
    from fluidkv.answers.served.slo import Slo
    from fluidkv.answers.size.load import Bounds
    from fluidkv.answers.size.nearly import Against, Nearly
    from fluidkv.answers.size.plan import Plan
    from fluidkv.answers.size.trials import Values
    from fluidkv.labels import Column

NEAR = 0.95
"""Of a bound on the rate: arrivals nearer to it end at it."""
_VALUE, _SIZED = "tokens, rate or replicas", "→ [sized](#sized)"
_SLO = (
    ("metric", "text", "that is bounded"),
    ("bound", "as the metric", "at most, or at least"),
    ("at_least", "yes/no", "whether it is a least value"),
)
_CLIFF = (
    ("metric", "text", "the tail that is looked at"),
    (
        "times_worse",
        "number",
        "times the value at the answer: from there it is the cliff",
    ),
    ("at_answer", "as the metric", "its value at the answer"),
    ("worse", "", f"{_SIZED}: the nearest one that is so much worse"),
    ("margin", "share", "of the answer, by which that one differs from it"),
    ("preempts", "", f"{_SIZED}: the easiest one at which a run preempts"),
    ("preempts_margin", "share", "of the answer, by which that one lies above it"),
)


def _slo(slo: "Slo") -> dict[str, Any]:
    return {"metric": slo.metric, "bound": slo.bound, "at_least": slo.at_least}


@dataclass(frozen=True, eq=False)
class SizeAnswer(Answer):
    """What sizing found.

    Fields:
        along: sizes that differ in what is looked for -> metrics of each run, hardest first.
        across: at the answer, with faster arrivals (or, of a rate, less memory).
        edge: where the sizes that meet every SLO in every run begin.
        nearly: where those begin that meet it in nearly every fresh draw; None: none were drawn.
        bias: metric -> measured and simulated, of today's server on its log; empty without a log.
        against: the same with the simulation's error against you; None without a log.
        cliff: what lies beyond the answer.
        other: the same for faster arrivals (of a rate: less memory) at the answer.
        within: how near the sizes on both sides of an edge are.
        name: of the requests.
        notes: rows on how options and files were read.
        memory: options that say what a token takes.
        cost: of a replica; None: no price is known.
        unheld: why no log holds the answer.

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

    plan: Annotated[
        "Plan",
        Described(
            "what was asked and run",
            flat=True,
            below=(
                ("find=axis.find", "text", "kv, rate or replicas"),
                ("engine.name=engine.rules.name", "text", "whose rules were run"),
                ("engine.version=engine.rules.version", "text", "of these rules"),
                ("caching=engine.caching", "yes/no", "whether it has a prefix cache"),
                ("block_size=limits.block_size", "tokens", "of a KV block"),
                (
                    "max_num_seqs=limits.max_num_seqs",
                    "count",
                    "most requests running at once; null: no cap",
                ),
                (
                    "max_num_batched_tokens=limits.max_num_batched_tokens",
                    "tokens",
                    "most of an iteration; null: no limit",
                ),
                ("watermark=limits.watermark", "share", "of blocks that admission leaves free"),
                ("requests=size", "count", "in each run"),
                ("window", "", "→ [window](#window)"),
                ("own_rate", "a unit of time", "of SOURCE; of all, if its busiest part is served"),
            ),
        ),
    ]
    along: "Mapping[Size, Values]"
    across: "Mapping[Size, Values]"
    edge: Edge
    nearly: "Nearly | None"
    bias: Annotated["Mapping[str, Bias]", Described("missed on the log", below=BIAS)]
    against: "Against | None"
    cliff: Cliff
    other: Cliff
    within: float
    name: str = ""
    notes: Sequence[Row] = ()
    memory: Memory = UNSAID_MEMORY
    cost: "Cost | None" = None
    unheld: str = ""

    @property
    def answer(self) -> Size:
        """What meets every SLO in every run, and in nearly every draw where some size does."""
        there = [e.answer for e in (self.edge, self.nearly and self.nearly.edge) if e is not None]
        return self.plan.axis.harder_first(there)[-1]

    @property
    def today(self) -> Size | None:
        """Today's server, if it was tried."""
        size = Size(self.plan.today or 0)
        return size if size in self.along else None

    @described("duration of an iteration at every size", key="clock", section="clock")
    def clock_values(self) -> dict[str, Any]:
        """With how far off it may be."""
        return clock_json(self.plan.clock)

    @described("at each size")
    def runs(self) -> int:
        """How many."""
        return len(self.plan.tables)

    @property
    def tail(self) -> str:
        return self.cliff.metric

    def tokens(self, size: Size) -> int:
        """KV tokens of a replica."""
        return self.plan.tokens(size)

    def rate(self, size: Size) -> float:
        """Arrivals a unit of the clock, at all replicas together."""
        return self.plan.rate * size.speed

    def rate_served(self, size: Size) -> float:
        """The same in what is run: more, where that is the busiest part of a trace."""
        return self.rate(size) * self.plan.busier

    def found(self, size: Size) -> "Values":
        """Metrics of each run at a size that was tried."""
        return self.along[size] if size in self.along else self.across[size]

    def worst(self, size: Size, metric: str) -> float:
        """Of the worst run."""
        from fluidkv.answers.size.trials import worst_of

        return worst_of(self.found(size), metric)

    def mean(self, size: Size, metric: str) -> float:
        return float(self.found(size)[metric].mean())

    def meets(self, size: Size) -> bool:
        from fluidkv.answers.size.search import meets

        return meets(self.found(size), self.plan.slos)

    def each_run(self) -> list[Size | None]:
        """The answer of each run by itself, of the sizes tried: how much of it is chance."""
        from fluidkv.answers.size.search import met_by_run

        slos = self.plan.slos
        met = {size: met_by_run(values, slos) for size, values in self.along.items()}
        edges = [
            edge_of(self.plan.axis, {size: bool(runs[run]) for size, runs in met.items()})
            for run in range(self.runs)
        ]
        return [None if edge is None else edge.answer for edge in edges]

    @property
    def bounds(self) -> "Bounds":
        """Of a replica of the answer, in requests a unit of the clock."""
        return self.plan.theory.bounds(self.tokens(self.answer))

    @property
    def binds(self) -> str:
        """What the answer ends at: "memory" or "compute" where arrivals are within 5 % of that
        bound, else the "target", which fails first.
        """
        bounds, size = self.bounds, self.answer
        if self.rate_served(size) / size.replicas >= NEAR * min(bounds.memory, bounds.compute):
            return "memory" if bounds.memory <= bounds.compute else "compute"
        return "target"

    def cost_at(self, size: Size) -> float:
        """Of a million output tokens."""
        assert self.cost is not None  # whoever asks looked
        speed = self.mean(size, "output_throughput_per_time")
        return self.cost.per_million(speed, size.replicas)

    @property
    def sizes(self) -> list[Size]:
        """Every size tried."""
        return list(dict.fromkeys((*self.along, *self.across)))

    def to_xarray(self) -> "xr.Dataset":
        """Metrics [size, run] of every size tried, with what it is as coordinates."""
        import numpy as np

        from fluidkv.answers.size.trials import EXTRAS
        from fluidkv.labels import dataset
        from fluidkv.runs.measuring import title_of

        sizes, unit = self.sizes, self.plan.clock.unit
        variables: dict[str, Column] = {
            name: (("size", "run"), stacked, units.replace("time", unit), title)
            for name in self.found(sizes[0])
            for stacked in [np.stack([self.found(size)[name] for size in sizes])]
            for units, title in [EXTRAS.get(name) or title_of(name)]
        }
        tokens, rates = ([*map(of, sizes)] for of in (self.tokens, self.rate))
        coords: dict[str, Column] = {
            "capacity": ("size", tokens, "token", "KV tokens of a replica"),
            "rate": ("size", rates, f"request / {unit}", "arrivals at all replicas together"),
            "replicas": ("size", [size.replicas for size in sizes], "1", "replicas"),
            "met": ("size", [self.meets(size) for size in sizes], "1", "whether every SLO is met"),
        }
        return dataset(variables, coords, find=self.plan.axis.find, unit=unit)

    def to_csv(self) -> str:
        """A row for each size and run; empty where there is no value."""
        names = sorted(self.found(self.answer))
        rows = (
            [
                *(self.tokens(size), self.rate(size), size.replicas, self.plan.load(size)),
                *(run, int(self.meets(size))),
                *(self.found(size)[name][run] for name in names),
            ]
            for size in self.sizes
            for run in range(self.runs)
        )
        return csv_text(["tokens", "rate", "replicas", "load", "run", "met", *names], rows)

    # --- JSON -----------------------------------------------------------------------------------

    @described(
        "the size that is looked for, by the runs and by draws",
        flat=True,
        json=finite,
        below=(
            *below("slos[]", (*_SLO, ("worst_run", "as the metric", "at the answer"))),
            ("answer.value", _VALUE, "what is looked for"),
            ("answer.not_met_at", _VALUE, "the next one tried that misses an SLO"),
            ("answer.up_to", _VALUE, "the last one that meets all, where easier ones do not"),
            ("answer.not_met_above", _VALUE, "the next one after that"),
            ("answer.also_met[]", _VALUE, "from where to where sizes meet all out of order"),
            ("answer", "", f"{_SIZED}; by the requests that are run"),
            ("of_runs.value", _VALUE, "what the runs alone would need"),
            ("draws.count", "count", "fresh draws; `draws` is null without any"),
            ("draws.requests", "count", "of the longest draw"),
            ("draws.may_miss", "count", "draws that may miss a bound"),
            ("draws.share", "share", "of other draws that meet it at least, or of days: estimated"),
            *below("draws.slos[]", _SLO),
            ("draws.value", _VALUE, "what nearly every draw meets"),
            ("draws.not_met_at", _VALUE, "the next one tried, which does not hold"),
            ("draws.worst.*", "as the metric", "in the worst draw"),
            *below("draws.stretch", STRETCH),
            ("draws.tried[]", _VALUE, "that were run on the draws"),
            ("bounds.memory", "requests a unit of the clock", "that a replica's memory carries"),
            ("bounds.compute", "requests a unit of the clock", "that computing alone would"),
            ("bounds.binds", "text", "memory, compute, or the target, which is missed first"),
            ("against_bias.bar", "share", "if there is a log: iterations last longer by it"),
            ("against_bias.value", _VALUE, "if there is a log: the answer with its error"),
            ("against_bias.tried[]", _VALUE, "if there is a log: so"),
            ("each_run[]", _VALUE, "the answer of each run"),
            *below("cliff", _CLIFF),
            *below("other", _CLIFF),
            ("today", "", f"if there is a log or a capacity: {_SIZED}"),
            ("sizes[]", "", f"{_SIZED}: along what is looked for"),
            ("other_sizes[]", "", f"{_SIZED}: along the other axis"),
        ),
    )
    def values(self) -> dict[str, Any]:
        """The answer and all sizes."""
        plan, edge, answer = self.plan, self.edge, self.answer
        return {
            "slos": [_slo(s) | {"worst_run": self.worst(answer, s.metric)} for s in plan.slos],
            "answer": {
                "value": plan.value(answer),
                "not_met_at": self._value(edge.blocker),
                "up_to": self._value(edge.ceiling),
                "not_met_above": self._value(edge.too_easy),
                "also_met": [[*map(plan.value, island)] for island in edge.islands],
                **self._row(answer),
            },
            "of_runs": {"value": plan.value(edge.answer)},
            "draws": self._draws(),
            "bounds": finite(vars(self.bounds)) | {"binds": self.binds},
            "against_bias": self.against
            and {
                "bar": self.against.bar,
                "value": self._value(self.against.edge and self.against.edge.answer),
                "tried": [*map(plan.value, self.against.along)],
            },
            "each_run": [*map(self._value, self.each_run())],
            "cliff": self._cliff(self.cliff),
            "other": self._cliff(self.other),
            "today": self.today and self._row(self.today),
            "sizes": tuple(map(self._row, self.along)),
            "other_sizes": [*map(self._row, self.across)],
        }

    @described(
        "what a million output tokens cost",
        flat=True,
        below=cost_keys("of the answer (`answer`) and of the server of today (`today`)"),
    )
    def costs(self) -> dict[str, Any]:
        """What a million output tokens cost; empty where no price is known."""
        if self.cost is None:
            return {}
        at = {"answer": self.answer} | ({"today": self.today} if self.today else {})
        return self.cost.values(**{name: self.cost_at(size) for name, size in at.items()})

    def _value(self, size: Size | None) -> float | None:
        return None if size is None else self.plan.value(size)

    def _draws(self) -> dict[str, Any] | None:
        from fluidkv.answers.size.trials import worst_of

        nearly = self.nearly
        if nearly is None:
            return None
        edge, slos = nearly.edge, nearly.slos
        values = {} if edge is None else nearly.along[edge.answer]
        return {
            "count": nearly.draws,
            "requests": nearly.horizon,
            "may_miss": nearly.misses,
            "share": nearly.share,
            "slos": [*map(_slo, slos)],
            "value": self._value(edge and edge.answer),
            "not_met_at": self._value(edge and edge.blocker),
            "worst": {s.metric: finite(worst_of(values, s.metric)) for s in slos if values},
            "stretch": nearly.stretch and nearly.stretch.to_dict(),
            "tried": [*map(self.plan.value, nearly.along)],
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
            "worse": cliff.worse and self._row(cliff.worse),
            "margin": cliff.margin,
            "preempts": cliff.preempts and self._row(cliff.preempts),
            "preempts_margin": cliff.preempts_margin,
        }
