"""Congestion, Lemma A.6, Corollary A.7 and Lemma A.8: the block-end spread on a fixed support.

All hold as printed. Corollary A.7 can be sharpened: a positive spread grows at least once every
m - 1 blocks, not only every m, as maximum and minimum are at two different positions and the older
one has at most m - 2 blocks to the oldest slot.
"""

from fractions import Fraction

from hypothesis import assume, example, given

from fluidkv.exact.one_class.blocks import BlockEnd, block_step
from proofs_checks.test_proposition_a4 import EXAMPLE_6, TIE, block_ends

# A tie for the maximum, the oldest among them.
TIED = (2, BlockEnd(0, (1, 2, 1), (Fraction(2), Fraction(2), Fraction(2))))


@given(block_ends())
@example(EXAMPLE_6)
@example(TIED)
def test_the_spread_does_not_fall_and_grows_if_the_oldest_is_extremal(l0_and_end):
    l0, end = l0_and_end
    after = block_step(l0, end)
    if after is not None:
        assert after.spread >= end.spread
        u = end.normalized
        if end.spread > 0 and u[-1] in (min(u), max(u)):
            assert after.spread > end.spread


@given(block_ends())
@example(TIED)
def test_a_positive_spread_grows_within_m_minus_one_blocks(l0_and_end):
    l0, end = l0_and_end
    assume(end.spread > 0)
    current = end
    for _ in range(len(end.gaps) - 1):
        current = block_step(l0, current)
        if current is None:
            return
    assert current.spread > end.spread


@given(block_ends())
@example(TIE)
def test_an_unbalanced_block_end_loses_support_and_a_balanced_one_never(l0_and_end):
    l0, end = l0_and_end
    balanced = BlockEnd(0, end.gaps, tuple(map(Fraction, end.gaps)))
    assert _blocks_to_loss(l0, balanced, most=3 * len(end.gaps)) is None
    if end.spread > 0:
        # Ten times what the longest of 5,000 random block-ends of this size took (34).
        assert _blocks_to_loss(l0, end, most=400) is not None


def _blocks_to_loss(l0, end, *, most):
    for block in range(1, most + 1):
        end = block_step(l0, end)
        if end is None:
            return block
    return None
