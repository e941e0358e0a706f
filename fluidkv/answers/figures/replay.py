"""A measured vLLM run against what the engine's rules predict, with a clock from half of it."""

from collections.abc import Iterable
from functools import partial

import numpy as np

from fluidkv.answers.replay.result import Prediction, Replay
from fluidkv.figures.figure import Axes, Canvas, Data, Figure
from fluidkv.figures.style import BLACK, BLUE, GREEN, ORANGE, PALE, SMALL_NOTE, name_axes

SERIES = (
    ("running", "requests running", 1),
    ("waiting", "requests waiting", 1),
    ("kv_used", "KV in use (%)", 100),
)
_COLOURS = {"main": ORANGE, "plain": GREEN}
SIZE = (10.0, 6.6)


def replay_figure(found: Replay) -> Figure:
    """The picture of one replay, for any log."""
    return Figure(
        id="replay",
        title=_title(found),
        source="the measured log, and fluidkv.replay",
        parameters={"fitted": found.fitted, "engine": found.main.rules.label},
        size=SIZE,
        data=partial(replay_data, found),
        draw=partial(draw_replay, title=_title(found)),
        caption=describe,
    )


def replay_data(found: Replay) -> Data:
    """Ticks of the log and of two predictions, latencies of the predicted half, and the errors.

    "main" is the prediction that the server's settings ask for, "plain" the one without a prefix
    cache, where that is another.
    """
    log = found.log
    data: dict[str, np.ndarray | float] = {
        "t_s": log.tick_ends_s,
        "middle_s": found.middle_s,
        "fitted_first": float(found.fitted == "first"),
        "requests": float(log.report.kept),
        "window_first_s": found.swing.window_s[0],
        "window_last_s": found.swing.window_s[1],
        "half_first_s": found.swing_predicted.window_s[0],
        "half_last_s": found.swing_predicted.window_s[1],
        **_swings("measured", found),
        "base_ms": 1e3 * found.fit.clock.base,
        "per_kv_token_ns": 1e9 * found.fit.clock.per_kv_token,
        "per_prefill_token_us": 1e6 * found.fit.clock.per_prefill_token,
        "baseline_latency_error": _median(found.baseline_errors, "latency"),
        "baseline_latency_error_in_half": _median_in_half(found.baseline_errors, "latency"),
        "baseline_running_rmse": _rmse(found.baseline_errors, "running"),
    }
    first = log.last_token_s <= found.middle_s
    chosen = ~first if found.fitted == "first" else first
    for name, _, scale in SERIES:
        data[f"measured_{name}"] = scale * getattr(found.measured, name)
    for name in ("latency", "ttft"):
        data[f"measured_{name}_s"] = getattr(found.measured, name)[chosen]
    for label, prediction in _shown(found).items():
        for name, _, scale in SERIES:
            data[f"{label}_{name}"] = scale * getattr(prediction.account, name)
        for name in ("latency", "ttft"):
            data[f"{label}_{name}_s"] = getattr(prediction.account, name)[chosen]
            data[f"{label}_{name}_error"] = _median(prediction.errors, name)
            data[f"{label}_{name}_error_in_half"] = _median_in_half(prediction.errors, name)
        data[f"{label}_running_rmse"] = _rmse(prediction.errors, "running")
        data |= _swings(label, prediction)
        data[f"{label}_preemptions"] = float(prediction.preemptions)
        data[f"{label}_recomputed_tokens"] = float(prediction.recomputed_tokens)
        data[f"{label}_cache"] = float(prediction.caching)
    return data


def _shown(found: Replay) -> dict[str, "Prediction"]:
    plain = [p for p in found.predictions if p.rules is found.main.rules and not p.caching]
    return {"main": found.main} | ({"plain": plain[0]} if plain and found.main.caching else {})


def _median(errors: object, name: str) -> float:
    found = errors[name]  # pyright: ignore[reportIndexIssue]
    return float("nan") if found is None else found.median_relative


def _median_in_half(errors: object, name: str) -> float:
    found = errors[name]  # pyright: ignore[reportIndexIssue]
    return float("nan") if found is None else _or_nan(found.median_in_half)


def _swings(label: str, of: "Replay | Prediction") -> dict[str, float]:
    return {
        f"{label}_period_s": _or_nan(of.swing.period_s),
        f"{label}_p_value": _or_nan(of.swing.p_value),
        f"{label}_half_period_s": _or_nan(of.swing_predicted.period_s),
        f"{label}_half_p_value": _or_nan(of.swing_predicted.p_value),
    }


def _rmse(errors: object, name: str) -> float:
    return errors[name].rmse  # pyright: ignore[reportIndexIssue]


def _or_nan(value: float | None) -> float:
    return float("nan") if value is None else value


def _title(found: Replay) -> str:
    other = "second" if found.fitted == "first" else "first"
    error = _median_in_half(found.main.errors, "latency")
    return (
        f"Clock from the {found.fitted} half: latencies of the {other} half off by "
        f"{error:.1%} of their time in it (median)"
    )


