"""Exact capture: the inverse map against the literal reference, and starts that are captured."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fluidkv.errors import InputError
from fluidkv.exact.mass import iterate, iterates, memory_used
from fluidkv.exact.one_class.capture import captured_start, states_before, verify_capture
from fluidkv.exact.one_class.cycles import balanced_cycle, fixed_point
from tests.small_systems import SMALL, one_class
from tests.strategies import homogeneous_systems, systems_with_states

TARGET = (Fraction(0), Fraction(48, 13), Fraction(24, 13))


def mixed(corners, parts):
    total = sum(parts)
    return tuple(
        sum(Fraction(p, total) * x for p, x in zip(parts, row, strict=True))
        for row in zip(*corners, strict=True)
    )


@given(systems_with_states(systems=homogeneous_systems), st.data())
def test_every_state_of_the_simplex_maps_to_the_state(system_and_state, data):
    system, state = system_and_state
    corners = states_before(system, state[0])
    parts = st.lists(st.integers(0, 5), min_size=len(corners), max_size=len(corners))
    chosen = data.draw(parts)
    chosen[data.draw(st.integers(0, len(corners) - 1))] += 1
    before = mixed(corners, chosen)
    assert min(before) >= 0
    assert memory_used(system, [before]) == system.capacity
    assert iterate(system, [before]).state == state


@given(systems_with_states(systems=homogeneous_systems))
def test_every_state_is_in_the_simplex_of_its_image(system_and_state):
    # So nothing is missing: the weights that the corners need are found, and are at least 0.
    system, state = system_and_state
    step = iterate(system, state)
    corners = states_before(system, step.state[0])
    if len(corners) == 1:
        assert corners[0] == tuple(state[0])
        return
    # A corner adds mass to one stage only, different ones, so the weights can be read off.
    common = tuple(min(column) for column in zip(*corners, strict=True))
    weights = []
    for corner in corners:
        (added,) = [j for j, (x, y) in enumerate(zip(corner, common, strict=True)) if x > y]
        weights.append((state[0][added] - common[added]) / (corner[added] - common[added]))
    assert min(weights) >= 0
    assert sum(weights) == 1
    assert mixed(corners, weights) == tuple(state[0])


def test_the_start_of_appendix_a():
    capture = captured_start(SMALL, TARGET, iterations=1, shares=lambda n: [1] + [0] * (n - 1))
    assert capture.start == (Fraction(48, 13), Fraction(24, 13), Fraction(72, 65))
    assert verify_capture(capture)


@pytest.mark.parametrize("l1", [3, 4, 5])
@pytest.mark.parametrize("iterations", [1, 2, 7])
def test_every_intermediate_cycle_captures_starts(l1, iterations):
    for level in range(1, l1 - 1):
        for gaps in _gaps(l1, l1 - level):
            system = one_class(2, l1, 50)
            states = [x for x in balanced_cycle(system, gaps).states if x[0] == 0]
            assert states
            for target in states:
                capture = captured_start(system, target, iterations=iterations)
                assert capture.iteration == iterations
                assert verify_capture(capture)
                # The literal reference agrees, and stays for ten turns.
                for n, state in enumerate(iterates(system, [capture.start])):
                    if n == iterations + 10 * l1:
                        assert tuple(state[0]) == target
                        break


def _gaps(l1, live):
    if live == 1:
        return [(l1,)]
    return [(g, *rest) for g in range(1, l1 - live + 2) for rest in _gaps(l1 - g, live - 1)]


def test_only_the_fixed_point_is_captured_by_the_fixed_point():
    for system in (SMALL, one_class(1, 2, 9), one_class(3, 6, 100)):
        (state,) = fixed_point(system).states
        assert states_before(system, state) == (state,)


@pytest.mark.parametrize(
    ("target", "options", "argument"),
    [
        ((2, 2, 2), {"iterations": 1}, "target"),  # the fixed point: stage 0 has mass
        ((0, 0, Fraction(24, 5)), {"iterations": 1}, "target"),  # maximal eviction
        ((0, 1, 4), {"iterations": 1}, "target"),  # on no cycle
        ((0, 1, 1), {"iterations": 1}, "start"),  # off the boundary
        (TARGET, {"iterations": 0}, "iterations"),
        (TARGET, {"iterations": 1, "shares": lambda n: [2] * n}, "shares"),
        (TARGET, {"iterations": 1, "shares": lambda n: [0, 1]}, "shares"),  # stays on the cycle
    ],
)
def test_bad_input_is_named(target, options, argument):
    with pytest.raises(InputError, match=f"^{argument}: "):
        captured_start(SMALL, target, **options)
