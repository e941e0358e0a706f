"""Sweeps over the number of segments: equal to the certified bound, no worse when improved."""

from fractions import Fraction

import numpy as np
import pytest

from fluidkv.errors import InputError
from fluidkv.wait.model import PromptType, WaitSystem
from fluidkv.wait.theory.boundary_queue import eta
from fluidkv.wait.theory.bounds import theorem_2_memory
from fluidkv.wait.theory.design import (
    SegmentProblem,
    moved,
    segment_designs,
    tightened,
)
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


def test_inputs_that_differ_are_refused():
    types = [PromptType(Fraction(1), 5, 2), PromptType(Fraction(1), 6, 2)]
    with pytest.raises(InputError, match=r"^input_length: "):
        segment_designs(WaitSystem(types, 1, Fraction(0)), 10, DELTA)


def test_no_design_at_all_is_said():
    heavy = geometric(60, Fraction(9, 10))
    sweep = segment_designs(heavy, 1000, DELTA, counts=[1])
    assert sweep.designs == ()
    with pytest.raises(InputError, match=r"^counts: "):
        _ = sweep.best


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
