"""Many trajectories of the saturated mass model at once: start, iterate, record what is asked for.

`simulate` checks its input, runs in float64 whatever JAX's global setting is, and returns a
labelled dataset. `scan_trajectory` is the pure function below it, for engines and benchmarks.
"""

from collections.abc import Callable, Iterable
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jax import lax
from jaxtyping import Array, Float
from numpy.typing import ArrayLike

from fluidkv.errors import InputError
from fluidkv.fluid import iteration
from fluidkv.fluid.iteration import State, Step
from fluidkv.fluid.model import MassModel, class_model
from fluidkv.fluid.states import class_states
from fluidkv.runs.precision import in_float64
from fluidkv.workload import System

# A flow is summed over the iterations of a window; a level is read at the window's end.
_FLOWS: dict[str, tuple[Callable[[MassModel, Step], Array], str]] = {
    "admitted": (lambda model, step: step.admitted, "requests admitted"),
    "completed": (iteration.completed, "requests completed"),
    "evicted": (iteration.evicted, "requests evicted"),
}
_LEVELS: dict[str, tuple[Callable[[MassModel, State], Array], str]] = {
    "memory": (iteration.memory_used, "memory in use, tokens"),
    "in_flight": (iteration.in_flight, "requests running"),
    "empty_stages": (
        lambda model, state: iteration.empty_stages(state),
        "stages without mass (eviction level)",
    ),
    "state": (lambda model, state: state, "mass by class and stage"),
}

RECORDS: tuple[str, ...] = (*_FLOWS, *_LEVELS)
"""What `simulate` can record."""

# Public index order. The engine's own runs (iteration, stage, class, batch), see `iteration`.
_DIMS = {
    "memory": ("batch", "iteration"),
    "empty_stages": ("batch", "iteration"),
    "state": ("batch", "iteration", "class", "stage"),
}
_DIMS_OF_COUNTS = ("batch", "iteration", "class")


def simulate(
    model: MassModel | System,
    start: ArrayLike,
    *,
    iterations: int,
    record: Iterable[str] = ("admitted", "completed", "evicted", "memory"),
    every: int = 1,
) -> xr.Dataset:
    """Iterate the saturated mass model from one start or from many.

    Args:
        model: from `class_model` or `cohort_model`; a `System` stands for its class model.
        start: masses, shape (class, stage) for one trajectory or (batch, class, stage), requests
            (units of admission for a cohort model). Memory at or below capacity.
        iterations: how many, at least 1; a multiple of `every`.
        record: names out of `RECORDS`. Nothing else is computed or stored.
        every: length of a window, iterations. One record a window: `admitted`, `completed` and
            `evicted` are sums over it, the others are read after its last iteration.

    Returns:
        A dataset with dimensions batch, iteration, class, stage. The coordinate `iteration` is n
        of the state X^n that ends the window; the start is X^0. Variables are the records asked
        for and always `final_state` (batch, class, stage), which can start another call.
        A cohort model has one class, which stands for all.

    Raises:
        InputError: before any JAX runs, on a start of the wrong shape, negative, not finite, in a
            stage that its class does not have, or above capacity; on `iterations`, `every` or
            `record` outside of what is allowed.

    Source: Congestion, equation (1) with the admission of section 4.1.
    """
    model = class_model(model) if isinstance(model, System) else model
    names = _checked_record(record)
    _check_counts(iterations, every)
    state = _checked_start(model, start)
    with in_float64():
        final, records = _scan_jit(model, state, iterations, names, every)
        return _dataset(np.asarray(final), jax.device_get(records), iterations, every)


def scan_trajectory(
    model: MassModel,
    state: State,
    iterations: int,
    record: tuple[str, ...] = (),
    every: int = 1,
) -> tuple[State, dict[str, Float[Array, " window ..."]]]:
    """The engine: final state and records, in the engine's index order (stage, class, batch).

    Pure; `iterations`, `record` and `every` are static. Checks nothing. Call it under
    `in_float64`.
    """

    def one(state: State) -> tuple[State, dict[str, Array]]:
        step = iteration.iterate(model, state)
        return step.state, {name: _FLOWS[name][0](model, step) for name in record if name in _FLOWS}

    def window(state: State, _: None) -> tuple[State, dict[str, Array]]:
        state, flows = one(state)
        if every > 1:

            def more(carry, _):
                state, sums = carry
                state, flows = one(state)
                return (state, jax.tree.map(jnp.add, sums, flows)), None

            (state, flows), _ = lax.scan(more, (state, flows), None, length=every - 1)
        levels = {name: _LEVELS[name][0](model, state) for name in record if name in _LEVELS}
        return state, flows | levels

    return lax.scan(window, state, None, length=iterations // every)


@partial(jax.jit, static_argnames=("iterations", "record", "every"))
def _scan_jit(model, state, iterations, record, every):
    """`scan_trajectory` between public index orders, (batch, class, stage) in and out."""
    final, records = scan_trajectory(model, state.transpose(2, 1, 0), iterations, record, every)
    return final.transpose(2, 1, 0), records


def _dataset(
    final: np.ndarray, records: dict[str, np.ndarray], iterations: int, every: int
) -> xr.Dataset:
    variables = {
        # Reversed: batch first. Then iteration, which the engine has first, moves behind batch.
        name: (
            _DIMS.get(name, _DIMS_OF_COUNTS),
            np.moveaxis(values.transpose(), -1, 1),
            {"long_name": (_FLOWS.get(name) or _LEVELS[name])[1]},
        )
        for name, values in records.items()
    }
    variables["final_state"] = (
        ("batch", "class", "stage"),
        final,
        {"long_name": "mass by class and stage after the last iteration"},
    )
    coordinate = np.arange(every, iterations + 1, every)
    return xr.Dataset(variables, coords={"iteration": coordinate}, attrs={"every": every})


def _checked_record(record: Iterable[str]) -> tuple[str, ...]:
    asked = (record,) if isinstance(record, str) else tuple(record)
    for name in asked:
        if name not in RECORDS:
            raise InputError("record", name, "any of " + ", ".join(RECORDS))
    # A fixed order: the same set of names is the same compiled function.
    return tuple(name for name in RECORDS if name in asked)


def _check_counts(iterations: object, every: object) -> None:
    for name, value in (("iterations", iterations), ("every", every)):
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
            raise InputError(name, value, "an integer of at least 1")
    if iterations % every:  # pyright: ignore[reportOperatorIssue]
        raise InputError("iterations", iterations, f"a multiple of every={every}")


def _checked_start(model: MassModel, start: ArrayLike) -> Float[np.ndarray, "batch class stage"]:
    state = class_states(model, start)
    batch = model.capacity.shape
    if batch and state.shape[0] == 1:
        state = np.broadcast_to(state, (*batch, *state.shape[1:]))
    return state
