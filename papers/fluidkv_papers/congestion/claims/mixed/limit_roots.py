"""Congestion, B.3, B.8.3, B.9 and Remark 2: where the roots of the limit A lie.

Roots on the unit circle are found by exact gcds, those inside counted in integers.
"""

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import combinations
from math import gcd

from fluidkv import exact
from fluidkv.exact import roots
from fluidkv.ledger import Finding, Range, flint
from fluidkv_papers.congestion.paper import statements

CLAIMS = statements()
_LONGEST = 12
_SHARES = tuple(Fraction(p, 10) for p in (1, 3, 5, 7, 9))
_TUPLES = ((2, 4), (3, 8), (2, 4, 6), (3, 6, 9), (6, 10, 15), (4, 8, 20), (5, 6, 11))
_TUPLES += ((2, 3, 4, 9), (6, 12, 18, 24), (8, 12, 16, 20))


def described(mix: "exact.LengthMix") -> str:
    """Lengths, shares, and ratios of inputs where these differ."""
    shares = ", ".join(map(str, mix.shares))
    ratios = "" if mix.common_input else f", ratios {', '.join(map(str, mix.input_ratios))}"
    return f"lengths {mix.decode_lengths}, shares {shares}{ratios}"


def pairs(longest: int) -> list[tuple[int, int]]:
    """All pairs of lengths, the longer one rising first."""
    return sorted(combinations(range(1, longest + 1), 2), key=lambda pair: pair[::-1])


def two_classes(longest: int) -> "Iterator[exact.LengthMix]":
    """All pairs, with or without a common divisor, at five shares each."""
    return (exact.two_lengths(a, n, p) for a, n in pairs(longest) for p in _SHARES)


