"""What WAIT loses over long horizons, measured over many runs.

The expected output that is still to come for prompts in the system is what a run is behind the
fluid model: by Wald's identity, throughput* E[time] - E[output] is its mean where a run ends at the
end of an iteration. It is a function of the counts at the end, so that arrivals, whose noise is
larger than the gap, do not enter. Output is counted when it is emitted; Theorem 1 counts that of
completed prompts only.

Source: WAIT, Theorem 1.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from jaxtyping import Float
from scipy import stats

from fluidkv.errors import InputError
from fluidkv.labels import dataset
from fluidkv.record import Record
from fluidkv.runs.checks import above_0, count
from fluidkv.wait.chain.model import arrival_rates, shapes, thresholds_of
from fluidkv.wait.chain.overflow import probability
from fluidkv.wait.chain.simulate import MOST_SEED, simulate_chain
from fluidkv.wait.model import Exact, WaitSystem, several
from fluidkv.wait.segments import Segments

RESAMPLES = 1000
"""Of the runs, for the exponent's interval."""


@dataclass(frozen=True)
class GapStudy(Record):
    """The throughput gap over horizons T, 2T, ...: `zeta` times a first one.

    Output is every token emitted, those of prompts that are not done among them; Theorem 1 counts
    the tokens of completed prompts, so that its gap is larger, by what unfinished prompts have had.

    Fields:
        zetas: by how much the horizon is longer.
        gap, gap_error: throughput* minus tokens emitted per unit of time, from the work left in the
            system, and its standard error.
        plain, plain_error: the same from the outputs themselves.
        latency: mean time in the system of a prompt, by Little's law (in the system over rate).
        exponent: b of gap ~ zeta^b by weighted least squares of the logarithms.
        interval: of the exponent, by resampling the runs. It says nothing of terms of higher order,
            which bend the line where horizons are short.
        confidence: of the interval.

    Examples:
        >>> from fluidkv.wait import Segments
        >>> from fluidkv_papers.theory import throughput_gap
        >>> segments = Segments(3, ends=(1, 3), rates=(6, 2))
        >>> clock = {"base": 1, "per_kv_token": Fraction(1, 600)}
        >>> study = throughput_gap(segments, (9, 4), (1, 4), **clock, horizon=30, runs=128)
        >>> study.zetas.tolist(), study.gap.round(1).tolist(), round(study.exponent, 1)
        ([1.0, 4.0], [1.4, 0.3], -1.0)
        >>> study.to_xarray().gap.dims
        ('zeta',)
    """

    zetas: Float[np.ndarray, " zeta"]
    gap: Float[np.ndarray, " zeta"]
    gap_error: Float[np.ndarray, " zeta"]
    plain: Float[np.ndarray, " zeta"]
    plain_error: Float[np.ndarray, " zeta"]
    latency: Float[np.ndarray, " zeta"]
    exponent: float
    interval: tuple[float, float]
    confidence: float

    def to_xarray(self) -> xr.Dataset:
        """Along `zeta`; the exponent and its interval are attributes."""
        titles = {
            "gap": ("token / time", "throughput gap, from the work left in the system"),
            "gap_error": ("token / time", "standard error of gap"),
            "plain": ("token / time", "throughput gap, from outputs"),
            "plain_error": ("token / time", "standard error of plain"),
            "latency": ("time", "mean time in the system, by Little's law"),
        }
        return dataset(
            {name: ("zeta", getattr(self, name), *title) for name, title in titles.items()},
            {"zeta": ("zeta", self.zetas, "1", "by how much the horizon is longer")},
            exponent=self.exponent,
            interval=self.interval,
            confidence=self.confidence,
        )


