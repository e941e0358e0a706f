"""Congestion, Examples 4 and 5 and the caption of Figure 2: every printed number."""

from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING

from fluidkv.ledger.claim import Outcome
from fluidkv.ledger.outcomes import (
    conjugate_modulus_squared,
    decimal,
    equals,
    holds_for,
    root_rounds_to,
    verdict,
)
from fluidkv.papers.congestion.paper import congestion
from fluidkv.verdict import Evidence, Verdict

if TYPE_CHECKING:
    import sympy

    from fluidkv.workload import System


def _two_class_system(second: int, capacity: int) -> "System":
    """Examples 4 and 5: decode lengths 2 and `second`, l0 = 50, equal shares."""
    from fluidkv.workload import RequestClass, System, Workload

    half = Fraction(1, 2)
    classes = (RequestClass(50, 2, half), RequestClass(50, second, half))
    return System(Workload(classes), Fraction(capacity))


# --- Examples 4 and 5: two classes --------------------------------------------------------------


_EVICTION_FREE = 58  # iterations of Example 5 that are looked at; eviction comes later


@cache
def _admissions(second: int, capacity: int, iterations: int) -> tuple[list[Fraction], int | None]:
    """Admissions a^0 = 5, a^1, ... by the literal model, and the n of the first eviction, if any.

    The start is the equilibrium with 5 for 4 in the youngest cohort and the oldest cohort made
    smaller, so that memory is exactly full (Example 3 starts in the same manner). Recurrence (9)
    then holds from the start; starting at 5 with all earlier admissions at 4 gives the same
    admissions from then on, with memory over capacity at the start.
    """
    from fluidkv.exact.mass import iterate
    from fluidkv.exact.survival import survival_weights

    system = _two_class_system(second, capacity)
    weights = survival_weights(system.workload).memory
    cohorts = [Fraction(4)] * second
    cohorts[0] += 1
    cohorts[-1] -= Fraction(weights[0], weights[-1])
    lengths = [c.decode_length for c in system.workload.classes]
    state = [[cohorts[j] / 2 for j in range(length)] for length in lengths]
    admitted, evicted = [cohorts[0]], None
    for n in range(1, iterations + 1):
        step = iterate(system, state)
        state = step.state
        if evicted is None and any(sum(row) > 0 for row in step.evicted):
            evicted = n
        admitted.append(sum(step.admitted, Fraction(0)))
    return admitted, evicted


def _rate(second: int, capacity: int) -> Outcome:
    from fluidkv.exact.survival import eviction_free_equilibrium

    return equals(eviction_free_equilibrium(_two_class_system(second, capacity)).rate, "4")


def _limit(second: int) -> "sympy.Poly":
    """A(z) from the closed form (11), for r = 1 and p = 1/2: the right side divided by 1 - z."""
    import sympy

    z = sympy.Symbol("z")
    right = -(z**second) + sympy.Rational(1, 2) * (z ** (second - 2) + 1)
    quotient, rest = sympy.Poly(right, z).div(sympy.Poly(1 - z, z))
    if not rest.is_zero:
        raise ArithmeticError("1 - z does not divide the right side of (11)")
    return quotient


def _limit_polynomial(second: int, printed: str) -> Outcome:
    import sympy

    ours = _limit(second)
    same = ours == sympy.Poly(sympy.sympify(printed), sympy.Symbol("z"))
    shown = str(sympy.factor(ours.as_expr()))
    return holds_for(None if same else shown, ours=shown, paper=printed)


def _limit_roots() -> Outcome:
    import sympy

    roots = {sympy.expand(root) for root in _limit(3).all_roots()}
    same = roots == {sympy.expand((-1 + sign * sympy.I) / 2) for sign in (1, -1)}
    shown = ", ".join(sorted(map(str, roots)))
    return holds_for(None if same else shown, ours=shown, paper="(-1 ± i)/2")


def _limit_modulus(printed: str, *, note: str = "") -> Outcome:
    coefficients = [Fraction(int(c.p), int(c.q)) for c in _limit(3).all_coeffs()]
    return root_rounds_to(conjugate_modulus_squared(coefficients), printed, note=note)


def _finite_modulus() -> Outcome:
    """Of both roots of F at l0 = 50, decode lengths 2 and 3."""
    from fluidkv.exact.survival import survival_weights

    weights = survival_weights(_two_class_system(3, 518).workload).memory
    return root_rounds_to(conjugate_modulus_squared(weights), "0.72")


def _within_two_percent() -> Outcome:
    admitted, evicted = _admissions(3, 518, 60)
    off = [abs(a - 4) / 4 for a in admitted]
    settled = next(n for n in range(61) if all(d <= Fraction(2, 100) for d in off[n:]))
    return Outcome(
        verdict(settled <= 8 and evicted is None),
        Evidence.EXACT,
        ours=f"within 2 % from iteration {settled} on ({decimal(100 * off[8], 2)} % at 8)",
        paper="within 2 % by iteration 8",
        note="Exact up to iteration 60; the oldest cohort makes up for the over-admission.",
    )


