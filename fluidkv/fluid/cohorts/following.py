"""Loops over pools of `lanes`: until no eviction can come any more, for a while, until a return."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from fluidkv.fluid.cohorts.lanes import (
    Pool,
    Tables,
    Whole,
    iterate,
    pool_of,
    put,
    read,
    take,
)
from fluidkv.fluid.cohorts.looks import CHECK_EVERY, NEVER, REPEATS_WITHIN, ROUND
from fluidkv.runs.kernels import kernel

_SUM = 1.0 - 1e-6
"""Below it a sum over modes is below 1: a margin for rounding, the modes' condition included."""

_SLOTS = 32
"""Slots of a pool: several of the machine's vectors, so that it need not wait for one of them."""


class Rules(NamedTuple):
    """When a system is free of evictions for good.

    Fields:
        radius: largest relative deviation from the equilibrium; NaN for none.
        modes: how many there are of the others; 0 for none.
        real, imaginary: of `Modes.parts`, (system, mode, age).
    """

    radius: Float[np.ndarray, " system"]
    modes: Int[np.ndarray, " system"]
    real: Float[np.ndarray, "system mode age"]
    imaginary: Float[np.ndarray, "system mode age"]


class Ends(NamedTuple):
    """Where trajectories were left, a row each.

    Fields:
        shares: m_s by age.
        last_full: the last iteration after whose execution memory was full; 0 if none.
        lost: requests admitted less requests completed so far, over capacity.
        settled: first look that found the state free of evictions for good, or NEVER.
        repeated: whether the state came back to what it was at an earlier look.
    """

    shares: Float[np.ndarray, "trajectory age"]
    last_full: Int[np.ndarray, " trajectory"]
    lost: Float[np.ndarray, " trajectory"]
    settled: Int[np.ndarray, " trajectory"]
    repeated: Bool[np.ndarray, " trajectory"]


class Returns(NamedTuple):
    """What a while of each trajectory has in it, a row each.

    Fields:
        period: iterations until the state is back; 0 where it is not within the while.
        completed, evicted: requests, over capacity, in a period, or in all of the while.
    """

    period: Int[np.ndarray, " trajectory"]
    completed: Float[np.ndarray, " trajectory"]
    evicted: Float[np.ndarray, " trajectory"]


