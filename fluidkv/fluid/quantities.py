"""What can be read off a trajectory of any map of this package, and how it is labelled.

Observers read it, datasets are labelled with it. Without open arrivals there is no queue, and
nothing arrives or is lost. What a map does not have is refused by name
while it is traced.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool

from fluidkv.errors import InputError
from fluidkv.fluid import mass_map
from fluidkv.fluid.driver import Transition


class Quantity(NamedTuple):
    """One of them.

    Fields:
        kind: "flow", which is summed over a window; "last", of its last iteration; "level", of the
            state at its end.
        units, title: in a dataset.
        dims: its own; of a state (stage,) without the axis of classes.
        compute: of (model, transition), or a level of (model, state); None: the flow of its name.
    """

    kind: str
    units: str
    title: str
    dims: tuple[str, ...] = ("class",)
    compute: Callable[[Any, Any], Array] | None = None


def read(name: str, model: Any, observed: Any) -> Array:
    """A quantity of a transition, or a level of a state."""
    compute = QUANTITIES[name].compute
    return _part("flows", observed.flows, name) if compute is None else compute(model, observed)


def names_of(*kinds: str) -> tuple[str, ...]:
    """The quantities of these kinds."""
    return tuple(name for name, quantity in QUANTITIES.items() if quantity.kind in kinds)


def evicts(_: Any, made: Transition) -> Bool[Array, ""]:
    """Whether an iteration evicts."""
    return _part("flows", made.flows, "front") != mass_map.NO_FRONT


def masses_of(state: Any) -> Any:
    """Those of a state of any map."""
    return getattr(state, "masses", state)


def _of_masses(function: Callable[[Any, Array], Array]) -> Callable[[Any, Any], Array]:
    def level(model: Any, state: Any) -> Array:
        masses = masses_of(state)
        values = function(getattr(model, "mass", model), jnp.atleast_2d(masses))
        return values.reshape(masses.shape[:-1]) if values.ndim else values

    return level


def _part(what: str, values: Any, name: str) -> Array:
    """A field.

    Raises:
        InputError: while tracing, of a map that has no such flow, or no such part of its state.
    """
    part = getattr(values, name, None)
    if part is None:
        raise InputError("observe", name, f"what the {what} of its map have")
    return part


def _queue(_: Any, state: Any) -> Array:
    return _part("states", state, "queue")


_in_flight = _of_masses(mass_map.in_flight)

QUANTITIES: dict[str, Quantity] = {
    "arrived": Quantity("flow", "request", "requests arrived"),
    "admitted": Quantity("flow", "request", "requests admitted"),
    "completed": Quantity("flow", "request", "requests completed"),
    "evicted": Quantity("flow", "request", "requests evicted"),
    "evicted_tokens": Quantity("flow", "token", "tokens evicted", ()),
    "lost": Quantity("flow", "request", "requests that left unserved"),
    "evicting": Quantity(
        "flow",
        "iteration",
        "iterations that evict",
        (),
        lambda model, made: evicts(model, made).astype(masses_of(made.after).dtype),
    ),
    "queue_time": Quantity(
        "flow",
        "request * iteration",
        "requests waiting, summed over iterations",
        compute=lambda model, made: _queue(model, made.after),
    ),
    "flight_time": Quantity(
        "flow",
        "request * iteration",
        "requests running, summed over iterations",
        compute=lambda model, made: _in_flight(model, made.after),
    ),
    "executed_memory": Quantity("last", "token", "memory after execution and before eviction", ()),
    "queue": Quantity("level", "request", "requests waiting", compute=_queue),
    "memory": Quantity("level", "token", "memory in use", (), _of_masses(mass_map.memory_used)),
    "in_flight": Quantity("level", "request", "requests running", compute=_in_flight),
    "empty_stages": Quantity(
        "level",
        "1",
        "stages without mass (eviction level)",
        (),
        _of_masses(mass_map.empty_stages),
    ),
    "state": Quantity(
        "level",
        "request",
        "mass by class and stage",
        ("class", "stage"),
        lambda _, state: masses_of(state),
    ),
}
"""By name: what observers can read, and datasets hold.

>>> from fluidkv.fluid import QUANTITIES
>>> QUANTITIES["queue_time"].units, QUANTITIES["state"].dims
('request * iteration', ('class', 'stage'))
"""
