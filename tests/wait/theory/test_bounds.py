"""The theorems' numbers, by hand, and the assumptions that they ask for."""

import math
from fractions import Fraction

import pytest
from flint import arb

from fluidkv.errors import InputError
from fluidkv.wait.model import PromptType, WaitSystem
from fluidkv.wait.segments import Segments
from fluidkv.wait.theory.boundary_queue import ends, eta
from fluidkv.wait.theory.bounds import (
    MemoryBound,
    theorem_1_gap,
    theorem_2_memory,
    worst_case_segments,
)

# l = 10, outputs 4 and 9: half of the prompts go on.
TWO = Segments(10, (4, 9), (Fraction(2), Fraction(1)))
HALF = Fraction(1, 2)


def test_three_terms_by_hand():
    bound = theorem_2_memory(TWO, (10, 6), 1, 100, Fraction(1, 10))
    # stages 0..4 hold 10..14, stages 5..9 hold 15..19; who waits holds 14
    assert bound.batch == 10 * 60 + 6 * 85
    assert bound.queue == 14 * 6
    assert bound.batches == 100
    low, high = ends(bound.tail)
    ball = eta(10, HALF, 6).ball
    assert ball is not None
    assert low <= 14 * math.log(1000) / float(ball.mid()) <= high + 1e-12  # doubles' rounding
    assert high - low < 1e-12
    assert bound.capacity == math.ceil(1194 + high)
    assert bound.capacity - 1 < bound.upper <= bound.capacity


def test_a_capacity_is_whole_and_above_every_point_of_the_total():
    # A ball whose middle is 1194.9 and whose upper end is above 1195: the ends decide, not the
    # middle; exactly 1195 needs no more.
    made = MemoryBound(Fraction(1100), Fraction(94), arb(0.875, 0.25), 1, ())
    assert made.capacity == 1196
    assert MemoryBound(Fraction(1100), Fraction(94), arb(1), 1, ()).capacity == 1195


def test_the_lower_bound_on_eta_asks_for_more_memory():
    found = theorem_2_memory(TWO, (10, 6), 1, 100, Fraction(1, 10), eta_from="lower")
    assert found.tail > theorem_2_memory(TWO, (10, 6), 1, 100, Fraction(1, 10)).tail
    assert float(found.tail.mid()) == pytest.approx(14 * math.log(1000) / 0.8, rel=1e-14)


def test_batches_are_those_that_can_end_before_the_horizon():
    assert theorem_2_memory(TWO, (10, 6), Fraction(3), 100, HALF).batches == 33
    none = theorem_2_memory(TWO, (10, 6), Fraction(3), 2, HALF)
    assert none.batches == 0
    assert none.tail == 0


def test_without_a_boundary_there_is_no_tail():
    one = theorem_2_memory(Segments(10, (9,), (Fraction(1),)), (3,), 1, 100, HALF)
    assert (one.queue, one.etas) == (0, ())
    assert one.capacity == one.batch == 3 * 145


def test_a_queue_that_cannot_grow_adds_no_tail():
    bound = theorem_2_memory(TWO, (4, 4), 1, 100, HALF)
    assert bound.tail == 0
    assert bound.capacity == bound.batch + bound.queue


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"delta": 1}, "delta"),
        ({"delta": 0}, "delta"),
        ({"delta": 0.1}, "delta"),
        ({"horizon": 0}, "horizon"),
        ({"base": 0}, "base"),
        ({"thresholds": (10, 5)}, "thresholds"),
        ({"thresholds": (10, 6, 1)}, "thresholds"),
        ({"thresholds": (10, Fraction(11, 2))}, "thresholds"),
        ({"per_kv_token": 1}, "thresholds"),  # the first queue cannot be served
        ({"eta_from": "guess"}, "eta_from"),
        ({"thresholds": 10}, "thresholds"),
        ({"thresholds": None}, "thresholds"),
    ],
)
def test_what_the_theorem_assumes_is_asked_for(changed, named):
    given = {"thresholds": (10, 6), "base": 1, "horizon": 100, "delta": HALF} | changed
    with pytest.raises(InputError, match=f"^{named}: "):
        theorem_2_memory(TWO, **given)


def test_worst_case_of_constant_rates_is_themselves():
    assert worst_case_segments(10, (4, 9), [[1, 1]]) == TWO


