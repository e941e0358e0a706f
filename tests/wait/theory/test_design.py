"""Sweeps over the number of segments: equal to the certified bound, no worse when improved."""

import math
from fractions import Fraction

import numpy as np
import pytest

from fluidkv.errors import InputError
from fluidkv.wait.model import PromptType, WaitSystem
from fluidkv.wait.theory import least_whole
from fluidkv.wait.theory.boundary_queue import eta
from fluidkv.wait.theory.bounds import theorem_2_memory
from fluidkv.wait.theory.design import SegmentProblem, segment_designs
from fluidkv.wait.theory.design_search import moved, tightened
from fluidkv.wait.theory.float_etas import inverse_etas
from fluidkv.wait.theory.fluid import fluid_equilibrium
from fluidkv.wait.theory.nested import integer_nested_thresholds

D1 = Fraction(1, 10**6)
DELTA = Fraction(1, 100)


def geometric(outputs: int, load: Fraction) -> WaitSystem:
    """Weights 0.99^k for outputs 1..outputs, 62 tokens in, d0 = 20 ms, d1 = 1 us a token."""
    weights = [int(10**4 * 0.99**k) for k in range(1, outputs + 1)]
    types = [PromptType(Fraction(w), 62, k) for k, w in enumerate(weights, start=1)]
    unscaled = WaitSystem(types, Fraction(1, 50), D1)
    return unscaled.scaled((load / unscaled.load).limit_denominator(10**9))


SYSTEM = geometric(60, Fraction(1, 2))


@pytest.fixture(scope="module")
def sweep():
    return segment_designs(SYSTEM, 1000, DELTA)


def test_designs_are_those_of_the_certified_functions(sweep):
    for design in sweep.designs:
        found = integer_nested_thresholds(design.segments, SYSTEM.base, D1)
        assert design.thresholds == found.thresholds
        bound = theorem_2_memory(
            design.segments, design.thresholds, SYSTEM.base, 1000, DELTA, per_kv_token=D1
        )
        assert (design.batch, design.queue) == (bound.batch, bound.queue)
        # Newton stops at 1e-12 of eta; the drift may have cost four digits before
        assert design.tail == pytest.approx(float(bound.tail.mid()), rel=1e-8)


def test_the_best_is_the_least(sweep):
    assert sweep.best.total == min(design.total for design in sweep.designs)
    assert [design.count for design in sweep.designs] == sorted({d.count for d in sweep.designs})


def test_every_number_of_segments_is_a_design_or_has_a_load_of_one(sweep):
    counts = {design.count for design in sweep.designs}
    assert counts | set(sweep.unserved) == set(range(1, 61))
    assert not counts & set(sweep.unserved)
    assert all(load >= 1 for load in sweep.unserved.values())
    assert all(design.load < 1 for design in sweep.designs)


def test_whole_prompts_fill_every_stage():
    # n_k >= 1 at each of the stages 0..60, whatever the load: far more than the fluid's memory.
    light = geometric(60, Fraction(1, 100))
    least = 61 * (62 + 30)
    designs = segment_designs(light, 1000, DELTA).designs
    assert min(design.batch for design in designs) == least
    assert fluid_equilibrium(light).memory < least / 20


def test_tightened_thresholds_still_satisfy_the_constraints_and_gain(sweep):
    problem = SegmentProblem(SYSTEM, 1000, DELTA)
    gained = 0
    for design in sweep.designs[::8]:
        better = tightened(problem, design)
        assert better.total <= design.total
        gained += better.total < design.total
        theorem_2_memory(
            better.segments, better.thresholds, SYSTEM.base, 1000, DELTA, per_kv_token=D1
        )
    assert gained


def test_what_was_spared_in_one_segment_may_be_given_back_for_another():
    # The search first spares one prompt in segment 1, then one in segment 2; that of segment 1
    # does harm from then on.
    types = [PromptType(Fraction(9), 200, 3), PromptType(Fraction(25), 200, 19)]
    unloaded = WaitSystem(types, 1, 0)
    system = WaitSystem(types, 1, Fraction(2, 5) / unloaded.token_rate)
    problem = SegmentProblem(system, 1000, DELTA)
    spared = {extra: problem.design((3, 19), extra) for extra in ((0, 0), (1, 0), (1, 1), (0, 1))}
    totals = [design.total for design in spared.values() if design is not None]
    assert totals == sorted(totals, reverse=True)
    least = spared[0, 0]
    assert least is not None
    assert tightened(problem, least) == spared[0, 1]


