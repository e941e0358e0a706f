"""Congestion, B.3, B.8.3, B.9 and Remark 2: where the roots of the limit A lie.

Roots on the unit circle are found by exact gcds, those inside counted in integers.
"""

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from itertools import combinations
from typing import TYPE_CHECKING

from fluidkv.ledger.claim import Outcome
from fluidkv.ledger.outcomes import holds_for, sampled
from fluidkv.papers.congestion.paper import congestion

if TYPE_CHECKING:
    from flint import fmpz_poly

    from fluidkv.exact.mixed.mix import LengthMix

_LONGEST = 12
_SHARES = tuple(Fraction(p, 10) for p in (1, 3, 5, 7, 9))
_PAIRS = f"all pairs of lengths up to {_LONGEST}, p = 1/10, 3/10, ... 9/10"
_MIXES = "40 mixes of two to four classes with lengths up to 24, four ratios of inputs each"


def _pairs() -> Iterator["LengthMix"]:
    from fluidkv.exact.mixed.mix import two_lengths

    for a, n in sorted(combinations(range(1, _LONGEST + 1), 2), key=lambda pair: pair[::-1]):
        for share in _SHARES:
            yield two_lengths(a, n, share)


@cache
def _mixes() -> "tuple[LengthMix, ...]":
    """Lengths with and without a common divisor; equal, growing, falling and mixed inputs."""
    from fluidkv.exact.mixed.mix import LengthMix

    tuples = [(2, 4), (3, 8), (2, 4, 6), (3, 6, 9), (6, 10, 15), (4, 8, 20), (5, 6, 11)]
    tuples += [(2, 3, 4, 9), (6, 12, 18, 24), (8, 12, 16, 20)]
    found = []
    for lengths in tuples:
        count = len(lengths)
        shares = [Fraction(k + 1, count * (count + 1) // 2) for k in range(count)]
        for ratios in (
            [1] * count,
            [k + 1 for k in range(count)],
            [Fraction(1, 3 * k + 1) for k in range(count)],
            [Fraction(7, 2) if k % 2 else Fraction(1, 9) for k in range(count)],
        ):
            found.append(LengthMix(lengths, shares, ratios))
    return tuple(found)


def _limit(mix: "LengthMix") -> "fmpz_poly":
    """A_r times its denominator."""
    from fluidkv.exact.roots.polynomial import characteristic_polynomial

    return characteristic_polynomial(mix.limit)


def _cyclic(g: int) -> "fmpz_poly":
    """z^g - 1."""
    from flint import fmpz_poly

    return fmpz_poly([-1, *[0] * (g - 1), 1])


def _name(mix: "LengthMix") -> str:
    shares = ", ".join(map(str, mix.shares))
    ratios = "" if mix.common_input else f", ratios {', '.join(map(str, mix.input_ratios))}"
    return f"lengths {mix.decode_lengths}, shares {shares}{ratios}"


def _for_all(
    mixes: "Iterator[LengthMix] | tuple[LengthMix, ...]",
    true: "Callable[[LengthMix], bool]",
    ours: str,
    paper: str,
    note: str = "",
) -> Outcome:
    tried = 0
    for mix in mixes:
        if not true(mix):
            return sampled(_name(mix), "not so", paper, note)
        tried += 1
    return sampled(None, f"{ours} ({tried} mixes)", paper, note)


def _none_outside(mix: "LengthMix") -> bool:
    """(1 - z) A has g roots on the unit circle, all of z^g - 1, and the others inside."""
    from flint import fmpz_poly

    from fluidkv.exact.roots.polynomial import count_inside

    whole = fmpz_poly([1, -1]) * _limit(mix)
    rest = whole // whole.gcd(_cyclic(mix.decode_gcd))
    return count_inside(rest) == rest.degree()


def _circle_is_cyclic(mix: "LengthMix") -> bool:
    """The roots of (1 - z) A on the unit circle are those of z^g - 1, with multiplicity one."""
    from flint import fmpz_poly

    from fluidkv.exact.roots.polynomial import count_on_circle, split_reciprocal

    whole = fmpz_poly([1, -1]) * _limit(mix)
    common, _ = split_reciprocal(whole)
    g = mix.decode_gcd
    return count_on_circle(common) == g == whole.gcd(_cyclic(g)).degree()


def _not_one(mix: "LengthMix") -> bool:
    """A_r(1) is sum(p r l1), which is q l1_2 + p l1_1 for two classes and r = 1; not 0."""
    rows = zip(mix.shares, mix.input_ratios, mix.decode_lengths, strict=True)
    mean = sum((p * r * n for p, r, n in rows), Fraction(0))
    return Fraction(int(_limit(mix)(1)), mix.limit.denominator) == mean > 0


def _all_non_trivial(mix: "LengthMix") -> bool:
    from flint import fmpz_poly

    return (_limit(mix) % fmpz_poly([1] * mix.decode_gcd)).is_zero()


def _derivative(mix: "LengthMix") -> bool:
    """w (1 - w) A_r'(w) + sum(p r l1) is 0 at each non-trivial g-th root of unity: a remainder."""
    from flint import fmpz_poly

    rows = zip(mix.shares, mix.input_ratios, mix.decode_lengths, strict=True)
    weight = sum((p * r * n for p, r, n in rows), Fraction(0)) * mix.limit.denominator
    off = fmpz_poly([0, 1, -1]) * _limit(mix).derivative() + int(weight)
    return weight > 0 and (off % fmpz_poly([1] * mix.decode_gcd)).is_zero()


def _simple_on_circle(mix: "LengthMix") -> bool:
    limit = _limit(mix)
    return limit.gcd(limit.derivative()).gcd(_cyclic(mix.decode_gcd)).degree() == 0


def _structure(mix: "LengthMix") -> bool:
    return (
        _none_outside(mix)
        and _circle_is_cyclic(mix)
        and _not_one(mix)
        and _all_non_trivial(mix)
        and _simple_on_circle(mix)
    )


def _exponent_gcds() -> Outcome:
    from math import gcd

    bad = None
    for lengths in combinations(range(1, _LONGEST + 1), 3):
        d = lengths[-1]
        if gcd(*(d - n for n in lengths), d) != gcd(*lengths):
            bad = bad or str(lengths)
    return sampled(bad, "equal", "g")


def _other_roots_depend() -> Outcome:
    """Two mixes that differ in one thing only, and whose limits share no root off the circle."""
    from fluidkv.exact.mixed.mix import LengthMix

    third = Fraction(1, 3)
    base = LengthMix((2, 4), (third,))
    others = {
        "ratios 1, 2": LengthMix((2, 4), (third,), (1, 2)),
        "shares 1/2, 1/2": LengthMix((2, 4), (Fraction(1, 2),)),
    }
    found = {
        name: (base_poly := _limit(base)).gcd(_limit(mix)).degree() for name, mix in others.items()
    }
    bad = next((name for name, degree in found.items() if degree != base.decode_gcd - 1), None)
    return holds_for(
        bad,
        ours=f"lengths 2 and 4, shares 1/3, 2/3: {base_poly.degree()} roots; in common with "
        + ", ".join(f"{name}: {degree} (at -1)" for name, degree in found.items()),
        paper="still depend on r and p",
        note="Only on the products p_k r_k, up to a common factor: they are all that A_r holds.",
    )


CLAIMS = (
    congestion(
        "lemma-10",
        "All roots of (1 - z) A(z) lie in the closed unit disk.",
        "Lemma 10",
        lambda: _for_all(_pairs(), _none_outside, "none outside", "|z| <= 1"),
        kind="lemma",
        checked=_PAIRS,
    ),
    congestion(
        "lemma-11",
        "A root of (1 - z) A(z) on the unit circle is a g-th root of unity.",
        "Lemma 11",
        lambda: _for_all(
            _pairs(),
            _circle_is_cyclic,
            "the factor on the circle is z^g - 1, exactly",
            "z^g = 1",
        ),
        kind="lemma",
        checked=_PAIRS,
    ),
    congestion(
        "lemma-12",
        "A(1) = q l1_2 + p l1_1, so 1 is not a root of A.",
        "Lemma 12 and its proof",
        lambda: _for_all(_pairs(), _not_one, "equal, above 0", "A(1) > 0"),
        kind="lemma",
        checked=_PAIRS,
    ),
    congestion(
        "lemma-13",
        "Every non-trivial g-th root of unity is a root of A.",
        "Lemma 13; section 4.2",
        lambda: _for_all(_pairs(), _all_non_trivial, "1 + z + ... + z^(g-1) divides A", "A(w) = 0"),
        kind="lemma",
        checked=_PAIRS,
    ),
    congestion(
        "theorem-14.derivative",
        "(1 - w) A'(w) = -(q l1_2 + p l1_1) / w at each non-trivial g-th root of unity w.",
        "proof of Theorem 14",
        lambda: _for_all(_pairs(), _derivative, "remainder 0", "-(p l1_1 + q l1_2) / w"),
        kind="equation",
        checked=_PAIRS,
    ),
    congestion(
        "b-8-3.exponents",
        "gcd(d - l1_1, ..., d - l1_(K-1), d) is the gcd of the lengths.",
        "B.8.3",
        _exponent_gcds,
        kind="equation",
        checked=f"all triples of lengths up to {_LONGEST}",
    ),
    congestion(
        "b-8-3.roots",
        "For any number of classes, the limit's roots are the non-trivial g-th roots of unity, "
        "which are simple, and others strictly inside the unit circle.",
        "B.8.3",
        lambda: _for_all(
            tuple(m for m in _mixes() if m.common_input), _structure, "so", "g - 1 on the circle"
        ),
        kind="lemma",
        checked="10 mixes of two to four classes with lengths up to 24",
    ),
    congestion(
        "b-9.roots",
        "The same holds for A_r, whatever the ratios of inputs.",
        "B.9; section 4.2",
        lambda: _for_all(_mixes(), _structure, "so", "g - 1 on the circle"),
        kind="lemma",
        checked=_MIXES,
    ),
    congestion(
        "b-9.derivative",
        "(1 - w) A_r'(w) = -sum(p r l1) / w at each non-trivial g-th root of unity w.",
        "B.9; with r = 1, B.8.3",
        lambda: _for_all(_mixes(), _derivative, "remainder 0", "-sum(p r l1) / w, not 0"),
        kind="equation",
        checked=_MIXES,
    ),
    congestion(
        "remark-2.invariance",
        "Which roots of unity the limit has depends on the decode lengths alone, and neither on "
        "the ratios of inputs nor on the shares.",
        "Remark 2",
        lambda: _for_all(
            (*_mixes(), *_pairs()),
            lambda m: _circle_is_cyclic(m) and _all_non_trivial(m),
            "the same set for all ratios and shares",
            "invariant to r and p",
            "About the limit. At finite input the number of growing modes depends on both: see "
            "congestion.theorem-17.",
        ),
        kind="remark",
        checked=f"{_PAIRS}; {_MIXES}",
    ),
    congestion(
        "remark-2.other-roots",
        "The other roots of the limit do depend on the ratios of inputs and on the shares.",
        "Remark 2",
        _other_roots_depend,
        kind="remark",
        checked="one pair of lengths",
    ),
)
