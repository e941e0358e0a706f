"""Means, iterations a second and the dominant period of a time series, over one window.

Times here are in seconds, as the engine logs them; an iteration is not a second.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fluidkv.errors import InputError
from fluidkv.measured.timeseries import Array, ReadReport, Timeseries
from fluidkv.record import Record
from fluidkv.verdict import Evidence

_FEWEST_SAMPLES = 8  # below this a straight line and one period fit any series
_MOST_SAMPLES = 10**6  # of uneven ticks laid on a grid
_SURROGATES = 999  # p-values in steps of 0.001
SURROGATE_SEED = 20240229  # any fixed number: the same series always gives the same p-value
_LEVEL = 0.05  # the customary level, for the wording only; the p-value is reported


@dataclass(frozen=True, eq=False)
class Oscillation(Record):
    """The dominant period of a series, and how far it can be trusted.

    Fields:
        period_s: lag of the dominant peak of the autocorrelation, between ticks by the
            parabola through the peak and its two neighbours.
        lag_s: the tick of that peak, without interpolation.
        height: the autocorrelation there, 1 being perfect repetition.
        p_value: share of red-noise (AR(1)) series with the same length and lag-1 correlation
            whose own dominant peak is at least as high. Red noise has no period.
        surrogates: how many such series were drawn, with a fixed seed.
        periodogram_period_s: a second method, the highest bin of the periodogram.
        periodogram_band_s: the periods that the bins next to it stand for; a window of W seconds
            resolves frequencies to 1/W and not finer.
        lags_s, autocorrelation: the whole curve, shape (lags,), from lag 0.
    """

    period_s: float
    lag_s: float
    height: float
    p_value: float
    surrogates: int
    periodogram_period_s: float
    periodogram_band_s: tuple[float, float]
    lags_s: Array
    autocorrelation: Array
    evidence: Evidence = Evidence.SAMPLED

    @property
    def methods_agree(self) -> bool:
        """Whether the periodogram has its peak within one frequency bin of `period_s`."""
        low, high = self.periodogram_band_s
        return low <= self.period_s <= high

    @property
    def beats_red_noise(self) -> bool:
        return self.p_value <= _LEVEL

    @property
    def statement(self) -> str:
        """One sentence on significance and on the second method."""
        beats = "" if self.beats_red_noise else "not "
        agree = "agrees" if self.methods_agree else "disagrees"
        return (
            f"{beats}distinguishable from red noise at the {_LEVEL:.0%} level "
            f"(p = {self.p_value:.3f} from {self.surrogates} AR(1) series); "
            f"the periodogram {agree} ({self.periodogram_period_s:.1f} s)"
        )


@dataclass(frozen=True, eq=False)
class Measurement(Record):
    """Mean, iteration rate and period of a series over one window.

    Fields:
        window_s: first and last tick used, seconds, both included.
        window_rule: one sentence, how the window was chosen.
        samples, tick_s: the uniform grid on which everything below was computed.
        resampled: whether ticks were uneven, so that values on the grid are interpolated.
        backlog_share: share of the window's ticks with waiting > 0.
        running_mean: requests in the batch, averaged over time.
        gen_throughput_mean: output tokens a second, averaged over time.
        iterations_per_s: the time average of (generation throughput / running). In one iteration
            every running request gets one token, so this is the number of iterations in the
            window over its length. Ticks with nothing running count as no iterations.
        iterations_per_s_ratio_of_means: mean throughput over mean running. It weights each tick
            by its batch, so it comes out lower where bigger batches make slower iterations.
        oscillation: the dominant oscillation of `running`, or None.
        no_oscillation: why there is none, or "".
        report: rows of the whole file that its reader kept, changed and dropped; None for a series
            made in memory.
    """

    window_s: tuple[float, float]
    window_rule: str
    samples: int
    tick_s: float
    resampled: bool
    backlog_share: float
    running_mean: float
    gen_throughput_mean: float
    iterations_per_s: float
    iterations_per_s_ratio_of_means: float
    oscillation: Oscillation | None
    no_oscillation: str
    report: ReadReport | None = None

    @property
    def period_s(self) -> float | None:
        return None if self.oscillation is None else self.oscillation.period_s

    @property
    def period_method(self) -> str:
        """How the period was found, or why there is none."""
        if self.oscillation is None:
            return self.no_oscillation
        return (
            "first prominent peak of the autocorrelation of `running`, linear trend removed, "
            f"parabola through the peak; {self.oscillation.statement}"
        )

    def to_dict(self) -> dict[str, object]:
        """Plain values for JSON."""
        found = self.oscillation
        return {
            "window_s": list(self.window_s),
            "window_rule": self.window_rule,
            "samples": self.samples,
            "tick_s": self.tick_s,
            "resampled": self.resampled,
            "backlog_share": self.backlog_share,
            "running_mean": self.running_mean,
            "gen_throughput_mean": self.gen_throughput_mean,
            "iterations_per_s": self.iterations_per_s,
            "iterations_per_s_ratio_of_means": self.iterations_per_s_ratio_of_means,
            "period_s": self.period_s,
            "period_method": self.period_method,
            "period_peak_height": found.height if found else None,
            "period_p_value": found.p_value if found else None,
            "period_evidence": str(found.evidence) if found else None,
            "periodogram_period_s": found.periodogram_period_s if found else None,
            "periodogram_agrees": found.methods_agree if found else None,
            "rows": self.report.to_dict() if self.report else None,
        }


def measure(series: Timeseries, *, window: tuple[float, float] | None = None) -> Measurement:
    """Mean batch, iterations a second and dominant period of a series, over one window.

    Args:
        window: first and last second, both included. Default: the longest stretch with a backlog
            (waiting > 0), less its first and last tenth, in which the batch fills and drains;
            the whole series where there is no backlog (the rule then says so).

    Uneven ticks are resampled to the median tick by linear interpolation.

    Raises:
        InputError: a window that does not increase or holds no tick; uneven ticks that would need a
            grid of more than a million.

    Examples:
        >>> from fluidkv.logs import read_series
        >>> found = fk.measure(read_series("sample:vllm-rtx4090"))
        >>> round(found.running_mean, 1), round(found.iterations_per_s, 1)
        (34.6, 32.5)
        >>> round(found.period_s, 1), found.window_s
        (21.2, (20.0, 149.0))
    """
    inside, rule = _window(series, window)
    t_s = series.t_s[inside]
    grid, tick_s, resampled = _uniform_grid(t_s)
    running = np.interp(grid, t_s, series.running[inside])
    throughput = np.interp(grid, t_s, series.gen_throughput[inside])
    busy = running > 0
    iterations = np.where(busy, throughput / np.where(busy, running, 1.0), 0.0)
    mean = float(running.mean())
    found = find_oscillation(running, tick_s)
    return Measurement(
        window_s=(float(t_s[0]), float(t_s[-1])),
        window_rule=rule,
        samples=len(grid),
        tick_s=tick_s,
        resampled=resampled,
        backlog_share=float((series.waiting[inside] > 0).mean()),
        running_mean=mean,
        gen_throughput_mean=float(throughput.mean()),
        iterations_per_s=float(iterations.mean()),
        iterations_per_s_ratio_of_means=float(throughput.mean()) / mean if mean else 0.0,
        oscillation=None if isinstance(found, str) else found,
        no_oscillation=found if isinstance(found, str) else "",
        report=series.report,
    )


def find_oscillation(values: Array, tick_s: float) -> Oscillation | str:
    """The dominant oscillation of a uniformly sampled series, or why there is none.

    The period is the first prominent peak of the autocorrelation: past its first negative value,
    where the series has ceased to resemble itself by mere inertia, the top of the first hill that
    rises to half of the highest peak. (Half, because noise can lift a repeat of the period above
    the period itself, but does not halve it in a window that shows a period at all.) Lags reach to
    half of the window, so that it holds the period twice. Below about five ticks, where a hill has
    no inner tick, a period may come out as a multiple.

    Significance is judged against red noise, AR(1) with the same lag-1 correlation, passed through
    the same steps. (Phase-randomised copies would be no test: they keep the autocorrelation.)

    Args:
        values: shape (samples,), one value every `tick_s` seconds.
    """
    if len(values) < _FEWEST_SAMPLES:
        return f"{len(values)} samples in the window, {_FEWEST_SAMPLES} needed for a period"
    detrended = _detrend(np.asarray(values, dtype=np.float64))
    # A straight line leaves only rounding, some 1e-16 of the values for each operation.
    if np.abs(detrended).max() <= 1e-12 * max(1.0, float(np.abs(values).max())):
        return "constant, or a straight line: nothing oscillates"
    correlation = _autocorrelation(detrended)
    peak = int(_dominant_peak(correlation))
    if peak == 0:
        return "no positive peak in the autocorrelation within half of the window"
    heights = _red_noise_heights(len(detrended), float(correlation[1]))
    height = float(correlation[peak])
    power = np.abs(np.fft.rfft(detrended)) ** 2
    top = 2 + int(power[2:].argmax())  # periods up to half of the window, as above
    span = len(detrended) * tick_s
    return Oscillation(
        period_s=_parabola_top(correlation, peak) * tick_s,
        lag_s=peak * tick_s,
        height=height,
        # The +1 counts the observed series among the draws, so that p is never zero.
        p_value=(1 + int((heights >= height).sum())) / (1 + len(heights)),
        surrogates=len(heights),
        periodogram_period_s=span / top,
        periodogram_band_s=(span / (top + 1), span / (top - 1)),
        lags_s=tick_s * np.arange(len(correlation), dtype=np.float64),
        autocorrelation=correlation,
    )


def _window(
    series: Timeseries, window: tuple[float, float] | None
) -> tuple[NDArray[np.bool_], str]:
    """Which ticks are used, and the sentence that says why."""
    t_s = series.t_s
    if window is not None:
        first, last = window
        inside = (t_s >= first) & (t_s <= last)
        if not first <= last or not inside.any():
            span = f"{t_s[0]:.12g} to {t_s[-1]:.12g} s"
            raise InputError("window", window, f"first <= last with a tick inside; ticks: {span}")
        share = (series.waiting[inside] > 0).mean()
        return inside, f"chosen by the caller; a backlog (waiting > 0) in {share:.0%} of its ticks"
    stretch = _longest_run(series.waiting > 0, t_s)
    if stretch is None:
        return np.ones(len(t_s), dtype=bool), (
            "the whole series: it shows no backlog (waiting > 0), which the prediction assumes"
        )
    first, last = float(t_s[stretch[0]]), float(t_s[stretch[1]])
    tenth = (last - first) / 10
    inside = (t_s >= first + tenth) & (t_s <= last - tenth)
    if inside.sum() >= _FEWEST_SAMPLES:
        return inside, (
            f"the longest stretch with a backlog (waiting > 0 from {first:.12g} to {last:.12g} s), "
            "less its first and last tenth (fill-up and drain)"
        )
    return (t_s >= first) & (t_s <= last), (
        f"the longest stretch with a backlog (waiting > 0 from {first:.12g} to {last:.12g} s), "
        "too short to leave out fill-up and drain"
    )


def _longest_run(flags: NDArray[np.bool_], t_s: Array) -> tuple[int, int] | None:
    """First and last index of the run of True that spans the most time, ticks breaking ties."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], flags, [False])).astype(np.int8)))
    runs = [(int(a), int(b) - 1) for a, b in zip(edges[::2], edges[1::2], strict=True)]
    return max(runs, key=lambda r: (t_s[r[1]] - t_s[r[0]], r[1] - r[0]), default=None)


