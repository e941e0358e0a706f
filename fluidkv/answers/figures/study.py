"""The pictures of one study, as `fluidkv study --out` writes them."""

from functools import partial

from fluidkv import answers
from fluidkv.answers.figures.cascade import cascade_figure
from fluidkv.answers.figures.measured_series import (
    describe_measured,
    draw_measured,
    measured_data,
    seconds,
)
from fluidkv.answers.figures.spectrum import spectrum_figure
from fluidkv.answers.figures.starts import starts_figure
from fluidkv.exact.linear_stability import StabilityResult
from fluidkv.figures.figure import Data, Figure
from fluidkv.measured import SURROGATE_SEED, Comparison, Timeseries


def study_figures(result: "answers.study.result.StudyResult") -> tuple[Figure, ...]:
    """`perturbed_starts`, `spectrum`; `cascade` for equal requests; `measured` for a log.

    Args:
        result: from `study_system`; the log is drawn where it was given with its measurement.
    """
    figures = (starts_figure(result), spectrum_figure(result))
    alike, comparison, series = result.homogeneous, result.comparison, result.series
    if alike is not None and alike.decode_length > 1:  # one stage has nothing to lose
        figures = (*figures, cascade_figure(result, alike))
    if comparison is None or series is None:
        return figures
    return (*figures, _measured_figure(result.stability, comparison, series))


def _measured_figure(
    predicted: StabilityResult, comparison: Comparison, series: Timeseries
) -> Figure:
    """Requests running over time, with what was predicted."""
    title = _title(predicted, comparison)
    return Figure(
        id="measured",
        title=title,
        source="the measured log, and fluidkv.stability",
        parameters={"window_s": list(comparison.measured.window_s), "seed": SURROGATE_SEED},
        size=(9.0, 5.4 if comparison.measured.oscillation else 3.6),
        data=partial(measured_data, series, comparison, predicted),
        draw=partial(draw_measured, title=title),
        caption=partial(_caption, comparison),
    )


def _title(predicted: StabilityResult, comparison: Comparison) -> str:
    """The numbers side by side: whether they agree is for the reader to say."""
    measured = comparison.measured
    title = (
        f"Predicted {comparison.predicted_in_flight:.1f} requests in flight "
        f"({predicted.verdict}), measured {measured.running_mean:.1f}"
    )
    found, period = measured.oscillation, comparison.predicted_period_s
    if found is None or not found.beats_red_noise:
        return f"{title}, with no clear period"
    if period is None:
        return f"{title}; period {seconds(found.period_s)}"
    return f"{title}; period {seconds(period)} against {seconds(found.period_s)}"


def _caption(comparison: Comparison, data: Data) -> str:
    measured = comparison.measured
    rule = measured.window_rule
    return (
        f"Requests running, as logged. Window: {rule}. "
        f"{describe_measured(data, no_oscillation=measured.no_oscillation)}"
    )
