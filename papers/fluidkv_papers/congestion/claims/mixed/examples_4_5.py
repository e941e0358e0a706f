"""Congestion, Examples 4 and 5 and the caption of Figure 2: every printed number."""

from fractions import Fraction
from functools import cache
from itertools import pairwise

from fluidkv import exact, symbolic
from fluidkv.ledger import (
    Finding,
    Origin,
    Outcome,
    conjugate_modulus_squared,
    decimal,
    equals,
    root_rounds_to,
    sympy,
)
from fluidkv.workload import RequestClass, System, Workload
from fluidkv_papers.congestion.paper import statements

CLAIMS = statements()
_HALF = Fraction(1, 2)
_EVICTION_FREE = 58  # iterations of Example 5 that are looked at; eviction comes later


def _two_class_system(second: int, capacity: int) -> System:
    """Examples 4 and 5: decode lengths 2 and `second`, l0 = 50, equal shares."""
    classes = (RequestClass(50, 2, _HALF), RequestClass(50, second, _HALF))
    return System(Workload(classes), Fraction(capacity))


_EXAMPLE_4, _EXAMPLE_5 = _two_class_system(3, 518), _two_class_system(4, 626)


@cache
def _admissions(system: System, iterations: int) -> tuple[list[Fraction], int | None]:
    """Admissions a^0 = 5, a^1, ... by the literal model, and the n of the first eviction, if any.

    The start is the equilibrium with 5 for 4 in the youngest cohort and the oldest cohort made
    smaller, so that memory is exactly full (Example 3 starts in the same manner). Recurrence (9)
    then holds from the start; starting at 5 with all earlier admissions at 4 gives the same
    admissions from then on, with memory over capacity at the start.
    """
    weights = exact.survival_weights(system.workload).memory
    cohorts = [Fraction(4)] * len(weights)
    cohorts[0] += 1
    cohorts[-1] -= Fraction(weights[0], weights[-1])
    state = [[y / 2 for y in cohorts[: c.decode_length]] for c in system.workload.classes]
    admitted, evicted = [cohorts[0]], None
    for n in range(1, iterations + 1):
        step = exact.iterate(system, state)
        state = step.state
        if evicted is None and any(sum(row) > 0 for row in step.evicted):
            evicted = n
        admitted.append(sum(step.admitted, Fraction(0)))
    return admitted, evicted


def _limit(second: int) -> "sympy.Poly":
    """A(z) for lengths 2 and `second` in equal shares."""
    limit = symbolic.limit_polynomial(exact.two_lengths(2, second, _HALF))
    return sympy.Poly(limit, symbolic.Z)


def _is_limit(second: int, shown: str) -> Finding:
    ours = _limit(second)
    same = ours == sympy.Poly(sympy.sympify(shown), symbolic.Z)
    factors = str(sympy.factor(ours.as_expr()))
    return Finding(None if same else factors, factors, paper=shown)


CLAIMS.claim(
    "example-4.equilibrium", "Example 4", "Decode lengths 2 and 3, l0 = 50 and M = 518 give x* = 4."
)(lambda: equals(exact.eviction_free_equilibrium(_EXAMPLE_4).rate, "4"))
CLAIMS.claim(
    "example-4.limit-polynomial", "Example 4", "The limiting polynomial is z^2 + z + 1/2."
)(lambda: _is_limit(3, "z**2 + z + 1/2"))


@CLAIMS.claim("example-4.limit-roots", "Example 4")
def _limit_roots() -> Finding:
    """Its roots are (-1 ± i)/2.

    Paper: (-1 ± i)/2"""
    roots = {sympy.expand(root) for root in _limit(3).all_roots()}
    same = roots == {sympy.expand((-1 + sign * sympy.I) / 2) for sign in (1, -1)}
    shown = ", ".join(sorted(map(str, roots)))
    return Finding(None if same else shown, shown)


def _limit_modulus_squared() -> Fraction:
    return conjugate_modulus_squared([Fraction(str(c)) for c in _limit(3).all_coeffs()])


CLAIMS.claim(
    "example-4.limit-modulus",
    "Example 4",
    "The roots of the limiting polynomial have modulus 1/sqrt(2), about 0.707.",
)(lambda: root_rounds_to(_limit_modulus_squared(), "0.707"))


@CLAIMS.claim("example-4.settles", "Example 4 and Figure 2(a)", origin=Origin.REPRODUCTION)
def _within_two_percent() -> Finding:
    """From 25 % over-admission the system is within 2 % of x* by iteration 8.

    Checked: n = 0 ... 60
    Paper: within 2 % by iteration 8
    Note: Exact up to iteration 60; the oldest cohort makes up for the over-admission."""
    admitted, evicted = _admissions(_EXAMPLE_4, 60)
    off = [abs(a - 4) / 4 for a in admitted]
    settled = next(n for n in range(61) if all(d <= Fraction(2, 100) for d in off[n:]))
    return Finding(
        settled <= 8 and evicted is None,
        f"within 2 % from iteration {settled} on ({decimal(100 * off[8], 2)} % at 8)",
    )


