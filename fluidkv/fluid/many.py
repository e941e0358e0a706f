"""`simulate` over many systems: in parts that memory can hold, by either engine."""

from collections.abc import Iterator

import numpy as np
import xarray as xr
from jaxtyping import Float
from numpy.typing import ArrayLike

from fluidkv.errors import InputError
from fluidkv.fluid.choice import OF_MANY, on_cpu, takes_twin
from fluidkv.fluid.model import MassModel, class_model
from fluidkv.fluid.recorded import labelled, shape_of
from fluidkv.fluid.scan import Found, scan_systems
from fluidkv.fluid.states import read_states, spread
from fluidkv.systems import Systems

_NUMBERS = 2**24  # of a part, states and records: 128 MB


def simulate_systems(
    systems: Systems,
    start: ArrayLike,
    *,
    iterations: int,
    record: tuple[str, ...],
    every: int,
    engine: str,
    final_state: bool,
) -> xr.Dataset:
    """As `simulate`, which has checked all but the start.

    Raises:
        InputError: an engine that is none; see `read_states`.
    """
    if engine not in OF_MANY:
        raise InputError("engine", engine, "any of " + ", ".join(OF_MANY))
    states = read_states(systems, start)
    stages = int(systems.longest_decode.max())
    sizes = {
        "batch": states.masses.shape[1],
        "class": systems.decode_length.shape[1],
        "stage": stages,
        "iteration": iterations // every,
    }
    names = (*record, "final_state") if final_state else record
    found = {name: np.zeros((len(systems), *shape_of(name, sizes))) for name in names}
    run = _by_positions if _positions(engine) else _plain
    if sizes["class"] == 1 and takes_twin(engine, stages, record):
        run = _by_twin
    each = sum(int(np.prod(shape_of(name, sizes))) for name in (*record, "final_state"))
    for part in _parts(len(systems), each):
        model = class_model(systems[part], stages=stages)
        begun = spread(model, states.part(part))
        final, records = run(systems[part], model, begun, iterations, record, every)
        for name, values in ({"final_state": final} | records).items():
            if name in found:
                found[name][part] = values
    final = found.pop("final_state", None)
    return labelled(final, found, iterations, every, of=systems)


def _positions(engine: str) -> bool:
    """On a CPU, of two classes in unlike systems, it was faster than systems side by side by 2 to 8
    over the first 100 iterations and by 12 to 40 over 1,000, d = 21 to 200."""
    return engine == "positions" or (engine == "auto" and on_cpu())


def _parts(count: int, numbers: int) -> Iterator[slice]:
    size = max(1, _NUMBERS // numbers)
    for first in range(0, count, size):
        yield slice(first, min(first + size, count))


def _plain(
    systems: Systems,
    model: MassModel,
    start: Float[np.ndarray, "system batch class stage"],
    iterations: int,
    record: tuple[str, ...],
    every: int,
) -> Found:
    return scan_systems(model, start, iterations, record, every)


def _by_twin(
    systems: Systems,
    model: MassModel,
    start: Float[np.ndarray, "system batch class stage"],
    iterations: int,
    record: tuple[str, ...],
    every: int,
) -> Found:
    """One class each, on an accelerator: where trajectories end."""
    from fluidkv.fluid.positions.on_device import advance_on_device

    count, batch, stages = len(systems), start.shape[1], start.shape[-1]
    final = advance_on_device(
        np.repeat(systems.input_length[:, 0].astype(float), batch),
        np.repeat(systems.decode_length[:, 0], batch),
        np.repeat(model.capacity, batch),
        np.broadcast_to(start, (count, *start.shape[1:])).reshape(-1, stages),
        iterations,
    )
    return final.reshape(count, batch, 1, stages), {}


def _by_positions(
    systems: Systems,
    model: MassModel,
    start: Float[np.ndarray, "system batch class stage"],
    iterations: int,
    record: tuple[str, ...],
    every: int,
) -> Found:
    """A lane for each start of each system, which has its own place in the tables."""
    from fluidkv.fluid.positions.engine import advance  # its kernels are loaded here
    from fluidkv.fluid.positions.tables import pack

    count, batch = len(systems), start.shape[1]
    lengths = np.stack([systems.input_length, systems.decode_length], axis=-1)
    shape = (count, *start.shape[1:])
    found = advance(
        pack(lengths, model.shares, by_class=True),
        np.repeat(np.arange(count), batch),
        np.broadcast_to(start, shape).reshape(count * batch, *shape[2:]),
        np.repeat(model.capacity, batch),
        iterations=iterations,
        record=record,
        every=every,
    )
    records = {n: v.reshape(count, batch, *v.shape[1:]) for n, v in found.records.items()}
    return found.state.reshape(shape), records
