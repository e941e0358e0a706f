"""Congestion, Theorem 24 and its proof B.7.2: drift to second order, and the spectral radius."""

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import pairwise
from math import gcd
from typing import TYPE_CHECKING, Any

from fluidkv.claims.claim import Outcome
from fluidkv.claims.congestion.paper import congestion
from fluidkv.claims.outcomes import holds_for, sampled
from fluidkv.verdict import Evidence, Verdict

if TYPE_CHECKING:
    from flint import acb, fmpz_poly

    from fluidkv.exact.mixed.limit import LimitRoot
    from fluidkv.exact.mixed.mix import LengthMix

_LONGEST = 17
_SIMPLE_FROM = (
    6  # the theorem names no length; below there are exceptions, and the check lists them
)
_SHARES = tuple(Fraction(p, 10) for p in (1, 3, 5, 7, 9))
_COPRIME = f"coprime pairs of lengths up to {_LONGEST}, p = 1/10, 3/10, ... 9/10"
_BITS = 128


@cache
def _roots() -> "tuple[tuple[LengthMix, tuple[LimitRoot, ...]], ...]":
    """Each coprime mix with the roots of its limit, dominant first; by the longer length."""
    from fluidkv.exact.mixed.limit import limit_roots

    return tuple((mix, limit_roots(mix)) for mix in _coprime(_LONGEST))


def _coprime(longest: int) -> "Iterator[LengthMix]":
    from fluidkv.exact.mixed.mix import two_lengths

    for n in range(2, longest + 1):
        for a in range(1, n):
            for p in _SHARES if gcd(a, n) == 1 else ():
                yield two_lengths(a, n, p)


def _name(mix: "LengthMix") -> str:
    return f"lengths {mix.decode_lengths}, p = {mix.shares[0]}"


def _value(polynomial: "fmpz_poly", z: "acb") -> "acb":
    from flint import acb

    total = acb(0)
    for c in reversed(polynomial.coeffs()):
        total = total * z + c
    return total


def _expansion() -> Outcome:
    """c_2 as printed against our second derivative; then K and eps_alpha, both certified."""
    from fluidkv.exact.mixed.drift import drift, drift_bound
    from fluidkv.exact.mixed.limit import limit_roots
    from fluidkv.exact.precision import working
    from fluidkv.exact.roots.polynomial import characteristic_polynomial

    tried, multiple, worst = 0, 0, 0.0
    for mix in _coprime(8):
        a = characteristic_polynomial(mix.limit)
        first, second = a.derivative(), a.derivative().derivative()
        for root in limit_roots(mix):
            found = drift(mix, root)
            if found.first is None or found.second is None:
                multiple += 1
                continue
            with working(_BITS):
                alpha = root.ball
                slope = _value(first, alpha)
                printed = alpha / 2 * (alpha * _value(second, alpha) / slope + 2)
                same = found.first.overlaps(alpha) and found.second.overlaps(printed)
                sharp = float(abs(printed - found.second).upper()) < 1e-20
            if not (same and sharp):
                return sampled(_name(mix), str(found.second), str(printed))
            above = next(
                (
                    length
                    for length in (10**k for k in range(1, 9))
                    if drift_bound(mix, root, length)
                ),
                None,
            )
            if above is None:
                return Outcome(Verdict.UNDECIDED, Evidence.BALL, f"no K for {_name(mix)}", "K")
            tried, worst = tried + 1, max(worst, above)
    return sampled(
        None,
        f"{tried} simple roots: c_2 as printed, to 20 digits; K and eps exist for each, "
        f"for every real l0 >= {worst:g}",
        "|z - alpha (1 + eps) - c_2 eps^2| <= K eps^3",
        f"One root of a conjugate pair; {multiple} multiple roots, which the theorem excludes. K "
        "is by Rouche's theorem in balls, which also shows that the branch is unique.",
    )


def _dominant_simple() -> Outcome:
    """Whether the two dominant roots are a simple pair, above all others, from n = 6 on."""
    bad = []
    for mix, (root, *others) in _roots():
        alone = all(other.modulus < root.modulus for other in others)
        if root.multiplicity != 1 or root.ball.imag == 0 or not alone:
            bad.append(mix)
    late = [mix for mix in bad if mix.ages >= _SIMPLE_FROM]
    names = "; ".join(_name(mix) for mix in bad if 2 < mix.ages < _SIMPLE_FROM)
    return sampled(
        _name(late[0]) if late else None,
        f"not so for {len(late)} mixes with n >= {_SIMPLE_FROM}"
        if late
        else f"a simple conjugate pair for every n >= {_SIMPLE_FROM} (up to {_LONGEST})",
        "simple, as n grows",
        f"Below, one real root is dominant: lengths (1, 2), which have no other; {names}. At "
        "lengths (2, 3) and p = 3/4 the dominant root is a double one, -1/2.",
        refuted=Evidence.BALL,
    )


def _correction_positive() -> Outcome:
    """Re d > 0 on the dominant branches, from which n on; and Re d / n."""
    from fluidkv.exact.mixed.drift import drift

    least, bad = float("inf"), None
    for mix, (root, *_) in _roots():
        rates = drift(mix, root).modulus_rates
        if rates is None or not rates[1] > 0:
            bad = bad or _name(mix)
            continue
        least = min(least, float(rates[1].lower()) / mix.ages)
    return sampled(
        bad,
        f"Re d >= {least:.3f} n, from n = 2 on",
        "Re d >= c n > 0 for sufficiently large n",
        "With |z| = |alpha| (1 + eps + Re(d) eps^2 + O(eps^3)).",
    )