def test_moved_ends_keep_their_number_and_gain(sweep):
    problem = SegmentProblem(SYSTEM, 1000, DELTA)
    start = next(design for design in sweep.designs if design.count == 6)
    better = moved(problem, start)
    assert better.count == 6
    assert better.segments.ends[-1] == 60
    assert better.total < start.total


def test_cuts_by_width_and_by_share():
    types = [PromptType(Fraction(weight), 5, k) for k, weight in ((2, 8), (3, 1), (9, 1), (10, 2))]
    problem = SegmentProblem(WaitSystem(types, 1, Fraction(0)), 10, DELTA)
    assert problem.ends(1) == problem.ends(1, "share") == (10,)
    assert problem.ends(2) == (3, 10)  # 5 goes back to 3
    assert problem.ends(2, "share") == (2, 10)
    assert problem.ends(4) == (2, 3, 10)  # 2.5, 5, 7.5: two of them agree
    with pytest.raises(InputError, match=r"^counts: "):
        problem.ends(5)
    with pytest.raises(InputError, match=r"^cut: "):
        problem.ends(2, "depth")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("horizon", "delta", "named"),
    [(Fraction(1, 100), DELTA, "horizon"), (10, Fraction(1), "delta"), (10, 0, "delta")],
)
def test_problems_out_of_range_are_refused(horizon, delta, named):
    with pytest.raises(InputError, match=f"^{named}: "):
        SegmentProblem(SYSTEM, horizon, delta)


TWO = SegmentProblem(
    WaitSystem([PromptType(Fraction(1), 5, 2), PromptType(Fraction(1), 5, 5)], 1, Fraction(0)),
    10,
    DELTA,
)


@pytest.mark.parametrize(
    ("ends", "message"),
    [
        ((2,), "ends: got [2]; allowed: the longest output, 5, as the last"),
        ((), "ends: got []; allowed: the longest output, 5, as the last"),
        ((3,), "ends: got 3; allowed: output lengths of the types"),
        ((5, 2), "ends: got [5, 2]; allowed: increasing output lengths"),
        ((5, 5), "ends: got [5, 5]; allowed: increasing output lengths"),
        ((2.0, 5), "ends: got 2.0; allowed: an integer of at least 1"),
        (5, "ends: got 5; allowed: a sequence: output lengths"),
    ],
)
def test_ends_are_outputs_and_the_last_is_the_longest(ends, message):
    for call in (TWO.design, TWO.segments):
        with pytest.raises(InputError) as caught:
            call(ends)
        assert str(caught.value) == message


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        ((-3, 0), "extra: got -3; allowed: an integer of at least 0"),
        ((0,), "extra: got '1 of them'; allowed: 2, one a segment"),
        ((), "extra: got '0 of them'; allowed: 2, one a segment"),
        (0, "extra: got 0; allowed: a sequence: one a segment"),
    ],
)
def test_extra_is_one_whole_number_a_segment(extra, message):
    with pytest.raises(InputError) as caught:
        TWO.design((2, 5), extra)
    assert str(caught.value) == message


def test_batches_that_do_not_end_before_the_horizon_do_not_count():
    # two segments, one boundary: ln(N / delta) with N = floor(999 / 7) = 142
    system = WaitSystem(SYSTEM.types, 7, 0)
    found = SegmentProblem(system, 999, DELTA).log_events
    assert found == pytest.approx(math.log(14200), rel=1e-15)
    assert found < math.log(999 / 7 * 100)


def test_a_chance_may_be_below_every_float():
    found = SegmentProblem(SYSTEM, 1000, Fraction(1, 10**400)).log_events
    # 1e-12: a few roundings of 921
    assert found == pytest.approx(math.log(50_000) + 400 * math.log(10), abs=1e-12)


def test_rates_beyond_floats_are_refused():
    system = WaitSystem([PromptType(10**400, 5, 2)], 1, 0)
    with pytest.raises(InputError, match=r"^tokens: got '\d\.?\d*e\+40\d'"):
        SegmentProblem(system, 10, DELTA).design((2,))


