"""The block-end map: from one completion to the next in a single step, exact.

At a block-end the oldest of m live positions is in the last stage. Over the next g_{m-1}
iterations it completes, its place is filled by admission, and the new batch alone is evicted until
the next live position reaches the last stage. Proposition A.4 says what is left of the batch:

    y'_0 = ((l0 + l1) y_{m-1} - g_{m-1} (y_0 + ... + y_{m-2})) / (l0 + g_{m-1})

This holds as long as the support does. What the memory boundary leaves to the batch shrinks with
every iteration of the block, so it is used up within the block exactly if y'_0 <= 0, and eviction
reaches an older position exactly if y'_0 < 0. One sign decides; where it is not positive, the next
block-end of the physical map has a smaller support.

Source: Congestion, Proposition A.4 and Corollary A.5, equations (16) and (18).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate

from fluidkv.errors import InputError
from fluidkv.exact.one_class.gaps import Gaps
from fluidkv.exact.one_class.positions import (
    is_block_end,
    live_stages,
    predecessor_gaps,
    spread,
)
from fluidkv.record import Record


@dataclass(frozen=True)
class BlockEnd(Record):
    """A state in which a live position is in the last stage.

    Fields:
        iteration: n of the state X^n.
        gaps: g_0 ... g_{m-1}, youngest position first; they sum to l1.
        masses: y_0 ... y_{m-1}, requests; y_h is at stage S_h - 1.

    Examples:
        >>> from fluidkv.exact.one_class.blocks import BlockEnd
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


def new_batch(input_length: int, block_end: BlockEnd) -> Fraction:
    """y'_0 of equation (16); not positive where the support does not last the block.

    Examples:
        >>> from fluidkv.exact.one_class.blocks import block_end, new_batch
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
        >>> from fluidkv.exact.one_class.blocks import block_end, block_step
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


def block_end(state: Sequence[Fraction], iteration: int) -> BlockEnd:
    """A state with mass in the last stage, as a block-end.

    Raises:
        InputError: no mass in the last stage.

    Examples:
        >>> from fluidkv.exact.one_class.blocks import block_end
        >>> found = block_end([Fraction(0), Fraction(2), Fraction(4)], iteration=7)
        >>> found.gaps, [str(y) for y in found.masses]
        ((2, 1), ['2', '4'])
    """
    if not is_block_end(state):
        raise InputError("state", f"last stage {state[-1]}", "mass in the last stage")
    masses = tuple(state[j] for j in live_stages(state))
    return BlockEnd(iteration, predecessor_gaps(state), masses)
