"""How wrong may a length predictor be before it is worse than none?

The same requests are served twice: by rules that look at predictions, with predictors of growing
error, and by rules that do not. What is compared is a pair of runs, so that what the requests do to
both cancels out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr
from jaxtyping import Float

from fluidkv.errors import InputError
from fluidkv.labels import Column, dataset
from fluidkv.preempt.predictors.predictor import Predictor, with_predictions
from fluidkv.record import Record
from fluidkv.runs.measuring import metrics
from fluidkv.runs.requests import Requests
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.limits import Limits
from fluidkv.serving.rules import EngineRules
from fluidkv.serving.run import serve
from fluidkv.serving.server import Server

HIGHER_IS_BETTER: Mapping[str, bool] = {
    "output_throughput_per_time": True,
    "ttft_p99": False,
    "longest_gap_p99": False,
    "recompute_tax": False,
}
"""What is compared; of `fluidkv.runs.metrics`."""

_BOOTSTRAPS = 2_000


def with_and_without(
    requests: Sequence[Requests],
    rules: EngineRules,
    without: EngineRules,
    limits: Limits,
    clock: IterationClock,
    predictors: Mapping[float, Predictor],
) -> xr.Dataset:
    """Each metric with a predictor and without, on the same requests.

    Args:
        requests: a table for each run; all of one size are the fastest. A predictor's seed is the
            number of the run.
        rules: look at predictions, or at estimates, which are the predictions.
        without: does not.
        limits, clock: of all.
        predictors: by the level of their error.

    Returns:
        Metrics of `HIGHER_IS_BETTER` (error, run), and the same with the prefix "without_" (run).

    Raises:
        InputError: no predictors; what `serve` refuses.

    Examples:
        >>> from dataclasses import replace
        >>> from fluidkv.preempt import Perfect, with_and_without
        >>> from fluidkv.serving import Allocation
        >>> rules = replace(fk.engine("vllm"), allocation=Allocation.ESTIMATE_THEN_BLOCKS)
        >>> others = fk.engine("vllm"), fk.Limits(12), fk.IterationClock(1.0), {0.0: Perfect()}
        >>> found = with_and_without([fk.Requests([4, 4], [7, 7])], rules, *others)
        >>> found.recompute_tax.item(), round(found.without_recompute_tax.item(), 2)
        (0.0, 0.23)
    """
    if not predictors:
        raise InputError("predictors", "none", "at least one, by the level of its error")
    told = [
        with_predictions(table, predictor, seed=run)
        for predictor in predictors.values()
        for run, table in enumerate(requests)
    ]
    # One window: what is wanted is the whole run.
    every = 10**6
    found = metrics(serve(told, Server(rules, limits, clock=clock), every=every))
    plain = metrics(serve(requests, Server(without, limits, clock=clock), every=every))
    shape = (len(predictors), len(requests))
    columns: dict[str, Column] = {}
    for name in HIGHER_IS_BETTER:
        unit, title = (found[name].attrs[each] for each in ("units", "long_name"))
        columns[name] = ("error", "run"), found[name].values.reshape(shape), unit, title
        columns[f"without_{name}"] = "run", plain[name].values, unit, f"{title}; no predictor"
    return dataset(
        columns,
        {"error": ("error", list(predictors), "1", "level of the predictor's error")},
        unit=clock.unit,
    )


@dataclass(frozen=True)
class Crossing(Record):
    """The level of error from which on a predictor is worse than none.

    Fields:
        level: where the mean gain first reaches zero, straight lines between levels. 0: at the
            first level already; infinite: at none.
        low, high: 95 % of bootstraps over runs.

    Examples:
        >>> from fluidkv.preempt import crossing
        >>> found = crossing([0.0, 1.0], np.array([[1.0, 1.2, 0.8], [-1.0, -0.6, -1.1]]))
        >>> round(found.level, 2), round(found.low, 2), round(found.high, 2)
        (0.53, 0.42, 0.67)
    """

    level: float
    low: float
    high: float


def gains(found: xr.Dataset, metric: str) -> Float[np.ndarray, "error run"]:
    """What a predictor gains in a metric, in its own units; above 0 is better.

    Raises:
        InputError: a metric that is not compared.

    Examples:
        >>> from dataclasses import replace
        >>> from fluidkv.preempt import Perfect, gains, with_and_without
        >>> from fluidkv.serving import Allocation
        >>> rules = replace(fk.engine("vllm"), allocation=Allocation.ESTIMATE_THEN_BLOCKS)
        >>> others = fk.engine("vllm"), fk.Limits(12), fk.IterationClock(1.0), {0.0: Perfect()}
        >>> found = with_and_without([fk.Requests([4, 4], [7, 7])], rules, *others)
        >>> gains(found, "recompute_tax").round(2).tolist()
        [[0.23]]
    """
    if metric not in HIGHER_IS_BETTER:
        raise InputError("metric", metric, ", ".join(HIGHER_IS_BETTER))
    gained = found[metric] - found[f"without_{metric}"]
    return (gained if HIGHER_IS_BETTER[metric] else -gained).transpose("error", "run").values


def crossing(
    levels: Sequence[float], gained: Float[np.ndarray, "error run"], *, seed: int = 0
) -> Crossing:
    """Where gains end, with an interval.

    Args:
        levels: rising.
        gained: of each level in each run.
        seed: of the bootstraps.

    Raises:
        InputError: levels that do not rise, or another number of them.

    Examples:
        >>> from fluidkv.preempt import crossing
        >>> crossing([0, 1, 2], np.array([[3.0, 3.0], [1.0, 1.0], [-1.0, -1.0]])).level
        1.5
    """
    at = np.asarray(levels, float)
    if at.ndim != 1 or at.size != len(gained) or (np.diff(at) <= 0).any():
        raise InputError("levels", levels, f"{len(gained)} numbers that rise")
    runs = gained.shape[1]
    drawn = np.random.default_rng(seed).integers(0, runs, (_BOOTSTRAPS, runs))
    found = np.sort([_first_zero(at, gained[:, rows].mean(axis=1)) for rows in drawn])
    # Order statistics, not interpolated: some may be infinite.
    low, high = found[_BOOTSTRAPS // 40], found[_BOOTSTRAPS - 1 - _BOOTSTRAPS // 40]
    return Crossing(_first_zero(at, gained.mean(axis=1)), float(low), float(high))


def _first_zero(levels: np.ndarray, gained: np.ndarray) -> float:
    """Where a curve first is not above zero."""
    if gained[0] <= 0:
        return float(levels[0])
    below = np.flatnonzero(gained <= 0)
    if not below.size:
        return float("inf")
    k = int(below[0])
    share = gained[k - 1] / (gained[k - 1] - gained[k])
    return float(levels[k - 1] + share * (levels[k] - levels[k - 1]))
