"""What a running engine showed: a time series of its counters, and the oscillation in it.

`read_timeseries` reads the counters, `measure` takes mean, iteration rate and dominant period from
the part with a backlog, `compare` holds them against a prediction. Times here are in seconds, as
the engine logs them; an iteration is not a second.
"""

import csv
import math
import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fluidkv.errors import InputError
from fluidkv.verdict import Evidence

Array = NDArray[np.float64]

# Our name -> the names that engines and their exporters use, best first. "vllm:" and "sglang:"
# in front of a name are ignored, and so is case.
_COLUMNS = {
    "t": ("t", "t_s", "time", "time_s", "timestamp"),
    "running": ("running", "num_requests_running", "num_running_reqs"),
    "waiting": ("waiting", "num_requests_waiting", "num_queue_reqs"),
    "gen_throughput": (
        "gen_throughput",
        "generation_throughput",
        "avg_generation_throughput_toks_per_s",
    ),
    "kv_cache_pct": ("kv_cache_pct", "kv_cache_usage_perc", "gpu_cache_usage_perc", "token_usage"),
}
_REQUIRED = ("t", "running", "waiting", "gen_throughput")
# These gauges run from 0 to 1 in spite of "perc" in their names.
_FRACTIONS = ("kv_cache_usage_perc", "gpu_cache_usage_perc", "token_usage")

_FEWEST_SAMPLES = 8  # below this a straight line and one period fit any series
_SURROGATES = 999  # p-values in steps of 0.001
SURROGATE_SEED = 20240229  # any fixed number: the same series always gives the same p-value
_LEVEL = 0.05  # the customary level, for the wording only; the p-value is reported


@dataclass(frozen=True)
class ReadReport:
    """What a reader did to a file. `dropped` and `changed` pair a reason with a count of rows."""

    rows_read: int
    rows_kept: int
    dropped: tuple[tuple[str, int], ...] = ()
    changed: tuple[tuple[str, int], ...] = ()

    @property
    def statement(self) -> str:
        """One line: rows read and kept, and why others were dropped or changed."""
        words = [f"{self.rows_read:,} rows read, {self.rows_kept:,} kept"]
        words += [f"{count:,} dropped: {reason}" for reason, count in self.dropped]
        words += [f"{count:,} changed: {reason}" for reason, count in self.changed]
        return "; ".join(words)

    def as_dict(self) -> dict[str, object]:
        """Plain values for JSON."""
        return {
            "read": self.rows_read,
            "kept": self.rows_kept,
            "dropped_because": [{"what": what, "rows": rows} for what, rows in self.dropped],
            "changed_because": [{"what": what, "rows": rows} for what, rows in self.changed],
        }


@dataclass(frozen=True, eq=False)
class Timeseries:
    """Counters of one engine, one row a tick.

    Args:
        t_s: seconds, strictly increasing, shape (ticks,).
        running: requests in the batch, shape (ticks,).
        waiting: requests in the queue, shape (ticks,).
        gen_throughput: output tokens a second, shape (ticks,).
        kv_cache_pct: KV cache in use, per cent, shape (ticks,), NaN where unreadable; or None.
        report: what the reader kept and dropped; None for a series made in memory.

    Raises:
        InputError: no ticks, unequal lengths, values that are not finite, times that do not
            increase.
    """

    t_s: Array
    running: Array
    waiting: Array
    gen_throughput: Array
    kv_cache_pct: Array | None = None
    report: ReadReport | None = None

    def __post_init__(self) -> None:
        for name in ("t_s", "running", "waiting", "gen_throughput", "kv_cache_pct"):
            values = getattr(self, name)
            if values is None and name == "kv_cache_pct":
                continue
            values = np.array(values, dtype=np.float64)
            if values.ndim != 1 or values.size == 0 or values.size != np.size(self.t_s):
                raise InputError(name, values.shape, "one number a tick, at least one tick")
            if name != "kv_cache_pct" and not np.isfinite(values).all():
                raise InputError(name, "nan or inf", "finite numbers")
            values.flags.writeable = False
            object.__setattr__(self, name, values)
        if (np.diff(self.t_s) <= 0).any():
            raise InputError("t_s", "times that do not increase", "strictly increasing seconds")


@dataclass(frozen=True, eq=False)
class Oscillation:
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
class Measurement:
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

    def as_dict(self) -> dict[str, object]:
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
            "rows": self.report.as_dict() if self.report else None,
        }


@dataclass(frozen=True, eq=False)
class Comparison:
    """A prediction beside a measurement. Differences are (predicted - measured) / measured."""

    measured: Measurement
    predicted_in_flight: float
    predicted_period_s: float | None

    @property
    def in_flight_difference(self) -> float | None:
        return _relative(self.predicted_in_flight, self.measured.running_mean)

    @property
    def period_difference(self) -> float | None:
        return _relative(self.predicted_period_s, self.measured.period_s)

    def as_dict(self) -> dict[str, dict[str, object]]:
        """Plain values for JSON, with the keys `measured.*`, `predicted.*`, `difference.*`."""
        return {
            "measured": self.measured.as_dict(),
            "predicted": {
                "in_flight": self.predicted_in_flight,
                "period_s": self.predicted_period_s,
            },
            "difference": {
                "in_flight": self.in_flight_difference,
                "period_s": self.period_difference,
            },
        }


