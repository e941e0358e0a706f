"""Starts that land exactly on an unstable cycle: the map run backwards, in exact rationals.

One iteration forgets what it evicts, so that a state with an empty stage 0 comes from many. Let q
be its lowest occupied stage. Before eviction there may have been any mass v_j below stage q, any
mass t >= 0 more at stage q, and any mass c that completed; what was above stage q is known. The
memory boundary leaves one condition,

    w_{q-1} t + sum_{0<j<q} w_{j-1} v_j + w_{l1-1} c = x_1 + ... + x_{l1-1},

so the states before form a simplex, with one corner for each of t, v_1 ... v_{q-1} and c. A state
with mass in stage 0 was admitted to, hence nothing was evicted, and it comes from one state only.

From a state of a nonmaximal balanced cycle this leads to all starts that the cycle captures, the
set E of Theorem 2. The fixed point has mass in stage 0, and the one state before it is itself:
no other start is captured by it.

Source: Congestion, Appendix A.1 (the exceptional set is not empty); the inverse is ours.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from fluidkv.errors import InputError
from fluidkv.exact.one_class.cycles import State, only_class
from fluidkv.exact.one_class.trajectory import checked_start, is_settled, trajectory
from fluidkv.record import Record
from fluidkv.workload import System

Shares = Callable[[int], Sequence[Fraction | int]]
"""Weights of so many corners: at least 0, with sum 1."""


@dataclass(frozen=True)
class Capture(Record):
    """A start, and the way to the cycle that captures it.

    Fields:
        system: one class.
        path: X^0, ..., X^n; X^n is the first that is on the cycle.
    """

    system: System
    path: tuple[State, ...]

    @property
    def start(self) -> State:
        return self.path[0]

    @property
    def iteration(self) -> int:
        """n of the first state on the cycle."""
        return len(self.path) - 1


def states_before(system: System, state: Sequence[Fraction | int]) -> tuple[State, ...]:
    """Corners of the simplex of all boundary states that one iteration leads to `state`.

    In the order: all of it completes, t alone, v_1, v_2, ... (see above); a single state where
    stage 0 has mass.

    Raises:
        InputError: more than one class, or a state off the memory boundary.

    Examples:
        >>> from fluidkv.exact.one_class.capture import states_before
        >>> system = fk.System(fk.Workload.from_lengths([(2, 3)]), capacity=24)
        >>> [[str(x) for x in state] for state in states_before(system, [2, 2, 2])]
        [['2', '2', '2']]
        >>> [[str(x) for x in state] for state in states_before(system, [0, 6, 0])]
        [['6', '0', '6/5'], ['8', '0', '0']]
    """
    after = checked_start(system, state)
    first_weight = only_class(system).input_length + 1
    stages = len(after)
    weights = [first_weight + j for j in range(stages)]
    if after[0] > 0:
        completing = (weights[0] * after[0] + sum(after[1:])) / weights[-1]
        return ((*after[1:], completing),)
    total = sum(after, Fraction(0))
    lowest = next(j for j, x in enumerate(after) if x > 0)
    corners = []
    # Index of the stage before execution that the corner adds its mass to.
    for added in (stages - 1, lowest - 1, *range(lowest - 1)):
        before = [*after[1:], Fraction(0)]
        before[added] += total / weights[added]
        corners.append(tuple(before))
    return tuple(corners)


def captured_start(
    system: System,
    target: Sequence[Fraction | int],
    *,
    iterations: int,
    shares: Shares | None = None,
) -> Capture:
    """A start that reaches a nonmaximal balanced cycle exactly, and not before `iterations`.

    Args:
        system: one class.
        target: the state of the cycle to land on, with stage 0 empty.
        iterations: how many until then, at least 1.
        shares: weights of the corners in each step back, the earliest choice for the step onto the
            cycle; None is equal weights. Where the state before is the cycle's own, the choice
            must give weight to other corners as well.

    Raises:
        InputError: a target that is not on a nonmaximal balanced cycle or has mass in stage 0 (the
            state before it is then on the cycle too), iterations below 1, or shares that are
            negative, do not sum to 1, or stay on the cycle.

    Source: ours; Congestion, Appendix A.1, has one start for l0 = 2, l1 = 3, M = 24.

    Examples:
        >>> from fluidkv.exact import captured_start
        >>> from fluidkv.exact.one_class.cycles import adjacent_cycle
        >>> system = fk.System(fk.Workload.from_lengths([(2, 3)]), capacity=24)
        >>> found = captured_start(system, adjacent_cycle(system).block_ends[0], iterations=1)
        >>> [str(x) for x in found.start], found.iteration
        (['60/13', '24/13', '36/65'], 1)
    """
    state = checked_start(system, target)
    allowed = "a state of a balanced cycle with two or more live positions"
    if sum(x > 0 for x in state) < 2 or not is_settled(system, state):
        raise InputError("target", _shown(state), allowed)
    if state[0] > 0:
        raise InputError("target", _shown(state), "a state whose stage 0 is empty")
    if isinstance(iterations, bool) or not isinstance(iterations, int) or iterations < 1:
        raise InputError("iterations", iterations, "an integer of at least 1")
    path = [state]
    for _ in range(iterations):
        path.append(_weighted(states_before(system, path[-1]), shares or _equal))
        if is_settled(system, path[-1]):
            raise InputError("shares", _shown(path[-1]), "shares that leave the cycle")
    return Capture(system, tuple(reversed(path)))


def verify_capture(capture: Capture) -> bool:
    """Whether the map, run forward, takes the path and stays on the cycle for one more turn.

    The forward map knows nothing of how the path was made.

    Examples:
        >>> from fluidkv.exact import captured_start
        >>> from fluidkv.exact.one_class.cycles import adjacent_cycle
        >>> from fluidkv.exact.one_class.capture import verify_capture
        >>> system = fk.System(fk.Workload.from_lengths([(2, 3)]), capacity=24)
        >>> found = captured_start(system, adjacent_cycle(system).block_ends[0], iterations=1)
        >>> verify_capture(found)
        True
    """
    n, stages = capture.iteration, len(capture.start)
    states = trajectory(capture.system, capture.start, iterations=n + stages)
    on_cycle = [is_settled(capture.system, state) for state in states]
    return (
        tuple(states[: n + 1]) == capture.path
        and not any(on_cycle[:n])
        and all(on_cycle[n:])
        and states[n] == states[n + stages]
        and sum(x > 0 for x in states[n]) >= 2
    )


def _weighted(corners: tuple[State, ...], shares: Shares) -> State:
    weights = [Fraction(s) for s in shares(len(corners))]
    if len(weights) != len(corners) or any(s < 0 for s in weights) or sum(weights) != 1:
        raise InputError("shares", weights, f"{len(corners)} numbers of at least 0 with sum 1")
    rows = zip(*corners, strict=True)
    return tuple(
        sum((s * x for s, x in zip(weights, row, strict=True)), Fraction(0)) for row in rows
    )


def _equal(count: int) -> list[Fraction]:
    return [Fraction(1, count)] * count


def _shown(state: State) -> str:
    return ", ".join(str(x) for x in state)