def draw_replay(data: Data, canvas: Canvas, title: str) -> None:
    """Three series over time; beside them each request's latency, predicted against measured."""
    left, right = canvas.add_gridspec(1, 2, width_ratios=[2.3, 1])
    axes = [canvas.add_subplot(place) for place in left.subgridspec(3, 1)]
    for ax in axes[:-1]:
        ax.sharex(axes[-1])
        ax.tick_params(labelbottom=False)
    for ax, (name, label, _) in zip(axes, SERIES, strict=True):
        _series(data, ax, name, label)
    shade_fitted(data, axes, axes[0])
    axes[1].legend(loc="upper right")
    axes[-1].set(xlabel="time (s)", xlim=(0, float(data["t_s"][-1])), ylim=(0, 105))
    above, below = (canvas.add_subplot(place) for place in right.subgridspec(2, 1))
    _scatter(data, above, "latency", "latency (s)")
    _scatter(data, below, "ttft", "time to first token (s)")


def shade_fitted(data: Data, axes: Iterable[Axes], labelled: Axes) -> None:
    """The half that the clock is from, on all axes; one of them says what it is."""
    middle, last = float(data["middle_s"]), float(data["t_s"][-1])
    first, end = (0.0, middle) if data["fitted_first"] else (middle, last)
    for ax in axes:
        ax.axvspan(first, end, color=PALE, zorder=0)
    labelled.annotate(
        "the clock is from here",
        ((first + end) / 2, 1),
        (0, -3),
        xycoords=("data", "axes fraction"),
        ha="center",
        va="top",
        **SMALL_NOTE,
    )


def _labels(data: Data) -> dict[str, str]:
    if "plain_running" not in data:
        return {"main": "predicted"}
    return {
        "main": "predicted, evicted requests find their own blocks",
        "plain": "predicted, all is computed again",
    }


def _series(data: Data, ax: Axes, name: str, label: str) -> None:
    t_s = data["t_s"]
    ax.plot(t_s, data[f"measured_{name}"], color=BLUE, label="measured")
    for which, words in reversed(_labels(data).items()):
        style = "-" if which == "main" else ":"
        values = data[f"{which}_{name}"]
        ax.plot(t_s, values, color=_COLOURS[which], label=words, linewidth=1.2, linestyle=style)
    ax.set_ylabel(label)
    highest = max(data[f"{which}_{name}"].max() for which in ("measured", *_labels(data)))
    ax.set_ylim(0, 1.15 * max(float(highest), 1.0))  # room for the words above


def _scatter(data: Data, ax: Axes, name: str, label: str) -> None:
    measured = data[f"measured_{name}_s"]
    ours = [data[f"{which}_{name}_s"] for which in _labels(data)]
    top = 1.05 * max(1.0, *(float(x.max(initial=0.0)) for x in (measured, *ours)))
    ax.plot([0, top], [0, top], color=BLACK, linewidth=0.8)
    for which in reversed(_labels(data)):
        ax.plot(measured, data[f"{which}_{name}_s"], ".", color=_COLOURS[which], markersize=3)
    name_axes(ax, f"measured {label}", f"predicted {label}")
    ax.set(xlim=(0, top), ylim=(0, top))


def describe(data: Data) -> str:
    """Caption sentences that hold for any log, values taken from the data."""
    half = "first" if data["fitted_first"] else "second"
    other = "second" if half == "first" else "first"
    words = [
        f"{data['requests']:.0f} requests of a measured vLLM run, at their own times, "
        f"through vLLM's rules; an iteration lasts {data['base_ms']:.1f} ms, "
        f"{data['per_kv_token_ns']:.0f} ns more for each KV token and "
        f"{data['per_prefill_token_us']:.0f} us for each token of prefill, by the {half} "
        f"half of the run (shaded). Right: requests that finished in the {other} half.",
        f"There the predicted latencies are off by "
        f"{data['main_latency_error_in_half']:.1%} of the time that they spend in that "
        f"half (median), and running by {data['main_running_rmse']:.1f} (root mean square)",
    ]
    if "plain_running" in data:
        words[-1] += (
            f", if a preempted request finds the blocks of its own that nobody took; "
            f"{data['plain_latency_error_in_half']:.1%} and "
            f"{data['plain_running_rmse']:.1f} if all is computed again"
        )
    words[-1] += (
        f"; constant rates: {data['baseline_latency_error_in_half']:.1%} and "
        f"{data['baseline_running_rmse']:.1f}."
    )
    if half == "first":
        words.append(
            f"As a share of all of a latency, the fitted half included: "
            f"{data['main_latency_error']:.1%}; constant rates: "
            f"{data['baseline_latency_error']:.1%}."
        )
    for where, kind, span in (
        ("in both halves", "", "window"),
        (f"in the {other} half alone", "half_", "half"),
    ):
        measured, ours = (data[f"{who}_{kind}period_s"] for who in ("measured", "main"))
        if np.isfinite(measured) and np.isfinite(ours):
            words.append(
                f"Period of the batch {where} ({data[f'{span}_first_s']:.0f} to "
                f"{data[f'{span}_last_s']:.0f} s): {measured:.1f} s (p = "
                f"{data[f'measured_{kind}p_value']:.3f} against red noise), predicted "
                f"{ours:.1f} s (p = {data[f'main_{kind}p_value']:.3f})."
            )
    return " ".join(words)
