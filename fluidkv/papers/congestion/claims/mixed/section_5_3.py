"""Congestion, section 5.3: service tiers, and the small adjustment that makes them coprime."""

import math
from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING

from fluidkv.ledger.claim import Outcome
from fluidkv.ledger.outcomes import equals, sampled, verdict
from fluidkv.papers.congestion.paper import congestion
from fluidkv.verdict import Evidence, Verdict

if TYPE_CHECKING:
    from fluidkv.exact.mixed.mix import LengthMix

_TIERS = (128, 256, 512)
_ADJUSTED = (127, 255, 509)
_EQUAL = (Fraction(1, 3), Fraction(1, 3), Fraction(1, 3))
_MOSTLY_SHORT = (Fraction(4, 5), Fraction(1, 10), Fraction(1, 10))
_INPUTS = (1, 2, 5, 10, 20, 50, 100, 200, 512, 1000, 2000, 5000, 10**4, 10**5, 10**6)


def _mix(lengths: tuple[int, ...], shares: tuple[Fraction, ...] = _EQUAL) -> "LengthMix":
    from fluidkv.exact.mixed.mix import LengthMix

    return LengthMix(lengths, shares)


def _resonance_removed() -> Outcome:
    """Roots of the limit polynomial A on and outside the circle, before and after."""
    from fluidkv.exact.roots.spectrum import count_unstable

    before, after = (count_unstable(_mix(lengths).limit) for lengths in (_TIERS, _ADJUSTED))
    holds = (before.outside, after.outside, after.on_circle) == (0, 0, 0) and before.on_circle
    return Outcome(
        verdict(bool(holds)),
        Evidence.BALL,
        ours=f"{before.on_circle} roots of A on the unit circle before, {after.on_circle} after; "
        "all others inside",
        paper="remove the exact GCD resonance",
    )


def _not_by_themselves() -> Outcome:
    """l0_min from all crossings, and the counts on both sides of it by themselves."""
    from fluidkv.exact.mixed.thresholds.threshold import ThresholdStatus, input_threshold

    found = input_threshold(_mix(_ADJUSTED))
    if found.status is not ThresholdStatus.FOUND or found.at is None or found.below is None:
        raise ArithmeticError(f"no threshold: {found.status}")
    least = found.least or 0
    holds = bool(found.below.outside) and (found.at.outside, found.at.on_circle) == (0, 0)
    return Outcome(
        verdict(holds),
        Evidence.BALL,
        ours=f"stable only from l0 = {least:,} on; at {least - 1:,} modes grow: "
        f"{found.below.outside}",
        paper="do not by themselves guarantee stability",
        note="Every input length is looked at; both counts are made once more by themselves.",
    )


def _growth(
    cases: Iterable[tuple[tuple[Fraction, ...], int]],
) -> Iterator[tuple[tuple[Fraction, ...], int, float, float, bool]]:
    """Shares, l0, rho - 1 before and after, and whether the adjusted one is certainly smaller.

    Raises:
        ArithmeticError: the enclosures overlap.
    """
    from fluidkv.exact.roots.spectrum import certify_spectrum

    for shares, l0 in cases:
        (low, high), (adjusted_low, adjusted_high) = (
            certify_spectrum(_mix(lengths, shares).weights(l0)).radius
            for lengths in (_TIERS, _ADJUSTED)
        )
        if low <= adjusted_high and adjusted_low <= high:
            raise ArithmeticError(f"l0 = {l0}: the spectral radii are not told apart")
        yield shares, l0, low - 1, adjusted_low - 1, adjusted_high < low


def _mitigate() -> Outcome:
    """Growth an iteration in equal shares, before and after."""
    found = list(_growth((_EQUAL, l0) for l0 in _INPUTS))
    bad = next((f"l0 = {l0}" for _, l0, _, _, slower in found if not slower), None)
    usual = next(1 - after / before for _, l0, before, after, _ in found if l0 == 512)
    long = 1 - found[-1][3] / found[-1][2]
    return sampled(
        bad,
        f"the fastest mode grows more slowly at each: by {usual:.2%} at l0 = 512, by {long:.0%} at "
        f"l0 = {_INPUTS[-1]:,}",
        "mitigate arithmetic synchronization",
        refuted=Evidence.BALL,
    )


def _mitigate_every_mix() -> Outcome:
    """The same with other shares, shortest input first."""
    for shares, l0, before, after, slower in _growth(product((_MOSTLY_SHORT,), _INPUTS)):
        if not slower:
            named = ", ".join(map(str, shares))
            return Outcome(
                Verdict.FAILS,
                Evidence.BALL,
                ours=f"at l0 = {l0} the fastest mode of {_TIERS} grows by {before:.4%} an "
                f"iteration, that of {_ADJUSTED} by {after:.4%}",
                paper="mitigate arithmetic synchronization",
                note="The paper names no shares and no input; with long inputs the adjusted mix "
                "is stable and the other is not.",
                witness=f"shares {named}, l0 = {l0}",
            )
    return sampled(None, "slower at each", "mitigate arithmetic synchronization")


_LISTED = ", ".join(f"{l0:,}" for l0 in _INPUTS)

CLAIMS = (
    congestion(
        "section-5-3.tiers.divisor",
        "The tiers 128, 256, 512 all share gcd = 128.",
        "section 5.3",
        lambda: equals(math.gcd(*_TIERS), "128"),
    ),
    congestion(
        "section-5-3.tiers.coprime",
        "127, 255, 509 restore coprimality.",
        "section 5.3",
        lambda: equals(math.gcd(*_ADJUSTED), "1"),
    ),
    congestion(
        "section-5-3.tiers.resonance",
        "This removes the exact resonance in the input-dominated model.",
        "section 5.3",
        _resonance_removed,
        kind="remark",
        checked="equal shares, the limit of long inputs",
    ),
    congestion(
        "section-5-3.tiers.not-by-themselves",
        "At finite inputs such adjustments do not by themselves guarantee stability.",
        "section 5.3",
        _not_by_themselves,
        kind="remark",
        checked="equal shares, every common input length",
    ),
    congestion(
        "section-5-3.tiers.mitigate",
        "At finite inputs such adjustments mitigate synchronization: modes grow more slowly.",
        "section 5.3, in equal shares",
        _mitigate,
        kind="remark",
        checked=f"equal shares, l0 = {_LISTED}",
    ),
    congestion(
        "section-5-3.tiers.mitigate-every-mix",
        "At finite inputs modes grow more slowly after the adjustment, whatever the shares.",
        "section 5.3, read as a statement about every mix of these tiers",
        _mitigate_every_mix,
        kind="remark",
        checked="shares 4/5, 1/10, 1/10",
        expected=Verdict.FAILS,
    ),
)