def throughput_gap(
    model: Segments | WaitSystem,
    thresholds: Iterable[int],
    zetas: Iterable[float],
    *,
    horizon: float,
    base: Exact | None = None,
    per_kv_token: Exact | None = None,
    runs: int = 1000,
    seed: int = 0,
    fit_from: float = 0.0,
    confidence: float = 0.95,
    on_progress: Callable[[int, int], None] | None = None,
) -> GapStudy:
    """Runs to each horizon, each with random numbers of its own, and the exponent of the gap.

    Args:
        model, thresholds, base, per_kv_token, seed, on_progress: of `simulate_chain`.
        zetas: at least two different ones that are fitted.
        horizon: T, to which zeta = 1 runs.
        runs: to each horizon.
        fit_from: smaller zetas do not enter the fit.
        confidence: of the exponent's interval.

    Raises:
        InputError: as `simulate_chain`, too few zetas, or runs that are so alike, or so few, that a
            gap or its error is 0, which no line through logarithms can be fitted to.

    Source: WAIT, section 4.3: scaling rates and speeds is scaling the horizon.

    Examples:
        >>> from fluidkv.wait import Segments
        >>> from fluidkv_papers.theory import throughput_gap
        >>> segments = Segments(3, ends=(1, 3), rates=(6, 2))
        >>> clock = {"base": 1, "per_kv_token": Fraction(1, 600)}
        >>> study = throughput_gap(segments, (9, 4), (1, 4), **clock, horizon=30, runs=128)
        >>> study.gap.round(1).tolist()  # tokens per unit of time, over a horizon of 30 and of 120
        [1.4, 0.3]
    """
    levels, horizon = thresholds_of(model, thresholds), above_0("horizon", horizon)
    scales = several("zetas", zetas, "numbers above 0")
    scales = np.array(sorted(above_0("zetas", zeta) for zeta in scales))
    fitted = scales >= fit_from
    if np.unique(scales[fitted]).size < 2:
        raise InputError("zetas", scales.tolist(), f"at least two different ones from {fit_from}")
    confidence, runs = probability("confidence", confidence), count("runs", runs, least=2)
    seed = count("seed", seed, least=0, most=MOST_SEED // len(scales) - 1)
    options: dict[str, Any] = {"base": base, "per_kv_token": per_kv_token, "runs": runs}
    ends = [
        simulate_chain(
            model,
            levels,
            **options,
            horizon=float(zeta * horizon),
            seed=seed * len(scales) + index,
            on_progress=on_progress,
        )
        for index, zeta in enumerate(scales)
    ]
    left = [remaining_outputs(model, levels, end) for end in ends]
    time = [end.time.values for end in ends]
    random = np.random.default_rng(seed)
    gap, error = _ratio(left, time)
    slope = _slope(scales, gap, error, fitted)
    slopes = []
    for _ in range(RESAMPLES):
        rows = [random.integers(runs, size=runs) for _ in ends]
        again = [[values[row] for values, row in zip(v, rows, strict=True)] for v in (left, time)]
        slopes.append(_slope(scales, *_ratio(*again), fitted))
    tail = (1 - confidence) / 2
    low, high = np.quantile(slopes, [tail, 1 - tail])
    rates = np.array([float(rate) for rate in arrival_rates(model)])
    best = rates @ _to_come(model)[0][: len(rates)]
    plain = [best - (end.output_tokens / end.time).values for end in ends]
    return GapStudy(
        scales,
        gap,
        error,
        np.array([losses.mean() for losses in plain]),
        np.array([losses.std(ddof=1) / runs**0.5 for losses in plain]),
        np.array([float(end.in_system.mean()) / rates.sum() for end in ends]),
        slope,
        (float(low), float(high)),
        confidence,
    )


@dataclass(frozen=True)
class RootFit(Record):
    """gap = root / sqrt(zeta) + reciprocal / zeta, by weighted least squares.

    The first term is Theorem 1's where batches have no slack, the second what it costs to fill the
    empty system once. An exponent fitted to their sum lies between -1 and -1/2.

    Fields:
        root, root_error: tokens a unit of time, and its standard error.
        reciprocal, reciprocal_error: as well.
        p_value: of the chi-square of what is left; a small one says that two terms do not do.
    """

    root: float
    root_error: float
    reciprocal: float
    reciprocal_error: float
    p_value: float


def root_fit(study: GapStudy, fit_from: float = 0.0) -> RootFit:
    """The two terms of a gap, from zetas of at least `fit_from`.

    Raises:
        InputError: fewer than three different zetas, or a gap whose error is 0.

    Source: WAIT, Theorem 1, and the first batches.

    Examples:
        >>> from fluidkv.wait import Segments
        >>> from fluidkv_papers.theory import root_fit, throughput_gap
        >>> segments = Segments(3, ends=(1, 3), rates=(6, 2))
        >>> clock = {"base": 1, "per_kv_token": Fraction(1, 600)}
        >>> study = throughput_gap(segments, (9, 4), (1, 2, 4), **clock, horizon=30, runs=128)
        >>> fit = root_fit(study)
        >>> abs(fit.root) < fit.reciprocal  # there is slack: what is lost falls like 1 / horizon
        True
    """
    fitted = study.zetas >= fit_from
    zetas, gap, error = study.zetas[fitted], study.gap[fitted], study.gap_error[fitted]
    if np.unique(zetas).size < 3:
        raise InputError("zetas", study.zetas.tolist(), f"at least three from {fit_from:g}")
    _check_fit(study.zetas, study.gap, study.gap_error, fitted)
    terms = np.stack([zetas**-0.5, 1 / zetas], axis=1) / error[:, None]
    covariance = np.linalg.inv(terms.T @ terms)
    root, reciprocal = covariance @ terms.T @ (gap / error)
    misfit = np.sum((gap / error - terms @ [root, reciprocal]) ** 2)
    return RootFit(
        float(root),
        float(covariance[0, 0] ** 0.5),
        float(reciprocal),
        float(covariance[1, 1] ** 0.5),
        float(stats.chi2.sf(misfit, len(zetas) - 2)),
    )


def remaining_outputs(
    model: Segments | WaitSystem, thresholds: tuple[int, ...], runs: xr.Dataset
) -> Float[np.ndarray, " run"]:
    """Output tokens to come for prompts in the system at the end; expected, given the counts."""
    total = np.zeros(runs.sizes["run"])
    for k, (segment, whole, after) in enumerate(
        zip(shapes(model, thresholds), *_to_come(model), strict=True)
    ):
        inside = np.minimum(runs.batches.values[:, k], segment.span - 1)  # stages with n prompts
        within = inside * segment.span - inside * (inside + 1) / 2
        total += runs.queue.values[:, k] * whole
        total += segment.threshold * (within + inside * after)
    return total


def _to_come(model: Segments | WaitSystem) -> tuple[list[float], list[float]]:
    """Output tokens that a prompt still expects: before each segment or type, and after it."""
    if isinstance(model, WaitSystem):
        return [float(each.output_length) for each in model.types], [0.0] * len(model.types)
    before, after = [], [0.0]
    for share, span in zip((0, *model.thinning)[::-1], model.spans[::-1], strict=True):
        before.append(span + after[-1])
        after.append(float(share) * before[-1])
    before[-1] -= 1  # no token at the prefill
    return before[::-1], after[-2::-1]


def _ratio(above: list[np.ndarray], below: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Ratios of means and their standard errors (delta method)."""
    ratio = np.array([a.mean() / b.mean() for a, b in zip(above, below, strict=True)])
    error = [
        (a - r * b).std(ddof=1) / len(a) ** 0.5 / b.mean()
        for a, b, r in zip(above, below, ratio, strict=True)
    ]
    return ratio, np.array(error)


def _slope(zetas: np.ndarray, gap: np.ndarray, error: np.ndarray, fitted: np.ndarray) -> float:
    """Weighted least squares of log gap on log zeta.

    Raises:
        InputError: as `_check_fit`.
    """
    _check_fit(zetas, gap, error, fitted)
    x, y, w = np.log(zetas[fitted]), np.log(gap[fitted]), (gap / error)[fitted] ** 2
    x = x - np.average(x, weights=w)
    return float(np.sum(w * x * y) / np.sum(w * x * x))


def _check_fit(zetas: np.ndarray, gap: np.ndarray, error: np.ndarray, fitted: np.ndarray) -> None:
    for zeta, value, off in zip(zetas[fitted], gap[fitted], error[fitted], strict=True):
        if not (value > 0 and off > 0):
            allowed = f"more or longer runs: a gap of {value:.3g} +- {off:.3g} has no fit"
            raise InputError("zetas", float(zeta), allowed)
