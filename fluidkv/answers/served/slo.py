"""What is asked of a server: bounds on the metrics of its runs."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np
from jaxtyping import Bool, Float

from fluidkv.answers.served.demand import Demand
from fluidkv.errors import InputError
from fluidkv.record import Record
from fluidkv.serving.clock import IterationClock
from fluidkv.text import nearest

_TIMES = tuple(
    f"{metric}_{statistic}"
    for metric in ("ttft", "latency", "tpot", "longest_gap")
    for statistic in ("mean", "p50", "p95", "p99")
)
_THROUGHPUTS = (
    "output_throughput",
    "output_throughput_per_time",
    "throughput",
    "throughput_per_time",
)
_COUNT = "preemptions"
SLO_METRICS: Mapping[str, bool] = MappingProxyType(
    dict.fromkeys((*_TIMES, _COUNT, "preemption_rate", "recompute_tax"), False)
    | dict.fromkeys(_THROUGHPUTS, True)
)
"""Metric of `fluidkv.runs.measuring` -> whether its bound is a least value, not a most.

>>> from fluidkv.answers.served.slo import SLO_METRICS
>>> SLO_METRICS["ttft_p99"], SLO_METRICS["throughput"]
(False, True)
"""


@dataclass(frozen=True)
class Slo(Record):
    """A bound on a metric: at most so much, or at least so much of a throughput.

    Args:
        metric: one of `SLO_METRICS`.
        bound: in the metric's unit; finite, at least 0.

    Raises:
        InputError: another metric or bound.

    Examples:
        >>> from fluidkv.answers import Slo
        >>> slo = Slo("ttft_p99", 0.5)
        >>> times = np.array([[0.4, 0.5], [0.4, 0.6]])  # two settings in two runs, seconds
        >>> slo.at_least, slo.met(times), slo.excess(times).round(2)
        (False, array([ True, False]), array([0. , 0.2]))
    """

    metric: str
    bound: float

    def __post_init__(self) -> None:
        if self.metric not in SLO_METRICS:
            raise InputError("slo", self.metric, nearest(self.metric, SLO_METRICS))
        if not math.isfinite(self.bound) or self.bound < 0:
            raise InputError("slo", f"{self.metric}={self.bound}", "a finite bound of at least 0")

    @property
    def at_least(self) -> bool:
        return SLO_METRICS[self.metric]

    @property
    def is_count(self) -> bool:
        """Whether a longer run has more of it."""
        return self.metric == _COUNT

    def met(self, values: Float[np.ndarray, "setting run"]) -> Bool[np.ndarray, " setting"]:
        """Settings that meet it in every run; where a run has no value, it is not met."""
        fine = values >= self.bound if self.at_least else values <= self.bound
        return np.all(fine, axis=1)

    def over(self, longer: float) -> "Slo":
        """The same of a run with so many times as many requests: a count grows with them.

        Examples:
            >>> from fluidkv.answers import Slo
            >>> Slo("preemptions", 3).over(10).bound, Slo("ttft_p99", 2).over(10).bound
            (30, 2)
        """
        return replace(self, bound=self.bound * longer) if self.is_count else self

    def excess(self, values: Float[np.ndarray, "setting run"]) -> Float[np.ndarray, " setting"]:
        """By how much the worst run misses it, relative to the bound; 0 where it is met.

        To a bound of 0, relative to the largest value of all settings. Inf where a run has none.
        """
        over = self.bound - values if self.at_least else values - self.bound
        worst = np.where(np.isnan(over), np.inf, over).max(axis=1)
        scale = self.bound or float(np.nanmax(values, initial=0.0)) or 1.0
        return np.maximum(worst, 0.0) / scale


def first_tokens(demand: Demand, clock: IterationClock) -> bool:
    """Whether times to first token can be said: requests come over time, and prefill takes some.

    The theory's clock counts iterations, also those until the first token.
    """
    return demand.kind != "saturated" and (clock.prefills or clock.unit == "iteration")
