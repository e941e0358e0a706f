"""Latency models fitted to profiles, where they cross, and what a fit cannot tell."""

import re

import numpy as np
import pytest

from fluidkv.errors import InputError
from fluidkv.preempt.restoring.latency import LatencyFit, clock_of, fit_recompute, fit_swap
from fluidkv.preempt.restoring.profile import LatencyProfile, profile_from
from fluidkv.preempt.restoring.spots import swap_of, sweet_spots
from fluidkv.serving.kernel.budget import pairs
from fluidkv.serving.swap import UNLIMITED

LENGTHS = np.arange(250, 8001, 250)


def law(*parameters: float):
    alpha, beta, kappa, epsilon = parameters
    return lambda lengths: alpha * lengths**beta + kappa * lengths + epsilon


RECOMPUTE = law(4e-9, 2.0, 6e-5, 5e-3)
SWAP = law(0.0, 1.0, 7.6e-5, 1e-3)
CROSSING = 3732.05  # 4e-9 S^2 - 1.6e-5 S + 4e-3 = 0: 2000 + sqrt(3e6), and 2000 - sqrt(3e6)


def noisy(model, seed: int, noise: float = 0.01) -> LatencyProfile:
    times = model(LENGTHS)
    rng = np.random.default_rng(seed)
    return LatencyProfile(LENGTHS, times + noise * times.mean() * rng.standard_normal(times.size))


@pytest.mark.parametrize("exponent", [None, 2.0])
def test_exact_points_give_the_parameters_back(exponent):
    fit = fit_recompute(LatencyProfile(LENGTHS, RECOMPUTE(LENGTHS)), exponent=exponent)
    assert fit.parameters == pytest.approx((4e-9, 2.0, 6e-5, 5e-3), rel=1e-3)
    low, high = fit.band(LENGTHS)
    assert np.abs(high - low).max() < 1e-8  # of 0.7 s; the search for the exponent ends at 1e-5
    line = fit_swap(LatencyProfile(LENGTHS, SWAP(LENGTHS)))
    assert line.parameters == pytest.approx((0, 1, 7.6e-5, 1e-3), rel=1e-9)


def test_the_sweet_spot_is_where_the_models_cross():
    fits = (
        fit_recompute(LatencyProfile(LENGTHS, RECOMPUTE(LENGTHS)), exponent=2.0),
        fit_swap(LatencyProfile(LENGTHS, SWAP(LENGTHS))),
    )
    below, above = sweet_spots(*fits)
    assert (below.tokens, above.tokens) == pytest.approx((4000 - CROSSING, CROSSING), abs=0.01)
    assert (below.swap_above, above.swap_above) == (False, True)
    assert above.measured
    swap = swap_of(*fits, pool=10**6)
    assert (swap.sweet_spot, swap.pool) == (3732, 10**6)
    assert 2 * (swap.per_token * 4000 + swap.per_copy) == pytest.approx(SWAP(4000))


def test_bands_cover_as_often_as_they_promise():
    """500 profiles with noise: 95 % bands at 3,000 tokens, and errors of the crossing."""
    covered, crossings, errors = 0, [], []
    for seed in range(500):
        recompute = fit_recompute(noisy(RECOMPUTE, seed), exponent=2.0)
        low, high = recompute.band(3000.0)
        covered += bool(low <= RECOMPUTE(3000) <= high)
        spots = sweet_spots(recompute, fit_swap(noisy(SWAP, seed + 1000)))
        if spots and spots[-1].swap_above:
            crossings.append(spots[-1].tokens)
            errors.append(spots[-1].standard_error)
    assert 0.92 < covered / 500 < 0.98  # 3 standard errors of a share of 0.95
    assert np.std(crossings) == pytest.approx(np.median(errors), rel=0.15)


def test_with_the_exponent_free_the_band_still_covers():
    covered = 0
    for seed in range(100):
        low, high = fit_recompute(noisy(RECOMPUTE, seed)).band(3000.0)
        covered += bool(low <= RECOMPUTE(3000) <= high)
    assert covered / 100 > 0.88  # 0.95 less 3 standard errors; the model is not linear in beta


def test_a_profile_that_is_nearly_straight_does_not_tell_the_exponent():
    """The same noise: the curve is told from a line up to 8,000 tokens, not up to 1,000."""
    wide = fit_recompute(noisy(RECOMPUTE, 0))
    assert wide.bends
    assert wide.exponent_range is not None
    assert wide.exponent_range[0] < 2 < wide.exponent_range[1]
    few = LENGTHS <= 1000
    whole = noisy(RECOMPUTE, 0)
    short = fit_recompute(LatencyProfile(np.repeat(LENGTHS[few], 2), _twice(whole, few)))
    assert not short.bends


