"""Which starts return to the eviction-free equilibrium, when, and what the others do: in batches.

Local stability is about a neighbourhood of the equilibrium; this is about all states. Mixed
workloads are followed on the cohort manifold, which every trajectory enters within d iterations
(Congestion, Lemma 9), so that a state is one mass for each cohort age.

Pools of lanes run in rounds; after a round what has ended leaves, and the others close ranks.
"""

import os
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jax import lax
from jaxtyping import Array, Bool, Float, Int
from numpy.typing import ArrayLike

from fluidkv.errors import InputError
from fluidkv.fluid.boundary import feasible_starts
from fluidkv.fluid.cohorts.eviction_free import eviction_free_radius, stable_modes
from fluidkv.fluid.cohorts.steps import Rows, iterate_shares
from fluidkv.fluid.model import cohort_model
from fluidkv.runs.precision import in_float64
from fluidkv.workload import System

RETURNED = "returned"
PERIODIC = "periodic"
NOT_SETTLED = "not settled"
NEVER = -1

Values = Array | np.ndarray

CHECK_EVERY = 60
"""Iterations between two looks at a trajectory: the resolution of `settled`. Divisible by many
periods, so that a short cycle shows after few looks."""

_LOOKS = 64  # in a round: a cycle shows if its period divides 60 times a number up to this
_LANES = (4096, 1024, 256)  # sizes of a pool; each is compiled once for each number of ages
_CORES = min(os.cpu_count() or 1, 2)  # pools at once; an operation does not use two cores well
_REACHES = (64, 512)  # iterations that are searched for a period, one after the other

# Largest change of a memory share after a period that still counts as a repetition. A share is at
# most 1 and is rounded at 1e-16; an attracting cycle whose multipliers are not nearly 1 is
# followed to within a few hundred roundings. It is far below any radius of the equilibrium.
REPEATS_WITHIN = 1e-12


class _Run(NamedTuple):
    """One lane each: memory shares and what has been seen of them.

    Fields:
        shares: m_s by age, (age, batch).
        iteration: iterations made.
        last_full: the last iteration after whose execution memory was full; 0 if none.
        lost: requests admitted less requests completed so far, over capacity.
        settled: first look that found the state free of evictions for good, or NEVER.
        repeated: whether the state has come back to what it was at the beginning of a round.
    """

    shares: Float[Values, "age batch"]
    iteration: Int[Values, " batch"]
    last_full: Int[Values, " batch"]
    lost: Float[Values, " batch"]
    settled: Int[Values, " batch"]
    repeated: Bool[Values, " batch"]


