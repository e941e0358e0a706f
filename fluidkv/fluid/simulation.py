"""Many trajectories of the saturated mass model at once: start, iterate, record what is asked for.

`simulate` checks its input, runs in float64 whatever JAX's global setting is, and returns a
labelled dataset.
"""

import math
from collections.abc import Iterable, Iterator, Sequence

import jax
import numpy as np
import xarray as xr
from jaxtyping import Float
from numpy.typing import ArrayLike

from fluidkv.errors import InputError
from fluidkv.fluid.driver import check_counts
from fluidkv.fluid.labels.tables import of_model
from fluidkv.fluid.model import MassModel, class_model
from fluidkv.fluid.plain import Rolled, roll
from fluidkv.fluid.recorded import check_room, checked_record, labelled, shape_of
from fluidkv.fluid.states import lifted, read_states, spread
from fluidkv.runs.devices import kernels_on_gpu, local_devices
from fluidkv.systems import Systems
from fluidkv.workload import System

ENGINES = ("auto", "plain", "labels")

_FINAL = "final_state"

_NUMBERS = 2**24  # of a part of many systems, states and records: 128 MB


def simulate(
    model: MassModel | System | Systems | Sequence[System],
    start: ArrayLike,
    *,
    iterations: int,
    record: Iterable[str] = ("admitted", "completed", "evicted", "memory"),
    every: int = 1,
    engine: str = "auto",
    final_state: bool = True,
) -> xr.Dataset:
    """Iterate the saturated mass model from one start or from many, of one system or of many.

    Args:
        model: from `class_model` or `cohort_model`; a `System` stands for its class model. Or
            `Systems`, or a sequence of `System`: each has its own starts.
        start: masses, requests (units of admission for cohorts), memory at or below capacity:
            (batch, class, stage) or (class, stage) by class, (batch, stage) of cohorts, of many
            systems with the axis of systems first. What `uniform_starts`, `perturbed_starts` and
            others return goes in as it is; `fluidkv.fluid.states` says what each shape means.
        iterations: how many, at least 1; a multiple of `every`.
        record: names out of `RECORDS`. Nothing else is computed or stored.
        every: length of a window, iterations. One record a window: `admitted`, `completed` and
            `evicted` are sums over it, the others are read after its last iteration.
        engine: "plain" computes each stage in each iteration, in JAX; "labels" follows what
            completes and what is used up (docs/mass_engine.md), in code compiled for the CPU, or
            for a GPU that JAX computes on where numba-cuda is installed. They agree up to rounding.
            "auto" takes "labels" there, "plain" elsewhere and for a model of one's own weights.
        final_state: whether to keep it: of many systems it may be the largest of all.

    Returns:
        A dataset with dimensions (system), batch, iteration, class, stage. The coordinate
        `iteration` is n of the state X^n that ends the window; the start is X^0. Variables are the
        records asked for and `final_state` (batch, class, stage), which can start another call.
        A cohort model has one class, which stands for all. Of many systems, the coordinates are
        theirs (`Systems.described`); what a system does not have is 0. `memory` may be a view that
        cannot be written to: it is the capacity, which every iteration fills.

    Raises:
        InputError: before anything runs, on a start of the wrong shape, negative, not finite, in a
            stage that its class does not have, or above capacity; on `iterations`, `every` or
            `record` outside of what is allowed; on an engine that is none, or that the model is
            not made for.

    Source: Congestion, equation (1) with the admission of section 4.1.

    Examples:
        >>> system = fk.System(fk.Workload.from_lengths([(2, 3)]), capacity=24)
        >>> found = fk.simulate(system, [[4, 3, 0]], iterations=12)
        >>> dict(found.sizes)
        {'batch': 1, 'iteration': 12, 'class': 1, 'stage': 3}
        >>> round(found.completed[0, -3:].mean().item(), 3), found.final_state.values[0].round(3)
        (1.6, array([[0., 6., 0.]]))
    """
    names = checked_record(record)
    check_counts(iterations, every)
    if engine not in ENGINES:
        raise InputError("engine", engine, "any of " + ", ".join(ENGINES))
    of = model if isinstance(model, System | MassModel) else Systems.of(model)
    states = read_states(of, start)
    classes = lifted(of if isinstance(of, MassModel) else class_model(of))
    systems, rows, stages = classes.weights.shape
    batch = max(states.shape[1], classes.capacity.shape[1])
    sizes = {"batch": batch, "iteration": iterations // every, "class": rows, "stage": stages}
    shapes = {name: shape_of(name, sizes) for name in (*names, _FINAL)}
    numbers = {name: math.prod(shape) for name, shape in shapes.items()}
    kept = (*names, _FINAL) if final_state else names
    check_room(kept, sizes, systems)
    values: dict[str, np.ndarray] = {}
    for part in _parts(systems, sum(numbers.values())):
        chosen = jax.tree.map(lambda field, part=part: field[part], classes)
        begun = spread(chosen, states if len(states) == 1 else states[part])
        whole = len(chosen.weights), *shapes[_FINAL]
        begun = begun if begun.shape == whole else np.broadcast_to(begun, whole)
        final, records = _roll(chosen, begun, int(iterations), names, int(every), engine)
        rolled = records | {_FINAL: final}
        if len(final) == systems:
            values = {name: rolled[name] for name in kept}
        else:
            for name in kept:
                values.setdefault(name, np.empty((systems, *shapes[name])))[part] = rolled[name]
    system = None if isinstance(of, MassModel) else of
    apart = values if isinstance(of, Systems) else {name: v[0] for name, v in values.items()}
    return labelled(apart, iterations, every, of=system)


def _roll(
    model: MassModel,
    start: Float[np.ndarray, "system batch class stage"],
    iterations: int,
    record: tuple[str, ...],
    every: int,
    engine: str,
) -> Rolled:
    """Final states and records, (system, batch, ...), by the engine that is asked for."""
    tables = of_model(model) if _wants_labels(engine) else None
    if tables is None:
        if engine == "labels":
            raise InputError("engine", engine, "auto or plain for weights of one's own or float32")
        return roll(model, start, iterations, record, every)
    from fluidkv.fluid.labels.engine import advance

    systems, batch = start.shape[:2]
    run = advance(
        tables,
        np.repeat(np.arange(systems), batch),
        start.reshape(-1, *start.shape[2:]),
        np.broadcast_to(model.capacity, (systems, batch)).ravel(),
        iterations=iterations,
        record=record,
        every=every,
    )
    apart = {name: v.reshape(systems, batch, *v.shape[1:]) for name, v in run.records.items()}
    return run.state.reshape(start.shape), apart


def _wants_labels(engine: str) -> bool:
    """Whether labels are followed, where the model has them."""
    if engine != "auto":
        return engine == "labels"
    return local_devices()[0].platform == "cpu" or kernels_on_gpu()


def _parts(count: int, numbers: int) -> Iterator[slice]:
    size = max(1, _NUMBERS // numbers)
    for first in range(0, count, size):
        yield slice(first, min(first + size, count))
