"""Events of a collapse: evictions, support losses, settling; no state is recorded on the way.

For one class. `fluidkv.fluid.positions.settling` follows a trajectory from event to event; here
trajectories go to it in groups, on all cores, and what it found is laid out. `fluidkv.exact` has
the same in rationals: `mass` iteration by iteration, `one_class.blocks` from block to block.

Source: Congestion, equation (2), section 3.3 and Appendix A.1.
"""

from typing import NamedTuple

import numpy as np
import xarray as xr
from jaxtyping import Float, Int
from numpy.typing import ArrayLike

from fluidkv.errors import InputError
from fluidkv.fluid.boundary import checked_starts, weights_of_one_class
from fluidkv.labels import Column, dataset
from fluidkv.processes import cores
from fluidkv.runs.batch import Watch, in_groups
from fluidkv.workload import System

NEVER = -1
"""Stands for "not within the iterations run" wherever an iteration is given."""

_GROUP = 4096
"""Trajectories of a call, which cannot be interrupted: some milliseconds."""


class Classes(NamedTuple):
    """Systems of one class each: l0 and l1, int64 (system), and M, float64 (system)."""

    input_length: Int[np.ndarray, " system"]
    decode_length: Int[np.ndarray, " system"]
    capacity: Float[np.ndarray, " system"]


class Events(NamedTuple):
    """What happened to each trajectory; iterations are int32, `NEVER` where there is none.

    Fields:
        counts: first iteration that evicted; iterations that did, until settled; from where on it
            is settled; n of `final`.
        completed: requests completed in the l1 iterations after settling; 0 if it did not.
        reached: first n at which X^n has at least `level` empty stages.
        final: masses where it was left.
    """

    counts: Int[np.ndarray, "trajectory 4"]
    completed: Float[np.ndarray, " trajectory"]
    reached: Int[np.ndarray, "trajectory level"]
    final: Float[np.ndarray, "trajectory stage"]


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
            last (batch): n of `final_state`, where the trajectory was left: a multiple of l1, one
                turn after settling, or the first one from the horizon on.
            final_state (batch, stage): masses.

    Raises:
        InputError: more than one class, a start off the memory boundary (the message says by how
            much) or of the wrong shape, negative or not finite; iterations below 1.
    """
    classes = classes_of(system)
    masses = checked_starts(system, start)
    check_horizon(iterations)
    events = settle(classes, masses, len(masses), int(iterations))
    found = columns(events, classes.decode_length, ("batch",), (len(masses),))
    return dataset(found, system=system, iterations=int(iterations))


def classes_of(system: System) -> Classes:
    """A single system.

    Raises:
        InputError: more than one class.
    """
    weights, capacity = weights_of_one_class(system)
    lengths = (int(weights[0]) - 1, len(weights), float(capacity))
    return Classes(*map(np.atleast_1d, lengths))


def check_horizon(iterations: object) -> None:
    limit = np.iinfo(np.int32).max // 2
    if isinstance(iterations, bool) or not isinstance(iterations, int | np.integer):
        raise InputError("iterations", iterations, "an integer of at least 1")
    if not 1 <= iterations <= limit:
        raise InputError("iterations", iterations, f"an integer from 1 to {limit}")


def settle(
    classes: Classes, masses: Float[np.ndarray, "row stage"], batch: int, iterations: int
) -> Events:
    """Every trajectory to its end.

    Args:
        classes: of each system.
        masses: starts on the memory boundary, 0 beyond a system's stages; trajectory i starts from
            row i, or where there are fewer rows from row i modulo their number.
        batch: trajectories of a system, which follow one another.
        iterations: the horizon.
    """
    from fluidkv.fluid.positions.settling import follow

    count, stages = len(classes.capacity) * batch, masses.shape[1]
    events = Events(
        np.empty((count, 4), np.int32),
        np.empty(count),
        np.empty((count, stages), np.int32),
        np.empty((count, stages)),
    )
    masses, watch = np.ascontiguousarray(masses), Watch()

    def group(lanes: np.ndarray) -> None:
        follow(*classes, masses, lanes, batch, iterations, *events)

    in_groups(group, count, _GROUP, min(cores(), -(-count // _GROUP)), watch)
    return events


def columns(
    events: Events,
    decode_length: Int[np.ndarray, " system"],
    dims: tuple[str, ...],
    shape: tuple[int, ...],
) -> dict[str, Column]:
    """Variables over `dims`, of this shape, as `event_log` returns them."""
    first, evictions, settled, last = events.counts.T
    turns = np.repeat(decode_length, len(settled) // len(decode_length))
    throughput = np.where(settled >= 0, events.completed / turns, np.nan)
    never = f"; {NEVER}: not within the horizon"
    plain = {
        "first_eviction": (first, "iteration", "iteration of the first eviction" + never),
        "evictions": (evictions, "iteration", "iterations with eviction until settled"),
        "settled": (settled, "iteration", "iteration of settling" + never),
        "throughput": (throughput, "request/iteration", "completions after settling"),
        "last": (last, "iteration", "iteration of final_state"),
    }
    found: dict[str, Column] = {
        name: (dims, values.reshape(shape), units, title)
        for name, (values, units, title) in plain.items()
    }
    title = "first iteration with at least this many empty stages" + never
    reached = events.reached.reshape(*shape, -1)
    found["reached"] = ((*dims, "level"), reached, "iteration", title)
    title = "mass by stage where the trajectory was left"
    final = events.final.reshape(*shape, -1)
    found["final_state"] = ((*dims, "stage"), final, "request", title)
    return found