@CLAIMS.fails("figure-2.a.limit-modulus", "Figure 2, caption (a)")
def _caption_modulus() -> Outcome:
    """The roots of the limiting polynomial have modulus about 0.72.

    Holds: example-4.limit-modulus"""
    return root_rounds_to(
        _limit_modulus_squared(),
        "0.72",
        note="0.72 belongs to F at l0 = 50, and Example 4 prints 0.707 for this polynomial.",
    )


@CLAIMS.claim(
    "figure-2.a.finite-modulus",
    "Figure 2, caption (a), read as a statement about F",
    origin=Origin.READING,
)
def _finite_modulus() -> Outcome:
    """The roots of F at l0 = 50, which drive the plotted trajectory, have modulus about 0.72."""
    weights = exact.survival_weights(_EXAMPLE_4.workload).memory
    return root_rounds_to(conjugate_modulus_squared(weights), "0.72")


CLAIMS.claim(
    "example-5.equilibrium", "Example 5", "Decode lengths 2 and 4, l0 = 50 and M = 626 give x* = 4."
)(lambda: equals(exact.eviction_free_equilibrium(_EXAMPLE_5).rate, "4"))


@CLAIMS.claim("example-5.limit-root", "Example 5 and section B.3")
def _example_5_limit() -> Finding:
    """The limiting polynomial is (z + 1)(z^2 + 1/2), with its only unit-circle root at -1."""
    return _is_limit(4, "(z + 1)*(z**2 + 1/2)")


def _root_near_minus_one(low: str, high: str, shown: str) -> Finding:
    """F changes sign between -high and -low, and its other two roots are smaller."""
    coefficients = exact.survival_weights(_EXAMPLE_5.workload).memory

    def value(z: Fraction) -> Fraction:
        return sum((c * z**k for k, c in enumerate(reversed(coefficients))), Fraction(0))

    left, right = -Fraction(high), -Fraction(low)
    changes = value(left) * value(right) < 0
    # The product of the three roots is -c3/c0, so the other two multiply to less than this.
    others = Fraction(coefficients[3], coefficients[0]) / Fraction(low)
    for _ in range(40):  # display only
        middle = (left + right) / 2
        left, right = (left, middle) if value(left) * value(middle) < 0 else (middle, right)
    return Finding(
        changes and others < 1,
        f"{decimal(-left, 6)} (sign change between -{high} and -{low})",
        paper=shown,
    )


@CLAIMS.claim("example-5.finite-root", "Example 5")
def _example_5_root() -> Finding:
    """At l0 = 50 the root at -1 has moved out to modulus about 1.019."""
    return _root_near_minus_one("1.0185", "1.0195", "1.019")


@CLAIMS.claim("figure-2.b.finite-root", "Figure 2, caption (b)")
def _caption_root() -> Finding:
    """At l0 = 50 the root at -1 has moved out to modulus about 1.02."""
    return _root_near_minus_one("1.015", "1.025", "1.02")


@CLAIMS.claim(
    "example-5.grows",
    "Example 5 and Figure 2(b)",
    origin=Origin.REPRODUCTION,
    checked=f"n = 0 ... {_EVICTION_FREE}, before the first eviction",
)
def _oscillation_grows() -> Finding:
    """The same start gives oscillations of period 2 whose amplitude grows.

    Paper: oscillations whose amplitude grows"""
    admitted, evicted = _admissions(_EXAMPLE_5, _EVICTION_FREE)
    off = [a - 4 for a in admitted]
    alternate = all(x * y < 0 for x, y in pairwise(off))
    shrinks = [n for n in range(len(off) - 2) if abs(off[n + 2]) <= abs(off[n])]
    from_here = max(shrinks, default=-1) + 1
    # Decaying modes may rule the first half; then the growing one has to, beyond where it began.
    grows = from_here <= _EVICTION_FREE // 2 and abs(off[-1]) > abs(off[0])
    return Finding(
        alternate and grows and evicted is None,
        f"alternates; each swing above the last but one from n = {from_here} on; "
        f"{decimal(off[-1], 2)} at n = {_EVICTION_FREE}",
        note=f"The first swings shrink, to {decimal(min(map(abs, off)), 2)} from 1.",
    )


@CLAIMS.claim("figure-2.b.reaches-eviction", "Figure 2, caption (b)", origin=Origin.REPRODUCTION)
def _reaches_eviction() -> Finding:
    """The growing oscillation drives the system to eviction.

    Checked: n = 1 ... 199
    Paper: toward eviction"""
    first = _admissions(_EXAMPLE_5, 199)[1]
    return Finding(
        first is not None, f"first eviction leads to n = {first}" if first else "none up to n = 199"
    )
