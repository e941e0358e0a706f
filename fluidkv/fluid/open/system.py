"""The mass model with arrivals and a queue: many runs at once, at many caps and loads.

`simulate` with an exogenous arrival process in place of the endless backlog, the paper's
"model-based simulator": a checked, labelled front of `rollout` with `open_step`. With a backlog
that never runs out and no cap the two are the same.

Source: Congestion, sections 2.2, 5.1 and 6.1, Appendix D.
"""

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Any, Literal, get_args

import jax
import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from fluidkv.errors import InputError
from fluidkv.fluid.driver import rollout
from fluidkv.fluid.model import MassModel, class_model
from fluidkv.fluid.open import inputs as checked
from fluidkv.fluid.open.iteration import (
    OPEN_FLOWS,
    OPEN_LEVELS,
    Blocked,
    OpenModel,
    OpenState,
    OpenWindows,
    Selection,
    open_step,
)
from fluidkv.fluid.states import class_states
from fluidkv.labels import Column, completed, dataset
from fluidkv.runs.precision import in_float64
from fluidkv.workload import System

CapOn = Literal["total", "class"]
"""What a cap x limits: a, the sum over classes, or each a_k to p_k x."""

OPEN_RECORDS: tuple[str, ...] = (*OPEN_FLOWS, *OPEN_LEVELS)
"""What `simulate_open` can record."""

_BY_CLASS, _STATE = ("class",), ("class", "stage")
_LABELS: dict[str, tuple[tuple[str, ...], str, str]] = {
    "arrived": (_BY_CLASS, "request", "requests arrived"),
    "admitted": (_BY_CLASS, "request", "requests admitted"),
    "completed": (_BY_CLASS, "request", "requests completed"),
    "evicted": (_BY_CLASS, "request", "requests evicted"),
    "lost": (_BY_CLASS, "request", "requests that left unserved"),
    "evicting": ((), "iteration", "iterations that evict"),
    "queue_time": (_BY_CLASS, "request * iteration", "requests waiting, summed over iterations"),
    "flight_time": (_BY_CLASS, "request * iteration", "requests running, summed over iterations"),
    "queue": (_BY_CLASS, "request", "requests waiting"),
    "memory": ((), "token", "memory in use"),
    "executed_memory": ((), "token", "memory after execution and before eviction"),
    "in_flight": (_BY_CLASS, "request", "requests running"),
    "empty_stages": ((), "1", "stages without mass (eviction level)"),
    "state": (_STATE, "request", "mass by class and stage"),
    "final_state": (_STATE, "request", "mass by class and stage after the last iteration"),
    "final_queue": (_BY_CLASS, "request", "requests waiting after the last iteration"),
}


def simulate_open(
    model: MassModel | System,
    *,
    arrivals: ArrayLike,
    start: ArrayLike | None = None,
    queue: ArrayLike | None = None,
    cap: ArrayLike | None = None,
    cap_on: CapOn = "total",
    selection: Selection = "queued",
    blocked: Blocked = "wait",
    record: Iterable[str] = ("admitted", "completed", "evicted", "memory", "queue"),
    every: int = 1,
) -> xr.Dataset:
    """Iterate the mass model under arrivals, one run or a batch of them.

    A batch is as long as the longest of capacities, starts, queues, caps and arrivals; each of
    these is given once for all runs, or once for each run. A sweep over caps on one array of
    arrivals compares them on the same sample, and compiles once.

    Args:
        model: from `class_model`; a `System` stands for its class model. A cohort model only of a
            single class: eviction changes which classes wait.
        arrivals: A^n_k, requests, shape (iteration, class) or (batch, iteration, class); they need
            not be whole. They also say how many iterations there are, a multiple of `every`.
        start: masses as in `simulate`; None is an empty server.
        queue: requests that wait at the start, (class,) or (batch, class); None is nobody.
        cap: rate limit x on admission, requests per iteration, one number or one for each run;
            None, or infinity, is greedy. The paper's policy is x*.
        cap_on: "total" limits a to x, as the paper prints it; "class" limits each a_k to p_k x.
        selection: what is admitted when not all that waits can be: see `fluidkv.fluid.OpenModel`.
        blocked: "wait", as the paper's section 2.2 says; or "lost": what is not admitted in the
            iteration in which it arrives or is evicted leaves. Congestion's Table 8 fits the
            latter only.
        record: names out of `OPEN_RECORDS`. Nothing else is stored.
        every: iterations of a window, which is one record: queue, memory, executed_memory,
            in_flight, empty_stages and state are of its last iteration, others are sums.

    Returns:
        A dataset with dimensions batch, iteration, class, stage; variables are the records asked
        for and always `final_state` and `final_queue`, which can start another call. By Little's
        law (queue_time + flight_time) / completed is the mean time in the system, in iterations,
        where the queue does not drift.

    Raises:
        InputError: before any JAX runs, on an argument outside of what is allowed, batches of
            different lengths, or a cohort model of classes with different decode lengths.

    Source: Congestion, sections 2.2 and 5.1.

    Examples:
        >>> from fluidkv.fluid import simulate_open, steady
        >>> system = fk.System(fk.Workload.from_lengths([(2, 3)]), capacity=24)
        >>> found = simulate_open(system, arrivals=steady(np.array([1.5]), iterations=12))
        >>> found.completed.sum().item(), found.memory[0, -1].item(), found.queue[0, -1].item()
        (13.5, 18.0, 0.0)
    """
    system = model if isinstance(model, System) else None
    mass = _of_classes(model)
    rules = OpenModel(mass, np.empty(0), selection=selection, blocked=blocked)
    watch = OpenWindows((record,) if isinstance(record, str) else tuple(record))
    watch = OpenWindows(tuple(name for name in OPEN_RECORDS if name in watch.names))  # one order
    arrays = _arrays(mass, arrivals, start, queue, cap, cap_on)
    iterations = arrays[0].shape[-2]
    checked.check_windows(iterations, every)
    with in_float64():
        final, observed = _rolled(rules, *arrays, watch, int(every))
        final, observed = jax.device_get((final, observed))
    ends = {"final_state": final.masses, "final_queue": final.queue}
    return completed(_dataset(observed, ends, iterations, every), system=system)


