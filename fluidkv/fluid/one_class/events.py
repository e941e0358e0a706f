"""Events of a collapse, found while the engine runs: evictions, support losses, settling.

For one class, and without recording states. Lanes (trajectories) come last, as in `iteration`,
and the boundaries are decided as there: stages are served from the last one down, so that an
emptied stage is exactly 0.0. What is counted on the way is counted in the same pass.

Expects float64, that is a call under `in_float64`; `event_log` sees to it.

Source: Congestion, equation (2), section 3.3 and Appendix A.1.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jax import lax
from jaxtyping import Array, Bool, Float, Int
from numpy.typing import ArrayLike

from fluidkv.errors import InputError
from fluidkv.fluid.boundary import checked_starts, weights_of_one_class
from fluidkv.runs.precision import in_float64
from fluidkv.workload import System

Values = Array | np.ndarray
"""Traced inside of the engine, NumPy when back on the host."""

NEVER = -1
"""Stands for "not within the iterations run" wherever an iteration is given."""


class Run(NamedTuple):
    """What the engine carries; `begin` makes it, `advance` moves it by whole turns.

    A turn is l1 iterations, after which every relative position is back at its stage. Iterations
    are int32, `NEVER` where there is none.

    Fields:
        masses: at the start of a turn, by stage, which is then the relative position.
        iteration: n of `masses`.
        mark: masses at turn 1, 2, 4, 8, ..., whichever was the last, for repetition to show.
        marked: n of `mark`.
        first_eviction: first n whose transition X^{n-1} -> X^n evicted, also after settling.
        evictions: iterations that evicted until the lane was seen to be settled.
        below: number of states X^0, X^1, ... with fewer than `level` empty stages.
        empty: empty stages of the last state that counted.
        settled: from here on the lane is periodic.
        measured: iterations after settling that `completed` counts.
        completed: requests completed in them.
    """

    masses: Float[Values, "stage lane"]
    iteration: Int[Values, " lane"]
    mark: Float[Values, "stage lane"]
    marked: Int[Values, " lane"]
    first_eviction: Int[Values, " lane"]
    evictions: Int[Values, " lane"]
    below: Int[Values, "level lane"]
    empty: Int[Values, " lane"]
    settled: Int[Values, " lane"]
    measured: Int[Values, " lane"]
    completed: Float[Values, " lane"]


class _Counts(NamedTuple):
    """The part of a run that changes within a turn, besides masses; fields as there."""

    first_eviction: Int[Values, " lane"]
    evictions: Int[Values, " lane"]
    empty: Int[Values, " lane"]
    settled: Int[Values, " lane"]
    measured: Int[Values, " lane"]
    completed: Float[Values, " lane"]


def event_log(system: System, start: ArrayLike, *, iterations: int) -> xr.Dataset:
    """Run until every trajectory has settled, or for `iterations`, and report what happened when.

    No state is recorded on the way. A trajectory has settled where a single position is left
    (then it is on the maximal-eviction cycle, and stays), or where all masses are, bit by bit,
    what they were l1 iterations ago (then it repeats itself for ever, in floats). One that is
    merely close to a balanced cycle has not settled.

    Args:
        system: one class.
        start: masses by stage, shape (stage,) or (batch, stage), on the memory boundary.
        iterations: to look for settling at most, at least 1. Throughput takes the l1 iterations
            that follow, even where they go beyond.

    Returns:
        A dataset with dimensions batch, level and stage; -1 stands for "not within the horizon".
            first_eviction (batch): n of the first transition X^{n-1} -> X^n that evicted, in the
                turn after settling too (the maximal-eviction cycle evicts).
            evictions (batch): how many iterations evicted until settling was seen.
            reached (batch, level): first n at which X^n has at least `level` empty stages.
            settled (batch): first n from which the trajectory is on the maximal-eviction cycle; of
                another one, an n from which it repeats itself: 0, or l1 times a power of two.
            throughput (batch): completions an iteration, over l1 iterations after settling; NaN
                if not settled.
            last (batch): n of `final_state`, where the trajectory was left.
            final_state (batch, stage): masses.

    Raises:
        InputError: more than one class, a start off the memory boundary (the message says by how
            much) or of the wrong shape, negative or not finite; iterations below 1.
    """
    weights, capacity = weights_of_one_class(system)
    masses = checked_starts(system, start)
    check_horizon(iterations)
    with in_float64():
        run = _run_all(weights, capacity, masses.T, np.asarray(iterations, np.int32))
        return dataset(jax.device_get(run))


def check_horizon(iterations: object) -> None:
    limit = np.iinfo(np.int32).max // 2
    if isinstance(iterations, bool) or not isinstance(iterations, int | np.integer):
        raise InputError("iterations", iterations, "an integer of at least 1")
    if not 1 <= iterations <= limit:
        raise InputError("iterations", iterations, f"an integer from 1 to {limit}")


def begin(masses: Float[Values, "stage lane"]) -> Run:
    """Lanes at X^0."""
    stages, lanes = masses.shape
    never = jnp.full(lanes, NEVER, jnp.int32)
    zero = jnp.zeros(lanes, jnp.int32)
    empty = jnp.sum(masses == 0, axis=0, dtype=jnp.int32)
    return Run(
        masses=masses,
        iteration=zero,
        mark=masses,
        marked=zero,
        first_eviction=never,
        evictions=zero,
        below=(empty[None] < _levels(stages)).astype(jnp.int32),
        empty=empty,
        settled=jnp.where(empty == stages - 1, zero, never),
        measured=zero,
        completed=jnp.zeros(lanes),
    )


def running(run: Run, horizon: Int[Values, ""]) -> Bool[Array, " lane"]:
    """Lanes that still have something to say."""
    stages = run.masses.shape[0]
    return jnp.where(run.settled == NEVER, run.iteration < horizon, run.measured < stages)


def advance(
    weights: Float[Values, " stage"],
    capacity: Float[Values, ""],
    run: Run,
    horizon: Int[Values, ""],
    enough: Int[Values, ""],
) -> Run:
    """Whole turns, until no more than `enough` lanes are running. Pure.

    All lanes move until the last one stops, but what lies beyond the horizon of a lane, or beyond
    the turn after its settling, is not counted. Lanes that began later may join between two calls.
    """

    def turn(run: Run) -> Run:
        return _turn(weights, capacity, run, horizon)

    return lax.while_loop(lambda r: _count(running(r, horizon)) > enough, turn, run)


def dataset(run: Run) -> xr.Dataset:
    """The events of a run that has ended, as `event_log` returns them."""
    stages = run.masses.shape[0]
    reached = np.where(np.arange(stages)[:, None] <= run.empty, run.below, NEVER)
    settled = np.asarray(run.settled)
    throughput = np.where(settled >= 0, run.completed / stages, np.nan)
    none = {"none": NEVER}
    return xr.Dataset(
        {
            "first_eviction": (
                "batch",
                np.asarray(run.first_eviction),
                {"long_name": "iteration of the first eviction"} | none,
            ),
            "evictions": (
                "batch",
                np.asarray(run.evictions),
                {"long_name": "iterations with eviction until settled"},
            ),
            "reached": (
                ("batch", "level"),
                reached.T,
                {"long_name": "first iteration with at least this many empty stages"} | none,
            ),
            "settled": ("batch", settled, {"long_name": "iteration of settling"} | none),
            "throughput": (
                "batch",
                throughput,
                {"long_name": "requests completed an iteration after settling"},
            ),
            "last": (
                "batch",
                np.asarray(run.iteration),
                {"long_name": "iteration of final_state"},
            ),
            "final_state": (
                ("batch", "stage"),
                np.asarray(run.masses).T,
                {"long_name": "mass by stage where the trajectory was left"},
            ),
        },
        coords={"level": np.arange(stages), "stage": np.arange(stages)},
    )


@jax.jit
def _run_all(weights, capacity, masses, iterations):
    return advance(weights, capacity, begin(masses), iterations, jnp.int32(0))


def _turn(
    weights: Float[Values, " stage"],
    capacity: Float[Values, ""],
    run: Run,
    horizon: Int[Values, ""],
) -> Run:
    """l1 iterations of all lanes."""
    stages = weights.shape[0]

    def one(carry, _):
        masses, iteration, counts = carry
        masses, counts, empty = _iterate(weights, capacity, masses, iteration, horizon, counts)
        return (masses, iteration + jnp.int32(1), counts), empty

    counts = _Counts(*(getattr(run, name) for name in _Counts._fields))
    (masses, iteration, counts), empty = lax.scan(
        one, (run.masses, run.iteration, counts), None, length=stages
    )
    fewer = jnp.sum(empty[None] < _levels(stages)[:, None], axis=1, dtype=jnp.int32)
    # The same masses again: a turn is a function of them, so they repeat. Comparing with a mark
    # that is moved at powers of two finds a period of any number of turns (Brent).
    same = jnp.all(masses == run.mark, axis=0) & (counts.settled == NEVER)
    counts = counts._replace(
        settled=jnp.where(same & (iteration <= horizon), run.marked, counts.settled)
    )
    turns = iteration // stages
    move = (turns & (turns - 1)) == 0
    mark = jnp.where(move[None], masses, run.mark)
    marked = jnp.where(move, iteration, run.marked)
    below = run.below + fewer
    return Run(masses, iteration, mark, marked, below=below, **counts._asdict())


def _iterate(
    weights: Float[Values, " stage"],
    capacity: Float[Values, ""],
    masses: Float[Values, "stage lane"],
    iteration: Int[Values, " lane"],
    horizon: Int[Values, ""],
    counts: _Counts,
) -> tuple[Float[Array, "stage lane"], _Counts, Int[Array, " lane"]]:
    """One iteration X^{n-1} -> X^n; also the empty stages of X^n, those of the last state that
    counts where n is beyond the horizon."""
    stages = weights.shape[0]

    # execute, evict: the mass at stage s - 1 needs room at stage s, the most progressed first.
    # Once `free` is negative the stages below get nothing, and minus `free` is the excess.
    def stage(free, row):
        mass, weight = row
        needed = mass * weight
        room = jnp.maximum(free, 0.0)
        kept = jnp.where(needed > room, jnp.minimum(room / weight, mass), mass)
        return free - needed, kept

    start = jnp.broadcast_to(capacity, masses.shape[1:])
    free, kept = lax.scan(stage, start, (masses[:-1], weights[1:]), reverse=True)
    # admit
    admitted = jnp.maximum(free, 0.0) / weights[0]
    after = jnp.concatenate([admitted[None], kept])
    empty = jnp.sum(after == 0, axis=0, dtype=jnp.int32)

    n = iteration + 1
    waiting = (counts.settled == NEVER) & (n <= horizon)
    evicting = free < 0
    first = evicting & (counts.first_eviction == NEVER) & (n <= horizon)
    measuring = (counts.settled != NEVER) & (counts.measured < stages)
    empty = jnp.where(waiting, empty, counts.empty)
    counted = _Counts(
        first_eviction=jnp.where(first, n, counts.first_eviction),
        evictions=counts.evictions + (evicting & waiting).astype(jnp.int32),
        empty=empty,
        settled=jnp.where(waiting & (empty == stages - 1), n, counts.settled),
        measured=counts.measured + measuring.astype(jnp.int32),
        completed=counts.completed + jnp.where(measuring, masses[-1], 0.0),
    )
    return after, counted, empty


def _count(flags: Bool[Array, " lane"]) -> Int[Array, ""]:
    return jnp.sum(flags, dtype=jnp.int32)


def _levels(stages: int) -> Int[Array, "level 1"]:
    return jnp.arange(stages, dtype=jnp.int32)[:, None]
