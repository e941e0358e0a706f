"""Derivatives of the equilibrium: against sympy's, exactly, and against laws of scale."""

from fractions import Fraction

import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from fluidkv.errors import InputError
from fluidkv.wait.model import PromptType, WaitSystem
from fluidkv.wait.theory.fluid import fluid_equilibrium
from fluidkv.wait.theory.sensitivity import sensitivity
from tests.wait.test_model import wait_systems

FIELDS = ("arrival_rate", "input_length", "output_length")
QUANTITIES = ("iteration_time", "memory", "throughput")


def in_symbols(types):
    """tau*, M*, throughput* and n*_j of so many types, from their definitions, and the symbols."""
    rates, inputs, outputs = (sympy.symbols(f"{x}:{types}", positive=True) for x in "rio")
    d0, d1, d2 = sympy.symbols("d0 d1 d2", positive=True)
    k, last, length = sympy.symbols("k last length", positive=True)
    over_stages = sympy.summation(length + k, (k, 0, last))  # a polynomial in both lengths
    costs = [over_stages.subs({length: i, last: o}) for i, o in zip(inputs, outputs, strict=True)]
    tokens = sum(r * c for r, c in zip(rates, costs, strict=True))
    tau = sympy.Symbol("tau")
    prefill = sum(r * i for r, i in zip(rates, inputs, strict=True))
    (time,) = sympy.solve(sympy.Eq(tau, d0 + tau * (d1 * tokens + d2 * prefill)), tau)
    throughput = sum(r * o for r, o in zip(rates, outputs, strict=True))
    symbols = [x for each in zip(rates, inputs, outputs, strict=True) for x in each]
    symbols += [d0, d1, d2]
    return [time, tokens * time, throughput, *(r * time for r in rates)], symbols


def values(system):
    lengths = (getattr(each, name) for each in system.types for name in FIELDS)
    return [*lengths, system.base, system.per_kv_token, system.per_prefill_token]


def rational(number):
    return sympy.Rational(number.numerator, number.denominator)


@pytest.mark.parametrize(
    "system",
    [
        WaitSystem([PromptType(Fraction(2, 3), 5, 1)], Fraction(1, 7), Fraction(1, 20)),
        WaitSystem(
            [PromptType(Fraction(2, 3), 5, 2), PromptType(3, 1, 4)], Fraction(5, 7), Fraction(1, 90)
        ),
        WaitSystem([PromptType(1, 2, 3), PromptType(Fraction(1, 4), 7, 7)], 3, 0),
        WaitSystem(
            [PromptType(1, 2, 3), PromptType(Fraction(1, 4), 7, 7)],
            3,
            Fraction(1, 90),
            Fraction(1, 12),
        ),
    ],
)
def test_derivatives_are_those_of_the_definitions(system):
    formulas, symbols = in_symbols(len(system.types))
    at = dict(zip(symbols, map(rational, values(system)), strict=True))
    found = sensitivity(system)
    ours = [[getattr(row, name) for row in found.rows] for name in QUANTITIES]
    ours += [found.per_stage(j) for j in range(len(system.types))]
    for formula, effects in zip(formulas, ours, strict=True):
        for symbol, effect in zip(symbols, effects, strict=False):  # no row of a d2 that is 0
            slope = sympy.diff(formula, symbol).subs(at)
            assert slope == rational(effect.derivative)
            assert slope * at[symbol] / formula.subs(at) == rational(effect.elasticity)


@given(wait_systems())
def test_rows_are_the_parameters_in_order_with_their_values(system):
    rows = sensitivity(system).rows
    names = [(name, j) for j in range(len(system.types)) for name in FIELDS]
    clock = [("base", None), ("per_kv_token", None)]
    clock += [("per_prefill_token", None)] * (system.per_prefill_token > 0)
    assert [(row.parameter, row.type_index) for row in rows] == [*names, *clock]
    assert [row.value for row in rows] == values(system)[: len(rows)]


def moved(system, place, by):
    """The system with its `place`-th parameter, a rate or the clock's, multiplied."""
    types = list(system.types)
    clock = [system.base, system.per_kv_token, system.per_prefill_token]
    if place >= 3 * len(types):
        clock[place - 3 * len(types)] *= by
    else:
        each = types[place // 3]
        types[place // 3] = PromptType(
            by * each.arrival_rate, each.input_length, each.output_length
        )
    return WaitSystem(types, *clock)


@given(wait_systems())
def test_elasticities_lie_between_those_of_small_changes(system):
    """tau* and M* are convex in rates, d1 and d2, and linear in d0: chords enclose the slope.

    Up by e and down by e, with the load kept below 1.
    """
    found, before = sensitivity(system), fluid_equilibrium(system)
    e = (1 - system.load) / 1000
    for place, row in enumerate(found.rows):
        if row.parameter in ("input_length", "output_length"):
            continue
        up, down = (fluid_equilibrium(moved(system, place, 1 + s)) for s in (e, -e))
        for name in ("iteration_time", "memory"):
            now = getattr(before, name)
            low = (now - getattr(down, name)) / (e * now)
            high = (getattr(up, name) - now) / (e * now)
            elasticity = getattr(row, name).elasticity
            assert low <= elasticity <= high
            # Their distance is at most e times the second derivative over the value, which is
            # 2 rho^2 / (1 - rho)^2 (M* by rates: 2 rho) here, and less than 1 % more within e.
            assert high - low <= Fraction(21, 10) * e / (1 - system.load) ** 2


@given(wait_systems())
def test_elasticities_obey_the_scales_of_time_tokens_and_load(system):
    found = sensitivity(system)

    def total(name, *parameters):
        return sum(getattr(r, name).elasticity for r in found.rows if r.parameter in parameters)

    # In another unit of time, rates go as 1 / d0, 1 / d1, 1 / d2; times as d0, throughput as rates.
    per_token = ("per_kv_token", "per_prefill_token")
    clock = ("base", *per_token)
    for name, power in (("iteration_time", 1), ("memory", 0), ("throughput", -1)):
        assert total(name, *clock) - total(name, "arrival_rate") == power
    # Rates up by a percent and d1, d2 down by one leave the load where it is.
    for name, more in (("iteration_time", 0), ("memory", 1), ("throughput", 1)):
        assert total(name, "arrival_rate") - total(name, *per_token) == more
    # M* = K d0 / (1 - rho): a percent of all rates moves it by 1 / (1 - rho) percent.
    assert total("memory", "arrival_rate") == 1 / (1 - system.load)


@given(wait_systems(), st.sampled_from(QUANTITIES))
def test_what_moves_most_comes_first(system, quantity):
    found = sensitivity(system)
    sizes = [abs(getattr(row, quantity).elasticity) for row in found.by_elasticity(quantity)]
    assert sizes == sorted(sizes, reverse=True)
    assert set(found.by_elasticity(quantity)) == set(found.rows)


def test_bad_questions_are_refused():
    system = WaitSystem([PromptType(1, 1, 1)], 1, Fraction(1, 6))
    with pytest.raises(InputError, match=r"must be below 1$"):
        sensitivity(system.scaled(2))
    with pytest.raises(InputError, match="quantity: got 'tau'; allowed: one of iteration_time"):
        sensitivity(system).by_elasticity("tau")  # pyright: ignore[reportArgumentType]
    with pytest.raises(InputError, match="type_index: got 1; allowed: at most 0"):
        sensitivity(system).per_stage(1)
    with pytest.raises(InputError, match="type_index: got -1"):
        sensitivity(system).per_stage(-1)
