"""Many trajectories of the saturated mass model at once: start, iterate, record what is asked for.

`simulate` checks its input, runs in float64 whatever JAX's global setting is, and returns a
labelled dataset.
"""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import xarray as xr
from jaxtyping import Float
from numpy.typing import ArrayLike

from fluidkv.errors import InputError
from fluidkv.fluid.driver import check_counts
from fluidkv.fluid.labels.tables import Tables, of_model, pack
from fluidkv.fluid.model import MassModel, class_model
from fluidkv.fluid.plain import Rolled, roll_batch, roll_systems
from fluidkv.fluid.recorded import (
    check_room,
    checked_record,
    labelled,
    shape_of,
)
from fluidkv.fluid.states import class_states, read_states, spread
from fluidkv.runs.devices import kernels_on_gpu, local_devices
from fluidkv.systems import Systems
from fluidkv.workload import System

ENGINES = ("auto", "plain", "labels")

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
    counts = int(iterations), names, int(every)
    of = model if isinstance(model, System | MassModel) else Systems.of(model)
    if isinstance(of, Systems):
        final, records = _of_systems(of, start, *counts, engine, final_state)
    else:
        of_classes = class_model(of) if isinstance(of, System) else of
        final, records = _of_model(of_classes, start, *counts, engine, final_state)
    system = None if isinstance(of, MassModel) else of
    ends = {"final_state": final} if final_state else {}
    return labelled(records | ends, iterations, every, of=system)


def _of_model(
    model: MassModel,
    start: ArrayLike,
    iterations: int,
    record: tuple[str, ...],
    every: int,
    engine: str,
    final_state: bool,
) -> Rolled:
    state = class_states(model, start)
    if model.capacity.shape and len(state) == 1:
        state = np.broadcast_to(state, (*model.capacity.shape, *state.shape[1:]))
    sizes = dict(zip(("batch", "class", "stage"), state.shape, strict=True))
    names = (*record, "final_state") if final_state else record
    check_room(names, sizes | {"iteration": iterations // every})
    tables = of_model(model) if _wants_labels(engine) else None
    if tables is None:
        if engine == "labels":
            raise InputError("engine", engine, "auto or plain for weights of one's own or float32")
        return roll_batch(model, state, iterations, record, every)
    system = np.zeros(len(state), np.int64)
    return _by_labels(tables, system, state, model.capacity, iterations, record, every)


def _of_systems(
    systems: Systems,
    start: ArrayLike,
    iterations: int,
    record: tuple[str, ...],
    every: int,
    engine: str,
    final_state: bool,
) -> Rolled:
    """In parts that memory can hold; what a system does not have is 0."""
    states = read_states(systems, start)
    sizes = {
        "batch": states.shape[1],
        "class": systems.decode_length.shape[1],
        "stage": int(systems.longest_decode.max()),
        "iteration": iterations // every,
    }
    shapes = {name: shape_of(name, sizes) for name in (*record, "final_state")}
    kept = (*record, "final_state") if final_state else record
    check_room(kept, sizes, len(systems))
    whole = {name: np.empty((len(systems), *shapes[name])) for name in kept}
    labels = _wants_labels(engine)
    for part in _parts(len(systems), sum(int(np.prod(shape)) for shape in shapes.values())):
        model = class_model(systems[part], stages=sizes["stage"])
        begun = spread(model, states if len(states) == 1 else states[part])
        if labels:
            final, records = _many_by_labels(systems[part], model, begun, iterations, record, every)
        else:
            final, records = roll_systems(model, begun, iterations, record, every)
        for name, values in ({"final_state": final} | records).items():
            if name in whole:
                whole[name][part] = values
    return whole.pop("final_state", np.empty(0)), whole


def _many_by_labels(
    systems: Systems,
    model: MassModel,
    start: Float[np.ndarray, "system batch class stage"],
    iterations: int,
    record: tuple[str, ...],
    every: int,
) -> Rolled:
    """A lane for each start of each system, which has its own place in the tables."""
    count, batch = len(systems), start.shape[1]
    lengths = np.stack([systems.input_length, systems.decode_length], axis=-1)
    start = np.broadcast_to(start, (count, *start.shape[1:]))
    final, records = _by_labels(
        pack(lengths, model.shares, by_class=True),
        np.repeat(np.arange(count), batch),
        start.reshape(count * batch, *start.shape[2:]),
        np.repeat(model.capacity, batch),
        iterations,
        record,
        every,
    )
    apart = {name: v.reshape(count, batch, *v.shape[1:]) for name, v in records.items()}
    return final.reshape(start.shape), apart


def _by_labels(
    tables: Tables,
    system: np.ndarray,
    start: Float[np.ndarray, "lane class stage"],
    capacity: np.ndarray,
    iterations: int,
    record: tuple[str, ...],
    every: int,
) -> Rolled:
    from fluidkv.fluid.labels.engine import advance  # its kernel is loaded here

    capacity = np.broadcast_to(capacity, len(start))
    found = advance(
        tables, system, start, capacity, iterations=iterations, record=record, every=every
    )
    return found.state, found.records


def _wants_labels(engine: str) -> bool:
    """Whether labels are followed, where the model has them."""
    if engine != "auto":
        return engine == "labels"
    return local_devices()[0].platform == "cpu" or kernels_on_gpu()


def _parts(count: int, numbers: int) -> Iterator[slice]:
    size = max(1, _NUMBERS // numbers)
    for first in range(0, count, size):
        yield slice(first, min(first + size, count))
