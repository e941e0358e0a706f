"""Products of complex matrices as dot products of real numbers, which have a bound on rounding."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]
_ONE_CORE = 1 << 18  # multiplications up to which OpenBLAS starts no threads
_WIDE = 1 << 12  # columns


def real_times(a: Floats, b: Complexes) -> Complexes:
    """a b for real a, as dot products of real numbers."""
    out = np.empty((len(a), b.shape[1]), dtype=np.complex128)
    out.real = _dot(a, np.ascontiguousarray(b.real))
    out.imag = _dot(a, np.ascontiguousarray(b.imag))
    return out


def product(a: Complexes, b: Complexes) -> Complexes:
    """a b, as dot products of real numbers of twice the length."""
    parts = np.concatenate([b.real, b.imag])
    out = np.empty((len(a), b.shape[1]), dtype=np.complex128)
    out.real = _dot(np.concatenate([a.real, -a.imag], axis=1), parts)
    out.imag = _dot(np.concatenate([a.imag, a.real], axis=1), parts)
    return out


def _dot(a: Floats, b: Floats) -> Floats:
    """a @ b in pieces that a BLAS keeps on one core, or else in a few large ones.

    Most products here take less time than waking another core does, and a hundred times less than
    waiting for one that is busy. Where even eight columns are too many for one core, the pieces are
    wide: in narrow ones each of thousands would wait.
    """
    out = np.empty((len(a), b.shape[1]))
    width = _ONE_CORE // a.size
    if width < 8:
        width = _WIDE
    for start in range(0, b.shape[1], width):
        piece = slice(start, start + width)
        np.matmul(a, b[:, piece], out=out[:, piece])
    return out
