"""The mass model, literally: one decoding iteration in rational arithmetic.

This file is the reference that the fast engine is held against. It is written to be compared with
the paper by eye, one loop for one sentence, and it is slow.

A state is a list of lists, `state[k][j]`: the mass of class k at decoding stage j, in requests,
with j = 0 ... l1_k - 1. A request of class k at stage j holds w_kj = l0_k + 1 + j tokens.

Source: Congestion, section 2.2 (the four steps), 2.3 (masses) and 4.1 (proportional admission).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor

from fluidkv.errors import InputError
from fluidkv.record import Record
from fluidkv.workload import RequestClass, System

Masses = list[list[Fraction]]
"""Mass of class k at stage j, requests."""

Counts = list[Fraction]
"""One number of requests for each class k."""


@dataclass(frozen=True)
class Step(Record):
    """What happened in one iteration.

    Fields, in the order in which they come about:
        executed: masses after execution.
        completed: requests that left, each class.
        evicted: masses that eviction removed, each class and stage.
        kept: masses after eviction.
        admitted: requests that entered stage 0, each class.
        state: masses after admission, where the next iteration starts.
        waiting: queue after admission, each class; None if the queue never empties.

    Examples:
        >>> from fluidkv.exact import iterate
        >>> system = fk.System(fk.Workload.from_lengths([(2, 3)]), capacity=24)
        >>> step = iterate(system, [[0, 6, 0]])
        >>> [str(x) for x in step.executed[0]], str(step.evicted[0][2]), str(step.admitted[0])
        (['0', '0', '6'], '6/5', '0')
    """

    executed: Masses
    completed: Counts
    evicted: Masses
    kept: Masses
    admitted: Counts
    state: Masses
    waiting: Counts | None


def iterate(
    system: System,
    state: Sequence[Sequence[Fraction | int]],
    *,
    waiting: Sequence[Fraction | int] | None = None,
    arrivals: Sequence[Fraction | int] | None = None,
    whole_requests: bool = False,
) -> Step:
    """One decoding iteration.

    Args:
        system: the classes, their shares and the capacity.
        state: mass of class k at stage j, requests; memory not above capacity.
        waiting: queue of each class, requests; None is the saturated regime.
        arrivals: requests of each class that join the queue in this iteration; None is zero.
        whole_requests: evict and admit whole requests, as Example 1 does, where the masses of
            section 2.3 and after are split at will. One class only: with more, the paper does not
            say which whole requests a proportion stands for.

    Raises:
        InputError: a state whose shape is not the system's, a negative mass, memory above
            capacity, a queue or arrivals of the wrong length, arrivals without a queue, or whole
            requests of more than one class.

    Examples:
        >>> from fluidkv.exact import iterate
        >>> system = fk.System(fk.Workload.from_lengths([(2, 3)]), capacity=24)
        >>> [str(x) for x in iterate(system, [[2, 2, 2]]).state[0]]
        ['2', '2', '2']
        >>> step = iterate(system, [[2, 2, 2]], waiting=[1], arrivals=[0])
        >>> [str(x) for x in step.state[0]], str(step.waiting[0])
        (['1', '2', '2'], '0')
    """
    state = _checked(system, state)
    queue = None if waiting is None else _counts(system, "waiting", waiting)
    new = None if arrivals is None else _counts(system, "arrivals", arrivals)
    if queue is None and new is not None:
        raise InputError("arrivals", arrivals, "None where `waiting` is None (saturated)")
    if whole_requests and len(system.workload.classes) > 1:
        raise InputError("whole_requests", True, "False where there is more than one class")

    executed, completed = execute(state)
    queue = arrive(queue, new)
    kept, evicted = evict(system, executed, whole_requests=whole_requests)
    if queue is not None:
        queue = [q + sum(row) for q, row in zip(queue, evicted, strict=True)]
    after, admitted, queue = admit(system, kept, queue, whole_requests=whole_requests)
    return Step(executed, completed, evicted, kept, admitted, after, queue)


def iterates(system: System, state: Sequence[Sequence[Fraction | int]]) -> Iterator[Masses]:
    """X^0, X^1, X^2, ... of the saturated system, without end.

    Examples:
        >>> from itertools import islice
        >>> from fluidkv.exact.mass import iterates
        >>> system = fk.System(fk.Workload.from_lengths([(2, 3)]), capacity=24)
        >>> [[str(x) for x in state[0]] for state in islice(iterates(system, [[8, 0, 0]]), 4)]
        [['8', '0', '0'], ['0', '6', '0'], ['0', '0', '24/5'], ['8', '0', '0']]
    """
    current = _checked(system, state)
    while True:
        yield current
        current = iterate(system, current).state


def execute(state: Masses) -> tuple[Masses, Counts]:
    """Every request advances one stage; the last stage of each class completes."""
    executed = [[Fraction(0), *row[:-1]] for row in state]
    completed = [row[-1] for row in state]
    return executed, completed


def arrive(waiting: Counts | None, arrivals: Counts | None) -> Counts | None:
    """Arrivals join the queue. A queue that never empties (None) stays as it is."""
    if waiting is None or arrivals is None:
        return waiting
    return [q + a for q, a in zip(waiting, arrivals, strict=True)]


def evict(
    system: System, executed: Masses, *, whole_requests: bool = False
) -> tuple[Masses, Masses]:
    """Least progressed first: empty stage after stage, regardless of class, until memory fits.

    Memory exactly at capacity evicts nothing. A stage whose memory equals the excess is emptied,
    and the next stage is not touched. A stage that is evicted in part loses the same fraction of
    every class.
    """
    kept = [list(row) for row in executed]
    excess = memory_used(system, executed) - system.capacity
    for j in range(_stages(system)):
        if excess <= 0:
            break
        memory = _stage_memory(system, kept, j)
        removed = min(memory, excess)
        if whole_requests:
            weight = _weight(system.workload.classes[0], j)
            removed = min(memory, Fraction(weight * ceil(removed / weight)))
        for row in kept:
            if j < len(row) and memory > 0:
                row[j] *= 1 - removed / memory
        excess -= removed
    evicted = [
        [before - after for before, after in zip(*rows, strict=True)]
        for rows in zip(executed, kept, strict=True)
    ]
    return kept, evicted


def admit(
    system: System, kept: Masses, waiting: Counts | None, *, whole_requests: bool = False
) -> tuple[Masses, Counts, Counts | None]:
    """Fill the free memory at stage 0 in proportions p_k, as far as the queue allows.

    Memory exactly at capacity admits nothing. With a finite queue, the class that runs out first
    ends admission, so that the proportions hold; the paper leaves this case open.
    """
    classes = system.workload.classes
    free = system.capacity - memory_used(system, kept)
    total = free / sum(c.share * _weight(c, 0) for c in classes)
    if waiting is not None:
        total = min(total, *(q / c.share for q, c in zip(waiting, classes, strict=True)))
    if whole_requests:
        total = Fraction(floor(total))
    if waiting is not None:
        waiting = [q - c.share * total for q, c in zip(waiting, classes, strict=True)]
    admitted = [c.share * total for c in classes]
    # After execution stage 0 is empty, so what is admitted is all that it holds.
    return [[a, *row[1:]] for a, row in zip(admitted, kept, strict=True)], admitted, waiting


def memory_used(system: System, state: Sequence[Sequence[Fraction | int]]) -> Fraction:
    """Sum of w_kj x_kj, tokens.

    Examples:
        >>> from fluidkv.exact.mass import memory_used
        >>> system = fk.System(fk.Workload.from_lengths([(2, 3)]), capacity=24)
        >>> print(memory_used(system, [[2, 2, 2]]))
        24
    """
    return sum((_stage_memory(system, state, j) for j in range(_stages(system))), Fraction(0))


def _stage_memory(system: System, state: Sequence[Sequence[Fraction | int]], j: int) -> Fraction:
    rows = zip(system.workload.classes, state, strict=True)
    return sum((_weight(c, j) * Fraction(row[j]) for c, row in rows if j < len(row)), Fraction(0))


def _weight(c: RequestClass, j: int) -> int:
    """w_kj = l0_k + 1 + j: the input, j generated tokens, and one reserved for the next."""
    return c.input_length + 1 + j


def _stages(system: System) -> int:
    return system.workload.longest_decode


def _checked(system: System, state: Sequence[Sequence[Fraction | int]]) -> Masses:
    lengths = [c.decode_length for c in system.workload.classes]
    if [len(row) for row in state] != lengths:
        raise InputError("state", state, f"one row a class, of lengths {lengths}")
    masses = [[Fraction(x) for x in row] for row in state]
    if any(x < 0 for row in masses for x in row):
        raise InputError("state", state, "masses of at least 0")
    used = memory_used(system, masses)
    if used > system.capacity:
        raise InputError("state", state, f"memory of at most {system.capacity} tokens, not {used}")
    return masses


def _counts(system: System, argument: str, values: Sequence[Fraction | int]) -> Counts:
    counts = [Fraction(v) for v in values]
    if len(counts) != len(system.workload.classes) or any(v < 0 for v in counts):
        allowed = f"{len(system.workload.classes)} numbers of at least 0, one a class"
        raise InputError(argument, values, allowed)
    return counts
