"""What the claims on long requests share: certified thresholds and gaps, and the paper's constants.

Throughout a < n are coprime decode lengths, p is the share of a, q = 1 - p, theta = a/n.
"""

import math
from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import cache

from fluidkv import exact
from fluidkv.exact.mixed import thresholds
from fluidkv.ledger import Range

SHARES = (Fraction(1, 10), Fraction(1, 2), Fraction(9, 10))
THREE_SHARES = "p = 1/10, 1/2, 9/10"
UP_TO = 16
"""Longest decode length of the sweeps in the ledger; `proofs_checks` go on to 60."""

Case = tuple[int, int, Fraction]


def coprime_pairs(up_to: int) -> Iterator[tuple[int, int]]:
    """(a, n) in ascending order of n, then a."""
    return ((a, n) for n in range(2, up_to + 1) for a in range(1, n) if math.gcd(a, n) == 1)


def cases(up_to: int = UP_TO, shares: Iterable[Fraction] = SHARES) -> list[Case]:
    """(a, n, p), smallest n first: the first counterexample met is the smallest."""
    chosen = tuple(shares)
    return [(a, n, p) for a, n in coprime_pairs(up_to) for p in chosen]


def named(a: int, n: int, p: Fraction) -> str:
    return f"decode lengths ({a}, {n}), p = {p}"


def swept(up_to: int) -> Range:
    """All pairs up to a length, with each of the three shares."""
    words = f"all coprime a < n <= {up_to}, {THREE_SHARES}"
    return Range(words, lambda: cases(up_to), name=named)


SWEPT = swept(UP_TO)
PAIRS = Range(
    f"all coprime a < n <= {UP_TO}",
    lambda: coprime_pairs(UP_TO),
    name=lambda a, n: f"decode lengths ({a}, {n})",
)
EACH_SHARE = Range(THREE_SHARES, lambda: SHARES, name=lambda p: f"p = {p}")


@cache
def threshold(a: int, n: int, p: Fraction) -> "thresholds.threshold.InputThreshold":
    """The certified threshold, with every input length accounted for.

    Raises:
        ArithmeticError: it was not found from all crossings.
    """
    found = exact.input_threshold(exact.two_lengths(a, n, p))
    if found.status is not thresholds.threshold.ThresholdStatus.FOUND:
        raise ArithmeticError(f"({a}, {n}), p = {p}: {found.status}")
    return found


def least(a: int, n: int, p: Fraction) -> int:
    """l0_min."""
    value = threshold(a, n, p).least
    assert value is not None  # FOUND
    return value


@cache
def gap(a: int, n: int, p: Fraction) -> tuple[Fraction, Fraction]:
    """(low, high) around 1 - rho_inf, rigorous, a few units of 1e-16 apart.

    For (1, 2) both are p, exactly, as A = z + q; the criterion is met with equality there.
    """
    if n == 2:
        return p, p
    low, high = exact.certify_spectrum(exact.two_lengths(a, n, p).limit).radius
    return 1 - Fraction(high), 1 - Fraction(low)


def middle(a: int, n: int, p: Fraction) -> float:
    """1 - rho_inf as a float."""
    low, high = gap(a, n, p)
    return float((low + high) / 2)


def remainder(a: int, n: int, p: Fraction, eps: Fraction) -> float:
    """(rho(eps) - rho_inf (1 + eps)) / (n eps^2), by certified radii about 1e-15 wide."""
    low, high = exact.certify_spectrum(exact.two_lengths(a, n, p).weights(1 / eps - n)).radius
    return ((low + high) / 2 - (1 - middle(a, n, p)) * (1 + float(eps))) / (n * float(eps) ** 2)


def c(theta: float, p: Fraction) -> float:
    """c(theta, p) of (33): 1 - rho_inf is about c / n^3. Its inverse is the prefactor of (13)."""
    share = float(p)
    return 2 * math.pi**2 * share * (1 - share) / (1 - share + share * theta) ** 3


def drift_ratio(theta: float, p: Fraction) -> float:
    """Limit of Re d_alpha / n on the dominant branches, B.7.2; at least 1/2."""
    share, q = float(p), 1 - float(p)
    return (q + 2 * share * theta - share * theta**2) / (2 * (q + share * theta))


def first_order(a: int, n: int, p: Fraction) -> int | None:
    """Smallest l0 >= 0 with (l0 + n)(1 - rho_inf) >= 1; None if the balls leave it open."""
    low, high = gap(a, n, p)
    ends = {max(0, math.ceil(1 / end) - n) for end in (low, high)}
    return ends.pop() if len(ends) == 1 else None
