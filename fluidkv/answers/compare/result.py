"""What a comparison found: each engine's metrics, and which differences are real."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np
import xarray as xr
from jaxtyping import Float

from fluidkv.answers.compare.plan import Asked
from fluidkv.answers.served.bias import Bias
from fluidkv.answers.served.fresh import Days, spread
from fluidkv.answers.served.paired import CONFIDENCE, Against
from fluidkv.answers.served.window import Window
from fluidkv.plain import finite
from fluidkv.record import Record
from fluidkv.serving.engine_text import ServedEngine
from fluidkv.serving.limits import Limits

THROUGHPUTS = ("output_throughput_per_time", "output_throughput")


class Difference(Enum):
    """What an engine's difference from the first one is."""

    BETTER = "better"
    WORSE = "worse"
    NOISE = "within noise"
    BIAS = "within what the simulation misses"
    UNHELD = "not in the log: nothing measured holds it"
    UNKNOWN = "one run: not told from noise"


@dataclass(frozen=True, eq=False)
class EngineComparison(Record):
    """Engines on the same requests.

    Fields:
        engines: the first is the one that others are held against.
        asked: memory, clock, who asks.
        limits: of each engine's server.
        felt: metrics that users feel, in the order in which they count.
        table: metrics [engine, run].
        against: metric -> differences from the first engine over pairs, in parts of its mean; of
            the metrics felt all at once (Bonferroni).
        pairs: what a pair is, "run", "segment" of the one run, or a fresh "draw".
        bias: metric -> what the simulation of a log's own engine misses; empty without a log.
        logged: the engine whose log it is; None without one.
        requests: of each run.
        window: what they are of a trace that is replayed; None: they are drawn.
        iterations: of a run; None: until all are served.
        warm_up: iterations left out at the start.
        unfinished: (engine, runs) of those whose runs did not end as they should.
        short: whether runs are mostly start.
        shared: whether prompts begin alike, as their trace says.
        days: fresh draws of a trace; None: none.
        counts: preemptions and the recompute tax [engine, draw]; empty without draws.

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

    engines: tuple[ServedEngine, ...]
    asked: Asked
    limits: tuple[Limits, ...]
    felt: tuple[str, ...]
    table: xr.Dataset
    against: Mapping[str, Against]
    pairs: str
    bias: Mapping[str, Bias]
    logged: int | None
    requests: int
    window: Window | None
    iterations: int | None
    warm_up: int
    unfinished: tuple[tuple[int, int], ...]
    short: bool
    shared: bool
    days: Days | None = None
    counts: Mapping[str, Float[np.ndarray, "engine draw"]] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """Of the engines, as they were written."""
        return tuple(engine.name for engine in self.engines)

    @property
    def runs(self) -> int:
        """Of each engine."""
        return self.table.sizes["run"]

    @property
    def comparisons(self) -> int:
        """Differences that are looked at together."""
        return (len(self.engines) - 1) * len(self.felt)

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
        found = self.against[metric]
        mean, wide = float(found.mean[index]), float(found.wide[index])
        if not np.isfinite(wide):
            return Difference.UNKNOWN
        if not abs(mean) > wide:
            return Difference.NOISE
        if self.logged is not None and metric not in self.bias:
            return Difference.UNHELD
        if self.logged is not None and abs(mean) <= self.bias[metric].error_bar:
            return Difference.BIAS
        more = metric in THROUGHPUTS
        return Difference.BETTER if (mean > 0) == more else Difference.WORSE

    @property
    def better(self) -> tuple[int, ...]:
        """Engines that are better than the first in something felt, and worse in nothing of it."""
        return tuple(i for i in range(1, len(self.engines)) if self._beats(i))

    def _beats(self, index: int) -> bool:
        found = {self.difference(index, metric) for metric in self.felt}
        return Difference.BETTER in found and Difference.WORSE not in found

    def to_xarray(self) -> "xr.Dataset":
        """Metrics [engine, run]."""
        return self.table

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        asked = self.asked
        return {
            "engines": [self._engine(index) for index in range(len(self.engines))],
            "capacity": asked.capacity,
            "max_num_batched_tokens": asked.max_num_batched_tokens,
            "demand": asked.demand.kind,
            "rate": asked.demand.rate,
            "clients": asked.demand.clients,
            "speed": asked.demand.speed,
            "max_tokens": None if asked.demand.max_tokens is None else str(asked.demand.max_tokens),
            "requests": self.requests,
            "window": None if self.window is None else self.window.to_dict(),
            "runs": self.runs,
            "seed": asked.seed,
            "iterations": self.iterations,
            "warm_up_iterations": self.warm_up,
            "runs_mostly_start": self.short,
            "felt": list(self.felt),
            "pairs": self.pairs,
            "draws": self._draws(),
            "confidence": CONFIDENCE,
            "comparisons": self.comparisons,
            "logged": None if self.logged is None else self.names[self.logged],
            "bias": {name: bias.to_dict() for name, bias in self.bias.items()},
            "better": [self.names[index] for index in self.better],
        }

    def _draws(self) -> dict[str, Any] | None:
        days = self.days
        if days is None:
            return None
        stretch = None if days.stretch is None else days.stretch.to_dict()
        return {"count": len(days.tables), "requests": days.requests, "stretch": stretch}

    def _engine(self, index: int) -> dict[str, Any]:
        engine, limits = self.engines[index], self.limits[index]
        values = {str(name): column.values[index] for name, column in self.table.data_vars.items()}
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
            "against_first": {
                metric: found.row(index)
                | finite({"of_runs": self.of_runs(index, metric)})
                | {"is": self.difference(index, metric).value}
                for metric, found in self.against.items()
            }
            if index
            else None,
        }
