"""Congestion, the caption of Figure 3: from which input length on the pair (2, 7) is stable."""

import math
from fractions import Fraction

from fluidkv.ledger.claim import Outcome
from fluidkv.ledger.outcomes import sampled, verdict
from fluidkv.papers.congestion.claims.mixed._thresholds import gap, least, threshold
from fluidkv.papers.congestion.paper import congestion
from fluidkv.verdict import Evidence, Verdict

_PAIR = (2, 7)
_HALF = Fraction(1, 2)
_PRINTED = 15
_LENGTHS = range(3, 42, 2)


def _threshold() -> Outcome:
    found = threshold(*_PAIR, _HALF)
    (window,) = found.stable_windows
    counts = (found.at, found.below)
    if not all(c is not None and c.evidence is Evidence.EXACT for c in counts):
        raise ArithmeticError("the counts on both sides of the threshold are not exact")
    others = {
        # stage j then holds what stage j of inputs one shorter holds
        "l0 + j tokens in stage j": least(*_PAIR, _HALF) + 1,
        "decode lengths counted one shorter, (1, 6)": least(1, 6, _HALF),
        "one longer, (3, 8)": least(3, 8, _HALF),
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


def _first_order() -> Outcome:
    """The smallest l0 with (l0 + 7)(1 - rho) >= 1, rho the spectral radius of the limit A."""
    low, high = gap(*_PAIR, _HALF)
    meets = (_PRINTED + _PAIR[1]) * low >= 1
    below_fails = (_PRINTED - 1 + _PAIR[1]) * high < 1
    return Outcome(
        verdict(meets and below_fails),
        Evidence.BALL,
        ours=f"rho = {float(1 - high):.6f}, so l0 >= {float(1 / high) - _PAIR[1]:.2f}",
        paper=f"l0 >= {_PRINTED}",
        note="An estimate of the threshold for long inputs; the roots of F at finite l0 decide.",
    )


def _dashed_line() -> Outcome:
    """The dashed line at 1 against the limit of the one curve that the caption names."""
    low, high = gap(*_PAIR, _HALF)
    return Outcome(
        verdict(low <= 0),
        Evidence.BALL,
        ours=f"{float(1 - high):.6f} for (2, 7)",
        paper="rho_inf, dashed line at rho = 1",
        note="The line is the stability boundary. By Lemmas 10 and 11 no coprime pair has "
        "rho_inf = 1.",
        witness="decode lengths (2, 7), p = 1/2",
    )


def _slope() -> Outcome:
    """Local exponents of l0_min for a = 2 rise towards 3; a fit over all of them stays below."""
    import numpy as np

    values = [least(2, n, _HALF) for n in _LENGTHS]
    fit = float(np.polyfit(np.log(list(_LENGTHS)), np.log(values), 1)[0])
    halves = [  # from n to about 2n
        math.log(values[j] / values[i]) / math.log(_LENGTHS[j] / _LENGTHS[i])
        for i, j in ((4, 9), (9, 19))
    ]
    good = halves[0] < halves[1] < 3
    return sampled(
        None if good else f"{halves}",
        f"fit over n = 3, 5 ... 41: {fit:.2f}; from 11 to 21: {halves[0]:.2f}, from 21 to 41: "
        f"{halves[1]:.2f}",
        "consistent with exponent 3",
        "With theta_n = 2/n in (13) the exponent is 3n/(n+2) for p = 1/2, below 3 at every n.",
    )


CLAIMS = (
    congestion(
        "figure-3.a.threshold",
        "For decode lengths 2 and 7 and p = 1/2, the roots of F lie inside the unit circle exactly "
        "from l0 = 15 on.",
        "Figure 3, caption (a)",
        _threshold,
        kind="figure",
        expected=Verdict.FAILS,
        checked="every l0 >= 0",
    ),
    congestion(
        "figure-3.a.first-order",
        "For decode lengths 2 and 7 and p = 1/2, 15 is the smallest l0 that meets the first-order "
        "criterion (l0 + 7)(1 - rho) >= 1.",
        "Figure 3, caption (a), read as the criterion below (12)",
        _first_order,
        kind="figure",
    ),
    congestion(
        "figure-3.a.limit",
        "Each curve converges to the dashed line at rho = 1.",
        "Figure 3, caption (a)",
        _dashed_line,
        kind="figure",
        expected=Verdict.FAILS,
    ),
    congestion(
        "figure-3.b.slope",
        "For a = 2 the log-log fit of l0_min is consistent with l1_2^3.",
        "Figure 3, caption (b)",
        _slope,
        kind="figure",
        checked="n = 3, 5 ... 41, p = 1/2",
    ),
)
