"""Variances of a full server in balls: the mean of a rational function over the unit circle.

With integers for A, B and the second moments, the density S(z) is a Laurent polynomial over
A(z) A(1/z): analytic in the annulus 1/r < |z| < r, r the smallest modulus of a zero of A. So the
mean over N equally spaced points differs from the mean over the circle by at most

    2 max of |S| on |z| = rho  x  rho^-N / (1 - rho^-N),        1 < rho < r,

as S(1/z) = S(z) for real coefficients, and its Laurent coefficients fall like rho^-|k|. On
|z| = rho the Laurent polynomials are bounded by their moduli, and |A| from below by the coverings
that prove its winding numbers (`fluidkv.exact.roots.winding`). The values at the N points are
evaluated with bounded rounding by the same means, and summed in balls.

Source: L. N. Trefethen and J. A. C. Weideman, "The exponentially convergent trapezoidal rule", SIAM
Review 56 (2014), theorem 2.2.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import acb, arb

from fluidkv.exact.precision import DOUBLE, outward, shown_alike, to_ball, working
from fluidkv.exact.roots.winding import Series, count_outside
from fluidkv.footprints.second_moments import Moments, moments
from fluidkv.footprints.stability import FullServer, footprint_stability
from fluidkv.record import Record
from fluidkv.verdict import Stability

_MOST_POINTS = 1 << 17
_SMALL = 2.0**-45  # of the trapezoid's error beside the mean


@shown_alike
@dataclass(frozen=True)
class CertifiedVariances(Record):
    """Variances of a stable full server, enclosed.

    Fields:
        running, admissions: balls; of the noise of footprints alone, without slack. None where the
            equilibrium is not certified to be stable, or a mode decays so slowly that too many
            points would be needed.
        points: N, of the circle.

    Examples:
        >>> from fluidkv.footprints import certified_variances
        >>> mix = fk.footprint_of(fk.Workload.from_lengths([(90, 3), (90, 5)]))
        >>> found = certified_variances(fk.FullServer(mix, capacity=10_000))
        >>> low, high = found.running_bounds
        >>> low < high, round(low, 6) == round(high, 6)
        (True, True)
    """

    running: arb | None
    admissions: arb | None
    points: int | None

    @property
    @working(DOUBLE)
    def running_bounds(self) -> tuple[float, float] | None:
        """(low, high) around the variance of running requests."""
        return None if self.running is None else outward(self.running)

    @property
    @working(DOUBLE)
    def admissions_bounds(self) -> tuple[float, float] | None:
        """(low, high) around the variance of admissions."""
        return None if self.admissions is None else outward(self.admissions)


@working(DOUBLE)
def certified_variances(server: FullServer) -> CertifiedVariances:
    """Enclose the variances of running requests and of admissions.

    Examples:
        >>> from fluidkv.footprints import certified_variances
        >>> one = fk.FullServer(fk.RequestFootprint(90, 3), capacity=10_000)
        >>> certified_variances(one).running is None  # unstable
        True
    """
    found = footprint_stability(server)
    if found.verdict is not Stability.STABLE:
        return CertifiedVariances(None, None, None)
    exact = moments(server.footprint)
    rho = min(2.0, max(found.spectral_radius[1], 0.25) ** -0.5)
    largest = _largest(exact, rho)
    points = None if largest is None else _enough(largest, rho)
    if largest is None or points is None:
        return CertifiedVariances(None, None, None)
    rate = to_ball(found.equilibrium.rate)
    away = arb(rho) ** -points
    balls = [
        rate * (mean + arb(0, (2 * bound * away / (1 - away)).upper()))
        for mean, bound in zip(_trapezoid(exact, points), largest, strict=True)
    ]
    return CertifiedVariances(balls[0], balls[1], points)


def _largest(exact: Moments, rho: float) -> tuple[arb, arb] | None:
    """Bounds on the densities of running and of admissions, u = 1, on |z| = rho."""
    least = []
    for radius in (rho, 1 / rho):
        proof = count_outside(exact.weights.memory, inverse_radius=radius)
        if proof is None:
            return None
        # it is of A over its largest coefficient; 1e-9 covers the rounding of these two lines
        least.append(
            float((np.abs(proof.covering.taylor[0]) * (1 - proof.covering.fill)).min())
            * (1 - 1e-9)
            * max(exact.weights.memory)
        )
    one, size = exact.weights.denominator, arb(rho)

    def at_most(coefficients: Sequence[int], denominator: int, *, about: int = 0) -> arb:
        powers = (abs(k - about) for k in range(len(coefficients)))
        terms = (arb(c) * size**k for c, k in zip(coefficients, powers, strict=True))
        return sum(terms, arb(0)) / denominator

    outer, inner = arb(one) / least[0], arb(one) / least[1]  # of 1 / A(z), 1 / A(1/z)
    alive = at_most(exact.weights.requests, one)
    memory = 2 * at_most(exact.memory_memory, exact.denominator)
    running = 2 * at_most(exact.running_running, exact.denominator)
    about = exact.weights.ages - 1
    both = at_most(exact.running_memory, exact.denominator, about=about)
    means = alive * outer, alive * inner
    return running + (means[0] + means[1]) * both + means[0] * means[1] * memory, (
        memory * outer * inner + 1
    )


def _enough(largest: tuple[arb, arb], rho: float) -> int | None:
    """Points at which the trapezoid's error is small beside 1, a power of two."""
    size = max(float(bound.upper()) for bound in largest)
    wanted = (math.log(size) - math.log(_SMALL)) / math.log(rho) if size < math.inf else math.inf
    if not wanted < _MOST_POINTS:
        return None
    return 2 ** max(7, math.ceil(math.log2(wanted)))


