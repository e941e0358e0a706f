"""Gaps: the identity behind them, and what they must be where that is known."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import xarray as xr
from scipy import optimize

from fluidkv.errors import InputError
from fluidkv.runs.requests import Requests
from fluidkv.serving.clock import IterationClock
from fluidkv.wait.chain.simulate import simulate_chain
from fluidkv.wait.model import PromptType, WaitSystem
from fluidkv.wait.policy import NestedWait
from fluidkv.wait.runs.reference import WaitEngine
from fluidkv.wait.segments import Segments
from fluidkv.wait.theory.fluid import fluid_equilibrium
from fluidkv_papers.theory import gap as gaps
from fluidkv_papers.theory.gap import (
    GapStudy,
    _check_fit,
    _ratio,
    _slope,
    remaining_outputs,
    root_fit,
    throughput_gap,
)

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
    fit = root_fit(study, fit_from=10)
    assert fit.p_value > 0.001
    assert fit.root > 30 * fit.root_error
    assert study.latency[-1] / study.latency[3] == pytest.approx(10**0.5, rel=0.15)


def study_of(gap: np.ndarray, zetas: np.ndarray, error: np.ndarray) -> GapStudy:
    return GapStudy(zetas, gap, error, gap, error, gap, -0.5, (-0.6, -0.4), 0.95)


def test_two_terms_are_found_with_their_errors() -> None:
    """Equal to scipy's curve_fit on noise, and the first terms on none."""
    zetas = np.array([0.1, 1, 10, 100, 1000])
    error = 0.01 * zetas**-0.7
    exact = study_of(3 / np.sqrt(zetas) + 2 / zetas, zetas, error)
    found = root_fit(exact)
    assert (found.root, found.reciprocal) == (pytest.approx(3), pytest.approx(2))
    assert found.p_value == pytest.approx(1)
    noisy = exact.gap + error * np.random.default_rng(0).normal(size=5)
    noisy[0] = 99.0  # not fitted

    def model(zeta: np.ndarray, root: float, reciprocal: float) -> np.ndarray:
        return root / np.sqrt(zeta) + reciprocal / zeta

    values, covariance = optimize.curve_fit(
        model, zetas[1:], noisy[1:], sigma=error[1:], absolute_sigma=True
    )
    found = root_fit(study_of(noisy, zetas, error), fit_from=1)
    assert [found.root, found.reciprocal] == pytest.approx(values.tolist(), rel=1e-6)
    errors = [found.root_error, found.reciprocal_error]
    assert errors == pytest.approx(np.sqrt(np.diag(covariance)).tolist(), rel=1e-4)
    assert 0.001 < found.p_value < 0.999
    assert root_fit(study_of(noisy, zetas, error)).p_value < 1e-9
    with pytest.raises(InputError, match="at least three from 100"):
        root_fit(exact, 100)


@pytest.mark.parametrize(
    ("model", "left"),
    [
        # Spans 3 and 4; who ends segment 1 expects 1/4 of 4 tokens more. Before segment 1 3 tokens
        # each, after its stage 0 3, after stage 1 2; before segment 2 4, then 3, 2, 1.
        (Segments(2, (2, 6), (Fraction(4), Fraction(1))), [7 * 3 + 5 * 3 + 4 + 2 * 5, 25 + 2 * 6]),
        # The same spans as types; prompts of the first expect 2 tokens, of the second 3.
        (
            WaitSystem([PromptType(4, 3, 2), PromptType(4, 3, 3)], 1, 0),
            [7 * 2 + 5 * 2 + 3 + 2 * 5, 5 * 3 + 2 * 6],
        ),
    ],
    ids=["segments", "types"],
)
def test_what_is_left_is_counted_to_the_token(model: Segments | WaitSystem, left: list) -> None:
    state = xr.Dataset(
        {
            "queue": (("run", "segment"), [[7, 1], [0, 0]]),
            "batches": (("run", "segment"), [[1, 2], [9, 9]]),  # filling, full
        }
    )
    assert remaining_outputs(model, (5, 2), state).tolist() == left


