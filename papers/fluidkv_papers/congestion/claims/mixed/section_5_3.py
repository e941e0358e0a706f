"""Congestion, section 5.3: service tiers, and the small adjustment that makes them coprime."""

import math
from fractions import Fraction
from itertools import product

from fluidkv import exact
from fluidkv.exact.mixed import thresholds
from fluidkv.ledger import Evidence, Finding, Origin, Outcome, Range, Seen, equals
from fluidkv_papers.congestion.paper import statements

CLAIMS = statements()

_TIERS = (128, 256, 512)
_ADJUSTED = (127, 255, 509)
_EQUAL = (Fraction(1, 3), Fraction(1, 3), Fraction(1, 3))
_MOSTLY_SHORT = (Fraction(4, 5), Fraction(1, 10), Fraction(1, 10))
_INPUTS = (1, 2, 5, 10, 20, 50, 100, 200, 512, 1000, 2000, 5000, 10**4, 10**5, 10**6)


def _mix(lengths: tuple[int, ...], shares: tuple[Fraction, ...] = _EQUAL) -> "exact.LengthMix":
    return exact.LengthMix(lengths, shares)


@CLAIMS.claim("section-5-3.tiers.divisor", "section 5.3", kind="example")
def _divisor() -> Outcome:
    """The tiers 128, 256, 512 all share gcd = 128."""
    return equals(math.gcd(*_TIERS), "128")


CLAIMS.claim(
    "section-5-3.tiers.coprime", "section 5.3", "127, 255, 509 restore coprimality.", kind="example"
)(lambda: equals(math.gcd(*_ADJUSTED), "1"))


@CLAIMS.claim("section-5-3.tiers.resonance", "section 5.3", evidence=Evidence.BALL)
def _resonance_removed() -> Finding:
    """This removes the exact resonance in the input-dominated model.

    Checked: equal shares, the limit of long inputs
    Paper: remove the exact GCD resonance"""
    # Roots of the limit polynomial A on and outside the circle, before and after.
    before, after = (exact.count_unstable(_mix(tiers).limit) for tiers in (_TIERS, _ADJUSTED))
    holds = (before.outside, after.outside, after.on_circle) == (0, 0, 0) and before.on_circle
    return Finding(
        bool(holds),
        f"{before.on_circle} roots of A on the unit circle before, {after.on_circle} after; "
        "all others inside",
    )


@CLAIMS.claim("section-5-3.tiers.not-by-themselves", "section 5.3", evidence=Evidence.BALL)
def _not_by_themselves() -> Finding:
    """At finite inputs such adjustments do not by themselves guarantee stability.

    Checked: equal shares, every common input length
    Paper: do not by themselves guarantee stability
    Note: Every input length is looked at; both counts are made once more by themselves."""
    # l0_min from all crossings, and the counts on both sides of it by themselves.
    found = exact.input_threshold(_mix(_ADJUSTED))
    if (
        found.status is not thresholds.threshold.ThresholdStatus.FOUND
        or found.at is None
        or found.below is None
    ):
        raise ArithmeticError(f"no threshold: {found.status}")
    least = found.least or 0
    holds = bool(found.below.outside) and (found.at.outside, found.at.on_circle) == (0, 0)
    return Finding(
        holds,
        f"stable only from l0 = {least:,} on; at {least - 1:,} modes grow: {found.below.outside}",
    )


# --- growth at finite inputs ----------------------------------------------------------------------

Shares = tuple[Fraction, ...]


def _growth(shares: Shares, l0: int) -> tuple[float, float]:
    """rho - 1 before and after, told apart with certainty.

    Raises:
        ArithmeticError: the enclosures overlap.
    """
    (low, high), (adjusted_low, adjusted_high) = (
        exact.certify_spectrum(_mix(lengths, shares).weights(l0)).radius
        for lengths in (_TIERS, _ADJUSTED)
    )
    if low <= adjusted_high and adjusted_low <= high:
        raise ArithmeticError(f"l0 = {l0}: the spectral radii are not told apart")
    return low - 1, adjusted_low - 1


def _inputs(words: str, shares: Shares) -> Range:
    return Range(
        f"{words}, l0 = {', '.join(f'{l0:,}' for l0 in _INPUTS)}",
        lambda: product((shares,), _INPUTS),
    )


@CLAIMS.fails(
    "section-5-3.tiers.mitigate-every-mix",
    "section 5.3, read as a statement about every mix of these tiers",
    "At finite inputs modes grow more slowly after the adjustment, whatever the shares.",
    over=_inputs("shares 4/5, 1/10, 1/10", _MOSTLY_SHORT),
    origin=Origin.READING,
    ours=f"the fastest mode of {_ADJUSTED} grows faster than that of {_TIERS}",
    paper="mitigate arithmetic synchronization",
    note="The paper names no shares and no input; with long inputs the adjusted mix is stable and "
    "the other is not.",
    refuted=Evidence.BALL,
    holds="section-5-3.tiers.mitigate",
)
@CLAIMS.claim(
    "section-5-3.tiers.mitigate",
    "section 5.3, in equal shares",
    "At finite inputs such adjustments mitigate synchronization: modes grow more slowly.",
    over=_inputs("equal shares", _EQUAL),
    origin=Origin.READING,
    ours=lambda seen: (
        f"the fastest mode grows more slowly at each: by {dict(seen)[512]:.2%} at l0 = 512, by "
        f"{dict(seen)[_INPUTS[-1]]:.0%} at l0 = {_INPUTS[-1]:,}"
    ),
    paper="mitigate arithmetic synchronization",
    refuted=Evidence.BALL,
)
def _grows_more_slowly(shares: Shares, l0: int) -> Seen | str:
    before, after = _growth(shares, l0)
    if after < before:
        return Seen((l0, 1 - after / before))
    listed = ", ".join(map(str, shares))
    return f"shares {listed}, l0 = {l0}: by {after:.4%} per iteration, before by {before:.4%}"
