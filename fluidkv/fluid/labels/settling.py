"""One class until it settles, from one event to the next, in the frame of relative positions.

In that frame no mass moves. What is alive is a queue: a completion takes the oldest batch from its
front, admission puts one at its back, eviction trims the back and takes from there what it has used
up (Lemma A.3: each label once). Memory is full after every iteration, so that what is free after
the next one follows from two numbers, the mass that completes and the mass that stays:

    free = (l0 + l1) x - (mass that stays)

Between two completions there is nothing to complete, and each iteration evicts just what the others
grow by. That telescopes: a youngest batch that holds Y tokens, with O requests older than it, holds
Y - k O of them after k iterations. One step leads to the next completion, or to the iteration in
which the batch is used up. So a trajectory costs a few operations for each completion and each
batch lost, whatever the number of stages.

A turn, l1 iterations, is a function of the masses at its start and of nothing else: the sum that is
carried along is made anew at each. So masses that come again bit by bit come again for ever.

Source: Congestion, equation (2), Appendix A.1 (Lemma A.3, Proposition A.4).
"""

import numpy as np

from fluidkv.runs.kernels import kernel

NEVER = -1
"""Stands for "not within the iterations run" wherever an iteration is given."""

FIRST, EVICTIONS, SETTLED, LAST = range(4)
"""Columns of `counts`: first eviction; iterations with one until settled; from where on the
trajectory repeats itself; n of the state where it was left."""


@kernel
def follow(
    input_lengths, decode_lengths, capacities, masses, lanes, batch, horizon, counts, completed,
    reached, final,
):  # fmt: skip
    """Trajectories `lanes` to their end; lane i starts from row i of `masses`, counted around.

    Args:
        input_lengths: l0, (system) int64.
        decode_lengths: l1, (system) int64.
        capacities: M, (system) float64.
        masses: starts on the memory boundary, (row, stage), zero beyond a system's own stages.
        lanes: which trajectories, (lane) int64; lane i belongs to system i // `batch`.
        batch: trajectories of a system.
        horizon: iterations in which events count.
        counts: to be filled in at `lanes`, (trajectory, 4) int32.
        completed: requests completed in the l1 iterations after settling, (trajectory) float64.
        reached: first iteration with at least so many empty stages, (trajectory, level) int32.
        final: masses where a trajectory was left, (trajectory, stage) float64.
    """
    most = masses.shape[1]
    mass, mark, born = np.empty(most), np.empty(most), np.empty(most, np.int64)
    for i in lanes:
        s = i // batch
        stages = decode_lengths[s]
        completed[i] = _settle(
            masses[i % len(masses)], input_lengths[s], capacities[s], horizon,
            mass[:stages], born[:stages], mark[:stages], counts[i], reached[i], final[i],
        )  # fmt: skip


@kernel
def _settle(start, input_length, capacity, horizon, mass, born, mark, counts, reached, final):
    """One trajectory; returns what completed in the turn after settling, 0 if it did not settle."""
    stages = len(mass)
    n = old = marked = live = np.int64(0)  # a plain 0 is a type of its own, compiled apart
    for stage in range(stages - 1, -1, -1):
        if start[stage] > 0:
            mass[live], born[live] = start[stage], -stage
            live += 1
    counts[FIRST] = counts[SETTLED] = NEVER
    counts[EVICTIONS] = 0
    for level in range(len(reached)):
        reached[level] = 0 if level <= stages - live else NEVER
    for stage in range(len(final)):
        final[stage] = 0.0
    _copy(mass, old, mark, live)
    marks, completed = live, 0.0
    while live > 1 and n < horizon and counts[SETTLED] == NEVER:
        n, old, live, _ = _turn(
            mass, born, old, live, n, input_length, capacity, horizon, counts, reached
        )
        if live > 1:
            # No label revives, so as many that live as at the mark are the same ones. Comparing
            # with a mark that moves at powers of two finds a period of any number of turns (Brent).
            if live == marks and n <= horizon and _same(mass, old, mark, live):
                counts[SETTLED] = marked
            turns = n // stages
            if turns & (turns - 1) == 0:
                marked, marks = n, live
                _copy(mass, old, mark, live)
    if live > 1:
        if counts[SETTLED] != NEVER:
            n, old, live, completed = _turn(
                mass, born, old, live, n, input_length, capacity, horizon, counts, reached
            )
        counts[LAST] = n
        for h in range(live):
            at = _place(old + h, stages)
            final[n - born[at]] = mass[at]
        return completed
    return _alone(n, n - born[old], stages, input_length, capacity, horizon, counts, final)


