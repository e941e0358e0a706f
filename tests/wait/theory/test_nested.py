"""Constraints (12) and (16), and the least whole thresholds, beside brute force."""

from fractions import Fraction
from itertools import product

import pytest

from fluidkv.errors import InputError
from fluidkv.wait.model import PromptType, WaitSystem
from fluidkv.wait.segments import Segments
from fluidkv.wait.theory.nested import (
    Broken,
    Constraint,
    check_nested,
    integer_nested_thresholds,
    nested_time,
    peak_memory,
    require_nested,
    segment_load,
)

# One token in, outputs 1 and 3: segment 1 has stages 0, 1, segment 2 has 2, 3.
SMALL = Segments(1, (1, 3), (Fraction(2), Fraction(1)))


def test_time_and_memory_by_hand():
    # S = 1 + 2 and 3 + 4
    assert peak_memory(SMALL, (5, 3)) == 5 * 3 + 3 * 7
    assert nested_time(SMALL, (5, 3), 2, Fraction(1, 6)) == 2 + 6
    assert segment_load(SMALL, Fraction(1, 100)) == Fraction(2 * 3 + 7, 100)


def test_prefill_is_paid_once_by_the_prompts_that_segment_1_takes_in():
    d1, d2 = Fraction(1, 100), Fraction(1, 7)
    segments = Segments(4, (1, 3), (Fraction(2), Fraction(1)))
    assert nested_time(segments, (5, 3), 2, d1, d2) - nested_time(segments, (5, 3), 2, d1) == (
        d2 * 5 * 4  # 3 at the first stage of segment 2 have their prefill behind them
    )
    assert segment_load(segments, d1, d2) - segment_load(segments, d1) == d2 * 2 * 4
    system = WaitSystem([PromptType(1, 4, 1), PromptType(1, 4, 3)], 2, d1, d2)
    assert segment_load(Segments.of(system), d1, d2) == system.load


def test_every_broken_constraint_is_named_with_what_is_missing():
    d1 = Fraction(1, 26)
    assert (
        check_nested(SMALL, (8, 5), 1, d1)
        == (
            # 2 (1 + (24 + 35) / 26) = 170 / 26 < 8
        )
    )
    assert check_nested(SMALL, (6, 3), 1, d1, 30) == (
        # 2 (1 + 39 / 26) = 5 < 6; 3 is not above 6 / 2; 18 + 21 tokens
        Broken(Constraint.THINNING, 2, Fraction(0)),
        Broken(Constraint.MEMORY, None, Fraction(9)),
    )
    (broken,) = check_nested(SMALL, (2, 2), 1, d1)
    assert broken == Broken(Constraint.ARRIVALS, 1, 2 * (1 + Fraction(20, 26)) - 2)


def test_a_batch_may_fill_the_capacity():
    # 24 + 35 tokens
    assert check_nested(SMALL, (8, 5), 1, Fraction(1, 26), 59) == ()
    (broken,) = check_nested(SMALL, (8, 5), 1, Fraction(1, 26), Fraction(117, 2))
    assert broken == Broken(Constraint.MEMORY, None, Fraction(1, 2))


def test_as_many_arrivals_as_a_batch_takes_are_too_many():
    # r_1 Delta T = 2 (1 + 13 n d1) is 4 for n = 4, 2 with d1 = 1/26: (4, 2) is not above it
    d1 = Fraction(1, 26)
    assert 2 * nested_time(SMALL, (4, 2), 1, d1) == 4
    assert check_nested(SMALL, (4, 2), 1, d1) == (
        Broken(Constraint.ARRIVALS, 1, Fraction(0)),
        Broken(Constraint.THINNING, 2, Fraction(0)),
    )
    with pytest.raises(InputError, match="arrivals in a full batch are 4, 0 above n_1"):
        require_nested(SMALL, (4, 2), 1, d1)


@pytest.mark.parametrize(
    ("rates", "d0", "d1", "least"),
    [
        # one segment, stages 0 and 1 of one token in: S = 3. r Delta T = 2 + 6 n d1
        ((2,), 1, Fraction(0), (3,)),  # 2 always: 2 is not above it
        ((2,), 1, Fraction(1, 12), (5,)),  # 2 + n / 2 is 4 at 4
        ((2, 1), 1, Fraction(0), (3, 2)),  # 3 / 2, then 2
        ((4, 2), 1, Fraction(0), (5, 3)),
        # S = 3 and 7: (3, 2) makes 2 (1 + 23/46) = 3 exactly; (4, 3) makes 2 (1 + 33/46)
        ((2, 1), 1, Fraction(1, 46), (4, 3)),
        ((5, Fraction(5, 2)), 1, Fraction(0), (6, 4)),  # 3 is not above 6 / 2
    ],
)
def test_least_thresholds_lie_above_whole_arrivals(rates, d0, d1, least):
    segments = Segments(1, (1, 3)[: len(rates)], tuple(Fraction(rate) for rate in rates))
    assert integer_nested_thresholds(segments, d0, d1).thresholds == least


