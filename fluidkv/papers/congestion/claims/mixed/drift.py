"""Congestion, B.4, B.5, B.8.4, B.8.5 and B.9: unit-circle modes drift out, all others stay inside.

The paper says "for sufficiently large l0". Here all crossings of the unit circle are found, for
every real L >= 0 at once; the count of growing modes just above the last of them then holds from
there on without end.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import combinations, pairwise
from typing import TYPE_CHECKING

from fluidkv.ledger.claim import Outcome
from fluidkv.ledger.outcomes import sampled
from fluidkv.papers.congestion.paper import congestion
from fluidkv.verdict import Evidence, Verdict

if TYPE_CHECKING:
    from fluidkv.exact.mixed.mix import LengthMix

_LONGEST = 10
_SHARES = tuple(Fraction(p, 10) for p in (1, 3, 5, 7, 9))
_PAIRS = f"all pairs of lengths up to {_LONGEST}, p = 1/10, 3/10, ... 9/10; every real l0 >= 0"
_TUPLES = ((2, 3, 4), (2, 4, 6), (3, 6, 9), (4, 6, 10), (3, 5, 8), (2, 3, 5, 7), (3, 6, 9, 12))
_MIXES = f"{len(_TUPLES)} tuples of three and four lengths up to 12; every real L >= 0"
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

    mix: "LengthMix"
    last: int
    fewest: int
    at_zero: int
    final: int
    neutral: int | None


def _count(mix: "LengthMix") -> _Count:
    """All crossings with L > 0, and the number of growing modes between them.

    Raises:
        ArithmeticError: a count that is not decided; the check then has no outcome.
    """
    from fluidkv.exact.mixed.thresholds.pencil import InputPencil
    from fluidkv.exact.roots.spectrum import count_unstable

    def outside(length: Fraction | int) -> int:
        found = count_unstable(mix.weights(length))
        if found.outside is None:
            raise ArithmeticError(f"no count for {mix} at {length}")
        return found.outside

    ends = [Fraction(float(c.length.mid())) for c in InputPencil(mix).crossings()]
    points = [Fraction(0), *(x for x in ends if x > 0)]
    between = [(a + b) / 2 for a, b in pairwise(points)]
    if len(points) > 1:
        # the first integer above the last crossing, whose ball is far narrower than a millionth
        last = int(points[-1] + Fraction(1, 10**6)) + 1
    else:
        last = 0 if count_unstable(mix.weights(0)).on_circle == 0 else 1
    final = outside(last)
    counts = [outside(x) for x in between] + [final]
    neutral = count_unstable(mix.weights(last)).on_circle
    return _Count(mix, last, min(counts), outside(0), final, neutral)


@cache
def _pair_counts(common: bool) -> tuple[_Count, ...]:
    """Two classes with or without a common divisor, in order of the longer length."""
    from math import gcd

    from fluidkv.exact.mixed.mix import two_lengths

    pairs = sorted(combinations(range(1, _LONGEST + 1), 2), key=lambda pair: pair[::-1])
    return tuple(
        _count(two_lengths(a, n, p)) for a, n in pairs if (gcd(a, n) > 1) is common for p in _SHARES
    )


@cache
def _mix_counts(common: bool, ratios: bool) -> tuple[_Count, ...]:
    """Three and four classes, with equal inputs or with ratios."""
    from fluidkv.exact.mixed.mix import LengthMix

    found = []
    for lengths in _TUPLES:
        k = len(lengths)
        shares = [Fraction(j + 1, k * (k + 1) // 2) for j in range(k)]
        for row in [r[:k] for r in _RATIOS] if ratios else [(1,) * k]:
            mix = LengthMix(lengths, shares, row)
            if (mix.decode_gcd > 1) is common:
                found.append(_count(mix))
    return tuple(found)


def _name(mix: "LengthMix") -> str:
    shares = ", ".join(map(str, mix.shares))
    ratios = "" if mix.common_input else f", ratios {', '.join(map(str, mix.input_ratios))}"
    return f"lengths {mix.decode_lengths}, shares {shares}{ratios}"


def _settles(counts: Iterable[_Count], paper: str) -> Outcome:
    """The final count is g - 1, with the sizes from which on it is, and what happens below."""
    found = list(counts)
    bad = next((c for c in found if (c.final, c.neutral) != (c.mix.decode_gcd - 1, 0)), None)
    latest = max(found, key=lambda c: c.last)
    below = next((c for c in found if c.at_zero != c.final), None)
    fewer = [c for c in found if c.fewest < c.mix.decode_gcd - 1]
    note = f"Latest: {_name(latest.mix)}, from L = {latest.last} on."
    if below is not None:
        note += (
            f" Below, more modes grow: {_name(below.mix)} has {below.at_zero} at L = 0 and "
            f"{below.final} from L = {below.last} on."
        )
    note += (
        f" Fewer than g - 1 nowhere, whatever L, in these {len(found)} mixes."
        if not fewer
        else f" Fewer than g - 1 somewhere: {_name(fewer[0].mix)}."
    )
    return sampled(
        _name(bad.mix) if bad else None,
        f"g - 1 from some L on, in all {len(found)} mixes; at the latest from L = {latest.last}",
        paper,
        note,
    )


def _rates() -> Outcome:
    """|z| - 1 = Theta(1/l0), with constants for all real l0 above a bound."""
    from math import gcd

    from fluidkv.exact.mixed.mix import two_lengths
    from fluidkv.exact.mixed.motion.drift import outward_rate

    low, high, tried = 1.0, 1.0, 0
    for a, n in combinations(range(1, _LONGEST + 1), 2):
        for p in _SHARES if gcd(a, n) > 1 else ():
            mix = two_lengths(a, n, p)
            rate = outward_rate(mix, 20 * n)
            if rate is None or not rate.low > 0 or rate.limit != 1:
                return Outcome(
                    Verdict.UNDECIDED, Evidence.BALL, f"no constants for {_name(mix)}", "Theta"
                )
            low, high, tried = min(low, rate.low), max(high, rate.high), tried + 1
    return sampled(
        None,
        f"{low:.3f} <= (|z| - 1)(l0 + d) <= {high:.3f} for every real l0 >= 20 d ({tried} mixes)",
        "Theta(1/l0)",
        "By Rouche's theorem in balls, uniform in l0 for each mix. The limit is 1, from above: "
        "the real part of d_w is positive.",
    )


def _radial() -> Outcome:
    """z1 / w is real, positive and sum(p l1) / sum(p r l1), with inputs r_k L + c_k."""
    from flint import fmpz_poly

    from fluidkv.exact.mixed.mix import LengthMix

    tried = 0
    for lengths in (*_TUPLES, (2, 4), (6, 9), (4, 12)):
        k = len(lengths)
        shares = [Fraction(j + 1, k * (k + 1) // 2) for j in range(k)]
        for ratios, offsets in zip(
            _RATIOS, ((0, 0, 0, 0), (3, 0, 7, 1), (0, 9, 2, 5)), strict=True
        ):
            mix = LengthMix(lengths, shares, ratios[:k])
            g, d = mix.decode_gcd, mix.ages
            if g == 1:
                continue
            rows = list(zip(mix.shares, mix.input_ratios, lengths, offsets[:k], strict=True))
            scale = mix.limit.denominator
            # F = L A_r + C with l0_k = r_k L + c_k: C holds c_k as well
            rest = [sum(p * scale * (c + 1 + s) for p, _, n, c in rows if n > s) for s in range(d)]
            limit = fmpz_poly(list(reversed(mix.limit.memory)))
            correction = fmpz_poly([int(x) for x in reversed(rest)])
            mean = sum((p * n for p, _, n, _ in rows), Fraction(0))
            rate = mean / sum((p * r * n for p, r, n, _ in rows), Fraction(0))
            # -C(w) = rate w A_r'(w) at the non-trivial g-th roots of unity: a remainder
            off = rate.denominator * correction + rate.numerator * (
                fmpz_poly([0, 1]) * limit.derivative()
            )
            if not (off % fmpz_poly([1] * g)).is_zero():
                return sampled(_name(mix), "not radial", "positive")
            tried += 1
    return sampled(
        None,
        f"-C(w)/A_r'(w) = w sum(p l1) / sum(p r l1), straight outward ({tried} mixes)",
        "a positive radial first-order coefficient",
        "F = L A_r + C. The c_k of inputs r_k L + c_k drop out: their survival polynomial is 0 at "
        "w. With equal inputs the rate is 1.",
    )


CLAIMS = (
    congestion(
        "theorem-14.roots-outside",
        "With g > 1, from some l0 on F has g - 1 roots outside the unit circle.",
        "Theorem 14",
        lambda: _settles(_pair_counts(True), "g - 1 for sufficiently large l0"),
        kind="theorem",
        checked=_PAIRS,
    ),
    congestion(
        "lemma-15.count",
        "With g > 1, from some l0 on exactly g - 1 roots lie outside, and l1_2 - g inside.",
        "Lemma 15; Theorem 3 (1)",
        lambda: _settles(_pair_counts(True), "g - 1 outside, l1_2 - g inside"),
        kind="lemma",
        checked=_PAIRS,
    ),
    congestion(
        "lemma-15.order",
        "The unstable roots have |z| - 1 = Theta(1/l0).",
        "Lemma 15; Theorem 3 (1)",
        _rates,
        kind="lemma",
        checked=f"all pairs of lengths up to {_LONGEST} with g > 1, five shares; l0 >= 20 d",
    ),
    congestion(
        "theorem-17",
        "With g = 1, from some l0 on all roots of F lie inside the unit circle.",
        "Theorem 17",
        lambda: _settles(_pair_counts(False), "all inside for sufficiently large l0"),
        kind="theorem",
        checked=_PAIRS,
    ),
    congestion(
        "b-8-4",
        "For any number of classes with g > 1, g - 1 unstable modes from some l0 on.",
        "B.8.4",
        lambda: _settles(_mix_counts(True, False), "g - 1"),
        kind="theorem",
        checked=_MIXES,
    ),
    congestion(
        "b-8-5",
        "For any number of classes with g = 1, all roots inside from some l0 on.",
        "B.8.5",
        lambda: _settles(_mix_counts(False, False), "none"),
        kind="theorem",
        checked=_MIXES,
    ),
    congestion(
        "b-9.common-divisor",
        "With unequal inputs and g > 1, g - 1 unstable modes from some L on.",
        "B.9",
        lambda: _settles(_mix_counts(True, True), "g - 1"),
        kind="theorem",
        checked=f"{_MIXES}, three rows of ratios each",
    ),
    congestion(
        "b-9.coprime",
        "With unequal inputs and g = 1, all roots inside from some L on.",
        "B.9",
        lambda: _settles(_mix_counts(False, True), "none"),
        kind="theorem",
        checked=f"{_MIXES}, three rows of ratios each",
    ),
    congestion(
        "b-9.radial",
        "With inputs r_k L + O(1), unit-circle modes start outward: a positive radial coefficient.",
        "B.9",
        _radial,
        kind="equation",
        checked="mixes of two to four classes with g > 1, three rows of ratios and offsets each",
    ),
)
