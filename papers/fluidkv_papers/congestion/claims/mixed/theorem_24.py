"""Congestion, Theorem 24 and its proof B.7.2: drift to second order, and the spectral radius."""

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import pairwise

from fluidkv import exact
from fluidkv.exact.mixed import motion
from fluidkv.ledger import Evidence, Finding, Range, Seen, flint, sympy
from fluidkv_papers.congestion.instances.coprime_pairs import Case, cases, named, remainder
from fluidkv_papers.congestion.paper import statements

CLAIMS = statements()
_LONGEST = 17
_SHARES = tuple(Fraction(p, 10) for p in (1, 3, 5, 7, 9))
_BITS = 128


def _coprime(longest: int) -> list[Case]:
    return cases(longest, _SHARES)


SIMPLE_FROM = 6
"""The theorem names no length; below there are exceptions, and the check lists them."""

_COPRIME = Range(
    f"coprime pairs of lengths up to {_LONGEST}, p = 1/10, 3/10, ... 9/10",
    lambda: _coprime(_LONGEST),
    name=named,
)
_SIMPLE_ROOTS = Range(
    "all simple roots for coprime pairs up to 8, p = 1/10, 3/10, ... 9/10",
    lambda: (
        (case, root) for case in _coprime(8) for root in _roots(*case) if root.multiplicity == 1
    ),
)


@cache
def _roots(a: int, n: int, p: Fraction) -> "tuple[motion.limit.LimitRoot, ...]":
    """Of the limit, dominant first."""
    return exact.limit_roots(exact.two_lengths(a, n, p))


def _value(polynomial: "flint.fmpz_poly", z: "flint.acb") -> "flint.acb":
    total = flint.acb(0)
    for c in reversed(polynomial.coeffs()):
        total = total * z + c
    return total


@CLAIMS.claim("theorem-24.expansion", "Theorem 24, (31)", over=_SIMPLE_ROOTS, refuted=Evidence.BALL)
def _expansion(case: Case, root: "motion.limit.LimitRoot") -> Seen | str:
    """A simple root of A continues as alpha (1 + eps) + c_2 eps^2 + O(eps^3), c_2 as in (31).

    Ours: {count} simple roots: c_2 as printed, to 20 digits; K and eps exist for each, for every
    real l0 >= {max:g}
    Note: One root of a conjugate pair. K is by Rouche's theorem in balls, which also shows that the
    branch is unique."""
    # c_2 as printed against our second derivative; then K and eps_alpha, both certified.
    from fluidkv.exact.precision import working

    mix = exact.two_lengths(*case)
    slope = exact.characteristic_polynomial(mix.limit).derivative()
    found = motion.drift.drift(mix, root)
    assert found.first is not None  # the root is simple
    assert found.second is not None
    with working(_BITS):
        alpha = root.ball
        bend = _value(slope.derivative(), alpha) / _value(slope, alpha)
        printed = alpha / 2 * (alpha * bend + 2)
        same = found.first.overlaps(alpha) and found.second.overlaps(printed)
        sharp = float(abs(printed - found.second).upper()) < 1e-20
    if not (same and sharp):
        return f"{named(*case)}: {found.second}, printed {printed}"
    lengths = (10**k for k in range(1, 9))
    bounds = ((length, motion.drift.drift_bound(mix, root, length)) for length in lengths)
    above = next((length for length, bound in bounds if bound.constant is not None), None)
    if above is None:
        raise ArithmeticError(f"no K for {named(*case)}")
    return Seen(above)


def _dominates_alone(a: int, n: int, p: Fraction) -> bool:
    """Whether the two dominant roots are a simple pair, above all others."""
    root, *others = _roots(a, n, p)
    alone = all(other.modulus < root.modulus for other in others)
    return root.multiplicity == 1 and root.ball.imag != 0 and alone


def _exceptions() -> Iterator[str]:
    return (named(*c) for c in _coprime(SIMPLE_FROM - 1) if c[1] > 2 and not _dominates_alone(*c))


CLAIMS.claim(
    "theorem-24.dominant-branches-simple",
    "Theorem 24",
    "Along coprime families the two dominant limiting branches are simple.",
    over=_COPRIME.where(f"n >= {SIMPLE_FROM}", lambda a, n, p: n >= SIMPLE_FROM),
    ours=f"a simple conjugate pair for every n >= {SIMPLE_FROM} (up to {_LONGEST})",
    note=lambda _: (
        "Below, one real root is dominant: lengths (1, 2), which have no other; "
        f"{'; '.join(_exceptions())}. At lengths (2, 3) and p = 3/4 the dominant root is a double "
        "one, -1/2."
    ),
    refuted=Evidence.BALL,
)(lambda a, n, p: _dominates_alone(a, n, p))


