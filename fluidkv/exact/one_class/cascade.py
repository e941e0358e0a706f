"""The cascade: what a recorded trajectory of one class went through, event by event.

Support is what a trajectory loses on its way from a disturbed equilibrium to the worst cycle. The
analysis reads it off the states alone, so that it is the same for rationals and for the floats of
a simulation; emptiness is decided by exact zeros, which both engines keep. An event *at n* belongs
to the iteration that leads to X^n.

Source: Congestion, section 3.3 and Appendix A.1.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from numbers import Real
from typing import TYPE_CHECKING

from fluidkv.errors import InputError
from fluidkv.exact.one_class.collapse import Cascade, Eviction, Settled, SupportLoss
from fluidkv.exact.one_class.cycles import cycle_name, only_class
from fluidkv.exact.one_class.gaps import canonical_gaps
from fluidkv.exact.one_class.positions import (
    Number,
    distance_from_cycle,
    position_at,
    predecessor_gaps,
)
from fluidkv.exact.one_class.waste import evicted_masses
from fluidkv.workload import System

if TYPE_CHECKING:
    import xarray as xr

# Rounding of a float trajectory while it stays on a cycle: a few hundred iterations of 1e-16 each,
# amplified by an instability of the order of (l0 + l1)/(l0 + 1) a completion, stay far below this;
# a state this near to a cycle and not on it leaves it within some ln(1e9) growth times.
TOLERANCE = 1e-9
EPSILON = 2.0**-52


def cascade(
    trajectory: "Sequence[Sequence[object]] | xr.Dataset | xr.DataArray",
    system: System,
    *,
    start: Sequence[Number] | None = None,
    batch: int | None = None,
    tolerance: float = TOLERANCE,
) -> Cascade:
    """Analyse a recorded trajectory of one class.

    Args:
        trajectory: consecutive states on the memory boundary, X^0 first: sequences of masses by
            stage, rationals or floats (a state may also be `[[...]]`, one row for the one class);
            or what `fluidkv.simulate` returns with `record="state"`, whose first state is X^1.
        system: the class and the capacity of the trajectory.
        start: X^0, to be put before a trajectory that lacks it.
        batch: which trajectory of a simulation that has several.
        tolerance: for floats, the relative distance from a balanced cycle that counts as on it.
            Rationals count only where they are exactly on it. Evictions of floats that free no more
            than a rounding of the memory in use are none.

    Raises:
        InputError: more than one class; states of another length, negative, off the memory
            boundary, or not consecutive; fewer than two states; a simulation without states, or
            of several trajectories with no `batch`.

    Examples:
        >>> from fluidkv.exact import trajectory
        >>> system = fk.System(fk.Workload.from_lengths([(2, 3)]), capacity=24)
        >>> found = fk.cascade(trajectory(system, [4, 3, 0], iterations=12), system)
        >>> found.settled.attractor, found.settled.iteration, str(found.throughput)
        ('maximal-eviction cycle', 6, '8/5')
    """
    only = only_class(system)
    first, rows = _read(trajectory, batch)
    if start is not None:
        first, rows = first - 1, [list(start), *rows]
    states = _checked_states(rows, only.decode_length)
    exact = all(isinstance(x, Fraction) for state in states for x in state)
    allowed_distance = 0.0 if exact else tolerance
    weights = [only.input_length + 1 + j for j in range(only.decode_length)]
    _check_boundary(states, first, weights, system.capacity, allowed_distance)
    # What rounding does to a sum of memory: a float engine may take it for an excess.
    rounding = 0.0 if exact else (len(weights) + 2) * EPSILON * float(system.capacity)
    evictions = tuple(
        event
        for n, (before, after) in enumerate(pairwise(states), start=first + 1)
        for event in _eviction(n, before, after, weights)
        if event.tokens > rounding
    )
    settled = _settled(system, states, first, allowed_distance)
    window = _window(states, first, settled)
    done = sum(states[n - first][-1] for n in range(*window))
    return Cascade(
        system=system,
        first=first,
        states=states,
        evictions=evictions,
        support_losses=_support_losses(states, first, {e.iteration for e in evictions}),
        settled=settled,
        throughput=done / (window[1] - window[0]),
        window=window,
        tolerance=allowed_distance,
    )


def _check_boundary(
    states: tuple[tuple[Number, ...], ...],
    first: int,
    weights: list[int],
    capacity: Fraction,
    tolerance: float,
) -> None:
    """Every state fills memory; off the boundary positions may revive, and nothing here holds."""
    limit = 0 if tolerance == 0 else TOLERANCE * float(capacity)  # sums of floats, not distances
    for n, state in enumerate(states, start=first):
        used = sum(w * x for w, x in zip(weights, state, strict=True))
        if abs(used - (capacity if tolerance == 0 else float(capacity))) > limit:
            raise InputError(
                "trajectory", f"{float(used):.9g} tokens at n={n}", f"memory of {capacity} tokens"
            )


def _eviction(
    n: int, before: tuple[Number, ...], after: tuple[Number, ...], weights: list[int]
) -> list[Eviction]:
    if before[:-1] == after[1:]:
        return []
    removed = evicted_masses(before, after)
    if min(removed) < 0:
        allowed = "consecutive states: no stage above the one that it came from"
        raise InputError("trajectory", f"a stage that grew on the way to n={n}", allowed)
    stages = tuple(j for j, x in enumerate(removed) if x)
    tokens = sum(weights[j] * removed[j] for j in stages)
    return [Eviction(n, sum(removed[j] for j in stages), tokens, stages)]


def _support_losses(
    states: tuple[tuple[Number, ...], ...], first: int, evicting: set[int]
) -> tuple[SupportLoss, ...]:
    losses = []
    for n, (before, after) in enumerate(pairwise(states), start=first + 1):
        l1 = len(after)
        dead = [j for j in range(l1) if before[j - 1] and not after[j]]
        if dead:
            labels = tuple(sorted(position_at(j, n, l1) for j in dead))
            empty = sum(not x for x in after)
            losses.append(SupportLoss(n, empty, labels, n in evicting))
    return tuple(losses)


def _settled(
    system: System, states: tuple[tuple[Number, ...], ...], first: int, tolerance: float
) -> Settled | None:
    """Backwards from the end, as long as the states stay on the cycle of the last one."""
    only = only_class(system)
    capacity = system.capacity if tolerance == 0 else float(system.capacity)
    last = canonical_gaps(predecessor_gaps(states[-1]))
    since = None
    for i in range(len(states) - 1, -1, -1):
        gaps = predecessor_gaps(states[i])
        if len(gaps) != len(last) or canonical_gaps(gaps) != last:
            break
        if distance_from_cycle(states[i], only.input_length, capacity) > tolerance:
            break
        since = first + i
    return None if since is None else Settled(cycle_name(last), since, last)


def _window(
    states: tuple[tuple[Number, ...], ...], first: int, settled: Settled | None
) -> tuple[int, int]:
    last, round_ = first + len(states) - 1, len(states[0])
    if settled is not None and settled.iteration + round_ <= last:
        return settled.iteration, settled.iteration + round_
    return first, last


def _read(trajectory, batch: int | None) -> tuple[int, list]:
    """n of the first state, and the states as sequences."""
    record = trajectory
    if hasattr(record, "data_vars"):
        if "state" not in record.data_vars:
            raise InputError("trajectory", list(record.data_vars), "a record of `state`")
        record = record["state"]
    if not hasattr(record, "dims"):
        if batch is not None:
            raise InputError("batch", batch, "None where the trajectory is a list of states")
        try:
            return 0, [_row(state) for state in record]
        except TypeError:
            raise InputError("trajectory", record, "states, each a sequence of masses") from None
    if "class" in record.dims and record.sizes["class"] != 1:
        raise InputError("trajectory", f"{record.sizes['class']} classes", "one class")
    count = record.sizes.get("batch", 1)
    if batch is None and count > 1:
        raise InputError("batch", None, f"0 to {count - 1}, one trajectory of the {count}")
    if batch is not None and not 0 <= batch < count:
        raise InputError("batch", batch, f"0 to {count - 1}")
    if "batch" in record.dims:
        record = record.isel(batch=batch or 0)
    if "class" in record.dims:
        record = record.isel({"class": 0})
    record = record.transpose("iteration", "stage")
    n = [int(i) for i in record["iteration"].values]
    if n != list(range(n[0], n[0] + len(n))):
        raise InputError("trajectory", f"states at n={n[:3]}...", "a state for every iteration")
    return n[0], record.values.tolist()


def _row(state) -> list:
    row = state.tolist() if hasattr(state, "tolist") else list(state)
    return list(row[0]) if len(row) == 1 and isinstance(row[0], list | tuple) else list(row)


def _checked_states(rows: list, stages: int) -> tuple[tuple[Number, ...], ...]:
    if len(rows) < 2:
        raise InputError("trajectory", f"{len(rows)} states", "at least two")
    states = []
    for i, row in enumerate(rows):
        if len(row) != stages:
            raise InputError("trajectory", f"{len(row)} masses", f"{stages} stages a state")
        if not all(isinstance(x, Real) for x in row):
            raise InputError("trajectory", f"state {i}", "numbers: integers, Fractions or floats")
        state = tuple(Fraction(x) if isinstance(x, int) else x for x in row)
        if not all(x >= 0 for x in state):
            raise InputError("trajectory", f"state {i}", "masses of at least 0")
        states.append(state)
    return tuple(states)
