"""Congestion, the caption of Figure 3: from which input length on the pair (2, 7) is stable."""

import math
from fractions import Fraction

from fluidkv.ledger.claim import Origin, Outcome
from fluidkv.ledger.outcomes import sampled, verdict
from fluidkv.papers.congestion.claims.mixed.coprime_pairs import gap, least, named, threshold
from fluidkv.papers.congestion.paper import statements
from fluidkv.verdict import Evidence, Verdict

CLAIMS = statements()
_PAIR = (2, 7, Fraction(1, 2))
_PRINTED = 15
_LENGTHS = range(3, 42, 2)


@CLAIMS.claim(
    "figure-3.a.threshold",
    "Figure 3, caption (a)",
    "For decode lengths 2 and 7 and p = 1/2, the roots of F lie inside the unit circle exactly "
    "from l0 = 15 on.",
    expected=Verdict.FAILS,
    checked="every l0 >= 0",
)
def _threshold() -> Outcome:
    found = threshold(*_PAIR)
    (window,) = found.stable_windows
    counts = (found.at, found.below)
    if not all(c is not None and c.evidence is Evidence.EXACT for c in counts):
        raise ArithmeticError("the counts on both sides of the threshold are not exact")
    half = _PAIR[2]
    others = {
        # stage j then holds what stage j of inputs one shorter holds
        "l0 + j tokens in stage j": least(*_PAIR) + 1,
        "decode lengths counted one shorter, (1, 6)": least(1, 6, half),
        "one longer, (3, 8)": least(3, 8, half),
    }
    readings = "; ".join(f"{name}: {value}" for name, value in others.items())
    return Outcome(
        verdict(window.first == _PRINTED and window.last is None),
        Evidence.EXACT,
        ours=f"not stable for l0 < {window.first}, stable from there on",
        paper=f"l0 >= {_PRINTED}",
        note=f"The smallest l0 under other readings: {readings}. The first-order criterion below "
        "(12) gives it: see congestion.figure-3.a.first-order.",
    )


@CLAIMS.claim(
    "figure-3.a.first-order",
    "Figure 3, caption (a), read as the criterion below (12)",
    "For decode lengths 2 and 7 and p = 1/2, 15 is the smallest l0 that meets the first-order "
    "criterion (l0 + 7)(1 - rho) >= 1.",
    evidence=Evidence.BALL,
    origin=Origin.READING,
)
def _first_order() -> Outcome:
    """rho is the spectral radius of the limit A."""
    (low, high), n = gap(*_PAIR), _PAIR[1]
    return Outcome(
        verdict((_PRINTED + n) * low >= 1 and (_PRINTED - 1 + n) * high < 1),
        Evidence.BALL,
        ours=f"rho = {float(1 - high):.6f}, so l0 >= {float(1 / high) - n:.2f}",
        paper=f"l0 >= {_PRINTED}",
        note="An estimate of the threshold for long inputs; the roots of F at finite l0 decide.",
    )


@CLAIMS.claim(
    "figure-3.a.limit",
    "Figure 3, caption (a), the dashed line taken for rho_inf",
    "Each curve converges to the dashed line at rho = 1.",
    expected=Verdict.FAILS,
    evidence=Evidence.BALL,
    origin=Origin.READING,
)
def _dashed_line() -> Outcome:
    """The dashed line at 1 against the limit of the one curve that the caption names."""
    low, high = gap(*_PAIR)
    return Outcome(
        verdict(low <= 0),
        Evidence.BALL,
        ours=f"{float(1 - high):.6f} for (2, 7)",
        paper="rho_inf (dashed line at rho = 1)",
        note="The brackets may as well name the line of stability, which the figure has besides; "
        "by Lemmas 10 and 11 no coprime pair has rho_inf = 1.",
        witness=named(*_PAIR),
    )


@CLAIMS.claim(
    "figure-3.b.slope",
    "Figure 3, caption (b)",
    "For a = 2 the log-log fit of l0_min is consistent with l1_2^3.",
    evidence=Evidence.SAMPLED,
    origin=Origin.REPRODUCTION,
    checked="n = 3, 5 ... 41, p = 1/2",
)
def _slope() -> Outcome:
    """Local exponents of l0_min for a = 2 rise towards 3; a fit over all of them stays below."""
    import numpy as np

    values = [least(2, n, _PAIR[2]) for n in _LENGTHS]
    fit = float(np.polyfit(np.log(list(_LENGTHS)), np.log(values), 1)[0])
    first, second = (  # from n to about 2n
        math.log(values[j] / values[i]) / math.log(_LENGTHS[j] / _LENGTHS[i])
        for i, j in ((4, 9), (9, 19))
    )
    return sampled(
        None if first < second < 3 else f"{first}, {second}",
        f"fit over n = 3, 5 ... 41: {fit:.2f}; from 11 to 21: {first:.2f}, from 21 to 41: "
        f"{second:.2f}",
        "consistent with exponent 3",
        "With theta_n = 2/n in (13) the exponent is 3n/(n+2) for p = 1/2, below 3 at every n.",
    )
