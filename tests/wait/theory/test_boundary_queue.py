"""eta in a certified ball, the Lindley chain, its mean, and the chance that it reaches a level."""

import math
from fractions import Fraction
from itertools import product

import mpmath
import numpy as np
import pytest
from flint import arb

from fluidkv.errors import InputError
from fluidkv.wait.theory import boundary_queue
from fluidkv.wait.theory.boundary_queue import (
    MOST_BATCHES,
    MOST_LEVEL,
    MOST_PROMPTS,
    ends,
    eta,
    exceedance_probability,
)
from fluidkv.wait.theory.lindley import (
    kingman,
    lindley_path,
    max_partial_sums,
    mean_queue_bound,
    queue_path,
    stuck_identity,
)

HALF = Fraction(1, 2)


def test_eta_of_ten_halves_and_six():
    found = eta(10, HALF, 6)
    assert found.lower == Fraction(4, 5)
    assert found.ball is not None
    assert found.ball > 0.8  # as balls: proved
    with mpmath.workdps(40):  # a second method, in decimals
        root = mpmath.findroot(
            lambda x: 10 * mpmath.log((1 + mpmath.e**x) / 2) - 6 * x, (0.5, 2), solver="anderson"
        )
    low, high = ends(found.ball)
    assert low < root < high
    assert high - low < 1e-15


@pytest.mark.parametrize("p", [Fraction(1, 3), Fraction(1, 100), Fraction(499, 1000)])
def test_two_prompts_and_one_place_have_a_closed_form(p):
    # (1 - p + p z)^2 = z has the roots 1 and ((1 - p) / p)^2
    found = eta(2, p, 1).ball
    assert found is not None
    low, high = ends(found)
    assert low <= 2 * math.log((1 - p) / p) * (1 + 1e-15)  # a double's rounding of the logarithm
    assert high >= 2 * math.log((1 - p) / p) * (1 - 1e-15)
    assert high - low < 1e-14


@pytest.mark.parametrize(
    ("n_prev", "p", "n"),
    [(1, HALF, 1), (5, HALF, 5), (5, HALF, 9), (5, Fraction(0), 1), (5, Fraction(1), 6)],
)
def test_a_queue_that_cannot_grow_has_an_infinite_eta(n_prev, p, n):
    found = eta(n_prev, p, n)
    assert not found.finite
    assert found.reciprocal == 0
    assert found.lower > 0
    assert exceedance_probability(n_prev, p, n, 1, 10**6) == 0


@pytest.mark.parametrize(("n_prev", "p", "n"), [(10, HALF, 5), (10, HALF, 4), (3, Fraction(1), 3)])
def test_drift_that_is_not_negative_is_refused(n_prev, p, n):
    with pytest.raises(InputError, match=r"n: got \d; allowed: more than p n_prev"):
        eta(n_prev, p, n)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ((0, HALF, 1), "n_prev"),
        ((2, Fraction(3, 2), 1), "p"),
        ((2, 0.5, 2), "p"),
        ((2, HALF, 0), "n"),
    ],
)
def test_numbers_out_of_range_are_named(arguments, named):
    with pytest.raises(InputError, match=f"^{named}: "):
        eta(*arguments)


def small_drift(n_prev: int, p: Fraction, n: int) -> Fraction:
    """What eta tends to as the drift tends to 0: WAIT, appendix E.5."""
    return 2 * (n - p * n_prev) / (n_prev * p * (1 - p))


@pytest.mark.parametrize("p", [Fraction(1, 3), HALF, Fraction(2, 3)])
def test_small_drift_is_the_limit_from_the_side_of_the_third_cumulant(p):
    # n fixed at 60 of 90 (p = 2/3 and so on); p moved by tiny amounts toward the critical one
    n_prev = 90
    n = int(p * n_prev)
    last = None
    for digits in (3, 6, 12):
        below = p - Fraction(1, 10**digits)
        ball = eta(n_prev, below, n).ball
        assert ball is not None
        limit = small_drift(n_prev, below, n)
        ratio = ball * limit.denominator / limit.numerator
        if p != HALF:
            assert (ratio < 1) is (p < HALF)
        # the first correction is of the order of eta, here of the drift of one prompt
        assert abs(float(ratio) - 1) < 10 ** (1 - digits)
        assert last is None or abs(float(ratio) - 1) < last
        last = abs(float(ratio) - 1)


def _reached(n_prev: int, p: Fraction, n: int, level: int, batches: int) -> Fraction:
    """By every sequence of arrivals."""
    total = Fraction(0)
    for arrivals in product(range(n_prev + 1), repeat=batches):
        chance = math.prod(
            (math.comb(n_prev, x) * p**x * (1 - p) ** (n_prev - x) for x in arrivals),
            start=Fraction(1),
        )
        if lindley_path([x - n for x in arrivals]).max() >= level:
            total += chance
    return total


