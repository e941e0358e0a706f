"""Every metric of a run, defined once. `docs/metrics.md` gives the symbols.

What differs between those who measure is a convention, and an argument here: which requests a
metric speaks of (`Span`), and how a window that is partly outside of a span counts (`total`).
"""

from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import numpy as np
import xarray as xr

from fluidkv.errors import InputError
from fluidkv.labels import completed

QUANTILES = (0.5, 0.95, 0.99)

TITLES: dict[str, tuple[str, str]] = {
    "completions": ("requests completed", "request"),
    "preemptions": ("preemptions", "request"),
    "admissions": ("admissions, first ones and after a preemption", "request"),
    "iterations": ("iterations looked at", "iteration"),
    "duration": ("what the clock ran in them", "time"),
    "throughput": ("requests completed", "request / iteration"),
    "throughput_per_time": ("requests completed", "request / time"),
    "output_throughput": ("tokens that clients see", "token / iteration"),
    "output_throughput_per_time": ("tokens that clients see", "token / time"),
    "preemption_rate": ("preemptions", "request / iteration"),
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


@dataclass(frozen=True, eq=False)
class Span:
    """A stretch of a run's clock, and which requests it has.

    Args:
        first, last: from when to when; events count after `first` and up to `last`. One for all
            runs, or one for each.
        by: "arrival": requests that come from `first` to before `last`; "event": those whose event
            comes in the span.
        unserved: a request whose event has not come by `end` has no time ("left out"), or the one
            that it has waited by then ("so far"). Who left it out speaks of those who were lucky.
        end: what comes after it is not seen; None: `last`.

    Examples:
        >>> from fluidkv.runs.measuring import Span
        >>> table = fk.Requests([4, 4, 4], [3, 3, 3], arrival=[0, 5, 9])
        >>> Span(5, 9).arrives(fk.serve(table, fk.Server("vllm", fk.Limits(100)))).values.tolist()
        [[False, True, False]]
    """

    first: float | xr.DataArray
    last: float | xr.DataArray
    by: Literal["arrival", "event"] = "arrival"
    unserved: Literal["left out", "so far"] = "left out"
    end: float | xr.DataArray | None = None

    @property
    def seen_until(self) -> float | xr.DataArray:
        return self.last if self.end is None else self.end

    def arrives(self, run: xr.Dataset) -> xr.DataArray:
        """(run, request): who comes in it."""
        return (run.arrival >= self.first) & (run.arrival < self.last)

    def has(self, event: xr.DataArray) -> xr.DataArray:
        """Whether events come in it."""
        return (event > self.first) & (event <= self.last)


def served(run: xr.Dataset, span: Span) -> xr.DataArray:
    """(run, request): who emits its last token by the end of what is seen."""
    return run.finished & (run.last_token <= span.seen_until)


def completed_outputs(run: xr.Dataset, span: Span) -> xr.DataArray:
    """(run,): output tokens of the requests that complete in a span."""
    completes = served(run, span) & span.has(run.last_token)
    return run.output_length.where(completes, 0).sum("request")


def times(run: xr.Dataset, metric: str, span: Span) -> xr.DataArray:
    """One of `TITLES_OF_REQUESTS` for each request.

    Args:
        run: with requests kept.
        metric: its name.
        span: whom it speaks of; "so far" for latency and ttft only.

    Returns:
        (run, request); NaN where it has not come, where a request has no second token to wait for,
        and for requests that are not of the span.
    """
    event = run.first_token if metric == "ttft" else run.last_token
    comes = event <= span.seen_until if metric == "ttft" else served(run, span)
    several = comes & (run.output_length > 1)
    if metric == "tpot":
        found = (run.last_token - run.first_token).where(several) / (run.output_length - 1)
    elif metric == "longest_gap":
        found = run.longest_gap.where(several)
    elif span.unserved == "so far":
        found = event.where(comes, span.seen_until) - run.arrival
    else:
        found = (event - run.arrival).where(comes)
    return found.where(span.arrives(run) if span.by == "arrival" else span.has(event))


def statistics(values: xr.DataArray) -> dict[str, xr.DataArray]:
    """(run,): mean, p50, p95 and p99 over the requests that have a value; NaN where none has."""
    names = ("mean", *(f"p{100 * level:.0f}" for level in QUANTILES))
    found = np.full((len(names), values.sizes["run"]), np.nan)
    for run, row in enumerate(values.transpose("run", "request").values):
        there = row[~np.isnan(row)]
        if there.size:
            found[:, run] = there.mean(), *np.quantile(there, QUANTILES)
    return {name: xr.DataArray(row, dims="run") for name, row in zip(names, found, strict=True)}


def total(
    run: Any, flow: str, span: Span, *, cut: Literal["whole", "linear"] = "whole"
) -> xr.DataArray:
    """(run,): a flow summed over a span.

    Args:
        flow: a count that is no level.
        cut: "whole" windows, those that end in the span; or "linear", as if a flow were even within
            a window.
    """
    if cut == "whole":
        return run[flow].where(span.has(run.time), 0).sum("window")
    upto = run[flow].cumsum("window")
    return _at(run, upto, span.last, from_0=True) - _at(run, upto, span.first, from_0=True)


def level(run: xr.Dataset, name: str, at: float | xr.DataArray) -> xr.DataArray:
    """(run,): a level at a time, linear between the ends of windows."""
    return _at(run, run[name], at)


def peak(run: xr.Dataset, name: str, span: Span) -> xr.DataArray:
    """(run,): the most of a level, by windows that end up to the end of what is seen; 0: none."""
    return run[name].where(run.time <= span.seen_until).max("window").fillna(0)


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
        of blocks held). `queue_mean`, `queue_drift` (requests per iteration: slope of a straight
        line through the queue length). Of requests, if they were kept: mean, p50, p95 and p99 of
        latency, ttft, tpot and longest_gap, NaN where none came so far; `censored`: requests that
        came and were not served, which latencies therefore leave out.

    Raises:
        InputError: `first` outside of what is allowed.

    A percentile is linear between order statistics (numpy's default).

    Examples:
        >>> clock = fk.IterationClock(1.0, per_prefill_token=0.25)
        >>> server = fk.Server("vllm", fk.Limits(100), clock=clock)
        >>> found = fk.metrics(fk.serve(fk.Requests([4], [3]), server))
        >>> found.ttft_mean.item(), found.latency_mean.item(), found.throughput_per_time.item()
        (2.0, 4.0, 0.25)
    """
    windows = run.sizes["window"]
    if isinstance(first, bool) or not isinstance(first, int) or not 0 <= first < windows:
        raise InputError("first", first, f"an integer from 0 to {windows - 1}")
    every = run.attrs["every"]
    bare: Any = _Bare(run)
    kept = bare.from_window(first)
    begun = np.minimum(bare.iterations, first * every)
    iterations = (bare.iterations - begun).where(bare.iterations > begun)
    start = bare.time.isel(window=first - 1) if first else bare.iterations * 0.0
    duration = kept.time.max("window") - start

    later = Span(start, np.inf)

    @cache
    def flow(name: str) -> xr.DataArray:
        return total(bare, name, later)

    ends = np.minimum(kept.iteration, bare.iterations).transpose("run", ..., missing_dims="ignore")
    width = (ends - (kept.iteration - every)).clip(0)  # the last window of a run may be shorter

    def mean(name: str) -> xr.DataArray:
        seen = width.sum("window")
        return (kept[name] * width).sum("window") / seen.where(seen > 0)

    found = {
        "completions": flow("completed"),
        "preemptions": flow("preempt"),
        "admissions": flow("admit_new") + flow("admit_resumed"),
        "iterations": iterations,
        "duration": duration,
        "throughput": flow("completed") / iterations,
        "throughput_per_time": flow("completed") / duration,
        "output_throughput": flow("new_outputs") / iterations,
        "output_throughput_per_time": flow("new_outputs") / duration,
        "preemption_rate": flow("preempt") / iterations,
        "recompute_tax": flow("recomputed_tokens") / flow("tokens").where(flow("tokens") > 0),
        "running_mean": mean("running"),
        "utilisation": mean("used_blocks") / bare.blocks,
        "queue_mean": mean("waiting"),
        "queue_drift": _slope(kept.waiting, ends - (width - 1) / 2, width),
    }
    if "arrival" in run:
        came = Span(start, kept.time.max("window")).arrives(bare)
        found["censored"] = (came & ~bare.finished).sum("request")
        for metric in TITLES_OF_REQUESTS:
            of_all = statistics(times(bare, metric, later))
            found |= {f"{metric}_{name}": values.variable for name, values in of_all.items()}
    along = {name: column for name, column in run.coords.items() if set(column.dims) <= {"run"}}
    return _titled(xr.Dataset(found, along), run.attrs)


class _Bare:
    """The variables of runs by themselves: they lie side by side, so nothing has to be aligned.

    Dimensions are known by name, in whatever order they stand.
    """

    def __init__(self, run: xr.Dataset, first: int = 0) -> None:
        self._run, self._first = run, first

    def __getitem__(self, name: str) -> Any:
        column = self._run.variables[name]
        return column.isel(window=slice(self._first, None)) if "window" in column.dims else column

    __getattr__ = __getitem__

    def from_window(self, first: int) -> "_Bare":
        """Without the windows before."""
        return _Bare(self._run, first)


def _at(
    run: xr.Dataset, values: xr.DataArray, at: float | xr.DataArray, *, from_0: bool = False
) -> xr.DataArray:
    """(run,): linear between the values at the ends of windows; before the first one, from 0."""
    moments = np.broadcast_to(np.asarray(at, float), run.sizes["run"])
    found = np.empty(run.sizes["run"])
    for place, moment in enumerate(moments):
        there = ~np.isnan(run.time.values[place])
        x, y = (column.values[place][there] for column in (run.time, values))
        found[place] = np.interp(
            moment, *((np.append(0, x), np.append(0, y)) if from_0 else (x, y))
        )
    return xr.DataArray(found, dims="run")


def title_of(metric: str) -> tuple[str, str]:
    """The units of a metric, and what it is; "time" is the unit of the run's clock."""
    if metric in TITLES:
        title, unit = TITLES[metric]
        return unit, title
    name, statistic = metric.rsplit("_", 1)
    return "time", f"{TITLES_OF_REQUESTS[name]}, {statistic}"


def _titled(result: xr.Dataset, of: dict) -> xr.Dataset:
    for column in result.data_vars:
        unit, title = title_of(str(column))
        result[column].attrs = {"long_name": title, "units": unit.replace("time", of["unit"])}
    return completed(result, engine=of["engine"], unit=of["unit"])


def _slope(values: xr.DataArray, at: xr.DataArray, weights: xr.DataArray) -> xr.DataArray:
    """Least-squares slope through window means, by their widths; NaN with fewer than two."""
    total = weights.sum("window")
    centred = at - (at * weights).sum("window") / total
    spread = (weights * centred**2).sum("window")
    return (weights * centred * values).sum("window") / spread.where(spread > 0)
