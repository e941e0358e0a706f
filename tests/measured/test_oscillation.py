"""Means and the period over a window, of made series and of the measured log."""

from pathlib import Path

import numpy as np
import pytest

from fluidkv.errors import InputError
from fluidkv.measured import Timeseries, find_oscillation, measure, read_timeseries
from fluidkv.verdict import Evidence
from tests.measured.series import of_columns, sine


@pytest.fixture(scope="module")
def real(traces_dir: Path) -> Timeseries:
    return read_timeseries(traces_dir / "vllm_rtx4090_llama31_8b" / "timeseries.csv")


@pytest.mark.parametrize("period", [7.3, 12.0, 21.2, 33.0, 60.0])
@pytest.mark.parametrize("noise", [0.0, 1.0, 3.0])
def test_period_of_a_sine_is_found(period: float, noise: float) -> None:
    series = sine(period, noise=noise, seed=int(period))
    found = measure(series, window=(0, 199)).oscillation
    assert found is not None
    # The taper of the common divisor pulls the peak in by about period^2 / (4 pi^2 (n - period))
    # ticks: at most 0.65 here. Noise of 60 % of the amplitude moves it by about as much again.
    assert found.period_s == pytest.approx(period, abs=0.7 + 0.3 * noise)
    assert found.methods_agree
    assert found.p_value <= 0.01


def test_period_scales_with_the_tick() -> None:
    series = sine(15.0)
    slow = of_columns(series.t_s * 2.5, series.running, series.waiting, series.gen_throughput)
    once, scaled = measure(series).period_s, measure(slow).period_s
    assert once is not None
    assert scaled == pytest.approx(2.5 * once, rel=1e-12)  # the same numbers, one product apart


def test_trend_does_not_hide_the_period() -> None:
    series = sine(18.0)
    tilted = of_columns(
        series.t_s, series.running + 0.3 * series.t_s, series.waiting, series.gen_throughput
    )
    assert measure(tilted).period_s == pytest.approx(measure(series).period_s, rel=1e-9)


def test_red_noise_rarely_beats_red_noise() -> None:
    """The test has the size that it claims: a series without a period passes in about 5 %."""
    rng = np.random.default_rng(1)
    passed = 0
    for _ in range(200):
        noise = rng.standard_normal(130)
        for i in range(1, 130):
            noise[i] += 0.8 * noise[i - 1]
        found = find_oscillation(noise, 1.0)
        passed += not isinstance(found, str) and found.beats_red_noise
    # 200 draws at 5 %: mean 10, standard deviation 3.1; 20 is more than three of them away.
    assert 1 <= passed <= 20


def test_evidence_is_sampled_and_repeatable() -> None:
    series = sine(20.0, noise=4.0, seed=3)
    first, second = measure(series).oscillation, measure(series).oscillation
    assert first is not None
    assert second is not None
    assert first.evidence is Evidence.SAMPLED
    assert first.p_value == second.p_value
    assert "AR(1)" in first.statement


@pytest.mark.parametrize(
    ("running", "reason"),
    [
        (np.full(50, 30.0), "constant"),
        (np.arange(50.0), "straight line"),
        (np.array([3.0, 5.0, 4.0]), "3 samples"),
        # One and a quarter periods: the autocorrelation has no second rise within half of it.
        (np.sin(2 * np.pi * np.arange(50) / 40), "no positive peak"),
    ],
)
def test_no_oscillation_has_a_reason(running: np.ndarray, reason: str) -> None:
    n = len(running)
    result = measure(of_columns(np.arange(n), running + 40, np.ones(n), np.ones(n)))
    assert result.period_s is None
    assert reason in result.period_method
    assert result.to_dict()["period_s"] is None


# --- means and window -------------------------------------------------------------------------


def test_iterations_are_tokens_over_batch() -> None:
    """Batches of 10 at 40 iterations a second, then of 30 at 20: 30 a second over time."""
    running = np.repeat([10.0, 30.0], 20)
    series = of_columns(np.arange(40), running, np.ones(40), running * np.repeat([40, 20], 20))
    result = measure(series, window=(0, 39))
    assert result.iterations_per_s == 30
    assert result.iterations_per_s_ratio_of_means == (400 + 600) / (10 + 30)