@pytest.mark.parametrize("p", [Fraction(1, 3), Fraction(3, 4)])  # with and without negative drift
@pytest.mark.parametrize("level", [1, 2, 4])
def test_exceedance_is_that_of_all_sequences(p, level):
    exact = _reached(3, p, 2, level, 5)
    found = exceedance_probability(3, p, 2, level, 5)
    low, high = ends(found)
    assert low <= exact <= high
    assert high - low <= 1e-15


def test_the_union_bound_is_three_to_four_times_too_large():
    # 10, 1/2, 6 over a million batches: N e^(-eta 20) = 0.0722, the chain itself 0.0195
    rate = eta(10, HALF, 6).ball
    assert rate is not None
    for level in (20, 30, 60):
        chance = exceedance_probability(10, HALF, 6, level, 10**6)
        assert 3.6 < 10**6 * (-level * rate).exp() / chance < 3.8


def test_exceedance_is_zero_before_the_level_can_be_reached():
    assert exceedance_probability(3, HALF, 2, 4, 3) == 0  # one more a batch at most
    assert float(exceedance_probability(3, HALF, 2, 3, 3).mid()) == pytest.approx(1 / 512)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ((3, HALF, 2, MOST_LEVEL + 1, 3), "level"),
        ((MOST_PROMPTS + 1, HALF, 2, 3, 3), "n_prev"),
        ((3, HALF, 2, 3, MOST_BATCHES + 1), "batches"),
        ((3, HALF, 2, 3, 10**5000), "batches"),
    ],
)
def test_exceedance_has_limits(arguments, named):
    with pytest.raises(InputError, match=f"^{named}: got .*; allowed: at most "):
        exceedance_probability(*arguments)


def test_exceedance_of_a_chance_too_small_for_floats():
    # Two prompts go on, one is served: level 40 takes 40 batches in which both do, 1e-100 each. A
    # run of them has 61 places among 100; whatever else reaches 40 is some 1e-50 of that.
    p = Fraction(1, 10**50)
    ratio = exceedance_probability(2, p, 1, 40, 40) * 10**4000
    assert ratio.contains(1)
    ratio = exceedance_probability(2, p, 1, 40, 100) * 10**4000
    assert abs(ratio - 61) < 1e-12  # the product is rounded to 53 bits


def test_exceedance_with_many_prompts():
    # One batch, from 0: more than 50009 of 100000 prompts, each with 1/2.
    found = exceedance_probability(100_000, HALF, 50_000, 10, 1)
    normal = (1 - math.erf((9.5 / math.sqrt(25_000)) / math.sqrt(2))) / 2
    assert float(found.mid()) == pytest.approx(
        normal, abs=1e-5
    )  # the error at p = 1/2 is of order 1/n
    # A third of them instead of half: 1e-2562, below Hoeffding's exp(-2 n (1/2 - 1/3)^2) a batch.
    chance = exceedance_probability(100_000, Fraction(1, 3), 50_000, 10, 10)
    assert 0 < chance < 10 * arb(-2 * 100_000 / 36).exp()


def test_exceedance_with_every_prompt_going_on():
    assert exceedance_probability(3, Fraction(1), 2, 3, 3) == 1
    assert exceedance_probability(3, Fraction(1), 2, 4, 3) == 0


@pytest.mark.parametrize("n", [1, 10**400])
def test_huge_queues_are_refused_in_one_line(n):
    with pytest.raises(InputError, match=r"^n: got .* p n_prev = 5e\+499; "):
        eta(10**500, HALF, n)


def test_a_drift_beyond_the_bits_is_said(monkeypatch):
    monkeypatch.setattr(boundary_queue, "_MOST_BITS", 100)  # instead of a drift of 1e-9000
    with pytest.raises(ArithmeticError, match="not enclosed in 100 bits"):
        eta(2, HALF - Fraction(1, 10**60), 1)


def test_the_queue_by_hand():
    path = queue_path([1, 2, 0, 4, 0], 3)
    assert path.queue.tolist() == [1, 3, 0, 4, 1]
    assert path.stuck.tolist() == [True, True, False, True, False]
    assert path.outside.tolist() == [1, 0, 0, 1, 1]


def test_lindley_is_the_recursion_and_its_maximum_form():
    steps = np.random.default_rng(3).integers(-3, 4, size=(4, 50))
    held, expected = np.zeros(4), []
    for batch in range(50):
        held = np.maximum(held + steps[:, batch], 0)
        expected.append(held)
    assert (lindley_path(steps) == np.stack(expected, axis=-1)).all()
    # time reversed, the last value is the largest partial sum
    assert (lindley_path(steps)[:, -1] == max_partial_sums(steps[:, ::-1])[:, -1]).all()


def test_lemma_1_holds_on_every_path():
    arrivals = np.random.default_rng(5).poisson(4, size=(20, 80))
    left, right = stuck_identity(arrivals, 4)
    assert (left == right).all()


