"""How far an account of a run lies from what was measured."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from jaxtyping import Bool, Float

from fluidkv.questions.answer import Answer, Described

Values = Float[np.ndarray, " n"]
_OWN = "of the series"


@dataclass(frozen=True)
class SeriesError(Answer):
    """Of a series, in its own unit.

    Examples:
        >>> from fluidkv.answers.replay.errors import SeriesError
        >>> error = SeriesError(2, 15.0, rmse=1.0, mae=1.0, bias=0.0, correlation=1.0)
        >>> round(error.rmse / error.measured_mean, 3)  # 11 and 19 running instead of 10 and 20
        0.067
    """

    ticks: Annotated[int, Described("compared")]
    measured_mean: Annotated[float, Described("of what was measured", kind=_OWN)]
    rmse: Annotated[float, Described("root mean square difference", kind=_OWN)]
    mae: Annotated[float, Described("mean absolute difference", kind=_OWN)]
    bias: Annotated[float, Described("mean of predicted less measured", kind=_OWN)]
    correlation: Annotated[
        float | None, Described("Pearson's; null where one of the two is constant")
    ]


@dataclass(frozen=True)
class RelativeError(Answer):
    """Of times of requests.

    Examples:
        >>> from fluidkv.answers.replay.errors import RelativeError
        >>> half = {"requests_in_half": 1, "seconds_in_half": 6.0, "median_in_half": 0.1}
        >>> share = {"median_relative": 0.1, "p95_relative": 0.1, "bias": 0.1, "correlation": None}
        >>> error = RelativeError(1, measured_mean=10.0, predicted_mean=11.0, **half, **share)
        >>> f"{error.median_relative:.0%} of a latency of {error.measured_mean:g} s"
        '10% of a latency of 10 s'
    """

    requests: Annotated[int, Described("compared")]
    measured_mean: Annotated[float, Described("of what was measured", "s")]
    predicted_mean: Annotated[float, Described("of what is predicted", "s")]
    median_relative: Annotated[
        float, Described("median of |predicted - measured| / measured", kind="share")
    ]
    p95_relative: Annotated[float, Described("95th percentile of the same", kind="share")]
    requests_in_half: Annotated[
        int, Described("those whose time reaches into the half that the error is about")
    ]
    seconds_in_half: Annotated[
        float | None, Described("how much of it lies there, mean over these", "s")
    ]
    median_in_half: Annotated[
        float | None,
        Described(
            "median of |predicted - measured| over that part: the rest of the time lies in the "
            "other half, which may be the one that was fitted; null where no request has such a "
            "part",
            kind="share",
        ),
    ]
    bias: Annotated[
        float,
        Described("mean of predicted less measured, over the measured mean", kind="relative"),
    ]
    correlation: Annotated[
        float | None, Described("Pearson's; null where one of the two is constant")
    ]


def series_error(
    predicted: Values, measured: Values, inside: Bool[np.ndarray, " n"]
) -> SeriesError | None:
    """Over the ticks of a mask, at least one; None where the series is not logged."""
    if np.isnan(measured).all():
        return None
    ours, theirs = predicted[inside], measured[inside]
    off = ours - theirs
    return SeriesError(
        ticks=int(inside.sum()),
        measured_mean=float(theirs.mean()),
        rmse=float(np.sqrt((off**2).mean())),
        mae=float(np.abs(off).mean()),
        bias=float(off.mean()),
        correlation=_correlation(ours, theirs),
    )


def relative_error(
    predicted: Values, measured: Values, inside: Bool[np.ndarray, " n"], share: Values
) -> RelativeError | None:
    """Over the requests of a mask whose measured time is above 0; None where there is none.

    Args:
        share: of each measured time, the part that lies in the half; 0 or less where none does.
    """
    # NaN, of a request without a second token, is not above 0
    inside = inside & (measured > 0)
    if not inside.any():
        return None
    ours, theirs = predicted[inside], measured[inside]
    relative = np.abs(ours / theirs - 1)
    part = share[inside]
    reach = part > 0
    return RelativeError(
        requests=int(inside.sum()),
        measured_mean=float(theirs.mean()),
        predicted_mean=float(ours.mean()),
        median_relative=float(np.median(relative)),
        p95_relative=float(np.quantile(relative, 0.95)),
        requests_in_half=int(reach.sum()),
        seconds_in_half=float((theirs * part)[reach].mean()) if reach.any() else None,
        median_in_half=float(np.median(relative[reach] / part[reach])) if reach.any() else None,
        bias=float((ours - theirs).mean() / theirs.mean()),
        correlation=_correlation(ours, theirs),
    )


def _correlation(a: Values, b: Values) -> float | None:
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        return None
    return float(np.corrcoef(a, b)[0, 1])
