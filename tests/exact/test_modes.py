"""Growing modes: complete by certificate, against mpmath, and what they do not depend on."""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, islice

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fluidkv.exact import modes
from fluidkv.exact.mass import iterates
from fluidkv.exact.modes import MOST_MODES, ModesStatus, growing_modes
from fluidkv.exact.roots.polynomial import characteristic_polynomial
from fluidkv.exact.roots.spectrum import certify_spectrum
from fluidkv.exact.survival import SurvivalWeights, survival_weights
from fluidkv.traces import read_trace
from fluidkv.workload import RequestClass, System, Workload
from tests.strategies import systems_with_states, workloads


def mix(*classes: tuple[int, int, int]) -> Workload:
    """Classes (input, output, parts of the whole)."""
    whole = sum(parts for _, _, parts in classes)
    return Workload(tuple(RequestClass(i, d, Fraction(p, whole)) for i, d, p in classes))


def weights_of(*memory: int) -> SurvivalWeights:
    """F = memory[0] z^(d-1) + ... + memory[d-1]; alpha plays no part here."""
    return SurvivalWeights(memory, (1,) * len(memory), 1)


@given(workloads(max_classes=3, decode_lengths=st.integers(2, 12)))
def test_modes_are_the_roots_that_mpmath_finds_outside(workload):
    weights = survival_weights(workload)
    found = growing_modes(weights)
    # More digits and no common factor: polyroots takes its time only over multiple roots.
    with mpmath.workdps(50):
        roots = mpmath.polyroots(
            [mpmath.mpf(v) for v in weights.memory], maxsteps=500, extraprec=600
        )
        # Roots of 12 small lengths do not come within 1e-15 of the circle unless they are on it.
        outside = [complex(z) for z in roots if abs(z) > 1 + mpmath.mpf(10) ** -15]
    assert found.complete
    assert found.count == found.enclosed == len(outside)
    for mode in found.modes:
        middle = complex(mode.root.ball.mid())
        at = [z for z in outside if min(abs(z - middle), abs(z.conjugate() - middle)) < 1e-12]
        assert len(at) == mode.multiplicity
        assert mode.modulus[0] <= abs(at[0]) * (1 + 1e-12)
        assert mode.modulus[1] >= abs(at[0]) * (1 - 1e-12)
        assert mode.period == pytest.approx(2 * math.pi / abs(np.angle(at[0])), rel=1e-9)
        # log |z| of a double is off by 1e-16 / (|z| - 1)
        error = 1e-14 / (abs(at[0]) - 1)
        assert mode.folding_time == pytest.approx(1 / math.log(abs(at[0])), rel=1e-9 + error)


@given(workloads(max_classes=4, decode_lengths=st.integers(2, 50)))
def test_the_search_finds_what_all_roots_in_balls_are(workload):
    """The route for high degrees against the one for low degrees, on the same polynomial."""
    weights = survival_weights(workload)
    certificate, polynomial = certify_spectrum(weights), characteristic_polynomial(weights)
    assert certificate.outside is not None
    if certificate.outside == 0:
        assert growing_modes(weights).modes == ()
        return
    exact = modes._all_exactly(polynomial, certificate.outside)
    searched = modes._search(polynomial, replace(certificate, leading=()))
    assert sum(root.count for root in exact) == certificate.outside
    assert sum(root.count for root in searched) == certificate.outside
    for root in searched:
        assert sum(root.ball.overlaps(other.ball) for other in exact) == 1


HARD = {
    "a root far from every circle of the search": mix((1, 150, 2), (1, 18, 3)),
    "the same among six lengths": mix(
        (3, 150, 4), (3, 13, 9), (3, 8, 9), (3, 18, 3), (3, 22, 4), (3, 86, 9)
    ),
    "one more that only division finds": mix(
        (4, 400, 1), (4, 101, 4), (4, 56, 8), (4, 268, 1), (4, 23, 8)
    ),
    "few modes among a thousand": mix(
        (267, 1000, 3), (2802, 490, 1), (1062, 88, 8), (421, 57, 8), (4289, 217, 2)
    ),
    "tiers with a common divisor": mix((512, 128, 1), (512, 256, 1), (512, 512, 1)),
    "coprime tiers": mix((512, 127, 1), (512, 255, 1), (512, 509, 1)),
    "degree 2,000": mix((10**6, 1500, 1), (10**6, 2001, 1)),
    "all alike": mix((20, 200, 1)),
}


@pytest.mark.parametrize("workload", HARD.values(), ids=HARD.keys())
def test_all_growing_modes_of_hard_cases_are_enclosed(workload):
    weights = survival_weights(workload)
    found = growing_modes(weights)
    assert found.complete
    assert found.enclosed == found.count == certify_spectrum(weights).outside
    for mode in found.modes:
        assert mode.root.modulus > 1
    for one, other in combinations(found.modes, 2):
        assert not one.root.ball.overlaps(other.root.ball)
    folding = [mode.folding_time for mode in found.modes]
    assert folding == sorted(folding)


