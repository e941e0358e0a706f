"""Balanced cycles: the examples of the paper, the literal model, and records that are wrong."""

from dataclasses import replace
from fractions import Fraction
from itertools import islice, pairwise
from math import lcm

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fluidkv.errors import InputError
from fluidkv.exact.mass import iterate, iterates, memory_used
from fluidkv.exact.one_class.cycles import (
    adjacent_cycle,
    as_evenly_spaced_cycle,
    as_evenly_spaced_gaps,
    balanced_cycle,
    contiguous_cycle,
    evenly_spaced_cycle,
    fixed_point,
    maximal_eviction_cycle,
    opposite_cycle,
    throughput,
)
from fluidkv.exact.one_class.cycles_verified import closes, scaled_iteration, verify_cycle
from fluidkv.exact.survival import eviction_free_equilibrium
from fluidkv.workload import RequestClass, System, Workload
from tests.small_systems import SMALL, one_class
from tests.strategies import homogeneous_systems, systems_with_gaps, systems_with_states

TWO_CLASSES = System(
    Workload((RequestClass(2, 3, Fraction(1, 2)), RequestClass(2, 4, Fraction(1, 2)))), 100
)


def test_cycles_of_example_2():
    level_1 = balanced_cycle(SMALL, (1, 2))
    assert level_1.states == (
        (Fraction(72, 13), Fraction(24, 13), 0),
        (0, Fraction(48, 13), Fraction(24, 13)),
        (Fraction(24, 13), 0, Fraction(48, 13)),
    )
    assert level_1.throughput == Fraction(24, 13)
    assert fixed_point(SMALL).states == ((2, 2, 2),)
    assert maximal_eviction_cycle(SMALL).states == ((8, 0, 0), (0, 6, 0), (0, 0, Fraction(24, 5)))
    assert maximal_eviction_cycle(SMALL).throughput == Fraction(8, 5)


def test_adjacent_cycle_of_example_6():
    cycle = adjacent_cycle(one_class(2, 4, 63))
    assert cycle.states == ((17, 3, 0, 0), (0, 12, 3, 0), (0, 0, 9, 3), (3, 0, 0, 9))
    assert cycle.block_ends == ((0, 0, 9, 3), (3, 0, 0, 9))
    assert (cycle.gaps, cycle.level, cycle.live, cycle.period) == ((3, 1), 2, 2, 4)


def test_throughput_of_a_gap_vector_of_four():
    cycle = balanced_cycle(one_class(5, 9, 1000), (4, 1, 3, 1))
    assert cycle.throughput == Fraction(1000, 99)
    assert (cycle.period, cycle.level, cycle.name) == (9, 5, "balanced cycle (4,1,3,1)")
    assert cycle.share_of_best == Fraction(10, 11)


@given(systems_with_gaps())
def test_cycles_follow_the_literal_model_once_round(system_and_gaps):
    system, gaps = system_and_gaps
    cycle = balanced_cycle(system, gaps)
    l1 = sum(gaps)
    walked = list(islice(iterates(system, [cycle.states[0]]), cycle.period + 1))
    assert [tuple(state[0]) for state in walked] == [*cycle.states, cycle.states[0]]
    assert len(set(cycle.states)) == cycle.period
    assert l1 % cycle.period == 0
    assert all(memory_used(system, [state]) == system.capacity for state in cycle.states)
    assert sum(state[-1] for state in cycle.states) == cycle.period * cycle.throughput
    assert verify_cycle(system, cycle)


@given(systems_with_gaps())
def test_the_record_describes_its_block_end(system_and_gaps):
    system, gaps = system_and_gaps
    cycle = balanced_cycle(system, gaps)
    end = cycle.states[cycle.gaps[0] - 1]
    live = [j for j, x in enumerate(end) if x > 0]
    assert [b - a for a, b in pairwise([-1, *live])] == list(cycle.gaps)
    assert [end[j] for j in live] == [cycle.throughput * g for g in cycle.gaps]
    assert end in cycle.block_ends


@given(systems_with_gaps())
def test_rotated_gaps_are_the_same_cycle(system_and_gaps):
    system, gaps = system_and_gaps
    assert balanced_cycle(system, gaps[1:] + gaps[:1]) == balanced_cycle(system, gaps)


@given(homogeneous_systems)
def test_the_fixed_point_is_the_equilibrium_of_any_workload(system):
    x = eviction_free_equilibrium(system).rate
    l1 = system.workload.longest_decode
    assert fixed_point(system).states == ((x,) * l1,)
    assert fixed_point(system).throughput == x


@given(systems_with_states(systems=homogeneous_systems))
def test_scaled_iteration_is_the_literal_one(system_and_state):
    system, (state,) = system_and_state
    after = iterate(system, [state]).state[0]
    scale = lcm(system.capacity.denominator, *(x.denominator for x in [*state, *after]))
    weights = [system.workload.classes[0].input_length + 1 + j for j in range(len(state))]
    whole = [int(x * scale) for x in state]
    image = scaled_iteration(weights, int(system.capacity * scale), whole)
    assert image == [x * scale for x in after]


