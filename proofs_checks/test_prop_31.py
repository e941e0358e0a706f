"""Congestion, Proposition 31: the pulse cycle of two classes, its states and its throughput.

No counterexample is known: the orbit, the falling youngest cohort, the throughput and the sum in
the proof hold as printed.
"""

import math
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from fluidkv.exact.mass import iterate
from fluidkv.exact.mixed.cycles.pulse import pulse_cycle
from fluidkv.exact.mixed.mix import two_lengths
from fluidkv.exact.survival import eviction_free_equilibrium
from fluidkv.workload import System


@st.composite
def pairs_with_divisor(draw):
    """(system, a, b, g, q, l0): a = g i < b = g j with coprime or other i < j, g > 1."""
    factor = draw(st.integers(2, 4))
    i = draw(st.integers(1, 3))
    j = draw(st.integers(i + 1, 4))
    a, b = factor * i, factor * j
    q = draw(st.fractions(Fraction(1, 50), Fraction(49, 50), max_denominator=50))
    l0 = draw(st.integers(1, 100))
    capacity = l0 + b + draw(st.fractions(Fraction(1, 7), 1000, max_denominator=7))
    return System(two_lengths(a, b, 1 - q).workload(l0), capacity), a, b, math.gcd(a, b), q, l0


@given(pairs_with_divisor())
def test_the_printed_states_are_an_orbit_of_period_g(case):
    system, a, b, g, q, l0 = case
    v = [(l0 + 1 + j) * (Fraction(1) if j < a else q) for j in range(b)]
    beta = system.capacity / sum(v[g - 1 :: g])
    alphas = [(system.capacity - beta * sum(v[r + g :: g])) / v[r] for r in range(g)]
    assert alphas == sorted(set(alphas), reverse=True)
    assert alphas[-1] == beta
    states = [
        [alphas[r] if j == r else beta if j % g == r else Fraction(0) for j in range(b)]
        for r in range(g)
    ]
    completed = Fraction(0)
    for r, following in enumerate([*states[1:], states[0]]):
        step = iterate(system, [[(1 - q) * y for y in states[r][:a]], [q * y for y in states[r]]])
        assert step.state[1] == [q * y for y in following]
        assert step.state[0] == [(1 - q) * y for y in following[:a]]
        completed += sum(step.completed)
        admits = sum(step.admitted) > 0
        evicts = any(x for row in step.evicted for x in row)
        assert (admits, evicts) == (r == g - 1, r < g - 1)
    assert completed == beta
    assert [tuple(s) for s in states] == list(pulse_cycle(system).states)


@given(pairs_with_divisor())
def test_the_throughput_is_the_printed_one_and_below_the_equilibrium(case):
    system, a, b, g, q, l0 = case
    printed = 2 * system.capacity / (a * (2 * l0 + a + g) + q * (b - a) * (2 * l0 + a + b + g))
    cycle = pulse_cycle(system)
    assert cycle.throughput == printed
    assert printed < eviction_free_equilibrium(system).rate


@given(pairs_with_divisor())
def test_the_drop_of_the_youngest_cohort_is_the_printed_one(case):
    system, a, b, g, q, l0 = case
    u, c = l0 + 1, Fraction(a, g) - 1 + q * Fraction(b - a, g)
    v = [(l0 + 1 + j) * (Fraction(1) if j < a else q) for j in range(b)]
    older = [sum(v[r + g :: g]) for r in range(g)]
    cycle = pulse_cycle(system)
    beta, alphas = cycle.settled_mass, cycle.leading_masses
    for r in range(g - 1):
        assert older[r + 1] == older[r] + c
        fall = (system.capacity - beta * older[0] + beta * c * u) / ((u + r) * (u + r + 1))
        assert alphas[r] - alphas[r + 1] == fall > 0