def _of_classes(model: MassModel | System) -> MassModel:
    model = class_model(model) if isinstance(model, System) else model
    if np.any((model.survival > 0) & (model.survival < 1)):
        raise InputError("model", "a cohort model", "a class model, as eviction changes the mix")
    if model.precision != "float64":
        raise InputError(
            "model", f"a model in {model.precision}", "float64; open_step takes either"
        )
    return model


def _arrays(
    mass: MassModel,
    arrivals: ArrayLike,
    start: ArrayLike | None,
    queue: ArrayLike | None,
    cap: ArrayLike | None,
    cap_on: CapOn,
) -> tuple[np.ndarray, ...]:
    """What `_rolled` takes, checked; of each run, or arrivals (iteration, class) for all."""
    if cap_on not in get_args(CapOn):
        raise InputError("cap_on", cap_on, " or ".join(get_args(CapOn)))
    shares = mass.shares
    arrived = checked.amounts("arrivals", arrivals, ("iteration", "class"), shares.size)
    waiting = np.zeros_like(shares) if queue is None else queue
    waiting = checked.amounts("queue", waiting, ("class",), shares.size)
    limit = checked.caps(cap)
    masses = class_states(mass, np.zeros_like(mass.weights) if start is None else start)
    batch = checked.common_batch(
        capacity=mass.capacity.shape,
        start=masses.shape[:-2],
        queue=waiting.shape[:-1],
        cap=limit.shape,
        arrivals=arrived.shape[:-2],
    )
    # Both kinds of caps as arrays: another kind compiles nothing.
    total, by_class = limit, np.full(shares.shape, np.inf)
    if cap_on == "class":
        total, by_class = np.inf, limit[..., None] * shares
    return (
        arrived if arrived.ndim == 3 and len(arrived) > 1 else arrived.reshape(-1, shares.size),
        np.broadcast_to(mass.capacity, batch),
        np.broadcast_to(total, batch),
        np.broadcast_to(by_class, (batch, shares.size)),
        np.broadcast_to(masses, (batch, *mass.weights.shape)),
        np.broadcast_to(waiting, (batch, shares.size)),
    )


@partial(jax.jit, static_argnames="every")
def _rolled(
    rules: OpenModel,
    arrivals: Any,
    capacity: Any,
    cap: Any,
    class_cap: Any,
    masses: Any,
    queue: Any,
    watch: OpenWindows,
    every: int,
) -> tuple[OpenState, dict[str, Any]]:
    """A batch; arrivals (iteration, class) serve all of it."""

    def run(arrivals: Any, capacity: Any, cap: Any, class_cap: Any, masses: Any, queue: Any) -> Any:
        mass = replace(rules.mass, capacity=capacity)
        model = replace(rules, mass=mass, rates=arrivals, cap=cap, class_cap=class_cap)
        begun, iterations = OpenState(masses, queue), arrivals.shape[0]
        made = rollout(model, begun, iterations, observe=watch, step=open_step, every=every)
        return made.state, made.observed

    axes = (None if arrivals.ndim == 2 else 0, 0, 0, 0, 0, 0)
    return jax.vmap(run, axes)(arrivals, capacity, cap, class_cap, masses, queue)


def _dataset(
    records: dict[str, np.ndarray], ends: dict[str, np.ndarray], iterations: int, every: int
) -> xr.Dataset:
    """Records (batch, window, ...), and what is after the last iteration (batch, ...)."""
    variables: dict[str, Column] = {}
    for name, values in (records | ends).items():
        axes, unit, title = _LABELS[name]
        windows = ("iteration",) if name in records else ()
        variables[name] = ("batch", *windows, *axes), values, unit, title
    title = "n of the state that ends the window"
    number = np.arange(every, iterations + 1, every)
    coords: dict[str, Column] = {"iteration": ("iteration", number, "iteration", title)}
    return dataset(variables, coords, every=every)
