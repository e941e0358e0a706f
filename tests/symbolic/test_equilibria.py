"""Equilibria and the worst cycle as expressions: equal to the exact ones wherever these are."""

from fractions import Fraction
from typing import Any

import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from fluidkv import exact, symbolic
from fluidkv.exact.one_class.cycles import fixed_point, maximal_eviction_cycle
from fluidkv.symbolic import CAPACITY, DECODE_LENGTH, INPUT_LENGTH
from fluidkv.workload import System
from tests.strategies import homogeneous_systems, length_mixes, systems


def at(expression: Any, values: dict[Any, Fraction | int]) -> Fraction:
    value = expression.subs({symbol: sympy.Rational(v) for symbol, v in values.items()})
    return Fraction(int(value.p), int(value.q))


def of_one_class(system: System) -> dict[Any, Fraction | int]:
    (only,) = system.workload.classes
    lengths = {INPUT_LENGTH: only.input_length, DECODE_LENGTH: only.decode_length}
    return {**lengths, CAPACITY: system.capacity}


@settings(max_examples=30)
@given(systems())
def test_of_a_workload_it_is_the_exact_equilibrium(system):
    ours, numbers = symbolic.equilibrium(system.workload), exact.eviction_free_equilibrium(system)
    assert at(ours.rate, {CAPACITY: system.capacity}) == numbers.rate
    assert at(ours.in_flight, {CAPACITY: system.capacity}) == numbers.in_flight


@settings(max_examples=20)
@given(length_mixes(longest=6), st.integers(1, 50))
def test_of_a_mix_it_is_that_of_its_workload_at_each_input(mix, length):
    ours, own = symbolic.equilibrium(mix), symbolic.equilibrium(mix.workload(length))
    assert sympy.expand(ours.rate.subs(INPUT_LENGTH, length) - own.rate) == 0


@settings(max_examples=30)
@given(homogeneous_systems)
def test_of_one_class_best_and_worst_are_those_of_the_exact_cycles(system):
    values = of_one_class(system)
    best, worst = symbolic.equilibrium(), symbolic.worst_cycle()
    cycle = maximal_eviction_cycle(system)
    assert at(best.rate, values) == fixed_point(system).throughput
    assert at(worst.throughput, values) == cycle.throughput
    assert at(worst.share_of_best, values) == cycle.share_of_best
    account = exact.waste([*cycle.states, cycle.states[0]], system)
    assert at(worst.wasted_share, values) == account.wasted_share
    stage = next(iter(worst.masses.free_symbols - values.keys()))
    assert [at(worst.masses, {**values, stage: j}) for j in range(cycle.period)] == [
        state[j] for j, state in enumerate(cycle.states)
    ]


def test_with_symbols_for_classes_it_is_equation_8():
    mix = exact.two_lengths(2, 5, Fraction(1, 3))
    (p, q), (r, s) = symbolic.class_symbols(2)
    costs = [n * (x * INPUT_LENGTH + sympy.Rational(n + 1, 2)) for n, x in ((2, r), (5, s))]
    ours = symbolic.equilibrium(mix, shares=True, ratios=True)
    assert sympy.cancel(ours.rate - CAPACITY / (p * costs[0] + q * costs[1])) == 0


def test_it_shows_as_formulas():
    text = symbolic.worst_cycle()._repr_latex_()
    assert r"\bar{T} &= \frac{M}{l_{1} \left(l_{0} + l_{1}\right)}" in text