def read_timeseries(path: str | Path) -> Timeseries:
    """Read an engine's counters from a CSV file with a header line.

    Columns are found by name, in any order; others are ignored. Needed: `t` (seconds), `running`,
    `waiting`, `gen_throughput` (tokens a second); `kv_cache_pct` where present. The names of the
    engines' Prometheus gauges are understood too (`num_requests_running`, ...); a KV gauge that
    runs from 0 to 1 is turned into per cent.

    A row with a cell that is no finite number, or is negative, or that repeats the time before it,
    is dropped and counted in `report`. An unreadable `kv_cache_pct` becomes NaN and is counted.

    Raises:
        InputError: a missing, empty or binary file; missing columns; time that goes backwards
            (two runs in one file, or rows out of order); no row left.
    """
    lines = _lines(path)
    header, body = lines[0], lines[1:]
    places = _find_columns(header)
    rows: list[list[float]] = []
    kv: list[float] = []
    dropped: Counter[str] = Counter()
    changed: Counter[str] = Counter()
    for number, cells in body:
        values = [_number(cells, places[name]) for name in _REQUIRED]
        fault = _fault(values, rows)
        if fault:
            dropped[fault] += 1
            continue
        if rows and values[0] < rows[-1][0]:
            raise InputError(
                "measured",
                f"line {number}: t falls from {rows[-1][0]:.12g} to {values[0]:.12g}",
                "one run with increasing times",
            )
        rows.append(values)
        if "kv_cache_pct" in places:
            kv.append(_number(cells, places["kv_cache_pct"]))
            if math.isnan(kv[-1]):
                changed["kv_cache_pct unreadable, set to NaN"] += 1
    if not rows:
        why = "; ".join(f"{count} rows with {reason}" for reason, count in dropped.items())
        raise InputError("measured", why or "a header only", "at least one row of finite numbers")
    t_s, running, waiting, throughput = np.array(rows).T
    scale = 100.0 if _is_fraction(header[1], places.get("kv_cache_pct")) else 1.0
    return Timeseries(
        t_s,
        running,
        waiting,
        throughput,
        kv_cache_pct=scale * np.array(kv) if kv else None,
        report=ReadReport(len(body), len(rows), tuple(dropped.items()), tuple(changed.items())),
    )


def measure(series: Timeseries, *, window: tuple[float, float] | None = None) -> Measurement:
    """Mean batch, iterations a second and dominant period of a series, over one window.

    Args:
        window: first and last second, both included. Default: the longest stretch with a backlog
            (waiting > 0), less its first and last tenth, in which the batch fills and drains;
            the whole series where there is no backlog (the rule then says so).

    Uneven ticks are resampled to the median tick by linear interpolation.

    Raises:
        InputError: a window that does not increase or holds no tick.
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


def compare(
    measurement: Measurement, in_flight: float, period_iterations: float | None
) -> Comparison:
    """Hold the equilibrium and the period of a mode against a measurement.

    Args:
        in_flight: requests running at the predicted equilibrium.
        period_iterations: predicted period, iterations; None where no mode oscillates. It is
            turned into seconds with the measured iterations a second.
    """
    rate = measurement.iterations_per_s
    period_s = None if period_iterations is None or not rate else float(period_iterations) / rate
    return Comparison(measurement, float(in_flight), period_s)


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


def _lines(path: str | Path) -> list[tuple[int, list[str]]]:
    """Line number and cells of the header and of every row that is not blank."""
    allowed = "a readable CSV file with a header line"
    if os.path.exists(path) and not os.path.isfile(path):  # a pipe or a device may never end
        raise InputError("measured", f"not a regular file: {path}", allowed)
    try:
        text = Path(path).read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise InputError("measured", f"{error.strerror}: {path}", allowed) from None
    except (UnicodeDecodeError, ValueError):
        raise InputError("measured", f"not text: {path}", allowed) from None
    if "\0" in text:
        raise InputError("measured", f"not text: {path}", allowed)
    try:
        reader = csv.reader(text.splitlines())
        lines = [(reader.line_num, cells) for cells in reader if any(c.strip() for c in cells)]
    except csv.Error as error:
        raise InputError("measured", f"{error}: {path}", allowed) from None
    if not lines:
        raise InputError("measured", f"empty: {path}", allowed)
    return lines


def _find_columns(header: tuple[int, list[str]]) -> dict[str, int]:
    """Our column name -> its place in the file."""
    names = [_plain(cell) for cell in header[1]]
    places = {
        ours: names.index(alias)
        for ours, aliases in _COLUMNS.items()
        for alias in reversed(aliases)  # the last one written wins, so the best name goes last
        if alias in names
    }
    missing = [name for name in _REQUIRED if name not in places]
    if missing:
        allowed = "; ".join(f"{name} (or {', '.join(_COLUMNS[name][1:])})" for name in missing)
        raise InputError("measured", header[1], f"a header with the missing columns {allowed}")
    return places


def _plain(cell: str) -> str:
    return cell.strip().lower().removeprefix("vllm:").removeprefix("sglang:")


def _is_fraction(header: list[str], place: int | None) -> bool:
    return place is not None and _plain(header[place]) in _FRACTIONS


def _number(cells: list[str], place: int) -> float:
    """The cell as a finite number of at least 0, else NaN."""
    try:
        value = float(cells[place])
    except (ValueError, IndexError):
        return math.nan
    return value if math.isfinite(value) and value >= 0 else math.nan


def _fault(values: list[float], kept: list[list[float]]) -> str:
    if any(math.isnan(v) for v in values):
        return "a cell that is missing, negative or not a finite number"
    if kept and values[0] == kept[-1][0]:
        return "the same time as the row before"
    return ""


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


def _relative(predicted: float | None, measured: float | None) -> float | None:
    if predicted is None or not measured:
        return None
    return (predicted - measured) / measured
