"""Objectives of each request for its first token and between tokens, and who meets them.

A run does not know them unless its rules do, so that one run can be held against many objectives.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import jax
import numpy as np
import xarray as xr
from jaxtyping import Array, PRNGKeyArray, UInt

from fluidkv.errors import InputError
from fluidkv.labels import column, dataset
from fluidkv.record import Record
from fluidkv.runs.checks import above_0, count, real
from fluidkv.runs.measuring import TITLES_OF_REQUESTS, Span, statistics, times
from fluidkv.runs.precision import in_float64
from fluidkv.runs.requests import Requests
from fluidkv.runs.values import one_each

SCALE = (0.5, 2.5)
"""Of the mean times: between what and what each request's scale is drawn (section 5)."""

ALL = Span(-np.inf, np.inf)


@dataclass(frozen=True)
class MeanTimes(Record):
    """What objectives are multiples of.

    Fields:
        ttft: from arrival to first token, the mean of requests that have one.
        tbt: between two tokens, the mean of all gaps of requests served; NaN where there is none.

    Examples:
        >>> from fluidkv.preempt.slo import mean_times
        >>> found = mean_times([fk.serve(fk.Requests([4], [3]), fk.Server("vllm", fk.Limits(100)))])
        >>> found.ttft, found.tbt
        (1.0, 1.0)
    """

    ttft: float
    tbt: float


def mean_times(runs: Sequence[xr.Dataset]) -> MeanTimes:
    """Mean TTFT and TBT over what is compared; each dataset counts alike, and each run of it.

    Args:
        runs: from `serve` with requests kept, one dataset for each method.

    Raises:
        InputError: no dataset, one without requests, or a run in which nobody has a first token.

    Source: CacheOPT, section 5: "the average TTFT and TBT across all compared methods".

    Examples:
        >>> from fluidkv.preempt.slo import mean_times
        >>> table = fk.Requests([4, 4], [3, 3])
        >>> servers = [fk.Server("vllm", fk.Limits(capacity)) for capacity in (7, 100)]
        >>> runs = [fk.serve(table, server) for server in servers]
        >>> mean_times(runs).ttft  # 1 and 4 in the first, 1 and 1 in the second
        1.75
    """
    if not runs:
        raise InputError("runs", "none", "at least one dataset of `serve`")
    for run in runs:
        _check_kept(run)
    ttft = [times(run, "ttft", ALL).mean("request").mean().item() for run in runs]
    tbt = [_mean_gap(run).mean().item() for run in runs]
    found = MeanTimes(float(np.mean(ttft)), float(np.mean(tbt)))
    if not np.isfinite(found.ttft):
        raise InputError("runs", "no first token", "runs in which somebody has one")
    return found


