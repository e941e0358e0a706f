"""Where the mass model goes under a victim rule: from near the equilibrium to what it does then.

The linearisation at the eviction-free equilibrium does not know the rule. At the equilibrium the
completions of an iteration free more than the others grow by: memory after execution is below
capacity by what admission then takes, x* w_0 > 0. So it is below in a neighbourhood, where nobody
is evicted, and the map there is the same linear map for every rule. What grows in it grows until
memory runs short, under every rule in the same iteration.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from fluidkv.exact.survival import eviction_free_equilibrium
from fluidkv.record import Record
from fluidkv.serving.rules import Keeps
from fluidkv.workload import System
from fluidkv_papers.theory.masses.trimming import Masses, Moved, Number, Queue, Server, moved


@dataclass(frozen=True)
class Course(Record):
    """What a server does over the second half of a run; requests and rates over x*.

    Fields:
        throughput: completions an iteration, all classes together.
        of_class: those of each class, over its share: 1 for all where nobody is favoured.
        swing: largest less smallest number of completions in an iteration.
        evicted: evictions an iteration.
        tax: tokens computed again, over all that are computed. Where progress is lost these are
            the tokens that the evicted held; where it is kept, those of who came back.
        waiting: evicted requests that wait at the end, over those in flight at the equilibrium.

    Examples:
        >>> from fluidkv_papers.theory.masses import Server, course, nudged
        >>> system = fk.System(fk.Workload.from_lengths([(5, 3), (2, 6)]), 1000)
        >>> found = course(Server(system), nudged(system, [1.0, -1.0], 0.2), iterations=200)
        >>> [round(x, 3) for x in (found.throughput, found.evicted, found.tax)]
        [0.849, 0.573, 0.353]
    """

    throughput: float
    of_class: tuple[float, ...]
    swing: float
    evicted: float
    tax: float
    waiting: float


def nudged(system: System, nudges: Sequence[Number], scale: Number) -> Masses:
    """The equilibrium with mass moved to new requests: class k at stage j < len(nudges).

    Args:
        system: the classes and the capacity.
        nudges: numbers in [-1, 1], repeated over the stages.
        scale: the relative change for a nudge of 1.

    Returns:
        Masses whose memory is the capacity.

    Examples:
        >>> from fluidkv_papers.theory.masses import Server, nudged
        >>> system = fk.System(fk.Workload.from_lengths([(2, 4)]), 1800)
        >>> nudged(system, [Fraction(0)], Fraction(0))
        [[Fraction(100, 1), Fraction(100, 1), Fraction(100, 1), Fraction(100, 1)]]
    """
    equilibrium = eviction_free_equilibrium(system)
    one: Number = Fraction(1) if isinstance(scale, Fraction) else 1.0
    state: Masses = [
        [
            one * equilibrium.rate * c.share * (1 + scale * nudges[j % len(nudges)])
            for j in range(c.decode_length)
        ]
        for c in system.workload.classes
    ]
    factor = system.capacity / Server(system).memory(state)
    return [[x * factor for x in row] for row in state]


def first_eviction(server: Server, state: Masses, *, iterations: int) -> int | None:
    """The first iteration that evicts, counted from 0; None if none does.

    Examples:
        >>> from fluidkv_papers.theory.masses import Server, Trim, first_eviction, nudged
        >>> system = fk.System(fk.Workload.from_lengths([(5, 3), (2, 6)]), 1000)
        >>> start = nudged(system, [Fraction(1), Fraction(-1)], Fraction(1, 5))
        >>> {first_eviction(Server(system, trim), start, iterations=60) for trim in Trim}  # all
        {16}
    """
    queue: Queue = ()
    for n in range(iterations):
        step = moved(server, state, queue)
        if step.evicted > 0:
            return n
        state, queue = step.state, step.queue
    return None


def course(server: Server, state: Masses, *, iterations: int) -> Course:
    """Follow floats and look at the second half.

    Examples:
        >>> from fluidkv_papers.theory.masses import Server, Trim, course, nudged
        >>> system = fk.System(fk.Workload.from_lengths([(5, 3), (2, 6)]), 1000)
        >>> start = nudged(system, [1.0, -1.0], 0.2)
        >>> for trim in (Trim.LEAST_PROGRESSED, Trim.MOST_PROGRESSED):
        ...     print(round(course(Server(system, trim), start, iterations=200).throughput, 3))
        0.849
        0.743
    """
    state = [[float(x) for x in row] for row in state]
    queue: Queue = ()
    seen: list[tuple[Masses, Moved]] = []
    for n in range(iterations):
        step = moved(server, state, queue)
        if 2 * n >= iterations:
            seen.append((state, step))
        state, queue = step.state, step.queue
    return _course(server, seen)


def _course(server: Server, seen: Sequence[tuple[Masses, Moved]]) -> Course:
    equilibrium = eviction_free_equilibrium(server.system)
    rate, classes = float(equilibrium.rate), server.system.workload.classes
    inputs = sum(float(c.share) * c.input_length for c in classes)
    steps = [step for _, step in seen]
    completed = [float(sum(step.completed)) / rate for step in steps]
    decoded = sum(sum(map(sum, state)) for state, _ in seen)
    prefilled = sum(inputs * float(step.admitted) for step in steps)
    recomputed = float(sum(step.recomputed for step in steps))
    again = recomputed if server.keeps is Keeps.OUTPUTS else float(sum(s.lost for s in steps))
    return Course(
        throughput=sum(completed) / len(steps),
        of_class=tuple(
            sum(float(step.completed[k]) for step in steps) / len(steps) / rate / float(c.share)
            for k, c in enumerate(classes)
        ),
        swing=max(completed) - min(completed),
        evicted=float(sum(step.evicted for step in steps)) / len(steps) / rate,
        tax=again / (decoded + prefilled + recomputed),
        waiting=float(sum(mass for _, mass in steps[-1].queue)) / float(equilibrium.in_flight),
    )