def _root_near_minus_one(low: str, high: str, printed: str) -> Outcome:
    """F changes sign between -high and -low, and its other two roots are smaller."""
    from fluidkv.exact.survival import survival_weights

    coefficients = survival_weights(_two_class_system(4, 626).workload).memory

    def value(z: Fraction) -> Fraction:
        total = Fraction(0)
        for c in coefficients:
            total = total * z + c
        return total

    left, right = -Fraction(high), -Fraction(low)
    changes = value(left) * value(right) < 0
    # The product of the three roots is -c3/c0, so the other two multiply to less than this.
    others = Fraction(coefficients[3], coefficients[0]) / Fraction(low)
    for _ in range(40):  # display only
        middle = (left + right) / 2
        left, right = (left, middle) if value(left) * value(middle) < 0 else (middle, right)
    return Outcome(
        verdict(changes and others < 1),
        Evidence.EXACT,
        ours=f"{decimal(-left, 6)} (sign change between -{high} and -{low})",
        paper=printed,
    )


def _oscillation_grows() -> Outcome:
    admitted, evicted = _admissions(4, 626, _EVICTION_FREE)
    off = [a - 4 for a in admitted]
    alternate = all(off[n] * off[n + 1] < 0 for n in range(len(off) - 1))
    shrinks = [n for n in range(len(off) - 2) if abs(off[n + 2]) <= abs(off[n])]
    from_here = max(shrinks, default=-1) + 1
    # Decaying modes may rule the first half; then the growing one has to, beyond where it began.
    grows = from_here <= _EVICTION_FREE // 2 and abs(off[-1]) > abs(off[0])
    return Outcome(
        verdict(alternate and grows and evicted is None),
        Evidence.EXACT,
        ours=f"alternates; each swing above the last but one from n = {from_here} on; "
        f"{decimal(off[-1], 2)} at n = {_EVICTION_FREE}",
        paper="oscillations whose amplitude grows",
        note=f"The first swings shrink, to {decimal(min(map(abs, off)), 2)} from 1.",
    )


def _reaches_eviction() -> Outcome:
    first = _admissions(4, 626, 199)[1]
    return Outcome(
        verdict(first is not None),
        Evidence.EXACT,
        ours=f"first eviction leads to n = {first}" if first else "none up to n = 199",
        paper="toward eviction",
    )


CLAIMS = (
    congestion(
        "example-4.equilibrium",
        "Decode lengths 2 and 3, l0 = 50 and M = 518 give x* = 4.",
        "Example 4",
        lambda: _rate(3, 518),
    ),
    congestion(
        "example-4.limit-polynomial",
        "The limiting polynomial is z^2 + z + 1/2.",
        "Example 4",
        lambda: _limit_polynomial(3, "z**2 + z + 1/2"),
    ),
    congestion(
        "example-4.limit-roots",
        "Its roots are (-1 ± i)/2.",
        "Example 4",
        _limit_roots,
    ),
    congestion(
        "example-4.limit-modulus",
        "Their modulus is 1/sqrt(2), about 0.707.",
        "Example 4",
        lambda: _limit_modulus("0.707"),
    ),
    congestion(
        "example-4.settles",
        "From 25 % over-admission the system is within 2 % of x* by iteration 8.",
        "Example 4 and Figure 2(a)",
        _within_two_percent,
        checked="n = 0 ... 60",
    ),
    congestion(
        "figure-2.a.limit-modulus",
        "The roots of the limiting polynomial have modulus about 0.72.",
        "Figure 2, caption (a)",
        lambda: _limit_modulus(
            "0.72",
            note="0.72 belongs to F at l0 = 50, and Example 4 prints 0.707 for this polynomial.",
        ),
        kind="figure",
        expected=Verdict.FAILS,
    ),
    congestion(
        "figure-2.a.finite-modulus",
        "The roots of F at l0 = 50, which drive the plotted trajectory, have modulus about 0.72.",
        "Figure 2, caption (a), read as a statement about F",
        _finite_modulus,
        kind="figure",
    ),
    congestion(
        "example-5.equilibrium",
        "Decode lengths 2 and 4, l0 = 50 and M = 626 give x* = 4.",
        "Example 5",
        lambda: _rate(4, 626),
    ),
    congestion(
        "example-5.limit-root",
        "The limiting polynomial is (z + 1)(z^2 + 1/2), with its only unit-circle root at -1.",
        "Example 5 and section B.3",
        lambda: _limit_polynomial(4, "(z + 1)*(z**2 + 1/2)"),
    ),
    congestion(
        "example-5.finite-root",
        "At l0 = 50 the root at -1 has moved out to modulus about 1.019.",
        "Example 5",
        lambda: _root_near_minus_one("1.0185", "1.0195", "1.019"),
    ),
    congestion(
        "figure-2.b.finite-root",
        "At l0 = 50 the root at -1 has moved out to modulus about 1.02.",
        "Figure 2, caption (b)",
        lambda: _root_near_minus_one("1.015", "1.025", "1.02"),
        kind="figure",
    ),
    congestion(
        "example-5.grows",
        "The same start gives oscillations of period 2 whose amplitude grows.",
        "Example 5 and Figure 2(b)",
        _oscillation_grows,
        checked=f"n = 0 ... {_EVICTION_FREE}, before the first eviction",
    ),
    congestion(
        "figure-2.b.reaches-eviction",
        "The growing oscillation drives the system to eviction.",
        "Figure 2, caption (b)",
        _reaches_eviction,
        kind="figure",
        checked="n = 1 ... 199",
    ),
)
