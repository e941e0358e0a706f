"""Where the roots of F lie: the certificate behind every stability verdict.

Two routes, picked by degree:

small   roots outside the unit circle counted in integers (Schur-Cohn form), every root in a ball;
large   a winding number on a circle just inside the leading roots says how many there are beyond
        it, and each of those is enclosed in a ball of its own, which gives the spectral radius and
        the leading period; another winding number on the unit circle counts the growing modes.

Roots exactly on the unit circle are found by an exact gcd on both routes.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from flint import fmpz_poly

from fluidkv.exact.precision import DOUBLE, outward, to_ball, working
from fluidkv.exact.roots.enclosures import RootEnclosure, enclose_roots, estimate_roots
from fluidkv.exact.roots.polynomial import (
    characteristic_polynomial,
    count_on_circle,
    count_outside_and_on,
    enclosed_roots,
    split_reciprocal,
)
from fluidkv.exact.roots.winding import (
    HIGH_DEGREE,
    Series,
    WindingCertificate,
    close_certificate,
    count_outside,
)
from fluidkv.exact.survival import SurvivalWeights
from fluidkv.record import Record
from fluidkv.verdict import Evidence

SMALL_DEGREE = 60
"""Up to this degree roots are counted in integers: milliseconds, but they grow like degree^4.