@kernel
def follow(
    tables: Tables, rules: Rules, batch: Whole, lanes: np.ndarray, horizon: int, ends: Ends
) -> None:
    """Trajectories `lanes`, from `ends.shares` on, until each has ended; i is of system i // batch.

    One ends at the first look that finds it free of evictions, or back where it was at the
    beginning of its round of looks, or from the horizon on. Its slot goes to the next.
    """
    ages = tables.growth.shape[1]
    pool = pool_of(ages, _SLOTS)
    begun, now = np.zeros((_SLOTS, ages)), np.zeros(ages)
    lane = np.zeros(_SLOTS, np.int64)
    slots = waiting = shift = np.int64(0)
    every = np.int64(CHECK_EVERY)
    while slots > 0 or waiting < len(lanes):
        while slots < _SLOTS and waiting < len(lanes):
            i = lanes[waiting]
            put(tables, pool, slots, i // batch, ends.shares[i], shift)
            lane[slots] = i
            begun[slots] = ends.shares[i]
            slots += 1
            waiting += 1
        shift = iterate(pool, slots, shift, every)
        for j in range(slots - 1, -1, -1):
            i, n = lane[j], np.int64(pool.iteration[j])
            round_ends = n % (CHECK_EVERY * ROUND) == 0
            may_settle = _may_be_free(tables, rules, i // batch, pool.free[j])
            may_repeat = abs(pool.free[j] - begun[j, 0]) <= REPEATS_WITHIN
            if not (may_settle or may_repeat or round_ends or n >= horizon):
                continue
            read(pool, j, shift, now)
            settled = may_settle and _free_of_evictions(tables, rules, i // batch, now)
            repeated = not settled and may_repeat and _back(now, begun[j])
            if settled or repeated or n >= horizon:
                ends.shares[i] = now
                ends.last_full[i], ends.lost[i] = pool.full[j], pool.lost[j]
                ends.settled[i] = n if settled else NEVER
                ends.repeated[i] = repeated
                slots -= 1
                take(pool, j, slots)
                lane[j] = lane[slots]
                begun[j] = begun[slots]
            elif round_ends:
                begun[j] = now


@kernel
def advance(
    tables: Tables, batch: Whole, lanes: np.ndarray, iterations: int, shares: np.ndarray
) -> None:
    """So many iterations of the trajectories `lanes`, in place."""
    pool = pool_of(tables.growth.shape[1], _SLOTS)
    for first in range(0, len(lanes), _SLOTS):
        slots = _fill(tables, pool, batch, lanes, first, shares)
        shift = np.int64(0)
        shift = iterate(pool, slots, shift, iterations)
        for j in range(slots - 1, -1, -1):
            read(pool, j, shift, shares[lanes[first + j]])
            take(pool, j, j)


@kernel
def watch(
    tables: Tables,
    batch: Whole,
    lanes: np.ndarray,
    shares: np.ndarray,
    tolerance: np.ndarray,
    most: int,
    returns: Returns,
) -> None:
    """When each of the trajectories `lanes` is first back at its `shares`, within `most`.

    Args:
        tolerance: largest change of a memory share that is a return, (system, age).
    """
    ages = tables.growth.shape[1]
    pool, now, one = pool_of(ages, _SLOTS), np.zeros(ages), np.int64(1)
    for first in range(0, len(lanes), _SLOTS):
        slots = _fill(tables, pool, batch, lanes, first, shares)
        shift = np.int64(0)
        away = slots
        for j in range(slots):
            returns.period[lanes[first + j]] = 0
        n = np.int64(0)
        while n < most and away > 0:
            shift = iterate(pool, slots, shift, one)
            n += 1
            for j in range(slots):
                i = lanes[first + j]
                youngest = abs(pool.free[j] - shares[i, 0])
                near = returns.period[i] == 0 and youngest <= tolerance[i // batch, 0]
                if near or (n == most and returns.period[i] == 0):
                    read(pool, j, shift, now)
                    back = _within(now, shares[i], tolerance[i // batch])
                    if back or n == most:
                        returns.period[i] = n if back else 0
                        kept = _alive(tables, i // batch, now) - _alive(
                            tables, i // batch, shares[i]
                        )
                        returns.completed[i] = pool.completed[j]
                        lost = max(pool.lost[j] - kept, 0.0) if pool.full[j] > 0 else 0.0
                        returns.evicted[i] = lost
                        away -= 1
        for j in range(slots - 1, -1, -1):
            take(pool, j, j)


@kernel
def orbits(
    tables: Tables,
    batch: Whole,
    lanes: np.ndarray,
    shares: np.ndarray,
    period: np.ndarray,
    tolerance: np.ndarray,
    same: np.ndarray,
) -> None:
    """For each of the trajectories `lanes`, in order, the first one on the same orbit.

    Args:
        shares: a state on the orbit of each trajectory.
        period: of each orbit.
        tolerance: between states that are one, (system, age).
        same: to be filled in at `lanes`.
    """
    ages = tables.growth.shape[1]
    one = np.int64(1)
    pool, now = pool_of(ages, one), np.zeros(ages)
    firsts = np.empty(len(lanes), np.int64)
    known = begin = np.int64(0)
    for k in range(len(lanes)):
        i = lanes[k]
        if k > 0 and i // batch != lanes[k - 1] // batch:
            begin = known
        same[i] = i
        shift = slot = np.int64(0)
        put(tables, pool, slot, i // batch, shares[i], shift)
        for _ in range(period[i] if known > begin else 0):
            shift = iterate(pool, one, shift, one)
            read(pool, slot, shift, now)
            for f in firsts[begin:known]:
                if period[f] == period[i] and _within(now, shares[f], tolerance[i // batch]):
                    same[i] = f
                    break
            if same[i] != i:
                break
        take(pool, slot, slot)
        if same[i] == i:
            firsts[known] = i
            known += 1


@kernel
def _fill(
    tables: Tables, pool: Pool, batch: Whole, lanes: np.ndarray, first: int, shares: np.ndarray
) -> int:
    """The next trajectories into an empty pool, at shift 0; how many."""
    slots = min(_SLOTS, len(lanes) - first)
    for j in range(slots):
        i = lanes[first + j]
        put(tables, pool, j, i // batch, shares[i], np.int64(0))
    return slots


@kernel
def _within(now: np.ndarray, then: np.ndarray, tolerance: np.ndarray) -> bool:
    s = 0
    while s < now.size and abs(now[s] - then[s]) <= tolerance[s]:
        s += 1
    return s == now.size


@kernel
def _back(now: np.ndarray, then: np.ndarray) -> bool:
    s = 0
    while s < now.size and abs(now[s] - then[s]) <= REPEATS_WITHIN:
        s += 1
    return s == now.size


@kernel
def _alive(tables: Tables, system: Whole, shares: np.ndarray) -> float:
    """Requests in a state, over capacity."""
    alive = 0.0
    for s in range(shares.size):
        alive += tables.alive[system, s] * shares[s]
    return alive


@kernel
def _free_of_evictions(tables: Tables, rules: Rules, system: Whole, shares: np.ndarray) -> bool:
    """Whether no eviction can come any more; a rule that is not in use never says so."""
    if rules.modes[system] == 0:
        s, radius = 0, rules.radius[system]
        while s < tables.ages[system] and (
            abs(shares[s] / tables.equilibrium[system, s] - 1.0) <= radius
        ):
            s += 1
        return s == tables.ages[system]
    total, mode = 0.0, 0
    while mode < rules.modes[system] and total < _SUM:
        real = imaginary = 0.0
        for s in range(tables.ages[system]):
            deviation = shares[s] / tables.equilibrium[system, s] - 1.0
            real += rules.real[system, mode, s] * deviation
            imaginary += rules.imaginary[system, mode, s] * deviation
        total += np.hypot(real, imaginary)
        mode += 1
    return total < _SUM


@kernel
def _may_be_free(tables: Tables, rules: Rules, system: Whole, youngest: float) -> bool:
    """What the youngest cohort alone says: its deviation is that of a state at least, and the sum
    of all modes' parts."""
    deviation = abs(youngest / tables.equilibrium[system, 0] - 1.0)
    return deviation < _SUM if rules.modes[system] > 0 else deviation <= rules.radius[system]
