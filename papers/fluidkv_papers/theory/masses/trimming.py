"""The mass model with the victim rule left open: which stages are trimmed first, and what is kept.

Congestion evicts stage after stage from the least progressed, and what is evicted starts again.
Here any order of (class, stage) may be given, and an evicted mass may also wait with its progress
and come back at its stage: the last evicted first, before anybody new, as in vLLM. Numbers are
rationals or floats, whichever the state has.

`Trim.LEAST_PROGRESSED` with `Keeps.NOTHING` is `exact.mass`. It is also what last come first means
here: a mass at stage j was admitted j iterations ago, in every class.

Source: Congestion, section 2.2 (the four steps) and 2.3; the other orders are ours.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction
from itertools import groupby
from typing import Any, NamedTuple

from fluidkv.plain import plain_tuple
from fluidkv.serving.rules import Keeps
from fluidkv.workload import RequestClass, System

Number = Fraction | float
Masses = list[list[Number]]
"""Mass of class k at stage j, requests."""
Cell = tuple[int, int]


class Trim(Enum):
    """Which stages of which classes go first. Equals lose the same fraction.

    Examples:
        >>> from fluidkv_papers.theory.masses import Server, Trim, moved
        >>> system = fk.System(fk.Workload.from_lengths([(2, 4)]), 1000)
        >>> state = [[0, Fraction(100), Fraction(100), 0]]
        >>> for trim in (Trim.LEAST_PROGRESSED, Trim.MOST_PROGRESSED):
        ...     print([str(x) for x in moved(Server(system, trim), state).state[0]])
        ['0', '0', '80', '100']
        ['0', '0', '100', '250/3']
    """

    LEAST_PROGRESSED = "the lowest stage; so do the last admitted"
    MOST_PROGRESSED = "the highest stage"
    LEAST_COMPUTED = "fewest tokens held"
    MOST_COMPUTED = "most tokens held"
    LONGEST_REMAINING = "most stages to come"
    IN_PROPORTION = "everybody alike, as if drawn at random"


_KEYS: dict[Trim, Callable[[RequestClass, int], int]] = {
    Trim.LEAST_PROGRESSED: lambda c, j: j,
    Trim.MOST_PROGRESSED: lambda c, j: -j,
    Trim.LEAST_COMPUTED: lambda c, j: c.input_length + j,
    Trim.MOST_COMPUTED: lambda c, j: -c.input_length - j,
    Trim.LONGEST_REMAINING: lambda c, j: j - c.decode_length,
    Trim.IN_PROPORTION: lambda c, j: 0,
}


@dataclass(frozen=True)
class Server:
    """A saturated system and its answers.

    Args:
        system: classes, shares, capacity.
        trim: who goes first.
        keeps: what an evicted mass keeps.
        cap: most new requests admitted in an iteration, all classes together; None: no cap.
        watermark: share of the capacity that admission leaves free.
        levels: cells in the order in which they go, equals together; derived.

    Examples:
        >>> from fluidkv_papers.theory.masses import Server
        >>> server = Server(fk.System(fk.Workload.from_lengths([(2, 4)]), 1000))
        >>> server.memory([[100, 0, 0, 50]])  # 100 requests of 3 tokens, 50 of 6
        600
    """

    system: System
    trim: Trim = Trim.LEAST_PROGRESSED
    keeps: Keeps = Keeps.NOTHING
    cap: Number | None = None
    watermark: Number = 0
    levels: tuple[tuple[Cell, ...], ...] = field(init=False)

    def __post_init__(self) -> None:
        classes, key = self.system.workload.classes, _KEYS[self.trim]
        ranked = sorted(
            (key(c, j), (k, j)) for k, c in enumerate(classes) for j in range(c.decode_length)
        )
        groups = groupby(ranked, key=lambda pair: pair[0])
        levels = tuple(tuple(cell for _, cell in group) for _, group in groups)
        object.__setattr__(self, "levels", levels)

    def held(self, cell: Cell) -> int:
        """w_kj = l0_k + 1 + j."""
        k, j = cell
        return self.system.workload.classes[k].input_length + 1 + j

    def memory(self, state: Masses) -> Number:
        """Tokens held."""
        return sum(
            (self.held((k, j)) * x for k, row in enumerate(state) for j, x in enumerate(row)), 0
        )


Queue = tuple[tuple[Cell, Number], ...]
"""Evicted masses that wait with their progress; the last is the next to come back."""


class Moved(NamedTuple):
    """One iteration.

    Fields:
        state: masses after admission.
        queue: what was evicted and waits.
        completed: requests of each class.
        evicted, admitted: requests of all classes; `admitted` counts new ones.
        recomputed: tokens of those that came back with their progress.
        lost: tokens that the evicted held.

    Examples:
        >>> from fluidkv_papers.theory.masses import Server, moved
        >>> server = Server(fk.System(fk.Workload.from_lengths([(2, 4)]), 1000))
        >>> step = moved(server, [[0, 0, Fraction(200), 0]])
        >>> step.evicted, step.lost, step.state[0][3]  # 1000 tokens hold 166 2/3 requests of 6
        (Fraction(100, 3), Fraction(200, 1), Fraction(500, 3))
    """

    state: Masses
    queue: Queue
    completed: list[Number]
    evicted: Number
    admitted: Number
    recomputed: Number
    lost: Number

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return plain_tuple(self)


def moved(server: Server, state: Sequence[Sequence[Number]], queue: Queue = ()) -> Moved:
    """One decoding iteration: execute, evict, admit. The queue of new requests never empties.

    Examples:
        >>> from fluidkv_papers.theory.masses import Server, moved
        >>> server = Server(fk.System(fk.Workload.from_lengths([(2, 4)]), 1800))
        >>> step = moved(server, [[Fraction(100)] * 4])
        >>> step.completed, step.evicted, step.admitted
        ([Fraction(100, 1)], 0, Fraction(100, 1))
    """
    completed = [row[-1] for row in state]
    running: Masses = [[0, *row[:-1]] for row in state]
    gone = _trimmed(server, running)
    lost = sum((server.held(cell) * mass for cell, mass in gone), 0)
    waiting = [*queue, *gone] if server.keeps is Keeps.OUTPUTS else []
    free = server.system.capacity * (1 - server.watermark) - server.memory(running)
    free, recomputed = _resumed(server, running, waiting, free)
    admitted = 0 if waiting else _admitted(server, running, free)
    evicted = sum((mass for _, mass in gone), 0)
    return Moved(running, tuple(waiting), completed, evicted, admitted, recomputed, lost)


def _trimmed(server: Server, running: Masses) -> list[tuple[Cell, Number]]:
    """Level after level goes until memory fits; exactly full fits. In place; what went."""
    excess = server.memory(running) - server.system.capacity
    gone: list[tuple[Cell, Number]] = []
    for level in server.levels:
        if excess <= 0:
            break
        memory = sum((server.held((k, j)) * running[k][j] for k, j in level), 0)
        if memory == 0:
            continue
        whole = memory <= excess
        for k, j in level:
            mass = running[k][j]
            leaves = mass if whole else mass * excess / memory
            if leaves:
                gone.append(((k, j), leaves))
                running[k][j] = 0 if whole else mass - leaves
        excess -= memory
    return gone


def _resumed(
    server: Server, running: Masses, waiting: list[tuple[Cell, Number]], free: Number
) -> tuple[Number, Number]:
    """Who was evicted comes back, as far as memory goes. In place; free memory, tokens computed."""
    recomputed: Number = 0
    while waiting and free > 0:
        (k, j), mass = waiting.pop()
        held = server.held((k, j))
        whole = held * mass <= free
        back = mass if whole else free / held
        running[k][j] += back
        recomputed += held * back
        free = free - held * back if whole else 0
        if not whole:
            waiting.append(((k, j), mass - back))
    return free, recomputed


def _admitted(server: Server, running: Masses, free: Number) -> Number:
    """New requests fill what is free, in proportion to the shares, under the cap. In place."""
    classes = server.system.workload.classes
    cost = sum(c.share * server.held((k, 0)) for k, c in enumerate(classes))
    total = max(free, 0) / cost
    if server.cap is not None:
        total = min(total, server.cap)
    for k, c in enumerate(classes):
        running[k][0] += c.share * total
    return total
