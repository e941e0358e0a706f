"""The picture of a measured log beside its prediction, for any log.

Above: requests running over time, the predicted equilibrium and the predicted mode. Below: the
autocorrelation of what was measured, with both periods. What a log or a prediction does not have
is left out of data, picture and caption.
"""

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fluidkv.figures.figure import Axes, Canvas, Data
from fluidkv.figures.style import BLACK, BLUE, GREEN, ORANGE, PALE, SMALL_NOTE, name_axes, zero_line
from fluidkv.measured import Comparison, Timeseries

if TYPE_CHECKING:
    from fluidkv.exact.linear_stability import StabilityResult

_MODE_POINTS = 400  # enough for a smooth curve
# A mode that grows more than this over the window is either invisible at its start or beyond the
# small deviations, for which alone it is predicted, at its end.
_MOST_GROWTH = 10.0


def measured_data(series: Timeseries, comparison: Comparison, predicted: "StabilityResult") -> Data:
    """The series, its autocorrelation, both periods, and a growing mode fitted to the series.

    Period and growth of the mode are predicted from the request lengths, with the measured
    iterations a second as the only conversion; its phase and amplitude are fitted.
    """
    measured, in_flight = comparison.measured, comparison.predicted_in_flight
    start, end = measured.window_s
    inside = (series.t_s >= start) & (series.t_s <= end)
    off = series.running[inside] - in_flight
    found = measured.oscillation
    data = {
        "t_s": series.t_s,
        "running": series.running,
        "waiting": series.waiting,
        "window_start_s": start,
        "window_end_s": end,
        "running_mean": measured.running_mean,
        "iterations_per_s": measured.iterations_per_s,
        "predicted_in_flight": in_flight,
        "spread_first_half": float(off[: max(1, len(off) // 2)].std()),
        "spread_second_half": float(off[len(off) // 2 :].std()),
        "capacity": float(predicted.system.capacity),
        "requests": float(predicted.system.workload.requests or 0),
    }
    if found is not None:
        data |= {
            "lag_s": found.lags_s,
            "autocorrelation": found.autocorrelation,
            "measured_period_s": found.period_s,
            "peak_height": found.height,
            "p_value": found.p_value,
        }
    if comparison.predicted_period_s is not None:
        growth = math.log(predicted.spectral_radius[0]) * measured.iterations_per_s
        data |= {
            "predicted_period_s": comparison.predicted_period_s,
            "predicted_growth_per_s": growth,
        }
        if 0 < growth * (end - start) <= math.log(_MOST_GROWTH):
            mode = Mode(start, 2 * math.pi / comparison.predicted_period_s, growth)
            data |= _fitted(mode, series.t_s[inside], off, in_flight)
    return data


def draw_measured(data: Data, canvas: Canvas, title: str) -> None:
    """Series and, where there is one, autocorrelation."""
    if "lag_s" not in data:
        _draw_series(data, canvas.subplots())
        return
    top, bottom = canvas.subplots(2, 1, height_ratios=[1.7, 1])
    _draw_series(data, top)
    _draw_autocorrelation(data, bottom)


def describe_measured(data: Data, *, no_oscillation: str = "") -> str:
    """Caption sentences that hold for any log, values taken from the data.

    Args:
        no_oscillation: why no period was measured, where none was.
    """
    words = [
        f"Dashed: the predicted equilibrium, {_shown(data, 'predicted_in_flight', '.2f')} requests "
        f"(measured mean {_shown(data, 'running_mean', '.2f')} in the shaded window).",
        *_mode_words(data),
    ]
    if "lag_s" in data:
        words.append(
            "Below: autocorrelation in the window, whose peak lies at "
            f"{seconds(data['measured_period_s'])}; red noise reaches that height with "
            f"probability {_shown(data, 'p_value', '.3f')}."
        )
    elif no_oscillation:
        words.append(f"No period was measured: {no_oscillation}.")
    return " ".join(words)


def seconds(value: float) -> str:
    """Tenths of a second from 1 s on, two digits below."""
    return f"{value:,.1f} s" if value >= 1 else f"{value:.2g} s"


class Mode:
    """exp(growth t) (a cos wt + b sin wt), with t counted from the start of the window."""

    def __init__(self, start: float, frequency: float, growth: float) -> None:
        self.start, self.frequency, self.growth = start, frequency, growth

    def fit(self, t: NDArray[np.float64], off: NDArray[np.float64]) -> NDArray[np.float64]:
        """Least-squares a and b."""
        solution = np.linalg.lstsq(self._basis(t), off, rcond=None)[0]
        return np.asarray(solution, dtype=np.float64)

    def at(self, t: NDArray[np.float64], ab: NDArray[np.float64]) -> NDArray[np.float64]:
        return self._basis(t) @ ab

    def _basis(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        since = t - self.start
        turns = self.frequency * since
        return np.exp(self.growth * since)[:, None] * np.stack([np.cos(turns), np.sin(turns)], 1)


def _fitted(
    mode: Mode, t_s: NDArray[np.float64], off: NDArray[np.float64], in_flight: float
) -> dict[str, NDArray[np.float64] | float]:
    coefficients = mode.fit(t_s, off)
    left = off - mode.at(t_s, coefficients)
    total = float(np.sum(off**2))
    mode_t = np.linspace(t_s[0], t_s[-1], _MODE_POINTS)
    return {
        "mode_t_s": mode_t,
        "mode": in_flight + mode.at(mode_t, coefficients),
        "fitted_amplitude": float(np.hypot(*coefficients)),
        "explained_share": 1 - float(np.sum(left**2)) / total if total else 0.0,
    }


def _mode_words(data: Data) -> list[str]:
    if "predicted_period_s" not in data:
        return ["No period is predicted."]
    period = (
        f"{seconds(data['predicted_period_s'])} at the measured "
        f"{_shown(data, 'iterations_per_s', '.1f')} iterations a second"
    )
    growth = data["predicted_growth_per_s"]
    if growth == 0:
        return [f"The leading mode, of period {period}, neither grows nor fades by prediction."]
    if growth < 0:
        return [
            f"The equilibrium is predicted stable. Its slowest mode turns once in {period}, and "
            f"fades by a factor e in {seconds(-1 / growth)}: swings last only as long as something "
            "feeds them, so no curve is predicted."
        ]
    if "mode" not in data:
        window = data["window_end_s"] - data["window_start_s"]
        powers = growth * window / math.log(10)
        return [
            f"The predicted growing mode, of period {period}, is not drawn: over the window it "
            f"would grow by a factor of 10^{powers:.1f}, and it is predicted for small deviations "
            "only."
        ]
    first, second = data["spread_first_half"], data["spread_second_half"]
    follows = "do not follow its growth" if second <= first else "grow, too"
    return [
        f"Orange: the predicted growing mode. Its period, {period}, and its growth are predicted; "
        f"its phase and its amplitude ({_shown(data, 'fitted_amplitude', '.1f')} requests at the "
        "start of the window) are fitted by least squares, and it then explains "
        f"{_shown(data, 'explained_share', '.0%')} of the variation about the equilibrium. The "
        f"measured swings {follows}: their standard deviation is {first:.1f} requests in the first "
        f"half of the window and {second:.1f} in the second."
    ]


def _shown(data: Data, name: str, form: str) -> str:
    return format(data[name], form)


def _draw_series(data: Data, ax: Axes) -> None:
    t_s, running = data["t_s"], data["running"]
    # Seconds since 1970 would say nothing: a log that starts far from 0 is shown from its start.
    origin = 0.0 if t_s[0] <= t_s[-1] - t_s[0] else float(t_s[0])
    start, end = (data[f"window_{side}_s"] - origin for side in ("start", "end"))
    level = data["predicted_in_flight"]
    ax.axvspan(start, end, color=PALE, zorder=0)
    ax.plot(t_s - origin, running, color=BLUE, label="measured")
    label = f"predicted equilibrium, {level:.1f} requests"
    ax.axhline(level, color=BLACK, linestyle="--", linewidth=1.0, label=label)
    if "mode" in data:
        period = data["predicted_period_s"]
        label = f"predicted mode, {seconds(period)} (phase and size fitted)"
        ax.plot(data["mode_t_s"] - origin, data["mode"], color=ORANGE, label=label)
    last = float(t_s[-1]) - origin
    ax.annotate("window of the measurement", (start, 0), (3, 4), **SMALL_NOTE)
    # A fifth more than the curves need, for the legend.
    name_axes(ax, "time since the first tick (s)" if origin else "time (s)", "requests running")
    ax.set(
        ylim=(0, 1.2 * max(running.max(), level, np.max(data.get("mode", 0.0)), 1.0)),
        xlim=(min(0.0, float(t_s[0]) - origin), last + 0.005 * max(last, 1.0)),
    )
    ax.legend(loc="upper left", ncols=3)


def _draw_autocorrelation(data: Data, ax: Axes) -> None:
    zero_line(ax, 0)
    lags = data["lag_s"]
    ax.plot(lags, data["autocorrelation"], color=BLUE)
    for source, color in (("predicted", ORANGE), ("measured", GREEN)):
        if f"{source}_period_s" in data:
            period = data[f"{source}_period_s"]
            beyond = ", beyond the lags shown" if period > lags[-1] else ""
            ax.axvline(period, color=color, label=f"{source} period, {seconds(period)}{beyond}")
    ax.legend(loc="upper right", ncols=2)
    ax.set_xlim(0, lags[-1])
    # Above 1 is room for the legend.
    name_axes(ax, "lag (s)", "autocorrelation\nof running")
    ax.set_ylim(min(-0.5, 1.1 * float(data["autocorrelation"].min())), 1.3)
