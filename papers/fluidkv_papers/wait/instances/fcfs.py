"""The paper's instances of FCFS, played out: Examples 1 and 2, and that of Proposition 3.

Examples 1 and 2: one type with l = l' = 1, memory M. A prompt holds 1 token while it is prefilled
and 2 while it decodes, and then it is done. So two counts are the whole state before an iteration:
prompts that wait, and prompts that are going to decode.

Source: WAIT, sections 2.4 and 4.1, appendix A.3.
"""

from fractions import Fraction
from itertools import product
from math import factorial
from typing import NamedTuple

import numpy as np
from jaxtyping import Int

from fluidkv.wait.model import count


class Counts(NamedTuple):
    """Before an iteration. Numbers, or arrays of one shape: many runs at once.

    Fields:
        waiting: prompts at stage 0, those that have just come among them.
        decoding: prompts at stage 1, whose prefill is done; at most M.
    """

    waiting: np.ndarray | int
    decoding: np.ndarray | int


class Played(NamedTuple):
    """One iteration.

    Fields:
        after: the counts after it, without new arrivals.
        completed, evicted: prompts.
    """

    after: Counts
    completed: np.ndarray
    evicted: np.ndarray


def play(before: Counts, *, capacity: int, new_first: bool) -> Played:
    """One iteration of Example 2's server.

    Args:
        before: who waits and who is going to decode.
        capacity: M, tokens.
        new_first: prompts that wait are admitted first, and decodes are evicted for them; else
            decodes go first, and who waits, the evicted among them, gets what is left.

    Raises:
        InputError: a memory of fewer than the 2 tokens of a prompt.
    """
    capacity = count("capacity", capacity, least=2)
    waiting, decoding = (np.asarray(value, np.int64) for value in before)
    if new_first:
        prefilled = np.minimum(waiting, capacity)
        completed = np.minimum(decoding, (capacity - prefilled) // 2)
    else:
        completed = np.minimum(decoding, capacity // 2)
        wanting = waiting + decoding - completed
        prefilled = np.minimum(wanting, capacity - 2 * completed)
    evicted = decoding - completed
    return Played(Counts(waiting + evicted - prefilled, prefilled), completed, evicted)


class Runs(NamedTuple):
    """Runs of Example 2's server.

    Fields:
        completed, evicted: prompts, in each iteration.
        waiting: prompts in the queue after it.
    """

    completed: Int[np.ndarray, "iteration run"]
    evicted: Int[np.ndarray, "iteration run"]
    waiting: Int[np.ndarray, "iteration run"]


def example_2(
    arrivals: Int[np.ndarray, "iteration run"],
    *,
    new_first: bool,
    waiting: int = 6,
    decoding: int = 3,
    capacity: int = 12,
) -> Runs:
    """From one start, with given arrivals: those of row i come during iteration i."""
    runs = arrivals.shape[1]
    state = Counts(np.full(runs, waiting), np.full(runs, decoding))
    rows: list[tuple[np.ndarray, ...]] = []
    for come in arrivals:
        played = play(state, capacity=capacity, new_first=new_first)
        rows.append((played.completed, played.evicted, np.asarray(played.after.waiting)))
        state = Counts(played.after.waiting + come, played.after.decoding)
    return Runs(*(np.stack(column) for column in zip(*rows, strict=True)))


# ------------------------------------------------------------------------ the long run, exactly


class Fate(NamedTuple):
    """What becomes of a start under constant arrivals; a proof, since the state comes again.

    Fields:
        evictions: prompts evicted before the cycle.
        completed, evicted: prompts, in one cycle.
        period: iterations of the cycle.
        growth: prompts that the queue gains in a cycle.
    """

    evictions: int
    completed: int
    evicted: int
    period: int
    growth: int

    @property
    def throughput(self) -> Fraction:
        """Completions per iteration in the long run."""
        return Fraction(self.completed, self.period)


def fate(start: Counts, *, arrivals: int, capacity: int, new_first: bool) -> Fate:
    """The long run of Example 2's server from one start.

    The state repeats where both counts do; or where the decodes do and the queue, no shorter than
    before, had M prompts or more throughout: nobody admits more than M at once, so that its length
    changed nothing, and will not.
    """
    states: list[tuple[int, int]] = []
    flows: list[tuple[int, int]] = []
    waiting, decoding = map(int, start)
    while True:
        for then, before in enumerate(states):
            shortest = min(queue for queue, _ in states[then:])
            endless = shortest >= capacity and waiting >= before[0]
            if decoding == before[1] and (waiting == before[0] or endless):
                completed, evicted = (sum(column) for column in zip(*flows[then:], strict=True))
                earlier = sum(gone for _, gone in flows[:then])
                period, growth = len(states) - then, waiting - before[0]
                return Fate(earlier, completed, evicted, period, growth)
        played = play(Counts(waiting, decoding), capacity=capacity, new_first=new_first)
        states.append((waiting, decoding))
        flows.append((int(played.completed), int(played.evicted)))
        waiting, decoding = int(played.after.waiting) + arrivals, int(played.after.decoding)


def fates(
    *, arrivals: int, capacity: int, new_first: bool, most_waiting: int
) -> dict[Counts, Fate]:
    """The fate of every start whose queue is not longer than that."""
    starts = product(range(most_waiting + 1), range(capacity + 1))
    return {
        Counts(*start): fate(
            Counts(*start), arrivals=arrivals, capacity=capacity, new_first=new_first
        )
        for start in starts
    }


# ------------------------------------------------------------------------------- Proposition 3

PROPOSITION_3 = ((1, 1), (1, 2))
"""(l, l') of its two types; one prompt of each at each stage is the equilibrium."""
PROPOSITION_3_MEMORY = 9
"""M = M*, tokens."""

Arrivals = tuple[int, int]
"""(A_1, A_2): prompts of each type that come during one iteration."""


def batch_tokens(come: Arrivals, *, batches: int, later: Arrivals = (0, 0)) -> list[int]:
    """Tokens of the batches after that of the equilibrium, if everyone who is there runs.

    Args:
        come: during the batch of the equilibrium.
        batches: how many.
        later: during each batch after it.

    Raises:
        InputError: no batch.
    """
    count("batches", batches)
    kinds = range(len(PROPOSITION_3))
    outputs = [length for _, length in PROPOSITION_3]
    batch = [(kind, stage) for kind in kinds for stage in range(outputs[kind] + 1)]
    found: list[int] = []
    for _ in range(batches):
        batch = [(kind, stage + 1) for kind, stage in batch if stage < outputs[kind]]
        batch += [(kind, 0) for kind in kinds for _ in range(come[kind])]
        found.append(sum(PROPOSITION_3[kind][0] + stage for kind, stage in batch))
        come = later
    return found


def safe_arrivals(*, batches: int, later: Arrivals = (0, 0)) -> frozenset[Arrivals]:
    """All (A_1, A_2) with which each of these batches fits into M; as `batch_tokens`."""
    most = range(PROPOSITION_3_MEMORY + 1)  # a newcomer holds a token or more in the next batch
    return frozenset(
        come
        for come in product(most, most)
        if max(batch_tokens(come, batches=batches, later=later)) <= PROPOSITION_3_MEMORY
    )


def poisson_weight(counts: frozenset[Arrivals]) -> Fraction:
    """P[(A_1, A_2) is one of these] over e^-2, where both are Poisson with mean 1."""
    return sum((Fraction(1, factorial(a) * factorial(b)) for a, b in counts), Fraction(0))
