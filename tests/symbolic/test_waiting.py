"""WAIT's balance and conditions as expressions: equal to those of the room of WAIT."""

from fractions import Fraction
from typing import Any

import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from fluidkv import symbolic, wait
from fluidkv.errors import InputError
from fluidkv.wait.theory.nested import check_nested
from fluidkv.wait.theory.thresholds import check_thresholds


@st.composite
def systems(draw: st.DrawFn) -> wait.WaitSystem:
    """One to three types with different lengths, at a load below 1."""
    count = draw(st.integers(1, 3))
    types = [
        wait.PromptType(draw(st.integers(1, 5)), draw(st.integers(1, 9)), 2 * j + 1)
        for j in range(count)
    ]
    prefill = draw(st.sampled_from([0, Fraction(1, 3), 1]))
    whole = wait.WaitSystem(types, draw(st.integers(1, 5)), Fraction(1, 7), prefill)
    return whole.scaled(Fraction(draw(st.integers(1, 9)), 10) / whole.load)


def values(system: wait.WaitSystem) -> dict[str, Any]:
    """By the name of the symbol."""
    several = len(system.types) > 1
    found = {"d0": system.base, "d1": system.per_kv_token, "d2": system.per_prefill_token}
    for j, each in enumerate(system.types, start=1):
        end = f"_{j}" if several else ""
        found |= {f"lambda{end}": each.arrival_rate, f"l{end}": each.input_length}
        found |= {f"l'{end}": each.output_length, f"c{end}": each.lifetime_cost}
    return found


def at(expression: Any, numbers: dict[str, Any]) -> Any:
    named = {s: sympy.Rational(numbers[s.name]) for s in expression.free_symbols}
    return expression.subs(named)


@settings(max_examples=10)
@given(systems())
def test_it_is_the_fluid_equilibrium(system):
    ours = symbolic.wait_equilibrium(len(system.types), prefill=True)
    numbers, expected = values(system), wait.fluid_equilibrium(system)
    assert at(ours.iteration_time, numbers) == sympy.Rational(expected.iteration_time)
    assert at(ours.memory, numbers) == sympy.Rational(expected.memory)
    assert at(ours.throughput, numbers) == sympy.Rational(expected.throughput)
    assert at(ours.load, numbers) == sympy.Rational(system.load)
    for stage, number in zip(ours.per_stage, expected.per_stage, strict=True):
        assert at(stage, numbers) == sympy.Rational(number)
    for cost, each in zip(ours.costs, system.types, strict=True):
        assert at(cost, numbers) == sympy.Rational(each.lifetime_cost)


def accepted(system: wait.WaitSystem, thresholds: list[int], capacity: int) -> bool:
    try:
        check_thresholds(system, thresholds, capacity)
    except InputError:
        return False
    return True


@settings(max_examples=12)
@given(systems(), st.lists(st.integers(1, 40), min_size=3, max_size=3), st.integers(50, 5000))
def test_conditions_hold_where_thresholds_are_accepted(system, thresholds, capacity):
    count = len(system.types)
    numbers = values(system) | {"M": capacity}
    for j, n in enumerate(thresholds[:count], start=1):
        numbers[f"n_{j}" if count > 1 else "n"] = n
    holds = [bool(at(each, numbers)) for each in symbolic.wait_thresholds(count, prefill=True)]
    assert all(holds) == accepted(system, thresholds[:count], capacity)


@settings(max_examples=15)
@given(
    st.integers(1, 3),
    st.integers(1, 9),
    st.lists(st.integers(1, 30), min_size=3, max_size=3),
    st.sampled_from([0, Fraction(1, 50)]),
    st.integers(50, 5000),
)
def test_nested_conditions_hold_where_none_is_broken(count, length, thresholds, prefill, capacity):
    segments = wait.Segments(length, (1, 3, 6)[:count], tuple(map(Fraction, (5, 3, 1)[:count])))
    clock = {"base": Fraction(1, 2), "per_kv_token": Fraction(1, 900)}
    broken = check_nested(
        segments, thresholds[:count], **clock, per_prefill_token=prefill, capacity=capacity
    )
    numbers: dict[str, Any] = {"d0": clock["base"], "d1": clock["per_kv_token"], "d2": prefill}
    numbers |= {"l": length, "M": capacity}
    rows = zip(segments.rates, segments.costs, thresholds, strict=False)
    for k, row in enumerate(rows, start=1):
        ends = [f"{name}_{k}" if count > 1 else name for name in ("r", "S", "n")]
        numbers |= dict(zip(ends, row, strict=True))
    holds = [bool(at(each, numbers)) for each in symbolic.nested_thresholds(count, prefill=True)]
    assert holds.count(False) == len(broken)


def test_without_prefill_it_is_printed_5_9_and_10():
    found = symbolic.wait_equilibrium(2)
    c, rate = (sympy.symbols(f"{name}_1:3", positive=True) for name in ("c", "lambda"))
    base, per_token = sympy.symbols("d0 d1", positive=True)
    tokens = sum(a * b for a, b in zip(rate, c, strict=True))
    assert sympy.cancel(found.memory - base * tokens / (1 - per_token * tokens)) == 0
    assert sympy.cancel(found.iteration_time - base / (1 - per_token * tokens)) == 0
    assert found.in_lengths.keys() == set(c)


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (symbolic.wait_equilibrium, "types"),
        (symbolic.wait_thresholds, "types"),
        (symbolic.nested_thresholds, "segments"),
    ],
)
def test_no_types_and_no_segments_are_refused(call, argument):
    with pytest.raises(InputError, match=f"{argument}: got 0; allowed: an integer of at least 1"):
        call(0)
