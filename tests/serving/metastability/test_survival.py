"""Survival and hazard against values by hand, and against the coverage that they promise."""

import math

import numpy as np
import pytest

from fluidkv.errors import InputError
from fluidkv.serving.metastability.survival import hazard, kaplan_meier, memoryless


def test_kaplan_meier_by_hand() -> None:
    """Six runs; one is cut off at 3, after the event there, and one at 6."""
    found = kaplan_meier([1, 3, 3, 4, 4, 6], [True, True, False, True, True, False])
    assert found.time.tolist() == [1, 3, 4]
    assert found.at_risk.tolist() == [6, 5, 3]
    np.testing.assert_allclose(found.share, [5 / 6, 5 / 6 * 4 / 5, 5 / 6 * 4 / 5 / 3])
    # Greenwood at t = 3: sum d / (n (n - d)) = 1/30 + 1/20, on the scale of log(-log S).
    spread = 1.959964 * math.sqrt(1 / 30 + 1 / 20) / -math.log(2 / 3)
    assert found.low[1] == pytest.approx((2 / 3) ** math.exp(spread), rel=1e-6)
    assert found.high[1] == pytest.approx((2 / 3) ** math.exp(-spread), rel=1e-6)


def test_without_censoring_survival_is_the_share_left() -> None:
    times = np.random.default_rng(1).integers(1, 30, 200)
    found = kaplan_meier(times, np.ones(200, bool))
    np.testing.assert_allclose(
        found.share, [(times > t).mean() for t in found.time], rtol=1e-12, atol=1e-12
    )
    assert found.share[-1] == found.low[-1] == found.high[-1] == 0


def test_survival_between_events() -> None:
    found = kaplan_meier([2, 5], [True, False])
    np.testing.assert_array_equal(found.at([0, 1.9, 2, 9])[:, 0], [1, 1, 0.5, 0.5])


def test_intervals_cover_as_often_as_they_say() -> None:
    """500 samples: coverage 0.95 has standard error 0.01; four of them are allowed."""
    rng, inside, rates = np.random.default_rng(4), 0, 0
    for _ in range(500):
        times = rng.exponential(10, 60)
        cut = rng.exponential(20, 60)
        duration, came = np.minimum(times, cut), times <= cut
        _, low, high = kaplan_meier(duration, came).at([7.0])[0]
        inside += low <= math.exp(-0.7) <= high
        found = hazard(duration, came)
        rates += found.low <= 0.1 <= found.high
    assert abs(inside / 500 - 0.95) < 0.04
    assert abs(rates / 500 - 0.95) < 0.04


def test_hazard_by_hand() -> None:
    found = hazard([4, 6, 10], [True, True, False])
    assert (found.events, found.exposure, found.rate, found.mean_time) == (2, 20, 0.1, 10)
    # Chance of at most 2 events at the upper limit, and of at least 2 at the lower one, is 2.5 %.
    high, low = found.high * 20, found.low * 20
    assert math.exp(-high) * (1 + high + high**2 / 2) == pytest.approx(0.025, rel=1e-9)
    assert 1 - math.exp(-low) * (1 + low) == pytest.approx(0.025, rel=1e-9)


def test_no_event_still_bounds_the_hazard() -> None:
    found = hazard([100, 100], [False, False])
    assert (found.rate, found.low) == (0, 0)
    assert found.high == pytest.approx(-math.log(0.025) / 200, rel=1e-12)
    assert found.mean_time == math.inf


def test_exponential_times_are_memoryless_and_others_are_not() -> None:
    rng = np.random.default_rng(9)
    p = np.array(
        [
            memoryless(np.minimum(t, 15), t < 15)
            for t in (rng.exponential(10, 300) for _ in range(300))
        ]
    )
    # p is uniform: 0.05 +- 0.0126 of them below 0.05, four standard errors allowed
    assert abs((p < 0.05).mean() - 0.05) < 0.05
    assert abs(p.mean() - 0.5) < 4 / math.sqrt(12 * 300)
    # The same in discrete time, a tenth of the mean apart; uncorrected it would fail every time.
    p = np.array(
        [
            memoryless(t, np.ones(400, bool), resolution=1)
            for t in (rng.geometric(0.1, 400) for _ in range(300))
        ]
    )
    assert abs((p < 0.05).mean() - 0.05) < 0.05
    aging = rng.weibull(1.7, 300) * 10
    assert memoryless(aging, np.ones(300, bool)) < 1e-4
    assert math.isnan(memoryless(aging[:30], np.ones(30, bool)))


def test_a_delay_is_left_out_by_after() -> None:
    times = 5 + np.random.default_rng(2).exponential(10, 400)
    came = np.ones(400, bool)
    assert memoryless(times, came) < 1e-6
    assert memoryless(times, came, after=5) > 0.01


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: kaplan_meier([1, -2], [True, True]), "duration"),
        (lambda: kaplan_meier([1, math.nan], [True, True]), "duration"),
        (lambda: kaplan_meier([1, 2], [True]), "observed"),
        (lambda: kaplan_meier([1, 2], [True, True], level=1), "level"),
        (lambda: hazard([0, 0], [False, False]), "duration"),
        (lambda: memoryless([1, 2], [True, True], parts=1), "parts"),
    ],
)
def test_bad_input_is_one_line(call, named: str) -> None:
    with pytest.raises(InputError, match=rf"^{named}: got "):
        call()
