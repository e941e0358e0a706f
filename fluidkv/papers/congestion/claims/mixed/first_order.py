"""Congestion, (12) and the first-order criterion: how the radius grows as inputs get shorter."""

import math
from fractions import Fraction

from fluidkv.ledger.claim import Outcome
from fluidkv.ledger.outcomes import sampled, verdict
from fluidkv.papers.congestion.claims.mixed._thresholds import (
    SHARES,
    SWEPT,
    cases,
    drift_ratio,
    first_order,
    gap,
    least,
    middle,
    named,
)
from fluidkv.papers.congestion.paper import congestion
from fluidkv.verdict import Evidence, Verdict

_INPUTS = (0, 1, 2, 5, 10, 100, 1000)


def _erosion() -> Outcome:
    """rho at finite l0 above its limit and falling with l0, by disjoint certified brackets."""
    from fluidkv.exact.mixed.mix import two_lengths
    from fluidkv.exact.roots.spectrum import certify_spectrum

    for a, n, p in cases(9):
        mix = two_lengths(a, n, p)
        radii = [certify_spectrum(mix.weights(length)).radius for length in _INPUTS]
        radii.append(certify_spectrum(mix.limit).radius)
        for l0, above, below in zip(_INPUTS, radii, radii[1:], strict=False):
            if not above[0] > below[1]:
                return sampled(f"{named(a, n, p)}, l0 = {l0}", f"{above} and {below}", "erodes")
    return sampled(
        None,
        "rho(l0) > rho at the next longer input > rho_inf in every case",
        "finite input length erodes the spectral gap",
    )


def _remainder() -> Outcome:
    """(rho(eps) - rho_inf (1 + eps)) / (n eps^2) at about the threshold and at twice its l0 + n."""
    from fluidkv.exact.mixed.mix import two_lengths
    from fluidkv.exact.roots.spectrum import certify_spectrum

    bad, ratios = None, []
    for n in (11, 21, 41):
        for a in (2, (n - 1) // 2):
            for p in SHARES:
                mix, rho = two_lengths(a, n, p), 1 - middle(a, n, p)
                for times in (1, 2):
                    length = times * (least(a, n, p) + n) - n
                    eps = 1 / (length + n)
                    low, high = certify_spectrum(mix.weights(length)).radius
                    # 1e-15 / (n eps^2) is at most 1e-5 here
                    ratio = ((low + high) / 2 - rho * (1 + eps)) / (n * eps**2)
                    ratios.append(ratio / drift_ratio(a / n, p))
                    if ratio <= 0 and bad is None:
                        bad = f"{named(a, n, p)}, l0 = {length}"
    return sampled(
        bad,
        f"remainder / (n eps^2) is {min(ratios):.3f} to {max(ratios):.3f} times "
        "(q + 2 p theta - p theta^2) / (2 (q + p theta)), the limit of Re d / n",
        "O(n eps^2)",
        "It is positive: the true radius is larger than the first order says.",
    )


def _equivalent() -> Outcome:
    """rho (1 + eps) < 1 is (l0 + n)(1 - rho) > rho, which is met one token earlier than > 1."""
    a, n, p = 2, 7, Fraction(1, 2)
    low, high = gap(a, n, p)
    left = {math.floor((1 - g) / g) + 1 - n for g in (low, high)}
    right = {math.ceil(1 / g) - n for g in (low, high)}
    if len(left) != 1 or len(right) != 1:
        raise ArithmeticError("the enclosure of rho is too wide")
    first, second = left.pop(), right.pop()
    return Outcome(
        verdict(first == second),
        Evidence.BALL,
        ours=f"the left holds from l0 = {first} on, the right from l0 = {second} on",
        paper="equivalently",
        note="rho (1 + eps) < 1 is (l0 + n)(1 - rho) > rho. As > 1 it asks for one token more.",
        witness=named(a, n, p),
    )


def _necessary() -> Outcome:
    bad = None
    for a, n, p in cases():
        low, high = gap(a, n, p)
        at = least(a, n, p) + n
        if at * high < 1:  # certainly short of it
            bad = named(a, n, p)
            break
        if at * low < 1:
            raise ArithmeticError(named(a, n, p))
    return sampled(bad, "(l0_min + n)(1 - rho) >= 1 in every case", "stability requires it")


def _wrong_integer() -> Outcome:
    wrong, right, bad, short = 0, [], None, []
    for a, n, p in cases():
        estimate = first_order(a, n, p)
        if estimate is None:
            continue
        value = least(a, n, p)
        short.append((value - 1 / middle(a, n, p) + n) / (n * drift_ratio(a / n, p)))
        if value == estimate:
            right.append(named(a, n, p))
            continue
        wrong += 1
        bad = bad or f"{named(a, n, p)}: l0_min = {value}, criterion {estimate}"
    return sampled(
        bad,
        f"{wrong} of {wrong + len(right)} integers are wrong, all of them too small; right for "
        + ("; ".join(right) or "none"),
        "(l0 + n)(1 - rho) >= 1",
        "l0_min exceeds 1/(1 - rho) - n by about Re d_alpha, n/2 and more; the excess over its "
        f"limit n (q + 2 p theta - p theta^2) / (2 (q + p theta)) is a factor {min(short):.2f} to "
        f"{max(short):.2f} here. Relative to l0_min that vanishes like n^-2.",
        refuted=Evidence.BALL,
    )


CLAIMS = (
    congestion(
        "equation-12.erosion",
        "Finite input length erodes the spectral gap: rho(l0) falls with l0, to rho_inf.",
        "section 4.3, below (12)",
        _erosion,
        kind="equation",
        checked=f"coprime a < n <= 9, p = 1/10, 1/2, 9/10; l0 = {', '.join(map(str, _INPUTS))}",
    ),
    congestion(
        "equation-12.remainder",
        "rho(eps) = rho_inf (1 + eps) + O(n eps^2) at the threshold scale.",
        "equation (12)",
        _remainder,
        kind="equation",
        checked="a = 2 and (n-1)/2, n = 11, 21, 41, p = 1/10, 1/2, 9/10; at l0_min and beyond",
    ),
    congestion(
        "equation-12.equivalent",
        "rho_inf (1 + eps) < 1 is equivalent to (l0 + n)(1 - rho_inf) >= 1, read with no slack.",
        "section 4.3, below (12)",
        _equivalent,
        kind="equation",
        expected=Verdict.FAILS,
        checked="decode lengths (2, 7), p = 1/2",
    ),
    congestion(
        "equation-12.criterion.required",
        "Stability requires (l0 + n)(1 - rho_inf) >= 1.",
        "section 4.3, below (12)",
        _necessary,
        kind="equation",
        checked=SWEPT,
    ),
    congestion(
        "equation-12.criterion.threshold",
        "The smallest l0 that meets the first-order criterion is l0_min.",
        "section 4.3, read as a rule for the threshold",
        _wrong_integer,
        kind="equation",
        expected=Verdict.FAILS,
        checked=SWEPT,
    ),
)