def _uniform_grid(t_s: Array) -> tuple[Array, float, bool]:
    """Equally spaced times over the span of `t_s`, their tick, and whether `t_s` differs."""
    if len(t_s) < 2:
        return t_s, 0.0, False
    steps = np.diff(t_s)
    tick_s = float(np.median(steps))
    # Clocks that print microseconds leave such steps; they move no value by more than that.
    if np.abs(steps - tick_s).max() <= 1e-6 * max(1.0, tick_s):
        return t_s, tick_s, False
    # A tick may be far below the gaps: a grid of it over the whole span would fill memory.
    if (t_s[-1] - t_s[0]) / _MOST_SAMPLES > tick_s:
        allowed = f"a span of at most {_MOST_SAMPLES:,} times the median step of its ticks"
        raise InputError("window", (float(t_s[0]), float(t_s[-1])), allowed)
    # The small excess keeps the last tick where the span is a whole number of ticks, rounded.
    count = int((t_s[-1] - t_s[0]) / tick_s + 1e-9) + 1
    return t_s[0] + tick_s * np.arange(count), tick_s, True


def _detrend(values: Array) -> Array:
    """Values less their least-squares line, along the last axis."""
    n = values.shape[-1]
    ramp = np.arange(n) - (n - 1) / 2
    centred = values - values.mean(axis=-1, keepdims=True)
    slope = (centred @ ramp) / (ramp @ ramp)
    return centred - slope[..., None] * ramp


