"""Congestion, Lemmas A.9 (captured starts have measure zero) and A.10 (local absorption).

Exact arithmetic; a sample. Both hold as printed, and A.10 with more than it says: with
delta = epsilon (l0+1)/(l0+l1) in shares of memory, below w_0/w_{l1-1}^2, no start needs to be
excepted. The arguments are in `fluidkv_papers.congestion.claims.one_class.theorem_2_local`.

A.9 is checked by dimensions: the states before a piece of captured starts, as
`fluidkv.exact.one_class.capture` gives all of them, are as thin in their face as the piece was in
its own.
"""

from fractions import Fraction
from itertools import islice

from flint import fmpq, fmpq_mat
from hypothesis import given
from hypothesis import strategies as st

from fluidkv.exact.one_class.capture import states_before
from fluidkv.exact.one_class.trajectory import states_from
from fluidkv_papers.congestion.claims.one_class.theorem_2_local import residual, safe_residual
from tests.strategies import homogeneous_systems, systems_with_states


def dimension(points):
    """Of the affine hull; -1 for no point."""
    rows = [
        [
            fmpq(d.numerator, d.denominator)
            for d in (x - y for x, y in zip(p, points[0], strict=True))
        ]
        for p in points[1:]
    ]
    return fmpq_mat(rows).rank() if rows else len(points) - 1


def occupied(points):
    return sum(any(x > 0 for x in column) for column in zip(*points, strict=True))


@given(systems_with_states(systems=homogeneous_systems), st.data())
def test_a_step_back_from_a_state_keeps_its_codimension(system_and_state, data):
    # A point with m stages has codimension m - 1 in its face. Every part of the simplex of states
    # before it, a part being what has the same stages occupied, has at least this codimension.
    system, (state,) = system_and_state
    corners = states_before(system, state)
    part = data.draw(st.lists(st.sampled_from(corners), min_size=1, unique=True))
    face = occupied(part) - 1
    assert dimension(part) == len(part) - 1  # a simplex
    assert face - dimension(part) >= occupied([state]) - 1


@given(homogeneous_systems, st.data())
def test_a_single_occupied_stage_is_never_captured(system, data):
    only = system.workload.classes[0]
    l1, first_weight = only.decode_length, only.input_length + 1
    stage = data.draw(st.integers(0, l1 - 1))
    start = [Fraction(0)] * l1
    start[stage] = system.capacity / (first_weight + stage)
    for state in islice(states_from(system, start), 3 * l1):
        assert sum(x > 0 for x in state) == 1


@given(homogeneous_systems, st.data())
def test_a_small_residual_is_absorbed_within_two_turns(system, data):
    only = system.workload.classes[0]
    l1, first_weight = only.decode_length, only.input_length + 1
    principal = data.draw(st.integers(0, l1 - 1))
    share = data.draw(st.fractions(0, Fraction(999, 1000), max_denominator=1000))
    rho = share * safe_residual(system)
    parts = data.draw(st.lists(st.integers(0, 9), min_size=l1, max_size=l1))
    parts[principal] = 0
    if not sum(parts):
        rho = Fraction(0)
    memory = [rho * Fraction(p, sum(parts) or 1) for p in parts]
    memory[principal] = 1 - rho
    start = [m * system.capacity / (first_weight + j) for j, m in enumerate(memory)]
    states = list(islice(states_from(system, start), 2 * l1 + 1))
    growth = Fraction(only.peak_footprint, first_weight)
    assert max(residual(system, state) for state in states) <= growth * rho
    assert residual(system, states[-1]) == 0
    # Once there, it stays: one occupied stage, whose mass the boundary fixes.
    after = islice(states_from(system, states[-1]), 2 * l1)
    assert all(residual(system, state) == 0 for state in after)
