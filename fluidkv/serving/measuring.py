"""Every metric of a run, defined once. `docs/metrics.md` gives the symbols."""

import numpy as np
import xarray as xr

from fluidkv.errors import InputError

QUANTILES = (0.5, 0.95, 0.99)

TITLES: dict[str, tuple[str, str]] = {
    "completions": ("requests completed", "request"),
    "preemptions": ("evictions", ""),
    "admissions": ("admissions, first ones and after an eviction", ""),
    "iterations": ("iterations looked at", "iteration"),
    "duration": ("what the clock ran in them", "time"),
    "throughput": ("requests completed", "request / iteration"),
    "throughput_per_time": ("requests completed", "request / time"),
    "output_throughput": ("tokens that clients see", "token / iteration"),
    "output_throughput_per_time": ("tokens that clients see", "token / time"),
    "preemption_rate": ("evictions", "1 / iteration"),
    "recompute_tax": ("share of the computed tokens that were computed before", "1"),
    "running_mean": ("requests running", "request"),
    "utilisation": ("share of the blocks held", "1"),
    "queue_mean": ("requests waiting", "request"),
    "queue_drift": ("slope of the queue", "request / iteration"),
    "censored": ("requests that came and were not served", "request"),
}
"""Metric -> (what it is, unit); "time" is the unit of the run's clock."""

TITLES_OF_REQUESTS: dict[str, str] = {
    "latency": "from arrival to last token",
    "ttft": "from arrival to first token",
    "tpot": "time between tokens: from first to last, over outputs - 1",
    "longest_gap": "longest wait between two tokens of a request",
}
"""Metric of one request -> what it is. Each comes as _mean, _p50, _p95 and _p99, in clock time."""


def metrics(run: xr.Dataset, *, first: int = 0) -> xr.Dataset:
    """What a run achieved, in numbers; one value for each run.

    Args:
        run: from `serve`.
        first: windows left out at the start (warm-up), fewer than there are. Metrics of requests
            then speak of those that arrived after them.

    Returns:
        A dataset with dimension run. Counts: completions, preemptions, admissions. Over time:
        `throughput` (requests), `output_throughput` (tokens that a client sees) an iteration, and
        `..._per_time` a unit of the clock; `preemption_rate` an iteration. Shares:
        `recompute_tax` (of the tokens computed, those computed before), `utilisation` (mean share
        of blocks held). `queue_mean`, `queue_drift` (requests an iteration: slope of a straight
        line through the queue length). Of requests, if they were kept: mean, p50, p95 and p99 of
        latency, ttft, tpot and longest_gap, NaN where none came so far; `censored`: requests that
        came and were not served, which latencies therefore leave out.

    Raises:
        InputError: `first` outside of what is allowed.

    A percentile is linear between order statistics (numpy's default).
    """
    windows = run.sizes["window"]
    if isinstance(first, bool) or not isinstance(first, int) or not 0 <= first < windows:
        raise InputError("first", first, f"an integer from 0 to {windows - 1}")
    kept = run.isel(window=slice(first, None))
    before = run.isel(window=slice(0, first))
    every = run.attrs["every"]
    begun = np.minimum(run.iterations, first * every)
    iterations = (run.iterations - begun).where(run.iterations > begun)
    start = before.time.isel(window=-1) if first else xr.zeros_like(run.iterations, dtype=float)
    duration = kept.time.max("window") - start

    def total(name: str) -> xr.DataArray:
        return kept[name].sum("window")

    ends = np.minimum(kept.iteration, run.iterations)
    width = (ends - (kept.iteration - every)).clip(0)  # the last window of a run may be shorter

    def mean(name: str) -> xr.DataArray:
        return (kept[name] * width).sum("window") / width.sum("window").where(width.any("window"))

    found = {
        "completions": total("completed"),
        "preemptions": total("preempt"),
        "admissions": total("admit_new") + total("admit_resumed"),
        "iterations": iterations,
        "duration": duration,
        "throughput": total("completed") / iterations,
        "throughput_per_time": total("completed") / duration,
        "output_throughput": total("new_outputs") / iterations,
        "output_throughput_per_time": total("new_outputs") / duration,
        "preemption_rate": total("preempt") / iterations,
        "recompute_tax": total("recomputed_tokens") / total("tokens").where(total("tokens") > 0),
        "running_mean": mean("running"),
        "utilisation": mean("used_blocks") / run.blocks,
        "queue_mean": mean("waiting"),
        "queue_drift": _slope(kept.waiting, ends - (width - 1) / 2, width),
    }
    if "arrival" in run:
        came = run.arrival.where(run.arrival >= start) < kept.time.max("window")
        found["censored"] = (came & ~run.finished).sum("request")
        for name, values in _of_requests(run).items():
            found |= _statistics(name, values.where(run.arrival >= start))
    return _titled(xr.Dataset(found), run.attrs)


def _of_requests(run: xr.Dataset) -> dict[str, xr.DataArray]:
    """(run, request); NaN where it has not come so far, or has no second token to wait for."""
    several = run.finished & (run.output_length > 1)
    return {
        "latency": (run.last_token - run.arrival).where(run.finished),
        "ttft": run.first_token - run.arrival,
        "tpot": (run.last_token - run.first_token).where(several) / (run.output_length - 1),
        "longest_gap": run.longest_gap.where(several),
    }


def _titled(result: xr.Dataset, of: dict) -> xr.Dataset:
    for column in result.data_vars:
        name = str(column)
        if name in TITLES:
            title, unit = TITLES[name]
        else:
            metric, statistic = name.rsplit("_", 1)
            title, unit = f"{TITLES_OF_REQUESTS[metric]}, {statistic}", "time"
        result[column].attrs = {"long_name": title, "units": unit.replace("time", of["unit"])}
    result.attrs = {"engine": of["engine"], "unit": of["unit"]}
    return result


def _statistics(name: str, values: xr.DataArray) -> dict[str, xr.DataArray]:
    found = {f"{name}_mean": values.mean("request")}
    with np.errstate(all="ignore"):
        quantiles = _quantiles(values.values)
    for level, row in zip(QUANTILES, quantiles, strict=True):
        found[f"{name}_p{100 * level:.0f}"] = xr.DataArray(row, dims="run")
    return found


def _quantiles(values: np.ndarray) -> np.ndarray:
    """Shape (quantile, run); NaN for a run without values, without numpy's warning."""
    found = np.full((len(QUANTILES), len(values)), np.nan)
    for run, row in enumerate(values):
        there = row[~np.isnan(row)]
        if there.size:
            found[:, run] = np.quantile(there, QUANTILES)
    return found


def _slope(values: xr.DataArray, at: xr.DataArray, weights: xr.DataArray) -> xr.DataArray:
    """Least-squares slope through window means, by their widths; NaN with fewer than two."""
    total = weights.sum("window")
    centred = at - (at * weights).sum("window") / total
    spread = (weights * centred**2).sum("window")
    return (weights * centred * values).sum("window") / spread.where(spread > 0)