@pytest.mark.parametrize("bad", [None, 3, "12"])
def test_what_is_no_sequence_is_refused(bad):
    calls = [
        lambda: peak_memory(SMALL, bad),
        lambda: check_nested(SMALL, bad, 1, 0),
        lambda: require_nested(SMALL, bad, 1, 0),
    ]
    for call in calls:
        with pytest.raises(InputError, match=r"^thresholds: .* a sequence: "):
            call()


def test_a_huge_load_is_refused_in_one_line():
    huge = Segments(1, (1,), (Fraction(10**5000),))
    with pytest.raises(InputError, match=r"got '1e\+5000 prompts .* must be below 1"):
        integer_nested_thresholds(huge, 1, 1)


@pytest.mark.parametrize(
    ("thresholds", "said"),
    [((2, 2), "n_1 > r_1 Delta T"), ((8, 3), "segment 2, more than 4"), ((8,), "2, one a segment")],
)
def test_thresholds_that_break_a_constraint_are_refused(thresholds, said):
    with pytest.raises(InputError, match=said):
        require_nested(SMALL, thresholds, 1, Fraction(1, 26))


def _brute(
    segments: Segments, d0: Fraction, d1: Fraction, d2: Fraction, most: int
) -> set[tuple[int, ...]]:
    return {
        n
        for n in product(range(1, most + 1), repeat=len(segments))
        if not check_nested(segments, n, d0, d1, per_prefill_token=d2)
    }


@pytest.mark.parametrize(
    ("rates", "ends", "d0", "d1"),
    [
        ((2, 1), (1, 3), 1, Fraction(1, 26)),
        ((2, 1), (1, 3), 1, Fraction(1, 16)),  # a load of 13/16
        ((3, 2, 1), (1, 2, 3), Fraction(1, 3), Fraction(1, 40)),
        ((3, 3, 1), (2, 3, 5), Fraction(1, 2), Fraction(1, 90)),
        ((1,), (2,), 2, Fraction(1, 10)),
        ((5, Fraction(1, 7)), (1, 2), Fraction(1, 2), Fraction(0)),
    ],
)
@pytest.mark.parametrize("d2", [Fraction(0), Fraction(1, 50), Fraction(2, 35)])
def test_least_thresholds_are_those_of_brute_force(rates, ends, d0, d1, d2):
    segments = Segments(1, ends, tuple(Fraction(rate) for rate in rates))
    found = integer_nested_thresholds(segments, d0, d1, d2)
    feasible = _brute(segments, Fraction(d0), Fraction(d1), d2, max(found.thresholds))
    assert found.thresholds in feasible
    assert all(all(a <= b for a, b in zip(found.thresholds, n, strict=True)) for n in feasible)
    assert all(slack > 0 for slack in found.slack)
    assert found.memory == peak_memory(segments, found.thresholds)


def test_spare_prompts_are_kept_in_every_line():
    extra = (2, 1)
    found = integer_nested_thresholds(SMALL, 1, Fraction(1, 26), extra=extra)
    assert all(slack > e for slack, e in zip(found.slack, extra, strict=True))
    n = found.thresholds
    feasible = [
        m
        for m in product(range(1, n[0] + 1), range(1, n[1] + 1))
        if m[0] > 2 * nested_time(SMALL, m, 1, Fraction(1, 26)) + 2 and 2 * m[1] > m[0] + 2
    ]
    assert feasible == [n]


def test_a_load_near_one_needs_no_long_climb():
    load = segment_load(SMALL, 1)
    d1 = (1 - Fraction(1, 10**9)) / load
    found = integer_nested_thresholds(SMALL, 1, d1)
    assert not check_nested(SMALL, found.thresholds, 1, d1)
    assert found.thresholds[0] > 2 * 10**9  # r_1 d0 / (1 - load)


def test_a_load_of_one_is_refused_with_the_rate_that_could_be_served():
    with pytest.raises(InputError, match=r"below 2 .* is 1 and must be below 1"):
        integer_nested_thresholds(SMALL, 1, Fraction(1, 13))  # exactly 1
    with pytest.raises(InputError, match=r"below 1\.84615 .* 1\.08333 and must be below 1"):
        integer_nested_thresholds(SMALL, 1, Fraction(1, 12))


def test_merged_segments_carry_a_larger_load_than_the_system():
    system = WaitSystem(
        [PromptType(Fraction(1), 2, 1), PromptType(Fraction(1), 2, 4)], 1, Fraction(1, 100)
    )
    assert segment_load(Segments.of(system), system.per_kv_token) == system.load
    # all of them through stages 0..4: 2 (2 + 3 + 4 + 5 + 6)
    assert segment_load(Segments.of(system, [4]), system.per_kv_token) == Fraction(40, 100)
    assert system.load == Fraction(2 + 3 + 20, 100)


@pytest.mark.parametrize("extra", [(1,), (0, -1), 1])
def test_extra_is_one_whole_number_a_segment(extra):
    with pytest.raises(InputError, match=r"^extra: "):
        integer_nested_thresholds(SMALL, 1, Fraction(1, 26), extra=extra)
