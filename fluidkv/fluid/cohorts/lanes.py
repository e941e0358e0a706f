"""Cohorts of many trajectories at once, in memory shares: an iteration without a division.

A cohort of age s and mass y_s holds the share m_s = V_s y_s / M of memory. In these coordinates the
weights of the model are all 1 and the capacity is 1; what is left of V is the growth of a cohort
that ages by one iteration, g_s = V_s / V_{s-1}. One iteration hands out memory from the oldest
cohort to the youngest:

    free = 1;   for s = d-1 ... 1:   m'_s = min(g_s m_{s-1}, free),   free = free - m'_s;
    m'_0 = free

which is execute (the shift and the growth), evict (least progressed first: what is not left for a
cohort is evicted) and admit (what remains) of `fluidkv.fluid.iteration`. M has gone: it scales all
masses and nothing else. Memory that is full after execution leaves `free` exactly 0.0, so that such
an iteration admits exactly nothing.

A *pool* holds some trajectories side by side, a *slot* each, so that the loop over ages does the
same to all of them and the machine does several at a time. Each slot has a system of its own; of
one with fewer ages the others have growth 0 and hold nothing. Ageing moves no data: age s is in row
(s + shift) mod d, and the shift goes down.

Source: Congestion, section 2.2 on the manifold of Lemma 9; weights V_s of Appendix B.6.1 and B.8.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from fluidkv.runs.kernels import kernel

Whole = int | np.int64
"""Where a plain 0 would be a type of its own for the compiler, and all that takes it be compiled
twice, it is an `np.int64`."""


class Tables(NamedTuple):
    """Systems, in memory shares; ages beyond a system's own are 0.

    Fields:
        ages: d of each system.
        weights: V_s.
        capacity: M.
        growth: V_s / V_{s-1}; 0 at age 0.
        equilibrium: m*_s = V_s / sum of V.
        alive: requests per unit of memory share at age s, over capacity.
        leaving: those of them that complete.
    """

    ages: Int[np.ndarray, " system"]
    weights: Float[np.ndarray, "system age"]
    capacity: Float[np.ndarray, " system"]
    growth: Float[np.ndarray, "system age"]
    equilibrium: Float[np.ndarray, "system age"]
    alive: Float[np.ndarray, "system age"]
    leaving: Float[np.ndarray, "system age"]


class Pool(NamedTuple):
    """Slots side by side; what does not say otherwise is a number for each slot.

    Fields:
        rows: memory shares, (row, slot).
        growth, leaving: of the slot's system, (age, slot).
        ends: of each age, slots at which requests of that age complete.
        free: what the last iteration admitted.
        left: what completed in it.
        entering: requests admitted per unit of memory share, over capacity.
        iteration: iterations made.
        full: the last one after whose execution memory was full; 0 if none.
        lost: requests admitted less requests completed so far, over capacity.
        completed: requests completed so far, over capacity.

    Iterations are float64 here, so that the machine takes several at a time.
    """

    rows: np.ndarray
    growth: np.ndarray
    leaving: np.ndarray
    ends: np.ndarray
    free: np.ndarray
    left: np.ndarray
    entering: np.ndarray
    iteration: np.ndarray
    full: np.ndarray
    lost: np.ndarray
    completed: np.ndarray


@kernel
def pool_of(ages: Whole, slots: Whole) -> Pool:
    """Empty slots."""
    return Pool(
        np.zeros((ages, slots)),
        np.zeros((ages, slots)),
        np.zeros((ages, slots)),
        np.zeros(ages, np.int64),
        np.zeros(slots),
        np.zeros(slots),
        np.zeros(slots),
        np.zeros(slots),
        np.zeros(slots),
        np.zeros(slots),
        np.zeros(slots),
    )


@kernel
def row_of(age: Whole, shift: Whole, ages: Whole) -> Whole:
    """Where an age lies."""
    row = age + shift
    return row - ages if row >= ages else row


@kernel
def put(
    tables: Tables, pool: Pool, j: Whole, system: Whole, shares: np.ndarray, shift: Whole
) -> None:
    """A trajectory at its start, into slot j, which was never used or has been `taken`."""
    ages = pool.rows.shape[0]
    for s in range(ages):
        pool.rows[row_of(s, shift, ages), j] = shares[s]
        pool.growth[s, j] = tables.growth[system, s]
        pool.leaving[s, j] = tables.leaving[system, s]
        pool.ends[s] += tables.leaving[system, s] > 0
    pool.entering[j] = tables.alive[system, 0]
    pool.iteration[j] = pool.full[j] = 0.0
    pool.lost[j] = pool.completed[j] = 0.0


@kernel
def take(pool: Pool, j: Whole, last: Whole) -> None:
    """The trajectory of slot j leaves; that of slot `last` moves there."""
    for s in range(pool.rows.shape[0]):
        pool.ends[s] -= pool.leaving[s, j] > 0
        pool.rows[s, j] = pool.rows[s, last]
        pool.growth[s, j] = pool.growth[s, last]
        pool.leaving[s, j] = pool.leaving[s, last]
    pool.entering[j], pool.lost[j] = pool.entering[last], pool.lost[last]
    pool.iteration[j], pool.full[j] = pool.iteration[last], pool.full[last]
    pool.completed[j] = pool.completed[last]


@kernel
def iterate(pool: Pool, slots: Whole, shift: Whole, iterations: Whole) -> Whole:
    """Iterations of the first `slots` slots; returns the shift after them.

    One function, on plain indices: to hand arrays on, or to cut a row out of one, takes as long as
    the arithmetic of a row.
    """
    rows, growth, leaving, ends = pool.rows, pool.growth, pool.leaving, pool.ends
    free, left, entering = pool.free, pool.left, pool.entering
    iteration, full, lost, completed = pool.iteration, pool.full, pool.lost, pool.completed
    ages = rows.shape[0]
    for _ in range(iterations):
        for j in range(slots):
            free[j], left[j] = 1.0, 0.0
        for s in range(ages):
            if ends[s] > 0:
                r = row_of(s, shift, ages)
                for j in range(slots):
                    left[j] += leaving[s, j] * rows[r, j]
        for s in range(ages - 1, 0, -1):
            r = row_of(s - 1, shift, ages)
            for j in range(slots):
                needed, room = growth[s, j] * rows[r, j], free[j]
                kept = needed if needed < room else room
                rows[r, j] = kept
                free[j] = room - kept
        r = row_of(ages - 1, shift, ages)
        for j in range(slots):
            rows[r, j] = free[j]
        for j in range(slots):
            iteration[j] += 1.0
            full[j] = iteration[j] if free[j] == 0.0 else full[j]
        for j in range(slots):
            completed[j] += left[j]
            lost[j] += entering[j] * free[j] - left[j]
        shift = shift - 1 if shift > 0 else ages - 1
    return shift


@kernel
def read(pool: Pool, j: Whole, shift: Whole, shares: np.ndarray) -> None:
    """Memory shares of a slot, by age."""
    ages = pool.rows.shape[0]
    for s in range(ages):
        shares[s] = pool.rows[row_of(s, shift, ages), j]
