"""A measured SGLang run against its own scheduler here, with a clock from half of the log."""

from functools import partial

import numpy as np

from fluidkv.answers.figures.replay import SERIES, replay_figure, shade_fitted
from fluidkv.answers.replay.result import Replay
from fluidkv.figures.figure import Axes, Canvas, Data, Figure
from fluidkv.figures.style import BLUE, ORANGE

SIZE = (9.0, 6.6)


def figure_of_replay(replay: Replay) -> Figure:
    """The picture of any log: of one that counts decode steps, that has no times of requests."""
    return steps_figure(replay) if replay.counts_steps else replay_figure(replay)


def steps_figure(found: Replay) -> Figure:
    """The picture of one replay, for any log that counts decode steps."""
    return Figure(
        id="replay",
        title=_title(found),
        source="the measured log, and fluidkv.replay",
        parameters={"fitted": found.fitted, "engine": found.main.rules.label},
        size=SIZE,
        data=partial(steps_data, found),
        draw=draw_steps,
        caption=describe,
    )


def steps_data(found: Replay) -> Data:
    """Rows of the log and of the prediction, and when requests were preempted in both."""
    data: dict[str, np.ndarray | float] = {
        "t_s": found.log.tick_ends_s,
        "middle_s": found.middle_s,
        "fitted_first": float(found.fitted == "first"),
        "requests": float(len(found.log.input_lengths)),
        "base_ms": 1e3 * found.fit.clock.base,
        "per_kv_token_ns": 1e9 * found.fit.clock.per_kv_token,
        "per_prefill_token_us": 1e6 * found.fit.clock.per_prefill_token,
        "predicted_duration_s": found.main.duration_s,
        "measured_duration_s": np.nan if found.duration_s is None else found.duration_s,
        "measured_preemptions": float(found.preemptions_seen),
        "predicted_preemptions": float(found.main.preemptions),
    }
    for who, account in (("measured", found.measured), ("predicted", found.main.account)):
        at = account.preempted_s
        data[f"{who}_preempted_s"] = np.zeros(0) if at is None else np.asarray(at)
        for name, _, scale in SERIES:
            data[f"{who}_{name}"] = scale * getattr(account, name)
    for name, _, scale in SERIES:
        for who, errors in (("", found.main.errors), ("baseline_", found.baseline_errors)):
            error = errors[name]
            off = np.nan if error is None else error.rmse  # pyright: ignore[reportAttributeAccessIssue]
            data[f"{who}{name}_rmse"] = scale * off
    return data


def _title(found: Replay) -> str:
    return (
        f"Clock from the {found.fitted} half of the log: {found.main.preemptions} retractions "
        f"predicted, {found.preemptions_seen} logged"
    )


def draw_steps(data: Data, canvas: Canvas) -> None:
    """Three series over time, one above the other; retractions under the first."""
    axes = list(canvas.subplots(3, 1, sharex=True))
    last = float(data["t_s"][-1])
    for ax, (name, label, _) in zip(axes, SERIES, strict=True):
        _series(data, ax, name, label)
    for who, colour, height in (("measured", BLUE, 0.04), ("predicted", ORANGE, 0.11)):
        at = data[f"{who}_preempted_s"]
        if at.size:
            axes[0].plot(
                *(at, np.full(at.size, height)),
                "|",
                color=colour,
                markersize=7,
                transform=axes[0].get_xaxis_transform(),
                label=f"a retraction, {who}",
            )
    shade_fitted(data, axes, axes[1])
    axes[0].legend(loc="upper right", ncols=2)
    axes[-1].set(xlabel="time (s)", xlim=(0, last), ylim=(0, 105))


def _series(data: Data, ax: Axes, name: str, label: str) -> None:
    for who, colour in (("measured", BLUE), ("predicted", ORANGE)):
        ax.plot(data["t_s"], data[f"{who}_{name}"], color=colour, label=who, linewidth=1.2)
    ax.set_ylabel(label)
    highest = max(float(data[f"{who}_{name}"].max()) for who in ("measured", "predicted"))
    ax.set_ylim(0, 1.35 * max(highest, 1.0) if name == "running" else 1.15 * max(highest, 1.0))


def describe(data: Data) -> str:
    """Caption sentences that hold for any log, values taken from the data."""
    half = "first" if data["fitted_first"] else "second"
    other = "second" if half == "first" else "first"
    words = (
        f"{data['requests']:.0f} requests of a measured SGLang run, at their own times, through "
        f"SGLang's scheduler; a step lasts {data['base_ms']:.1f} ms, "
        f"{data['per_kv_token_ns']:.0f} ns more for each KV token and "
        f"{data['per_prefill_token_us']:.0f} us for each token of prefill, by the {half} half of "
        f"the logged time (shaded). In the {other} half running is off by "
        f"{data['running_rmse']:.1f}, waiting by {data['waiting_rmse']:.1f} and memory by "
        f"{data['kv_used_rmse']:.1f} % (root mean square); constant rates: "
        f"{data['baseline_running_rmse']:.1f}, {data['baseline_waiting_rmse']:.1f} and "
        f"{data['baseline_kv_used_rmse']:.1f} %."
    )
    if np.isfinite(data["measured_duration_s"]):
        words += (
            f" The run lasts {data['predicted_duration_s']:.0f} s, "
            f"{data['measured_duration_s']:.0f} s measured; the log ends at "
            f"{data['t_s'][-1]:.0f} s."
        )
    return words