def test_ratios_and_slopes_of_known_numbers() -> None:
    above = [np.array([1.0, 3, 1, 3]), np.array([2.0, 4])]
    ratio, error = _ratio(above, [np.full(4, 2.0), np.array([1.0, 3])])
    assert ratio.tolist() == [1, 1.5]
    assert error == pytest.approx([(4 / 3) ** 0.5 / 2 / 2, 0.5**0.5 / 2**0.5 / 2])
    # Logarithms (0, 0), (1, -1), (2, -1) with weights 1, 4, 9; the first point is not fitted.
    zetas, gap = np.exp([-9.0, 0, 1, 2]), np.exp([5.0, 0, -1, -1])
    error = gap / [7, 1, 2, 3]
    assert _slope(zetas, gap, error, zetas >= 1) == pytest.approx(-11 / 38)


def test_an_interval_leaves_half_of_the_rest_on_each_side(monkeypatch: pytest.MonkeyPatch) -> None:
    slopes = iter(range(1001))
    monkeypatch.setattr(gaps, "_slope", lambda *_: next(slopes))
    study = throughput_gap(
        SEGMENTS, THRESHOLDS, (1, 2), **CLOCK, horizon=20.0, runs=40, confidence=0.9
    )
    assert study.exponent == 0
    assert study.interval == pytest.approx((50.95, 950.05))  # of 1, 2, ..., 1000


def test_latency_is_that_of_single_prompts() -> None:
    study = throughput_gap(SEGMENTS, THRESHOLDS, (1, 2), **CLOCK, horizon=150.0, runs=128)
    literal = []
    for seed in range(8):
        random = np.random.default_rng(seed)
        arrival = np.cumsum(random.exponential(1 / 6, 2400))
        outputs = np.where(random.random(2400) < 1 / 3, 3, 1)  # 2 of 6 go on to segment 2
        engine = WaitEngine(
            Requests(3, outputs, arrival=arrival),
            NestedWait(SEGMENTS.ends, THRESHOLDS),
            IterationClock(1.0, 1 / 600),
        )
        while engine.now < 300:
            engine.step()
        came = [p for p in engine.all if p.arrival < engine.now]
        left = np.array([p.last_token_at if p.finished else engine.now for p in came], float)
        spent = left - [p.arrival for p in came]
        literal.append(spent.sum() / (6 * engine.now))
    # Five errors of 8 runs; the error of 128 is a fourth of it.
    error = np.std(literal, ddof=1) / 8**0.5
    assert error < 0.05 * study.latency[1]
    assert abs(np.mean(literal) - study.latency[1]) < 5 * error


def test_bad_input_is_named() -> None:
    cases: tuple[tuple[str, dict[str, Any]], ...] = (
        ("zetas", {"zetas": (1,)}),
        ("zetas", {"zetas": (1, 2), "fit_from": 2}),
        ("confidence", {"zetas": (1, 2), "confidence": 1.0}),
        ("confidence", {"zetas": (1, 2), "confidence": "a"}),
        ("horizon", {"zetas": (1, 2), "horizon": "a"}),
        ("seed", {"zetas": (1, 2), "seed": 10**30}),
        ("zetas", {"zetas": (1, 1)}),
        ("zetas", {"zetas": (1, 2), "runs": 2}),  # some resamples are one run twice: no error
    )
    for argument, changed in cases:
        kwargs: dict[str, Any] = CLOCK | {"horizon": 1.0} | changed
        with pytest.raises(InputError, match=f"^{argument}: "):
            throughput_gap(SEGMENTS, THRESHOLDS, **kwargs)


@pytest.mark.parametrize(("gap", "error"), [(0.0, 0.1), (0.1, 0.0)])
def test_no_line_is_fitted_through_a_gap_or_error_of_0(gap: float, error: float) -> None:
    zetas = np.array([1.0, 2.0])
    with pytest.raises(InputError, match="no fit"):
        _check_fit(zetas, np.array([0.2, gap]), np.array([0.1, error]), zetas > 0)
