"""The two latency models of CacheOPT, section 3.5, fitted to profiles with their confidence.

    recompute   L_r(S) = alpha S^beta + kappa S + epsilon
    swap        L_s(S) = gamma S + delta       (out and in)

Fits are by least squares. For a fixed beta the rest of L_r is linear, so that one dimension is
searched and nothing depends on where a search starts. Bands and errors are of the delta method: to
first order in the parameters, with Student's t for the points beyond the parameters, as if
residuals were independent and of one size. What a fit cannot tell is said by `exponent_range`: all
beta that fit about as well (an F test of the sum of squares, at 95 %).
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from fluidkv.errors import InputError
from fluidkv.preempt.restoring.profile import LatencyProfile
from fluidkv.record import Record
from fluidkv.runs.checks import floats
from fluidkv.serving.clock import IterationClock

LARGEST_EXPONENT = 5.0
_GRID = 400
_LEVEL = 0.95


@dataclass(frozen=True, eq=False)
class LatencyFit(Record):
    """A fitted model. Parameters are alpha, beta, kappa, epsilon; of a line alpha is 0, beta 1.

    Fields:
        parameters: of the model, seconds and tokens.
        covariance: of all four; 0 in the rows of those that were not fitted, infinite where there
            is no point beyond the parameters.
        residual: standard deviation of what the fit leaves over, seconds; NaN with no such point.
        points: that it is fitted to.
        longest: tokens; beyond it the fit is an extrapolation.
        exponent_range: least and greatest beta that fit as well; None where beta was given.

    Examples:
        >>> from fluidkv.preempt import fit_swap
        >>> from fluidkv.preempt.restoring.profile import LatencyProfile
        >>> fit = fit_swap(LatencyProfile([1000, 2000, 4000], [0.12, 0.21, 0.41]))
        >>> round(float(fit(3000)), 3), fit.points, fit.freedom, fit.longest
        (0.311, 3, 1, 4000.0)
    """

    parameters: tuple[float, float, float, float]
    covariance: Float[np.ndarray, "4 4"]
    residual: float
    points: int
    longest: float
    exponent_range: tuple[float, float] | None = None

    def __call__(self, lengths: ArrayLike) -> Float[np.ndarray, "..."]:
        """Seconds for lengths above 0, tokens."""
        alpha, beta, kappa, epsilon = self.parameters
        tokens = floats("lengths", lengths, "numbers of tokens")
        return alpha * tokens**beta + kappa * tokens + epsilon

    def slope(self, length: float) -> float:
        """Seconds for one token more."""
        alpha, beta, kappa, _ = self.parameters
        return alpha * beta * length ** (beta - 1) + kappa

    def gradient(self, lengths: ArrayLike) -> Float[np.ndarray, "... 4"]:
        """Of the seconds, with respect to the parameters."""
        alpha, beta, _, _ = self.parameters
        tokens = floats("lengths", lengths, "numbers of tokens")
        power = tokens**beta
        return np.stack(
            [power, alpha * power * np.log(tokens), tokens, np.ones_like(tokens)], axis=-1
        )

    def standard_error(self, lengths: ArrayLike) -> Float[np.ndarray, "..."]:
        """Of the fitted seconds."""
        gradient = self.gradient(lengths)
        if not np.isfinite(self.covariance).all():
            return np.full(gradient.shape[:-1], np.inf)
        return np.sqrt(np.einsum("...i,ij,...j->...", gradient, self.covariance, gradient))

    def band(
        self, lengths: ArrayLike, *, level: float = _LEVEL
    ) -> tuple[Float[np.ndarray, "..."], Float[np.ndarray, "..."]]:
        """Bounds of the fitted seconds, at each length by itself."""
        from scipy.stats import t

        if not 0 < level < 1:
            raise InputError("level", level, "a number in (0, 1)")
        half = self.standard_error(lengths)
        if self.freedom:
            half = half * t.ppf((1 + level) / 2, self.freedom)
        return self(lengths) - half, self(lengths) + half

    @property
    def fitted(self) -> int:
        """How many parameters were fitted."""
        if self.exponent_range is not None:
            return 4
        return 2 if self.parameters[0] == 0 else 3

    @property
    def freedom(self) -> int:
        """Points beyond the parameters."""
        return self.points - self.fitted

    @cached_property
    def bends(self) -> bool:
        """Whether it is told from a straight line: no beta that fits as well is 1 or below."""
        return self.exponent_range is None or self.exponent_range[0] > 1


def fit_recompute(profile: LatencyProfile, *, exponent: float | None = None) -> LatencyFit:
    """L_r, through a profile of recomputations.

    Args:
        profile: the points.
        exponent: beta, where it is known: 2 for attention over all tokens before each. None: it is
            fitted, up to 5.

    Raises:
        InputError: an exponent of 0 or less, or 1, which leaves no line to tell it from; fewer
            lengths than parameters.

    Examples:
        >>> from fluidkv.preempt import fit_recompute
        >>> from fluidkv.preempt.restoring.profile import LatencyProfile
        >>> profile = LatencyProfile([1000, 2000, 4000, 8000], [0.069, 0.141, 0.309, 0.741])
        >>> alpha, _, kappa, epsilon = fit_recompute(profile, exponent=2).parameters
        >>> f"{alpha:.1e} S^2 + {kappa:.1e} S + {epsilon:.1e}"
        '4.0e-09 S^2 + 6.0e-05 S + 5.0e-03'
    """
    if exponent is not None:
        if not (0 < exponent <= LARGEST_EXPONENT and exponent != 1):
            allowed = f"above 0 and at most {LARGEST_EXPONENT:g}, and not 1"
            raise InputError("exponent", exponent, allowed)
        _check_points(profile, 3)
        return _fitted(profile, exponent, None)
    _check_points(profile, 4)
    best = _best_exponent(profile)
    return _fitted(profile, best, _exponents_that_fit(profile, best))


def fit_swap(profile: LatencyProfile) -> LatencyFit:
    """L_s, through a profile of copies out and in.

    Raises:
        InputError: fewer than two lengths.

    Examples:
        >>> from fluidkv.preempt import fit_swap
        >>> from fluidkv.preempt.restoring.profile import LatencyProfile
        >>> profile = LatencyProfile([1000, 2000, 4000], [0.12, 0.22, 0.42])
        >>> _, _, kappa, epsilon = fit_swap(profile).parameters
        >>> f"{kappa:.1e} S + {epsilon:.2f}"
        '1.0e-04 S + 0.02'
    """
    _check_points(profile, 2)
    columns = np.stack([profile.lengths, np.ones_like(profile.lengths)], axis=1)
    (gamma, delta), variance = _least_squares(columns, profile.seconds)
    covariance = np.zeros((4, 4))
    covariance[2:, 2:] = variance
    left = profile.seconds - columns @ np.array([gamma, delta])
    return _fit((0.0, 1.0, float(gamma), float(delta)), covariance, left, profile, None, 2)


def clock_of(fit: LatencyFit, base: float, per_kv_token: float = 0.0) -> IterationClock:
    """The engine's clock, in seconds, with the recomputation of a fit with exponent 2.

    S tokens cost d2 S + d3 S (S + 1) / 2 = alpha S^2 + kappa S, so d3 = 2 alpha and d2 = kappa -
    alpha. Its epsilon is what an iteration costs anyway, and `base` says that.

    Raises:
        InputError: another exponent, or coefficients that no clock has (below 0).

    Examples:
        >>> from fluidkv.preempt import clock_of
        >>> from fluidkv.preempt.restoring.latency import LatencyFit
        >>> fit = LatencyFit((4e-9, 2.0, 6e-5, 5e-3), np.zeros((4, 4)), 0.0, 4, 8000.0)
        >>> clock = clock_of(fit, base=0.01)
        >>> round(clock.duration(0, 2000, 2000 * 2001 // 2) - 0.01, 6), float(fit(2000)) - 0.005
        (0.136, 0.136)
    """
    alpha, beta, kappa, _ = fit.parameters
    if alpha and beta != 2:
        raise InputError("fit", f"exponent {beta:g}", "fit_recompute(profile, exponent=2)")
    if alpha < 0 or kappa < alpha:
        found = f"alpha {alpha:.3g}, kappa {kappa:.3g}"
        raise InputError("fit", found, "0 <= alpha <= kappa, seconds")
    return IterationClock(base, per_kv_token, kappa - alpha, per_prefill_pair=2 * alpha)


# ------------------------------------------------------------------------------------- the fits


def _check_points(profile: LatencyProfile, parameters: int) -> None:
    lengths = np.unique(profile.lengths).size
    if lengths < parameters:
        found = f"{profile.lengths.size} points of {lengths} lengths"
        raise InputError("profile", found, f"{parameters} lengths or more, one for each parameter")


def _columns(profile: LatencyProfile, exponent: float) -> Float[np.ndarray, "point 3"]:
    """alpha, kappa, epsilon; lengths over the longest, so that no column is huge."""
    share = profile.lengths / profile.lengths.max()
    return np.stack([share**exponent, share, np.ones_like(share)], axis=1)


def _least_squares(columns: np.ndarray, seconds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients and their covariance."""
    values, _, _, _ = np.linalg.lstsq(columns, seconds, rcond=None)
    left = seconds - columns @ values
    freedom = seconds.size - columns.shape[1]
    if not freedom:
        return values, np.full((values.size, values.size), np.inf)
    inverse = np.linalg.pinv(columns.T @ columns)
    return values, inverse * (left @ left) / freedom


def _squares(
    profile: LatencyProfile, exponents: Float[np.ndarray, " exponent"]
) -> Float[np.ndarray, " exponent"]:
    """What is left over with each exponent."""
    columns = np.stack([_columns(profile, exponent) for exponent in exponents])
    directions, _ = np.linalg.qr(columns)
    along = np.einsum("epc,p->ec", directions, profile.seconds)
    left = profile.seconds - np.einsum("epc,ec->ep", directions, along)
    return np.sum(left**2, axis=1)


def _grid() -> Float[np.ndarray, " exponent"]:
    """Exponents to look at; none of them is 1."""
    return (np.arange(_GRID) + 0.5) * LARGEST_EXPONENT / _GRID


def _best_exponent(profile: LatencyProfile) -> float:
    from scipy.optimize import minimize_scalar

    grid = _grid()
    best, step = int(np.argmin(_squares(profile, grid))), grid[1] - grid[0]
    bounds = max(grid[best] - step, step / 4), min(grid[best] + step, LARGEST_EXPONENT)
    found = minimize_scalar(
        lambda exponent: _squares(profile, np.array([exponent]))[0],
        bounds=bounds,
        method="bounded",
    )
    return float(found.x)


def _exponents_that_fit(profile: LatencyProfile, best: float) -> tuple[float, float]:
    """Of the grid: sums of squares that an F test at 95 % does not tell from the least one."""
    from scipy.stats import f

    freedom = profile.lengths.size - 4
    if freedom == 0:
        return 0.0, LARGEST_EXPONENT
    # Rounding leaves some squares over where the fit is exact.
    rounding = profile.lengths.size * (1e-12 * profile.seconds.max()) ** 2
    grid, least = _grid(), _squares(profile, np.array([best]))[0]
    most = (least + rounding) * (1 + f.ppf(_LEVEL, 1, freedom) / freedom)
    fits = [best, *grid[_squares(profile, grid) <= most].tolist()]
    return min(fits), max(fits)


def _fitted(
    profile: LatencyProfile, exponent: float, possible: tuple[float, float] | None
) -> LatencyFit:
    """With this exponent, and the covariance with or without it as a parameter."""
    longest = profile.lengths.max()
    columns = _columns(profile, exponent)
    values, variance = _least_squares(columns, profile.seconds)
    rows = [0, 2, 3]
    if possible is not None:  # one column more: the slope in the exponent
        share = profile.lengths / longest
        slope = values[0] * share**exponent * np.log(share)
        wider = np.insert(columns, 1, slope, axis=1)
        freedom = profile.seconds.size - 4
        left = profile.seconds - columns @ values
        spread = left @ left / freedom if freedom else np.inf
        inverse = np.linalg.pinv(wider.T @ wider)
        variance = inverse * spread if freedom else np.full((4, 4), np.inf)
        rows = [0, 1, 2, 3]
    alpha, kappa, epsilon = (float(value) for value in values)
    power = longest**exponent
    # From shares of the longest back to tokens: alpha = a / longest^beta.
    back = np.diag([1 / power, 1.0, 1 / longest, 1.0])
    back[0, 1] = -alpha / power * np.log(longest)
    full = np.zeros((4, 4))
    full[np.ix_(rows, rows)] = variance
    if np.isfinite(variance).all():
        full = back @ full @ back.T
    parameters = (alpha / power, exponent, kappa / longest, epsilon)
    left = profile.seconds - columns @ values
    return _fit(parameters, full, left, profile, possible, len(rows))


def _fit(
    parameters: tuple[float, float, float, float],
    covariance: np.ndarray,
    left: np.ndarray,
    profile: LatencyProfile,
    possible: tuple[float, float] | None,
    fitted: int,
) -> LatencyFit:
    freedom = left.size - fitted
    residual = float(np.sqrt(left @ left / freedom)) if freedom else float("nan")
    longest = float(profile.lengths.max())
    return LatencyFit(parameters, covariance, residual, left.size, longest, possible)
