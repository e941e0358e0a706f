"""A run in consecutive parts, so that what a setting gains can be measured in each of them.

A server carries its queue from one part over to the next, and so do the parts: none starts empty.
"""

from collections.abc import Sequence

import numpy as np
import xarray as xr
from jaxtyping import Float

from fluidkv.runs.measuring import TITLES_OF_REQUESTS, Span, times

SEGMENTS = 4
"""Consecutive parts of a run."""

_PACES = {  # metric -> what it is counted in
    "output_throughput": "iteration",
    "output_throughput_per_time": "time",
}
_ALL = Span(-np.inf, np.inf)


def by_segment(run: xr.Dataset, metrics: Sequence[str], warm_up: int = 0) -> xr.Dataset:
    """Metrics of each part of each run, under their own names.

    Percentiles of times are those of consecutive requests by arrival, as many in each part, with
    all that they waited, also for work that came before. Output throughputs are the paces at which
    consecutive parts of the output tokens were made: every part is the same work in every setting,
    however long it takes there. Runs with a warm-up have a horizon, and the work before it differs:
    there every part is as many records.

    Args:
        run: from `serve`, with requests kept.
        metrics: names of `fluidkv.runs.measuring`; others than these kinds are left out.
        warm_up: records at the start that no pace is of.

    Returns:
        (run, segment); NaN where a part has no value.
    """
    found = {}
    for metric in metrics:
        name, _, level = metric.rpartition("_p")
        if metric in _PACES:
            counted_in = _PACES[metric]
            runs = [run.isel(run=r) for r in range(run.sizes["run"])]
            values = [_paces(one, counted_in, warm_up) for one in runs]
        elif name in TITLES_OF_REQUESTS and level.isdigit():
            each = times(run, name, _ALL).transpose("run", "request").values
            values = [percentiles(row, int(level) / 100) for row in each]
        else:
            continue
        found[metric] = (("run", "segment"), np.array(values))
    return xr.Dataset(found)


def percentile(values: Float[np.ndarray, " request"], level: float) -> float:
    """NaN where nobody has a value."""
    there = values[np.isfinite(values)]
    return float(np.quantile(there, level)) if there.size else np.nan


def percentiles(
    values: Float[np.ndarray, " request"], level: float
) -> Float[np.ndarray, " segment"]:
    """Of each part of a column that is in order of arrival; NaN in it counts for nothing."""
    return np.array([percentile(part, level) for part in np.array_split(values, SEGMENTS)])


def paces(
    made: Float[np.ndarray, " tick"], at: Float[np.ndarray, " tick"]
) -> Float[np.ndarray, " segment"]:
    """Tokens over the time in which each consecutive part of them was made.

    Args:
        made: in each tick.
        at: ends of ticks, from the moment 0 at which work begins; even within a tick.
    """
    if not (made > 0).any():
        return np.full(SEGMENTS, np.nan)
    busy = int(np.flatnonzero(made > 0)[-1]) + 1  # work ends with the last token
    so_far = np.concatenate(([0.0], np.cumsum(made[:busy])))
    marks = np.linspace(0, so_far[-1], SEGMENTS + 1)
    moments = np.interp(marks, so_far, np.concatenate(([0.0], at[:busy])))
    moments[0] = 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.diff(marks) / np.diff(moments)


def _paces(run: xr.Dataset, counted_in: str, warm_up: int) -> Float[np.ndarray, " segment"]:
    there = ~np.isnan(run.time.values)
    ends = run.time if counted_in == "time" else np.minimum(run.iteration, run.iterations)
    made, at = run.new_outputs.values[there], np.asarray(ends, float)[there]
    if not warm_up:
        return paces(made, at)
    marks = np.linspace(warm_up, at.size, SEGMENTS + 1).astype(int) - 1
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.diff(np.cumsum(made)[marks]) / np.diff(at[marks])
