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
from typing import NamedTuple

import numpy as np
import xarray as xr
from jaxtyping import Float, Int
from numpy.typing import ArrayLike

from fluidkv.errors import InputError
from fluidkv.fluid.outcomes.following import Trajectories, advance, cohorts_of, periods
from fluidkv.fluid.outcomes.results import (
    NONE,
    attractor_table,
    by_attractor,
    dataset_over,
    discovered,
    one_or_many,
)
from fluidkv.fluid.states import cohort_states
from fluidkv.labels import Column
from fluidkv.runs.checks import count
from fluidkv.systems import Systems
from fluidkv.workload import System

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
    count("iterations", iterations, least=2)
    count("longest_period", longest_period)
    if isinstance(within, bool) or not isinstance(within, float | int) or not 0 < within < 1:
        raise InputError("within", within, "a number in (0, 1)")
    orbits = _orbits(of, masses, int(iterations) // 2, int(longest_period), float(within))
    known = discovered(orbits.code)
    name = _NAMES[np.minimum(orbits.code, _PERIODIC)]
    rate = "request/iteration"
    columns: dict[str, Column] = {
        "attractor": ((), name, "1", "what the start settled on"),
        "id": ((), known.ids, "1", f"number of the attractor; {NONE}: not settled"),
        "period": ((), orbits.period, "iteration", "period; 0: not settled"),
        "throughput": ((), orbits.throughput, rate, "requests completed an iteration"),
        "share_of_best": ((), orbits.share_of_best, "1", "throughput over x*"),
        "evicted": ((), orbits.evicted, rate, "requests evicted an iteration"),
        "state": ("stage", orbits.state, "request", "cohort masses after the burn-in"),
    }
    length = by_attractor(known, orbits.period, 0)
    own = {"length": ("attractor_id", length, "iteration", "period of the attractor")}
    table = attractor_table(known, name, orbits.throughput, own)
    return dataset_over(
        of,
        columns,
        table,
        iterations=int(iterations),
        longest_period=int(longest_period),
        within=within,
    )


def _orbits(
    of: System | Systems,
    masses: Float[np.ndarray, "system batch stage"],
    half: int,
    longest_period: int,
    within: float,
) -> _Orbits:
    """What each start has settled on after twice `half` iterations."""
    shape, stages = masses.shape[:2], masses.shape[2]
    these = cohorts_of(of, shape[1])
    near = np.repeat(within * these.best[:, None], stages, axis=1)
    middle = advance(these, masses.reshape(-1, stages), half).state[:, 0]
    once = periods(these, middle, middle, near, most=longest_period)
    state = advance(these, middle, half).state[:, 0]
    again = periods(these, state, state, near, most=longest_period)
    period = np.where(again == once, again, 0)
    span = np.where(period > 0, period, longest_period)
    flows = advance(these, state, span)
    by_system = state.reshape(masses.shape)
    throughput = (flows.completed / span).reshape(shape)
    code = _codes(these, _divisors(of), by_system, period.reshape(shape), within)
    others = np.flatnonzero(code.ravel() == _PERIODIC)
    first = _first_on_orbit(these.of(others), state[others], period[others], _SAME * near)
    code.ravel()[others] += others[first] % shape[1]
    return _Orbits(
        code=code,
        period=period.reshape(shape),
        throughput=throughput,
        share_of_best=throughput / these.best[:, None],
        evicted=(flows.evicted / span).reshape(shape),
        state=by_system,
    )


def _codes(
    these: Trajectories,
    divisor: Int[np.ndarray, " system"],
    state: Float[np.ndarray, "system batch stage"],
    period: Int[np.ndarray, "system batch"],
    within: float,
) -> Int[np.ndarray, "system batch"]:
    """A number for the equilibrium, for the pulse cycle, for other orbits."""
    best, own = these.best[:, None], these.weights[:, None] > 0
    off = np.where(own, np.abs(state - best[..., None]), 0.0).max(axis=2)
    pulse = (period == divisor[:, None]) & _one_residue(state, divisor)
    code = np.where(pulse, 1, _PERIODIC)
    code[off <= _APPROACH * within * best] = 0
    code[period == 0] = NONE
    return code


def _first_on_orbit(
    these: Trajectories,
    state: Float[np.ndarray, "trajectory stage"],
    period: Int[np.ndarray, " trajectory"],
    within: Float[np.ndarray, "system stage"],
) -> Int[np.ndarray, " trajectory"]:
    """Of each trajectory, the first one on the same orbit: of its system, of its period, and met
    within a period."""
    first = np.arange(len(state))
    left = first
    while left.size:
        # The first of each system and period stands for its orbit, and all others are compared
        # with it; those on other orbits remain.
        alike = np.stack([these.system[left], period[left]])
        _, heads, which = np.unique(alike, axis=1, return_index=True, return_inverse=True)
        head = left[heads[which.ravel()]]
        others = left != head
        left, head = left[others], head[others]
        longest = int(period[left].max(initial=0))
        met = periods(these.of(left), state[left], state[head], within, most=longest) > 0
        first[left[met]] = head[met]
        left = left[~met]
    return first


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
