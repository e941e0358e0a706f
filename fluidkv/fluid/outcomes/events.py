"""Events of a collapse: evictions, support losses, settling; no state is recorded on the way.

For one class. `fluidkv.exact` has the same in rationals: `mass` iteration by iteration,
`one_class.blocks` from block to block.

Source: Congestion, equation (2), section 3.3 and Appendix A.1.
"""

from collections.abc import Sequence

import numpy as np
import xarray as xr
from jaxtyping import Float
from numpy.typing import ArrayLike

from fluidkv.errors import InputError
from fluidkv.fluid.labels.lane import BACK, NEVER
from fluidkv.fluid.outcomes.following import Trajectories, advance, cohorts_of
from fluidkv.fluid.outcomes.results import dataset_over, one_or_many
from fluidkv.fluid.states import cohort_states
from fluidkv.labels import Column
from fluidkv.runs.checks import count
from fluidkv.systems import Systems
from fluidkv.workload import System

LONGEST = np.iinfo(np.int32).max // 2  # iterations that the counts of events can tell
_PART = 2**14
"""Trajectories at a time: on the way they take some times the memory of what is found."""


def event_log(
    systems: System | Systems | Sequence[System], start: ArrayLike, *, iterations: int
) -> xr.Dataset:
    """Run until every trajectory has settled, or for `iterations`, and report what happened when.

    No state is recorded on the way. A trajectory has settled where a single position is left
    (then it is on the maximal-eviction cycle, and stays), or where all masses are, bit by bit,
    what they were l1 iterations ago (then it repeats itself for ever, in floats). One that is
    merely close to a balanced cycle has not settled.

    Args:
        systems: of one class each; one, or many.
        start: masses by stage, on the memory boundary: (stage,) or (batch, stage); for many systems
            (system, batch, stage), 0 beyond a system's own stages, or a batch that serves each.
        iterations: to look for settling at most, at least 1. Throughput takes the l1 iterations
            that follow, even where they go beyond.

    Returns:
        A dataset with dimensions batch, level and stage, for many systems before them system; -1
            stands for "not within the horizon".
            first_eviction (batch): n of the first transition X^{n-1} -> X^n that evicted, in the
                turn after settling too (the maximal-eviction cycle evicts).
            evictions (batch): how many iterations evicted until settling was seen.
            reached (batch, level): first n at which X^n has at least `level` empty stages.
            settled (batch): first n from which the trajectory is on the maximal-eviction cycle; of
                another one, an n from which it repeats itself: 0, or l1 times a power of two.
            throughput (batch): completions an iteration, over l1 iterations after settling; NaN
                if not settled.
            last (batch): n of `final_state`, where the trajectory was left: a multiple of l1, one
                turn after settling, or the first one from the horizon on.
            final_state (batch, stage): masses.

    Raises:
        InputError: more than one class, a start off the memory boundary (the message says by how
            much) or of the wrong shape, negative or not finite; iterations below 1.

    Examples:
        >>> from fluidkv.fluid import event_log
        >>> system = fk.System(fk.Workload.from_lengths([(2, 3)]), capacity=24)
        >>> log = event_log(system, [[4, 3, 0]], iterations=100)
        >>> log.first_eviction.item(), log.settled.item(), round(log.throughput.item(), 3)
        (1, 6, 1.6)
        >>> log.reached.values[0].tolist()
        [0, 0, 6]
    """
    of = one_or_many(systems)
    masses = boundary_starts(of, start, "start")
    count("iterations", iterations, most=LONGEST)
    return dataset_over(of, follow(of, masses, int(iterations)), iterations=int(iterations))


def boundary_starts(
    of: System | Systems, start: ArrayLike, argument: str
) -> Float[np.ndarray, "system batch stage"]:
    """Masses on the memory boundary, of one class."""
    if isinstance(of, Systems) and of.classes.max() > 1:
        worst = int(of.classes.argmax())
        raise InputError("systems", f"{of.classes[worst]} classes (system {worst})", "one class")
    if isinstance(of, System) and len(of.workload.classes) != 1:
        raise InputError("system", f"{len(of.workload.classes)} classes", "one class")
    masses = cohort_states(of, start, argument=argument, full=True)
    return masses if isinstance(of, Systems) else masses[None]


def follow(
    of: System | Systems, masses: Float[np.ndarray, "system batch stage"], iterations: int
) -> dict[str, Column]:
    """Every trajectory until it has settled, or to the horizon: variables over starts, as
    `event_log` returns them."""
    shape = masses.shape[:2]
    these, parts = cohorts_of(of, shape[1]), []
    for first in range(0, these.system.size, _PART):
        rows = np.arange(first, min(first + _PART, these.system.size))
        start = masses[np.unravel_index(rows, shape)]
        parts.append(_settled(these.of(rows), start, iterations))
    never = f"; {NEVER}: not within the horizon"
    level = "first iteration with at least this many empty stages"
    about: dict[str, tuple[str | tuple[str, ...], str, str]] = {
        "first_eviction": ((), "iteration", "iteration of the first eviction" + never),
        "evictions": ((), "iteration", "iterations with eviction until settled"),
        "reached": ("level", "iteration", level + never),
        "settled": ((), "iteration", "iteration of settling" + never),
        "throughput": ((), "request/iteration", "completions after settling"),
        "last": ((), "iteration", "iteration of final_state"),
        "final_state": ("stage", "request", "mass where the trajectory was left"),
    }
    columns: dict[str, Column] = {}
    for name, (dims, units, title) in about.items():
        values = np.concatenate([part.pop(name) for part in parts])
        columns[name] = (dims, values.reshape(*shape, *values.shape[1:]), units, title)
    return columns


def _settled(
    these: Trajectories, start: Float[np.ndarray, "trajectory stage"], iterations: int
) -> dict[str, np.ndarray]:
    """Trajectories to their end: variables by name."""
    turn, reached = these.stages[these.system], np.empty(start.shape, np.int64)
    looks = {"every": these.stages, "moves": np.zeros(1, np.int64)}
    looks |= {"within": np.zeros_like(these.weights), "mark": np.array(start), "reached": reached}
    run = advance(these, start, iterations, **looks)
    alone = reached[np.arange(len(turn)), turn - 1]
    settled = np.where(alone != NEVER, alone, np.where(run.ended == BACK, run.marked, NEVER))
    # A trajectory is left at the end of a turn, and one that has settled makes another one.
    final, last = run.state[:, 0], -(-run.iterations // turn) * turn
    rows = np.flatnonzero(last != run.iterations)
    again = {"every": these.stages, "mark": np.array(start[rows])}  # the same bits; nothing ends it
    final[rows] = advance(these.of(rows), start[rows], last[rows], **again).state[:, 0]
    rows = np.flatnonzero(settled != NEVER)
    more = advance(these.of(rows), final[rows], turn[rows])
    first, throughput = run.first_eviction, np.full(len(turn), np.nan)
    later = last[rows] + more.first_eviction
    new = (first[rows] == NEVER) & (more.first_eviction != NEVER) & (later <= iterations)
    first[rows[new]] = later[new]
    throughput[rows], final[rows] = more.completed / turn[rows], more.state[:, 0]
    last[rows] += turn[rows]
    iteration = {"first_eviction": first, "reached": reached, "settled": settled, "last": last}
    iteration["evictions"] = np.where(alone != NEVER, run.evictions_then, run.evictions)
    narrow = {name: values.astype(np.int32) for name, values in iteration.items()}
    return narrow | {"throughput": throughput, "final_state": final}
