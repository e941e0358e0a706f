"""Whether a claimed cycle is one: the map, run once round on exact integers.

The literal model works on rationals. Here all masses of a cycle, and the capacity, are multiplied
by their common denominator, so that an iteration is a few sums and at most a few divisions of
integers. A division that leaves a remainder has no integer image, and then the image is not the
next state of the cycle either. Tests hold `scaled_iteration` equal to the literal model.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import mul

from fluidkv.exact.one_class.cycles import Cycle, State, only_class
from fluidkv.workload import System


def verify_cycle(system: System, cycle: Cycle) -> bool:
    """Run the map once round, exactly, and compare with everything that the record says.

    True if each state of the record is mapped to the next and the last to the first, no state
    comes twice (so that the period is the smallest), every state has as many empty stages as the
    level says, and the completions of one period average to the throughput.

    Raises:
        InputError: more than one class.

    Source: Congestion, Definition 2 and the definition of an eviction level in section 3.2.

    Examples:
        >>> from dataclasses import replace
        >>> from fluidkv.exact.one_class.cycles import balanced_cycle
        >>> from fluidkv.exact.one_class.cycles_verified import verify_cycle
        >>> system = fk.System(fk.Workload.from_lengths([(2, 3)]), capacity=24)
        >>> cycle = balanced_cycle(system, (2, 1))
        >>> wrong = replace(cycle, throughput=Fraction(2))
        >>> verify_cycle(system, cycle), verify_cycle(system, wrong)
        (True, False)
    """
    whole = _whole_cycle(system, cycle.states)
    completed = sum(state[-1] for state in whole.states)
    return (
        _closes(whole)
        and whole.states.count(whole.states[0]) == 1
        and all(state.count(0) == cycle.level for state in whole.states)
        and completed == cycle.throughput * cycle.period * whole.scale
    )


def closes(system: System, states: Sequence[State]) -> bool:
    """Whether the map sends each state to the next and the last to the first; False if none.

    Raises:
        InputError: more than one class.
    """
    return _closes(_whole_cycle(system, states))


def scaled_iteration(weights: list[int], capacity: int, state: list[int]) -> list[int] | None:
    """Execute, evict, admit on integers; None if some mass of the image is not whole.

    Args:
        weights: w_j, tokens, one a stage.
        capacity: M in tokens, in the unit of the state.
        state: x_j, in any unit.
    """
    after = [0, *state[:-1]]
    excess = sum(map(mul, weights, after)) - capacity
    if excess <= 0:
        after[0], rest = divmod(-excess, weights[0])
        return None if rest else after
    for j, mass in enumerate(after):
        memory = weights[j] * mass
        if memory > excess:
            removed, rest = divmod(excess, weights[j])
            after[j] = mass - removed
            return None if rest else after
        after[j] = 0
        excess -= memory
    return after


@dataclass(frozen=True)
class _WholeCycle:
    """A cycle with every number multiplied by `scale`, so that all are integers."""

    scale: int
    weights: list[int]
    capacity: int
    states: list[list[int]]


def _whole_cycle(system: System, states: Sequence[State]) -> _WholeCycle:
    only = only_class(system)
    ratios = [[x.as_integer_ratio() for x in state] for state in states]
    capacity = system.capacity
    scale = math.lcm(capacity.denominator, *(d for row in ratios for _, d in row))
    return _WholeCycle(
        scale=scale,
        weights=[only.input_length + 1 + j for j in range(only.decode_length)],
        capacity=capacity.numerator * (scale // capacity.denominator),
        states=[[n * (scale // d) if n else 0 for n, d in row] for row in ratios],
    )


def _closes(whole: _WholeCycle) -> bool:
    stages = len(whole.weights)
    if not whole.states or any(len(s) != stages or min(s) < 0 for s in whole.states):
        return False
    return all(
        scaled_iteration(whole.weights, whole.capacity, state) == following
        for state, following in pairwise([*whole.states, whole.states[0]])
    )