def test_a_buffer_of_n_does_not_dominate():
    # Lemmas 2 and 7 as given back: W <= n + Q. Two batches are enough.
    path, chain = queue_path([1, 2], 2), lindley_path([1 - 2, 2 - 2])
    assert path.queue[-1] == 3 > 2 + chain[-1]
    assert path.outside[-1] == 1 <= 2 - 1 + chain[-1]


def test_the_mean_queue_exceeds_the_paper_bound_where_arrivals_hardly_vary():
    path = queue_path([3] * 400, 4)
    paper = 4 + kingman(3 - 4, 0)
    assert path.queue.mean() == 4.5 > paper  # 3, 6, 5, 4 and round again
    assert path.queue.mean() <= mean_queue_bound(4, 3, 0)


@pytest.mark.parametrize(("n_prev", "p", "n"), [(4, HALF, 3), (9, Fraction(2, 3), 7)])
def test_means_are_bounded_with_binomial_arrivals(n_prev, p, n):
    mean, variance = n_prev * p, n_prev * p * (1 - p)
    arrivals = np.random.default_rng(8).binomial(n_prev, float(p), size=(200, 2000))
    seen = queue_path(arrivals, n).queue[:, 500:].mean()
    # seeded; the standard error of this mean is below 0.05, the gap to the bound above 1
    assert seen < mean_queue_bound(n, mean, variance)
    chain = lindley_path(arrivals - n)[:, 500:].mean()
    assert chain < kingman(mean - n, variance)


def test_kingman_asks_for_a_negative_drift():
    with pytest.raises(InputError, match=r"^mean: "):
        kingman(0, 1)
    with pytest.raises(InputError, match=r"^arrivals: "):
        queue_path([1.5], 2)
    with pytest.raises(InputError, match=r"^arrivals: "):
        queue_path([-1], 2)


def test_bounds_on_the_mean_by_hand():
    assert mean_queue_bound(4, 3, 1) == 7 + Fraction(1, 2)


@pytest.mark.parametrize(
    ("mean", "message"),
    [
        (5, "mean: got '5'; allowed: less than n = 4, which a batch takes"),
        (4, "mean: got '4'; allowed: less than n = 4, which a batch takes"),
        (-100, "mean: got '-100'; allowed: an integer or a Fraction of at least 0"),
    ],
)
def test_a_mean_out_of_range_is_named_as_given(mean, message):
    with pytest.raises(InputError) as caught:
        mean_queue_bound(4, mean, 1)
    assert str(caught.value) == message


def test_arrivals_that_integers_cannot_hold_are_refused():
    most = 2**62 - 1
    assert queue_path(np.array([most], dtype=np.uint64), most).outside.tolist() == [0]
    assert queue_path([most, 0], 2).queue.tolist() == [most, most - 2]
    for too_many in (np.array([2**63], dtype=np.uint64), [2**62], [[0, 0], [most, 1]]):
        with pytest.raises(InputError, match=r"^arrivals: .* less than 2\^62"):
            queue_path(too_many, 2)
    with pytest.raises(InputError, match=r"^n: .* less than 2\^62"):
        queue_path([1], 2**62)


def test_the_smallest_queue_that_exceeds_the_paper_mean():
    # Found among n_prev <= 8 and p with denominators up to 6, n < n_prev. Stationary law of the
    # queue up to 140 prompts; above, in a geometric tail, lies less than 1e-12 of it.
    n_prev, p, n, size = 4, Fraction(2, 3), 3, 140
    law = [math.comb(n_prev, x) * float(p) ** x * float(1 - p) ** (n_prev - x) for x in range(5)]
    matrix = np.zeros((size, size))
    for held, (x, chance) in product(range(size), enumerate(law)):
        matrix[held, min(held + x - (n if held >= n else 0), size - 1)] += chance
    equations = matrix.T - np.eye(size)
    equations[-1] = 1
    stationary = np.linalg.solve(equations, np.eye(size)[-1])
    assert abs(stationary[-5:]).max() < 1e-12
    mean, paper = stationary @ np.arange(size), n + kingman(4 * p - n, 4 * p * (1 - p))
    assert mean == pytest.approx(4.426013, abs=1e-6)
    assert paper == Fraction(13, 3) < mean < mean_queue_bound(n, 4 * p, 4 * p * (1 - p))


@pytest.mark.parametrize("digits", [8, 12, 14, 18, 25])
@pytest.mark.parametrize(("n_prev", "p", "n"), [(90, Fraction(1, 3), 30), (90, Fraction(2, 3), 60)])
def test_tiny_drifts_end(n_prev: int, p: Fraction, n: int, digits: int) -> None:
    """Where rounding keeps Newton's steps from settling, more bits are taken."""
    share = p - Fraction(1, 10**digits)
    found, estimate = eta(n_prev, share, n), small_drift(n_prev, share, n)
    assert found.ball is not None
    assert found.lower <= estimate
    assert abs(float(found.ball.mid()) / float(estimate) - 1) < 1e-5
