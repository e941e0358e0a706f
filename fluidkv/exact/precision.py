"""The working precision of ball arithmetic: named by who computes, never taken from the caller.

python-flint has one precision for the whole process, `flint.ctx.prec`: not one for each thread. A
function that leaves it to its caller has a hidden input, and two threads that set it disturb one
another. So whatever is computed with balls is computed inside `working`, which names the bits,
keeps other threads out until it is done, and leaves the precision as it was:

    with working(128):
        root = arb(2).sqrt()

or, around a whole function, `@working(DOUBLE)`. What depends on the precision are arithmetic,
`abs`, `-x`, `lower`, `upper`, `union`, `conjugate` and the words of a ball. Comparisons, `mid`,
`rad`, `max`, `ceil`, `float` and `str(digits)` do not; integers, rationals and their polynomials
and matrices never do.

The lock is the process's own and may be taken again by the thread that holds it. Nothing waits for
another thread or process while it holds the lock: work is shared out over processes outside of it.
A thread that sets `flint.ctx` by itself is outside of all this.
"""

import copyreg
import math
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import TypeVar

from flint import (
    acb,
    acb_mat,
    acb_poly,
    arb,
    arb_mat,
    arb_poly,
    ctx,
    fmpq,
    fmpq_mat,
    fmpq_poly,
    fmpz_mat,
    fmpz_poly,
)

DOUBLE = 53
"""Bits of a double, and of python-flint where nobody asks for others."""

_LOCK = threading.RLock()
_Record = TypeVar("_Record", bound=type)


@contextmanager
def working(bits: int) -> Iterator[None]:
    """Ball arithmetic in this many bits, by one thread at a time; also a decorator."""
    with _LOCK:
        before = ctx.prec
        try:
            ctx.prec = bits
            yield
        finally:
            ctx.prec = before


def to_fmpq(value: Fraction | int) -> fmpq:
    """A rational as FLINT's own; exact, whatever the precision."""
    return fmpq(value.numerator, value.denominator)


def to_ball(value: Fraction | int) -> arb:
    """A rational as a ball in the current precision.

    Examples:
        >>> from fluidkv.exact import to_ball
        >>> to_ball(Fraction(1, 3))
        [0.333333333333333 +/- 3.71e-16]
    """
    return arb(to_fmpq(value))


def outward(ball: arb) -> tuple[float, float]:
    """Doubles below and above every point of a ball; in the current precision.

    The ends of a ball are rounded outward to that precision, and then to the nearest doubles; a
    step to the next ones makes up for that.
    """
    low, high = float(ball.lower()), float(ball.upper())
    return math.nextafter(low, -math.inf), math.nextafter(high, math.inf)


def shown_alike(record: _Record) -> _Record:
    """Decorates a record that holds balls: its `repr` has the digits of doubles, always."""
    record.__repr__ = working(DOUBLE)(record.__repr__)
    return record


def _fork_at_rest() -> None:
    """A process forked amid a certificate would find the lock taken and the precision not its own.

    So a fork waits until no other thread computes.
    """
    if hasattr(os, "register_at_fork"):  # where there are forks
        os.register_at_fork(
            before=_LOCK.acquire, after_in_parent=_LOCK.release, after_in_child=_LOCK.release
        )


_Part = tuple[int, int] | str
"""A number of a ball as mantissa and exponent of 2; in words where it is not finite."""


def _pickled(ball: arb) -> tuple[Callable[..., arb], tuple[_Part, _Part]]:
    return _unpickled, (_part(ball.mid()), _part(ball.rad()))


def _part(value: arb) -> _Part:
    if not value.is_finite():
        return "nan" if value.is_nan() else "inf" if value > 0 else "-inf"
    man, exp = value.man_exp()
    return int(man), int(exp)


def _unpickled(mid: _Part, rad: _Part) -> arb:
    """The same ball, bit for bit.

    A radius has 30 bits, and python-flint rounds the one it is given to the next larger number of
    so many, even where it is one. So it is given a little less.
    """
    if isinstance(rad, str):
        return arb(mid, arb(rad))
    man, exp = rad
    return arb(mid, ((man << 64) - 1, exp - 64)) if man else arb(mid)


_fork_at_rest()
copyreg.pickle(arb, _pickled)
copyreg.pickle(acb, lambda z: (acb, (z.real, z.imag)))
for _matrix in (arb_mat, acb_mat, fmpq_mat, fmpz_mat):
    copyreg.pickle(_matrix, lambda m: (type(m), (m.tolist(),)))
for _polynomial in (fmpz_poly, fmpq_poly, arb_poly, acb_poly):
    copyreg.pickle(_polynomial, lambda p: (type(p), (p.coeffs(),)))