def assigned(
    requests: Requests,
    ttft: float,
    tbt: float,
    key: PRNGKeyArray | UInt[Array, "2"],
    *,
    scale: tuple[float, float] = SCALE,
    chunk: int | None = None,
) -> Requests:
    """The same requests with objectives: mean times, each times a scale drawn for the request.

    The paper says neither whether a request has one scale or one for each objective, nor what it is
    drawn from; here it is one for both, uniform.

    Args:
        requests: their own objectives are replaced.
        ttft, tbt: times on the run's clock, as of `mean_times`; infinite: no objective.
        key: JAX random key.
        scale: least and most; two equal ones are the same for all.
        chunk: tokens of prefill that an iteration takes at most: the objective of the first token
            is multiplied by the chunks of the prompt. None: prompts are computed at once.

    Raises:
        InputError: a time not above 0, a scale that is not above 0 or the wrong way round, a chunk
            below 1.

    Source: CacheOPT, section 5.

    Examples:
        >>> from fluidkv.preempt import assigned
        >>> from fluidkv.runs import random_key
        >>> table = fk.Requests([512, 513], [9, 9])  # one chunk, and two
        >>> table = assigned(table, 2.0, 0.1, random_key(0), scale=(1, 1), chunk=512)
        >>> table.ttft_slo.tolist(), table.tbt_slo.tolist()
        ([2.0, 4.0], [0.1, 0.1])
    """
    first, between = (
        above_0(name, value, infinite=True) for name, value in (("ttft", ttft), ("tbt", tbt))
    )
    low, high = _scale(scale)
    with in_float64():
        drawn = np.asarray(jax.random.uniform(key, (len(requests),), minval=low, maxval=high))
    scales = np.full(len(requests), low) if low == high else drawn
    chunks = 1 if chunk is None else -(-requests.input_length // count("chunk", chunk))
    return replace(requests, ttft_slo=first * scales * chunks, tbt_slo=between * scales)


def attainment(
    run: xr.Dataset, requests: Requests | Sequence[Requests], *, span: Span = ALL
) -> xr.Dataset:
    """The share of requests that meet their objectives.

    A request that has no first token misses both; one that is not done misses that between tokens,
    because the longest wait may be yet to come. One with a single output has nothing to wait for.

    Args:
        run: from `serve` with requests kept.
        requests: the table of all runs or one for each, with the objectives to hold them against:
            not those that the runs had, if others are asked about.
        span: those who arrive in it count.

    Returns:
        Of each run, `ttft`: the share whose first token came within its objective, "the fraction of
        requests that meet their TTFT SLOs"; `tbt`: whose longest wait between two tokens is within
        it, "whose all iterations meet their TBT SLOs"; `both`. NaN where nobody counts.

    Raises:
        InputError: a run without requests, tables that are not those of the runs.

    Source: CacheOPT, section 5.1.

    Examples:
        >>> from fluidkv.preempt import attainment
        >>> table = fk.Requests([4, 4], [3, 3], ttft_slo=[1.0, 1.0])
        >>> run = fk.serve(table, fk.Server("vllm", fk.Limits(7)))
        >>> attainment(run, table).ttft.item()
        0.5
    """
    _check_kept(run)
    tables = _of_run(run, requests)
    size = run.sizes["request"]
    there = (run.input_length > 0) & span.arrives(run)  # fewer requests in a run: padded
    within_ttft = (run.first_token - run.arrival) <= _column(tables, "ttft_slo", size)
    within_tbt = ~(run.longest_gap > _column(tables, "tbt_slo", size)) & run.finished
    met = {"ttft": within_ttft, "tbt": within_tbt, "both": within_ttft & within_tbt}
    whom = there.sum("request")
    titles = {
        "ttft": "share of requests whose first token came within their objective",
        "tbt": "share of requests whose longest wait between tokens is within their objective",
        "both": "share of requests that meet both objectives",
    }
    shares = {name: (m & there).sum("request") / whom for name, m in met.items()}
    return dataset({name: column(shares[name], "1", title) for name, title in titles.items()})


def normalised_latency(run: xr.Dataset, *, span: Span = ALL) -> xr.DataArray:
    """(run, request): from arrival to last token over outputs; NaN where it is not served.

    Source: CacheOPT, section 5.1; first in Orca and vLLM.

    Examples:
        >>> from fluidkv.preempt.slo import normalised_latency
        >>> run = fk.serve(fk.Requests([4, 4], [3, 3]), fk.Server("vllm", fk.Limits(7)))
        >>> normalised_latency(run).values.tolist()  # the second waits until the first is done
        [[1.0, 2.0]]
    """
    _check_kept(run)
    return times(run, "latency", span) / run.output_length


def tails(run: xr.Dataset, *, span: Span = ALL) -> xr.Dataset:
    """Mean and tails of what a user feels, one value for each run.

    Returns:
        `ttft_p99` and its like: mean, p50, p95 and p99 of ttft, longest_gap (the longest TBT of a
        request) and normalised_latency, over the requests that have one.

    Examples:
        >>> from fluidkv.preempt.slo import tails
        >>> found = tails(fk.serve(fk.Requests([4, 4], [3, 3]), fk.Server("vllm", fk.Limits(7))))
        >>> found.ttft_p50.item(), found.ttft_p95.round(2).item()  # of 1 and 4
        (2.5, 3.85)
    """
    _check_kept(run)
    values = {name: times(run, name, span) for name in ("ttft", "longest_gap")}
    values["normalised_latency"] = normalised_latency(run, span=span)
    unit = run.attrs["unit"]
    units = {"ttft": unit, "longest_gap": unit, "normalised_latency": f"{unit} / token"}
    titles = TITLES_OF_REQUESTS | {"normalised_latency": "from arrival to last token over outputs"}
    return dataset(
        {
            f"{name}_{of}": column(v, units[name], f"{titles[name]}, {of}")
            for name, each in values.items()
            for of, v in statistics(each).items()
        }
    )


def _mean_gap(run: xr.Dataset) -> xr.DataArray:
    """(run,): from first to last token over the gaps between, all requests served together."""
    waited = (run.last_token - run.first_token).where(run.finished, 0).sum("request")
    gaps = (run.output_length - 1).where(run.finished, 0).sum("request")
    return waited / gaps.where(gaps > 0)


def _scale(scale: tuple[float, float]) -> tuple[float, float]:
    allowed = "two numbers above 0, the least first"
    if not isinstance(scale, Sequence) or len(scale) != 2:
        raise InputError("scale", scale, allowed)
    low, high = (real(each) for each in scale)
    if not 0 < low <= high < np.inf:
        raise InputError("scale", f"{scale[0]} to {scale[1]}", allowed)
    return low, high


def _check_kept(run: xr.Dataset) -> None:
    if "first_token" not in run:
        raise InputError("run", "no requests", "one of `serve` with requests kept")


def _of_run(run: xr.Dataset, requests: Requests | Sequence[Requests]) -> list[Requests]:
    """A table for each run, of as many requests."""
    runs = run.sizes["run"]
    tables = one_each({"requests": requests})["requests"]
    tables = tables * runs if len(tables) == 1 else tables
    sizes = run.requests.values.tolist()
    if len(tables) != runs or [len(table) for table in tables] != sizes:
        said = f"{len(tables)} tables of {', '.join(str(len(t)) for t in tables[:3])} requests"
        raise InputError("requests", said, f"those of the {runs} runs")
    return tables


def _column(tables: Sequence[Requests], name: str, size: int) -> xr.DataArray:
    """(run, request); infinite where a run has fewer requests."""
    values = np.full((len(tables), size), np.inf)
    for run, table in enumerate(tables):
        values[run, : len(table)] = getattr(table, name)
    return xr.DataArray(values, dims=("run", "request"))