@cache
def _weighted(lengths: tuple[int, ...]) -> "tuple[exact.LengthMix, ...]":
    """Equal, growing, falling and mixed inputs."""
    count = len(lengths)
    shares = [Fraction(k + 1, count * (count + 1) // 2) for k in range(count)]
    rows = (
        [1] * count,
        [k + 1 for k in range(count)],
        [Fraction(1, 3 * k + 1) for k in range(count)],
        [Fraction(7, 2) if k % 2 else Fraction(1, 9) for k in range(count)],
    )
    return tuple(exact.LengthMix(lengths, shares, ratios) for ratios in rows)


_PAIRS = Range(
    f"all pairs of lengths up to {_LONGEST}, p = 1/10, 3/10, ... 9/10",
    lambda: two_classes(_LONGEST),
    name=described,
)
_MIXES = Range(
    "40 mixes of two to four classes with lengths up to 24, four ratios of inputs each",
    lambda: (mix for lengths in _TUPLES for mix in _weighted(lengths)),
    name=described,
)
_COMMON_INPUT = Range(
    "10 mixes of two to four classes with lengths up to 24",
    lambda: (_weighted(lengths)[0] for lengths in _TUPLES),
    name=described,
)


def _limit(mix: "exact.LengthMix") -> "flint.fmpz_poly":
    """A_r times its denominator."""
    return exact.characteristic_polynomial(mix.limit)


def _whole(mix: "exact.LengthMix") -> "flint.fmpz_poly":
    """(1 - z) A_r times its denominator."""
    return flint.fmpz_poly([1, -1]) * _limit(mix)


def _cyclic(g: int) -> "flint.fmpz_poly":
    """z^g - 1."""
    return flint.fmpz_poly([-1, *[0] * (g - 1), 1])


def _mean(mix: "exact.LengthMix") -> Fraction:
    """sum(p r l1), which is q l1_2 + p l1_1 for two classes and r = 1."""
    rows = zip(mix.shares, mix.input_ratios, mix.decode_lengths, strict=True)
    return sum((p * r * n for p, r, n in rows), Fraction(0))


@CLAIMS.claim("lemma-10", "Lemma 10", over=_PAIRS)
def _none_outside(mix: "exact.LengthMix") -> bool:
    """All roots of (1 - z) A(z) lie in the closed unit disk."""
    # What (1 - z) A shares with its reciprocal lies on the circle, the rest inside.
    common, rest = roots.polynomial.split_reciprocal(_whole(mix))
    on_circle = roots.polynomial.count_on_circle(common) == common.degree()
    return on_circle and roots.polynomial.count_inside(rest) == rest.degree()


@CLAIMS.claim("lemma-11", "Lemma 11", over=_PAIRS)
def _circle_is_cyclic(mix: "exact.LengthMix") -> bool:
    """A root of (1 - z) A(z) on the unit circle is a g-th root of unity."""
    # With multiplicity one.
    whole, g = _whole(mix), mix.decode_gcd
    common, _ = roots.polynomial.split_reciprocal(whole)
    return roots.polynomial.count_on_circle(common) == g == whole.gcd(_cyclic(g)).degree()


@CLAIMS.claim("lemma-12", "Lemma 12 and its proof", over=_PAIRS)
def _not_one(mix: "exact.LengthMix") -> bool:
    """A(1) = q l1_2 + p l1_1, so 1 is not a root of A."""
    return Fraction(int(_limit(mix)(1)), mix.limit.denominator) == _mean(mix) > 0


@CLAIMS.claim("lemma-13", "Lemma 13; section 4.2", over=_PAIRS)
def _all_non_trivial(mix: "exact.LengthMix") -> bool:
    """Every non-trivial g-th root of unity is a root of A."""
    return (_limit(mix) % flint.fmpz_poly([1] * mix.decode_gcd)).is_zero()


def _derivative(mix: "exact.LengthMix") -> bool:
    """w (1 - w) A_r'(w) + sum(p r l1) is 0 at each non-trivial g-th root of unity: a remainder."""
    weight = _mean(mix) * mix.limit.denominator
    off = flint.fmpz_poly([0, 1, -1]) * _limit(mix).derivative() + int(weight)
    return weight > 0 and (off % flint.fmpz_poly([1] * mix.decode_gcd)).is_zero()


CLAIMS.claim(
    "theorem-14.derivative",
    "proof of Theorem 14",
    "(1 - w) A'(w) = -(q l1_2 + p l1_1) / w at each non-trivial g-th root of unity w.",
    over=_PAIRS,
    kind="equation",
)(_derivative)


CLAIMS.claim(
    "b-8-3.exponents",
    "B.8.3",
    "gcd(d - l1_1, ..., d - l1_(K-1), d) is the gcd of the lengths.",
    over=lambda: combinations(range(1, _LONGEST + 1), 3),
    checked=f"all triples of lengths up to {_LONGEST}",
    kind="equation",
)(lambda a, b, d: gcd(d - a, d - b, d) == gcd(a, b, d))


def _structure(mix: "exact.LengthMix") -> bool:
    limit = _limit(mix)
    simple = limit.gcd(limit.derivative()).gcd(_cyclic(mix.decode_gcd)).degree() == 0
    parts = (_none_outside, _circle_is_cyclic, _not_one, _all_non_trivial)
    return simple and all(part(mix) for part in parts)


CLAIMS.claim(
    "b-8-3.roots",
    "B.8.3",
    "For any number of classes, the limit's roots are the non-trivial g-th roots of unity, "
    "which are simple, and others strictly inside the unit circle.",
    over=_COMMON_INPUT,
    kind="lemma",
)(_structure)

CLAIMS.claim(
    "b-9.roots",
    "B.9; section 4.2",
    "The same holds for A_r, whatever the ratios of inputs.",
    over=_MIXES,
    kind="lemma",
)(_structure)

CLAIMS.claim(
    "b-9.derivative",
    "B.9; with r = 1, B.8.3",
    "(1 - w) A_r'(w) = -sum(p r l1) / w at each non-trivial g-th root of unity w.",
    over=_MIXES,
    kind="equation",
)(_derivative)


@CLAIMS.claim(
    "remark-2.invariance",
    "Remark 2",
    over=lambda: [
        *([exact.two_lengths(a, n, p) for p in _SHARES] for a, n in pairs(_LONGEST)),
        *(list(_weighted(lengths)) for lengths in _TUPLES),
    ],
    checked=f"{_PAIRS.words}; {_MIXES.words}",
)
def _invariant(mixes: "list[exact.LengthMix]") -> bool:
    """Which roots of unity the limit has depends on the decode lengths alone, and neither on the
    ratios of inputs nor on the shares.

    Note: About the limit. At finite input the number of growing modes depends on both: see
    congestion.theorem-17."""
    circles = {tuple(roots.polynomial.split_reciprocal(_whole(mix))[0].coeffs()) for mix in mixes}
    return len(circles) == 1


@CLAIMS.claim("remark-2.other-roots", "Remark 2")
def _other_roots_depend() -> Finding:
    """The other roots of the limit do depend on the ratios of inputs and on the shares.

    Checked: one pair of lengths
    Paper: still depend on r and p
    Note: Only on the products p_k r_k, up to a common factor: they are all that A_r holds."""
    # Two mixes that differ in one thing only, and whose limits share no root off the circle.
    third = Fraction(1, 3)
    base = exact.LengthMix((2, 4), (third,))
    others = {
        "ratios 1, 2": exact.LengthMix((2, 4), (third,), (1, 2)),
        "shares 1/2, 1/2": exact.LengthMix((2, 4), (Fraction(1, 2),)),
    }
    limit = _limit(base)
    found = {name: limit.gcd(_limit(mix)).degree() for name, mix in others.items()}
    bad = (name for name, degree in found.items() if degree != base.decode_gcd - 1)
    return Finding(
        bad,
        f"lengths 2 and 4, shares 1/3, 2/3: {limit.degree()} roots; in common with "
        + ", ".join(f"{name}: {degree} (at -1)" for name, degree in found.items()),
    )
