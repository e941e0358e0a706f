"""A measured vLLM run: the batch swings about the predicted equilibrium at the predicted period."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fluidkv.figures.figure import Data, Figure, MissingInput, array, scalar
from fluidkv.figures.style import BLACK, BLUE, GREEN, GREY, ORANGE, PALE, zero_line
from fluidkv.measured import SURROGATE_SEED, compare, measure, read_timeseries

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

_LOG = "vllm_rtx4090_llama31_8b"
_MODE_POINTS = 400  # enough for a smooth curve


def data() -> Data:
    """The series, the mode fitted to it, its autocorrelation, and both periods.

    Period and growth of the mode are predicted from the request lengths, with the measured
    iterations a second as the only conversion; its phase and amplitude are fitted.

    Raises:
        MissingInput: the log is not there.
    """
    from fluidkv.exact.stability import stability
    from fluidkv.traces import bench_capacity, read_trace
    from fluidkv.workload import System

    folder = _log_folder()
    series = read_timeseries(folder / "timeseries.csv")
    capacity = bench_capacity(folder)
    if capacity is None:
        raise MissingInput(f"{_LOG}/meta.json does not give the KV capacity")
    workload = read_trace(folder).trace.workload()
    predicted = stability(System(workload, capacity))
    in_flight = float(predicted.equilibrium.in_flight)
    measured = measure(series)
    found, versus = measured.oscillation, compare(measured, in_flight, predicted.leading_period)
    if found is None or versus.predicted_period_s is None:
        raise MissingInput("no oscillation, predicted or measured, in this log")

    growth = float(np.log(predicted.spectral_radius[0])) * measured.iterations_per_s
    start, end = measured.window_s
    inside = (series.t_s >= start) & (series.t_s <= end)
    mode = _Mode(start, 2 * np.pi / versus.predicted_period_s, growth)
    off = series.running[inside] - in_flight
    coefficients = mode.fit(series.t_s[inside], off)
    explained = 1 - np.sum((off - mode.at(series.t_s[inside], coefficients)) ** 2) / np.sum(off**2)
    mode_t = np.linspace(start, end, _MODE_POINTS)
    return {
        "t_s": series.t_s,
        "running": series.running,
        "waiting": series.waiting,
        "mode_t_s": mode_t,
        "mode": in_flight + mode.at(mode_t, coefficients),
        "lag_s": found.lags_s,
        "autocorrelation": found.autocorrelation,
        "window_start_s": start,
        "window_end_s": end,
        "running_mean": measured.running_mean,
        "iterations_per_s": measured.iterations_per_s,
        "measured_period_s": found.period_s,
        "peak_height": found.height,
        "p_value": found.p_value,
        "predicted_in_flight": in_flight,
        "predicted_period_s": versus.predicted_period_s,
        "predicted_growth_per_s": growth,
        "fitted_amplitude": float(np.hypot(*coefficients)),
        "explained_share": float(explained),
        "spread_first_half": float(off[: len(off) // 2].std()),
        "spread_second_half": float(off[len(off) // 2 :].std()),
        "capacity": float(capacity),
        "requests": float(workload.requests or 0),
    }


def draw(data: Data, canvas: "Canvas") -> None:
    canvas.suptitle(FIGURE.title, x=0.01, ha="left")
    top, bottom = canvas.subplots(2, 1, height_ratios=[1.7, 1])
    _draw_series(data, top)
    _draw_autocorrelation(data, bottom)


def caption(data: Data) -> str:
    def shown(name: str, form: str) -> str:
        return format(scalar(data, name), form)

    return (
        "Requests running in vLLM 0.19.0 on one RTX 4090 with "
        f"{shown('capacity', ',.0f')} KV tokens. Dashed: equilibrium predicted from the lengths of "
        f"its {shown('requests', '.0f')} requests, {shown('predicted_in_flight', '.2f')} (measured "
        f"mean {shown('running_mean', '.2f')} in the shaded window). Orange: the predicted growing "
        f"mode. Its period, {shown('predicted_period_s', '.1f')} s at the measured "
        f"{shown('iterations_per_s', '.1f')} iterations a second, and its growth are predicted; "
        f"its phase and its amplitude ({shown('fitted_amplitude', '.1f')} requests at the start of "
        "the window) are fitted by least squares, and it then explains "
        f"{shown('explained_share', '.0%')} of the variation about the equilibrium. The measured "
        "swings do not follow its slow growth: their standard deviation is "
        f"{shown('spread_first_half', '.1f')} requests in the first half of the window and "
        f"{shown('spread_second_half', '.1f')} in the second. Below: autocorrelation in the "
        f"window, whose peak lies at {shown('measured_period_s', '.1f')} s; red noise reaches that "
        f"height with probability {shown('p_value', '.3f')}."
    )


class _Mode:
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


def _draw_series(data: Data, ax: "Axes") -> None:
    start, end = scalar(data, "window_start_s"), scalar(data, "window_end_s")
    level, period = scalar(data, "predicted_in_flight"), scalar(data, "predicted_period_s")
    ax.axvspan(start, end, color=PALE, zorder=0)
    ax.plot(array(data, "t_s"), array(data, "running"), color=BLUE, label="measured")
    ax.axhline(level, color=BLACK, linestyle="--", linewidth=1.0)
    ax.plot(
        array(data, "mode_t_s"),
        array(data, "mode"),
        color=ORANGE,
        label=f"predicted mode, period {period:.1f} s (phase and amplitude fitted)",
    )
    ax.annotate(
        f"predicted equilibrium\n{level:.1f} requests",
        (array(data, "t_s")[-1], level),
        (0, 4),
        textcoords="offset points",
        ha="right",
        va="bottom",
        fontsize=8,
    )
    ax.annotate(
        "window: backlog, less first and last tenth",
        (start, 1),
        (3, 2),
        textcoords="offset points",
        color=GREY,
        fontsize=8,
    )
    ax.set_ylim(0, 58)
    ax.set_xlim(0, array(data, "t_s")[-1] + 1)
    ax.set_xlabel("time (s)")
    ax.set_ylabel("requests running")
    ax.legend(loc="upper left", ncols=2)


def _draw_autocorrelation(data: Data, ax: "Axes") -> None:
    zero_line(ax, 0)
    ax.plot(array(data, "lag_s"), array(data, "autocorrelation"), color=BLUE)
    predicted, found = scalar(data, "predicted_period_s"), scalar(data, "measured_period_s")
    for x, color, text, side in (
        (predicted, ORANGE, f"predicted {predicted:.1f} s", "right"),
        (found, GREEN, f"measured {found:.1f} s", "left"),
    ):
        ax.axvline(x, color=color)
        shift = -4 if side == "right" else 4
        ax.annotate(text, (x, 0.78), (shift, 0), textcoords="offset points", ha=side, color=color)
    ax.set_xlim(0, array(data, "lag_s")[-1])
    ax.set_ylim(-0.5, 1)
    ax.set_xlabel("lag (s)")
    ax.set_ylabel("autocorrelation\nof running")


def _log_folder() -> Path:
    default = Path(__file__).parents[3] / "shared" / "traces"  # beside a checkout
    folder = Path(os.environ.get("FLUIDKV_TRACES") or default) / _LOG
    if not (folder / "timeseries.csv").is_file():
        raise MissingInput(f"no measured log: FLUIDKV_TRACES names no folder with {_LOG}")
    return folder


FIGURE = Figure(
    id="measured_log",
    title="A saturated vLLM server swings about the predicted level, near the predicted period",
    source="Measured log vllm_rtx4090_llama31_8b, from the examples of LLMServingSim (MIT)",
    parameters={"log": _LOG, "window": "default of fluidkv.measured", "seed": SURROGATE_SEED},
    size=(9.0, 5.4),
    data=data,
    draw=draw,
    caption=caption,
)