def _trapezoid(exact: Moments, points: int) -> tuple[arb, arb]:
    """Means over the points of the densities of running and of admissions, u = 1."""
    one, two, about = exact.weights.denominator, exact.denominator, exact.weights.ages - 1
    behind = (0, *exact.running_memory[:about][::-1])
    rows = (
        _values(exact.weights.memory, one, points),
        _values(exact.weights.requests, one, points),
        _values(exact.memory_memory, two, points),
        _values(exact.running_running, two, points),
        _values(exact.running_memory[about:], two, points),
        _values(behind, two, points),
    )
    first = [to_ball(Fraction(x[0], two)) for x in (exact.memory_memory, exact.running_running)]
    totals = [arb(0), arb(0)]
    for k, (A, B, P2, Q2, ahead, back) in enumerate(zip(*rows, strict=True)):
        memory, running = (2 * x.real - c for x, c in zip((P2, Q2), first, strict=True))
        mean = B / A
        cross = ((ahead + back.conjugate()) * mean.conjugate()).real
        size = _square(mean)
        weight = 1 if k in (0, points // 2) else 2
        totals[0] += weight * (running - 2 * cross + size * memory)
        totals[1] += weight * (memory / _square(A) - 1)
    return totals[0] / points, totals[1] / points


def _values(coefficients: Sequence[int], denominator: int, points: int) -> list[acb]:
    """sum of c_k z^k at z = exp(2 pi i k / N), k = 0 ... N/2, rounding bounded."""
    top = max(coefficients)
    if not top:
        return [acb(0)] * (points // 2 + 1)
    series = Series(coefficients, grid_cells=points // 2)
    error = arb(0, float(series.rounding_bounds[0]))
    scale = to_ball(Fraction(top, denominator))
    values = series.grid().taylor[0]
    return [acb(arb(v.real) + error, arb(v.imag) + error) * scale for v in values]


def _square(value: acb) -> arb:
    """|value|^2; a power of a ball around 0 is not defined."""
    return value.real * value.real + value.imag * value.imag
