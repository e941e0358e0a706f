"""Times until something happens, some of them cut off: survival, hazard, and is it memoryless.

Sources: Kaplan and Meier (1958), Greenwood (1926) with the log-log interval of Kalbfleisch and
Prentice; Garwood (1936) for a Poisson count.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Float
from numpy.typing import ArrayLike

from fluidkv.errors import InputError
from fluidkv.labels import dataset
from fluidkv.record import Record

if TYPE_CHECKING:
    import xarray as xr


@dataclass(frozen=True, eq=False)
class Survival(Record):
    """Share that has not met the event, after each time at which somebody met it.

    Fields:
        time: distinct event times, rising.
        share: S(time), right-continuous; before the first time it is 1.
        low, high: pointwise confidence limits of S.
        at_risk: how many were still watched just before.
    """

    time: Float[np.ndarray, " event"]
    share: Float[np.ndarray, " event"]
    low: Float[np.ndarray, " event"]
    high: Float[np.ndarray, " event"]
    at_risk: Float[np.ndarray, " event"]

    def to_xarray(self) -> "xr.Dataset":
        """Along `time`, at which somebody met the event."""
        titles = {
            "share": ("1", "share that has not met the event"),
            "low": ("1", "lower confidence limit of share"),
            "high": ("1", "upper confidence limit of share"),
            "at_risk": ("1", "how many were still watched just before"),
        }
        return dataset(
            {name: ("time", getattr(self, name), *title) for name, title in titles.items()},
            {"time": ("time", self.time, "time", "time of an event, as durations were given")},
        )

    def at(self, times: ArrayLike) -> Float[np.ndarray, "time curve"]:
        """Columns share, low, high at any times."""
        index = np.searchsorted(self.time, np.asarray(times, float), side="right")
        steps = np.stack([self.share, self.low, self.high], axis=-1)
        return np.concatenate([np.ones((1, 3)), steps])[index]


@dataclass(frozen=True)
class Hazard(Record):
    """Events an iteration of being watched, with a confidence interval.

    Fields:
        rate: events / exposure, the maximum-likelihood rate if the hazard is constant.
        low, high: limits; with no event low is 0 and high still says something.
        events, exposure: what they are made of.
    """

    rate: float
    low: float
    high: float
    events: int
    exposure: float

    @property
    def mean_time(self) -> float:
        """Mean time to the event at this hazard; infinity if none was seen."""
        return 1 / self.rate if self.rate else np.inf


def kaplan_meier(duration: ArrayLike, observed: ArrayLike, *, level: float = 0.95) -> Survival:
    """The Kaplan-Meier estimate.

    Args:
        duration: time of the event, or the time until which none had come; at least 0.
        observed: whether the event came; False: cut off (right-censored).
        level: confidence of each pointwise interval, in (0, 1).

    Raises:
        InputError: columns that do not match, negative times, a level outside of (0, 1).

    Examples:
        >>> from fluidkv.serving import kaplan_meier
        >>> found = kaplan_meier([1, 3, 3, 4], [True, True, False, True])
        >>> found.time.tolist(), found.share.tolist(), found.at_risk.tolist()
        ([1.0, 3.0, 4.0], [0.75, 0.5, 0.0], [4.0, 3.0, 1.0])
    """
    times, came = _columns(duration, observed)
    event, deaths = np.unique(times[came], return_counts=True)
    at_risk = times.size - np.searchsorted(np.sort(times), event, side="left")
    share = np.cumprod(1 - deaths / at_risk)
    low, high = _log_log(share, deaths, at_risk, _normal_quantile(level))
    return Survival(event, share, low, high, at_risk.astype(float))


def hazard(duration: ArrayLike, observed: ArrayLike, *, level: float = 0.95) -> Hazard:
    """The constant hazard that fits best, with the exact interval of a Poisson count.

    Raises:
        InputError: as `kaplan_meier`; nobody was watched for any time.

    Examples:
        >>> from fluidkv.serving.metastability.survival import hazard
        >>> found = hazard([4, 6, 10], [True, True, False])
        >>> found.rate, found.mean_time, round(float(found.high), 3)
        (0.1, 10.0, 0.361)
    """
    from scipy.special import gammaincinv

    times, came = _columns(duration, observed)
    _normal_quantile(level)
    events, exposure = int(came.sum()), float(times.sum())
    if exposure == 0:
        raise InputError("duration", "0 in all", "some time under watch")
    tail = (1 - level) / 2
    low = gammaincinv(events, tail) if events else 0.0
    high = gammaincinv(events + 1, 1 - tail)
    return Hazard(events / exposure, low / exposure, high / exposure, events, exposure)


def memoryless(
    duration: ArrayLike,
    observed: ArrayLike,
    *,
    after: float = 0.0,
    parts: int = 8,
    resolution: float = 0.0,
) -> float:
    """p-value of the hypothesis that the hazard is constant from `after` on.

    Time is cut where all runs together have been watched about equally long. A constant hazard puts
    events into the parts in proportion to the time under watch, and Pearson's statistic says how
    far off they are.

    Args:
        resolution: 0, or times are whole multiples of it (and `after` is one); cuts then are too.

    Returns:
        In [0, 1]; small: the hazard changes with time. NaN with fewer than 5 events a part.

    Raises:
        InputError: as `kaplan_meier`; fewer than 2 parts.

    Examples:
        >>> from fluidkv.serving import memoryless
        >>> times = np.random.default_rng(0).exponential(10, 200)
        >>> came = np.ones(200, bool)
        >>> round(memoryless(times, came), 2), memoryless(times + 50, came) < 1e-6
        (0.34, True)
    """
    from scipy.special import gammaincc

    times, came = _columns(duration, observed)
    if parts < 2:
        raise InputError("parts", parts, "at least 2")
    kept = times > after
    times, came = times[kept] - after, came[kept]
    events = int(came.sum())
    if events < 5 * parts:  # the usual floor of the chi-squared approximation
        return float("nan")
    cuts = _equal_watch(times, parts)
    if resolution:
        cuts = np.unique(np.ceil(cuts / resolution) * resolution)
    watched = np.diff([np.minimum(times, cut).sum() for cut in cuts])
    found = np.diff([(times[came] <= cut).sum() for cut in cuts])
    expected = events * watched / watched.sum()
    statistic = ((found - expected) ** 2 / expected).sum()
    return float(gammaincc((expected.size - 1) / 2, statistic / 2))


def _equal_watch(times: Float[np.ndarray, " run"], parts: int) -> Float[np.ndarray, " cut"]:
    """Times from 0 to the last between which all together are watched equally long."""
    order = np.sort(times)
    watched = np.cumsum(np.diff(order, prepend=0.0) * (order.size - np.arange(order.size)))
    shares = np.linspace(0, watched[-1], parts + 1)[1:-1]
    inner = np.interp(shares, np.append(0, watched), np.append(0, order))
    return np.concatenate([[0.0], inner, [order[-1]]])


def _columns(
    duration: ArrayLike, observed: ArrayLike
) -> tuple[Float[np.ndarray, " run"], Bool[np.ndarray, " run"]]:
    times, came = np.asarray(duration, float), np.asarray(observed, bool)
    if times.ndim != 1 or times.size == 0 or not (np.isfinite(times) & (times >= 0)).all():
        raise InputError(
            "duration", f"shape {times.shape}", "finite times of at least 0, one for each run"
        )
    if came.shape != times.shape:
        raise InputError("observed", f"{came.size} of them", f"{times.size}, one for each run")
    return times, came


def _normal_quantile(level: float) -> float:
    from scipy.special import ndtri

    if not 0 < level < 1:
        raise InputError("level", level, "a number in (0, 1)")
    return float(ndtri((1 + level) / 2))


def _log_log(
    share: np.ndarray, deaths: np.ndarray, at_risk: np.ndarray, z: float
) -> tuple[np.ndarray, np.ndarray]:
    """Greenwood's variance on the scale of log(-log S), where limits stay within [0, 1]."""
    left = at_risk - deaths
    inside = share > 0  # where all have gone nothing is left to estimate
    log_share = np.log(np.where(inside, share, 0.5))
    terms = np.where(left > 0, deaths / (at_risk * np.maximum(left, 1)), 0.0)
    spread = z * np.sqrt(np.cumsum(terms)) / -log_share
    low, high = share ** np.exp(spread), share ** np.exp(-spread)
    return np.where(inside, low, 0.0), np.where(inside, high, 0.0)
