"""The open mass model, literally: one iteration in plain Python, for comparison by eye.

Works on any numbers that add and compare: `Fraction` for exact values, floats for speed. Written
apart from `open.iteration`, which it is held against, and as slow as it looks.

Source: Congestion, sections 2.2 and 5.1.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from fluidkv.fluid.open.iteration import Blocked, Selection
from fluidkv.fluid.open.system import CapOn
from fluidkv.record import Record
from fluidkv.workload import System

Number = Fraction | float
Masses = list[list[Number]]
"""Mass of class k at stage j, j = 0 ... l1_k - 1, requests."""


@dataclass(frozen=True)
class LiteralStep(Record):
    """What happened in one iteration; `queue` and `lost` are after admission, each class.

    Examples:
        >>> from fluidkv.fluid import literal_step
        >>> system = fk.System(fk.Workload.from_lengths([(2, 3)]), capacity=24)
        >>> step = literal_step(system, [[Fraction(8), 0, 0]], [Fraction(0)], [Fraction(1)])
        >>> str(step.evicted[0]), str(step.queue[0]), [str(x) for x in step.state[0]]
        ('2', '3', ['0', '6', '0'])
    """

    completed: list[Number]
    evicted: list[Number]
    admitted: list[Number]
    lost: list[Number]
    state: Masses
    queue: list[Number]


def literal_step(
    system: System,
    state: Sequence[Sequence[Number]],
    queue: Sequence[Number],
    arrivals: Sequence[Number],
    *,
    cap: Number | None = None,
    selection: Selection = "queued",
    cap_on: CapOn = "total",
    blocked: Blocked = "wait",
) -> LiteralStep:
    """One decoding iteration; the arguments are those of `simulate_open`, the checks are not.

    Examples:
        >>> from fluidkv.fluid import literal_step
        >>> system = fk.System(fk.Workload.from_lengths([(2, 3)]), capacity=24)
        >>> step = literal_step(system, [[Fraction(2)] * 3], [Fraction(0)], [Fraction(5)])
        >>> str(step.admitted[0]), str(step.queue[0])
        ('2', '3')
    """
    classes = system.workload.classes

    # Execute: a stage on; the last stage completes.
    completed = [row[-1] for row in state]
    masses: Masses = [[Fraction(0), *row[:-1]] for row in state]

    # Arrive.
    waiting = [q + a for q, a in zip(queue, arrivals, strict=True)]

    # Evict: the least progressed stage first, all of its classes by one fraction.
    evicted: list[Number] = [Fraction(0)] * len(classes)
    excess = _memory(system, masses) - system.capacity
    for j in range(system.workload.longest_decode):
        stage = _memory(system, masses, only=j)
        if excess <= 0:
            break
        if stage == 0:
            continue
        gone = min(stage, excess) / stage
        for k, row in enumerate(masses):
            if j < len(row):
                evicted[k] += row[j] * gone
                row[j] = row[j] * (1 - gone)
        excess -= min(stage, excess)
    waiting = [q + e for q, e in zip(waiting, evicted, strict=True)]

    # Admit.
    free = max(system.capacity - _memory(system, masses), Fraction(0))
    first = [c.input_length + 1 for c in classes]
    offered = list(waiting)
    if cap is not None and cap_on == "class":
        offered = [min(q, c.share * cap) for q, c in zip(waiting, classes, strict=True)]
        cap = None
    if selection == "shares":
        total = free / sum(c.share * w for c, w in zip(classes, first, strict=True))
        total = min(total, *(q / c.share for q, c in zip(offered, classes, strict=True)))
        if cap is not None:
            total = min(total, cap)
        admitted = [c.share * total for c in classes]
    else:
        part: Number = Fraction(1)
        tokens = sum(w * q for w, q in zip(first, offered, strict=True))
        if tokens > free:
            part = min(part, free / tokens)
        if cap is not None and sum(offered) > cap:
            part = min(part, cap / sum(offered))
        admitted = [part * q for q in offered]
    for row, a in zip(masses, admitted, strict=True):
        row[0] = a
    left = [q - a for q, a in zip(waiting, admitted, strict=True)]
    nobody: list[Number] = [Fraction(0)] * len(classes)
    gone_for_good = left if blocked == "lost" else nobody
    still = nobody if blocked == "lost" else left
    return LiteralStep(completed, evicted, admitted, gone_for_good, masses, still)


def _memory(system: System, masses: Masses, only: int | None = None) -> Number:
    """Tokens held, by all stages or by one."""
    total: Number = Fraction(0)
    for c, row in zip(system.workload.classes, masses, strict=True):
        for j, x in enumerate(row):
            if only is None or j == only:
                total += (c.input_length + 1 + j) * x
    return total
