"""The pictures of one study, as `fluidkv study --out` writes them."""

from fluidkv import answers
from fluidkv.answers.figures.cascade import cascade_figure
from fluidkv.answers.figures.spectrum import spectrum_figure
from fluidkv.answers.figures.starts import starts_figure
from fluidkv.answers.figures.study_measured import measured_figure
from fluidkv.errors import InputError
from fluidkv.figures.figure import Figure
from fluidkv.measured import Timeseries


def study_figures(
    result: "answers.StudyResult", series: "Timeseries | None" = None
) -> tuple[Figure, ...]:
    """`perturbed_starts`, `spectrum`; `cascade` for equal requests; `measured` for a log.

    Args:
        result: from `study_system`.
        series: the log that was measured; goes with a result that has a comparison.

    Raises:
        InputError: a series without a comparison in the result, or the other way round.
    """
    comparison = result.comparison
    figures = (starts_figure(result), spectrum_figure(result))
    alike = result.homogeneous
    if alike is not None and alike.decode_length > 1:  # one stage has nothing to lose
        figures = (*figures, cascade_figure(result, alike))
    if comparison is None and series is None:
        return figures
    if comparison is None or series is None:
        allowed = "the measured series, exactly where the study was given its measurement"
        raise InputError("series", None if series is None else "a series", allowed)
    return (*figures, measured_figure(result.stability, comparison, series))
