"""The block-end map against the physical map: from each block-end to the next, exactly."""

from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fluidkv.errors import InputError
from fluidkv.exact.one_class.blocks import BlockEnd, block_end, block_step
from fluidkv.exact.one_class.positions import is_block_end
from fluidkv.exact.one_class.trajectory import trajectory
from tests.small_systems import SMALL, one_class
from tests.strategies import boundary_states, positive_rationals

EXAMPLE_6 = one_class(2, 4, 63)
FULL = one_class(1, 2, 9)


@st.composite
def longer_systems(draw):
    """One class with up to ten stages, so that blocks are long and several supports are lost."""
    l0, l1 = draw(st.integers(1, 6)), draw(st.integers(1, 10))
    capacity = l0 + l1 + draw(positive_rationals)
    system = one_class(l0, l1, capacity)
    return system, draw(boundary_states(system))


@given(longer_systems())
@example((SMALL, [[Fraction(5, 2), Fraction(2), Fraction(17, 10)]]))
@example((FULL, [[Fraction(3), Fraction(1)]]))  # y'_0 = 0: a loss that evicts nothing
@example((EXAMPLE_6, [[Fraction(17), Fraction(3), Fraction(0), Fraction(0)]]))
def test_a_block_leads_to_the_next_block_end_of_the_physical_map(system_and_state):
    """Exactly; and `block_step` says None exactly if a live position is lost before."""
    system, state = system_and_state
    l0 = system.workload.classes[0].input_length
    states = enumerate(trajectory(system, state[0], iterations=60))
    ends = [block_end(x, n) for n, x in states if is_block_end(x)]
    for before, after in pairwise(ends):
        same_support = len(after.gaps) == len(before.gaps)
        assert block_step(l0, before) == (after if same_support else None)


def test_equation_18_is_equation_16_in_normalized_masses():
    end = BlockEnd(0, (2, 1, 3), (Fraction(4), Fraction(1), Fraction(7)))
    after = block_step(5, end)
    assert after is not None
    u, gaps = end.normalized, end.gaps
    change = sum(g * (u[-1] - x) for g, x in zip(gaps[:-1], u[:-1], strict=True))
    assert after.normalized[0] == u[-1] + change / (5 + gaps[-1])
    assert after.normalized[1:] == u[:-1]


def test_only_block_ends_are_block_ends():
    with pytest.raises(InputError, match="last stage"):
        block_end((Fraction(17), Fraction(3), Fraction(0), Fraction(0)), 0)
    assert block_end(tuple(map(Fraction, (0, 0, 9, 3))), 2).spread == 0
