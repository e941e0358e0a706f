"""Runs of the open mass model that claims and figures share."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    from fluidkv.workload import System


@dataclass(frozen=True)
class Totals:
    """Means over the runs, by iteration or by request.

    Fields:
        throughput: requests completed an iteration.
        evicted: requests evicted an iteration.
        latency: iterations from arrival to completion, by Little's law; where the queue drifts it
            grows with the horizon and says no more than that.
        queue: requests waiting at the end.
    """

    throughput: float
    evicted: float
    latency: float
    queue: float


def one_class(input_length: int, decode_length: int, capacity: int) -> "System":
    from fluidkv.workload import RequestClass, System, Workload

    return System(Workload((RequestClass(input_length, decode_length),)), capacity)


def poisson(system: "System", rate: Any, *, iterations: int, count: int, seed: int) -> "np.ndarray":
    """Poisson arrivals with classes in their shares, `count` runs."""

    from fluidkv.fluid.open.arrivals import class_rates, poisson_arrivals, steady
    from fluidkv.fluid.precision import random_key

    rates = steady(class_rates(system.workload, rate), iterations=iterations)
    return poisson_arrivals(random_key(seed), rates, count=count)


def totals(system: "System", arrivals: "np.ndarray", **policy: Any) -> Totals:
    """Over all iterations and runs, from an empty server; `policy` goes to `simulate_open`."""
    from fluidkv.fluid.open.system import simulate_open

    iterations = arrivals.shape[-2]
    found = simulate_open(
        system,
        arrivals=arrivals,
        every=iterations,
        record=("completed", "evicted", "queue", "queue_time", "flight_time"),
        **policy,
    )
    by_run = found.sum(("class", "iteration")).mean("batch")
    completed = float(by_run.completed)
    return Totals(
        throughput=completed / iterations,
        evicted=float(by_run.evicted) / iterations,
        latency=float(by_run.queue_time + by_run.flight_time) / completed,
        queue=float(by_run.queue),
    )
