"""Stability verdicts: closed forms, a second method, and recorded values with their origin."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from flint import acb, fmpz_poly
from hypothesis import example, given
from hypothesis import strategies as st

from fluidkv import exact
from fluidkv.errors import InputError
from fluidkv.exact import linear_stability as module
from fluidkv.exact.linear_stability import (
    exact_factor,
    input_scale_bracket,
    rounded_outward,
    stability,
)
from fluidkv.exact.roots import spectrum
from fluidkv.exact.roots.enclosures import RootEnclosure
from fluidkv.exact.roots.spectrum import certify_spectrum, count_unstable
from fluidkv.exact.roots.winding import WindingCertificate
from fluidkv.exact.survival import SurvivalWeights, survival_weights
from fluidkv.traces import read_trace
from fluidkv.verdict import Evidence, Stability
from fluidkv.workload import RequestClass, System, Workload
from tests.small_systems import one_class
from tests.strategies import workloads

HALF = Fraction(1, 2)
COVERING = spectrum.Series([1]).grid()  # of a constant, which any circle passes


def two_classes(input_length: int, first: int, second: int) -> Workload:
    return Workload(
        (RequestClass(input_length, first, HALF), RequestClass(input_length, second, HALF))
    )


@given(st.integers(1, 40), st.integers(2, 30))
def test_every_mode_of_a_homogeneous_system_grows(input_length, decode_length):
    """V increases with age, so by Enestrom and Kakeya all d-1 roots lie outside the circle."""
    system = one_class(input_length, decode_length, 10**4)
    result = stability(system)
    assert result.verdict is Stability.UNSTABLE
    assert result.unstable_modes == decode_length - 1
    low, high = result.spectral_radius
    assert high >= low > 1
    assert high <= (input_length + 2) / (input_length + 1) * (1 + 1e-12)


def test_one_iteration_requests_have_no_modes():
    result = stability(one_class(5, 1, 100))
    assert result.verdict is Stability.STABLE
    assert result.leading_period is None
    assert result.spectral_radius == (0.0, 0.0)


def test_coprime_pair_of_example_4_is_stable():
    # F = 103 z^2/2 ... : |z|^2 = V_2 / V_0 for a complex pair of a quadratic
    workload = two_classes(50, 2, 3)
    result = stability(System(workload, 518))
    assert result.verdict is Stability.STABLE
    assert result.evidence is Evidence.EXACT
    assert result.equilibrium.rate == 4
    weights = survival_weights(workload)
    modulus = math.sqrt(weights.memory[2] / weights.memory[0])
    assert result.spectral_radius == pytest.approx((modulus, modulus), rel=1e-15)
    low, high = result.spectral_radius
    squared = Fraction(weights.memory[2], weights.memory[0])
    assert Fraction(low) ** 2 < squared < Fraction(high) ** 2  # irrational: strictly between


def test_common_divisor_of_example_5_makes_one_mode_grow_with_period_two():
    result = stability(System(two_classes(50, 2, 4), 626))
    assert result.verdict is Stability.UNSTABLE
    assert (result.unstable_modes, result.decode_gcd) == (1, 2)
    assert result.leading_period == pytest.approx(2, rel=1e-15)


def test_a_root_exactly_on_the_circle_is_found_and_called_neutral():
    # V = (2, 2): F = 2z + 2
    workload = Workload((RequestClass(1, 1, Fraction(1, 3)), RequestClass(1, 2, Fraction(2, 3))))
    result = stability(System(workload, 10))
    assert result.verdict is Stability.UNDECIDED
    assert result.evidence is Evidence.EXACT
    assert (result.unstable_modes, result.neutral_modes) == (0, 1)
    assert result.spectral_radius == (1.0, 1.0)
    assert "neither grow nor decay" in result.reason


@pytest.mark.parametrize("digits", [6, 18, 40])
def test_a_neutral_pair_next_to_minus_one_is_neutral_not_growing(digits):
    # F is a multiple of z^2 + (2 - 10^-digits) z + 1, whose roots are a pair on the circle
    middle = 2 - Fraction(1, 10**digits)
    memory = [Fraction(2), Fraction(3)] + 4 * [Fraction(4, 3)]
    rest = [*memory, Fraction(0), Fraction(0)]
    for i in range(6):  # what the division leaves decides the last two weights
        rest[i + 1] -= middle * rest[i]
        rest[i + 2] -= rest[i]
    memory += [-rest[6], -rest[7]]
    alive = [v / (2 + s) for s, v in enumerate(memory)] + [Fraction(0)]  # all inputs of length 1
    workload = Workload(
        tuple(
            RequestClass(1, s + 1, alive[s] - alive[s + 1])
            for s in range(8)
            if alive[s] > alive[s + 1]
        )
    )
    result = stability(System(workload, 10**4))
    assert result.verdict is Stability.UNDECIDED
    assert (result.unstable_modes, result.neutral_modes) == (0, 2)


def test_shares_beyond_double_range_are_no_obstacle():
    rare = Fraction(1, 10**400)
    workload = Workload((RequestClass(1, 2, 1 - rare), RequestClass(1, 100, rare)))
    result = stability(System(workload, 10**4))
    # but for the rare class F would be z^98 (2z + 3)
    assert result.unstable_modes == 1
    low, high = result.spectral_radius
    assert low < 1.5 < high
    assert high - low < 1e-8


@given(workloads(max_classes=4, decode_lengths=st.integers(1, 40)))
@example(  # three roots, of which the search meets one
    Workload((RequestClass(1, 4, Fraction(1, 5)), RequestClass(1, 3, Fraction(4, 5))))
)
def test_both_routes_agree(workload):
    """Integers and balls against winding numbers, on the same polynomial."""
    weights = survival_weights(workload)
    polynomial = spectrum.characteristic_polynomial(weights)
    if polynomial.degree() == 0:
        return
    small, large = spectrum._small(polynomial), spectrum._large(polynomial)
    assert (small.outside, small.on_circle) == (large.outside, large.on_circle)
    assert small.radius[0] <= large.radius[1]
    assert large.radius[0] <= small.radius[1]
    assert large.radius[1] - large.radius[0] < 1e-9


@given(workloads(max_classes=3, decode_lengths=st.integers(2, 12)))
def test_spectral_radius_agrees_with_mpmath(workload):
    weights = survival_weights(workload)
    certificate = certify_spectrum(weights)
    if certificate.degree == 0:
        return
    with mpmath.workdps(40):
        roots = mpmath.polyroots(
            [mpmath.mpf(v) for v in weights.memory], maxsteps=500, extraprec=400
        )
        radius = max(abs(z) for z in roots)
        # polyroots promises about the working precision; 1e-12 is far above its error
        assert certificate.radius[0] - 1e-12 <= radius <= certificate.radius[1] + 1e-12


@pytest.mark.daily(2)
@pytest.mark.parametrize(
    ("classes", "degree"),
    [
        # a minute of NumPy where processes share two cores; degree 511 says the same
        pytest.param([(1, 1000, 1)], 999, marks=pytest.mark.thorough),
        ([(20, 100, 1)], 99),
        ([(10, 500, HALF), (10, 501, HALF)], 500),
        ([(1000, 100, HALF), (1000, 150, HALF)], 149),
        ([(128, 2**k, Fraction(1, 3)) for k in (7, 8, 9)], 511),
        ([(5000, 3, HALF), (5000, 400, HALF)], 399),
    ],
)
def test_high_degree_against_companion_eigenvalues(classes, degree):
    workload = Workload(tuple(RequestClass(i, d, Fraction(p)) for i, d, p in classes))
    weights = survival_weights(workload)
    certificate = certify_spectrum(weights)
    moduli = np.abs(np.roots(np.array([float(v) for v in weights.memory])))
    assert certificate.degree == degree
    assert certificate.outside == int((moduli > 1).sum())
    low, high = certificate.radius
    assert high - low < 1e-9
    # eigenvalues of a companion matrix are good to about 1e-12 here
    assert low - 1e-10 < moduli.max() < high + 1e-10
    assert certificate.leading, "the leading roots were isolated"
    assert certificate.gap_circle is not None


@pytest.mark.parametrize("power", [1, 25])  # degree 4 by integers, 100 by a winding number
def test_a_root_and_its_inverse_off_the_circle_are_counted_on_either_side(power):
    # (z + 2)(2z + 1)(z + 1)(z + 3) in z^power: -2 and -1/2 go to the reciprocal part
    factors = ([2, 1], [1, 2], [1, 1], [3, 1])
    polynomial = math.prod((fmpz_poly(f) for f in factors), start=fmpz_poly([1]))
    spread = fmpz_poly([c for v in polynomial.coeffs() for c in (v, *[0] * (power - 1))])
    count = spectrum._count(spread)
    assert (count.outside, count.on_circle) == (2 * power, power)


@pytest.mark.parametrize(
    ("roots", "estimates"),
    [
        ([2, 3, Fraction(1, 2)], [-2, -0.5]),  # -3 is missing
        ([3, Fraction(1, 2)], [-0.508, -0.504]),  # circle at 0.506, the root found at 0.5
    ],
)
def test_leading_roots_are_not_claimed_from_estimates_that_miss_one(roots, estimates):
    factors = (fmpz_poly([Fraction(r).numerator, Fraction(r).denominator]) for r in roots)
    polynomial = math.prod(factors, start=fmpz_poly([1]))
    descending = spectrum._descending(polynomial)
    assert spectrum._isolate(polynomial, descending, [complex(z) for z in estimates]) is None


def test_leading_roots_are_all_that_lie_beyond_the_gap_circle():
    certificate = certify_spectrum(survival_weights(two_classes(5000, 3, 400)))
    gap = certificate.gap_circle
    assert gap is not None
    assert float(gap.radius) < certificate.radius[0]
    assert gap.outside >= sum(root.count for root in certificate.leading)


def test_measured_log_has_one_growing_pair(traces_dir):
    """Issue numbers for the vLLM log: all 300 requests, 41,408 KV tokens."""
    trace = read_trace(traces_dir / "vllm_rtx4090_llama31_8b").trace
    result = stability(System(trace.workload(), 41408))
    assert result.verdict is Stability.UNSTABLE
    assert result.unstable_modes == 2
    assert round(float(result.equilibrium.in_flight), 2) == 34.39
    assert round(float(result.equilibrium.rate), 6) == 0.052703
    low, high = result.spectral_radius
    assert high - low < 1e-9
    assert round(low, 7) == round(high, 7) == 1.0001226
    assert result.leading_period is not None
    assert round(result.leading_period, 1) == 657.8


@pytest.mark.parametrize("name", ["azure_llm_2023_code.csv", "azure_llm_2023_conv.csv"])
def test_azure_traces_are_stable_under_their_own_lengths(traces_dir, name):
    trace = read_trace(traces_dir / name).trace
    certificate = certify_spectrum(survival_weights(trace.workload()))
    assert (certificate.outside, certificate.on_circle) == (0, 0)
    assert certificate.radius[1] - certificate.radius[0] < 1e-9


def test_capacity_does_not_change_the_spectrum():
    workload = two_classes(50, 2, 5)
    small, large = (stability(System(workload, m)) for m in (100, 10**6))
    assert small.spectral_radius == large.spectral_radius
    assert large.equilibrium.rate == 10**4 * small.equilibrium.rate


def test_what_is_no_system_gets_one_line():
    workload = two_classes(50, 2, 5)
    with pytest.raises(InputError, match=r"^system: got Workload.*allowed: a System"):
        exact.stability(workload)  # pyright: ignore[reportArgumentType]
    with pytest.raises(InputError, match=r"^workload: got System.*allowed: a Workload"):
        exact.input_scale_bracket(System(workload, 100))  # pyright: ignore[reportArgumentType]


def test_input_scale_bracket_is_certified_on_both_sides():
    workload = two_classes(2, 2, 7)  # unstable at l0 = 17, stable at 18, both exactly
    bracket = input_scale_bracket(workload)
    assert bracket.stable is not None
    assert bracket.unstable is not None
    assert 1 < bracket.stable / bracket.unstable <= 1 + Fraction(1, 64)
    assert stability(System(workload.scale_inputs(bracket.stable), 10**4)).verdict == "stable"
    assert Fraction(17, 2) < bracket.stable <= Fraction(18, 2)


@pytest.mark.parametrize(
    ("workload", "reach"),
    [
        (two_classes(1, 2, 7), 12),  # unstable; stable from 18 times these inputs on
        (two_classes(400, 2, 7), 12),  # stable; unstable below 18 / 400
        (two_classes(400, 2, 7), 3),  # stable at all that is looked at
        (two_classes(1, 4, 6), 9),  # unstable at all inputs
        (two_classes(9, 2, 7), 1),
    ],
)
def test_leaps_find_what_steps_find_in_fewer_counts(workload, reach, monkeypatch):
    found, counts = [], []
    certify = module._is_stable
    for high in (4096, 0):
        counted = []
        monkeypatch.setattr(module, "HIGH_DEGREE", high)
        monkeypatch.setattr(
            module, "_is_stable", lambda w, f, seen=counted: seen.append(f) or certify(w, f)
        )
        found.append(input_scale_bracket(workload, reach=reach))
        counts.append(len(counted))
    assert found[0] == found[1]
    assert counts[1] <= 2 + math.ceil(math.log2(reach + 1)) + 6  # 6 halvings reach 1/64


def test_smallest_stable_input_length_of_the_pair_2_7_is_18():
    verdicts = [stability(System(two_classes(l0, 2, 7), 10**4)) for l0 in (17, 18)]
    assert [v.verdict for v in verdicts] == [Stability.UNSTABLE, Stability.STABLE]
    assert all(v.evidence is Evidence.EXACT for v in verdicts)


def test_input_scale_reports_no_stable_factor_for_one_class():
    bracket = input_scale_bracket(Workload((RequestClass(10, 8),)), reach=6)
    assert bracket.stable is None
    assert bracket.unstable == 2**6


@given(
    st.fractions(min_value=0, max_value=10**12).filter(bool)
    | st.floats(min_value=1e-300, max_value=1e300).map(Fraction),
    st.integers(1, 8),
    st.booleans(),
)
@example(Fraction(99999, 10000), 4, True)
@example(Fraction(99999, 10), 4, True)
@example(Fraction(1, 8), 2, True)
def test_a_rounded_factor_is_on_its_side_and_near(value, digits, up):
    """Within one unit of the last digit shown, with at least the digits asked, or exact."""
    text = rounded_outward(value, digits, up=up)
    shown = Fraction(text.replace(",", ""))
    assert shown >= value if up else shown <= value
    decimals = text.partition(".")[2]
    assert abs(shown - value) < Fraction(1, 10 ** len(decimals))
    significant = text.replace(",", "").replace(".", "").lstrip("0")
    assert shown == value or len(significant) >= digits


@pytest.mark.parametrize(
    ("value", "digits", "down", "up"),
    [
        ("1/8", 2, "0.12", "0.13"),
        ("1/8", 4, "0.125", "0.125"),
        ("4", 4, "4", "4"),
        ("65001/1000", 4, "65.00", "65.01"),
        ("123456789/10", 4, "12,345,678", "12,345,679"),
        ("99999/10000", 4, "9.999", "10.000"),
    ],
)
def test_rounded_factors(value, digits, down, up):
    found = Fraction(value)
    ends = rounded_outward(found, digits, up=False), rounded_outward(found, digits, up=True)
    assert ends == (down, up)


def test_only_positive_factors_are_rounded():
    with pytest.raises(InputError, match=r"^value: got '0'"):
        rounded_outward(Fraction(0), 3, up=True)


def test_exact_factors():
    factors = [Fraction(1, 4096), Fraction(2**36), Fraction(1)]
    assert [exact_factor(f) for f in factors] == ["1/4,096", "68,719,476,736", "1"]


def test_folding_time_is_the_time_of_a_factor_e():
    result = stability(System(two_classes(50, 2, 4), 626))
    low, high = result.spectral_radius
    assert result.folding_time is not None
    assert low**result.folding_time <= math.e <= high ** (result.folding_time * (1 + 1e-12))


@pytest.mark.parametrize(
    ("workload", "outside", "verdict"),
    [
        (two_classes(1000, 100, 150), 49, Stability.UNSTABLE),
        (two_classes(50_000, 3, 100), 0, Stability.STABLE),
    ],
)
def test_enclosures_decide_where_the_unit_circle_does_not_close(
    workload, outside, verdict, monkeypatch
):
    """The leading roots hold every root that could lie outside; the count follows from them."""
    monkeypatch.setattr(spectrum, "count_outside", lambda *_: None)
    result = stability(System(workload, 10**6))
    assert (result.verdict, result.unstable_modes) == (verdict, outside)


@pytest.mark.parametrize(
    ("radius", "outside"), [(Fraction(1), 1), (Fraction(9, 10), 1), (Fraction(11, 10), None)]
)
def test_enclosures_beyond_a_wider_circle_leave_the_unit_circle_open(radius, outside):
    """Roots between the circles would be missed."""
    beyond = WindingCertificate(radius, 1, COVERING)
    count = spectrum._count_enclosed((RootEnclosure(acb(2), 1),), beyond)
    assert (count.outside, count.on_circle) == (outside, None if outside is None else 0)


def test_a_radius_above_one_is_unstable_without_a_count(monkeypatch):
    undecided = spectrum.UnitCircleCount(None, None, Evidence.BALL, None)
    monkeypatch.setattr(spectrum, "_count", lambda *_: undecided)
    monkeypatch.setattr(spectrum, "_count_enclosed", lambda *_: undecided)
    result = stability(System(two_classes(1000, 100, 150), 10**6))
    assert (result.verdict, result.unstable_modes) == (Stability.UNSTABLE, None)
    assert result.reason == "at least one of 149 modes grows"


@given(st.integers(1, 30), st.integers(62, 90))
def test_weights_in_order_decide_at_high_degree(input_length, decode_length):
    """Enestrom and Kakeya against the winding number."""
    weights = survival_weights(Workload((RequestClass(input_length, decode_length),)))
    for memory in (weights.memory, tuple(reversed(weights.memory))):
        polynomial = spectrum.fmpz_poly(list(reversed(memory)))
        count = spectrum._count(polynomial)
        wound = spectrum.count_outside(list(memory))
        assert wound is not None
        assert (count.outside, count.on_circle, count.evidence) == (wound.outside, 0, "exact")


def test_weights_that_stay_equal_are_not_in_order():
    """1 + z + ... + z^69 has all its roots on the circle."""
    level = count_unstable(SurvivalWeights((1,) * 70, (1,) * 70, 1))
    assert (level.outside, level.on_circle) == (0, 69)
    assert spectrum._count_ordered([1] * 70) is None
    assert spectrum._count_ordered([2, *[1] * 69]) is None
    assert spectrum._count_ordered([*[1] * 69, 2]) is None


@pytest.mark.thorough
def test_long_requests_all_alike_are_judged_and_bracketed():
    """Thousands of roots of nearly equal modulus: the verdict is exact, the radius a bracket."""
    result = stability(one_class(400, 6000, 10**5))
    assert (result.verdict, result.unstable_modes) == (Stability.UNSTABLE, 5999)
    low, high = result.spectral_radius
    assert 1 < low <= high <= 402 / 401 * (1 + 1e-12)
