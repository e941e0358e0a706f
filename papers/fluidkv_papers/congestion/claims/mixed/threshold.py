"""Congestion, Proposition 4: how long inputs have to be, and what the paper reads off (13).

l0_min is certified on both sides and at every input length; what the paper says of it is asymptotic
in the longer decode length.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise, product

from fluidkv.ledger import Evidence, Finding, Origin, Seen, sympy
from fluidkv_papers.congestion.instances import coprime_pairs as coprime
from fluidkv_papers.congestion.paper import statements

CLAIMS = statements(origin=Origin.READING)
PROPOSITION_4 = CLAIMS.section(
    "proposition-4", "section 4.3, below Proposition 4", refuted=Evidence.BALL
)
_HALF = Fraction(1, 2)
_LENGTHS = (11, 21, 41, 81, 161)
_NUMBERS = ", ".join(map(str, _LENGTHS))
_BELOW = "section 4.3, below Proposition 4"
_FAMILIES: dict[str, tuple[float, Callable[[int], int]]] = {
    "a = 2": (0.0, lambda n: 2),
    "a = (n-1)/2": (0.5, lambda n: (n - 1) // 2),
}
_ALONG = f"a = 2 and (n-1)/2, n = {_NUMBERS}"


def _relative_errors(
    theta: float | None, a: Callable[[int], int], p: Fraction, lengths: tuple[int, ...]
) -> list[float]:
    """(13) / l0_min - 1 for each n; with theta = a/n of the pair where it is None."""
    return [
        n**3 / coprime.c(a(n) / n if theta is None else theta, p) / coprime.least(a(n), n, p) - 1
        for n in lengths
    ]


def _falls(errors: list[float]) -> bool:
    """An error may pass through 0 once on its way; from there on it has to fall."""
    return abs(errors[-1]) < abs(errors[-2]) < abs(errors[-3])


@CLAIMS.claim(
    "proposition-4.asymptotic",
    "Proposition 4, equation (13)",
    over=lambda: product(_FAMILIES, coprime.SHARES),
    checked=f"{_ALONG}, {coprime.THREE_SHARES}",
    origin=Origin.PRINTED,
    ours=lambda seen: (
        f"relative error of (13) at n = {_LENGTHS[-1]}, in brackets with "
        "theta = a/n of the pair: " + "; ".join(seen)
    ),
    refuted=Evidence.BALL,
)
def _proposition_4(family: str, p: Fraction) -> Seen | str:
    """l0_min / n^3 tends to ((1-p) + p theta)^3 / (2 pi^2 p (1-p)).

    Note: An error along these lengths that falls; no proof of the limit. With theta = 0 for a = 2
    it is of the order 6 p / (q n): for p = 9/10, n near 500 is needed to be within 10 %."""
    theta, a = _FAMILIES[family]
    errors = _relative_errors(theta, a, p, _LENGTHS)
    own = _relative_errors(None, a, p, _LENGTHS[-1:])[0]
    shown = f"{family}, p = {p}: {errors[-1]:+.2%} ({own:+.2%})"
    return Seen(shown) if _falls(errors) else f"{family}, p = {p}: {errors}"


@CLAIMS.claim(
    "proposition-4.theta-one",
    "Proposition 4, beyond its range",
    over=coprime.SHARES,
    checked=f"a = n - 1, n = 11, 21, 41, 81, {coprime.THREE_SHARES}",
    ours=lambda seen: f"relative error at n = {_LENGTHS[3]}: " + "; ".join(seen),
    refuted=Evidence.BALL,
)
def _next_to_each_other(p: Fraction) -> Seen | str:
    """(13) holds with theta = 1 too, which the proposition excludes.

    Paper: excluded
    Note: The proof has uniform constants over theta in [0, 1], so nothing excludes theta = 1."""
    errors = _relative_errors(1.0, lambda n: n - 1, p, _LENGTHS[:4])
    return Seen(f"p = {p}: {errors[-1]:+.2%}") if _falls(errors) else f"p = {p}: {errors}"


@PROPOSITION_4.claim(
    "cubic",
    over=_FAMILIES,
    checked=f"{_ALONG}, p = 1/2",
    origin=Origin.PRINTED,
    ours=lambda seen: (
        f"exponent from each n of {_LENGTHS} to the next, p = 1/2: " + "; ".join(seen)
    ),
)
def _cubic(family: str) -> Seen | str:
    """The input length needed scales as l1_2^3."""
    a = _FAMILIES[family][1]
    slopes = [
        math.log(coprime.least(a(m), m, _HALF) / coprime.least(a(n), n, _HALF)) / math.log(m / n)
        for n, m in pairwise(_LENGTHS)
    ]
    nearer = all(abs(x - 3) > abs(y - 3) for x, y in pairwise(slopes))
    shown = f"{family}: " + ", ".join(f"{slope:.3f}" for slope in slopes)
    return Seen(shown) if nearer else shown


@PROPOSITION_4.claim(
    "harder.close-lengths",
    over=coprime.SWEPT.where("each a beside the next", lambda a, n, p: a < n - 1),
)
def _closer(a: int, n: int, p: Fraction) -> bool:
    """Stability is harder when the two decode lengths are close."""
    further = next(b for b in range(a + 1, n) if math.gcd(b, n) == 1)
    return coprime.least(a, n, p) <= coprime.least(further, n, p)


def _prefactor() -> "tuple[sympy.Expr, sympy.Symbol, sympy.Symbol]":
    """Of (13), but for 2 pi^2, in p and theta."""
    p, theta = sympy.symbols("p theta", positive=True)
    return (1 - p + p * theta) ** 3 / (p * (1 - p)), p, theta


def _sign(expression: "sympy.Basic", p: "sympy.Symbol") -> int | None:
    """1 or -1 where it is positive or negative for all p in (0, 1), and positive theta.

    With p as x / (1 + x), x > 0, the coefficients show it.
    """
    x = sympy.Symbol("x", positive=True)
    seen = sympy.factor(expression.subs(p, x / (1 + x)))
    return 1 if seen.is_positive else -1 if seen.is_negative else None


@CLAIMS.claim("proposition-4.harder.close-lengths.prefactor", _BELOW, origin=Origin.PRINTED)
def _prefactor_rises_with_theta() -> Finding:
    """The prefactor of (13) grows with theta.

    Checked: all p and theta, in symbols
    Paper: theta near 1"""
    f, p, theta = _prefactor()
    slope = sympy.factor(sympy.diff(f, theta))
    return Finding(_sign(slope, p) == 1, f"d/dtheta is {slope} > 0")


@CLAIMS.fails("proposition-4.harder.prefactor", f"{_BELOW}, read at every theta in [0, 1)")
def _prefactor_at_both_ends() -> Finding:
    """The prefactor of (13) is large for p near 0 and for p near 1, at every theta in [0, 1).

    Checked: theta = 0, all p, in symbols
    Paper: harder for p near 0 or p near 1
    Note: The sentence names no theta. For each fixed theta > 0 it does grow without bound at both
    ends, and l0_min grows as p tends to 1 wherever a > 1.
    Witness: theta = 0, as in Figure 3 (b), where a = 2
    Holds: proposition-4.harder.prefactor-positive-theta, proposition-4.harder.long-requests-rare"""
    # At theta = 0, which Proposition 4 allows, the prefactor is (1-p)^2 / p: 0 at p = 1.
    f, p, theta = _prefactor()
    at_zero = sympy.factor(f.subs(theta, 0))
    end = sympy.limit(at_zero, p, 1, "-")
    return Finding(
        not (_sign(sympy.diff(at_zero, p), p) == -1 and end == 0),
        f"theta = 0: {at_zero} falls over all of (0, 1), to {end} at p = 1",
    )


@CLAIMS.claim("proposition-4.harder.prefactor-positive-theta", _BELOW)
def _prefactor_for_positive_theta() -> Finding:
    """For a fixed theta > 0 the prefactor grows without bound as p tends to 0 and to 1.

    Checked: all theta > 0, in symbols
    Paper: weak in both cases"""
    f, p, _ = _prefactor()
    ends = [sympy.limit(f, p, 0, "+"), sympy.limit(f, p, 1, "-")]
    good = all(end == sympy.oo for end in ends)
    return Finding(None if good else str(ends), f"{ends}")


@PROPOSITION_4.claim(
    "harder.long-requests-rare",
    over=coprime.PAIRS.where("a > 1, p = 9/10, 99/100, 999/1000", lambda a, n: a > 1),
    ours=lambda seen: (
        "l0_min rises with p for every pair; at the three p it is "
        + next(shown for shown in seen if shown.startswith("(2, 7)"))
    ),
)
def _long_requests_rare(a: int, n: int) -> Seen | str:
    """Stability is harder for p near 1: for a > 1, l0_min grows as p tends to 1.

    Note: With a = 1 and p near 1 requests of one stage are left, which F = constant makes stable.
    """
    values = [coprime.least(a, n, 1 - Fraction(1, 10**k)) for k in (1, 2, 3)]
    shown = f"({a}, {n}): {', '.join(map(str, values))}"
    return Seen(shown) if values[0] < values[1] < values[2] else shown


@PROPOSITION_4.claim("harder.short-requests-rare", over=coprime.PAIRS)
def _short_requests_rare(a: int, n: int) -> bool:
    """Stability is harder for p near 0: l0_min at p = 1/10 is above that at p = 1/2."""
    return coprime.least(a, n, Fraction(1, 10)) > coprime.least(a, n, _HALF)
