"""What a comparison shows: each engine's metrics, and which differences are real."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any

from fluidkv.answers.served.described import BIAS, GAP, STRETCH, THROUGHPUTS, below, cost_keys
from fluidkv.plain import finite
from fluidkv.questions.answer import Answer, Described, described
from fluidkv.report.page import Row

if TYPE_CHECKING:
    import numpy as np
    import xarray as xr
    from jaxtyping import Float

    from fluidkv.answers.compare.crossover import Crossover
    from fluidkv.answers.compare.plan import Setup
    from fluidkv.answers.served.bias import Bias
    from fluidkv.answers.served.cost import Cost
    from fluidkv.answers.served.fresh import Days
    from fluidkv.answers.served.paired import Against
    from fluidkv.answers.served.window import Window
    from fluidkv.serving.engine_text import ServedEngine
    from fluidkv.serving.limits import Limits


class Difference(Enum):
    """What an engine's difference from the first one is."""

    BETTER = "better"
    WORSE = "worse"
    NOISE = "within noise"
    BIAS = "within what the simulation misses"
    UNHELD = "not in the log: nothing measured holds it"
    UNKNOWN = "one run: not told from noise"


@dataclass(frozen=True, eq=False)
class EngineComparison(Answer):
    """Engines on the same requests.

    Fields:
        engines: the first is the one that others are held against.
        limits: of each engine's server.
        table: metrics [engine, run].
        against: metric -> differences from the first engine over pairs, in parts of its mean; of
            the metrics felt all at once (Bonferroni).
        logged: the engine whose log it is; None without one.
        unfinished: (engine, runs) of those whose runs did not end as they should.
        shared: whether prompts begin alike, as their trace says.
        days: fresh draws of a trace; None: none.
        counts: preemptions and the recompute tax [engine, draw]; empty without draws.
        cost: of a server; None: no price is known.
        name: of the workload.
        notes: rows on how options and files were read.

    Examples:
        >>> mix = fk.Workload.from_lengths([(8, 10), (30, 20)])
        >>> names = ["vllm", "trtllm-no-evict"]
        >>> said = {"block_size": 4, "requests": 30, "runs": 2, "backend": "reference"}
        >>> found = fk.compare_engines(mix, 160, names, **said)
        >>> gap = found.against["output_throughput"]
        >>> gap.mean.round(2)  # in parts of what the first engine puts out
        array([ 0.  , -0.19])
        >>> found.difference(1, "output_throughput").value, found.better
        ('within noise', ())
    """

    engines: "tuple[ServedEngine, ...]"
    setup: Annotated[
        "Setup",
        Described(
            "memory, clock, when requests come",
            flat=True,
            below=(
                ("capacity", "tokens", "KV memory of every server"),
                ("max_num_batched_tokens", "tokens", "most of an iteration; null: no limit"),
                ("demand=demand.kind", "text", "saturated, rate, clients or replay"),
                ("rate=demand.rate", "a unit of time", "Poisson arrivals"),
                ("clients=demand.clients", "count", "with one request at a time"),
                ("speed=demand.speed", "number", "times as fast as the trace"),
                ("seed", "count", "of the first run"),
            ),
        ),
    ]
    limits: "tuple[Limits, ...]"
    felt: Annotated[
        tuple[str, ...],
        Described("metrics that users feel, in the order in which they count", lists=1),
    ]
    table: "xr.Dataset"
    against: "Mapping[str, Against]"
    pairs: Annotated[
        str, Described("what is paired: `run`, `segment` of the one run, or a fresh `draw`")
    ]
    bias: Annotated[
        "Mapping[str, Bias]",
        Described("what the simulation of a log's own engine misses", below=BIAS),
    ]
    logged: int | None
    requests: Annotated[int, Described("in each run")]
    window: Annotated[
        "Window | None",
        Described("part of a trace that is served; null: requests are drawn", section="window"),
    ]
    iterations: Annotated[
        int | None, Described("of a run; null: until all are served", "iteration")
    ]
    warm_up: Annotated[
        int, Described("left out at the start", "iteration", key="warm_up_iterations")
    ]
    unfinished: tuple[tuple[int, int], ...]
    short: Annotated[bool, Described("whether runs are mostly start", key="runs_mostly_start")]
    shared: bool
    days: "Days | None" = None
    counts: "Mapping[str, Float[np.ndarray, 'engine draw']]" = field(default_factory=dict)
    crossover: Annotated[
        "Crossover | None",
        Described(
            "of two capacity policies: where they cross",
            json=lambda crossover: crossover.to_dict(),
            below=(("*", "", "if `--crossover` is given: its keys"),),
        ),
    ] = None
    cost: "Cost | None" = None
    name: str = ""
    notes: Sequence[Row] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Of the engines, as they were written."""
        return tuple(engine.name for engine in self.engines)

    @described("what clients ask for at most")
    def max_tokens(self) -> str | None:
        """As it was written."""
        most = self.setup.demand.max_tokens
        return None if most is None else str(most)

    @described("of each engine")
    def runs(self) -> int:
        """Of each engine."""
        return self.table.sizes["run"]

    @described("differences looked at together")
    def comparisons(self) -> int:
        """Differences that are looked at together."""
        return (len(self.engines) - 1) * len(self.felt)

    @described("of intervals", kind="share")
    def confidence(self) -> float:
        """Of the intervals."""
        from fluidkv.answers.served.paired import CONFIDENCE

        return CONFIDENCE

    @property
    def better(self) -> tuple[int, ...]:
        """Engines that are better than the first in something felt, and worse in nothing of it."""
        return tuple(i for i in range(1, len(self.engines)) if self._beats(i))

    @described("engines better by more than noise", key="better", lists=1)
    def better_names(self) -> list[str]:
        """The same by their names."""
        return [self.names[index] for index in self.better]

    @described("the engine whose log it is", key="logged")
    def logged_name(self) -> str | None:
        """The engine whose log it is."""
        return None if self.logged is None else self.names[self.logged]

    @described(
        "how many fresh draws, and what they are like; null without any",
        key="draws",
        below=(
            ("count", "count", "fresh draws"),
            ("requests", "count", "in the largest draw"),
            *below("stretch", STRETCH),
        ),
    )
    def fresh(self) -> "dict[str, Any] | None":
        """How many fresh draws, and what they are like."""
        days = self.days
        if days is None:
            return None
        stretch = None if days.stretch is None else days.stretch.to_dict()
        return {"count": len(days.tables), "requests": days.requests, "stretch": stretch}

    @described(
        "what a million output tokens cost by each engine, where a price is known",
        flat=True,
        below=cost_keys("by engine"),
    )
    def costs(self) -> dict[str, Any]:
        """What a million output tokens cost by each engine; empty where no price is known."""
        if self.cost is None:
            return {}
        return self.cost.values(**{n: self.cost_of(i) for i, n in enumerate(self.names)})

    def cost_of(self, index: int) -> float:
        """Of a million output tokens by an engine."""
        assert self.cost is not None  # whoever asks looked
        return self.cost.per_million(self.mean(index, "output_throughput_per_time"))

    @described(
        "each engine: its server, its metrics, its differences from the first",
        key="engines",
        lists=1,
        below=(
            ("engine", "text", "as it is written"),
            ("version", "text", "that its name has, else that of its rules"),
            ("note", "text", "whose rules it has, and what differs"),
            ("block_size", "tokens", "of a KV block"),
            ("max_num_seqs", "count", "most requests running at once; null: no cap"),
            ("watermark", "share", "of blocks that admission leaves free"),
            ("unfinished_runs", "count", "that did not end as they should"),
            ("metrics.*.mean", "as the metric", "over runs"),
            ("metrics.*.runs[]", "as the metric", "each run"),
            (
                "over_draws.*[]",
                "count, share",
                "preemptions and recompute tax, from where to where in 90 % of draws (of fewer "
                "than 20 from the least to the most); empty without any",
            ),
            *below("against_first", GAP),
            (
                "against_first.*.of_runs",
                "number",
                "the same of the requests that are run; of the first engine all of it is null",
            ),
            (
                "against_first.*.is",
                "text",
                "`better`, `worse`, `within noise`, or why it is not known",
            ),
        ),
    )
    def rows(self) -> list[dict[str, Any]]:
        """Every engine's server, its metrics and how far they are from those of the first."""
        return [self._row(index) for index in range(len(self.engines))]

    def mean(self, index: int, metric: str) -> float:
        """Over an engine's runs; NaN where a run has no value."""
        return float(self.table[metric].values[index].mean())

    def of_runs(self, index: int, metric: str) -> float:
        """An engine's difference from the first on the requests that are run, as `against` has it.

        NaN where one has no value.
        """
        then, now = self.mean(index, metric), self.mean(0, metric)
        return (then - now) / now if self.against[metric].relative and now else then - now

    def difference(self, index: int, metric: str) -> Difference:
        """What of an engine's difference is real: beyond noise, and beyond the bias of a log."""
        against = self.against[metric]
        mean, wide = float(against.mean[index]), float(against.wide[index])
        if not math.isfinite(wide):
            return Difference.UNKNOWN
        if not abs(mean) > wide:
            return Difference.NOISE
        if self.logged is not None and metric not in self.bias:
            return Difference.UNHELD
        if self.logged is not None and abs(mean) <= self.bias[metric].error_bar:
            return Difference.BIAS
        more = metric in THROUGHPUTS
        return Difference.BETTER if (mean > 0) == more else Difference.WORSE

    def _beats(self, index: int) -> bool:
        differences = {self.difference(index, metric) for metric in self.felt}
        return Difference.BETTER in differences and Difference.WORSE not in differences

    def to_xarray(self) -> "xr.Dataset":
        """Metrics [engine, run]."""
        return self.table

    def _row(self, index: int) -> dict[str, Any]:
        from fluidkv.answers.served.fresh import spread

        engine, limits = self.engines[index], self.limits[index]
        values = {str(name): column.values[index] for name, column in self.table.data_vars.items()}
        gaps = {
            metric: against.row(index)
            | finite({"of_runs": self.of_runs(index, metric)})
            | {"is": self.difference(index, metric).value}
            for metric, against in self.against.items()
        }
        return {
            "engine": engine.name,
            "version": engine.version or engine.rules.version,
            "note": engine.note,
            "block_size": limits.block_size,
            "max_num_seqs": limits.max_num_seqs,
            "watermark": limits.watermark,
            "unfinished_runs": dict(self.unfinished).get(index, 0),
            "metrics": {
                name: {"mean": float(row.mean()), "runs": row.tolist()}
                for name, row in values.items()
            },
            "over_draws": {name: list(spread(rows[index])) for name, rows in self.counts.items()},
            "against_first": gaps if index else None,
        }
