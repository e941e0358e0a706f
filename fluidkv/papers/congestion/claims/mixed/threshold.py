"""Congestion, Proposition 4: how long inputs have to be, and what the paper reads off (13).

l0_min is certified on both sides and at every input length; what the paper says of it is asymptotic
in the longer decode length.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

from fluidkv.ledger.claim import Outcome
from fluidkv.ledger.outcomes import holds_for, sampled, verdict
from fluidkv.papers.congestion.claims.mixed._thresholds import (
    SHARES,
    SWEPT,
    c,
    coprime_pairs,
    least,
)
from fluidkv.papers.congestion.paper import congestion
from fluidkv.verdict import Evidence, Verdict

if TYPE_CHECKING:
    import sympy

_LENGTHS = (11, 21, 41, 81, 161)
_FAMILIES: dict[str, tuple[float, Callable[[int], int]]] = {
    "a = 2": (0.0, lambda n: 2),
    "a = (n-1)/2": (0.5, lambda n: (n - 1) // 2),
}


def relative_errors(
    theta: float | None, a: Callable[[int], int], p: Fraction, lengths: tuple[int, ...]
) -> list[float]:
    """(13) / l0_min - 1 for each n; with theta = a/n of the pair where it is None."""
    errors = []
    for n in lengths:
        own = a(n) / n if theta is None else theta
        errors.append(n**3 / c(own, p) / least(a(n), n, p) - 1)
    return errors


def _proposition_4() -> Outcome:
    bad, shown = None, []
    for name, (theta, a) in _FAMILIES.items():
        for p in SHARES:
            errors = relative_errors(theta, a, p, _LENGTHS)
            own = relative_errors(None, a, p, _LENGTHS[-1:])[0]
            # An error may pass through 0 once on its way; from there on it has to fall.
            if not abs(errors[-1]) < abs(errors[-2]) < abs(errors[-3]) and bad is None:
                bad = f"{name}, p = {p}: {errors}"
            shown.append(f"{name}, p = {p}: {errors[-1]:+.2%} ({own:+.2%})")
    return sampled(
        bad,
        f"relative error of (13) at n = {_LENGTHS[-1]}, in brackets with theta = a/n of the pair: "
        + "; ".join(shown),
        "l0_min ~ (13)",
        "An error along these lengths that falls; no proof of the limit. With theta = 0 for a = 2 "
        "it is of the order 6 p / (q n): for p = 9/10, n near 500 is needed to be within 10 %.",
    )


def _next_to_each_other() -> Outcome:
    bad, shown = None, []
    for p in SHARES:
        errors = relative_errors(1.0, lambda n: n - 1, p, _LENGTHS[:4])
        if not abs(errors[-1]) < abs(errors[-2]) < abs(errors[-3]) and bad is None:
            bad = f"p = {p}: {errors}"
        shown.append(f"p = {p}: {errors[-1]:+.2%}")
    return sampled(
        bad,
        f"relative error at n = {_LENGTHS[3]}: " + "; ".join(shown),
        "excluded",
        "The proof has uniform constants over theta in [0, 1], so nothing excludes theta = 1.",
    )


def _cubic() -> Outcome:
    p = Fraction(1, 2)
    bad, shown = None, []
    for name, (_, a) in _FAMILIES.items():
        inputs = [least(a(n), n, p) for n in _LENGTHS]
        slopes = [
            math.log(v / u) / math.log(m / n)
            for u, v, n, m in zip(inputs, inputs[1:], _LENGTHS, _LENGTHS[1:], strict=False)
        ]
        off = [abs(slope - 3) for slope in slopes]
        if not all(x > y for x, y in pairwise(off)):
            bad = bad or f"{name}: {slopes}"
        shown.append(f"{name}: " + ", ".join(f"{slope:.3f}" for slope in slopes))
    return sampled(
        bad,
        f"exponent from each n of {_LENGTHS} to the next, p = 1/2: " + "; ".join(shown),
        "l1_2^3",
    )


def _closer() -> Outcome:
    bad = None
    for p in SHARES:
        before: dict[int, tuple[int, int]] = {}
        for a, n in coprime_pairs(16):
            value = least(a, n, p)
            if n in before and value < before[n][1] and bad is None:
                bad = f"n = {n}, p = {p}: a = {before[n][0]} and {a}"
            before[n] = (a, value)
    rising = _prefactor_rises_with_theta()
    return sampled(
        bad or (None if rising else "prefactor of (13)"),
        "l0_min never falls as a grows; d/dtheta of the prefactor is positive in symbols",
        "harder for theta near 1",
    )


def _prefactor() -> "tuple[sympy.Expr, sympy.Symbol, sympy.Symbol]":
    import sympy

    p, theta = sympy.symbols("p theta", positive=True)
    return (1 - p + p * theta) ** 3 / (p * (1 - p)), p, theta


def _prefactor_rises_with_theta() -> bool:
    """With p in (0, 1) as x / (1 + x), x > 0, positivity is visible in the coefficients."""
    import sympy

    f, p, theta = _prefactor()
    x = sympy.Symbol("x", positive=True)
    slope = sympy.factor(sympy.diff(f, theta).subs(p, x / (1 + x)))
    return bool(slope.is_positive)


def _prefactor_at_both_ends() -> Outcome:
    """At theta = 0, which Proposition 4 allows, the prefactor is (1-p)^2 / p: 0 at p = 1."""
    import sympy

    f, p, theta = _prefactor()
    at_zero = sympy.factor(f.subs(theta, 0))
    x = sympy.Symbol("x", positive=True)
    falls = bool(sympy.factor(sympy.diff(at_zero, p).subs(p, x / (1 + x))).is_negative)
    end = sympy.limit(at_zero, p, 1, "-")
    return Outcome(
        verdict(not (falls and end == 0)),
        Evidence.EXACT,
        ours=f"theta = 0: {at_zero} falls over all of (0, 1), to {end} at p = 1",
        paper="harder for p near 0 or p near 1",
        note="For each fixed theta > 0 it does grow without bound at both ends.",
        witness="theta = 0, as in Figure 3 (b), where a = 2",
    )


def _prefactor_for_positive_theta() -> Outcome:
    import sympy

    f, p, _ = _prefactor()
    ends = [sympy.limit(f, p, 0, "+"), sympy.limit(f, p, 1, "-")]
    good = all(end == sympy.oo for end in ends)
    return holds_for(None if good else str(ends), ours=f"{ends}", paper="weak in both cases")


def _threshold_at_both_ends() -> Outcome:
    tenths = [Fraction(k, 10) for k in range(1, 10)]
    easier = [
        (a, n)
        for a, n in coprime_pairs(16)
        if least(a, n, Fraction(9, 10)) <= least(a, n, Fraction(1, 2))
    ]
    values = [least(1, 2, p) for p in tenths]
    total = len(list(coprime_pairs(16)))
    return sampled(
        f"decode lengths (1, 2): l0_min = {values} for p = 1/10 ... 9/10" if easier else None,
        f"l0_min at p = 9/10 is not above that at 1/2 for {len(easier)} of {total} pairs, those "
        f"with a/n up to {max(a / n for a, n in easier):.2f}",
        "harder for p near 1",
        "With a = 1 and p near 1 requests of one stage are left, which F = constant makes stable.",
        refuted=Evidence.BALL,  # that no shorter input is stable follows from crossings in balls
    )


def _short_requests_rare() -> Outcome:
    bad = next(
        (
            f"({a}, {n})"
            for a, n in coprime_pairs(16)
            if least(a, n, Fraction(1, 10)) <= least(a, n, Fraction(1, 2))
        ),
        None,
    )
    return sampled(bad, "l0_min at p = 1/10 is above that at p = 1/2 for every pair", "harder")


_NUMBERS = ", ".join(map(str, _LENGTHS))

CLAIMS = (
    congestion(
        "proposition-4.asymptotic",
        "l0_min / n^3 tends to ((1-p) + p theta)^3 / (2 pi^2 p (1-p)).",
        "Proposition 4, equation (13)",
        _proposition_4,
        kind="proposition",
        checked=f"a = 2 and (n-1)/2, n = {_NUMBERS}, p = 1/10, 1/2, 9/10",
    ),
    congestion(
        "proposition-4.theta-one",
        "(13) holds with theta = 1 too, which the proposition excludes.",
        "Proposition 4, beyond its range",
        _next_to_each_other,
        kind="proposition",
        checked="a = n - 1, n = 11, 21, 41, 81, p = 1/10, 1/2, 9/10",
    ),
    congestion(
        "proposition-4.cubic",
        "The input length needed scales as l1_2^3.",
        "section 4.3, below Proposition 4",
        _cubic,
        kind="proposition",
        checked=f"a = 2 and (n-1)/2, n = {_NUMBERS}, p = 1/2",
    ),
    congestion(
        "proposition-4.harder.close-lengths",
        "Stability is harder when the two decode lengths are close.",
        "section 4.3, below Proposition 4",
        _closer,
        kind="proposition",
        checked=SWEPT,
    ),
    congestion(
        "proposition-4.harder.prefactor",
        "The prefactor of (13) is large for p near 0 and for p near 1, at every theta in [0, 1).",
        "section 4.3, below Proposition 4",
        _prefactor_at_both_ends,
        kind="proposition",
        expected=Verdict.FAILS,
        checked="theta = 0, all p, in symbols",
    ),
    congestion(
        "proposition-4.harder.prefactor-positive-theta",
        "For a fixed theta > 0 the prefactor grows without bound as p tends to 0 and to 1.",
        "section 4.3, below Proposition 4",
        _prefactor_for_positive_theta,
        kind="proposition",
        checked="all theta > 0, in symbols",
    ),
    congestion(
        "proposition-4.harder.long-requests-rare",
        "Stability is harder for p near 1: l0_min at p = 9/10 is above that at p = 1/2.",
        "section 4.3, below Proposition 4",
        _threshold_at_both_ends,
        kind="proposition",
        expected=Verdict.FAILS,
        checked="all coprime a < n <= 16",
    ),
    congestion(
        "proposition-4.harder.short-requests-rare",
        "Stability is harder for p near 0: l0_min at p = 1/10 is above that at p = 1/2.",
        "section 4.3, below Proposition 4",
        _short_requests_rare,
        kind="proposition",
        checked="all coprime a < n <= 16",
    ),
)
