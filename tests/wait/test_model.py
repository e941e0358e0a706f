"""Prompt types, systems, fluid equilibrium and segments, against the sums that define them."""

from dataclasses import FrozenInstanceError
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fluidkv.errors import InputError
from fluidkv.wait.model import (
    PromptType,
    WaitSystem,
    count,
    exact,
    finite,
    plain,
    probability,
    several,
    shown,
)
from fluidkv.wait.policy import NestedWait, Wait
from fluidkv.wait.segments import Segments
from fluidkv.wait.theory.fluid import fluid_equilibrium, require_stable

rationals = st.builds(Fraction, st.integers(1, 60), st.integers(1, 12))
loads = st.builds(lambda a, b: Fraction(a, a + b), st.integers(0, 20), st.integers(1, 20))
"""In [0, 1)."""
prefills = st.sampled_from([Fraction(0), Fraction(0), Fraction(1, 3), Fraction(1)])
"""Shares of the load that is prefill."""


@st.composite
def wait_systems(draw, *, max_types=4, common_input=False, loads=loads):
    """Types with small lengths, at a load that is drawn: d1 and d2 follow from it."""
    pairs = st.tuples(st.integers(1, 6), st.integers(1, 6))
    key = 1 if common_input else slice(2)
    lengths = draw(st.lists(pairs, min_size=1, max_size=max_types, unique_by=lambda p: p[key]))
    common = lengths[0][0] if common_input else None
    types = tuple(PromptType(draw(rationals), common or i, o) for i, o in lengths)
    unloaded = WaitSystem(types, draw(rationals), 0)
    load, prefill = draw(loads), draw(prefills)
    d1, d2 = (1 - prefill) * load / unloaded.token_rate, prefill * load / unloaded.prefill_rate
    return WaitSystem(types, unloaded.base, d1, d2)


@given(rationals, st.integers(1, 30), st.integers(1, 30))
def test_the_cost_of_a_prompt_is_what_it_holds_over_its_stages(rate, length, output):
    prompt = PromptType(rate, length, output)
    assert prompt.lifetime_cost == sum(length + k for k in range(output + 1))
    assert prompt.stages == output + 1


@given(wait_systems())
def test_rates_and_load_are_their_sums(system):
    assert system.arrival_rate == sum(t.arrival_rate for t in system.types)
    tokens = sum(
        t.arrival_rate * sum(t.input_length + k for k in range(t.output_length + 1))
        for t in system.types
    )
    assert system.token_rate == tokens
    inputs = sum(t.arrival_rate * t.input_length for t in system.types)
    assert system.prefill_rate == inputs
    assert system.load == system.per_kv_token * tokens + system.per_prefill_token * inputs
    assert system.load == sum(t.arrival_rate * system.time_of(t) for t in system.types)


@given(wait_systems(), rationals)
def test_load_goes_with_the_rates_and_the_clock_stays(system, factor):
    scaled = system.scaled(factor)
    assert scaled.load == factor * system.load
    clocks = [(s.base, s.per_kv_token, s.per_prefill_token) for s in (scaled, system)]
    assert clocks[0] == clocks[1]
    assert [t.arrival_rate for t in scaled.types] == [factor * t.arrival_rate for t in system.types]


def test_the_clock_of_runs_has_the_same_coefficients():
    clock = WaitSystem([PromptType(1, 2, 3)], Fraction(1, 2), Fraction(1, 8)).clock
    assert (clock.base, clock.per_kv_token, clock.per_prefill_token) == (0.5, 0.125, 0)
    assert clock.duration(kv_tokens=4, prefill_tokens=9) == 1


@pytest.mark.parametrize("bad", [0, -1, 2.0, 2.5, "3", None, True, Fraction(3)])
@pytest.mark.parametrize("field", ["input_length", "output_length"])
def test_lengths_are_positive_integers(bad, field):
    with pytest.raises(InputError, match=rf"^{field}: .* an integer of at least 1$"):
        PromptType(**{"arrival_rate": 1, "input_length": 2, "output_length": 3, field: bad})


@pytest.mark.parametrize("bad", [0, Fraction(-1, 2), 0.5, "1/2", None, True, float("nan")])
@pytest.mark.parametrize(
    ("field", "make"),
    [
        ("arrival_rate", lambda bad: PromptType(bad, 2, 3)),
        ("base", lambda bad: WaitSystem([PromptType(1, 2, 3)], bad, 0)),
        ("factor", lambda bad: WaitSystem([PromptType(1, 2, 3)], 1, 0).scaled(bad)),
    ],
)
def test_rates_and_times_are_exact_and_above_0(bad, field, make):
    with pytest.raises(InputError, match=rf"^{field}: .* Fraction above 0$"):
        make(bad)


def test_the_time_of_a_token_may_be_0_and_not_below():
    assert WaitSystem([PromptType(1, 2, 3)], 1, 0).load == 0
    with pytest.raises(InputError, match=r"^per_kv_token: .* of at least 0$"):
        WaitSystem([PromptType(1, 2, 3)], 1, Fraction(-1, 9))


