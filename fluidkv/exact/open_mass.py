"""The mass model with arrivals and limits on admission, literally: one iteration in rationals.

`fluidkv.exact.mass` with a rate limit, a second rule for who is admitted from a queue that is not
in proportion, and requests that leave when they are not admitted at once. What is written here is
admission; the other verbs are those of `mass`. `fluidkv.fluid.open` is held against it.

Source: Congestion, sections 2.2 and 5.1.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from fluidkv.exact.mass import Counts, Masses, arrive, evict, execute, memory_used
from fluidkv.record import Record
from fluidkv.workload import System

Numbers = Sequence[Fraction | int]


@dataclass(frozen=True)
class OpenStep(Record):
    """What happened in one iteration, each class; `queue` and `lost` are after admission.

    Examples:
        >>> from fluidkv.exact.open_mass import iterate_open
        >>> system = fk.System(fk.Workload.from_lengths([(2, 3)]), capacity=24)
        >>> step = iterate_open(system, [[8, 0, 0]], [0], [1])
        >>> str(step.evicted[0]), str(step.queue[0]), [str(x) for x in step.state[0]]
        ('2', '3', ['0', '6', '0'])
    """

    completed: Counts
    evicted: Counts
    admitted: Counts
    lost: Counts
    state: Masses
    queue: Counts


def iterate_open(
    system: System,
    state: Sequence[Numbers],
    queue: Numbers,
    arrivals: Numbers,
    *,
    cap: Fraction | None = None,
    cap_on: Literal["total", "class"] = "total",
    selection: Literal["queued", "shares"] = "queued",
    blocked: Literal["wait", "lost"] = "wait",
) -> OpenStep:
    """One decoding iteration; the arguments are those of `fluidkv.fluid.simulate_open`, the checks
    are not.

    Examples:
        >>> from fluidkv.exact.open_mass import iterate_open
        >>> system = fk.System(fk.Workload.from_lengths([(2, 3)]), capacity=24)
        >>> step = iterate_open(system, [[2, 2, 2]], [0], [5])
        >>> str(step.admitted[0]), str(step.queue[0])
        ('2', '3')
    """
    executed, completed = execute([[Fraction(x) for x in row] for row in state])
    waiting = arrive([Fraction(x) for x in queue], [Fraction(x) for x in arrivals]) or []
    masses, gone = evict(system, executed)
    evicted = [sum(row, Fraction(0)) for row in gone]
    waiting = [q + e for q, e in zip(waiting, evicted, strict=True)]

    # Admit: what is offered, limited by its rule, the free memory and the cap.
    classes = system.workload.classes
    first = [c.input_length + 1 for c in classes]
    free = max(system.capacity - memory_used(system, masses), Fraction(0))
    offered = list(waiting)
    if cap is not None and cap_on == "class":
        offered = [min(q, c.share * cap) for q, c in zip(waiting, classes, strict=True)]
        cap = None
    if selection == "shares":
        total = free / sum(c.share * w for c, w in zip(classes, first, strict=True))
        total = min(total, *(q / c.share for q, c in zip(offered, classes, strict=True)))
        total = total if cap is None else min(total, cap)
        admitted = [c.share * total for c in classes]
    else:
        part = Fraction(1)
        tokens = sum(w * q for w, q in zip(first, offered, strict=True))
        if tokens > free:
            part = min(part, free / tokens)
        if cap is not None and sum(offered) > cap:
            part = min(part, cap / sum(offered))
        admitted = [part * q for q in offered]
    after = [[a, *row[1:]] for a, row in zip(admitted, masses, strict=True)]
    left = [q - a for q, a in zip(waiting, admitted, strict=True)]
    none = [Fraction(0)] * len(classes)
    lost, still = (left, none) if blocked == "lost" else (none, left)
    return OpenStep(completed, evicted, admitted, lost, after, still)
