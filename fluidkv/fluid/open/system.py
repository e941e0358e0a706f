"""The mass model with arrivals and a queue: many runs at once, at many caps and loads.

`simulate` with an exogenous arrival process in place of the endless backlog, the paper's
"model-based simulator": a checked, labelled front of `rollout` with `open_step`. With a backlog
that never runs out and no cap the two are the same.

Source: Congestion, sections 2.2, 5.1 and 6.1, Appendix D.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Literal, NamedTuple, get_args

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jaxtyping import Array, Float
from numpy.typing import ArrayLike

from fluidkv.errors import InputError
from fluidkv.fluid import mass_map
from fluidkv.fluid.driver import Transition, rollout
from fluidkv.fluid.model import MassModel, class_model
from fluidkv.fluid.observers import Windows
from fluidkv.fluid.open.iteration import (
    Blocked,
    OpenModel,
    OpenState,
    Selection,
    open_step,
)
from fluidkv.fluid.states import class_states
from fluidkv.labels import Column, dataset
from fluidkv.runs.checks import count, floats
from fluidkv.runs.devices import local_devices, over_devices
from fluidkv.runs.precision import in_float64
from fluidkv.workload import System

CapOn = Literal["total", "class"]
"""What a cap x limits: a, the sum over classes, or each a_k to p_k x."""

_LANES = {"cpu": 256}  # of a block: 1,024 with their records cost 1.3 times as much per run


class _Record(NamedTuple):
    """What can be observed.

    Fields:
        read: of (model, transition) if it is summed over a window or is "last", of its last
            iteration; of (model, state) if it is a "level", of the state at its end.
        how: "sum", "last" or "level".
        dims, units, title: labels.
    """

    read: Callable[[Any, Any], Any]
    how: str
    dims: tuple[str, ...]
    units: str
    title: str


def _flow(name: str, title: str) -> _Record:
    return _Record(lambda _, made: getattr(made.flows, name), "sum", ("class",), "request", title)


def _level(read: Callable, dims: tuple[str, ...], units: str, title: str) -> _Record:
    of_masses = lambda model, state: read(model.mass, state.masses)  # noqa: E731
    return _Record(of_masses, "level", dims, units, title)


def _evicts(_: OpenModel, made: Transition) -> Array:
    return jnp.where(made.flows.front == mass_map.NO_FRONT, 0.0, 1.0)


_RECORDS: dict[str, _Record] = {
    "arrived": _flow("arrived", "requests arrived"),
    "admitted": _flow("admitted", "requests admitted"),
    "completed": _flow("completed", "requests completed"),
    "evicted": _flow("evicted", "requests evicted"),
    "lost": _flow("lost", "requests that left unserved"),
    "evicting": _Record(_evicts, "sum", (), "iteration", "iterations that evict"),
    "queue_time": _Record(
        lambda _, made: made.after.queue,
        "sum",
        ("class",),
        "request * iteration",
        "requests waiting, summed over iterations",
    ),
    "flight_time": _Record(
        lambda model, made: mass_map.in_flight(model.mass, made.after.masses),
        "sum",
        ("class",),
        "request * iteration",
        "requests running, summed over iterations",
    ),
    "queue": _Record(
        lambda _, state: state.queue, "level", ("class",), "request", "requests waiting"
    ),
    "memory": _level(mass_map.memory_used, (), "token", "memory in use"),
    "executed_memory": _Record(
        lambda _, made: made.flows.executed_memory,
        "last",
        (),
        "token",
        "memory after execution and before eviction",
    ),
    "in_flight": _level(mass_map.in_flight, ("class",), "request", "requests running"),
    "empty_stages": _level(mass_map.empty_stages, (), "1", "stages without mass (eviction level)"),
    "state": _level(
        lambda _, masses: masses, ("class", "stage"), "request", "mass by class and stage"
    ),
}
OPEN_RECORDS: tuple[str, ...] = tuple(_RECORDS)
"""What `simulate_open` can record, and `OpenWindows` observe."""


class OpenWindows(Windows):
    """As `Windows`, of the open map: flows summed over each window, and levels at its end.

    Fields:
        names: out of `OPEN_RECORDS`.

    Raises:
        InputError: a name that is none of them.

    Examples:
        >>> import jax
        >>> from fluidkv.fluid import OpenModel, OpenState, OpenWindows, open_step, rollout
        >>> system = fk.System(fk.Workload.from_lengths([(2, 3)]), capacity=24)
        >>> model = OpenModel(fk.class_model(system), np.array([2.5]))
        >>> with jax.enable_x64(True):
        ...     begun, watch = OpenState(np.zeros((1, 3)), np.zeros(1)), OpenWindows(("evicted",))
        ...     run = rollout(model, begun, 12, observe=watch, step=open_step, every=4)
        >>> np.round(run.observed["evicted"], 3).tolist()
        [[0.0], [0.903], [4.394]]
    """

    flows: ClassVar = {name: each.read for name, each in _RECORDS.items() if each.how != "level"}
    levels: ClassVar = {name: each.read for name, each in _RECORDS.items() if each.how == "level"}

    def init(self, model: OpenModel, state: OpenState) -> dict[str, Array]:
        by_class, single = jnp.zeros_like(state.queue), jnp.zeros((), state.queue.dtype)
        dims = {name: _RECORDS[name].dims for name in self.names if name in self.flows}
        return {name: by_class if along else single for name, along in dims.items()}

    def update(self, model: OpenModel, memory: dict[str, Array], transition: Transition) -> Any:
        sums = super().update(model, memory, transition)
        last = [name for name in memory if _RECORDS[name].how == "last"]
        return sums | {name: self.flows[name](model, transition) for name in last}


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
        >>> from fluidkv.fluid import simulate_open
        >>> system = fk.System(fk.Workload.from_lengths([(2, 3)]), capacity=24)
        >>> found = simulate_open(system, arrivals=np.full((12, 1), 1.5))
        >>> found.completed.sum().item(), found.memory[0, -1].item(), found.queue[0, -1].item()
        (13.5, 18.0, 0.0)
    """
    mass = _of_classes(model)
    rules = OpenModel(mass, np.empty(0), selection=selection, blocked=blocked)
    names = (record,) if isinstance(record, str) else tuple(record)
    for name in names:
        if name not in OPEN_RECORDS:
            raise InputError("record", name, "any of " + ", ".join(OPEN_RECORDS))
    watch = OpenWindows(tuple(name for name in OPEN_RECORDS if name in names))  # one order
    arrived, runs = _checked(mass, arrivals, start, queue, cap, cap_on)
    iterations = arrived.shape[-2]
    if iterations % count("every", every):
        raise InputError("every", every, f"a divisor of the {iterations} iterations of arrivals")

    def call(values: Any) -> dict[str, Any]:
        own, *others = values if arrived.ndim == 3 else (arrived, *values)
        return _rolled(rules, own, *others, watch, int(every))

    with in_float64():
        values = (arrived, *runs) if arrived.ndim == 3 else runs
        lanes = _LANES.get(local_devices()[0].platform)
        found = over_devices(call, values, axes=0, found_axes=0, lanes=lanes)
    variables: dict[str, Column] = {}
    for name in (*watch.names, "final_state", "final_queue"):
        final, known = name.startswith("final_"), _RECORDS[name.removeprefix("final_")]
        dims = ("batch", *(() if final else ("iteration",)), *known.dims)
        title = known.title + " after the last iteration" if final else known.title
        variables[name] = (dims, found[name], known.units, title)
    number, title = np.arange(every, iterations + 1, every), "n of the state that ends the window"
    coords: dict[str, Column] = {"iteration": ("iteration", number, "iteration", title)}
    system = model if isinstance(model, System) else None
    return dataset(variables, coords, system=system, every=every)


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
) -> dict[str, Any]:
    """Records of a batch, which comes first; arrivals (iteration, class) serve all of it."""

    def run(arrivals: Any, capacity: Any, cap: Any, class_cap: Any, masses: Any, queue: Any) -> Any:
        mass = replace(rules.mass, capacity=capacity)
        model = replace(rules, mass=mass, rates=arrivals, cap=cap, class_cap=class_cap)
        begun, iterations = OpenState(masses, queue), arrivals.shape[0]
        made = rollout(model, begun, iterations, observe=watch, step=open_step, every=every)
        return made.observed | {"final_state": made.state.masses, "final_queue": made.state.queue}

    # The batch is contiguous: what is sequential over stages is a short loop of long vectors.
    shared = arrivals.ndim == 2
    arrivals = arrivals if shared else jnp.moveaxis(arrivals, 0, -1)
    axes = (None if shared else -1, 0, 0, -1, -1, -1)
    last = (jnp.moveaxis(values, 0, -1) for values in (class_cap, masses, queue))
    found = jax.vmap(run, axes, out_axes=-1)(arrivals, capacity, cap, *last)
    return jax.tree.map(lambda values: jnp.moveaxis(values, -1, 0), found)


