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

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jax import lax
from numpy.typing import ArrayLike

from fluidkv.errors import InputError
from fluidkv.fluid import iteration
from fluidkv.fluid.boundary import boundary_weights
from fluidkv.fluid.model import MassModel, cohort_model
from fluidkv.fluid.scan import scan_trajectory
from fluidkv.runs.precision import in_float64
from fluidkv.workload import System

EQUILIBRIUM = "equilibrium"
PULSE = "pulse cycle"
PERIODIC = "other periodic"
NOT_SETTLED = "not settled"

RETURNS_WITHIN = 1e-9
"""Of x*. Masses are rounded at 1e-16 of themselves and errors of an attracting orbit die out, so a
return is within some 1e-14; a multiplier of 0.99 leaves 1e-9 after 2,000 rounds."""


def attractors(
    system: System,
    starts: ArrayLike,
    *,
    iterations: int = 20_000,
    longest_period: int = 600,
    within: float = RETURNS_WITHIN,
) -> xr.Dataset:
    """Follow each start and name what it has settled on.

    Args:
        system: any classes.
        starts: cohort masses by age, (batch, stage), at most at capacity; one row is one start.
        iterations: burn-in, at least 2.
        longest_period: longest period looked for, iterations.
        within: largest change of a mass over one period, relative to x*.

    Returns:
        A dataset over batch, and stage where it says so:
            attractor: "equilibrium", "pulse cycle" (the divisor g of the decode lengths above 1;
                the pulse cycle of one class is its maximal-eviction cycle), "other periodic", or
                "not settled": no period up to `longest_period` was found.
            period: iterations, 0 where not settled.
            throughput: requests completed an iteration over one period, or over the last
                `longest_period` iterations where not settled.
            share_of_best: throughput over x*.
            evicted: requests evicted an iteration, over the same stretch.
            state (batch, stage): where that stretch begins.

    Raises:
        InputError: starts of the wrong shape, negative, not finite or above capacity; counts or
            a tolerance out of range.

    Source: Congestion, section B.10, for the pulse cycle; the others are not in the paper.
    """
    model = cohort_model(system)
    masses = _checked_starts(system, starts)
    _check_search(iterations, longest_period, within)
    best = float(model.capacity) / model.weights.sum()
    half = int(iterations) // 2
    state = np.ascontiguousarray(masses.T)[:, None, :]
    with in_float64():
        middle = _advance(model, state, half)
        first = np.asarray(_watch(model, middle, int(longest_period))[0])
        late = _advance(model, middle, half)
        change, flows = (np.asarray(x) for x in _watch(model, late, int(longest_period)))
    period = _first(change, within * best)
    period[period != _first(first, within * best)] = 0
    reference = np.asarray(late)[:, 0, :].T
    g = system.workload.decode_gcd
    names = np.select(
        [
            period == 0,
            _is_equilibrium(reference, best, within),
            (period == g) & _one_residue(reference, g),
        ],
        [NOT_SETTLED, EQUILIBRIUM, PULSE],
        PERIODIC,
    )
    span = np.where(period > 0, period, longest_period)
    sums = np.cumsum(flows, axis=1)[:, span - 1, np.arange(len(span))]
    completed, evicted = sums / span
    return xr.Dataset(
        {
            "attractor": ("batch", names),
            "period": ("batch", period, {"units": "iterations"}),
            "throughput": ("batch", completed, {"units": "requests an iteration"}),
            "share_of_best": ("batch", completed / best),
            "evicted": ("batch", evicted, {"units": "requests an iteration"}),
            "state": (("batch", "stage"), reference, {"units": "requests"}),
        },
        attrs={
            "iterations": int(iterations),
            "longest_period": int(longest_period),
            "within": within,
        },
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


def _is_equilibrium(state: np.ndarray, best: float, within: float) -> np.ndarray:
    """All cohorts at x*, as far as the approach can still be from it after a return within.

    A return within e bounds the distance by e / (1 - modulus): a thousand of e allows 0.999.
    """
    return np.all(np.abs(state - best) <= 1e3 * within * best, axis=1)


def _one_residue(state: np.ndarray, g: int) -> np.ndarray:
    """Whether mass sits at the ages of one residue modulo g > 1 alone.

    An orbit of period g on them is the pulse cycle: older cohorts repeat, so that all are equal.
    """
    if g == 1:
        return np.zeros(len(state), dtype=bool)
    held = np.array([(state[:, r::g] > 0).any(axis=1) for r in range(g)])
    return held.sum(axis=0) == 1


def _first(change: np.ndarray, tolerance: float) -> np.ndarray:
    """The smallest n with change[n - 1] within the tolerance; 0 if none."""
    returned = change <= tolerance
    return np.where(returned.any(axis=0), returned.argmax(axis=0) + 1, 0)


@partial(jax.jit, static_argnames="iterations")
def _advance(model: MassModel, state, iterations: int):
    return scan_trajectory(model, state, iterations)[0]


@partial(jax.jit, static_argnames="iterations")
def _watch(model: MassModel, reference, iterations: int):
    """Largest change of a mass since `reference` at each n, and (completed, evicted) flows."""

    def one(state, _):
        step = iteration.iterate(model, state)
        change = jnp.max(jnp.abs(step.state - reference), axis=(0, 1))
        completed, evicted = iteration.completed(model, step), iteration.evicted(model, step)
        return step.state, (change, jnp.sum(completed, axis=0), jnp.sum(evicted, axis=0))

    _, (change, completed, evicted) = lax.scan(one, reference, None, length=iterations)
    return change, jnp.stack([completed, evicted])


def _checked_starts(system: System, starts: ArrayLike) -> np.ndarray:
    weights, capacity = boundary_weights(system)
    allowed = f"finite masses of at least 0, shape (batch, {weights.size})"
    try:
        masses = np.atleast_2d(np.asarray(starts, dtype=np.float64))
    except (TypeError, ValueError):
        raise InputError("starts", starts, allowed) from None
    if masses.ndim != 2 or masses.shape[1] != weights.size or not len(masses):
        raise InputError("starts", f"shape {masses.shape}", allowed)
    if not np.all(np.isfinite(masses) & (masses >= 0)):
        raise InputError("starts", "a negative or non-finite mass", allowed)
    used = masses @ weights
    # A start on the boundary may exceed it by the rounding of this sum.
    if np.any(used > capacity * (1 + (weights.size + 2) * np.finfo(np.float64).eps)):
        raise InputError("starts", f"memory {used.max():.17g}", f"at most {capacity:.17g} tokens")
    return masses
