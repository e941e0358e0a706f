"""What the kernel keeps of a trajectory, a *lane*, as arrays over many; and their columns, by name.

In the kernel itself each of these tuples holds the arrays of one lane: those below without their
first axis.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from fluidkv.fluid.labels.tables import BY_CLASS, Tables
from fluidkv.runs.batch import power_of_two

NEVER = -1
"""Stands for "not so far" where an iteration is given."""

TURNS = 2
"""With one end and no looks sums are made anew from the labels every so many times d iterations.
Between, they round some four times an iteration, and memory adds these up: to less than what a
start may be off the boundary, so that a final state can be one."""

SLACK = 1e-12
"""A label that needs all but so little of what it holds is used up: where in exact numbers eviction
takes just all of it, as it does again and again on some orbits, no rounding is left over. The sums
round by some 1e-14 of memory until they are made anew."""

# Of `numbers`: requests, since the window began and in flight, which are what a window can record;
# with one end (`one_end`) tokens left for the youngest label, and requests of all older ones.
ADMITTED, COMPLETED, EVICTED, IN_FLIGHT, ROOM, OLDER = range(6)
NUMBERS = 6

# Of `counts`: iterations made; with one end, from where on ROOM counts and up to where nothing
# completes and the youngest label lasts; births of the youngest label and of the oldest, how many
# live; the youngest that is left of a start off the manifold; iterations that evicted, the first
# of them, the last one that left memory full; evictions when the latest level was reached, which
# one that was; where the mark of the looks is; what a look found.
NOW, SINCE, QUIET, YOUNG, OLDEST, LIVE, STARTED = range(7)
EVICTIONS, FIRST_EVICTION, LAST_FULL, EVICTIONS_THEN, LEVEL, MARKED, ENDED = range(7, 14)
COUNTS = 14

# What a look found, and ended the trajectory: nothing; it is back at its mark; no eviction can come
# any more; a single label is left.
GOES_ON, BACK, FREE, ALONE = range(4)

# Of `flows`, requests of each class in a window.
DONE, CUT = range(2)
FLOWS = 2


class Lanes(NamedTuple):
    """Trajectories where they are.

    Fields:
        system: of each, its place in the tables.
        start, capacity: see `engine.advance`.
        until: the last iteration of each.
        numbers, counts: columns, see above.
        mass, link, after: units of the label that entered in iteration b, and the births of those
            before and after it that are left, at b modulo the size of the ring.
        begun: what eviction has left, of 1, of what was at each stage of a start off the manifold.
        flows: see above; no rows where there are none by class.
    """

    system: Int[np.ndarray, " lane"]
    start: Float[np.ndarray, "lane row stage"]
    capacity: Float[np.ndarray, " lane"]
    until: Int[np.ndarray, " lane"]
    numbers: Float[np.ndarray, "lane number"]
    counts: Int[np.ndarray, "lane count"]
    mass: Float[np.ndarray, "lane label"]
    link: Int[np.ndarray, "lane label"]
    after: Int[np.ndarray, "lane label"]
    begun: Float[np.ndarray, "lane stage"]
    flows: Float[np.ndarray, "lane 2 row"]


class Windows(NamedTuple):
    """What is read at the end of each window, and at the end; no windows of what is not wanted.

    Fields:
        admitted, completed, evicted: requests, summed over the window.
        in_flight: requests at its end.
        empty_stages: how many have no mass.
        state: masses.
        final: masses at the end.
    """

    admitted: Float[np.ndarray, "lane window row"]
    completed: Float[np.ndarray, "lane window row"]
    evicted: Float[np.ndarray, "lane window row"]
    in_flight: Float[np.ndarray, "lane window row"]
    empty_stages: Float[np.ndarray, "lane window"]
    state: Float[np.ndarray, "lane window row stage"]
    final: Float[np.ndarray, "lane row stage"]


class Looks(NamedTuple):
    """What ends a trajectory of one row before its last iteration; see `looks.look`.

    Fields:
        every: of each system, iterations from one look to the next; 0: there are none.
        moves: one number, looks from one move of the mark to the next; 0: at looks 1, 2, 4, 8 ...
        within: of each system, how far each mass may be from the mark to be back; below 0: never.
        best: of each system, x*, of which masses deviate.
        rule: of each system, which of the rules holds.
        terms: of each rule, how many modes it has.
        limit: of each rule, what the sum over its modes has to stay below, or, if it has none, each
            deviation; NaN: no state is free of evictions.
        modes: of each rule, real and imaginary part of each mode.
        mark: of each trajectory, the state with which it is compared.
        reached: of each trajectory, for each level the first iteration with so many empty stages;
            empty where it is not asked for. With it one that has a single label left ends, too.
    """

    every: Int[np.ndarray, " system"]
    moves: Int[np.ndarray, " 1"]
    within: Float[np.ndarray, "system stage"]
    best: Float[np.ndarray, " system"]
    rule: Int[np.ndarray, " system"]
    terms: Int[np.ndarray, " rule"]
    limit: Float[np.ndarray, " rule"]
    modes: Float[np.ndarray, "rule mode 2 stage"]
    mark: Float[np.ndarray, "lane stage"]
    reached: Int[np.ndarray, "lane level"]


def new_lanes(
    tables: Tables,
    system: Int[np.ndarray, " lane"],
    start: Float[np.ndarray, "lane row stage"],
    capacity: Float[np.ndarray, " lane"],
    until: Int[np.ndarray, " lane"],
) -> Lanes:
    """Lanes that have not begun; of any kind of number, that of `capacity`."""
    count, (_, stages, _) = len(start), tables.unit.shape
    ring, by_class = power_of_two(stages), bool(np.any(tables.sizes[:, BY_CLASS]))
    counts = np.zeros((count, COUNTS), np.int64)
    counts[:, [NOW, FIRST_EVICTION]] = NEVER
    kind = capacity.dtype
    return Lanes(
        *(system, start, capacity, until),
        numbers=np.zeros((count, NUMBERS), kind),
        counts=counts,
        mass=np.zeros((count, ring), kind),
        link=np.empty((count, ring), np.int64),
        after=np.empty((count, ring), np.int64),
        begun=np.ones((count, by_class * stages), kind),
        flows=np.zeros((count, FLOWS, by_class * start.shape[1]), kind),
    )
