"""Congestion, (12), the first-order criterion and Figure 3: the radius as inputs get shorter."""

import math
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

from fluidkv import exact
from fluidkv.ledger import Evidence, Finding, Origin, Range, Seen, np
from fluidkv_papers.congestion.instances import coprime_pairs as coprime
from fluidkv_papers.congestion.paper import statements

CLAIMS = statements()
REFUTED_IN_BALLS = CLAIMS.section(refuted=Evidence.BALL)
FIGURE_3_A = CLAIMS.section("figure-3.a", "Figure 3, caption (a)", origin=Origin.READING)
_BELOW_12 = "section 4.3, below (12)"
_INPUTS = (0, 1, 2, 5, 10, 100, 1000)
_FAMILIES = Range(
    f"a = 2 and (n-1)/2, n = 11, 21, 41, {coprime.THREE_SHARES}; at l0_min and at twice its l0 + n",
    lambda: product(("a = 2", "a = (n-1)/2"), coprime.SHARES, (1, 2)),
)


@REFUTED_IN_BALLS.claim(
    "equation-12.erosion",
    _BELOW_12,
    over=coprime.swept(9).cases,
    checked=f"{coprime.swept(9).words}; l0 = {', '.join(map(str, _INPUTS))}",
)
def _erosion(a: int, n: int, p: Fraction) -> bool | str:
    """Finite input length erodes the spectral gap: rho(l0) falls with l0, to rho_inf."""
    # By disjoint certified brackets.
    mix = exact.two_lengths(a, n, p)
    radii = [exact.certify_spectrum(mix.weights(length)).radius for length in _INPUTS]
    radii.append(exact.certify_spectrum(mix.limit).radius)
    rises = [
        l0
        for l0, (now, after) in zip(_INPUTS, pairwise(radii), strict=True)
        if not now[0] > after[1]
    ]
    return not rises or f"{coprime.named(a, n, p)}, l0 = {rises[0]}"


def _between(seen: list[Any]) -> str:
    ratios = [ratio for row in seen for ratio in row]
    return (
        f"remainder / (n eps^2) is {min(ratios):.3f} to {max(ratios):.3f} times "
        "(q + 2 p theta - p theta^2) / (2 (q + p theta)), the limit of Re d / n"
    )


@REFUTED_IN_BALLS.claim("equation-12.remainder", "equation (12)", over=_FAMILIES, ours=_between)
def _remainder(family: str, p: Fraction, times: int) -> Seen | str:
    """rho(eps) = rho_inf (1 + eps) + O(n eps^2) at the threshold scale.

    Note: It is positive: the true radius is larger than the first order says."""
    # Twice the limit of Re d / n serves as the constant.
    ratios = []
    for n in (11, 21, 41):
        a = 2 if family == "a = 2" else (n - 1) // 2
        eps = Fraction(1, times * (coprime.least(a, n, p) + n))
        ratios.append(coprime.remainder(a, n, p, eps) / coprime.drift_ratio(a / n, p))
    within = min(ratios) > 0 and max(ratios) <= 2
    return Seen(ratios) if within else f"{family}, p = {p}: {ratios}"


@REFUTED_IN_BALLS.claim("equation-12.criterion.required", _BELOW_12, over=coprime.SWEPT)
def _required(a: int, n: int, p: Fraction) -> bool:
    """Stability requires (l0 + n)(1 - rho_inf) >= 1.

    Note: Printed with a sign for 'about, or more', to first order."""
    low, high = coprime.gap(a, n, p)
    at = coprime.least(a, n, p) + n
    if at * low < 1 <= at * high:
        raise ArithmeticError(coprime.named(a, n, p))
    return at * low >= 1


@CLAIMS.fails(
    "equation-12.criterion.threshold",
    "section 4.3, read as a rule for the threshold",
    origin=Origin.READING,
    checked=coprime.SWEPT.words,
    evidence=Evidence.BALL,
)
def _wrong_integer() -> Finding:
    """The smallest l0 that meets the first-order criterion is l0_min.

    Paper: (l0 + n)(1 - rho) >= 1
    Holds: equation-12.criterion.required"""
    wrong, right, excess = [], [], []
    for a, n, p in coprime.SWEPT.cases():
        estimate, value = coprime.first_order(a, n, p), coprime.least(a, n, p)
        if estimate is None:
            continue
        excess.append(
            (value - 1 / coprime.middle(a, n, p) + n) / (n * coprime.drift_ratio(a / n, p))
        )
        said = f"{coprime.named(a, n, p)}: l0_min = {value}, criterion {estimate}"
        (right if value == estimate else wrong).append(said)
    return Finding(
        not wrong or wrong[0],
        f"{len(wrong)} of {len(wrong) + len(right)} integers are wrong, all of them too small; "
        "right for " + ("; ".join(said.partition(": ")[0] for said in right) or "none"),
        note="The paper calls the criterion a requirement to first order. "
        "l0_min exceeds 1/(1 - rho) - n by about Re d_alpha, n/2 and more; the excess over its "
        f"limit n (q + 2 p theta - p theta^2) / (2 (q + p theta)) is a factor {min(excess):.2f} to "
        f"{max(excess):.2f} here. Relative to l0_min that vanishes like n^-2.",
    )


