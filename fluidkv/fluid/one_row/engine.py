"""`advance_row`: a batch of trajectories of a model of one row, in groups, recorded by window."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from fluidkv.fluid.model import MassModel
from fluidkv.fluid.one_row.follow import Row, Windows, follow
from fluidkv.processes import cores
from fluidkv.runs.batch import Reached, Watch, go_on, in_groups

_SLOTS = 64  # of a group: several vectors, and the states of 1,000 stages stay in a core's cache
_CALL = 2**28  # masses times iterations of a call, below a second: between two an interrupt counts
_NUMBERS = 2**24  # of the records of a call


def advance_row(
    model: MassModel,
    start: Float[np.ndarray, "batch 1 stage"],
    *,
    iterations: int,
    record: Sequence[str] = (),
    every: int = 1,
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Iterate all trajectories. Checks nothing.

    Args:
        model: `has_one_row`; `capacity` may be one a trajectory.
        start: masses with memory at or below capacity.
        iterations: a multiple of `every`.
        record: names out of the fields of `Windows`.
        every: length of a window.

    Returns:
        Final masses (batch, 1, stage); records by name, (batch, window, 1), memory and empty_stages
        (batch, window), state (batch, window, 1, stage). The same bits for any group and record.
    """
    weights, capacity = model.weights[0], np.broadcast_to(model.capacity, len(start))
    row, masses = _row(model), start[:, 0] * weights / capacity[:, None]
    slots, stages = min(_SLOTS, len(start)), len(weights)
    every, kept = (
        (every, record) if record else (min(iterations, _CALL // (slots * stages) + 1), ())
    )
    shape = (len(start), iterations // every)
    records = {name: np.empty((*shape, stages) if name == "state" else shape) for name in kept}
    watch = Watch()
    most = max(1, _CALL // (slots * stages * every))
    most = min(most, max(1, _NUMBERS // (slots * (stages if "state" in kept else 1))))

    def run(members: np.ndarray) -> None:
        at = slice(members[0], members[-1] + 1)
        shares, shift = np.ascontiguousarray(masses[at].T), 0

        def on(now: int) -> Reached:
            nonlocal shift
            length = min(every, iterations - now)
            windows = min(most, (iterations - now) // length)
            out = _room(windows, stages if "state" in kept else 0, len(members))
            shift = follow(row, shares, shift, windows, length, out)
            for name, values in records.items():
                first = now // every
                values[at, first : first + windows] = np.moveaxis(getattr(out, name), -1, 0)
            then = now + windows * length
            return Reached(then, then * len(members), 0, then < iterations)

        go_on(on, iterations, watch)
        masses[at] = np.roll(shares, -shift, axis=0).T

    in_groups(run, len(start), slots, min(cores(), -(-len(start) // slots)), watch)
    found = {name: _in_units(name, v, capacity, weights) for name, v in records.items()}
    return (masses * capacity[:, None] / weights)[:, None], found


def _row(model: MassModel) -> Row:
    weights, survival = model.weights[0], model.survival[0]
    growth = np.append(0.0, weights[1:] / weights[:-1])
    return Row(growth, survival / weights, (survival - np.append(survival[1:], 0.0)) / weights)


def _room(windows: int, stages: int, slots: int) -> Windows:
    a, b, c, d, e, f = np.empty((6, windows, slots))
    return Windows(a, b, c, d, e, f, np.empty((windows if stages else 0, stages, slots)))


def _in_units(
    name: str, values: np.ndarray, capacity: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """Requests and tokens of what is a share of capacity; axes as `simulate` has them."""
    if name == "empty_stages":
        return values
    if name == "memory":
        return values * capacity[:, None]
    if name == "state":
        return (values * capacity[:, None, None] / weights)[:, :, None]
    return (values * capacity[:, None])[..., None]