@kernel
def _same(mass, old, mark, live):
    h = 0
    while h < live and mass[_place(old + h, len(mass))] == mark[h]:
        h += 1
    return h == live


@kernel
def _copy(mass, old, mark, live):
    for h in range(live):
        mark[h] = mass[_place(old + h, len(mass))]


@kernel
def _alone(n, stage, stages, input_length, capacity, horizon, counts, final):
    """A single batch is on the maximal-eviction cycle: it holds all memory at every stage."""
    last = -(-n // stages) * stages
    completed = 0.0
    if n <= horizon:
        counts[SETTLED] = n
        last += stages
        completed = capacity / (input_length + stages)
    evicts = n + 1 if stage < stages - 1 else n + 2  # admission after completion fills memory
    if stages > 1 and counts[FIRST] == NEVER and evicts <= horizon:
        counts[FIRST] = evicts
    counts[LAST] = last
    stage = (stage + last - n) % stages
    final[stage] = capacity / (input_length + 1 + stage)
    return completed


@kernel
def _turn(mass, born, old, live, n, input_length, capacity, horizon, counts, reached):
    """Iterations up to the next multiple of l1, or until a single batch lives.

    Returns:
        n, place of the oldest batch in the queue, batches that live, requests completed.
    """
    stages = len(mass)
    end = n + stages
    counting = counts[SETTLED] == NEVER
    older = completed = 0.0
    room = capacity
    for h in range(live - 1):
        at = _place(old + h, stages)
        older += mass[at]
        room -= mass[at] * (input_length + 1 + n - born[at])
    while n < end and live > 1:
        before, lived, evicted = n, live, True
        quiet = stages - 1 - (n - born[old])  # iterations before one that completes
        if quiet > 0:
            k = min(quiet, end - n)
            if room - k * older <= 0:
                k = _exhausted(room, older, k)
            n += k
            room -= k * older
        else:
            x = mass[old]
            old = _place(old + 1, stages)
            live -= 1
            n += 1
            completed += x
            older -= x
            room += (input_length + stages) * x - older
            young = _place(old + live - 1, stages)
            free = room - mass[young] * (input_length + 1 + n - born[young])
            evicted = free < 0
            if free > 0:
                older += mass[young]
                room = free
                born[_place(young + 1, stages)] = n
                live += 1
        live, older, room = _fitted(mass, born, old, live, n, room, input_length, older)
        if counting and (live < lived or evicted):
            _note(before, n, evicted, stages - lived, stages - live, horizon, counts, reached)
        elif evicted and counts[FIRST] == NEVER and before < horizon:
            counts[FIRST] = before + 1
    return n, old, live, completed


@kernel
def _note(before, n, evicted, empty, emptier, horizon, counts, reached):
    """What happened in the iterations from `before` to `n`, as far as the horizon."""
    if evicted and before < horizon:
        if counts[FIRST] == NEVER:
            counts[FIRST] = before + 1
        counts[EVICTIONS] += min(n, horizon) - before
    if n <= horizon:
        for level in range(empty + 1, emptier + 1):
            reached[level] = n


@kernel
def _exhausted(room, older, most):
    """The first k >= 1 with room - k older <= 0; `most` is such a k."""
    k = min(most, max(1, int(room / older)))  # the quotient may be rounded to either side of it
    while k > 1 and room - (k - 1) * older <= 0:
        k -= 1
    while room - k * older > 0:
        k += 1
    return k


@kernel
def _fitted(mass, born, old, live, n, room, input_length, older):
    """The youngest batch as large as its room; one without room is lost, what it lacks too is taken
    from the next."""
    young = _place(old + live - 1, len(mass))
    while room <= 0 and live > 1:
        live -= 1
        young = _place(young + len(mass) - 1, len(mass))
        older -= mass[young]
        room += mass[young] * (input_length + 1 + n - born[young])
    mass[young] = room / (input_length + 1 + n - born[young])
    return live, older, room


@kernel
def _place(at, stages):
    """In the ring that holds the queue."""
    return at - stages if at >= stages else at
