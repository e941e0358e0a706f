"""Frequencies of overflow: their intervals, and which iterations count."""

from fractions import Fraction
from typing import Any

import pytest

from fluidkv.errors import InputError
from fluidkv.wait.chain.overflow import overflow_frequency
from fluidkv.wait.segments import Segments

SEGMENTS = Segments(3, (1, 3), (Fraction(6), Fraction(2)))
THRESHOLDS = (9, 4)  # r_1 Delta T is 7.0 of 9; p n_1 is 3 of 4
CLOCK: dict[str, Any] = {"base": Fraction(1), "per_kv_token": Fraction(1, 600)}


def test_frequencies_come_with_exact_intervals() -> None:
    kwargs: dict[str, Any] = {**CLOCK, "horizon": 30.0, "runs": 128}
    never = overflow_frequency(SEGMENTS, THRESHOLDS, **kwargs, capacity=1e5, delta=0.01)
    assert (never.exceeded, never.refuted) == (0, False)
    assert never.interval == pytest.approx((0.0, 1 - 0.005 ** (1 / 128)))  # Clopper, Pearson at 0
    always = overflow_frequency(SEGMENTS, THRESHOLDS, **kwargs, capacity=10, delta=0.9)
    assert (always.frequency, always.refuted) == (1.0, True)
    assert always.peak == never.peak


def test_an_excess_after_the_horizon_is_not_counted() -> None:
    """The first batch waits for 9 prompts of 3 tokens each, far longer than the horizon."""
    kwargs: dict[str, Any] = {**CLOCK, "runs": 128, "capacity": 26}
    after = overflow_frequency(SEGMENTS, THRESHOLDS, **kwargs, horizon=1e-6)
    assert (after.exceeded, after.peak) == (0, 27.0)
    assert overflow_frequency(SEGMENTS, THRESHOLDS, **kwargs, horizon=1e3).exceeded == 128


def test_a_delta_that_is_no_probability_is_named() -> None:
    with pytest.raises(InputError):
        overflow_frequency(SEGMENTS, THRESHOLDS, **CLOCK, horizon=1.0, capacity=9, delta=0.0)
