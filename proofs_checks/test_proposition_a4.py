"""Congestion, Proposition A.4 and Corollary A.5: the block-end map on a fixed support.

Every block-end that a trajectory meets is taken as a start of its own; the physical side is the
literal model. The proposition holds as printed, and its condition "conditional on the same support
pattern" is the same as y'_0 > 0: memory left to the new batch falls with every iteration of the
block, so that the batch is gone by the end exactly if it is gone on the way.
"""

from fractions import Fraction

from hypothesis import example, given
from hypothesis import strategies as st

from fluidkv.exact.mass import iterate
from fluidkv.exact.one_class.blocks import BlockEnd, new_batch
from tests.small_systems import one_class
from tests.strategies import positive_rationals


@st.composite
def block_ends(draw):
    """l0 and a block-end with at least two live positions and up to ten stages."""
    gaps = draw(st.lists(st.integers(1, 4), min_size=2, max_size=4))
    masses = [draw(positive_rationals) for _ in gaps]
    return draw(st.integers(1, 6)), BlockEnd(0, tuple(gaps), tuple(masses))


def walk(l0, end):
    """Literal steps of the block, at the capacity that the block-end fills."""
    state = list(end.state)
    used = sum((l0 + 1 + j) * x for j, x in enumerate(state))
    # Masses scale with capacity: enough for one request is all that a system asks for.
    scale = Fraction(2 * (l0 + len(state))) / used
    system = one_class(l0, len(state), used * scale)
    steps, state = [], [x * scale for x in state]
    for _ in range(end.gaps[-1]):
        steps.append(iterate(system, [state]))
        state = steps[-1].state[0]
    return steps, scale


TIE = (1, BlockEnd(0, (1, 1), (Fraction(3), Fraction(1))))  # y'_0 = 0
EXAMPLE_6 = (2, BlockEnd(0, (3, 1), (Fraction(9), Fraction(3))))


@given(block_ends())
@example(TIE)
@example(EXAMPLE_6)
def test_one_step_is_one_block_of_the_literal_model(l0_and_end):
    l0, end = l0_and_end
    steps, scale = walk(l0, end)
    after, gap = steps[-1].state[0], end.gaps[-1]
    batch = new_batch(l0, end) * scale
    if batch > 0:
        expected = {gap - 1: batch}
        reached = gap - 1
        for g, y in zip(end.gaps[:-1], end.masses[:-1], strict=True):
            reached += g
            expected[reached] = y * scale
        assert {j: x for j, x in enumerate(after) if x} == expected
    else:
        assert sum(map(bool, after)) < len(end.gaps)


@given(block_ends())
@example(EXAMPLE_6)
def test_a_block_admits_once_and_then_trims_the_new_batch_only(l0_and_end):
    l0, end = l0_and_end
    if new_batch(l0, end) > 0:
        steps, _ = walk(l0, end)
        assert not any(steps[0].evicted[0])
        assert steps[0].admitted[0] > 0
        for t, step in enumerate(steps[1:], start=1):
            assert [j for j, e in enumerate(step.evicted[0]) if e] == [t]
            assert step.completed == step.admitted == [0]


@given(block_ends())
def test_an_older_position_is_touched_exactly_if_the_formula_is_negative(l0_and_end):
    l0, end = l0_and_end
    steps, scale = walk(l0, end)
    after = steps[-1].state[0]
    youngest = after[end.gaps[-1] + end.gaps[0] - 1]
    assert (youngest < end.masses[0] * scale) == (new_batch(l0, end) < 0)


@given(block_ends())
def test_normalized_form(l0_and_end):
    l0, end = l0_and_end
    u, gaps = end.normalized, end.gaps
    change = sum(g * (u[-1] - x) for g, x in zip(gaps[:-1], u[:-1], strict=True))
    assert new_batch(l0, end) / gaps[-1] == u[-1] + change / (l0 + gaps[-1])