>>> from fluidkv.exact import count_unstable
>>> from fluidkv.exact.roots.spectrum import SMALL_DEGREE
>>> lengths = SMALL_DEGREE + 1, SMALL_DEGREE + 2
>>> mixes = [fk.Workload.from_lengths([(900, 40), (900, d)]) for d in lengths]
>>> [str(count_unstable(fk.survival_weights(mix)).evidence) for mix in mixes]
['exact', 'ball']
"""
_FEW_ROOTS = 20  # up to this degree all of them are enclosed in a millisecond
_STARTS = 64  # estimates to look at first; twice as many on each further circle
_WIDE_GAP = 1e-6  # relative, between moduli: enough for a circle to pass through at little cost
_SEARCH_STEPS = 80
_MOST_DOUBLINGS = 8
# So many circles in a row that do not close end the search, once there are starts for every root.
# Of requests with drafts, whose terms cancel beyond double precision, some have no circle that
# closes. That was so from the first circle on of every system seen in which two in a row did not
# close, up to the fourth or the ninth; the search ends without roots then, in the bracket so far.
_UNCLOSED = 2
# Above `HIGH_DEGREE` one circle takes seconds. Roots that a few circles do not tell apart, like the
# thousands of nearly equal modulus of long requests that are all alike, are left in their bracket.
_FEW_STEPS = 3
_SEARCH_WORK = 1 << 28
_MOST_ENCLOSED = 1500  # roots; each takes milliseconds
_COUNTED = {
    Evidence.BALL: "winding number with bounded rounding",
    Evidence.EXACT: "weights in order of size (Enestrom and Kakeya)",
}


@dataclass(frozen=True)
class SpectralCertificate(Record):
    """What is proved about the roots of F, and the objects that prove it.

    Fields:
        degree: of F, d - 1.
        outside: roots with |z| > 1, with multiplicity; None if undecided.
        on_circle: roots with |z| = 1 exactly, with multiplicity; None if undecided.
        radius: (low, high) enclosing the spectral radius max |z|, rounded outward; (0, 0) without
            roots.
        leading: enclosures of the roots that may attain the maximum; empty if none was isolated.
        unit_circle: the winding number on |z| = 1, or None on the small route.
        gap_circle: the winding number on the circle just inside the leading roots, or None.
        evidence: for `outside` and `on_circle`.
        method: one line.

    Examples:
        >>> from fluidkv.exact import certify_spectrum
        >>> found = certify_spectrum(fk.survival_weights(fk.Workload.from_lengths([(2, 3)])))
        >>> found.degree, found.outside, str(found.evidence)
        (2, 2, 'exact')
        >>> [round(end, 6) for end in found.radius], round(found.leading_period, 2)
        ([1.290994, 1.290994], 2.97)
    """

    degree: int
    outside: int | None
    on_circle: int | None
    radius: tuple[float, float]
    leading: tuple[RootEnclosure, ...]
    unit_circle: WindingCertificate | None
    gap_circle: WindingCertificate | None
    evidence: Evidence
    method: str

    @property
    def leading_period(self) -> float | None:
        """Iterations for one turn of the leading mode; None if no leading root was isolated.

        If several roots tie for the maximum, the longest of their periods.
        """
        if not self.leading:
            return None
        return max(float(root.period.mid()) for root in self.leading)


@working(DOUBLE)
def certify_spectrum(weights: SurvivalWeights) -> SpectralCertificate:
    """Count the roots of F outside the unit circle and enclose its spectral radius.

    Source: Congestion, equation (10); F is Schur stable when all roots have |z| < 1.

    Examples:
        >>> from fluidkv.exact import certify_spectrum
        >>> weights = fk.survival_weights(fk.Workload.from_lengths([(20, 2), (20, 3)]))
        >>> found = certify_spectrum(weights)
        >>> found.outside, found.on_circle, found.radius[1] < 1
        (0, 0, True)
    """
    polynomial = characteristic_polynomial(weights)
    if polynomial.degree() <= SMALL_DEGREE:
        return _small(polynomial)
    return _large(polynomial)


@working(DOUBLE)
def spectral_radius(weights: SurvivalWeights) -> tuple[float, float]:
    """(low, high) around max |z| over the roots of F, rounded outward, and nothing else.

    The leading roots alone are enclosed, as on the large route; that costs less than all roots
    from a degree of some twenty on.
    """
    polynomial = characteristic_polynomial(weights)
    if polynomial.degree() > _FEW_ROOTS:
        roots, _, _ = _leading_roots(polynomial)
        if roots:
            return _largest_modulus(roots)
    return certify_spectrum(weights).radius


@dataclass(frozen=True)
class UnitCircleCount(Record):
    """Roots of F against the unit circle, with multiplicity; None where undecided.

    Examples:
        >>> from fluidkv.exact import count_unstable
        >>> weights = fk.survival_weights(fk.Workload.from_lengths([(2, 3)]))
        >>> found = count_unstable(weights)
        >>> found.outside, found.on_circle, str(found.evidence)
        (2, 0, 'exact')
    """

    outside: int | None
    on_circle: int | None
    evidence: Evidence
    certificate: WindingCertificate | None


def count_unstable(weights: SurvivalWeights) -> UnitCircleCount:
    """Roots of F outside and on the unit circle: all that a stability verdict needs.

    Examples:
        >>> from fluidkv.exact import count_unstable
        >>> mix = fk.LengthMix((5, 9), [Fraction(1, 2)])
        >>> [count_unstable(mix.weights(inputs)).outside for inputs in (1, 8, 64, 65)]
        [8, 4, 2, 0]
    """
    return _count(characteristic_polynomial(weights))


def _count(polynomial: fmpz_poly) -> UnitCircleCount:
    if polynomial.degree() <= SMALL_DEGREE:
        return UnitCircleCount(*count_outside_and_on(polynomial), Evidence.EXACT, None)
    ordered = _count_ordered(_descending(polynomial))
    if ordered is not None:
        return UnitCircleCount(ordered, 0, Evidence.EXACT, None)
    reciprocal_part, rest = split_reciprocal(polynomial)
    on_circle = count_on_circle(reciprocal_part)
    pairs = (reciprocal_part.degree() - on_circle) // 2
    certificate = count_outside(_descending(rest))
    if certificate is None:
        return UnitCircleCount(None, None, Evidence.BALL, None)
    return UnitCircleCount(certificate.outside + pairs, on_circle, Evidence.BALL, certificate)


def _count_ordered(descending: list[int]) -> int | None:
    """Roots outside the unit circle where V is strictly monotone, by Enestrom and Kakeya; or None.

    All of them where V increases with age, as for requests that are all alike; none where it falls.
    """
    if all(a < b for a, b in pairwise(descending)):
        return len(descending) - 1
    if all(a > b for a, b in pairwise(descending)):
        return 0
    return None


def _small(polynomial: fmpz_poly) -> SpectralCertificate:
    count = _count(polynomial)
    with working(128):
        roots = tuple(
            RootEnclosure(ball, multiplicity * (1 if ball.imag == 0 else 2))
            for ball, multiplicity in enclosed_roots(polynomial)
            if ball.imag <= 0
        )
    return _certificate(
        polynomial,
        count,
        radius=_largest_modulus(roots),
        leading=_leading(roots),
        gap_circle=None,
        method="Schur-Cohn form in integers; each root in a ball",
    )


def _large(polynomial: fmpz_poly) -> SpectralCertificate:
    roots, gap_circle, bracket = _leading_roots(polynomial)
    count = _count(polynomial)
    if count.outside is None and gap_circle is not None:
        count = _count_enclosed(roots, gap_circle)
    return _certificate(
        polynomial,
        count,
        radius=_largest_modulus(roots) if roots else bracket,
        leading=_leading(roots),
        gap_circle=gap_circle,
        method=_COUNTED[count.evidence] + ("; leading roots in balls" if roots else ""),
    )


def _count_enclosed(
    roots: tuple[RootEnclosure, ...], gap_circle: WindingCertificate
) -> UnitCircleCount:
    """The count from the enclosures, where they hold every root that could lie outside."""
    decided = gap_circle.radius <= 1 and all(r.modulus > 1 or r.modulus < 1 for r in roots)
    if not decided:
        return UnitCircleCount(None, None, Evidence.BALL, None)
    outside = sum(root.count for root in roots if root.modulus > 1)
    return UnitCircleCount(outside, 0, Evidence.BALL, gap_circle)


def _certificate(
    polynomial: fmpz_poly,
    count: UnitCircleCount,
    *,
    radius: tuple[float, float],
    leading: tuple[RootEnclosure, ...],
    gap_circle: WindingCertificate | None,
    method: str,
) -> SpectralCertificate:
    neutral = count.outside == 0 and (count.on_circle or 0) > 0
    return SpectralCertificate(
        degree=polynomial.degree(),
        outside=count.outside,
        on_circle=count.on_circle,
        radius=(1.0, 1.0) if neutral else radius,
        leading=leading,
        unit_circle=count.certificate,
        gap_circle=gap_circle,
        evidence=count.evidence,
        method=method,
    )


def _leading_roots(
    polynomial: fmpz_poly,
) -> tuple[tuple[RootEnclosure, ...], WindingCertificate | None, tuple[float, float]]:
    """All roots outside some circle, enclosed; else a bracket of the radius by bisection.

    The search looks for roots from the geometric mean of the moduli, where they cluster, then from
    the largest modulus met. While the leading roots cannot be told apart, certified counts
    on the circles tried close in on the spectral radius.
    """
    descending = _descending(polynomial)
    low, high = _root_annulus(descending)
    # by logarithms: the quotient itself may be beyond the range of doubles
    log_product = math.log(abs(descending[-1])) - math.log(abs(descending[0]))
    radius = math.exp(log_product / polynomial.degree())
    stride, unclosed = 1e-3, 0
    for step in range(_SEARCH_STEPS if polynomial.degree() <= HIGH_DEGREE else _FEW_STEPS):
        try:
            series = Series(descending, 1 / radius)
        except OverflowError:  # far inside the roots
            radius *= 1 + stride
            stride *= 2
            continue
        grid = series.grid()
        starts = _STARTS << min(step, _MOST_DOUBLINGS)
        estimates = estimate_roots(series, grid, most=starts)
        isolated = _isolate(polynomial, descending, estimates)
        if isolated is not None:
            return *isolated, (low, high)
        certificate = close_certificate(series, grid, most_work=_SEARCH_WORK)
        if certificate is None:  # a root on or next to this circle: step aside
            unclosed += 1
            if unclosed >= _UNCLOSED and starts >= polynomial.degree():
                break
            radius *= 1 + 1e-9 * (step + 1)
            continue
        unclosed = 0
        if certificate.outside > 0:
            low = max(low, math.nextafter(radius, 0))
        else:
            high = min(high, math.nextafter(radius, math.inf))
        if high / max(low, 1e-300) - 1 < 1e-12:
            break
        furthest = abs(estimates[0]) * (1 + 1e-6) if estimates and step < 3 else 0.0
        if low < furthest < high:
            radius = furthest
        elif low > 0 and high < math.inf:
            radius = math.sqrt(low * high)
        else:
            radius *= 1 + stride if low > 0 else 1 - min(stride, 0.5)
            stride *= 2
    return (), None, (low, high)


def _root_annulus(descending: list[int]) -> tuple[float, float]:
    """Floats around the moduli of all roots: the extreme ratios V_{s+1} / V_s, rounded outward.

    Source: Enestrom and Kakeya, for positive coefficients.
    """
    ratios = [Fraction(b, a) for a, b in pairwise(descending)]
    low, high = min(ratios), max(ratios)
    try:
        return math.nextafter(float(low), 0), math.nextafter(float(high), math.inf)
    except OverflowError:
        return 0.0, math.inf


def _isolate(
    polynomial: fmpz_poly, descending: list[int], estimates: list[complex]
) -> tuple[tuple[RootEnclosure, ...], WindingCertificate] | None:
    """Enclose the leading roots and prove, by one winding number, that there are no others."""
    if not estimates:
        return None
    # The last estimate may be the last root there is: a circle just inside it is tried as well.
    moduli = [abs(z) for z in estimates]
    moduli.append(moduli[-1] * (1 - 1e-3))
    gaps = [1 - below / above for above, below in pairwise(moduli)]
    wide = [i for i, gap in enumerate(gaps) if gap > _WIDE_GAP]
    chosen = wide[0] if wide else max(range(len(gaps)), key=gaps.__getitem__)
    if chosen >= _MOST_ENCLOSED:
        return None
    inverse_radius = 2 / (moduli[chosen] + moduli[chosen + 1])
    try:
        series = Series(descending, inverse_radius)
    except OverflowError:
        return None
    certificate = close_certificate(series, series.grid(), most_work=_SEARCH_WORK)
    if certificate is None or not 0 < certificate.outside <= 2 * (chosen + 1):
        return None
    leading = tuple(enclose_roots(polynomial, estimates[: chosen + 1]))
    with working(128):
        boundary = to_ball(certificate.radius)
        beyond = all(root.modulus > boundary for root in leading)
    if not beyond or certificate.outside != sum(root.count for root in leading):
        return None
    return leading, certificate


def _leading(roots: tuple[RootEnclosure, ...]) -> tuple[RootEnclosure, ...]:
    """The enclosures whose modulus may be the largest."""
    if not roots:
        return ()
    largest = max((abs(root.ball).lower() for root in roots), key=lambda low: float(low))
    return tuple(root for root in roots if not abs(root.ball) < largest)


def _largest_modulus(roots: tuple[RootEnclosure, ...]) -> tuple[float, float]:
    """Outward-rounded floats around max |z|, (0, 0) without roots."""
    if not roots:
        return 0.0, 0.0
    ends = [outward(abs(root.ball)) for root in roots]
    return max(low for low, _ in ends), max(high for _, high in ends)


def _descending(polynomial: fmpz_poly) -> list[int]:
    """Coefficients from z^n down to z^0: V_0, V_1, ... for F."""
    return [int(c) for c in reversed(polynomial.coeffs())]
