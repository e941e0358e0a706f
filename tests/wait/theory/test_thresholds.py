"""Thresholds of WAIT: the least whole ones against enumeration, and what messages say."""

import math
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fluidkv.errors import InputError
from fluidkv.wait.model import PromptType, WaitSystem
from fluidkv.wait.theory import least_whole
from fluidkv.wait.theory.fluid import fluid_equilibrium
from fluidkv.wait.theory.thresholds import (
    batch_memory,
    check_thresholds,
    integer_thresholds,
    iteration_time,
    minimal_thresholds,
)
from tests.wait.test_model import prefills, wait_systems


@st.composite
def small_systems(draw):
    """So few prompts at a stage that all vectors around the least one can be tried."""
    lengths = st.tuples(st.integers(1, 4), st.integers(1, 4))
    pairs = draw(st.lists(lengths, min_size=1, max_size=3, unique=True))
    rates = st.sampled_from([Fraction(1), Fraction(2, 3), Fraction(1, 2), Fraction(3, 5)])
    types = [PromptType(draw(rates), *pair) for pair in pairs]
    unloaded = WaitSystem(types, draw(st.sampled_from([1, Fraction(1, 3), Fraction(5, 4)])), 0)
    load, prefill = Fraction(draw(st.integers(0, 6)), 8), draw(prefills)
    d1, d2 = (1 - prefill) * load / unloaded.token_rate, prefill * load / unloaded.prefill_rate
    return WaitSystem(types, unloaded.base, d1, d2)


def literal_time(system, n):
    """Delta T(n), stage by stage."""
    tokens = sum(
        k * (each.input_length + stage)
        for k, each in zip(n, system.types, strict=True)
        for stage in range(each.output_length + 1)
    )
    inputs = sum(k * each.input_length for k, each in zip(n, system.types, strict=True))
    return system.base + system.per_kv_token * tokens + system.per_prefill_token * inputs


def satisfies(system, n, *, strict=False):
    """The first line of (11), literally."""
    time = literal_time(system, n)
    gaps = [k - each.arrival_rate * time for k, each in zip(n, system.types, strict=True)]
    return all(gap > 0 for gap in gaps) if strict else all(gap >= 0 for gap in gaps)


@given(wait_systems(), st.data())
def test_time_and_memory_are_summed_over_the_stages(system, data):
    count = len(system.types)
    some = st.one_of(st.integers(0, 9), st.fractions(0, 9, max_denominator=7))
    n = data.draw(st.lists(some, min_size=count, max_size=count))
    time = literal_time(system, n)
    assert iteration_time(system, n) == time
    prefill = sum(k * each.input_length for k, each in zip(n, system.types, strict=True))
    decoding = time - system.base - system.per_prefill_token * prefill
    assert system.per_kv_token * batch_memory(system, n) == decoding


def climb(system, *, strict=False):
    """n <- the least whole numbers not below (above) lambda Delta T(n), one step at a time."""
    n = tuple(math.ceil(k) for k in minimal_thresholds(system))
    while True:
        time = literal_time(system, n)
        come = [each.arrival_rate * time for each in system.types]
        after = tuple(math.floor(k) + 1 if strict else math.ceil(k) for k in come)
        assert all(a >= b for a, b in zip(after, n, strict=True)), "the sequence falls"
        if after == n:
            return n
        n = after


@given(small_systems(), st.booleans())
def test_no_whole_solution_of_the_box_is_lower_in_any_type(system, strict):
    found = integer_thresholds(system, strict=strict).thresholds
    box = product(*(range(int(k) + 3) for k in found))
    solutions = [n for n in box if satisfies(system, n, strict=strict)]
    assert found in solutions
    assert all(k >= least for n in solutions for k, least in zip(n, found, strict=True))


@given(wait_systems(max_types=5), st.booleans())
def test_least_whole_thresholds_are_the_end_of_the_plain_iteration(system, strict):
    assert integer_thresholds(system, strict=strict).thresholds == climb(system, strict=strict)


@example(
    WaitSystem([PromptType(1, 1, 1), PromptType(Fraction(1, 2), 1, 2)], 1, 0, Fraction(4, 9)), False
)
@given(wait_systems(), st.booleans())
def test_least_whole_thresholds_stay_below_the_bound_that_ends_the_search(system, strict):
    found = integer_thresholds(system, strict=strict).thresholds
    cost = literal_time(system, [1] * len(system.types)) - system.base  # decoding and prefill
    most = [(1 + cost / system.base) * k for k in minimal_thresholds(system)]
    bound = [math.floor(k) + 1 if strict else math.ceil(k) for k in most]
    assert satisfies(system, bound, strict=strict)
    assert all(k <= b for k, b in zip(found, bound, strict=True))