def test_the_tail_of_queues_beyond_floats_is_that_of_the_balls():
    # n is some 1e17: 1 - p = 1e-17 is no longer seen in p
    types = [PromptType(1, 5, 2), PromptType(10**17, 5, 5)]
    problem = SegmentProblem(WaitSystem(types, 1, 0), 10, DELTA)
    design = problem.design((2, 5))
    assert design is not None
    bound = theorem_2_memory(design.segments, design.thresholds, 1, 10, DELTA)
    assert design.tail == pytest.approx(float(bound.tail.mid()), rel=1e-12)


def test_inputs_that_differ_are_refused():
    types = [PromptType(Fraction(1), 5, 2), PromptType(Fraction(1), 6, 2)]
    with pytest.raises(InputError, match=r"^input_length: "):
        segment_designs(WaitSystem(types, 1, Fraction(0)), 10, DELTA)


def test_no_design_at_all_is_said():
    heavy = geometric(60, Fraction(9, 10))
    sweep = segment_designs(heavy, 1000, DELTA, counts=[1])
    assert sweep.designs == ()
    assert set(sweep.unserved) == {1}
    assert sweep.not_found == {}
    with pytest.raises(InputError, match=r"^counts: got \[1\]; allowed: a load below 1, not 2\.1"):
        _ = sweep.best


def test_a_load_of_exactly_one_is_unserved():
    # S = 5 + 6 + 7 for both types, each at rate 1: d1 18 x 2 = 1
    types = [PromptType(Fraction(1), 5, 1), PromptType(Fraction(1), 5, 2)]
    system = WaitSystem(types, 1, Fraction(1, 36))
    sweep = segment_designs(system, 10, DELTA)
    assert sweep.unserved == {1: 1}
    assert [design.count for design in sweep.designs] == [2]


def test_thresholds_that_were_not_found_are_told_from_those_that_do_not_exist(monkeypatch):
    monkeypatch.setattr(least_whole, "MOST_WORK", 1)
    types = [PromptType(Fraction(k, 7), 5, k) for k in range(1, 6)]
    unloaded = WaitSystem(types, 1, 0)
    system = WaitSystem(types, 1, (1 - Fraction(1, 10**6)) / unloaded.token_rate)
    sweep = segment_designs(system, 1000, DELTA, counts=[1, 5])
    assert set(sweep.unserved) == {1}
    assert sweep.not_found == {5: 1 - Fraction(1, 10**6)}
    with pytest.raises(InputError) as caught:
        _ = sweep.best
    assert str(caught.value) == (
        "counts: got [1, 5]; allowed: a lower load: least thresholds not found at 1 - 1e-06"
    )


@pytest.mark.parametrize("counts", [[], 3, [0], [61]])
def test_counts_are_numbers_of_segments(counts):
    with pytest.raises(InputError, match=r"^counts: "):
        segment_designs(SYSTEM, 1000, DELTA, counts=counts)


def test_float_etas_agree_with_the_balls():
    queues = [
        (10, Fraction(1, 2), 6),
        (1000, Fraction(1, 2) - Fraction(1, 10**7), 500),  # a drift of 1e-4
        (100, Fraction(1, 10**6), 1),
        (50, Fraction(97, 100), 49),
        (400, Fraction(1, 1000), 399),  # eta beyond 700, where e^eta overflows
        (3, Fraction(1, 2), 3),
        (10**15 + 1, 1 - Fraction(2, 10**15), 10**15),  # p is 1 but for ten roundings
        (2**53, 1 - Fraction(3, 2**54), 2**53 - 1),  # p is 1 but for one and a half
        (2**53, Fraction(1, 2), 2**52 + 1),
    ]
    n_prev, p, n = (np.array(column, dtype=float) for column in zip(*queues, strict=True))
    q, drift = (
        np.array([float(value) for value in values])
        for values in ([1 - b for _, b, _ in queues], [c - b * a for a, b, c in queues])
    )
    found = inverse_etas(n_prev, p, q, n, drift)
    expected = [float(eta(*queue).reciprocal.mid()) for queue in queues]
    np.testing.assert_allclose(found, expected, rtol=1e-9)  # the series ends at 1e-9


@pytest.mark.thorough
def test_five_hundred_outputs_are_swept_in_seconds():
    sweep = segment_designs(geometric(500, Fraction(1, 2)), 1000, DELTA)
    assert len(sweep.designs) + len(sweep.unserved) == 500
    assert 1 < sweep.best.count < 50