@CLAIMS.claim(
    "theorem-24.modulus-correction", "Theorem 24; B.7.2", over=_COPRIME, refuted=Evidence.BALL
)
def _correction_positive(a: int, n: int, p: Fraction) -> Seen | bool:
    """On the dominant branches the second-order modulus correction is positive.

    Ours: Re d >= {min:.3f} n, from n = 2 on
    Paper: Re d >= c n > 0 for sufficiently large n
    Note: With |z| = |alpha| (1 + eps + Re(d) eps^2 + O(eps^3))."""
    rates = motion.drift.drift(exact.two_lengths(a, n, p), _roots(a, n, p)[0]).modulus_rates
    return rates is not None and bool(rates[1] > 0) and Seen(float(rates[1].lower()) / n)


@CLAIMS.claim("theorem-24.correction-formula", "B.7.2")
def _correction_formula() -> Finding:
    """d = 1/(1 - alpha) + alpha P''/(2 P'), with alpha P''/P' as printed.

    Checked: n, a, p and alpha^a symbolic
    Paper: d = 1/(1-alpha) + alpha P''/(2P')"""
    # Both displays for d, and the ratio under it, as identities of rational functions.
    n, a, p, r, z, p1, p2 = sympy.symbols("n a p r z p1 p2")
    theta = a / n
    ours = (n * (n - 1) * r - p * (n - a) * (n - a - 1)) / (n * r - p * (n - a))
    printed = n * (r - p * (1 - theta) ** 2) / (r - p * (1 - theta)) - 1
    # A = -P / (1 - z) at a root of P, with P' and P'' as symbols
    slope = -p1 / (1 - z)
    second = -p2 / (1 - z) - 2 * p1 / (1 - z) ** 2
    d = 1 + z * second / (2 * slope)
    differences = (
        ours - printed,
        second / slope - (p2 / p1 + 2 / (1 - z)),
        d - (1 / (1 - z) + z * p2 / (2 * p1)),
        (1 - p * (1 - theta) ** 2) - ((1 - p) + 2 * p * theta - p * theta**2),
    )
    left = [str(x) for x in differences if sympy.simplify(x) != 0]
    return Finding(not left or left[0], "all four equal" if not left else "not equal")


@CLAIMS.fails("theorem-24.distance-to-one", "B.7.2", evidence=Evidence.BALL)
def _distance_to_one() -> Finding:
    """On the dominant branches |1 - alpha| = O(1/n), so that |A'(alpha)| >= c n^2.

    Checked: lengths (2, n), n = 5, 9, 17, 33, p = 1/2
    Paper: |1 - alpha| = O(1/n), so |A'| >= c n^2
    Note: The dominant roots lie next to w = exp(2 pi i u / n) with a u = ±1 mod n; for a = 2 that
    is u = (n ± 1)/2, so w and alpha tend to -1. What the proof needs holds: |1 - alpha| <= 2 and
    |P'| >= c n give |A'| >= c n / 2, so the roots are simple.
    Witness: lengths (2, n) for odd n, p = 1/2
    Holds: theorem-24.dominant-branches-simple"""
    # n |1 - alpha| and |A'(alpha)| / n^2 along lengths (2, n): neither is bounded as claimed.
    from fluidkv.exact.precision import working

    rows = []
    for n in (5, 9, 17, 33):
        mix = exact.two_lengths(2, n, Fraction(1, 2))
        root = exact.limit_roots(mix)[0]
        with working(_BITS):
            slope = _value(exact.characteristic_polynomial(mix.limit).derivative(), root.ball)
            size = abs(slope) / mix.limit.denominator
            rows.append((n, abs(1 - root.ball), size / n**2))
    far = all(distance > 1 for _, distance, _ in rows)
    shrinks = all(2 * later[2] < 1.3 * now[2] for now, later in pairwise(rows))
    shown = "; ".join(
        f"n = {n}: |1 - alpha| = {float(x):.3f}, |A'|/n^2 = {float(y):.4f}" for n, x, y in rows
    )
    return Finding(not (far and shrinks), shown)


@CLAIMS.claim(
    "theorem-24.spectral-radius",
    "Theorem 24, (32)",
    over=lambda: (
        (a, n, p, scale)
        for a, n, p in cases(24)
        if n in range(8, 25, 4) and a in (1, n // 2 - 1, n - 1)
        for scale in (Fraction(1, 4), Fraction(1), Fraction(4))
    ),
    refuted=Evidence.BALL,
)
def _radius_expansion(a: int, n: int, p: Fraction, scale: Fraction) -> Seen | str:
    """|rho(eps) - rho_inf (1 + eps)| <= K n eps^2 at the threshold scale.

    Checked: n = 8, 12 ... 24, a = 1, n/2 - 1, n - 1, p = 1/10, 1/2, 9/10, eps = E/n^3 with E = 1/4,
    1, 4
    Ours: K = 1 serves: {min:.2f} to {max:.2f} of n eps^2
    Note: The limit of Re d / n, below 1 for all p and theta, is what K has to exceed."""
    # With K = 1.
    size = abs(remainder(a, n, p, scale / n**3))
    return Seen(size) if size <= 1 else f"{named(a, n, p)}, eps = {scale}/n^3: {size}"