@given(wait_systems(max_types=1))
def test_for_one_type_the_least_whole_threshold_is_the_equilibrium_rounded_up(system):
    (least,) = minimal_thresholds(system)
    assert integer_thresholds(system).thresholds == (math.ceil(least),)
    assert integer_thresholds(system, strict=True).thresholds == (math.floor(least) + 1,)


def test_for_two_types_the_equilibrium_rounded_up_is_not_enough():
    """n* = (2.5, 1): a batch of (3, 1) lasts 19/18, one of (3, 2) 23/18, one of (4, 2) 25/18."""
    system = WaitSystem([PromptType(Fraction(5, 2), 1, 1), PromptType(1, 1, 2)], Fraction(1, 2), 0)
    system = WaitSystem(system.types, system.base, Fraction(1, 2) / system.token_rate)
    assert minimal_thresholds(system) == (Fraction(5, 2), 1)
    assert [iteration_time(system, n) for n in ((3, 1), (3, 2), (4, 2))] == [
        Fraction(k, 18) for k in (19, 23, 25)
    ]
    assert integer_thresholds(system).thresholds == (4, 2)  # 19/18 > 1, 5/2 * 23/18 > 3


def test_the_search_stops_at_whole_thresholds_without_slack():
    """n* = (9, 3/2). A batch of (9, 2) lasts 19/6, too long; one of (10, 2) 10/3, and 10 come."""
    system = WaitSystem([PromptType(3, 1, 1), PromptType(Fraction(1, 2), 1, 2)], 1, Fraction(1, 18))
    found = integer_thresholds(system)
    assert (found.thresholds, found.iteration_time) == ((10, 2), Fraction(10, 3))
    assert found.slack == (0, Fraction(1, 3))


def test_slack_of_exactly_0_is_no_slack():
    """n* = (4, 1): a batch of the next whole ones, (5, 2), lasts 5/2, in which just 5 come."""
    system = WaitSystem([PromptType(2, 1, 1), PromptType(Fraction(1, 2), 1, 2)], 1, Fraction(1, 18))
    assert minimal_thresholds(system) == (4, 1)
    assert check_thresholds(system, (5, 2)).strict == (False, True)
    assert integer_thresholds(system).thresholds == (4, 1)
    assert integer_thresholds(system, strict=True).thresholds == (6, 2)


@given(wait_systems(max_types=5), st.booleans())
def test_the_record_says_what_follows(system, strict):
    found = integer_thresholds(system, strict=strict)
    time = literal_time(system, found.thresholds)
    assert found.iteration_time == time
    assert found.memory == batch_memory(system, found.thresholds)
    slack = [
        k - each.arrival_rate * time for k, each in zip(found.thresholds, system.types, strict=True)
    ]
    assert list(found.slack) == slack
    assert found.strict == tuple(each > 0 for each in slack)
    assert all(found.strict) or not strict
    assert check_thresholds(system, found.thresholds, found.memory) == found


@given(wait_systems())
def test_the_minimal_thresholds_have_no_slack_and_need_the_fluid_memory(system):
    checked = check_thresholds(system, minimal_thresholds(system))
    at = fluid_equilibrium(system)
    assert checked.slack == (0,) * len(system.types)
    assert not any(checked.strict)
    assert (checked.memory, checked.iteration_time) == (at.memory, at.iteration_time)


HALF_FULL = WaitSystem([PromptType(1, 1, 1)], Fraction(1, 2), Fraction(1, 6))
"""c = 3, rho = 1/2, tau* = n* = 1, M* = 3."""
UNEVEN = WaitSystem([PromptType(3, 1, 2), PromptType(1, 4, 1)], Fraction(1, 2), Fraction(1, 54))
"""c = 6 and 9, rho = 1/2, tau* = 1, n* = (3, 1), M* = 27."""


