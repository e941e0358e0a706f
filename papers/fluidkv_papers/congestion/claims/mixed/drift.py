"""Congestion, B.4, B.5, B.8.4, B.8.5 and B.9: unit-circle modes drift out, all others stay inside.

The paper says "for sufficiently large l0". Here all crossings of the unit circle are found, for
every real L >= 0 at once; the count of growing modes just above the last of them then holds from
there on without end.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import pairwise

from fluidkv import exact
from fluidkv.exact.mixed import motion, thresholds
from fluidkv.ledger import Range, Seen, flint
from fluidkv_papers.congestion.claims.mixed.limit_roots import described, two_classes
from fluidkv_papers.congestion.paper import statements

CLAIMS = statements()
_LONGEST = 10
_TUPLES = ((2, 3, 4), (2, 4, 6), (3, 6, 9), (4, 6, 10), (3, 5, 8), (2, 3, 5, 7), (3, 6, 9, 12))
_RATIOS = ((1, 2, 3, 4), (4, 1, 2, Fraction(1, 3)), (Fraction(1, 5), 1, 1, 6))


@dataclass(frozen=True)
class _Count:
    """Growing modes of a mix over all input lengths.

    Fields:
        last: from this integer input length on the count is that of the limit.
        fewest: the smallest count at any L >= 0.
        at_zero: the count at L = 0.
        final: the count for all L >= last.
        neutral: modes on the circle at `last`; with none, all others are inside.
    """

    mix: "exact.LengthMix"
    last: int
    fewest: int
    at_zero: int
    final: int
    neutral: int | None


def _outside(mix: "exact.LengthMix", length: Fraction | int) -> int:
    found = exact.count_unstable(mix.weights(length))
    if found.outside is None:
        raise ArithmeticError(f"no count for {mix} at {length}")
    return found.outside


@cache
def _count(mix: "exact.LengthMix") -> _Count:
    """All crossings with L > 0, and the number of growing modes between them.

    Raises:
        ArithmeticError: a count that is not decided; the check then has no outcome.
    """
    ends = [Fraction(float(c.length.mid())) for c in thresholds.pencil.InputPencil(mix).crossings()]
    points = [Fraction(0), *(x for x in ends if x > 0)]
    if len(points) > 1:
        # the first integer above the last crossing, whose ball is far narrower than a millionth
        last = int(points[-1] + Fraction(1, 10**6)) + 1
    else:
        last = 0 if exact.count_unstable(mix.weights(0)).on_circle == 0 else 1
    counts = [_outside(mix, (a + b) / 2) for a, b in pairwise(points)] + [_outside(mix, last)]
    neutral = exact.count_unstable(mix.weights(last)).on_circle
    return _Count(mix, last, min(counts), _outside(mix, 0), counts[-1], neutral)


def _several(ratios: bool) -> "list[exact.LengthMix]":
    """Three and four classes, with equal inputs or with ratios."""
    found = []
    for lengths in _TUPLES:
        k = len(lengths)
        shares = [Fraction(j + 1, k * (k + 1) // 2) for j in range(k)]
        rows = [r[:k] for r in _RATIOS] if ratios else [(1,) * k]
        found += [exact.LengthMix(lengths, shares, row) for row in rows]
    return found


_PAIRS = Range(
    f"all pairs of lengths up to {_LONGEST}, p = 1/10, 3/10, ... 9/10; every real l0 >= 0",
    lambda: two_classes(_LONGEST),
    name=described,
)
_WORDS = f"{len(_TUPLES)} tuples of three and four lengths up to 12; every real L >= 0"
_MIXES = Range(_WORDS, lambda: _several(False), name=described)
_WEIGHTED = Range(f"{_WORDS}, three rows of ratios each", lambda: _several(True), name=described)


def _with_divisor(cases: Range) -> Range:
    return cases.where("g > 1", lambda mix: mix.decode_gcd > 1)


def _coprime(cases: Range) -> Range:
    return cases.where("g = 1", lambda mix: mix.decode_gcd == 1)


def _latest(seen: list[_Count]) -> str:
    last = max(count.last for count in seen)
    return f"g - 1 from some L on, in all {len(seen)} mixes; at the latest from L = {last}"


def _sizes(seen: list[_Count]) -> str:
    """From which sizes on the final count is, and what happens below."""
    latest = max(seen, key=lambda c: c.last)
    below = next((c for c in seen if c.at_zero != c.final), None)
    fewer = [c for c in seen if c.fewest < c.mix.decode_gcd - 1]
    note = f"Latest: {described(latest.mix)}, from L = {latest.last} on."
    if below is not None:
        note += (
            f" Below, more modes grow: {described(below.mix)} has {below.at_zero} at L = 0 and "
            f"{below.final} from L = {below.last} on."
        )
    if fewer:
        return f"{note} Fewer than g - 1 somewhere: {described(fewer[0].mix)}."
    return f"{note} Fewer than g - 1 nowhere, whatever L, in these {len(seen)} mixes."


@CLAIMS.claim("theorem-14.roots-outside", "Theorem 14", over=_with_divisor(_PAIRS), ours=_latest)
def _grow(mix: "exact.LengthMix") -> Seen | bool:
    """With g > 1, from some l0 on F has g - 1 roots outside the unit circle."""
    # At least; that there are no more is Lemma 15.
    count = _count(mix)
    return count.final >= mix.decode_gcd - 1 and Seen(count)


def _settles(mix: "exact.LengthMix") -> Seen | bool:
    """g - 1 outside, none on the circle, so all others inside."""
    count = _count(mix)
    return (count.final, count.neutral) == (mix.decode_gcd - 1, 0) and Seen(count)


for cases, id, place, statement in (
    (
        _with_divisor(_PAIRS),
        "lemma-15.count",
        "Lemma 15; Theorem 3 (1)",
        "With g > 1, from some l0 on exactly g - 1 roots lie outside, and l1_2 - g inside.",
    ),
    (
        _coprime(_PAIRS),
        "theorem-17",
        "Theorem 17",
        "With g = 1, from some l0 on all roots of F lie inside the unit circle.",
    ),
    (
        _with_divisor(_MIXES),
        "b-8-4",
        "B.8.4",
        "For any number of classes with g > 1, g - 1 unstable modes from some l0 on.",
    ),
    (
        _coprime(_MIXES),
        "b-8-5",
        "B.8.5",
        "For any number of classes with g = 1, all roots inside from some l0 on.",
    ),
    (
        _with_divisor(_WEIGHTED),
        "b-9.common-divisor",
        "B.9",
        "With unequal inputs and g > 1, g - 1 unstable modes from some L on.",
    ),
    (
        _coprime(_WEIGHTED),
        "b-9.coprime",
        "B.9",
        "With unequal inputs and g = 1, all roots inside from some L on.",
    ),
):
    kind = "theorem" if id.startswith("b-") else None
    CLAIMS.claim(id, place, statement, over=cases, ours=_latest, note=_sizes, kind=kind)(_settles)


@CLAIMS.claim(
    "lemma-15.order",
    "Lemma 15; Theorem 3 (1)",
    over=_with_divisor(_PAIRS).cases,
    checked=f"all pairs of lengths up to {_LONGEST} with g > 1, five shares; l0 >= 20 d",
    ours=lambda seen: (
        f"{min(1, *(low for low, _ in seen)):.3f} <= (|z| - 1)(l0 + d) <= "
        f"{max(1, *(high for _, high in seen)):.3f} for every real l0 >= 20 d ({len(seen)} mixes)"
    ),
)
def _rates(mix: "exact.LengthMix") -> Seen | bool:
    """The unstable roots have |z| - 1 = Theta(1/l0).

    Note: By Rouche's theorem in balls, uniform in l0 for each mix. The limit is 1, from above: the
    real part of d_w is positive."""
    # With constants for all real l0 above a bound.
    rate = motion.drift.outward_rate(mix, 20 * mix.ages)
    if rate.low is None or rate.high is None:
        raise ArithmeticError(f"no constants for {described(mix)}: {rate.status}")
    return rate.low > 0 and rate.limit == 1 and Seen((rate.low, rate.high))


@CLAIMS.claim(
    "b-9.radial",
    "B.9",
    over=Range(
        "mixes of two to four classes with g > 1, three rows of ratios and offsets each",
        lambda: (
            (
                exact.LengthMix(
                    lengths, [Fraction(2 * j + 2, k * (k + 1)) for j in range(k)], ratios[:k]
                ),
                offsets[:k],
            )
            for lengths in (*_TUPLES, (2, 4), (6, 9), (4, 12))
            for k in (len(lengths),)
            for ratios, offsets in zip(
                _RATIOS, ((0, 0, 0, 0), (3, 0, 7, 1), (0, 9, 2, 5)), strict=True
            )
        ),
        name=lambda mix, offsets: f"{described(mix)}, offsets {offsets}",
    ).where("g > 1", lambda mix, _: mix.decode_gcd > 1),
    kind="equation",
)
def _radial(mix: "exact.LengthMix", offsets: tuple[int, ...]) -> bool:
    """With inputs r_k L + O(1), unit-circle modes start outward: a positive radial coefficient.

    Ours: -C(w)/A_r'(w) = w sum(p l1) / sum(p r l1), straight outward ({count} mixes)
    Note: F = L A_r + C. The c_k of inputs r_k L + c_k drop out: their survival polynomial is 0 at
    w. With equal inputs the rate is 1."""
    # z1 / w is real, positive and sum(p l1) / sum(p r l1), with inputs r_k L + c_k.
    scale, lengths = mix.limit.denominator, mix.decode_lengths
    rows = list(zip(mix.shares, mix.input_ratios, lengths, offsets, strict=True))
    # F = L A_r + C with l0_k = r_k L + c_k: C holds c_k as well
    rest = [sum(p * scale * (c + 1 + s) for p, _, n, c in rows if n > s) for s in range(mix.ages)]
    limit = flint.fmpz_poly(list(reversed(mix.limit.memory)))
    correction = flint.fmpz_poly([int(x) for x in reversed(rest)])
    mean = sum((p * n for p, _, n, _ in rows), Fraction(0))
    rate = mean / sum((p * r * n for p, r, n, _ in rows), Fraction(0))
    # -C(w) = rate w A_r'(w) at the non-trivial g-th roots of unity: a remainder
    turned = flint.fmpz_poly([0, 1]) * limit.derivative()
    off = rate.denominator * correction + rate.numerator * turned
    return rate > 0 and (off % flint.fmpz_poly([1] * mix.decode_gcd)).is_zero()
