"""Local stability of balanced cycles: the linear map from one block-end to the next, once round.

Near a balanced cycle the live positions stay live, and equation (16) takes the masses at one
block-end to those at the next: linear, with a companion-like matrix that depends on the gap of the
position that completes. Their product over one period is the return map. It keeps the memory of a
deviation, sum of (l0 + S_h) y_h, which is one eigenvalue 1; on the memory boundary that sum is 0,
and the other m - 1 eigenvalues are the cycle's multipliers. One outside the unit circle is
instability.

A small mass at an empty position does not stay: it frees less memory than the others' growth takes,
so nothing is admitted in its place, and within l1 iterations it has completed or is evicted. Those
directions add multipliers 0 and decide nothing.

Once round the circuit of l1 iterations the multipliers have, up to sign, the product

    product over h of (l0 + l1) / (l0 + g_h),

the determinant of (16), because its other factor is the eigenvalue 1. It is above 1 unless one gap
is l1. So every cycle but the maximal-eviction cycle has a multiplier outside the unit circle.

The fixed point is the case of gaps 1: its return map is the matrix B of equation (3), and its
multipliers are the roots of F.

Source: Congestion, Proposition A.4; Theorem 2 (1) and (2).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import cast

from flint import fmpq, fmpq_mat, fmpq_poly, fmpz_poly

from fluidkv.exact.one_class.cycles import canonical_gaps, only_class
from fluidkv.exact.one_class.gaps import Gaps, checked_gaps, cycle_name, rotational_order
from fluidkv.exact.precision import outward, working
from fluidkv.exact.roots.polynomial import count_outside_and_on, enclosed_roots
from fluidkv.keys import Key, Keyed
from fluidkv.verdict import Evidence, Stability
from fluidkv.workload import System

MOST_LIVE = 31
"""Multipliers are counted and enclosed up to this many live positions, a tenth of a second each."""


@dataclass(frozen=True)
class CycleStability(Keyed):
    """Linear stability of a balanced cycle on the memory boundary.

    Fields:
        gaps: predecessor gaps, canonical.
        verdict: unstable for every cycle but the maximal-eviction cycle, which is stable.
        evidence: exact, for the verdict and the counts.
        reason: one line.
        expansion: product of the moduli of all multipliers over l1 iterations, exact.
        multipliers: m - 1.
        outside: multipliers outside the unit circle, with multiplicity; None above `MOST_LIVE`.
        on_circle: multipliers on the unit circle; None above `MOST_LIVE`.
        radius: (low, high) around the largest modulus over one period; None where none is enclosed.
        growth: (low, high), the same an iteration: radius^(1/period).

    Examples:
        >>> from fluidkv.exact import cycle_stability
        >>> system = fk.System(fk.Workload.from_lengths([(2, 3)]), capacity=24)
        >>> found = cycle_stability(system, (2, 1))
        >>> found.outside, found.multipliers, str(found.expansion), round(found.growth[0], 3)
        (1, 1, '25/12', 1.277)
    """

    gaps: Gaps
    verdict: Stability
    evidence: Evidence
    reason: str
    expansion: Fraction
    multipliers: int
    outside: int | None
    on_circle: int | None
    radius: tuple[float, float] | None
    growth: tuple[float, float] | None

    KEYS = (
        Key("gaps[]", "iterations"),
        Key("verdict", "text"),
        Key("evidence", "text"),
        Key("reason", "text"),
        Key("expansion", "number"),
        Key("multipliers", "count", "eigenvalues of the map once round, but for the 1 of memory"),
        Key("outside", "count", "of them outside the unit circle; null: not looked for"),
        Key("on_circle", "count", "of them on it; null: not looked for"),
        Key("radius[]", "number"),
        Key("growth[]", "number"),
    )


def cycle_stability(system: System, gaps: Sequence[int]) -> CycleStability:
    """Certify the linear stability of the balanced cycle with these gaps.

    The capacity scales the cycle and its deviations alike and does not enter.

    Raises:
        InputError: more than one class, or gaps that are not positive integers with sum l1.

    Examples:
        >>> from fluidkv.exact import cycle_stability
        >>> system = fk.System(fk.Workload.from_lengths([(2, 3)]), capacity=24)
        >>> [str(cycle_stability(system, gaps).verdict) for gaps in [(1, 1, 1), (2, 1), (3,)]]
        ['unstable', 'unstable', 'stable']
    """
    only = only_class(system)
    canonical = canonical_gaps(checked_gaps(gaps, only.decode_length))
    l0, l1, count = only.input_length, only.decode_length, len(canonical) - 1
    expansion = math.prod((Fraction(l0 + l1, l0 + g) for g in canonical), start=Fraction(1))
    if count == 0:
        verdict, reason = Stability.STABLE, "one live position: nothing on its face can deviate"
        return CycleStability(
            canonical, verdict, Evidence.EXACT, reason, expansion, 0, 0, 0, None, None
        )
    verdict = Stability.UNSTABLE
    reason = f"the multipliers have a product of modulus {_rounded(expansion)} once round"
    if len(canonical) > MOST_LIVE:
        return CycleStability(
            canonical, verdict, Evidence.EXACT, reason, expansion, count, None, None, None, None
        )
    polynomial = multiplier_polynomial(system, canonical)
    outside, on_circle = count_outside_and_on(polynomial)
    period = l1 // rotational_order(canonical)
    radius, growth = _radius_and_growth(polynomial, period)
    return CycleStability(
        canonical,
        verdict,
        Evidence.EXACT,
        f"{outside} of {count} multipliers of the {cycle_name(canonical)} lie outside the unit "
        "circle",
        expansion,
        count,
        outside,
        on_circle,
        radius,
        growth,
    )


def block_matrix(input_length: int, gaps: Sequence[int]) -> fmpq_mat:
    """Equation (16): masses y_0 ... y_{m-1} at a block-end to those at the next.

    Args:
        input_length: l0.
        gaps: g_0 ... g_{m-1} at the block-end; the last one belongs to the position that completes.

    Row and column h: the h-th live position from the lowest stage.
    """
    m, l1, g = len(gaps), sum(gaps), gaps[-1]
    rows = [[fmpq(0)] * m for _ in range(m)]
    rows[0] = [fmpq(-g, input_length + g)] * (m - 1) + [fmpq(input_length + l1, input_length + g)]
    for h in range(m - 1):
        rows[h + 1][h] = fmpq(1)
    return fmpq_mat(rows)


def return_matrix(system: System, gaps: Sequence[int]) -> fmpq_mat:
    """Product of the block matrices over one period, from the block-end with these gaps.

    Over one full circuit of l1 iterations it acts as many times as the gaps have rotational
    symmetries.

    Raises:
        InputError: as `cycle_stability`.

    Examples:
        >>> from fluidkv.exact.one_class.return_map import return_matrix
        >>> system = fk.System(fk.Workload.from_lengths([(2, 3)]), capacity=24)
        >>> return_matrix(system, (1, 1, 1)).tolist()
        [[-1/3, -1/3, 5/3], [1, 0, 0], [0, 1, 0]]
    """
    only = only_class(system)
    turned = checked_gaps(gaps, only.decode_length)
    matrix = None
    for _ in range(len(turned) // rotational_order(turned)):
        block = block_matrix(only.input_length, turned)
        matrix = block if matrix is None else block * matrix
        turned = turned[-1:] + turned[:-1]
    return cast(fmpq_mat, matrix)


def multiplier_polynomial(system: System, gaps: Sequence[int]) -> fmpz_poly:
    """Characteristic polynomial of the return map on the memory boundary, primitive: degree m - 1.

    Raises:
        InputError: as `cycle_stability`.
        ArithmeticError: the return map has no eigenvalue 1; it always does.
    """
    whole = return_matrix(system, gaps).charpoly()
    on_boundary, rest = divmod(whole, fmpq_poly([-1, 1]))
    if rest != 0:
        raise ArithmeticError("the return map does not keep memory")
    numerator = on_boundary.numer()
    return numerator // numerator.content()


def _radius_and_growth(
    polynomial: fmpz_poly, period: int
) -> tuple[tuple[float, float], tuple[float, float]]:
    """The largest modulus over one period, and an iteration; floats rounded outward."""
    with working(128):
        moduli = [abs(ball) for ball, _ in enclosed_roots(polynomial)]
        largest = moduli[0]
        for modulus in moduli[1:]:
            largest = largest.max(modulus)
        return outward(largest), outward(largest.root(period))


def _rounded(expansion: Fraction) -> str:
    """Four digits; only the power of ten where a float cannot hold it, as for 5:400."""
    if expansion < 10**300:
        return f"{float(expansion):.4g}"
    exponent = math.log10(expansion.numerator) - math.log10(expansion.denominator)
    return f"about 10^{exponent:.0f}"