@pytest.mark.parametrize(
    ("n", "capacity", "message"),
    [
        (
            (2, 1),
            None,
            # Delta T = 1/2 + 21/54 = 8/9, so 8/3 come; with n_2 = 1: n_1 >= 3 (2/3 + n_1 / 9).
            "thresholds: got [2, 1]; allowed: at least 3 for type 1 (1:2) beside the others: "
            "arrivals in a full batch of 0.888889 exceed n by 0.666667",
        ),
        (
            (Fraction(7, 2), 1),
            None,
            # Delta T = 1/2 + 30/54 = 19/18; with n_1 = 7/2: n_2 >= 8/9 + n_2 / 6.
            "thresholds: got ['7/2', 1]; allowed: at least 1.06667 for type 2 (4:1) beside the "
            "others: arrivals in a full batch of 1.05556 exceed n by 0.0555556",
        ),
        (
            (3, 1),
            Fraction(51, 2),
            "thresholds: got [3, 1]; allowed: sum n c of at most 25.5 tokens, the capacity: "
            "27 exceeds it by 1.5",
        ),
    ],
)
def test_the_message_names_the_constraint_the_type_and_the_amount(n, capacity, message):
    with pytest.raises(InputError) as caught:
        check_thresholds(UNEVEN, n, capacity)
    assert str(caught.value) == message


@given(wait_systems(), st.data())
def test_the_least_that_a_message_names_is_the_least_that_does(system, data):
    """Read back from the message, to its six digits; the others stay."""
    short = [
        k * data.draw(st.sampled_from([Fraction(1, 2), Fraction(9, 10), Fraction(3, 2)]))
        for k in minimal_thresholds(system)
    ]
    if satisfies(system, short):
        check_thresholds(system, short)
        return
    with pytest.raises(InputError) as caught:
        check_thresholds(system, short)
    words = caught.value.allowed.split()
    least, place = Fraction(words[2]), int(words[5]) - 1
    for factor, enough in ((Fraction(99999, 100000), False), (Fraction(100001, 100000), True)):
        n = [least * factor if i == place else k for i, k in enumerate(short)]
        come = system.types[place].arrival_rate * literal_time(system, n)
        assert (come <= n[place]) == enough


@pytest.mark.parametrize(
    ("capacity", "strict", "message"),
    [
        (
            Fraction(5, 2),
            False,
            "at least 3 tokens for whole thresholds; M* = 3 does not fit either",
        ),
        (
            3,
            True,
            "at least 6 tokens for whole thresholds with slack; M* = 3 fits, but whole prompts "
            "do not",
        ),
    ],
)
def test_a_capacity_too_small_is_told_from_one_that_only_whole_prompts_miss(
    capacity, strict, message
):
    with pytest.raises(InputError) as caught:
        integer_thresholds(HALF_FULL, capacity, strict=strict)
    assert caught.value.argument == "capacity"
    assert caught.value.allowed == message
    needed = int(message.split()[2])
    assert integer_thresholds(HALF_FULL, needed, strict=strict).memory == needed


@pytest.mark.parametrize("search", [integer_thresholds, minimal_thresholds])
def test_a_load_of_1_is_refused(search):
    with pytest.raises(InputError, match=r"must be below 1$"):
        search(HALF_FULL.scaled(2))
    with pytest.raises(InputError, match=r"must be below 1$"):
        check_thresholds(HALF_FULL.scaled(2), [100])


@pytest.mark.parametrize(
    ("n", "message"),
    [
        ([1, 2], "thresholds: got '2 of them'; allowed: 1, one a type"),
        ([], "thresholds: got '0 of them'"),
        ([1.0], "thresholds: got 1.0; allowed: an integer or a Fraction of at least 0"),
        ([-1], "thresholds: got '-1'"),
        ([True], "thresholds: got True"),
        (None, "thresholds: got None; allowed: a sequence: one number a type"),
        (1, "thresholds: got 1; allowed: a sequence: one number a type"),
    ],
)
@pytest.mark.parametrize("function", [iteration_time, batch_memory, check_thresholds])
def test_thresholds_that_are_none_are_refused(function, n, message):
    with pytest.raises(InputError, match=message):
        function(HALF_FULL, n)


@pytest.mark.parametrize("bad", [0, -3, 2.5, "12", True])
def test_capacities_are_exact_and_above_0(bad):
    for call in (integer_thresholds, lambda s, c: check_thresholds(s, [1], c)):
        with pytest.raises(InputError, match=r"^capacity: .* Fraction above 0$"):
            call(HALF_FULL, bad)


def test_a_search_that_is_too_long_says_so(monkeypatch):
    types = [PromptType(Fraction(k, 7), k, 3) for k in range(1, 6)]
    system = WaitSystem(types, 1, 0)
    near = Fraction(10**6 - 1, 10**6)
    system = WaitSystem(types, 1, near / system.token_rate)
    assert satisfies(system, integer_thresholds(system).thresholds)
    monkeypatch.setattr(least_whole, "MOST_WORK", 1)
    with pytest.raises(InputError, match="not found at a load of 1 - 1e-06 with 5 types"):
        integer_thresholds(system)
