"""Bounds on competitive ratios, in rationals, as Routing prints them.

B is the capacity, L the least length of a path, beta the paths of a batch, c the clean tokens of a
phase, H a harmonic number. A bound in batches with beta = 1 is that for single requests.
"""

from fractions import Fraction
from functools import cache


@cache
def harmonic(number: int) -> Fraction:
    """1 + 1/2 + ... + 1/number."""
    return harmonic(number - 1) + Fraction(1, number) if number else Fraction(0)


def optimum_in_a_phase(clean: int) -> Fraction:
    """max(c/2, 1): misses of the optimum, amortized (Lemma 1)."""
    return max(Fraction(clean, 2), Fraction(1))


def lru_in_a_phase(capacity: int, shortest: int, clean: int, batch: int = 1) -> int:
    """B - L - beta + 1 + c: misses of Leaf-LRU (Lemma 2; proof of Theorem 5)."""
    return capacity - shortest - batch + 1 + clean


def stale_tokens(capacity: int, shortest: int, clean: int, batch: int = 1) -> int:
    """n = min(B - L - beta + 1 + c, B), as the proofs of Theorem 6 and Corollary 7 have it."""
    return min(lru_in_a_phase(capacity, shortest, clean, batch), capacity)


def rlt_in_a_phase(capacity: int, shortest: int, clean: int, batch: int = 1) -> Fraction:
    """c + c (H_n - H_c): expected misses of RLT, with (12) or (15)."""
    n = stale_tokens(capacity, shortest, clean, batch)
    return clean + clean * (harmonic(n) - harmonic(clean))


def lru_ratio(capacity: int, shortest: int, batch: int = 1) -> tuple[Fraction, int]:
    """The largest quotient over c, and its c: (9), (11)."""
    return max(
        (lru_in_a_phase(capacity, shortest, c, batch) / optimum_in_a_phase(c), -c)
        for c in range(1, max(capacity, 2) + 1)
    )


def rlt_ratio(capacity: int, shortest: int, batch: int = 1) -> tuple[Fraction, int]:
    """The largest quotient over c, and its c: (13), (16)."""
    return max(
        (rlt_in_a_phase(capacity, shortest, c, batch) / optimum_in_a_phase(c), -c)
        for c in range(1, capacity + 1)
    )
