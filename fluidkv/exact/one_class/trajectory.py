"""Trajectories of one class on the memory boundary, exact: one rational operation an iteration.

While memory is full, an iteration changes the youngest mass and little else: what completes frees
(l0 + l1) tokens each, what stays grows by one token each, and the difference is either admitted or
evicted. So the state is shifted, and the balance

    free = (l0 + l1) x_{l1-1} - (x_0 + ... + x_{l1-2})

of equation (2) says everything else. `exact/mass.py` is the literal reference; this is equal to it
at every iteration and needs no pass over the stages, so that thousands of iterations stay cheap
although the numbers grow longer with each.

Source: Congestion, equation (2), with LPF eviction of section 2.2 where `free` is negative.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from numbers import Rational

from fluidkv.errors import InputError
from fluidkv.exact.one_class.cycles import only_class
from fluidkv.exact.one_class.positions import is_on_cycle
from fluidkv.workload import RequestClass, System

Exact = tuple[Fraction, ...]
"""A state of one class, mass by stage."""


def trajectory(
    system: System,
    start: Sequence[Fraction | int],
    *,
    iterations: int,
    after_settling: int | None = None,
) -> list[Exact]:
    """X^0 ... X^iterations, exact.

    Args:
        system: one class.
        start: mass by stage, on the memory boundary.
        iterations: how many at most, at least 1.
        after_settling: go on for so many iterations once the state is exactly on a balanced
            cycle, then stop; None goes on to the end.

    Raises:
        InputError: more than one class, a start that is not on the boundary, no iterations.

    Examples:
        >>> from fluidkv.exact import trajectory
        >>> system = fk.System(fk.Workload.from_lengths([(2, 3)]), capacity=24)
        >>> states = trajectory(system, [4, 3, 0], iterations=1000, after_settling=0)
        >>> len(states) - 1, [str(x) for x in states[-1]]
        (6, ['0', '6', '0'])
    """
    if isinstance(iterations, bool) or not isinstance(iterations, int) or iterations < 1:
        raise InputError("iterations", iterations, "an integer of at least 1")
    states: list[Exact] = []
    last = iterations
    for n, state in enumerate(states_from(system, start)):
        states.append(state)
        if after_settling is not None and last == iterations and is_settled(system, state):
            last = min(iterations, n + after_settling)
            after_settling = None
        if n == last:
            break
    return states


def states_from(system: System, start: Sequence[Fraction | int]) -> Iterator[Exact]:
    """X^0, X^1, X^2, ... without end. Arguments and errors as `trajectory`.

    Examples:
        >>> from itertools import islice
        >>> from fluidkv.exact.one_class.trajectory import states_from
        >>> system = fk.System(fk.Workload.from_lengths([(2, 3)]), capacity=24)
        >>> [[str(x) for x in state] for state in islice(states_from(system, [8, 0, 0]), 3)]
        [['8', '0', '0'], ['0', '6', '0'], ['0', '0', '24/5']]
    """
    only = only_class(system)
    state = checked_start(system, start)
    total = sum(state, Fraction(0))
    while True:
        yield state
        state, total = _iterate(only, state, total)


def is_settled(system: System, state: Sequence[Fraction]) -> bool:
    """Whether a state on the boundary is exactly on a balanced cycle, the fixed point included.

    Examples:
        >>> from fluidkv.exact.one_class.trajectory import is_settled
        >>> system = fk.System(fk.Workload.from_lengths([(2, 3)]), capacity=24)
        >>> [is_settled(system, state) for state in ([2, 2, 2], [4, 3, 0], [0, 6, 0])]
        [True, False, True]
    """
    return is_on_cycle(state, only_class(system).input_length, system.capacity)


def checked_start(system: System, start: Sequence[Fraction | int]) -> Exact:
    """The start as fractions, exactly on the memory boundary.

    Raises:
        InputError: a wrong number of masses, one that is negative or not rational, or memory off
            the boundary; the message then says by how much and what the scaled start would be.

    Examples:
        >>> from fluidkv.exact.one_class.trajectory import checked_start
        >>> system = fk.System(fk.Workload.from_lengths([(2, 3)]), capacity=24)
        >>> [str(x) for x in checked_start(system, [0, 6, 0])]
        ['0', '6', '0']
    """
    masses = _checked_masses(system, start)
    used = _memory(system, masses)
    if used != system.capacity:
        excess = used - system.capacity
        raise InputError(
            "start",
            f"{_short(used)} tokens, {_short(abs(excess))} "
            + ("over capacity" if excess > 0 else "short of capacity"),
            f"memory of exactly {system.capacity} tokens" + _offer(system, masses, used),
        )
    return masses


def projected_start(system: System, start: Sequence[Fraction | int]) -> Exact:
    """The start scaled to memory = capacity.

    Raises:
        InputError: as `checked_start`, or a start without any mass.

    Examples:
        >>> from fluidkv.exact.one_class.trajectory import projected_start
        >>> system = fk.System(fk.Workload.from_lengths([(2, 3)]), capacity=24)
        >>> [str(x) for x in projected_start(system, [1, 1, 1])]
        ['2', '2', '2']
    """
    masses = _checked_masses(system, start)
    used = _memory(system, masses)
    if used == 0:
        raise InputError("start", "no mass", "at least one positive mass")
    return tuple(x * system.capacity / used for x in masses)


def _iterate(only: RequestClass, state: Exact, total: Fraction) -> tuple[Exact, Fraction]:
    """One iteration from memory = capacity; `total` is the sum of the masses, kept along."""
    l0 = only.input_length
    completed = state[-1]
    total -= completed
    free = only.peak_footprint * completed - total
    if free >= 0:  # memory exactly full admits nothing and evicts nothing
        admitted = free / (l0 + 1)
        return (admitted, *state[:-1]), total + admitted
    after, excess = [Fraction(0), *state[:-1]], -free
    for stage in range(1, len(after)):
        memory = (l0 + 1 + stage) * after[stage]
        if memory > excess:
            removed = excess / (l0 + 1 + stage)
            after[stage] -= removed
            return tuple(after), total - removed
        total -= after[stage]
        after[stage] = Fraction(0)
        excess -= memory
        if excess == 0:  # a stage that is emptied exactly ends the eviction
            break
    return tuple(after), total


def _checked_masses(system: System, start: Sequence[Fraction | int]) -> Exact:
    stages = only_class(system).decode_length
    allowed = f"{stages} masses, one a decode stage"
    if isinstance(start, str) or not isinstance(start, Sequence) or len(start) != stages:
        counted = isinstance(start, Sequence) and not isinstance(start, str)
        shown = f"{len(start)} masses" if counted else start
        raise InputError("start", shown, allowed)
    for j, x in enumerate(start):
        if isinstance(x, bool) or not isinstance(x, Rational):
            raise InputError("start", x, "integers or Fractions")
        if x < 0:
            raise InputError("start", f"{x} at stage {j}", "masses of at least 0")
    return tuple(Fraction(x.numerator, x.denominator) for x in start)


def _memory(system: System, masses: Exact) -> Fraction:
    l0 = only_class(system).input_length
    return sum(((l0 + 1 + j) * x for j, x in enumerate(masses)), Fraction(0))


def _offer(system: System, masses: Exact, used: Fraction) -> str:
    if used == 0:
        return ""
    scaled = ",".join(str(x * system.capacity / used) for x in masses)
    factor = _short(system.capacity / used)
    return f"; scaled by {factor} it is {scaled}" if len(scaled) <= 200 else f"; scale by {factor}"


def _short(value: Fraction) -> str:
    """The fraction itself, or about what it is where it is long."""
    text = str(value)
    return text if len(text) <= 20 else f"about {float(value):.9g}"
