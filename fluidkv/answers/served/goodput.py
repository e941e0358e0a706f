"""Goodput: requests that are within every bound, over time."""

from collections.abc import Iterable, Mapping

import numpy as np
import xarray as xr

from fluidkv.answers.served.segments import SEGMENTS
from fluidkv.answers.served.slo import Slo
from fluidkv.runs.measuring import Span, times

BOUNDED = ("ttft", "latency", "tpot")
"""Times of one request that a bound can be about."""


def bounds_of(slos: Iterable[Slo]) -> Mapping[str, float]:
    """Time -> most of it for each request: the least of the bounds that name it."""
    found: dict[str, float] = {}
    for slo in slos:
        name = slo.metric.rpartition("_")[0]
        if name in BOUNDED:
            found[name] = min(slo.bound, found.get(name, np.inf))
    return found


def goodput(run: xr.Dataset, bounds: Mapping[str, float]) -> xr.DataArray:
    """(run,): requests that are served within all bounds, a unit of the run's clock.

    A request of one output has no time between tokens, and is within any bound of it.

    Args:
        run: from `serve`, with requests kept.
        bounds: of `BOUNDED`.
    """
    found = _within(run, bounds).sum("request") / run.time.max("window")
    found.attrs = {
        "long_name": "requests served within all bounds",
        "units": f"request / {run.attrs['unit']}",
    }
    return found


def shares_by_segment(run: xr.Dataset, bounds: Mapping[str, float]) -> xr.DataArray:
    """(run, segment): the share within all bounds of as many consecutive requests in each."""
    good = _within(run, bounds).transpose("run", "request").values
    shares = [[part.mean() for part in np.array_split(row, SEGMENTS)] for row in good]
    return xr.DataArray(np.array(shares), dims=("run", "segment"))


def _within(run: xr.Dataset, bounds: Mapping[str, float]) -> xr.DataArray:
    everything = Span(-np.inf, np.inf)
    good = run.finished
    for name, most in bounds.items():
        good = good & ~(times(run, name, everything) > most)
    return good