def test_worst_case_takes_the_largest_rate_and_the_largest_share():
    # by day 3 + 1, by night 1 + 1: most arrivals by day, most go on by night
    found = worst_case_segments(10, (4, 9), [[3, 1], [1, 1]])
    assert found.rates == (4, 2)
    # 1 to 3 short and 1 to 2 long at any time: 5 in all, of which 2 of 3 may go on
    found = worst_case_segments(10, (4, 9), [[1, 1]], [[3, 2]])
    assert found.rates == (5, Fraction(10, 3))
    # a time without arrivals says nothing about shares
    assert worst_case_segments(10, (4, 9), [[0, 0], [1, 1]]) == TWO


@pytest.mark.parametrize(
    ("low", "high", "named"),
    [
        ([[1]], None, "low"),
        ([], None, "low"),
        ([[-1, 1]], None, "low"),
        ([[1, 0]], None, "high"),  # never reaches segment 2
        ([[2, 1]], [[1, 1]], "high"),
        ([[2, 1], [1, 1]], [[2, 1]], "high"),
        (None, None, "low"),
        ([1, 2], None, "low"),
        ([[1, 1]], [1, 2], "high"),
    ],
)
def test_worst_case_tables_are_checked(low, high, named):
    with pytest.raises(InputError, match=f"^{named}: "):
        worst_case_segments(10, (4, 9), low, high)


def test_shares_over_a_window_do_not_dominate():
    # Each unit of time: 49/10 long outputs a half, then as many short ones. In every window of one
    # unit the share is 1/2, so n_1 = 10 > 9.8 and p* = 1/2 would satisfy (15) with a batch of one
    # unit. But the first ten prompts are all long whenever ten come in the first half unit.
    mean = 4.9
    all_long = 1 - math.exp(-mean) * math.fsum(mean**k / math.factorial(k) for k in range(10))
    assert all_long > 25 * 0.5**10  # 0.028 instead of 0.001
    point_by_point = worst_case_segments(10, (4, 9), [[0, Fraction(49, 5)], [Fraction(49, 5), 0]])
    assert point_by_point.thinning == (1,)


def _one_type(slack: Fraction) -> tuple[WaitSystem, int]:
    """lambda = 1, l = 1, l' = 1, so c = 3; n = 6 with Delta T = d0 + 18 / 6 = 6 - slack."""
    return WaitSystem([PromptType(Fraction(1), 1, 1)], 3 - slack, Fraction(1, 6)), 6


def test_critical_gap_is_the_square_root_of_the_horizon():
    system, n = _one_type(Fraction(0))
    gap = theorem_1_gap(system, [n], 10_000)
    (only,) = gap.types
    assert only.slack == 0
    assert only.queue == pytest.approx(2 * 6 - 1 + 100, rel=1e-15)
    assert only.throughput_gap == pytest.approx((111 + 12) / 10_000, rel=1e-15)
    assert only.latency == pytest.approx(123, rel=1e-15)
    assert only.first_token == pytest.approx(123, rel=1e-15)  # l' = 1: the first is the last
    assert gap.throughput_gap >= only.throughput_gap


def test_slack_bounds_the_latency_for_all_time():
    system, n = _one_type(Fraction(1))
    near, far = (theorem_1_gap(system, [n], time).types[0] for time in (10**4, 10**8))
    assert near.slack == 1
    assert near.queue == far.queue == pytest.approx(11 + 5 / 2, rel=1e-15)  # 5 / (2 (6 - 5))
    assert near.latency == far.latency
    assert far.throughput_gap == pytest.approx(near.throughput_gap / 10**4, rel=1e-12)


def test_theorem_1_asks_for_thresholds_that_carry_the_load():
    system, n = _one_type(Fraction(0))
    with pytest.raises(InputError, match=r"^thresholds: "):
        theorem_1_gap(system, [n - 1], 100)
    with pytest.raises(InputError, match=r"^thresholds: "):
        theorem_1_gap(system, [Fraction(13, 2)], 100)  # type: ignore[list-item]
    with pytest.raises(InputError, match=r"^capacity: |^thresholds: "):
        theorem_1_gap(system, [n], 100, capacity=17)  # 18 needed