@pytest.mark.thorough
@given(st.data())
def test_random_mixes_are_enclosed_completely(data):
    count = data.draw(st.integers(1, 6))
    longest = data.draw(st.sampled_from([80, 150, 400]))
    lengths = [longest, *(data.draw(st.integers(1, longest)) for _ in range(count - 1))]
    inputs = st.integers(1, data.draw(st.sampled_from([10, 300, 5000])))
    workload = mix(*((data.draw(inputs), n, data.draw(st.integers(1, 9))) for n in lengths))
    found = growing_modes(survival_weights(workload))
    assert found.count is not None
    assert found.complete or found.count > MOST_MODES


def test_a_multiple_root_counts_as_often_as_it_is_one():
    found = growing_modes(weights_of(1, 4, 4))  # (z + 2)^2
    assert (found.count, found.enclosed, len(found.modes)) == (2, 2, 1)
    (mode,) = found.modes
    assert (mode.multiplicity, mode.period) == (2, pytest.approx(2, rel=1e-15))
    assert mode.modulus[0] < 2 < mode.modulus[1]
    assert mode.folding_time == pytest.approx(1 / math.log(2), rel=1e-15)


def test_a_mode_on_the_circle_is_not_among_the_growing():
    found = growing_modes(weights_of(1, 3, 2))  # (z + 1)(z + 2)
    assert (found.count, len(found.modes)) == (1, 1)
    assert found.modes[0].root.ball.contains(-2)


@pytest.mark.parametrize("digits", [20, 60, 300])
def test_a_mode_next_to_the_circle_keeps_its_digits(digits):
    """log(1 + x) = x (1 - x/2 + ...)"""
    found = growing_modes(weights_of(10**digits, 10**digits + 1))
    assert found.complete
    assert found.modes[0].folding_time == pytest.approx(float(10**digits), rel=1e-12)


def test_more_modes_than_are_enclosed_are_called_that():
    found = growing_modes(survival_weights(mix((20, 1000, 1))))
    assert (found.count, found.status) == (999, ModesStatus.TOO_MANY)
    assert not found.complete
    assert 0 < found.enclosed < 999
    assert all(mode.root.modulus > 1 for mode in found.modes)


def test_a_root_that_is_missed_is_not_passed_over(monkeypatch):
    """Without the search only the leading modes are there, and the count says so."""
    weights = survival_weights(HARD["coprime tiers"])
    monkeypatch.setattr(modes, "estimate_roots", lambda *_, **__: [])
    monkeypatch.setattr(modes, "estimate_others", lambda *_, **__: [])
    found = growing_modes(weights)
    assert (found.count, found.enclosed) == (124, 2)
    assert found.status is ModesStatus.NOT_ISOLATED


def test_an_undecided_count_leaves_the_modes_that_are_proved():
    weights = survival_weights(HARD["coprime tiers"])
    certificate = replace(certify_spectrum(weights), outside=None, on_circle=None)
    found = growing_modes(weights, certificate)
    assert (found.count, found.status) == (None, ModesStatus.UNDECIDED)
    assert 0 < found.enclosed <= 124


def test_more_roots_than_certified_is_an_error():
    weights = survival_weights(HARD["coprime tiers"])
    with pytest.raises(ArithmeticError, match="1 certified"):
        growing_modes(weights, replace(certify_spectrum(weights), outside=1))


@given(systems_with_states(), st.builds(Fraction, st.integers(1, 30), st.integers(1, 30)))
def test_capacity_scales_every_trajectory_and_changes_no_ratio(system_and_state, factor):
    """Evictions included: so no capacity turns a growing swing into one that fades.

    The exact model, at two capacities from starts in the same proportions, for ten iterations.
    """
    system, state = system_and_state
    top = system.workload.largest_footprint
    larger = System(system.workload, system.capacity * (1 + factor))
    assert larger.capacity > top
    scaled = [[x * (1 + factor) for x in row] for row in state]
    small, large = (islice(iterates(s, x), 10) for s, x in ((system, state), (larger, scaled)))
    for before, after in zip(small, large, strict=True):
        assert after == [[x * (1 + factor) for x in row] for row in before]


def test_growing_modes_of_the_measured_log(traces_dir):
    trace = read_trace(traces_dir / "vllm_rtx4090_llama31_8b").trace
    found = growing_modes(survival_weights(trace.workload()))
    assert (found.count, found.complete, len(found.modes)) == (2, True, 1)
    # From the certificate of the same trace, in tests/exact/test_stability.py.
    assert round(found.modes[0].period, 1) == 657.8
    assert found.modes[0].folding_time == pytest.approx(1 / math.log(1.0001226009), rel=1e-5)
