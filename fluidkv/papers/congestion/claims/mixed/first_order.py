"""Congestion, (12) and the first-order criterion: how the radius grows as inputs get shorter."""

from fractions import Fraction
from itertools import pairwise, product
from typing import Any

from fluidkv import exact
from fluidkv.ledger.claim import Origin, Outcome
from fluidkv.ledger.outcomes import sampled
from fluidkv.ledger.ranges import Range, Seen
from fluidkv.papers.congestion.claims.mixed.coprime_pairs import (
    SHARES,
    SWEPT,
    THREE_SHARES,
    drift_ratio,
    first_order,
    gap,
    least,
    middle,
    named,
    remainder,
    swept,
)
from fluidkv.papers.congestion.paper import statements
from fluidkv.verdict import Evidence, Verdict

CLAIMS = statements()
_BELOW_12 = "section 4.3, below (12)"
_INPUTS = (0, 1, 2, 5, 10, 100, 1000)
_FAMILIES = Range(
    f"a = 2 and (n-1)/2, n = 11, 21, 41, {THREE_SHARES}; at l0_min and at twice its l0 + n",
    lambda: product(("a = 2", "a = (n-1)/2"), SHARES, (1, 2)),
)


@CLAIMS.over(
    Range(f"{swept(9).words}; l0 = {', '.join(map(str, _INPUTS))}", swept(9).cases),
    "equation-12.erosion",
    _BELOW_12,
    "Finite input length erodes the spectral gap: rho(l0) falls with l0, to rho_inf.",
)
def _erosion(a: int, n: int, p: Fraction) -> bool | str:
    """By disjoint certified brackets."""
    mix = exact.two_lengths(a, n, p)
    radii = [exact.certify_spectrum(mix.weights(length)).radius for length in _INPUTS]
    radii.append(exact.certify_spectrum(mix.limit).radius)
    rises = [
        l0
        for l0, (now, after) in zip(_INPUTS, pairwise(radii), strict=True)
        if not now[0] > after[1]
    ]
    return not rises or f"{named(a, n, p)}, l0 = {rises[0]}"


def _between(seen: list[Any]) -> str:
    ratios = [ratio for row in seen for ratio in row]
    return (
        f"remainder / (n eps^2) is {min(ratios):.3f} to {max(ratios):.3f} times "
        "(q + 2 p theta - p theta^2) / (2 (q + p theta)), the limit of Re d / n"
    )


@CLAIMS.over(
    _FAMILIES,
    "equation-12.remainder",
    "equation (12)",
    "rho(eps) = rho_inf (1 + eps) + O(n eps^2) at the threshold scale.",
    ours=_between,
    paper="O(n eps^2)",
    note="It is positive: the true radius is larger than the first order says.",
)
def _remainder(family: str, p: Fraction, times: int) -> Seen | str:
    """Twice the limit of Re d / n serves as the constant."""
    ratios = []
    for n in (11, 21, 41):
        a = 2 if family == "a = 2" else (n - 1) // 2
        eps = Fraction(1, times * (least(a, n, p) + n))
        ratios.append(remainder(a, n, p, eps) / drift_ratio(a / n, p))
    within = min(ratios) > 0 and max(ratios) <= 2
    return Seen(ratios) if within else f"{family}, p = {p}: {ratios}"


@CLAIMS.over(
    SWEPT,
    "equation-12.criterion.required",
    _BELOW_12,
    "Stability requires (l0 + n)(1 - rho_inf) >= 1.",
    note="Printed with a sign for 'about, or more', to first order.",
)
def _required(a: int, n: int, p: Fraction) -> bool:
    low, high = gap(a, n, p)
    at = least(a, n, p) + n
    if at * low < 1 <= at * high:
        raise ArithmeticError(named(a, n, p))
    return at * low >= 1


@CLAIMS.claim(
    "equation-12.criterion.threshold",
    "section 4.3, read as a rule for the threshold",
    "The smallest l0 that meets the first-order criterion is l0_min.",
    expected=Verdict.FAILS,
    evidence=Evidence.BALL,
    origin=Origin.READING,
    checked=SWEPT.words,
)
def _wrong_integer() -> Outcome:
    wrong, right, excess = [], [], []
    for a, n, p in SWEPT.cases():
        estimate, value = first_order(a, n, p), least(a, n, p)
        if estimate is None:
            continue
        excess.append((value - 1 / middle(a, n, p) + n) / (n * drift_ratio(a / n, p)))
        said = f"{named(a, n, p)}: l0_min = {value}, criterion {estimate}"
        (right if value == estimate else wrong).append(said)
    return sampled(
        wrong[0] if wrong else None,
        f"{len(wrong)} of {len(wrong) + len(right)} integers are wrong, all of them too small; "
        "right for " + ("; ".join(said.partition(": ")[0] for said in right) or "none"),
        "(l0 + n)(1 - rho) >= 1",
        "The paper calls the criterion a requirement to first order. "
        "l0_min exceeds 1/(1 - rho) - n by about Re d_alpha, n/2 and more; the excess over its "
        f"limit n (q + 2 p theta - p theta^2) / (2 (q + p theta)) is a factor {min(excess):.2f} to "
        f"{max(excess):.2f} here. Relative to l0_min that vanishes like n^-2.",
        refuted=Evidence.BALL,
    )