@given(systems_with_states(systems=homogeneous_systems))
def test_scaled_iteration_knows_when_its_image_is_not_whole(system_and_state):
    system, (state,) = system_and_state
    scale = lcm(system.capacity.denominator, *(x.denominator for x in state))
    weights = [system.workload.classes[0].input_length + 1 + j for j in range(len(state))]
    whole = [int(x * scale) for x in state]
    image = scaled_iteration(weights, int(system.capacity * scale), whole)
    after = [x * scale for x in iterate(system, [state]).state[0]]
    if all(x.denominator == 1 for x in after):
        assert image == after
    else:
        assert image is None


def test_wrong_records_are_not_verified():
    cycle = balanced_cycle(SMALL, (2, 1))
    assert verify_cycle(SMALL, cycle)
    first, *others = cycle.states
    wrong = [
        replace(cycle, throughput=cycle.throughput + 1),
        replace(cycle, gaps=(1, 1, 1)),  # another level
        replace(cycle, states=cycle.states * 2),  # twice round
        replace(cycle, states=(first, *reversed(others))),
        replace(cycle, states=cycle.states[:-1]),
        replace(cycle, states=(tuple(-x for x in first), *others)),
        replace(cycle, states=((first[0] + 1, *first[1:]), *others)),
    ]
    assert not any(verify_cycle(SMALL, record) for record in wrong)
    assert not verify_cycle(one_class(3, 3, 24), cycle)
    assert not verify_cycle(one_class(2, 3, 25), cycle)
    assert not verify_cycle(one_class(2, 4, 24), cycle)
    assert not closes(SMALL, ())


def test_cycles_of_another_kind_of_orbit_do_not_close():
    """A state off every cycle: its image is another."""
    start = (Fraction(5, 2), Fraction(2), Fraction(17, 10))
    assert not closes(SMALL, (start,))


def test_named_cases():
    system = one_class(3, 6, 50)
    assert contiguous_cycle(system, 0) == fixed_point(system)
    assert contiguous_cycle(system, 2).gaps == (3, 1, 1, 1)
    assert contiguous_cycle(system, 5) == maximal_eviction_cycle(system)
    assert evenly_spaced_cycle(system, 2) == opposite_cycle(system)
    assert evenly_spaced_cycle(system, 3).gaps == (2, 2, 2)
    assert adjacent_cycle(system).gaps == (5, 1)
    assert [as_evenly_spaced_cycle(system, m).gaps for m in range(1, 7)] == [
        (6,),
        (3, 3),
        (2, 2, 2),
        (2, 1, 2, 1),
        (2, 1, 1, 1, 1),
        (1,) * 6,
    ]


@given(st.integers(1, 30).flatmap(lambda n: st.tuples(st.just(n), st.integers(1, n))))
def test_as_evenly_spaced_gaps_differ_by_at_most_one_over_every_stretch(total_and_live):
    total, live = total_and_live
    gaps = as_evenly_spaced_gaps(total, live)
    assert (len(gaps), sum(gaps)) == (live, total)
    for width in range(1, live):
        stretches = [sum((gaps * 2)[h : h + width]) for h in range(live)]
        assert max(stretches) - min(stretches) <= 1


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda: balanced_cycle(SMALL, (2, 2)), "gaps"),
        (lambda: balanced_cycle(SMALL, (3, 0)), "gaps"),
        (lambda: throughput(SMALL, (1.5, 1.5)), "gaps"),  # pyright: ignore[reportArgumentType]
        (lambda: contiguous_cycle(SMALL, 3), "level"),
        (lambda: contiguous_cycle(SMALL, -1), "level"),
        (lambda: contiguous_cycle(SMALL, True), "level"),
        (lambda: contiguous_cycle(SMALL, 1.0), "level"),  # pyright: ignore[reportArgumentType]
        (lambda: evenly_spaced_cycle(SMALL, 2), "live"),
        (lambda: evenly_spaced_cycle(SMALL, 0), "live"),
        (lambda: as_evenly_spaced_cycle(SMALL, 4), "live"),
        (lambda: opposite_cycle(SMALL), "decode_length"),
        (lambda: adjacent_cycle(one_class(2, 1, 24)), "decode_length"),
        (lambda: balanced_cycle(TWO_CLASSES, (3,)), "system"),
        (lambda: fixed_point(TWO_CLASSES), "system"),
        (lambda: verify_cycle(TWO_CLASSES, fixed_point(SMALL)), "system"),
    ],
)
def test_bad_input_gets_one_line(call, argument):
    with pytest.raises(InputError, match=f"^{argument}: got .*; allowed: "):
        call()
