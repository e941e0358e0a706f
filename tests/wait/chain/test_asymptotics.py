"""Gaps and frequencies: the identity behind them, and what they must be where that is known."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from fluidkv.errors import InputError
from fluidkv.wait.chain.asymptotics import overflow_frequency, remaining_outputs, throughput_gap
from fluidkv.wait.chain.simulate import simulate_chain
from fluidkv.wait.model import PromptType, WaitSystem
from fluidkv.wait.segments import Segments
from fluidkv.wait.theory.fluid import fluid_equilibrium

SEGMENTS = Segments(3, (1, 3), (Fraction(6), Fraction(2)))
THRESHOLDS = (9, 4)  # r_1 Delta T is 7.0 of 9; p n_1 is 3 of 4
CLOCK: dict[str, Any] = {"base": Fraction(1), "per_kv_token": Fraction(1, 600)}


def test_what_is_left_and_what_was_emitted_make_up_what_came() -> None:
    """Wald: throughput* E[time] = E[emitted] + E[left]. Five errors: by chance once in 1.7e6."""
    found = simulate_chain(SEGMENTS, THRESHOLDS, **CLOCK, runs=128, horizon=60.0)
    left = remaining_outputs(SEGMENTS, THRESHOLDS, found)
    best = 6 * 1 + 2 * 2  # one token in segment 1, two in segment 2
    off = best * found.time.values - found.output_tokens.values - left
    assert abs(off.mean()) < 5 * off.std() / len(off) ** 0.5
    # Without what is left the identity fails by far more than that.
    assert left.mean() > 10 * off.std() / len(off) ** 0.5


def test_with_slack_the_gap_falls_like_one_over_the_horizon() -> None:
    study = throughput_gap(
        SEGMENTS, THRESHOLDS, (1, 4, 16), **CLOCK, horizon=60.0, runs=128, fit_from=1
    )
    # Work left does not grow, so that gap times zeta is constant up to its errors.
    scaled, error = study.gap * study.zetas, study.gap_error * study.zetas
    assert (np.abs(scaled - scaled[-1]) < 5 * np.hypot(error, error[-1])).all()
    assert study.interval[0] < study.exponent < study.interval[1]
    assert abs(study.exponent + 1) < 0.1
    assert (np.abs(study.plain - study.gap) < 10 * np.hypot(study.plain_error, error)).all()


@pytest.mark.thorough
def test_at_the_equilibrium_the_gap_falls_like_one_over_the_root_of_the_horizon() -> None:
    """zeta from 1 to 1e4, 2,000 seeds (WAIT, Theorem 1). Below 1e3 terms in 1 / T bend the line."""
    system = WaitSystem([PromptType(4, 3, 2)], 1, Fraction(1, 96))
    assert fluid_equilibrium(system).per_stage == (8,)
    zetas = (1, 10, 100, 1000, 3000, 10_000)
    study = throughput_gap(
        system, (8,), zetas, horizon=10.0, runs=2000, fit_from=1000, confidence=0.99
    )
    assert study.interval[0] < -0.5 < study.interval[1]
    assert study.interval[1] - study.interval[0] < 0.06
    assert study.latency[-1] / study.latency[3] == pytest.approx(10**0.5, rel=0.15)


def test_frequencies_come_with_exact_intervals() -> None:
    kwargs: dict[str, Any] = {**CLOCK, "horizon": 30.0, "runs": 128}
    never = overflow_frequency(SEGMENTS, THRESHOLDS, **kwargs, capacity=1e5, delta=0.01)
    assert (never.exceeded, never.refuted) == (0, False)
    assert never.interval == pytest.approx((0.0, 1 - 0.005 ** (1 / 128)))  # Clopper, Pearson at 0
    always = overflow_frequency(SEGMENTS, THRESHOLDS, **kwargs, capacity=10, delta=0.9)
    assert (always.frequency, always.refuted) == (1.0, True)
    assert always.peak == never.peak


def test_bad_input_is_named() -> None:
    cases: tuple[tuple[str, dict[str, Any]], ...] = (
        ("zetas", {"zetas": (1,)}),
        ("zetas", {"zetas": (1, 2), "fit_from": 2}),
        ("confidence", {"zetas": (1, 2), "confidence": 1.0}),
    )
    for argument, changed in cases:
        with pytest.raises(InputError) as raised:
            throughput_gap(SEGMENTS, THRESHOLDS, **CLOCK, horizon=1.0, **changed)
        assert raised.value.argument == argument
    with pytest.raises(InputError):
        overflow_frequency(SEGMENTS, THRESHOLDS, **CLOCK, horizon=1.0, capacity=9, delta=0.0)
