"""The pictures of one study, as `fluidkv study --out` writes them."""

from fluidkv import answers
from fluidkv.answers.figures.cascade import cascade_figure
from fluidkv.answers.figures.spectrum import spectrum_figure
from fluidkv.answers.figures.starts import starts_figure
from fluidkv.answers.figures.study_measured import measured_figure
from fluidkv.figures.figure import Figure


def study_figures(result: "answers.StudyResult") -> tuple[Figure, ...]:
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
    return (*figures, measured_figure(result.stability, comparison, series))
