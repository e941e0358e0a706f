"""The block-end map: from one completion to the next in a single step, exact.

At a block-end the oldest of m live positions is in the last stage. Over the next g_{m-1}
iterations it completes, its place is filled by admission, and the new batch alone is evicted until
the next live position reaches the last stage. Proposition A.4 says what is left of the batch:

    y'_0 = ((l0 + l1) y_{m-1} - g_{m-1} (y_0 + ... + y_{m-2})) / (l0 + g_{m-1})

This holds as long as the support does. What the memory boundary leaves to the batch shrinks with
every iteration of the block, so it is used up within the block exactly if y'_0 <= 0, and eviction
reaches an older position exactly if y'_0 < 0. One sign decides; where it is not positive, the
physical map takes over until the next block-end, which has a smaller support.

Source: Congestion, Proposition A.4 and Corollary A.5, equations (16) and (18).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate

from fluidkv.errors import InputError
from fluidkv.exact.one_class.cycles import only_class
from fluidkv.exact.one_class.gaps import Gaps
from fluidkv.exact.one_class.positions import (
    is_block_end,
    live_stages,
    predecessor_gaps,
    spread,
)
from fluidkv.exact.one_class.trajectory import checked_start, states_from
from fluidkv.record import Record
from fluidkv.workload import System


@dataclass(frozen=True)
class BlockEnd(Record):
    """A state in which a live position is in the last stage.

    Fields:
        iteration: n of the state X^n.
        gaps: g_0 ... g_{m-1}, youngest position first; they sum to l1.
        masses: y_0 ... y_{m-1}, requests; y_h is at stage S_h - 1.

    Examples:
        >>> from fluidkv.exact import BlockEnd
        >>> end = BlockEnd(iteration=0, gaps=(2, 1), masses=(Fraction(4), Fraction(1)))
        >>> [str(u) for u in end.normalized], str(end.spread), [str(x) for x in end.state]
        (['2', '1'], '1', ['0', '4', '1'])
    """

    iteration: int
    gaps: Gaps
    masses: tuple[Fraction, ...]

    @property
    def normalized(self) -> tuple[Fraction, ...]:
        """u_h = y_h / g_h (equation (17))."""
        return tuple(y / g for y, g in zip(self.masses, self.gaps, strict=True))

    @property
    def spread(self) -> Fraction:
        """G^sc, largest minus smallest normalized mass (equation (19))."""
        return Fraction(spread(self.normalized))

    @property
    def state(self) -> tuple[Fraction, ...]:
        """X^n, mass by stage."""
        masses = dict(zip(accumulate(self.gaps), self.masses, strict=True))
        return tuple(masses.get(j + 1, Fraction(0)) for j in range(sum(self.gaps)))


@dataclass(frozen=True)
class BlockTrajectory:
    """Block-ends of a trajectory and where its support shrank.

    Fields:
        block_ends: every block-end up to the horizon, in order.
        support_losses: (iteration, empty stages), as in `Cascade`.
        steps: how many block steps and physical iterations the engine took.
    """

    block_ends: tuple[BlockEnd, ...]
    support_losses: tuple[tuple[int, int], ...]
    steps: tuple[int, int]


def new_batch(input_length: int, block_end: BlockEnd) -> Fraction:
    """y'_0 of equation (16); not positive where the support does not last the block.

    Examples:
        >>> from fluidkv.exact import block_end, new_batch
        >>> print(new_batch(2, block_end([Fraction(2)] * 3, iteration=0)))
        2
        >>> print(new_batch(2, block_end([Fraction(0), Fraction(1), Fraction(4)], iteration=0)))
        19/3
    """
    *younger, oldest = block_end.masses
    gap = block_end.gaps[-1]
    released = (input_length + sum(block_end.gaps)) * oldest
    return (released - gap * sum(younger, Fraction(0))) / (input_length + gap)


def block_step(input_length: int, block_end: BlockEnd) -> BlockEnd | None:
    """The next block-end with the same live positions; None where one of them is lost before.

    Examples:
        >>> from fluidkv.exact import block_end, block_step
        >>> after = block_step(2, block_end([Fraction(0), Fraction(1), Fraction(4)], iteration=0))
        >>> after.iteration, after.gaps, [str(y) for y in after.masses]
        (1, (1, 2), ['19/3', '1'])
    """
    batch = new_batch(input_length, block_end)
    if batch <= 0:
        return None
    gap = block_end.gaps[-1]
    return BlockEnd(
        block_end.iteration + gap,
        (gap, *block_end.gaps[:-1]),
        (batch, *block_end.masses[:-1]),
    )


def block_trajectory(
    system: System, start: Sequence[Fraction | int], *, iterations: int
) -> BlockTrajectory:
    """Block-ends X^n, n = 0 ... iterations, of the trajectory from a start on the boundary.

    Where the start is not a block-end, and where support is lost, the physical map is followed to
    the next one.

    Raises:
        InputError: as `trajectory`.
    """
    if isinstance(iterations, bool) or not isinstance(iterations, int) or iterations < 1:
        raise InputError("iterations", iterations, "an integer of at least 1")
    l0 = only_class(system).input_length
    start = checked_start(system, start)
    ends: list[BlockEnd] = []
    losses: list[tuple[int, int]] = []
    blocks = physical = 0
    current, walked = _to_block_end(system, start, 0, iterations, losses, moved=False)
    physical += walked
    while current is not None:
        ends.append(current)
        following = block_step(l0, current)
        if following is None:
            state, n = current.state, current.iteration
            current, walked = _to_block_end(system, state, n, iterations, losses, moved=True)
            physical += walked
        elif following.iteration > iterations:
            current = None
        else:
            blocks, current = blocks + 1, following
    return BlockTrajectory(tuple(ends), tuple(losses), (blocks, physical))


def block_end(state: Sequence[Fraction], iteration: int) -> BlockEnd:
    """A state with mass in the last stage, as a block-end.

    Raises:
        InputError: no mass in the last stage.

    Examples:
        >>> from fluidkv.exact import block_end
        >>> found = block_end([Fraction(0), Fraction(2), Fraction(4)], iteration=7)
        >>> found.gaps, [str(y) for y in found.masses]
        ((2, 1), ['2', '4'])
    """
    if not is_block_end(state):
        raise InputError("state", f"last stage {state[-1]}", "mass in the last stage")
    masses = tuple(state[j] for j in live_stages(state))
    return BlockEnd(iteration, predecessor_gaps(state), masses)


def _to_block_end(
    system: System,
    state: Sequence[Fraction],
    iteration: int,
    horizon: int,
    losses: list[tuple[int, int]],
    *,
    moved: bool,
) -> tuple[BlockEnd | None, int]:
    """The first block-end from `state` on (after it, if `moved`), by the physical map.

    Returns it, or None past the horizon, and the iterations taken; adds to `losses` on the way.
    """
    empty = state.count(Fraction(0))
    for n, following in enumerate(states_from(system, state), start=iteration):
        if n > horizon:
            return None, horizon - iteration
        if following.count(Fraction(0)) > empty:
            empty = following.count(Fraction(0))
            losses.append((n, empty))
        if is_block_end(following) and (n > iteration or not moved):
            return block_end(following, n), n - iteration
    raise AssertionError("a trajectory has no end")
