"""Routed runs as a labelled dataset, and what they achieved in numbers.

Times of requests have the names and the meaning of `fluidkv.runs.dataset`, so that
`fluidkv.runs.measuring` measures them; a run is one router with one seed.
"""

from collections.abc import Sequence

import numpy as np
import xarray as xr
from jaxtyping import Float

from fluidkv.labels import completed, dataset
from fluidkv.routing.cluster import Routed
from fluidkv.runs.dataset import labelled
from fluidkv.runs.measuring import Span, statistics, times
from fluidkv.runs.requests import Requests

MEASURES: dict[str, tuple[str, str]] = {
    **{
        f"{name}_{statistic}": (f"{title}, {statistic}", "s")
        for name, title in (
            ("latency", "from arrival to last token"),
            ("ttft", "from arrival to first token"),
            ("wait", "from arrival to the beginning of service"),
        )
        for statistic in ("mean", "p50", "p95", "p99")
    },
    "hit_rate": ("prompt tokens found in the cache of the worker, of all", "1"),
    "believed_rate": ("prompt tokens that the router believed there, of all", "1"),
    "throughput": (
        "requests served, over the time from the first arrival to the last token",
        "1 / s",
    ),
    "unserved": ("requests that an engine can never admit, or that wait behind one", "1"),
    "duration": ("from the first arrival to the last token", "s"),
    "makespan": ("seconds of service on the worker with the most", "s"),
    "service": ("seconds of service on all workers", "s"),
    "most_to_mean": ("seconds of service on the worker with the most, over the mean", "1"),
    "variation": ("standard deviation of the workers' seconds of service, over the mean", "1"),
    "gini": ("Gini coefficient of the workers' seconds of service", "1"),
    "most_requests": ("requests on the worker with the most, over the mean", "1"),
    "evictions": ("preemptions", "1"),
}
"""What `measures` finds -> (what it is, unit). The makespan is the objective of section 3.1.

>>> from fluidkv.routing.results import MEASURES
>>> MEASURES["makespan"]
('seconds of service on the worker with the most', 's')
"""


def as_dataset(
    runs: Sequence[Routed], tables: Sequence[Requests], labels: Sequence[str], seeds: Sequence[int]
) -> xr.Dataset:
    """Runs of as many requests and workers each.

    Args:
        runs: at least one.
        tables: the requests of each.
        labels, seeds: of each; coordinates of the dimension run.

    Returns:
        (run, request): arrival, admitted, first_token, last_token, longest_gap (seconds),
        evictions, finished, input_length, output_length, class_index, served_by (the worker),
        hit_tokens, believed_tokens (-1: not looked at). (run, worker): busy, work (seconds),
        served (requests).

    Examples:
        >>> from fluidkv.prefix import shared_prefixes
        >>> from fluidkv.routing import RoundRobin, Traffic, route
        >>> from fluidkv.routing.results import as_dataset
        >>> traffic = Traffic(*shared_prefixes(0, groups=2, queries=4, lengths=1000))
        >>> run = route(traffic, fk.Fleet(2, 20_000), RoundRobin())
        >>> found = as_dataset([run], [traffic.requests], ["round-robin"], [0])
        >>> dict(found.sizes), found.served.values.tolist()
        ({'run': 1, 'request': 8, 'worker': 2}, [[4, 4]])
    """
    columns: dict[str, tuple[np.ndarray, str, str]] = {}
    rows = [list(zip(*run.times, strict=True)) for run in runs]
    for place, (name, title) in enumerate(
        (
            ("admitted", "first admission"),
            ("first_token", "first token"),
            ("last_token", "latest token"),
            ("hit_tokens", "prompt tokens found in the cache"),
            ("evictions", "times preempted"),
            ("longest_gap", "longest wait between two tokens"),
        )
    ):
        unit = {"hit_tokens": "token", "evictions": "1"}.get(name, "s")
        columns[name] = np.array([row[place] for row in rows]), title, unit
    columns["finished"] = ~np.isnan(columns["last_token"][0]), "served", "1"
    for name, unit in (
        ("arrival", "s"),
        ("input_length", "token"),
        ("output_length", "token"),
        ("class_index", "1"),
    ):
        values = np.stack([getattr(table, name) for table in tables])
        columns[name] = values, name.replace("_", " "), unit
    columns["served_by"] = np.stack([run.worker for run in runs]), "worker", "1"
    believed = np.stack([run.believed for run in runs])
    columns["believed_tokens"] = believed, "prompt tokens believed to be in the cache", "token"
    served = [np.bincount(run.worker, minlength=run.busy.size) for run in runs]
    workers = {
        "busy": (np.stack([run.busy for run in runs]), "time at work", "s"),
        "work": (np.stack([run.work for run in runs]), "service of its requests", "s"),
        "served": (np.stack(served), "requests", "1"),
    }
    return dataset(
        labelled(("run", "request"), columns) | labelled(("run", "worker"), workers),
        {
            "router": ("run", list(labels), "1", "rule of the router"),
            "seed": ("run", list(seeds), "1", "seed of the router"),
        },
        unit="s",
    )


def measures(run: xr.Dataset) -> xr.Dataset:
    """`MEASURES` of each run, over all of its requests; dimension run.

    Examples:
        >>> from fluidkv.prefix import shared_prefixes
        >>> from fluidkv.routing import RoundRobin, Traffic, route
        >>> from fluidkv.routing.results import as_dataset, measures
        >>> traffic = Traffic(*shared_prefixes(0, groups=2, queries=4, lengths=1000))
        >>> run = route(traffic, fk.Fleet(2, 20_000), RoundRobin())
        >>> found = measures(as_dataset([run], [traffic.requests], ["round-robin"], [0]))
        >>> found.hit_rate.item(), round(found.makespan.item(), 3)
        (0.25, 0.45)
    """
    whole = Span(-np.inf, np.inf)
    found = {}
    for name, values in (
        ("latency", times(run, "latency", whole)),
        ("ttft", times(run, "ttft", whole)),
        ("wait", run.admitted - run.arrival),
    ):
        found |= {f"{name}_{each}": value for each, value in statistics(values).items()}
    prompts = run.input_length.sum("request")
    looked = (run.believed_tokens >= 0).all("request")
    duration = run.last_token.max("request") - run.arrival.min("request")
    found |= {
        "hit_rate": run.hit_tokens.sum("request") / prompts,
        "believed_rate": (run.believed_tokens.sum("request") / prompts).where(looked),
        "throughput": run.finished.sum("request") / duration,
        "unserved": (~run.finished).sum("request"),
        "duration": duration,
        "makespan": run.work.max("worker"),
        "service": run.work.sum("worker"),
        "most_to_mean": run.work.max("worker") / run.work.mean("worker"),
        "variation": run.work.std("worker") / run.work.mean("worker"),
        "gini": xr.DataArray([gini(row) for row in run.work.values], dims="run"),
        "most_requests": run.served.max("worker") / run.served.mean("worker"),
        "evictions": run.evictions.sum("request"),
    }
    for name, values in found.items():
        values.attrs = dict(zip(("long_name", "units"), MEASURES[name], strict=True))
    return completed(xr.Dataset(found), unit="s")


def gini(values: Float[np.ndarray, " worker"]) -> float:
    """0 where all are equal, 1 - 1/n where one has everything; 0 where nobody has anything."""
    ranks = 2 * np.arange(1, values.size + 1) - values.size - 1
    total = values.size * values.sum()
    return float(ranks @ np.sort(values) / total) if total else 0.0
