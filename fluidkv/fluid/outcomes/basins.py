"""Which attractor a start leads to, when, and by which path of eviction levels: in batches."""

from collections.abc import Sequence

import numpy as np
import xarray as xr
from jaxtyping import Bool, Int
from numpy.typing import ArrayLike

from fluidkv.fluid.labels.lane import NEVER
from fluidkv.fluid.outcomes.events import LONGEST, boundary_starts, follow
from fluidkv.fluid.outcomes.results import (
    NONE,
    attractor_table,
    by_attractor,
    dataset_over,
    discovered,
    one_or_many,
)
from fluidkv.runs.checks import count
from fluidkv.systems import Systems
from fluidkv.workload import System

MAXIMAL = "maximal-eviction cycle"
"""What `basins` calls the cycle of one live position, where nearly every start ends.

>>> import jax
>>> from fluidkv.fluid.outcomes.basins import MAXIMAL
>>> system = fk.System(fk.Workload.from_lengths([(2, 3)]), capacity=24)
>>> starts = fk.uniform_starts(jax.random.key(0), system, count=100)
>>> found = fk.basins(system, starts)
>>> MAXIMAL, (found.attractor == MAXIMAL).mean().item()
('maximal-eviction cycle', 1.0)
"""
FIXED = "fixed point"
BALANCED = "balanced cycle"
NOT_SETTLED = "not settled"


def basins(
    systems: System | Systems | Sequence[System], starts: ArrayLike, *, iterations: int = 5000
) -> xr.Dataset:
    """Run each start until it settles, and name what it settled on.

    Recognition is careful, as all but the maximal-eviction cycle are unstable. A trajectory is on
    the maximal-eviction cycle when one stage is occupied and all others are exactly 0. It is on
    another cycle only where the masses repeat themselves bit by bit after one or more turns of l1
    iterations: a start that merely comes near an unstable cycle is followed until it has left
    again or the horizon ends.

    This speaks about floats. A start that is captured exactly by a balanced cycle
    (`fluidkv.exact.one_class.capture`) is mostly lost to rounding, and goes on to the
    maximal-eviction cycle; but rounding can also hold a trajectory on an unstable cycle for ever,
    where the differences between its masses are units in the last place that grow by less than
    half a unit.

    Args:
        systems: of one class each; one, or many.
        starts: masses by stage on the memory boundary, (batch, stage), or for many systems
            (system, batch, stage), 0 beyond a system's own stages; from `uniform_starts`
            or elsewhere.
        iterations: the horizon, at least 1.

    Returns:
        A dataset as `event_log` returns it, index order (system, batch, level | stage), system only
        where there are many, and besides:
            attractor (batch): "maximal-eviction cycle", "fixed point", "balanced cycle" or
                "not settled" (within the horizon). With l1 = 1 there is only the fixed point.
            id (batch): number of the attractor, from 0 on in the order in which the starts of a
                system lead there; -1 where not settled. Two balanced cycles are one attractor if
                they have the same gaps around the circle.
            live (batch, stage): the relative positions that carry mass at the end. The distances
                between them, around the circle, are the gaps of a balanced cycle.
            start (batch, stage).
        And a row for each attractor, (attractor_id):
            name, gaps (attractor_id, position; the largest rotation, then 0), starts and
            first_start (how many lead there, and the number of the first one), basin_share (of the
            starts given), basin_low and basin_high (its 95 % interval by Clopper and Pearson, if
            starts are independent draws), rate (requests completed an iteration).
        A start takes 29 bytes a stage and 110 bytes.

    Raises:
        InputError: more than one class, a start off the memory boundary, iterations below 1.

    Source: Congestion, Theorem 2 and Appendix A.1.

    Examples:
        >>> import jax
        >>> system = fk.System(fk.Workload.from_lengths([(2, 3)]), capacity=24)
        >>> starts = fk.uniform_starts(jax.random.key(0), system, count=100)
        >>> found = fk.basins(system, starts)
        >>> found.name.item(), found.starts.item(), round(found.rate.item(), 3)
        ('maximal-eviction cycle', 100, 1.6)
    """
    of = one_or_many(systems)
    masses = boundary_starts(of, starts, "starts")
    count("iterations", iterations, most=LONGEST)
    events = follow(of, masses, int(iterations))
    live = np.asarray(events["final_state"][1]) > 0
    lengths = np.ravel(of.longest_decode if isinstance(of, Systems) else of.workload.longest_decode)
    codes, cycles = _codes(live, lengths, np.asarray(events["settled"][1]))
    known, names = discovered(codes), _NAMES[np.minimum(codes, _MORE)]
    variables = events | {
        "attractor": ((), names, "1", "what the start settled on"),
        "id": ((), known.ids, "1", f"number of the attractor; {NONE}: not settled"),
        "live": ("stage", live, "1", "whether the relative position has mass at the end"),
        "start": ("stage", masses, "request", "mass by stage of the start"),
    }
    gaps = _gaps_of_each(by_attractor(known, codes, NONE), cycles, lengths)
    own = {"gaps": (("attractor_id", "position"), gaps, "iteration", "gaps of its live positions")}
    table = attractor_table(known, names, np.asarray(events["throughput"][1]), own)
    return dataset_over(of, variables, table, iterations=int(iterations))


_MAXIMAL, _FIXED, _MORE = 0, 1, 2  # codes; each balanced cycle has one of its own, from 2 on
_NAMES = np.array([MAXIMAL, FIXED, BALANCED, NOT_SETTLED])  # the code -1 is the last one


def _codes(
    live: Bool[np.ndarray, "system batch stage"],
    lengths: Int[np.ndarray, " system"],
    settled: Int[np.ndarray, "system batch"],
) -> tuple[Int[np.ndarray, "system batch"], list[tuple[int, ...]]]:
    """What each start settled on, as a number, and the gaps of the numbers from `_MORE` on."""
    count = live.sum(axis=2)
    codes = np.where(count == 1, _MAXIMAL, _MORE)
    codes[count == lengths[:, None]] = _FIXED
    codes[settled == NEVER] = NONE
    cycles: dict[tuple[int, ...], int] = {}
    for system, start in np.argwhere(codes == _MORE):
        gaps = _gaps(live[system, start, : lengths[system]])
        codes[system, start] = cycles.setdefault(gaps, _MORE + len(cycles))
    return codes, list(cycles)


def _gaps(live: Bool[np.ndarray, " stage"]) -> tuple[int, ...]:
    """Between live positions around the circle, in the rotation that is largest word by word."""
    places = np.flatnonzero(live)
    gaps = np.diff(places, append=places[0] + live.size).tolist()
    return max(tuple(gaps[h:] + gaps[:h]) for h in range(len(gaps)))


def _gaps_of_each(
    code: Int[np.ndarray, "system attractor_id"],
    cycles: list[tuple[int, ...]],
    lengths: Int[np.ndarray, " system"],
) -> Int[np.ndarray, "system attractor_id position"]:
    """The largest rotation of each attractor's gaps, then 0."""
    position, length = np.arange(lengths.max()), lengths[:, None]
    gaps = np.zeros((*code.shape, position.size), np.int32)
    gaps[..., 0] = np.where(code == _MAXIMAL, length, 0)
    gaps[(code == _FIXED)[..., None] & (position < length)[:, None]] = 1
    for row in np.argwhere(code >= _MORE):
        cycle = cycles[code[tuple(row)] - _MORE]
        gaps[(*row, slice(len(cycle)))] = cycle
    return gaps
