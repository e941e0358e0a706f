"""The block-end map against the physical map: every block-end, every support loss, exactly."""

from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from fluidkv.errors import InputError
from fluidkv.exact.one_class.blocks import BlockEnd, block_end, block_step, block_trajectory
from fluidkv.exact.one_class.cascade import cascade
from fluidkv.exact.one_class.positions import is_block_end
from fluidkv.exact.one_class.trajectory import trajectory
from fluidkv.workload import RequestClass, System, Workload
from tests.strategies import boundary_states, homogeneous_systems, positive_rationals

SMALL = System(Workload((RequestClass(2, 3),)), Fraction(24))
EXAMPLE_6 = System(Workload((RequestClass(2, 4),)), Fraction(63))
FULL = System(Workload((RequestClass(1, 2),)), Fraction(9))


@st.composite
def longer_systems(draw):
    """One class with up to ten stages, so that blocks are long and several supports are lost."""
    l0, l1 = draw(st.integers(1, 6)), draw(st.integers(1, 10))
    capacity = l0 + l1 + draw(positive_rationals)
    system = System(Workload((RequestClass(l0, l1),)), capacity)
    return system, draw(boundary_states(system))


@given(longer_systems())
@example((SMALL, [[Fraction(5, 2), Fraction(2), Fraction(17, 10)]]))
@example((FULL, [[Fraction(3), Fraction(1)]]))  # y'_0 = 0: a loss that evicts nothing
@example((EXAMPLE_6, [[Fraction(17), Fraction(3), Fraction(0), Fraction(0)]]))
def test_block_ends_and_losses_are_those_of_the_physical_map(system_and_state):
    system, state = system_and_state
    states = trajectory(system, state[0], iterations=60)
    found = block_trajectory(system, state[0], iterations=60)
    physical = [(n, x) for n, x in enumerate(states) if is_block_end(x)]
    assert [(e.iteration, e.state) for e in found.block_ends] == physical
    analysed = cascade(states, system)
    assert list(found.support_losses) == [
        (s.iteration, s.empty_stages) for s in analysed.support_losses
    ]


@given(longer_systems())
def test_one_block_is_the_gap_of_the_oldest_position(system_and_state):
    system, state = system_and_state
    found = block_trajectory(system, state[0], iterations=60)
    for before, after in pairwise(found.block_ends):
        if len(after.gaps) == len(before.gaps):
            assert after.iteration - before.iteration == before.gaps[-1]
            assert after.gaps == (before.gaps[-1], *before.gaps[:-1])


@given(longer_systems())
def test_support_is_lost_exactly_where_the_new_batch_is_not_positive(system_and_state):
    """`block_step` says None exactly if the physical map has another support one block later."""
    system, state = system_and_state
    l0 = system.workload.classes[0].input_length
    found = block_trajectory(system, state[0], iterations=40)
    assume(found.block_ends)
    first = found.block_ends[0]
    states = trajectory(system, first.state, iterations=first.gaps[-1])
    kept = sum(map(bool, states[-1])) == len(first.gaps)
    assert (block_step(l0, first) is not None) == kept


def test_equation_18_is_equation_16_in_normalized_masses():
    end = BlockEnd(0, (2, 1, 3), (Fraction(4), Fraction(1), Fraction(7)))
    after = block_step(5, end)
    assert after is not None
    u, gaps = end.normalized, end.gaps
    change = sum(g * (u[-1] - x) for g, x in zip(gaps[:-1], u[:-1], strict=True))
    assert after.normalized[0] == u[-1] + change / (5 + gaps[-1])
    assert after.normalized[1:] == u[:-1]


def test_most_of_a_late_cascade_is_blocks():
    # Single live position: one step a round of ten iterations.
    system = System(Workload((RequestClass(3, 10),)), Fraction(130))
    found = block_trajectory(system, [0] * 9 + [10], iterations=1000)
    assert found.steps == (100, 0)
    assert len(found.block_ends) == 101


def test_only_block_ends_are_block_ends():
    with pytest.raises(InputError, match="last stage"):
        block_end((Fraction(17), Fraction(3), Fraction(0), Fraction(0)), 0)
    assert block_end(tuple(map(Fraction, (0, 0, 9, 3))), 2).spread == 0


@given(homogeneous_systems)
def test_a_horizon_of_zero_is_refused(system):
    with pytest.raises(InputError, match="iterations"):
        block_trajectory(system, [0] * system.workload.longest_decode, iterations=0)