def convergence(
    system: System, starts: ArrayLike, *, iterations: int = 50_000, radius: float | None = None
) -> xr.Dataset:
    """Follow each start until it has returned to the eviction-free equilibrium, or cycles.

    A start has returned when no eviction can come any more: from there the deviation moves by a
    linear map and dies out. By default its modes say so (`stable_modes`), or where they cannot be
    told apart a cube about the equilibrium (`eviction_free_radius`). These are statements about
    floats; a start that lies exactly on an unstable cycle may leave it by rounding.

    Args:
        system: any number of classes.
        starts: cohort masses, (batch, stage) or one start, units of admission; memory at or below
            capacity. From `uniform_starts`, `fluidkv.fluid.cohorts.starts` or elsewhere.
        iterations: the horizon, at least 1; rounded up to a multiple of 60.
        radius: returned is instead that |y_s / x* - 1| is at most this at all ages, in (0, 1); for
            a neighbourhood that has a certificate of its own.

    Returns:
        A dataset, index order (batch, stage):
            outcome (batch): "returned", "periodic" (the state repeats itself, to 1e-12 of
                capacity) or "not settled" (within the horizon).
            settled (batch): iterations to the first look, one in 60 iterations, that found the
                start free of evictions for good; -1 if none did.
            last_eviction (batch): the last iteration whose execution left memory full, so that
                nothing was admitted; 0 if none. That is an eviction, or an exact tie.
            evicted (batch): requests evicted on the way, up to the last look.
            period (batch): iterations; 0 where not periodic or longer than 512.
            deviation (batch): largest relative deviation of a cohort from x*, at the end.
            final_state (batch, stage): cohort masses at the end.
        Attributes: rule ("modes", "radius" or "none": where the equilibrium is not stable, or so
            nearly neutral that floats cannot tell, no start returns), radius (nan unless that is
            the rule), iterations.

    Raises:
        InputError: starts of the wrong shape, negative or above capacity; iterations below 1; a
            radius outside of (0, 1).

    Source: Congestion, Theorem 3 (2) and Theorem 22.
    """
    masses = feasible_starts(system, starts)
    _check_rule(iterations, radius)
    model = cohort_model(system)
    weights, survival, capacity = model.weights[0], model.survival[0], float(model.capacity)
    modes = stable_modes(system) if radius is None else None
    if radius is None and modes is None:
        radius = eviction_free_radius(system)
    within = np.nan if radius is None else float(radius)
    parts = np.full((1, weights.size), complex("nan")) if modes is None else modes.parts
    rule = "none" if modes is None and radius is None else "modes" if radius is None else "radius"
    constants = _Constants(
        growth=np.concatenate([[0.0], weights[1:] / weights[:-1]]),
        equilibrium=weights / weights.sum(),
        leaving=(survival - np.append(survival[1:], 0.0)) / weights,
        entering=np.asarray(1 / weights[0]),
        radius=np.asarray(within),
        modes=np.concatenate([np.real(parts), np.imag(parts)]),
    )
    run = _follow(constants, (masses * weights / capacity).T, int(iterations))
    period = np.zeros(len(masses), np.int64)
    held = np.flatnonzero(run.settled == NEVER)
    if held.size:
        period[held] = _periods(constants, np.asarray(run.shares)[:, held])
    final = run.shares.T * capacity / weights
    kept = (final - masses) @ survival
    evicted = np.where(run.last_full > 0, np.maximum(run.lost * capacity - kept, 0.0), 0.0)
    names, which = [RETURNED, PERIODIC], [run.settled != NEVER, period > 0]
    return xr.Dataset(
        {
            "outcome": ("batch", np.select(which, names, NOT_SETTLED)),
            "settled": ("batch", run.settled),
            "last_eviction": ("batch", run.last_full),
            "evicted": ("batch", evicted),
            "period": ("batch", period),
            "deviation": ("batch", _deviation(constants, run.shares)),
            "final_state": (("batch", "stage"), final),
        },
        attrs={"rule": rule, "radius": within, "iterations": int(iterations)},
    )


def _check_rule(iterations: int, radius: float | None) -> None:
    if isinstance(iterations, bool) or not isinstance(iterations, int) or iterations < 1:
        raise InputError("iterations", iterations, "an integer of at least 1")
    if radius is not None and not 0 < radius < 1:
        raise InputError("radius", radius, "a number in (0, 1)")


class _Constants(NamedTuple):
    """Of a system, in memory shares.

    Fields:
        growth: V_s / V_{s-1}.
        equilibrium: m*_s = V_s / sum of V.
        leaving: requests that complete per unit of memory share at age s, over capacity.
        entering: requests admitted per unit of memory share, over capacity.
        radius: relative; nan for none.
        modes: real above imaginary parts of `Modes.parts`; nan for none.
    """

    growth: Values
    equilibrium: Values
    leaving: Values
    entering: Values
    radius: Values
    modes: Values


