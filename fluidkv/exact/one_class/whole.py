"""Whole requests: the dynamics of one class with integers, and the cycle that it ends in.

Admission takes as many whole requests as fit, eviction removes as many whole requests as it takes.
This is another map than that of masses and has its own name: memory is left free where no further
request fits, a request that is evicted may free more than was needed, and what it frees may admit
another one. There are finitely many states, so every trajectory repeats itself exactly.

The iteration is `fluidkv.exact.mass.iterate` with `whole_requests=True`, the one implementation
of the literal model, which also carries the finite queue of Example 1. The fast one is
`fluidkv.fluid.whole`, equal step by step.

Source: Congestion, section 2.2 and Example 1.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral

from fluidkv.errors import InputError
from fluidkv.exact import mass
from fluidkv.exact.one_class.cycles import only_class
from fluidkv.record import Record
from fluidkv.workload import System

Requests = tuple[int, ...]
"""Requests by stage, j = 0 ... l1-1."""


@dataclass(frozen=True)
class WholeStep:
    """One iteration, in requests.

    Fields:
        completed: requests that left from the last stage.
        evicted: requests that eviction removed, by stage after execution.
        admitted: requests that entered stage 0.
        state: requests by stage, after admission.
    """

    completed: int
    evicted: Requests
    admitted: int
    state: Requests


@dataclass(frozen=True)
class WholeCycle(Record):
    """The periodic orbit that a start leads to, found by the first state that returns.

    Fields:
        entered: first n with X^n on the orbit.
        states: the states of one period, from X^entered on.
        completed: requests completed in one period.
        evicted: requests evicted in one period.
    """

    entered: int
    states: tuple[Requests, ...]
    completed: int
    evicted: int

    @property
    def period(self) -> int:
        return len(self.states)

    @property
    def throughput(self) -> Fraction:
        """Completions an iteration."""
        return Fraction(self.completed, self.period)


def iterate_whole(system: System, state: Sequence[int]) -> WholeStep:
    """One iteration of the saturated system with whole requests.

    Args:
        system: one class.
        state: requests by stage, memory at or below capacity.

    Raises:
        InputError: more than one class; a state that is not of whole requests, one number a
            stage, or needs more memory than there is.
    """
    step = mass.iterate(system, [_checked(system, state)], whole_requests=True)
    return WholeStep(
        completed=int(step.completed[0]),
        evicted=tuple(int(x) for x in step.evicted[0]),
        admitted=int(step.admitted[0]),
        state=tuple(int(x) for x in step.state[0]),
    )


def whole_steps(system: System, state: Sequence[int]) -> Iterator[WholeStep]:
    """The steps X^0 -> X^1, X^1 -> X^2, ... without end."""
    current = _checked(system, state)
    while True:
        step = iterate_whole(system, current)
        yield step
        current = step.state


def whole_cycle(system: System, state: Sequence[int], *, iterations: int) -> WholeCycle | None:
    """The orbit that a start ends in; None if no state returns within `iterations`.

    Raises:
        InputError: as `iterate_whole`; iterations below 1.

    Examples:
        >>> from fluidkv.exact import whole_cycle
        >>> system = fk.System(fk.Workload.from_lengths([(2, 3)]), capacity=24)
        >>> found = whole_cycle(system, [8, 0, 0], iterations=100)
        >>> found.states, str(found.throughput)
        (((0, 6, 0), (1, 0, 4), (6, 1, 0), (1, 4, 1), (0, 1, 4), (6, 0, 1)), '5/3')
    """
    if isinstance(iterations, bool) or not isinstance(iterations, int) or iterations < 1:
        raise InputError("iterations", iterations, "an integer of at least 1")
    states = [_checked(system, state)]
    seen = {states[0]: 0}
    steps: list[WholeStep] = []
    for n, step in enumerate(whole_steps(system, states[0]), start=1):
        steps.append(step)
        entered = seen.setdefault(step.state, n)
        if entered < n:
            turn = steps[entered:]
            return WholeCycle(
                entered=entered,
                states=tuple(states[entered:]),
                completed=sum(s.completed for s in turn),
                evicted=sum(sum(s.evicted) for s in turn),
            )
        if n == iterations:
            return None
        states.append(step.state)
    return None


def _checked(system: System, state: Sequence[int]) -> Requests:
    """Whole numbers, one a stage; negative ones and memory are left to `mass.iterate`."""
    stages = only_class(system).decode_length
    whole = [x for x in state if isinstance(x, Integral) and not isinstance(x, bool)]
    if len(whole) != len(state) or len(state) != stages:
        raise InputError("state", tuple(state), f"{stages} whole numbers of requests, one a stage")
    return tuple(int(x) for x in whole)