def _correction_formula() -> Outcome:
    """Both displays for d, and the ratio under it, as identities of rational functions."""
    import sympy

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
    return holds_for(
        left[0] if left else None,
        ours="all four equal" if not left else "not equal",
        paper="d = 1/(1-alpha) + alpha P''/(2P')",
    )


def _distance_to_one() -> Outcome:
    """n |1 - alpha| and |A'(alpha)| / n^2 along lengths (2, n): neither is bounded as claimed."""
    from fluidkv.exact.mixed.limit import limit_roots
    from fluidkv.exact.mixed.mix import two_lengths
    from fluidkv.exact.precision import working
    from fluidkv.exact.roots.polynomial import characteristic_polynomial

    rows = []
    for n in (5, 9, 17, 33):
        mix = two_lengths(2, n, Fraction(1, 2))
        root = limit_roots(mix)[0]
        with working(_BITS):
            slope = _value(characteristic_polynomial(mix.limit).derivative(), root.ball)
            size = abs(slope) / mix.limit.denominator
            rows.append((n, abs(1 - root.ball), size / n**2))
    far = all(distance > 1 for _, distance, _ in rows)
    shrinks = all(2 * later[2] < 1.3 * now[2] for now, later in pairwise(rows))
    shown = "; ".join(
        f"n = {n}: |1 - alpha| = {float(x):.3f}, |A'|/n^2 = {float(y):.4f}" for n, x, y in rows
    )
    fails = far and shrinks
    return Outcome(
        Verdict.FAILS if fails else Verdict.HOLDS,
        Evidence.BALL,
        ours=shown,
        paper="|1 - alpha| = O(1/n), so |A'| >= c n^2",
        note="The dominant roots lie next to w = exp(2 pi i u / n) with a u = ±1 mod n; for a = 2 "
        "that is u = (n ± 1)/2, so w and alpha tend to -1. What the proof needs holds: "
        "|1 - alpha| <= 2 and |P'| >= c n give |A'| >= c n / 2, so the roots are simple.",
        witness="lengths (2, n) for odd n, p = 1/2" if fails else "",
    )


def _radius_expansion() -> Outcome:
    """|rho(eps) - rho_inf (1 + eps)| over n eps^2, at eps = E / n^3 for E = 1/4, 1, 4."""
    from fluidkv.exact.mixed.limit import limit_roots
    from fluidkv.exact.mixed.mix import two_lengths
    from fluidkv.exact.roots.spectrum import certify_spectrum

    largest: dict[int, float] = {}
    for n in (8, 12, 16, 20, 24):
        for a in (1, n // 2 - 1, n - 1):
            for p in (Fraction(1, 10), Fraction(1, 2), Fraction(9, 10)) if gcd(a, n) == 1 else ():
                mix = two_lengths(a, n, p)
                limit = float(limit_roots(mix)[0].modulus.mid())
                for scale in (Fraction(1, 4), Fraction(1), Fraction(4)):
                    length = n**3 / scale - n
                    low, high = certify_spectrum(mix.weights(length)).radius
                    eps = float(scale) / n**3
                    # radii are 1e-15 wide, n eps^2 is above 1e-8
                    off = abs((low + high) / 2 - limit * (1 + eps)) / (n * eps**2)
                    largest[n] = max(largest.get(n, 0.0), off)
    values = list(largest.values())
    grows = values[-1] > 1.5 * values[0]
    shown = "; ".join(f"n = {n}: {value:.2f}" for n, value in largest.items())
    return Outcome(
        Verdict.UNDECIDED if grows else Verdict.HOLDS,
        Evidence.SAMPLED,
        ours=f"largest |rho - rho_inf (1 + eps)| / (n eps^2): {shown}",
        paper="<= K for n large",
        note="eps = E/n^3 with E = 1/4, 1 and 4, p = 1/10, 1/2 and 9/10.",
    )


def _claim(id: str, statement: str, place: str, check: Any, checked: str, **more: Any) -> Any:
    return congestion(
        f"theorem-24.{id}", statement, place, check, kind="theorem", checked=checked, **more
    )


CLAIMS = (
    _claim(
        "expansion",
        "A simple root of A continues as alpha (1 + eps) + c_2 eps^2 + O(eps^3), c_2 as in (31).",
        "Theorem 24, (31)",
        _expansion,
        "all simple roots for coprime pairs up to 8, p = 1/10, 3/10, ... 9/10",
    ),
    _claim(
        "dominant-branches-simple",
        "Along coprime families the two dominant limiting branches are simple.",
        "Theorem 24",
        _dominant_simple,
        _COPRIME,
    ),
    _claim(
        "modulus-correction",
        "On the dominant branches the second-order modulus correction is positive.",
        "Theorem 24; B.7.2",
        _correction_positive,
        _COPRIME,
    ),
    _claim(
        "correction-formula",
        "d = 1/(1 - alpha) + alpha P''/(2 P'), with alpha P''/P' as printed.",
        "B.7.2",
        _correction_formula,
        "n, a, p and alpha^a symbolic",
    ),
    _claim(
        "distance-to-one",
        "On the dominant branches |1 - alpha| = O(1/n), so that |A'(alpha)| >= c n^2.",
        "B.7.2",
        _distance_to_one,
        "lengths (2, n), n = 5, 9, 17, 33, p = 1/2",
        expected=Verdict.FAILS,
    ),
    _claim(
        "spectral-radius",
        "|rho(eps) - rho_inf (1 + eps)| <= K n eps^2 at the threshold scale.",
        "Theorem 24, (32)",
        _radius_expansion,
        "n = 8 ... 24, three shares, a = 1, about n/2 and n - 1",
    ),
)