def _follow(constants: _Constants, shares: np.ndarray, horizon: int) -> _Run:
    """All lanes to their end, round by round."""
    count = shares.shape[1]
    results = _Run(
        shares=np.array(shares),
        iteration=np.zeros(count, np.int32),
        last_full=np.zeros(count, np.int32),
        lost=np.zeros(count),
        settled=np.full(count, NEVER, np.int32),
        repeated=np.zeros(count, bool),
    )
    going = np.arange(count)
    # Ages whose requests may complete: a few classes need only a few of the rows.
    ends = tuple(int(s) for s in np.flatnonzero(constants.leaving))

    def one_round(lanes: np.ndarray) -> None:
        left = horizon - int(results.iteration[lanes[0]])  # all lanes are at one iteration
        looks = np.asarray(min(_LOOKS, -(-left // CHECK_EVERY)), np.int32)
        padded = np.resize(
            lanes, _pool_size(lanes.size)
        )  # repeats lanes; what they do twice is the same
        pool = _Run(*(field[..., padded] for field in results))
        with in_float64():
            after = _round(constants, pool, looks, ends)
        for field, new in zip(results, after, strict=True):
            field[..., lanes] = np.asarray(new)[..., : lanes.size]

    with ThreadPoolExecutor(_CORES) as threads:
        while going.size:
            parts = -(-going.size // _LANES[0])
            if going.size > _LANES[-1]:
                parts = max(parts, _CORES)
            list(threads.map(one_round, np.array_split(going, parts)))
            ended = (results.settled[going] != NEVER) | results.repeated[going]
            going = going[~ended & (results.iteration[going] < horizon)]
    return results


@partial(jax.jit, static_argnames="ends")
def _round(constants: _Constants, run: _Run, most: Array, ends: tuple[int, ...]) -> _Run:
    """`most` looks, or fewer where all lanes have ended earlier."""
    constants = _Constants(*map(jnp.asarray, constants))
    begun = run.shares

    def going(carry: tuple[_Run, Array]) -> Array:
        run, looks = carry
        ended = (run.settled != NEVER) | run.repeated
        return (looks < most) & ~jnp.all(ended)

    def look(carry: tuple[_Run, Array]) -> tuple[_Run, Array]:
        run, looks = carry
        rows, n, full, lost = _iterations(constants, run, ends)
        shares = jnp.stack(rows)
        near = _free_of_evictions(constants, shares)
        first = near & (run.settled == NEVER)
        back = jnp.max(jnp.abs(shares - begun), axis=0) <= REPEATS_WITHIN
        after = _Run(
            shares=shares,
            iteration=n,
            last_full=full,
            lost=lost,
            settled=jnp.where(first, n, run.settled),
            repeated=run.repeated | (back & ~near),
        )
        return after, looks + 1

    return lax.while_loop(going, look, (run, jnp.asarray(0, jnp.int32)))[0]


def _iterations(
    constants: _Constants, run: _Run, ends: tuple[int, ...]
) -> tuple[Rows, Array, Array, Array]:
    """Between two looks: shares, iteration, last_full and lost."""
    growth = jnp.asarray(constants.growth)

    def one(carry, _):
        rows, n, full, lost = carry
        left = sum(constants.leaving[s] * rows[s] for s in ends)
        after = iterate_shares(growth, rows)
        n = n + jnp.asarray(1, n.dtype)
        full = jnp.where(after[0] == 0.0, n, full)
        return (after, n, full, lost + (constants.entering * after[0] - left)), None

    n, full, lost = map(jnp.asarray, (run.iteration, run.last_full, run.lost))
    carry = (tuple(jnp.asarray(run.shares)), n, full, lost)
    return lax.scan(one, carry, None, length=CHECK_EVERY)[0]


def _free_of_evictions(constants: _Constants, shares: Array) -> Array:
    """Whether no eviction can come any more; a rule that is not in use is nan, which never is."""
    near = _deviation(constants, shares) <= constants.radius
    real, imaginary = jnp.split(
        constants.modes @ (shares / constants.equilibrium[:, None] - 1.0), 2, axis=0
    )
    # The margin is for rounding, the modes' condition included.
    return near | (jnp.sum(jnp.hypot(real, imaginary), axis=0) < 1.0 - 1e-6)


def _deviation(constants: _Constants, shares):
    """Largest |y_s / x* - 1| of each lane; of NumPy or JAX arrays, as they come."""
    return abs(shares / constants.equilibrium[:, None] - 1.0).max(axis=0)


def _periods(constants: _Constants, shares: np.ndarray) -> np.ndarray:
    """The smallest number of iterations after which each state repeats itself; 0 if none is."""
    found = np.zeros(shares.shape[1], np.int32)
    for reach in _REACHES:
        going = np.flatnonzero(found == 0)
        for lanes in np.array_split(going, -(-going.size // _LANES[0])) if going.size else ():
            padded = np.resize(lanes, _pool_size(lanes.size))
            with in_float64():
                period = _first_return(constants.growth, shares[:, padded], reach)
            found[lanes] = np.asarray(period)[: lanes.size]
    return found


def _pool_size(lanes: int) -> int:
    """The smallest size of a pool that holds so many."""
    return next(size for size in reversed(_LANES) if size >= lanes)


@jax.jit
def _first_return(growth: Array, shares: Array, reach: int) -> Array:
    growth, shares = jnp.asarray(growth), jnp.asarray(shares)

    def one(n, carry):
        rows, period = carry
        rows = iterate_shares(growth, rows)
        back = jnp.max(jnp.abs(jnp.stack(rows) - shares), axis=0) <= REPEATS_WITHIN
        first = back & (period == 0)
        return rows, jnp.where(first, jnp.asarray(n + 1, jnp.int32), period)

    none = jnp.zeros(shares.shape[1], jnp.int32)
    return lax.fori_loop(0, reach, one, (tuple(shares), none))[1]