def test_numpy_integers_are_integers():
    assert PromptType(1, np.int64(2), np.int32(3)) == PromptType(1, 2, 3)  # pyright: ignore
    number = exact("rate", np.int64(7), above=0)
    assert (number, type(number), type(number.numerator)) == (7, Fraction, int)


def test_a_system_has_types_and_no_two_alike():
    same = [PromptType(1, 2, 3), PromptType(2, 2, 4), PromptType(3, 2, 3)]
    with pytest.raises(InputError, match=r"types: got '2:3 twice'"):
        WaitSystem(same, 1, 0)
    for nothing in ((), ["2:3"]):
        with pytest.raises(InputError, match="at least one PromptType"):
            WaitSystem(nothing, 1, 0)  # pyright: ignore[reportArgumentType]


def test_systems_are_frozen():
    system = WaitSystem([PromptType(1, 2, 3)], 1, 0)
    with pytest.raises(FrozenInstanceError):
        system.base = Fraction(2)  # pyright: ignore[reportAttributeAccessIssue]


@given(wait_systems())
def test_in_equilibrium_the_batch_lasts_as_long_as_its_arrivals_take(system):
    """The definition, stage by stage: (7) with n_j = lambda_j tau at every stage, (1) and (9)."""
    at = fluid_equilibrium(system)
    memory = sum(
        n * sum(t.input_length + k for k in range(t.output_length + 1))
        for n, t in zip(at.per_stage, system.types, strict=True)
    )
    assert at.memory == memory
    inputs = sum(n * t.input_length for n, t in zip(at.per_stage, system.types, strict=True))
    decoding = system.base + system.per_kv_token * memory
    assert at.iteration_time == decoding + system.per_prefill_token * inputs
    assert at.per_stage == tuple(t.arrival_rate * at.iteration_time for t in system.types)
    completed = sum(n * t.output_length for n, t in zip(at.per_stage, system.types, strict=True))
    assert at.throughput == completed / at.iteration_time


def test_example_2_is_in_balance_with_4_at_each_stage_and_12_tokens():
    """WAIT, Example 2: l = l' = 1, four arrivals in an iteration. Its clock is one of ours."""
    system = WaitSystem([PromptType(4, 1, 1)], Fraction(1, 2), Fraction(1, 24))
    at = fluid_equilibrium(system)
    assert (at.iteration_time, at.per_stage, at.memory) == (1, (4,), 12)
    assert at.throughput == 4


@given(wait_systems(loads=st.one_of(st.just(Fraction(1)), loads.map(lambda x: 1 + x))))
def test_a_load_of_1_or_more_is_refused_with_the_rate_that_would_do(system):
    with pytest.raises(InputError, match=r"^arrival_rate: .* must be below 1$") as caught:
        fluid_equilibrium(system)
    assert f"below {float(system.arrival_rate / system.load):.6g} with" in str(caught.value)
    require_stable(system.scaled(Fraction(99, 100) / system.load))


@given(wait_systems(common_input=True), st.data())
def test_segments_count_who_comes_that_far_and_what_they_hold(system, data):
    outputs = sorted(t.output_length for t in system.types)
    kept = data.draw(st.lists(st.sampled_from(outputs), unique=True))
    ends = sorted({*kept, outputs[-1]})
    segments = Segments.of(system, ends)
    assert len(segments) == len(ends)
    assert (segments.ends, segments.input_length) == (tuple(ends), system.types[0].input_length)
    stages = [range(s, e + 1) for s, e in zip(segments.starts, segments.ends, strict=True)]
    assert [k for each in stages for k in each] == list(range(outputs[-1] + 1))
    for k, each in enumerate(stages):
        reach = [t for t in system.types if k == 0 or t.output_length >= each[0]]
        assert segments.rates[k] == sum(t.arrival_rate for t in reach)
        assert segments.spans[k] == len(each)
        assert segments.costs[k] == sum(segments.input_length + stage for stage in each)
    for k in range(1, len(segments)):
        assert segments.thinning[k - 1] * segments.rates[k - 1] == segments.rates[k]
        assert segments.boundary_tokens[k - 1] == segments.input_length + segments.ends[k - 1]


