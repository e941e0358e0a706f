"""Roots enclosed in balls, one by one: the leading modes of a polynomial of high degree."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from flint import acb, arb, arb_poly, fmpz_poly
from flint import ctx as flint_context

from fluidkv.exact.precision import shown_alike, working
from fluidkv.exact.roots.winding import Complexes, Covering, Series
from fluidkv.record import Record

_PRECISIONS = (96, 192, 384, 768)  # bits


@shown_alike
@dataclass(frozen=True)
class RootEnclosure(Record):
    """A complex ball that holds exactly one root of F, or a real root and no other.

    A ball off the real axis stands for itself and its mirror image, so `count` is 2.
    """

    ball: acb
    count: int

    @property
    def bits(self) -> int:
        """More than its midpoint is long, so that nothing of the ball is lost."""
        return 64 + max(self.ball.real.bits(), self.ball.imag.bits())

    @property
    def modulus(self) -> arb:
        with working(self.bits):
            return abs(self.ball)

    @property
    @working(96)
    def period(self) -> arb:
        """2 pi / |angle|: iterations for one turn of the mode."""
        return 2 * arb.pi() / abs(self.ball.arg())


def estimate_roots(series: Series, grid: Covering, *, most: int) -> list[complex]:
    """Float estimates of the roots of F near a circle, largest modulus first, one of each pair.

    Newton's method starts from the cells whose Newton step is shorter than their neighbours', the
    `most` of them that point furthest out. No claim is attached: estimates only say where to look.
    """
    value, slope = grid.taylor[:2]
    with np.errstate(divide="ignore", invalid="ignore"):
        v = -value / slope  # Newton step in log w, half cells
    length = np.where(np.isfinite(v), np.abs(v), np.inf)
    beside = np.pad(length, 1, constant_values=np.inf)
    shortest = np.flatnonzero((length <= beside[:-2]) & (length <= beside[2:]) & (length < np.inf))
    starts = shortest[np.argsort(v.real[shortest])[:most]]
    log_w = 1j * math.pi * grid.centres[starts] + series.half_cell * v[starts]
    log_w = _polish(series, log_w)
    log_w = log_w[np.argsort(log_w.real)]
    points: Complexes = np.asarray(series.inverse_radius * np.exp(log_w), dtype=np.complex128)
    return [complex(z) for z in 1 / _distinct(points)]


def estimate_others(
    series: Series, known: Iterable[complex], *, starts: int = 256, steps: int = 50
) -> list[complex]:
    """Float estimates of roots of F besides the known ones, wherever Newton's method leads.

    From points all around the half circle, on F with the known roots and their mirror images
    divided out, so that none of these attracts. As with `estimate_roots`, no claim is attached.
    """
    pairs = [w for z in known for w in {z, z.conjugate()}]
    at: Complexes = 1 / np.asarray(pairs, dtype=np.complex128)
    circle = math.log(series.inverse_radius)
    angles = math.pi * (np.arange(starts) + 0.5) / starts
    log_w: Complexes = np.asarray(circle + 1j * angles, dtype=np.complex128)
    with np.errstate(all="ignore"):
        for _ in range(steps):
            value, slope = series.evaluate(np.exp(log_w - circle))[:2]
            w = np.exp(log_w)
            known_slopes = (w[:, None] / (w[:, None] - at)).sum(axis=1)
            step = 1 / (slope / (value * series.half_cell) - known_slopes)
            log_w = log_w - step * np.minimum(
                1, 0.3 / np.abs(step)
            )  # a third of the radius at most
    log_w = _polish(series, log_w - circle)
    points: Complexes = np.asarray(series.inverse_radius * np.exp(log_w), dtype=np.complex128)
    return [complex(z) for z in 1 / _distinct(points)]


def _polish(series: Series, log_w: Complexes, *, steps: int = 6) -> Complexes:
    """Newton's method in log w, in floats; what strays or does not settle is left out."""
    size = np.full(len(log_w), np.inf)
    with np.errstate(all="ignore"):
        for _ in range(steps):
            value, slope = series.evaluate(np.exp(log_w))[:2]
            step = -series.half_cell * value / slope
            log_w = log_w + step
            size = np.abs(step)
    kept = log_w[np.isfinite(log_w) & (size < 1e-10)]
    return kept.real + 1j * np.abs(np.angle(np.exp(1j * kept.imag)))


def _distinct(points: Complexes) -> Complexes:
    """Drop points that repeat an earlier one to about nine digits."""
    _, first = np.unique(np.round(points, 9), return_index=True)
    return points[np.sort(first)]


def enclose_roots(polynomial: fmpz_poly, estimates: Iterable[complex]) -> list[RootEnclosure]:
    """Distinct roots of F near the estimates, each proved to exist and to be alone in its ball.

    Newton's method, then one interval Newton step: if mid - F(mid) / F'(ball) lies in the ball's
    interior, the ball holds exactly one root of F. Complex balls are boxes, which grow as they are
    turned, the more the higher the degree; what does not close is tried again in more bits.
    Estimates that lead nowhere, or to a root already enclosed, are passed over.
    """
    found: list[RootEnclosure] = []
    for estimate in estimates:
        for precision in _PRECISIONS:
            with working(precision):
                root = _enclose(polynomial, estimate)
            if root is not None:
                if not any(root.ball.overlaps(other.ball) for other in found):
                    found.append(root)
                break
    return found


def _enclose(polynomial: fmpz_poly, estimate: complex) -> RootEnclosure | None:
    f = arb_poly(polynomial)
    slope = f.derivative()
    ball = _newton(f, slope, acb(estimate.real, -abs(estimate.imag)))
    return None if ball is None else _classify(f, slope, ball)


def _newton(f: arb_poly, slope: arb_poly, guess: acb, *, steps: int = 12) -> acb | None:
    """A ball around a root near `guess`, or None."""
    point = guess
    for _ in range(steps):
        derivative = slope(point)
        if derivative.contains(0):
            return None
        step = f(point).mid() / derivative.mid()
        point = (point - step).mid()
        size = float(abs(step).mid())
        if not size < 1e-2:  # left the neighbourhood that the estimate spoke of, or not a number
            return None
        if size < 2.0 ** (8 - flint_context.prec / 2):
            break
    return _interval_newton(f, slope, point)


def _interval_newton(f: arb_poly, slope: arb_poly, point: acb) -> acb | None:
    for bits in (flint_context.prec - 24, flint_context.prec // 2, 30):
        radius = arb(0, 2.0**-bits)
        ball = acb(point.real + radius, point.imag + radius)
        derivative = slope(ball)
        if derivative.contains(0):
            continue
        image = point - f(point) / derivative
        if ball.contains_interior(image):
            return image
    return None


def _classify(f: arb_poly, slope: arb_poly, ball: acb) -> RootEnclosure | None:
    """Tell a real root from one of a conjugate pair.

    A box that is symmetric about the real axis and holds exactly one root holds a real one.
    """
    if not ball.imag.contains(0):
        return RootEnclosure(ball if ball.imag < 0 else ball.conjugate(), 2)
    image = _interval_newton(f, slope, acb(ball.real.mid()))
    return None if image is None else RootEnclosure(acb(image.real), 1)
