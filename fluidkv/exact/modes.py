"""The growing modes of a workload, one by one: how fast each turns and how fast it grows.

A root z of F with |z| > 1 is a disturbance that grows by |z| an iteration and turns once in
2 pi / |arg z| iterations. Each is enclosed in a ball of its own; a certified count of the roots
outside the unit circle says whether any is missing. So the list is complete by proof, or says that
it is not.

The capacity does not enter: weights are per admitted request. Input lengths do.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from flint import arb, fmpz_poly

from fluidkv.exact.precision import DOUBLE, outward, working
from fluidkv.exact.roots.enclosures import (
    RootEnclosure,
    enclose_roots,
    estimate_others,
    estimate_roots,
)
from fluidkv.exact.roots.polynomial import characteristic_polynomial, enclosed_roots
from fluidkv.exact.roots.spectrum import SMALL_DEGREE, SpectralCertificate, certify_spectrum
from fluidkv.exact.roots.winding import HIGH_DEGREE, Series
from fluidkv.exact.survival import SurvivalWeights
from fluidkv.labels import Column, dataset, rows
from fluidkv.record import Record

if TYPE_CHECKING:
    import xarray as xr

MOST_MODES = 256
"""Above this many growing modes only a few are enclosed; each costs up to a millisecond."""

_FEW = 8  # oscillations to enclose where there are more than MOST_MODES modes
# Circles to look for roots from, as powers of the spectral radius; the first two do nearly always.
_CIRCLES = (0.0, 0.25, 1.0)
_STARTS = 64  # estimates besides those of the modes that are expected
_ALL_STARTS = 1 << 14  # no cell left out
_WIDEST_SHORTFALL = 1e-6  # estimates this little inside the circle may be roots outside it


class ModesStatus(StrEnum):
    """How much of the growing modes is known; the values are the words for a user."""

    COMPLETE = "every growing mode is enclosed, and their number is certified"
    TOO_MANY = f"more than {MOST_MODES} modes grow; those listed are some of them"
    NOT_ISOLATED = "some growing modes could not be told apart; those listed are some of them"
    UNDECIDED = "the number of growing modes is undecided; those listed do grow"


@dataclass(frozen=True)
class GrowingMode(Record):
    """One root of F outside the unit circle, or a pair of mirror images.

    Fields:
        root: the ball that holds it.
        multiplicity: how many roots this stands for: 2 for a pair, times the multiplicity.
        modulus: (low, high) around |z|, growth an iteration, rounded outward.
        period: iterations for one turn.
        folding_time: iterations in which it grows by a factor e, 1 / log |z|.

    Examples:
        >>> weights = fk.survival_weights(fk.Workload.from_lengths([(2, 3)]))
        >>> mode = fk.growing_modes(weights).modes[0]
        >>> mode.multiplicity, round(mode.modulus[0], 4), round(mode.period, 2)
        (2, 1.291, 2.97)
    """

    root: RootEnclosure
    modulus: tuple[float, float]
    period: float
    folding_time: float

    @property
    def multiplicity(self) -> int:
        return self.root.count


@dataclass(frozen=True)
class GrowingModes(Record):
    """Roots of F outside the unit circle.

    Fields:
        count: their certified number, with multiplicity; None if undecided.
        status: whether `modes` holds all of them.
        modes: fastest growth first; pairs count once here.

    Examples:
        >>> weights = fk.survival_weights(fk.Workload.from_lengths([(2, 8)]))
        >>> found = fk.growing_modes(weights)
        >>> found.complete, found.enclosed, [round(mode.period, 2) for mode in found.modes]
        (True, 7, [2.0, 2.66, 3.96, 7.66])
        >>> dict(found.to_xarray().sizes)
        {'mode': 4}
    """

    count: int | None
    status: ModesStatus
    modes: tuple[GrowingMode, ...]

    @property
    def complete(self) -> bool:
        return self.status is ModesStatus.COMPLETE

    @property
    def enclosed(self) -> int:
        """Roots that `modes` stands for; at most `count`."""
        return sum(mode.multiplicity for mode in self.modes)

    def to_xarray(self) -> "xr.Dataset":
        """A mode a row, dimension `mode`: the middle of its ball, and what it does."""
        titles = {
            "multiplicity": ("1", "roots that this stands for"),
            "period": ("iteration", "iterations for one turn"),
            "folding_time": ("iteration", "iterations in which it grows by a factor e"),
        }
        balls = [mode.root.ball for mode in self.modes]
        parts: dict[str, Column] = {
            "real": ("mode", [float(z.real.mid()) for z in balls], "1", "real part of the root"),
            "imag": ("mode", [float(z.imag.mid()) for z in balls], "1", "imaginary part"),
            "modulus_low": ("mode", [m.modulus[0] for m in self.modes], "1", "|z| is above it"),
            "modulus_high": ("mode", [m.modulus[1] for m in self.modes], "1", "|z| is below it"),
        }
        return dataset(
            parts | rows("mode", self.modes, titles), count=self.count, status=self.status
        )


@working(DOUBLE)
def growing_modes(
    weights: SurvivalWeights, certificate: SpectralCertificate | None = None
) -> GrowingModes:
    """Enclose the roots of F outside the unit circle, all of them where there are not too many.

    Args:
        weights: V and alpha of a workload.
        certificate: of the same weights, if there is one already.

    Source: Congestion, equation (10); the roots outside are what makes the fixed point unstable.

    Examples:
        >>> weights = fk.survival_weights(fk.Workload.from_lengths([(2, 3)]))
        >>> found = fk.growing_modes(weights)
        >>> found.count, len(found.modes), str(found.status)
        (2, 1, 'every growing mode is enclosed, and their number is certified')
    """
    if certificate is None:
        certificate = certify_spectrum(weights)
    count = certificate.outside
    if count == 0:
        return GrowingModes(0, ModesStatus.COMPLETE, ())
    polynomial = characteristic_polynomial(weights)
    if polynomial.degree() <= SMALL_DEGREE and count is not None:
        roots = _all_exactly(polynomial, count)
    else:
        roots = _search(polynomial, certificate)
    modes = sorted((_mode(root) for root in roots), key=lambda mode: mode.folding_time)
    found = _total(roots)
    return GrowingModes(count, _status(count, found), tuple(modes))


def _status(count: int | None, found: int) -> ModesStatus:
    if count is None:
        return ModesStatus.UNDECIDED
    if found > count:
        raise ArithmeticError(f"{found} roots enclosed outside the unit circle, {count} certified")
    if found == count:
        return ModesStatus.COMPLETE
    return ModesStatus.TOO_MANY if count > MOST_MODES else ModesStatus.NOT_ISOLATED


def _all_exactly(polynomial: fmpz_poly, count: int) -> list[RootEnclosure]:
    """The roots outside, with multiplicity, in as many bits as tell them from the circle.

    The count is exact, and a ball around a root on the circle never lies beyond 1: so this ends.
    A root that is next to the circle is enclosed until log |z| has the digits of a double.
    """
    bits = 128
    while True:
        with working(bits):
            roots = [
                RootEnclosure(ball, multiplicity * (1 if ball.imag == 0 else 2))
                for ball, multiplicity in enclosed_roots(polynomial)
                if ball.imag <= 0 and abs(ball) > 1
            ]
            sharp = all(abs(root.ball).log().rel_accuracy_bits() > 53 for root in roots)
        if _total(roots) >= count and sharp:
            return roots
        bits *= 2


def _search(polynomial: fmpz_poly, certificate: SpectralCertificate) -> list[RootEnclosure]:
    """Roots outside, each alone in its ball, from estimates near a few circles."""
    found = [root for root in certificate.leading if _grows(root)]
    count, largest = certificate.outside, max(certificate.radius[1], 1.0)
    if count is None or count > MOST_MODES:
        estimates = _near_circle(polynomial, largest, _FEW)
        if not (found or estimates):  # the radius is a bracket, and there are roots at its low end
            estimates = _near_circle(polynomial, max(certificate.radius[0], 1.0), _FEW)
        return _enclose_more(polynomial, found, estimates[:_FEW])
    rounds = [(0.0, 4 * count + _STARTS), *((part, _ALL_STARTS) for part in _CIRCLES)]
    # of high degree each estimate takes a tenth of a second, and each circle seconds
    thorough = polynomial.degree() <= HIGH_DEGREE
    for part, most in rounds if thorough else rounds[:1]:
        if _total(found) < count:
            estimates = _near_circle(polynomial, largest**part, most)
            found = _enclose_more(polynomial, found, estimates)
    if not thorough:
        return found
    for part in _CIRCLES:
        if _total(found) < count:
            estimates = _others(polynomial, largest**part, found)
            found = _enclose_more(polynomial, found, estimates)
    return found


def _near_circle(polynomial: fmpz_poly, radius: float, most: int) -> list[complex]:
    series = _series(polynomial, radius)
    return [] if series is None else estimate_roots(series, series.grid(), most=most)


def _others(polynomial: fmpz_poly, radius: float, found: list[RootEnclosure]) -> list[complex]:
    series = _series(polynomial, radius)
    known = [complex(root.ball.mid()) for root in found]
    return [] if series is None else estimate_others(series, known)


def _series(polynomial: fmpz_poly, radius: float) -> Series | None:
    try:
        return Series([int(c) for c in reversed(polynomial.coeffs())], 1 / radius)
    except OverflowError:
        return None


def _enclose_more(
    polynomial: fmpz_poly, found: list[RootEnclosure], estimates: list[complex]
) -> list[RootEnclosure]:
    """`found` with the roots outside the unit circle that the estimates lead to.

    Two balls that overlap may hold one root: only the first is kept, so none is counted twice.
    """
    near = [z for z in estimates if abs(z) > 1 - _WIDEST_SHORTFALL]
    new = [root for root in enclose_roots(polynomial, near) if _grows(root)]
    known = (*found,)
    return [*found, *(r for r in new if not any(r.ball.overlaps(k.ball) for k in known))]


def _grows(root: RootEnclosure) -> bool:
    return bool(root.modulus > 1)


def _total(roots: list[RootEnclosure]) -> int:
    return sum(root.count for root in roots)


def _mode(root: RootEnclosure) -> GrowingMode:
    with working(root.bits):
        folding = 1 / root.modulus.log()
    return GrowingMode(
        root=root,
        modulus=outward(abs(root.ball)),
        period=float(root.period.mid()),
        folding_time=float(arb(folding).mid()),
    )