def test_idle_ticks_are_no_iterations() -> None:
    running = np.repeat([0.0, 10.0], 10)
    series = of_columns(np.arange(20), running, np.zeros(20), running * 8)
    assert measure(series).iterations_per_s == 4


def test_default_window_is_the_longest_backlog_less_its_tenths() -> None:
    waiting = np.zeros(100)
    waiting[5:20] = 1
    waiting[30:81] = 2
    series = of_columns(np.arange(100), np.full(100, 7), waiting, np.full(100, 7))
    result = measure(series)
    assert result.window_s == (35, 75)
    assert "from 30 to 80 s" in result.window_rule
    assert result.backlog_share == 1


def test_short_backlog_is_used_whole() -> None:
    waiting = np.array([0, 0, 1, 1, 0, 0])
    result = measure(of_columns(np.arange(6), np.arange(6), waiting, np.arange(6)))
    assert result.window_s == (2, 3)
    assert "too short" in result.window_rule


def test_without_backlog_the_rule_says_so() -> None:
    result = measure(of_columns(np.arange(6), np.ones(6), np.zeros(6), np.ones(6)))
    assert result.window_s == (0, 5)
    assert "no backlog" in result.window_rule


def test_one_tick_is_enough_for_means() -> None:
    result = measure(of_columns(np.array([4.0]), np.array([2]), np.array([1]), np.array([6])))
    assert (result.running_mean, result.iterations_per_s, result.period_s) == (2, 3, None)


def test_uneven_ticks_are_averaged_over_time() -> None:
    """Three samples of a straight line, one tick missing: the mean is that of the line."""
    t = np.array([0.0, 1.0, 2.0, 4.0])
    result = measure(of_columns(t, 10 + t, np.ones(4), 10 * (10 + t)), window=(0, 4))
    assert result.resampled
    assert (result.tick_s, result.samples) == (1, 5)
    assert result.running_mean == 12


@pytest.mark.parametrize("window", [(50.0, 40.0), (500.0, 600.0), (float("nan"), 1.0)])
def test_bad_window_is_refused(window: tuple[float, float]) -> None:
    with pytest.raises(InputError, match=r"^window: .* allowed: first <= last"):
        measure(sine(20.0), window=window)


def test_ticks_too_uneven_for_a_grid_are_refused() -> None:
    series = of_columns([0, 1e-9, 2e-9, 1e9], np.ones(4), np.ones(4), np.ones(4))
    with pytest.raises(InputError, match="at most 1,000,000 times the median step"):
        measure(series)


def test_measured_log_between_20_and_150_s(real: Timeseries) -> None:
    result = measure(real, window=(20, 150))
    # Stated as 34.7, 32.5 and 21 to 22. The mean is 34.65 with both ends of the window and 34.71
    # without the tick at 20 s, so it meets the stated 34.7 to 0.06 only.
    assert result.running_mean == pytest.approx(4539 / 131, rel=1e-12)
    assert result.running_mean == pytest.approx(34.7, abs=0.06)
    assert result.iterations_per_s == pytest.approx(32.5, abs=0.05)
    assert result.iterations_per_s_ratio_of_means == pytest.approx(32.3, abs=0.05)
    found = result.oscillation
    assert found is not None
    assert 21 <= found.period_s <= 22
    assert found.lag_s == 21
    assert found.methods_agree
    assert found.beats_red_noise


def test_measured_log_in_the_default_window(real: Timeseries) -> None:
    """Recorded values of this log, to the digits shown."""
    result = measure(real)
    assert result.window_s == (20, 149)
    assert "waiting > 0 from 3 to 166 s" in result.window_rule
    assert not result.resampled
    assert round(result.running_mean, 2) == 34.60
    assert round(result.iterations_per_s, 2) == 32.53
    assert result.period_s is not None
    assert round(result.period_s, 1) == 21.2
