"""What trajectories of a mixed workload end in, whatever it is: periods found in batches.

Where the equilibrium attracts, `fluid.convergence` says who returns to it. This is for the rest:
mixes whose decode lengths share a divisor, or whose inputs are short. Their trajectories end on the
pulse cycle, on orbits of other periods, or on none that shows within the horizon.

After a burn-in each trajectory is compared with itself, one iteration later, two, three ...: the
first return within `within` is its period. Floats find an orbit and do not prove it
(`fluidkv.exact.periodic_orbit` does). A slow approach can look like an orbit: an
alternating one like twice the period, a monotone one like an orbit that is not yet on its limit. So
a return counts only if it has the same period twice, half the burn-in apart.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import xarray as xr
from jaxtyping import Float, Int
from numpy.typing import ArrayLike

from fluidkv.errors import InputError
from fluidkv.fluid.cohorts.parts import (
    in_threads,
    longest_of,
    masses_of,
    parts_of,
    shares_of,
    tables_of,
)
from fluidkv.fluid.results import (
    NONE,
    Found,
    dataset_over,
    discovered,
    one_or_many,
    share_columns,
)
from fluidkv.fluid.states import cohort_states
from fluidkv.labels import Column
from fluidkv.systems import Systems
from fluidkv.workload import System

if TYPE_CHECKING:
    from fluidkv.fluid.cohorts.following import Returns
    from fluidkv.fluid.cohorts.lanes import Tables

EQUILIBRIUM = "equilibrium"
PULSE = "pulse cycle"
PERIODIC = "other periodic"
NOT_SETTLED = "not settled"

_NAMES = np.array([EQUILIBRIUM, PULSE, PERIODIC, NOT_SETTLED])
_PERIODIC = 2  # codes from here on are other orbits; NONE is the last name

RETURNS_WITHIN = 1e-9
"""Of x*. Masses are rounded at 1e-16 of themselves and errors of an attracting orbit die out, so a
return is within some 1e-14; a multiplier of 0.99 leaves 1e-9 after 2,000 rounds."""

_APPROACH, _SAME = 1e3, 1e4
"""A return within e bounds the distance from the orbit by e / (1 - modulus): a thousand of e allows
0.999. Two states on one orbit may differ by twice that."""


class _Orbits(NamedTuple):
    """Results of trajectories, (system, batch, ...); code as in `_NAMES`."""

    code: Int[np.ndarray, "system batch"]
    period: Int[np.ndarray, "system batch"]
    throughput: Float[np.ndarray, "system batch"]
    share_of_best: Float[np.ndarray, "system batch"]
    evicted: Float[np.ndarray, "system batch"]
    state: Float[np.ndarray, "system batch stage"]


def attractors(
    systems: System | Systems | Sequence[System],
    starts: ArrayLike,
    *,
    iterations: int = 20_000,
    longest_period: int = 600,
    within: float = RETURNS_WITHIN,
) -> xr.Dataset:
    """Follow each start and name what it has settled on.

    Args:
        systems: any classes; one, or many.
        starts: memory at or below capacity: cohort masses by age (batch, stage), or masses of
            classes in proportion to their shares (batch, class, stage); for many systems with
            `system` before, 0 beyond a system's own stages.
        iterations: burn-in, at least 2.
        longest_period: longest period looked for, iterations.
        within: largest change of a mass over one period, relative to x*.

    Returns:
        A dataset over batch, for many systems with `system` before it, and stage where it says so:
            attractor: "equilibrium", "pulse cycle" (the divisor g of the decode lengths above 1;
                the pulse cycle of one class is its maximal-eviction cycle), "other periodic", or
                "not settled": no period up to `longest_period` was found.
            id: number of the attractor, from 0 on in the order in which the starts of a system
                lead there; -1 where not settled. Orbits of one period that come within
                10^4 `within` of each other are one attractor, whatever their phase.
            period: iterations, 0 where not settled.
            throughput: requests completed an iteration over one period, or over the last
                `longest_period` iterations where not settled.
            share_of_best: throughput over x*.
            evicted: requests evicted an iteration, over the same stretch.
            state (batch, stage): where that stretch begins.
        And a row for each attractor, (attractor_id):
            name, length (its period), rate (requests completed an iteration), starts and
            first_start (how many lead there, and the number of the first one), basin_share (of the
            starts given), basin_low and basin_high (its 95 % interval by Clopper and Pearson, if
            starts are independent draws).

    Raises:
        InputError: starts of the wrong shape, negative, not finite or above capacity; counts or
            a tolerance out of range.

    Source: Congestion, section B.10, for the pulse cycle; the others are not in the paper.

    Examples:
        >>> system = fk.System(fk.Workload.from_lengths([(1, 2), (1, 4)]), capacity=24)
        >>> found = fk.attractors(system, [[12, 0, 0, 0]], iterations=1000)
        >>> found.attractor.item(), found.period.item(), round(found.throughput.item(), 4)
        ('pulse cycle', 2, 2.1818)
    """
    of = one_or_many(systems)
    masses = cohort_states(of, starts)
    masses = masses if isinstance(of, Systems) else masses[None]
    _check_search(iterations, longest_period, within)
    longest = longest_of(of)
    search = int(iterations) // 2, int(longest_period), float(within)
    parts = [
        _part(chosen, tables_of(chosen, longest), masses[part], search)
        for part, chosen in parts_of(of, longest * (8 + 4 * masses.shape[1]))
    ]
    orbits = _Orbits(*(np.concatenate(each) for each in zip(*parts, strict=True)))
    found = discovered(orbits.code)
    name = _NAMES[np.minimum(orbits.code, _PERIODIC)]
    rate = "request/iteration"
    columns: dict[str, Column] = {
        "attractor": ((), name, "1", "what the start settled on"),
        "id": ((), found.ids, "1", f"number of the attractor; {NONE}: not settled"),
        "period": ((), orbits.period, "iteration", "period; 0: not settled"),
        "throughput": ((), orbits.throughput, rate, "requests completed an iteration"),
        "share_of_best": ((), orbits.share_of_best, "1", "throughput over x*"),
        "evicted": ((), orbits.evicted, rate, "requests evicted an iteration"),
        "state": ("stage", orbits.state, "request", "cohort masses after the burn-in"),
    }
    table = _table(found, name, orbits)
    return dataset_over(
        of,
        columns,
        table,
        iterations=int(iterations),
        longest_period=int(longest_period),
        within=within,
    )


def _check_search(iterations: int, longest_period: int, within: float) -> None:
    for name, value, least in (
        ("iterations", iterations, 2),
        ("longest_period", longest_period, 1),
    ):
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
            raise InputError(name, value, f"an integer of at least {least}")
    if isinstance(within, bool) or not isinstance(within, float | int) or not 0 < within < 1:
        raise InputError("within", within, "a number in (0, 1)")


def _part(
    of: System | Systems,
    tables: "Tables",
    masses: Float[np.ndarray, "system batch stage"],
    search: tuple[int, int, float],
) -> _Orbits:
    half, longest_period, within = search
    shape, batch = masses.shape[:2], masses.shape[1]
    shares, tolerance = shares_of(tables, masses), within * tables.equilibrium
    _advance(tables, shares, batch, half)
    middle = _watch(tables, shares, batch, tolerance, longest_period).period
    _advance(tables, shares, batch, half)
    late = _watch(tables, shares, batch, tolerance, longest_period)
    period = np.where(late.period == middle, late.period, 0)
    span = np.where(late.period > 0, late.period, longest_period)
    # Where the two periods differ the flows are of one of them, and not of the whole stretch.
    again = np.flatnonzero((period == 0) & (late.period > 0))
    if again.size:
        nowhere = np.full_like(tolerance, -1.0)
        whole = _watch(tables, shares, batch, nowhere, longest_period, again)
        late.completed[again], late.evicted[again] = whole.completed[again], whole.evicted[again]
        span[again] = longest_period
    state = masses_of(tables, shares)
    scale = tables.capacity[:, None] / span.reshape(shape)
    completed = late.completed.reshape(shape) * scale
    best = tables.capacity / tables.weights.sum(axis=1)
    code = _codes(of, tables, shares, state, best, period.reshape(shape), within)
    return _Orbits(
        code=code,
        period=period.reshape(shape),
        throughput=completed,
        share_of_best=completed / best[:, None],
        evicted=late.evicted.reshape(shape) * scale,
        state=state,
    )


def _codes(
    of: System | Systems,
    tables: "Tables",
    shares: Float[np.ndarray, "trajectory age"],
    state: Float[np.ndarray, "system batch stage"],
    best: Float[np.ndarray, " system"],
    period: Int[np.ndarray, "system batch"],
    within: float,
) -> Int[np.ndarray, "system batch"]:
    """A number for each orbit: of the equilibrium, of the pulse cycle, of each other one."""
    from fluidkv.fluid.cohorts.following import orbits

    here = (tables.weights > 0)[:, None]
    off = np.where(here, np.abs(state - best[:, None, None]), 0.0).max(axis=2)
    divisor = _divisors(of)
    pulse = (period == divisor[:, None]) & _one_residue(state, divisor)
    code = np.where(pulse, 1, _PERIODIC)
    code[off <= _APPROACH * within * best[:, None]] = 0
    code[period == 0] = NONE
    others = np.flatnonzero(code.ravel() == _PERIODIC)
    if others.size:
        same = np.arange(code.size)
        batch, tolerance = period.shape[1], _SAME * within * tables.equilibrium
        orbits(tables, batch, others, shares, period.ravel(), tolerance, same)
        code.ravel()[others] = _PERIODIC + same[others] % batch
    return code


def _divisors(of: System | Systems) -> Int[np.ndarray, " system"]:
    """g of the decode lengths of each system."""
    if isinstance(of, Systems):
        return np.gcd.reduce(of.decode_length, axis=1)
    return np.array([of.workload.decode_gcd])


def _one_residue(
    state: Float[np.ndarray, "system batch stage"], divisor: Int[np.ndarray, " system"]
) -> np.ndarray:
    """Whether mass sits at the ages of one residue modulo g > 1 alone.

    An orbit of period g on them is the pulse cycle: older cohorts repeat, so that all are equal.
    """
    found = np.zeros(state.shape[:2], dtype=bool)
    for g in np.unique(divisor[divisor > 1]):
        systems = np.flatnonzero(divisor == g)
        chosen = state[systems] > 0
        held = np.stack([chosen[..., r::g].any(axis=2) for r in range(g)])
        found[systems] = held.sum(axis=0) == 1
    return found


def _advance(
    tables: "Tables", shares: Float[np.ndarray, "trajectory age"], batch: int, iterations: int
) -> None:
    """In place."""
    from fluidkv.fluid.cohorts.following import advance

    in_threads(lambda lanes: advance(tables, batch, lanes, iterations, shares), len(shares))


def _watch(
    tables: "Tables",
    shares: Float[np.ndarray, "trajectory age"],
    batch: int,
    tolerance: Float[np.ndarray, "system age"],
    most: int,
    chosen: Int[np.ndarray, " lane"] | None = None,
) -> "Returns":
    from fluidkv.fluid.cohorts.following import Returns, watch

    count = len(shares)
    returns = Returns(np.zeros(count, np.int64), np.zeros(count), np.zeros(count))
    which = np.arange(count) if chosen is None else chosen

    def group(lanes: np.ndarray) -> None:
        watch(tables, batch, which[lanes], shares, tolerance, most, returns)

    in_threads(group, which.size)
    return returns


def _table(found: Found, name: np.ndarray, orbits: _Orbits) -> dict[str, Column]:
    """A row for each attractor; empty text, 0 and NaN where a system has fewer than another."""
    here = found.first != NONE
    rows = np.arange(len(here))[:, None], np.maximum(found.first, 0)
    rate = np.where(here, orbits.throughput[rows], np.nan)
    period = np.where(here, orbits.period[rows], 0)
    return {
        "name": ("attractor_id", np.where(here, name[rows], ""), "1", "the attractor"),
        "length": ("attractor_id", period, "iteration", "period of the attractor"),
        "rate": ("attractor_id", rate, "request/iteration", "requests completed an iteration"),
        **share_columns(found),
    }
