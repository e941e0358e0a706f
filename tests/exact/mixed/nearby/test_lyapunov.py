"""P, its norm, the levels of L and the uniform bound, against SciPy, NumPy and definitions."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.linalg
from flint import arb, arb_mat, fmpq, fmpq_mat
from flint import ctx as flint_context
from hypothesis import given
from hypothesis import strategies as st

from fluidkv.errors import InputError
from fluidkv.exact.mixed.mix import LengthMix, two_lengths
from fluidkv.exact.mixed.nearby import neighbourhood as neighbourhood_module
from fluidkv.exact.mixed.nearby.lyapunov import enclosed_eigenvalues, largest_eigenvalue, lyapunov
from fluidkv.exact.mixed.nearby.neighbourhood import (
    Entry,
    EntryStatus,
    below,
    entry_time,
    neighbourhood,
)
from fluidkv.exact.mixed.nearby.transition import cohort_iterates, transition, transition_matrix
from fluidkv.exact.roots.polynomial import characteristic_polynomial
from fluidkv.exact.survival import survival_weights
from fluidkv.verdict import Stability, Verdict
from fluidkv.workload import RequestClass, System, Workload
from fluidkv_papers.congestion import uniform
from fluidkv_papers.congestion.uniform import positive_definite, uniform_bound
from tests.small_systems import one_class
from tests.strategies import cohort_profiles, systems

HALF = Fraction(1, 2)

MIXES = [
    (two_lengths(2, 3, HALF), 10),
    (two_lengths(5, 9, HALF), 65),
    (two_lengths(3, 8, Fraction(3, 10)), 67),
    (LengthMix((2, 3, 7), (HALF, Fraction(1, 3))), 40),
    (LengthMix((2, 5), (HALF,), (3, HALF)), 60),
]


def ball(value):
    assert isinstance(value, arb)
    return value


def floats(matrix):
    return np.array([[float(Fraction(int(x.p), int(x.q))) for x in row] for row in matrix.tolist()])


@pytest.mark.parametrize(("mix", "length"), MIXES)
def test_the_equation_is_solved_exactly(mix, length):
    weights = mix.weights(length)
    found = lyapunov(weights)
    phi, P = transition_matrix(weights), found.flint
    residual = phi.transpose() * P * phi - P
    d = weights.ages
    assert residual.tolist() == [[-int(i == j) for j in range(d)] for i in range(d)]
    assert P.transpose() == P


@pytest.mark.parametrize(("mix", "length"), MIXES)
def test_the_solution_and_its_norm_are_those_of_scipy_and_numpy(mix, length):
    weights = mix.weights(length)
    found = lyapunov(weights)
    phi = floats(transition_matrix(weights))
    second = scipy.linalg.solve_discrete_lyapunov(phi.T, np.eye(weights.ages))
    ours = floats(found.flint)
    # The float solution is off by some eps / (1 - rho^2)^2, here below 1e-16 * 1e6.
    np.testing.assert_allclose(ours, second, rtol=1e-9, atol=1e-9 * ours.max())
    assert float(found.norm.mid()) == pytest.approx(np.linalg.norm(ours, 2), rel=1e-12)
    assert float(found.norm.rad()) < 1e-12 * float(found.norm.mid())


@pytest.mark.parametrize(("mix", "length"), MIXES)
def test_the_smallest_eigenvalue_is_exactly_one(mix, length):
    found = lyapunov(mix.weights(length))
    d = mix.ages
    assert found.flint.tolist()[-1] == [int(s == d - 1) for s in range(d)]
    assert all(x >= 1 or x.contains(1) for x in enclosed_eigenvalues(found.flint))


@pytest.mark.parametrize(("mix", "length"), MIXES)
def test_eigenvalues_are_the_roots_of_the_characteristic_polynomial_and_zero(mix, length):
    weights = mix.weights(length)
    ours = transition_matrix(weights).charpoly().coeffs()
    F = characteristic_polynomial(weights).coeffs()
    top = F[-1]
    assert [c * top for c in ours] == [0, *F]


def test_balls_take_over_where_rationals_are_long_and_agree_with_scipy():
    weights = two_lengths(50, 61, HALF).weights(100_000)
    found = lyapunov(weights)
    assert not found.exact
    phi = floats(transition_matrix(weights))
    second = scipy.linalg.solve_discrete_lyapunov(phi.T, np.eye(61))
    P = np.array([[float(x) for x in row] for row in found.flint.tolist()])
    np.testing.assert_allclose(P, second, rtol=1e-7, atol=1e-7 * P.max())  # condition 3e4 squared
    residual = P - phi.T @ P @ phi - np.eye(61)
    assert np.abs(residual).max() < 1e-9 * P.max()
    assert float(found.norm.mid()) == pytest.approx(np.linalg.norm(P, 2), rel=1e-12)
    y = tuple(Fraction(s % 5 - 2) for s in range(61))
    fall = ball(found.energy(y)) - ball(found.energy(transition(weights, y)))
    assert fall.contains(sum(int(v) ** 2 for v in y))


def test_balls_contain_the_rational_solution(monkeypatch):
    weights = two_lengths(5, 9, HALF).weights(65)
    exact = lyapunov(weights)
    monkeypatch.setattr("fluidkv.exact.mixed.nearby.lyapunov.EXACT_AGES", 0)
    balls = lyapunov(weights)
    assert isinstance(balls.flint, arb_mat)
    # Balls of 128 bits are compared with rationals at a precision that does not blur these.
    with flint_context.workprec(512):
        for row, enclosures in zip(exact.flint.tolist(), balls.flint.tolist(), strict=True):
            assert all(ball(b).contains(x) for x, b in zip(row, enclosures, strict=True))
    assert balls.norm.overlaps(exact.norm)


def test_the_largest_eigenvalue_is_told_from_one_that_agrees_to_sixteen_digits():
    tiny = fmpq(1, 10**25)
    with flint_context.workprec(256):
        found = largest_eigenvalue(fmpq_mat([[1, 0], [0, 1 + tiny]]))
        assert found.contains(arb(1 + tiny))
        assert not found.contains(arb(1))


def test_no_solution_where_a_root_is_not_inside():
    unstable = lyapunov(two_lengths(2, 4, HALF).weights(50))
    assert (unstable.verdict, unstable.matrix) == (Stability.UNSTABLE, None)
    assert unstable.reason == "1 root of F outside the unit circle"
    neutral = lyapunov(two_lengths(2, 3, HALF).weights(1))  # 2 z^2 + 3 z + 2
    assert (neutral.verdict, neutral.matrix) == (Stability.UNDECIDED, None)
    with pytest.raises(ArithmeticError, match="2 roots of F on the unit circle"):
        _ = neutral.norm


def test_vectors_of_floats_or_of_the_wrong_length_are_refused():
    found = lyapunov(two_lengths(2, 3, HALF).weights(10))
    with pytest.raises(InputError, match="3 numbers"):
        found.energy((1, 0))
    with pytest.raises(InputError, match="not floats"):
        found.energy((1.0, 0, 0))  # pyright: ignore[reportArgumentType]


@given(systems(), st.data())
def test_an_iteration_is_linear_exactly_where_nothing_is_evicted(system, data):
    start = data.draw(cohort_profiles(system))
    fill = data.draw(st.fractions(0, 1, max_denominator=4))
    trajectory = cohort_iterates(system, [y * fill for y in start])
    weights = survival_weights(system.workload)
    next(trajectory)
    for _ in range(4):
        now = next(trajectory)
        assert now.perturbation[0] >= 0
        assert all(e <= 0 for e in now.perturbation[1:])
        assert (now.evicted > 0) == any(now.perturbation)
        lost = sum(a * e for a, e in zip(weights.requests, now.perturbation, strict=True))
        alive = now.perturbation[0] * weights.requests[0]
        assert now.evicted == (alive - lost) / weights.denominator


def test_starts_that_are_not_feasible_are_refused():
    system = System(two_lengths(2, 3, HALF).workload(10), 118)
    with pytest.raises(InputError, match="at most 118 tokens, not 129"):
        next(cohort_iterates(system, (5, 4, 4)))
    with pytest.raises(InputError, match="at least 0"):
        next(cohort_iterates(system, (5, 4, -1)))


# --- levels ---------------------------------------------------------------------------------------


def number(level):
    assert level is not None
    return float(level)


def small():
    return neighbourhood(System(two_lengths(2, 3, HALF).workload(10), 118))


def test_the_constants_are_those_of_the_convergence_proof():
    found = small()
    assert (found.beta, found.kappa) == (Fraction(59, 5), Fraction(5, 2))
    assert found.c2_squared == 3 * Fraction(12, 10) ** 2
    assert found.delta_squared == (found.beta / (4 * found.kappa)) ** 2 / found.c2_squared


def test_a_unit_of_length_does_not_change_delta():
    """Inputs that differ: C_2 l0 delta is a quarter of M / kappa, and V_0 x* tends to M / kappa."""
    for scale in (10**4, 10**5):
        classes = (RequestClass(scale, 2, HALF), RequestClass(3 * scale, 5, HALF))
        found = neighbourhood(System(Workload(classes), 9 * scale))
        quarter = found.c2_squared * found.mean_input**2 * found.delta_squared
        assert quarter == (found.system.capacity / (4 * found.kappa)) ** 2
        # The relative distance to the limit is O(d / l0).
        ratio = found.margin * found.kappa / found.system.capacity
        assert abs(ratio - 1) < Fraction(10, scale)


@pytest.mark.parametrize(("mix", "length"), MIXES)
def test_levels_are_attained_and_not_exceeded(mix, length):
    system = System(mix.workload(length * 2), 12 * length)
    found = neighbourhood(system)
    weights = survival_weights(system.workload)
    P = floats(found.lyapunov.flint)
    V = np.array(weights.memory) / weights.denominator
    v = np.append(V[1:], 0.0)
    margin = float(found.margin)
    touching = np.linalg.solve(P, v)
    touching *= margin / (v @ touching)
    # Floats of condition at most some 1e4.
    assert touching @ P @ touching == pytest.approx(number(found.eviction_level), rel=1e-9)
    basis = scipy.linalg.null_space(V[None, :])
    inside = basis @ np.linalg.solve(basis.T @ P @ basis, basis.T @ v)
    inside *= margin / (v @ inside)
    assert inside @ P @ inside == pytest.approx(number(found.boundary_level), rel=1e-9)
    assert found.delta_squared < number(found.eviction_level) < number(found.boundary_level)
    rng = np.random.default_rng(0)
    lower = np.linalg.cholesky(P)
    for z in rng.normal(size=(200, mix.ages)):
        y = np.linalg.solve(lower.T, z / np.linalg.norm(z))  # on L = 1
        assert v @ y * number(found.eviction_level) ** 0.5 <= margin * (1 + 1e-9)
        assert np.abs(y).max() * number(found.nonnegative_level) ** 0.5 <= float(found.rate) * (
            1 + 1e-9
        )


@pytest.mark.parametrize(("mix", "length"), MIXES)
def test_the_level_of_nonnegative_states_is_attained(mix, length):
    """It is x*^2 over the largest diagonal entry of P^-1, whichever age that is at."""
    found = neighbourhood(System(mix.workload(length * 2), 12 * length))
    matrix = found.lyapunov.flint
    assert isinstance(matrix, fmpq_mat)
    inverted = matrix.inv()
    largest = max(inverted[s, s] for s in range(mix.ages))
    assert found.nonnegative_level == found.rate**2 * Fraction(int(largest.q), int(largest.p))


def test_levels_in_balls_hold_the_rational_ones(monkeypatch):
    system = System(two_lengths(2, 3, HALF).workload(10), 118)
    exact = neighbourhood(system)
    monkeypatch.setattr("fluidkv.exact.mixed.nearby.lyapunov.EXACT_AGES", 1)
    balls = neighbourhood(system)
    assert not balls.lyapunov.exact
    for name in ("eviction_level", "boundary_level", "nonnegative_level"):
        value, ball = getattr(exact, name), getattr(balls, name)
        assert ball.contains(arb(fmpq(value.numerator, value.denominator)))
        assert ball.rad() < 1e-10


def test_overlapping_balls_are_not_compared():
    """Nor is a ball that ends where the other begins called smaller."""
    wide = arb(1, 0.5)
    assert below(wide, Fraction(1)) is None
    assert below(arb(1), wide) is None
    assert below(wide, Fraction(2)) is True
    assert below(wide, Fraction(1, 4)) is False


def test_the_largest_of_overlapping_balls_is_one_around_them(monkeypatch):
    """The age with the largest midpoint need not be the one with the largest entry."""
    entries = iter([arb(2, 1e-3), arb(2.0005, 1e-6)])
    monkeypatch.setattr(neighbourhood_module, "inner_product", lambda *_: next(entries))
    level = neighbourhood_module._nonnegative_level(arb_mat(2, 2), Fraction(1))
    assert isinstance(level, arb)
    assert level.contains(arb(1) / arb("2.0009"))
    assert not level.contains(arb(1) / arb("1.9999"))


def test_membership_and_entry_on_the_trajectory_of_example_11():
    found = small()
    weights = found.lyapunov.weights
    y = (Fraction(1), Fraction(0), Fraction(0))
    energies, inside = [], []
    for _ in range(12):
        energies.append(found.energy(y))
        inside.append(found.contains(y))
        y = transition(weights, y)
    assert energies[0] == Fraction(1540, 177)
    assert entry_time(energies, found.delta_squared) == Entry(EntryStatus.FOUND, 8)
    assert inside == [n >= 8 for n in range(12)]
    assert entry_time(energies, Fraction(0)) == Entry(EntryStatus.NONE)
    assert below(lyapunov(weights).norm, Fraction(11))


def test_an_entry_that_balls_do_not_tell_is_undecided():
    assert entry_time([Fraction(2), arb(1, 0.5)], Fraction(1)) == Entry(EntryStatus.UNDECIDED)
    assert entry_time([arb(2, 0.5), arb(0.5, 0.25)], Fraction(1)) == Entry(EntryStatus.FOUND, 1)


def test_one_stage_cannot_evict():
    found = neighbourhood(one_class(3, 1, 40))
    assert (found.eviction_level, found.boundary_level, found.ball_squared) == (None, None, None)
    assert found.nonnegative_level == found.rate**2


# --- the bound for all long inputs ----------------------------------------------------------------


@pytest.mark.parametrize(("mix", "length"), MIXES)
def test_the_uniform_bound_holds_at_every_length_tried(mix, length):
    bound = uniform_bound(mix, length)
    assert bound.verdict is Verdict.HOLDS
    assert bound.norm is not None
    assert bound.radius is not None
    for L in (length, length + HALF, 2 * length, 10 * length, 10**6):
        at = lyapunov(mix.weights(L))
        assert at.norm < bound.norm
        phi = floats(transition_matrix(at.weights))
        assert np.abs(np.linalg.eigvals(phi)).max() < bound.radius < 1
    # sqrt(1 - 1 / C_P), rounded up
    assert Fraction(bound.radius) ** 2 >= 1 - 1 / Fraction(bound.norm)
    assert bound.radius**2 == pytest.approx(1 - 1 / bound.norm, abs=1e-14)


def test_a_matrix_that_decreases_but_is_not_positive_proves_nothing():
    """P = -1 and Phi = 2: P - Phi P Phi = 3, and the root is outside."""
    minus, two, half = (fmpq_mat([[x]]) for x in (fmpq(-1), fmpq(2), fmpq(1, 2)))
    assert not uniform.decreases(minus, two)
    assert uniform.decreases(-minus, half)
    assert not uniform.decreases(-minus, two)


def test_both_ends_of_a_piece_are_tested(monkeypatch):
    """P that fails where the piece begins, as by its own rounding, proves nothing of the piece."""
    mix, tested = two_lengths(2, 3, HALF), uniform.decreases
    begin = transition_matrix(mix.limit)
    monkeypatch.setattr(uniform, "decreases", lambda p, phi: phi != begin and tested(p, phi))
    found = uniform_bound(mix, 100)
    assert (found.verdict, found.norm) == (Verdict.UNDECIDED, None)
    assert "rounding" in found.reason


def test_the_uniform_bound_does_not_close_where_it_must_not():
    common = uniform_bound(two_lengths(2, 4, HALF), 100)
    assert common.verdict is Verdict.UNDECIDED
    assert common.reason == "1 root of F on the unit circle, at L without bound"
    # l0 = 1 is exactly neutral for decode lengths 2 and 3.
    assert uniform_bound(two_lengths(2, 3, HALF), 1).verdict is Verdict.UNDECIDED
    assert uniform_bound(two_lengths(2, 3, HALF), 2).verdict is Verdict.HOLDS


@given(st.lists(st.integers(-3, 3), min_size=6, max_size=6))
def test_positive_definite_is_sylvester(entries):
    a, b, c, d, e, f = entries
    rows = [[a, b, c], [b, d, e], [c, e, f]]
    minors = [fmpq_mat([row[:n] for row in rows[:n]]).det() for n in (1, 2, 3)]
    assert positive_definite(fmpq_mat(rows)) == all(m > 0 for m in minors)