def _twice(profile: LatencyProfile, few: np.ndarray) -> np.ndarray:
    times = RECOMPUTE(LENGTHS[few])
    jitter = 0.02 * times.mean() * np.array([1, -1] * few.sum())
    return np.repeat(times, 2) + jitter


def test_fits_that_never_cross_swap_always_or_never():
    slow, fast = (
        fit_swap(LatencyProfile(LENGTHS, scale * RECOMPUTE(LENGTHS).max() + 1e-4 * LENGTHS))
        for scale in (50.0, 1e-9)
    )
    dear = fit_recompute(LatencyProfile(LENGTHS, 1 + 10 * RECOMPUTE(LENGTHS)), exponent=2.0)
    assert sweet_spots(dear, fast) == ()
    assert swap_of(dear, fast).sweet_spot == 0
    [far] = sweet_spots(dear, slow)
    assert not far.measured
    line = LatencyFit((0.0, 1.0, 1e-5, 0.0), np.zeros((4, 4)), 0.0, 9, 8000.0)
    dearer = LatencyFit((0.0, 1.0, 2e-5, 1e-3), np.zeros((4, 4)), 0.0, 9, 8000.0)
    assert sweet_spots(line, dearer) == ()
    assert swap_of(line, dearer).sweet_spot == UNLIMITED
    steep_start = LatencyFit((0.0, 1.0, 1e-5, 1.0), np.zeros((4, 4)), 0.0, 9, 8000.0)
    with pytest.raises(InputError, match="swapping faster below"):
        swap_of(steep_start, dearer)


def test_the_clock_of_a_fit_recomputes_as_the_fit():
    fit = fit_recompute(LatencyProfile(LENGTHS, RECOMPUTE(LENGTHS)), exponent=2.0)
    clock = clock_of(fit, base=5e-3)
    for tokens in (1, 500, 8000):
        assert clock.duration(0, tokens, pairs(0, tokens)) == pytest.approx(RECOMPUTE(tokens))
    with pytest.raises(InputError, match="fit: got 'exponent"):
        clock_of(fit_recompute(noisy(RECOMPUTE, 0)), base=5e-3)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LatencyProfile([1, 0], [1, 1]), "lengths: got 0.0; allowed: finite numbers above"),
        (lambda: LatencyProfile([1, 2], [1, -1]), "seconds: got -1.0"),
        (lambda: LatencyProfile([1, 2], [1]), "seconds: got '1 times'"),
        (lambda: LatencyProfile([1, 2, 3], [1, 3, 2.5]), "seconds: got '2.5 s at 3 tokens"),
        (lambda: fit_recompute(LatencyProfile([1, 2, 3], [1, 2, 4])), "profile: got '3 points of"),
        (lambda: fit_swap(LatencyProfile([2, 2, 2], [1, 1, 1])), "profile: got '3 points of 1"),
        (lambda: fit_recompute(noisy(RECOMPUTE, 0), exponent=0), "exponent: got 0"),
        (lambda: fit_recompute(noisy(RECOMPUTE, 0), exponent=-2), "exponent: got -2"),
        (lambda: fit_recompute(noisy(RECOMPUTE, 0), exponent=1), "exponent: got 1"),
    ],
)
def test_bad_profiles_get_one_line(make, message):
    with pytest.raises(InputError, match="^" + re.escape(message)):
        make()


def test_small_falls_are_noise():
    assert LatencyProfile([3, 1, 2], [2.95, 1, 3]).lengths.tolist() == [1, 2, 3]


def test_a_profile_comes_out_of_a_file(tmp_path):
    path = tmp_path / "profile.csv"
    path.write_text("seconds,length,gpu\n0.5,100,a\n0.9,200,a\n")
    found = profile_from(path)
    assert (found.lengths.tolist(), found.seconds.tolist()) == ([100, 200], [0.5, 0.9])
    path.write_text("seconds,length\n0.5,100\nfast,200\n")
    with pytest.raises(InputError, match=r"numbers \(line 3 has fast\)"):
        profile_from(path)
    path.write_text("time,length\n")
    with pytest.raises(InputError, match="columns length and seconds"):
        profile_from(path)