def _of_classes(model: MassModel | System) -> MassModel:
    model = class_model(model) if isinstance(model, System) else model
    if np.any((model.survival > 0) & (model.survival < 1)):
        raise InputError("model", "a cohort model", "a class model, as eviction changes the mix")
    if model.precision != "float64":
        raise InputError(
            "model", f"a model in {model.precision}", "float64; open_step takes either"
        )
    return model


def _checked(
    mass: MassModel,
    arrivals: ArrayLike,
    start: ArrayLike | None,
    queue: ArrayLike | None,
    cap: ArrayLike | None,
    cap_on: CapOn,
) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
    """Arrivals, (iteration, class) for all runs or (batch, iteration, class); and of each run the
    rest of what `_rolled` takes."""
    if cap_on not in get_args(CapOn):
        raise InputError("cap_on", cap_on, " or ".join(get_args(CapOn)))
    shares = mass.shares
    arrived = _amounts("arrivals", arrivals, ("iteration", "class"), shares.size)
    waiting = np.zeros_like(shares) if queue is None else queue
    waiting = _amounts("queue", waiting, ("class",), shares.size)
    allowed = "a rate above 0, requests per iteration, or a list of them; None is no cap"
    limit = floats("cap", np.inf if cap is None else cap, allowed)
    if limit.ndim > 1 or not limit.size or not np.all(limit > 0):
        raise InputError("cap", cap, allowed)
    masses = class_states(mass, np.zeros_like(mass.weights) if start is None else start)
    given = {
        "capacity": mass.capacity.shape,
        "start": masses.shape[:-2],
        "queue": waiting.shape[:-1],
        "cap": limit.shape,
        "arrivals": arrived.shape[:-2],
    }
    # What is given once has no leading axis, or one of length 1.
    lengths = {name: shape[0] for name, shape in given.items() if shape and shape[0] != 1}
    batch = max(lengths.values(), default=1)
    for name, length in lengths.items():
        if length != batch:
            raise InputError(name, f"a batch of {length}", f"1 or {batch}, as the longest has")
    # Both kinds of caps as arrays: another kind compiles nothing.
    total, by_class = limit, np.full(shares.shape, np.inf)
    if cap_on == "class":
        total, by_class = np.asarray(np.inf), limit[..., None] * shares
    return arrived if "arrivals" in lengths else arrived.reshape(-1, shares.size), (
        np.broadcast_to(mass.capacity, batch),
        np.broadcast_to(total, batch),
        np.broadcast_to(by_class, (batch, shares.size)),
        np.broadcast_to(masses, (batch, *mass.weights.shape)),
        np.broadcast_to(waiting, (batch, shares.size)),
    )


def _amounts(
    name: str, value: ArrayLike, axes: tuple[str, ...], classes: int
) -> Float[np.ndarray, "*axes class"]:
    """Requests of each class, over `axes`, with or without a batch axis."""
    allowed = f"amounts of at least 0, shape ({', '.join(axes)}) with {classes} classes, or a batch"
    values = floats(name, value, allowed)
    shaped = values.ndim in (len(axes), len(axes) + 1) and values.size
    if not shaped or values.shape[-1] != classes:
        raise InputError(name, f"shape {values.shape}", allowed)
    if not np.all(np.isfinite(values) & (values >= 0)):
        raise InputError(name, "a negative or non-finite amount", allowed)
    return values
