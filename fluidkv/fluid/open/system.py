"""The mass model with arrivals and a queue: many runs at once, at many caps and loads.

`simulate` with an exogenous arrival process in place of the endless backlog, the paper's
"model-based simulator". With a backlog that never runs out and no cap the two are the same.

Source: Congestion, sections 2.2, 5.1 and 6.1, Appendix D.
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jax import lax
from jaxtyping import Array, Float
from numpy.typing import ArrayLike

from fluidkv.errors import InputError
from fluidkv.fluid import iteration
from fluidkv.fluid.iteration import State
from fluidkv.fluid.model import MassModel, class_model
from fluidkv.fluid.open import inputs as checked
from fluidkv.fluid.open.iteration import (
    Blocked,
    Cap,
    CapOn,
    OpenStep,
    Queue,
    Selection,
    iterate_open,
)
from fluidkv.labels import Column, completed, dataset
from fluidkv.runs.precision import in_float64
from fluidkv.workload import System


class _Record(NamedTuple):
    """How a record is read off an iteration; `axes` are its dimensions after batch, iteration."""

    read: Callable[[MassModel, OpenStep], Array]
    axes: tuple[str, ...]
    name: str
    unit: str = "request"


# A flow is summed over the iterations of a window; a level is read at the window's end.
_FLOWS: dict[str, _Record] = {
    "arrived": _Record(lambda _, step: step.arrived, ("class",), "requests arrived"),
    "admitted": _Record(lambda _, step: step.masses.admitted, ("class",), "requests admitted"),
    "completed": _Record(
        lambda model, step: iteration.completed(model, step.masses),
        ("class",),
        "requests completed",
    ),
    "evicted": _Record(
        lambda model, step: iteration.evicted(model, step.masses), ("class",), "requests evicted"
    ),
    "lost": _Record(lambda _, step: step.lost, ("class",), "requests that left unserved"),
    "evicting": _Record(lambda _, step: _evicting(step), (), "iterations that evict", "iteration"),
    "queue_time": _Record(
        lambda _, step: step.queue,
        ("class",),
        "requests waiting, summed over iterations",
        "request * iteration",
    ),
    "flight_time": _Record(
        lambda model, step: iteration.in_flight(model, step.masses.state),
        ("class",),
        "requests running, summed over iterations",
        "request * iteration",
    ),
}
_LEVELS: dict[str, _Record] = {
    "queue": _Record(lambda _, step: step.queue, ("class",), "requests waiting"),
    "memory": _Record(
        lambda model, step: iteration.memory_used(model, step.masses.state),
        (),
        "memory in use",
        "token",
    ),
    "executed_memory": _Record(
        lambda model, step: iteration.memory_used(model, step.masses.executed),
        (),
        "memory after execution and before eviction",
        "token",
    ),
    "in_flight": _Record(
        lambda model, step: iteration.in_flight(model, step.masses.state),
        ("class",),
        "requests running",
    ),
    "empty_stages": _Record(
        lambda _, step: iteration.empty_stages(step.masses.state),
        (),
        "stages without mass (eviction level)",
        "1",
    ),
    "state": _Record(
        lambda _, step: step.masses.state, ("class", "stage"), "mass by class and stage"
    ),
}

OPEN_RECORDS: tuple[str, ...] = (*_FLOWS, *_LEVELS)
"""What `simulate_open` can record."""


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
        selection: who is admitted when not all that waits can be; see `open_iteration`.
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
    system, model = model if isinstance(model, System) else None, _of_classes(model)
    checked.check_choices(selection=selection, cap_on=cap_on, blocked=blocked)
    names = checked.records(record, OPEN_RECORDS)
    arrived = checked.amounts("arrivals", arrivals, ("iteration", "class"), model)
    checked.check_windows(arrived.shape[-2], every)
    queued = np.zeros(model.shares.shape) if queue is None else queue
    waiting = checked.amounts("queue", queued, ("class",), model)
    limit = checked.caps(cap)
    masses = checked.masses(model, np.zeros_like(model.weights) if start is None else start)
    batch = checked.common_batch(
        capacity=model.capacity.shape,
        start=masses.shape[:-2],
        queue=waiting.shape[:-1],
        cap=limit.shape,
        arrivals=arrived.shape[:-2],
    )
    checked.check_memory(model, masses)
    with in_float64():
        final, left, records = _scan_jit(
            model,
            np.broadcast_to(masses, (batch, *masses.shape[-2:])),
            np.broadcast_to(waiting, (batch, waiting.shape[-1])),
            arrived.reshape(-1, *arrived.shape[-2:]),
            _cap(model, np.broadcast_to(limit, (batch,)), cap_on),
            selection,
            blocked,
            names,
            every,
        )
        final, left, records = jax.device_get((final, left, records))
    return completed(_dataset(final, left, records, arrived.shape[-2], every), system=system)


def _of_classes(model: MassModel | System) -> MassModel:
    model = class_model(model) if isinstance(model, System) else model
    if np.any((model.survival > 0) & (model.survival < 1)):
        raise InputError("model", "a cohort model", "a class model, as eviction changes the mix")
    return model


def scan_open(
    model: MassModel,
    state: State,
    queue: Queue,
    arrivals: Float[Array, "iteration class batch"],
    cap: Cap,
    *,
    selection: Selection = "queued",
    blocked: Blocked = "wait",
    record: tuple[str, ...] = (),
    every: int = 1,
) -> tuple[State, Queue, dict[str, Float[Array, " window ..."]]]:
    """The engine: final masses and queue, and records, in the engine's order (stage, class, batch).

    Pure; the keyword arguments are static. Arrivals of batch length 1 serve all runs. Checks
    nothing. Call it under `in_float64`.
    """

    def one(carry: Any, arrived: Array) -> tuple[Any, None]:
        state, queue, sums, _ = carry
        arrived = jnp.broadcast_to(arrived, queue.shape)
        step = iterate_open(model, state, queue, arrived, cap, selection=selection, blocked=blocked)
        flows = {name: _FLOWS[name].read(model, step) for name in sums}
        levels = {name: _LEVELS[name].read(model, step) for name in record if name in _LEVELS}
        return (step.masses.state, step.queue, jax.tree.map(jnp.add, sums, flows), levels), None

    def window(carry: tuple[State, Queue], arrived: Array) -> tuple[Any, dict[str, Array]]:
        # One loop body for every iteration, levels included: it compiles once, in half the time
        # of a body that reads the last iteration apart.
        last, _ = lax.scan(one, (*carry, *zeros), arrived)
        return last[:2], last[2] | last[3]

    step = jax.eval_shape(
        lambda a: iterate_open(model, state, queue, a, cap, selection=selection, blocked=blocked),
        queue,
    )
    zeros = tuple(
        {
            name: jnp.zeros(made.shape, made.dtype)
            for name in record
            if name in table
            for made in [jax.eval_shape(partial(table[name].read, model), step)]
        }
        for table in (_FLOWS, _LEVELS)
    )
    windows = arrivals.reshape(-1, every, *arrivals.shape[1:])
    (state, queue), records = lax.scan(window, (state, queue), windows)
    return state, queue, records


@partial(jax.jit, static_argnames=("selection", "blocked", "record", "every"))
def _scan_jit(
    model, state, queue, arrivals, cap, selection, blocked, record, every
) -> tuple[Array, Array, dict[str, Array]]:
    """`scan_open` between public index orders, (batch, ...) in and out."""
    final, left, records = scan_open(
        model,
        state.transpose(2, 1, 0),
        queue.transpose(),
        arrivals.transpose(1, 2, 0),
        Cap(cap.total, cap.classes.transpose()),
        selection=selection,
        blocked=blocked,
        record=record,
        every=every,
    )
    return final.transpose(2, 1, 0), left.transpose(), records


def _cap(model: MassModel, limit: np.ndarray, cap_on: CapOn) -> Cap:
    """Both kinds as arrays, (batch,) and (batch, class): changing the kind compiles nothing."""
    none = np.full((*limit.shape, model.shares.size), np.inf)
    if cap_on == "total":
        return Cap(limit, none)  # pyright: ignore[reportArgumentType] (NumPy until jit)
    return Cap(none[:, 0], limit[:, None] * model.shares)  # pyright: ignore[reportArgumentType]


def _evicting(step: OpenStep) -> Array:
    lighter = jnp.any(step.masses.kept != step.masses.executed, axis=(0, 1))
    return jnp.where(lighter, 1.0, 0.0)


def _dataset(
    final: np.ndarray,
    left: np.ndarray,
    records: dict[str, np.ndarray],
    iterations: int,
    every: int,
) -> xr.Dataset:
    variables = {}
    for name, values in records.items():
        made = _FLOWS.get(name) or _LEVELS[name]
        # Reversed: batch first. Then iteration, which the engine has first, moves behind batch.
        ordered = np.moveaxis(values.transpose(), -1, 1)
        variables[name] = ("batch", "iteration", *made.axes), ordered, made.unit, made.name
    variables["final_state"] = (
        ("batch", "class", "stage"),
        final,
        "request",
        "mass by class and stage after the last iteration",
    )
    variables["final_queue"] = (
        ("batch", "class"),
        left,
        "request",
        "requests waiting after the last iteration",
    )
    number = np.arange(every, iterations + 1, every)
    coords: dict[str, Column] = {
        "iteration": ("iteration", number, "iteration", "n of the state that ends the window")
    }
    return dataset(variables, coords, every=every)
