"""Events of a collapse: evictions, support losses, settling; no state is recorded on the way.

For one class. `fluidkv.fluid.labels.settling` follows a trajectory from event to event; here
trajectories go to it in groups, on all cores, and what it found is laid out. `fluidkv.exact` has
the same in rationals: `mass` iteration by iteration, `one_class.blocks` from block to block.

Source: Congestion, equation (2), section 3.3 and Appendix A.1.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import xarray as xr
from jaxtyping import Float, Int
from numpy.typing import ArrayLike

from fluidkv.errors import InputError
from fluidkv.fluid.outcomes.results import dataset_over, one_or_many
from fluidkv.fluid.states import cohort_states
from fluidkv.labels import Column
from fluidkv.processes import cores
from fluidkv.runs.batch import Watch, in_groups
from fluidkv.runs.interpreted import as_python, interpreted
from fluidkv.systems import Systems
from fluidkv.workload import System

NEVER = -1
"""Stands for "not within the iterations run" wherever an iteration is given."""

_OFTEN_SETTLED = 2000  # iterations within which most starts have settled
_GROUP = 4096
"""Trajectories of a call, which cannot be interrupted: some milliseconds."""


class Classes(NamedTuple):
    """Systems of one class each: l0 and l1, int64, and M, float64."""

    input_length: Int[np.ndarray, " system"]
    decode_length: Int[np.ndarray, " system"]
    capacity: Float[np.ndarray, " system"]


class Events(NamedTuple):
    """What happened to each trajectory; iterations are int32, `NEVER` where there is none.

    Fields:
        first_eviction: first iteration that evicted.
        evictions: iterations that did, until it was seen to be settled.
        settled: from where on it is.
        last: n of `final`.
        completed: requests completed in the l1 iterations after settling; 0 if it did not.
        reached: first n at which X^n has at least `level` empty stages.
        final: masses where it was left.
    """

    first_eviction: Int[np.ndarray, "system batch"]
    evictions: Int[np.ndarray, "system batch"]
    settled: Int[np.ndarray, "system batch"]
    last: Int[np.ndarray, "system batch"]
    completed: Float[np.ndarray, "system batch"]
    reached: Int[np.ndarray, "system batch level"]
    final: Float[np.ndarray, "system batch stage"]


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
    classes = classes_of(of)
    masses = starts_of(of, start, "start")
    check_horizon(iterations)
    events = settle(classes, masses, int(iterations))
    return dataset_over(of, columns(events, classes), iterations=int(iterations))


def check_horizon(iterations: object) -> None:
    limit = np.iinfo(np.int32).max // 2
    if isinstance(iterations, bool) or not isinstance(iterations, int | np.integer):
        raise InputError("iterations", iterations, "an integer of at least 1")
    if not 1 <= iterations <= limit:
        raise InputError("iterations", iterations, f"an integer from 1 to {limit}")


def classes_of(of: System | Systems) -> Classes:
    """As arrays.

    Raises:
        InputError: more than one class.
    """
    if not isinstance(of, Systems):
        classes = of.workload.classes
        if len(classes) != 1:
            raise InputError("system", f"{len(classes)} classes", "one class")
        only = classes[0]
        numbers = only.input_length, only.decode_length, float(of.capacity)
        return Classes(*(np.array([x]) for x in numbers))
    if of.classes.max() > 1:
        worst = int(of.classes.argmax())
        raise InputError("systems", f"{of.classes[worst]} classes (system {worst})", "one class")
    return Classes(of.input_length[:, 0], of.decode_length[:, 0], of.capacity.floats)


def starts_of(
    of: System | Systems, start: ArrayLike, argument: str
) -> Float[np.ndarray, "system batch stage"]:
    """Masses on the memory boundary."""
    masses = cohort_states(of, start, argument=argument, full=True)
    return masses if isinstance(of, Systems) else masses[None]


def settle(
    classes: Classes, masses: Float[np.ndarray, "system batch stage"], iterations: int
) -> Events:
    """Every trajectory to its end, or to the horizon."""
    shape, stages = masses.shape[:2], masses.shape[2]
    count = shape[0] * shape[1]
    # Starts that serve all systems are there once.
    rows = np.ascontiguousarray(masses[0] if masses.strides[0] == 0 else masses.reshape(-1, stages))
    counts, completed = np.empty((count, 4), np.int32), np.empty(count)
    reached, final = np.empty((count, stages), np.int32), np.empty((count, stages))

    def arguments(lanes: np.ndarray) -> tuple:
        out = counts, completed, reached, final
        return *classes, rows, lanes, shape[1], iterations, *out

    follow = _follow(count * min(iterations, _OFTEN_SETTLED), arguments(np.arange(1)))

    def group(lanes: np.ndarray) -> None:
        with np.errstate(all="ignore"):
            follow(*arguments(lanes))

    in_groups(group, count, _GROUP, min(cores(), -(-count // _GROUP)), Watch())
    first, evictions, settled, last = counts.T.reshape(4, *shape)
    return Events(
        first_eviction=first,
        evictions=evictions,
        settled=settled,
        last=last,
        completed=completed.reshape(shape),
        reached=reached.reshape(*shape, stages),
        final=final.reshape(*shape, stages),
    )


def _follow(passes: int, example: tuple) -> Callable[..., None]:
    """The loop to the end, compiled; as it is written for little work where it is not compiled."""

    def compiled() -> bool:
        from fluidkv.fluid.labels.settling import follow  # Numba is loaded here
        from fluidkv.runs.kernels import is_compiled

        return is_compiled(follow, example)

    if as_python(passes, compiled):
        return interpreted("fluidkv.fluid.labels.settling").follow
    from fluidkv.fluid.labels.settling import follow

    return follow


def columns(events: Events, classes: Classes) -> dict[str, Column]:
    """Variables over starts, as `event_log` returns them."""
    throughput = np.where(
        events.settled != NEVER, events.completed / classes.decode_length[:, None], np.nan
    )
    never = f"; {NEVER}: not within the horizon"
    n = "iteration"
    level = "first iteration with at least this many empty stages"
    return {
        "first_eviction": ((), events.first_eviction, n, "iteration of the first eviction" + never),
        "evictions": ((), events.evictions, n, "iterations with eviction until settled"),
        "reached": ("level", events.reached, n, level + never),
        "settled": ((), events.settled, n, "iteration of settling" + never),
        "throughput": ((), throughput, "request/iteration", "completions after settling"),
        "last": ((), events.last, n, "iteration of final_state"),
        "final_state": ("stage", events.final, "request", "mass where the trajectory was left"),
    }
