"""Runs of the open mass model that claims and figures share."""

from dataclasses import dataclass
from typing import Any

from fluidkv import fluid, runs
from fluidkv.ledger import np
from fluidkv.workload import RequestClass, System, Workload


@dataclass(frozen=True)
class Totals:
    """Means over the runs, by iteration or by request.

    Fields:
        throughput: requests completed per iteration.
        evicted: requests evicted per iteration.
        latency: iterations from arrival to completion, by Little's law; where the queue drifts it
            grows with the horizon and says no more than that.
        queue: requests waiting at the end.
    """

    throughput: float
    evicted: float
    latency: float
    queue: float


def one_class(input_length: int, decode_length: int, capacity: int) -> System:
    return System(Workload((RequestClass(input_length, decode_length),)), capacity)


def poisson(system: System, rate: Any, *, iterations: int, count: int, seed: int) -> "np.ndarray":
    """Poisson arrivals with classes in their shares, `count` runs."""
    rates = fluid.class_rates(system.workload, np.full(iterations, float(rate)))
    return fluid.poisson_arrivals(runs.random_key(seed), rates, count=count)


def totals(system: System, arrivals: "np.ndarray", **policy: Any) -> Totals:
    """Over all iterations and runs, from an empty server; `policy` goes to `simulate_open`."""
    iterations = arrivals.shape[-2]
    found = fluid.simulate_open(
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