@given(wait_systems(common_input=True))
def test_a_segment_for_each_output_carries_the_load_of_the_types(system):
    segments = Segments.of(system)
    work = sum(r * s for r, s in zip(segments.rates, segments.costs, strict=True))
    assert work == system.token_rate
    # Fewer segments hold a prompt longer than it lasts: never less work.
    whole = Segments.of(system, [segments.ends[-1]])
    assert whole.rates[0] * whole.costs[0] >= work


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, (2,), (1,)), "input_length: got 0"),
        ((1, (), ()), r"ends: got \[\]; allowed: increasing"),
        ((1, (2, 2), (1, 1)), r"ends: got \[2, 2\]"),
        ((1, (0, 2), (1, 1)), "ends: got 0; allowed: an integer of at least 1"),
        ((1, (1, 2), (1,)), "rates: got '1 of them'; allowed: 2, one for each segment"),
        ((1, (1, 2), (1, 2)), "rates: got '2 in segment 2'; allowed: at most 1"),
        ((1, (1, 2), (1, 0)), "rates: got '0'"),
        ((1, (1, 2), (1, 0.5)), "rates: got 0.5; allowed: an integer or a Fraction"),
    ],
)
def test_segments_that_are_none_are_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        Segments(*arguments)


def test_all_prompts_may_go_on_to_the_next_segment():
    assert Segments(1, (1, 2), (Fraction(3), Fraction(3))).thinning == (1,)


@pytest.mark.parametrize(
    ("ends", "message"),
    [
        ([2, 5], "ends: got 2; allowed: output lengths of the types"),
        ([3], "ends: .* the longest output, 5, as the last"),
        ([], "the longest output, 5"),
        ([5.0], "ends: got 5.0; allowed: an integer"),
    ],
)
def test_segments_of_a_system_end_at_outputs_of_its_types(ends, message):
    system = WaitSystem([PromptType(1, 2, 3), PromptType(1, 2, 5)], 1, 0)
    with pytest.raises(InputError, match=message):
        Segments.of(system, ends)


def test_segments_need_a_common_input():
    system = WaitSystem([PromptType(1, 2, 3), PromptType(1, 4, 5)], 1, 0)
    with pytest.raises(InputError, match=r"input_length: got \[2, 4\]"):
        Segments.of(system)


@pytest.mark.parametrize(
    "call",
    [
        lambda: exact("x", -(10**5000), above=0),
        lambda: exact("x", Fraction(-1, 10**5000), least=0),
        lambda: count("x", -(10**5000)),
        lambda: probability("x", 10**5000),
        lambda: finite("x", 10**5000),
        lambda: finite("x", Fraction(1, 10**5000)),
    ],
)
def test_huge_numbers_are_refused_in_one_line(call):
    with pytest.raises(InputError, match=r"^x: got .*1(0\^|e[+-])?5000") as caught:
        call()
    assert len(str(caught.value)) < 100


def test_a_probability_is_above_0_and_below_1():
    assert probability("delta", Fraction(1, 10**400)) == Fraction(1, 10**400)
    for bad in (0, 1, Fraction(3, 2), 0.5):
        with pytest.raises(InputError, match=r"^delta: "):
            probability("delta", bad)


def test_numbers_are_shown_in_a_few_digits():
    given = (Fraction(7, 2), Fraction(1, 3), 12345678, 10**400, Fraction(1, 3 * 10**400))
    assert [shown(each) for each in given] == [
        "3.5",
        "0.333333",
        "12345678",
        "1e+400",
        "3.33333e-401",
    ]
    assert [plain(each) for each in given] == ["7/2", "1/3", 12345678, "1e+400", "3.33333e-401"]


@pytest.mark.parametrize("base", [10**400, Fraction(1, 10**400)])
def test_a_clock_that_floats_cannot_hold_is_refused(base):
    with pytest.raises(InputError, match=r"^base: got '1e[+-]400'"):
        _ = WaitSystem([PromptType(1, 2, 3)], base, 0).clock
    with pytest.raises(InputError, match=r"^per_kv_token: got '1e[+-]400'"):
        _ = WaitSystem([PromptType(1, 2, 3)], 1, base).clock


def test_an_overload_of_any_size_is_refused_in_one_line():
    with pytest.raises(InputError, match=r"got '1e\+400 prompts .* must be below 1$"):
        fluid_equilibrium(WaitSystem([PromptType(10**400, 2, 3)], 1, 1))


@pytest.mark.parametrize(
    ("named", "call"),
    [
        ("types", lambda bad: WaitSystem(bad, 1, 0)),
        ("thresholds", lambda bad: Wait(bad)),
        ("thresholds", lambda bad: NestedWait((1,), bad)),
        ("ends", lambda bad: NestedWait(bad, (1,))),
        ("ends", lambda bad: Segments(1, bad, (Fraction(1),))),
        ("rates", lambda bad: Segments(1, (1,), bad)),
        ("ends", lambda bad: Segments.of(WaitSystem([PromptType(1, 2, 3)], 1, 0), bad)),
    ],
)
@pytest.mark.parametrize("bad", [3, "12", Fraction(1, 2)])
def test_what_is_no_sequence_is_refused(named, call, bad):
    with pytest.raises(InputError, match=rf"^{named}: got .* a sequence: "):
        call(bad)


def test_any_iterable_is_a_sequence():
    assert several("x", (k for k in (1, 2)), "numbers") == (1, 2)
    assert several("x", np.array([1, 2]), "numbers") == (1, 2)