# --- the caption of Figure 3 ----------------------------------------------------------------------

_PAIR = (2, 7, Fraction(1, 2))
_PRINTED = 15
_LENGTHS = range(3, 42, 2)


@CLAIMS.fails("figure-3.a.threshold", "Figure 3, caption (a)")
def _threshold() -> Finding:
    """For decode lengths 2 and 7 and p = 1/2, the roots of F lie inside the unit circle exactly
    from l0 = 15 on.

    Checked: every l0 >= 0
    Holds: figure-3.a.first-order"""
    found = coprime.threshold(*_PAIR)
    (window,) = found.stable_windows
    counts = (found.at, found.below)
    if not all(c is not None and c.evidence is Evidence.EXACT for c in counts):
        raise ArithmeticError("the counts on both sides of the threshold are not exact")
    half = _PAIR[2]
    others = {
        # stage j then holds what stage j of inputs one shorter holds
        "l0 + j tokens in stage j": coprime.least(*_PAIR) + 1,
        "decode lengths counted one shorter, (1, 6)": coprime.least(1, 6, half),
        "one longer, (3, 8)": coprime.least(3, 8, half),
    }
    readings = "; ".join(f"{name}: {value}" for name, value in others.items())
    return Finding(
        window.first == _PRINTED and window.last is None,
        f"not stable for l0 < {window.first}, stable from there on",
        paper=f"l0 >= {_PRINTED}",
        note=f"The smallest l0 under other readings: {readings}. The first-order criterion below "
        "(12) gives 15.",
    )


@FIGURE_3_A.claim("first-order", ", read as the criterion below (12)", evidence=Evidence.BALL)
def _first_order() -> Finding:
    """For decode lengths 2 and 7 and p = 1/2, 15 is the smallest l0 that meets the first-order
    criterion (l0 + 7)(1 - rho) >= 1.

    Note: An estimate of the threshold for long inputs; the roots of F at finite l0 decide."""
    # rho is the spectral radius of the limit A.
    (low, high), n = coprime.gap(*_PAIR), _PAIR[1]
    return Finding(
        (_PRINTED + n) * low >= 1 and (_PRINTED - 1 + n) * high < 1,
        f"rho = {float(1 - high):.6f}, so l0 >= {float(1 / high) - n:.2f}",
        paper=f"l0 >= {_PRINTED}",
    )


@FIGURE_3_A.fails("limit", ", the dashed line taken for rho_inf", evidence=Evidence.BALL)
def _dashed_line() -> Finding:
    """Each curve converges to the dashed line at rho = 1.

    Paper: rho_inf (dashed line at rho = 1)
    Note: The brackets may as well name the line of stability, which the figure has besides; by
    Lemmas 10 and 11 no coprime pair has rho_inf = 1."""
    # The dashed line at 1 against the limit of the one curve that the caption names.
    low, high = coprime.gap(*_PAIR)
    return Finding(low <= 0 or coprime.named(*_PAIR), f"{float(1 - high):.6f} for (2, 7)")


@CLAIMS.claim(
    "figure-3.b.slope",
    "Figure 3, caption (b)",
    origin=Origin.REPRODUCTION,
    evidence=Evidence.SAMPLED,
)
def _slope() -> Finding:
    """For a = 2 the log-log fit of l0_min is consistent with l1_2^3.

    Checked: n = 3, 5 ... 41, p = 1/2
    Paper: consistent with exponent 3
    Note: With theta_n = 2/n in (13) the exponent is 3n/(n+2) for p = 1/2, below 3 at every n."""
    # Local exponents of l0_min for a = 2 rise towards 3; a fit over all of them stays below.
    values = [coprime.least(2, n, _PAIR[2]) for n in _LENGTHS]
    fit = float(np.polyfit(np.log(list(_LENGTHS)), np.log(values), 1)[0])
    first, second = (  # from n to about 2n
        math.log(values[j] / values[i]) / math.log(_LENGTHS[j] / _LENGTHS[i])
        for i, j in ((4, 9), (9, 19))
    )
    return Finding(
        first < second < 3 or f"{first}, {second}",
        f"fit over n = 3, 5 ... 41: {fit:.2f}; from 11 to 21: {first:.2f}, from 21 to 41: "
        f"{second:.2f}",
    )
