"""One load, two starts: does an engine hold it from empty, and does it come back from a backlog?"""

from dataclasses import replace
from fractions import Fraction
from typing import Literal

import numpy as np
import xarray as xr
from numpy.random import Generator

from fluidkv.errors import InputError
from fluidkv.labels import dataset
from fluidkv.runs.arrivals import poisson, saturated
from fluidkv.runs.measuring import Span, level, total
from fluidkv.runs.requests import Requests
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.limits import Limits
from fluidkv.serving.rules import EngineRules
from fluidkv.serving.run import serve
from fluidkv.serving.server import Server
from fluidkv.workload import RequestClass, Workload


def two_starts(
    request: RequestClass,
    engine: str | EngineRules,
    limits: Limits,
    rate: float,
    *,
    backlog: int,
    count: int,
    rng: Generator | int,
    runs: int,
    clock: IterationClock | None = None,
    backend: Literal["auto", "kernel", "reference"] = "auto",
) -> xr.Dataset:
    """The same arrivals to an empty server, and to one where `backlog` requests wait at the start.

    An engine is metastable at a load if the first serves what comes and the second does not come
    back to that.

    Args:
        request: the one class.
        engine: a name out of `ENGINES`, or rules.
        rate: lambda, requests per unit of the clock.
        backlog: requests there at the start.
        count: requests that arrive after it. What is looked at ends with the last of them.
        clock: None: an iteration lasts 1.
        backend: of `serve`.

    Returns:
        Dimensions start ("empty", "backlog") and run. Over the second half of the time of arrivals:
        `offered` and `throughput`, requests per unit of the clock, and `preemptions`, evictions per
        unit of the clock; `waiting`, the mean queue of l1 iterations at its end.

    Raises:
        InputError: as `serve`, and counts below 1.

    Examples:
        >>> from fluidkv.serving.metastability.two_starts import two_starts
        >>> request, limits = fk.RequestClass(3, 7), fk.Limits(61)
        >>> draws = {"count": 100, "rng": 0, "runs": 2}
        >>> found = two_starts(request, "restart", limits, 0.85, backlog=50, **draws)
        >>> found.preemptions.mean("run").round(2).to_series().to_dict()
        {'empty': 0.07, 'backlog': 1.71}
        >>> found.waiting.mean("run").round(1).to_series().to_dict()
        {'empty': 0.0, 'backlog': 29.9}
    """
    if isinstance(runs, bool) or runs < 1:
        raise InputError("runs", runs, "an integer of at least 1")
    generator, width = np.random.default_rng(rng), request.decode_length
    workload = Workload((replace(request, share=Fraction(1)),))
    later = [
        poisson(workload, rate, count, rng=generator, per_iteration=clock is None)
        for _ in range(runs)
    ]
    crowd = saturated(workload, backlog)
    crowded = [_joined(crowd, table) for table in later]
    server = Server(engine, limits, clock, backend=backend)
    run = serve([*later, *crowded], server, every=width, keep_requests=False)
    end = xr.DataArray([table.arrival[-1] for table in later] * 2, dims="run")
    half = Span(end / 2, end)
    offered = [(table.arrival > table.arrival[-1] / 2).mean() * count for table in later] * 2
    columns = {
        "offered": np.array(offered) / (end / 2),
        "throughput": total(run, "completed", half, cut="linear") / (end / 2),
        "preemptions": total(run, "preempt", half, cut="linear") / (end / 2),
        "waiting": level(run, "waiting", end),
    }
    unit = run.attrs["unit"]
    titles = {
        "offered": (f"request / {unit}", "requests that come"),
        "throughput": (f"request / {unit}", "requests completed"),
        "preemptions": (f"request / {unit}", "preemptions"),
        "waiting": ("request", "requests waiting at the end, mean over l1 iterations"),
    }
    return dataset(
        {
            name: (("start", "run"), column.values.reshape(2, runs), *titles[name])
            for name, column in columns.items()
        },
        {"start": ("start", ["empty", "backlog"], "1", "who waits at the start")},
        seed=rng if isinstance(rng, int) else None,
        engine=run.attrs["engine"],
        unit=unit,
    )


def _joined(first: Requests, then: Requests) -> Requests:
    """Both tables of requests, the first ones first."""
    return Requests(
        *(
            np.concatenate([getattr(first, name), getattr(then, name)])
            for name in ("input_length", "output_length")
        ),
        arrival=np.concatenate([first.arrival, then.arrival]),
    )