def _autocorrelation(values: Array) -> Array:
    """Autocorrelation at lags 0 ... n // 2 along the last axis, every lag divided by the same n.

    The common divisor keeps every value in [-1, 1] and tapers the lags that few pairs support.
    """
    n = values.shape[-1]
    size = 1 << (2 * n - 1).bit_length()  # room for all lags, so that they do not wrap around
    product = np.fft.irfft(np.abs(np.fft.rfft(values, size)) ** 2, size)[..., : n // 2 + 1]
    return product / product[..., :1]


def _dominant_peak(correlation: Array) -> NDArray[np.int64]:
    """Lag of the top of the first hill past the first negative value, 0 where there is none.

    Along the last axis. A hill rises to at least half of the highest local maximum and ends where
    the curve sinks below that half. The last lag is no maximum: what lies beyond is not known.
    """
    before, here, after = correlation[..., :-2], correlation[..., 1:-1], correlation[..., 2:]
    past_zero = np.logical_or.accumulate(before < 0, axis=-1)
    peaks = past_zero & (here > 0) & (here >= before) & (here > after)
    heights = np.where(peaks, here, 0.0)
    half = heights.max(axis=-1, keepdims=True) / 2
    begun = np.logical_or.accumulate(peaks & (here >= half), axis=-1)
    ended = np.logical_or.accumulate(begun & (here < half), axis=-1)
    hill = np.where(begun & ~ended, heights, 0.0)
    return np.where(peaks.any(axis=-1), 1 + hill.argmax(axis=-1), 0)


def _parabola_top(values: Array, peak: int) -> float:
    """Where the parabola through a peak and its two neighbours has its top."""
    left, top, right = values[peak - 1 : peak + 2].tolist()
    curvature = left - 2 * top + right
    return peak + (0.5 * (left - right) / curvature if curvature else 0.0)


def _red_noise_heights(samples: int, lag_one: float) -> Array:
    """Peak heights of AR(1) series, detrended and searched like the observed one; 0 for no peak.

    Shape (surrogates,).
    """
    rng = np.random.default_rng(SURROGATE_SEED)
    heights = []
    # In blocks of some eight million values, so that a long log does not fill memory.
    block = max(1, min(_SURROGATES, 2**23 // (4 * samples)))
    for start in range(0, _SURROGATES, block):
        noise = rng.standard_normal((samples, min(block, _SURROGATES - start)))
        # Start in the stationary law, whose variance is 1 / (1 - phi^2) for unit steps.
        noise[0] /= math.sqrt(1 - lag_one**2)
        for i in range(1, samples):
            noise[i] += lag_one * noise[i - 1]
        correlation = _autocorrelation(_detrend(noise.T))
        peak = _dominant_peak(correlation)[:, None]
        found = np.take_along_axis(correlation, peak, axis=-1)
        heights.append(np.where(peak > 0, found, 0.0)[:, 0])
    return np.concatenate(heights)
