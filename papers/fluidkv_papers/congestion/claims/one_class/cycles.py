"""Congestion, Definitions 1 and 2, Lemma 1, Theorem 2, equation (25): which equilibria there are.

Every cycle is built from its gap vector and then run once round by the map itself, in exact
arithmetic; a formula is held against what the run completes.
"""

from fractions import Fraction
from math import prod

from fluidkv import exact
from fluidkv.exact import one_class
from fluidkv.exact.one_class.cycles import Cycle
from fluidkv.ledger import Origin
from fluidkv_papers.congestion.instances.one_class import (
    CYCLES,
    cycles_of,
    lengths,
    named,
    system_of,
)
from fluidkv_papers.congestion.paper import statements

CLAIMS = statements()
READING = CLAIMS.section(origin=Origin.READING)


@CLAIMS.claim("definition-1.no-eviction", "Definition 1 and the sentence after it", over=CYCLES)
def _fixed_point(cycle: Cycle, verified: bool) -> bool:
    """A fixed point is a steady regime without eviction.

    Ours: of {count} cycles, those with no empty stage, and they evict nothing"""
    fixed = verified and cycle.period == 1
    evicts = fixed and any(exact.iterate(cycle.system, [cycle.states[0]]).evicted[0])
    return not evicts and fixed == (max(cycle.gaps) == 1)


@CLAIMS.claim("definition-2.period", "Definition 2", over=CYCLES)
def _period(cycle: Cycle, verified: bool) -> bool | str:
    """Every balanced orbit has a smallest period, by which throughput is averaged.

    Ours: l1 over the number of rotations that keep the gaps
    Paper: p is the smallest positive integer for which the orbit closes
    Note: The paper gives no formula for p; by Definition 2 a period divides l1."""
    gaps = cycle.gaps
    rotations = sum(gaps[h:] + gaps[:h] == gaps for h in range(len(gaps)))
    right = verified and cycle.period * rotations == sum(gaps)
    return right or f"{named(cycle)}: period {cycle.period}"


@CLAIMS.claim(
    "lemma-1.every-limit-cycle-is-balanced",
    "proof of Proposition 8; Lemma 1 for all limit cycles rests on it here",
    over=CYCLES,
    kind="lemma",
)
def _no_other(cycle: Cycle, verified: bool) -> bool:
    """There is no limit cycle besides the balanced ones.

    Ours: no return map has a multiplier on the unit circle
    Paper: a periodic orbit with a fixed relative support is balanced
    Note: By Lemma A.3 every periodic orbit has a fixed relative support, and with it the linear map
    (16). A second orbit with the same gaps, of whatever period, would be an eigenvector to a root
    of unity. Decided in integers for each gap vector."""
    return exact.cycle_stability(cycle.system, cycle.gaps).on_circle == 0


@CLAIMS.claim("lemma-1.minimum", "Lemma 1", over=CYCLES)
def _minimum(cycle: Cycle, verified: bool) -> bool | str:
    """No cycle has a lower throughput than M/(l1(l0+l1)), and only the maximal-eviction cycle has
    this one.

    Ours: attained by the gap vector (l1) alone, of {count} systems and gap vectors
    Note: These are all limit cycles (congestion.lemma-1.every-limit-cycle-is-balanced)."""
    only = cycle.system.workload.classes[0]
    worst = cycle.system.capacity / (only.decode_length * only.peak_footprint)
    found, maximal = cycle.throughput, len(cycle.gaps) == 1
    least = found >= worst and (found == worst) == maximal
    return (verified and least) or f"{named(cycle)}: {found} against {worst}"


@CLAIMS.claim("theorem-2.existence", "Theorem 2, first sentence", over=lengths(2))
def _existence(l0: int, l1: int) -> bool | str:
    """There are a fixed point, a maximal-eviction limit cycle at level l1-1 and, for l1 >= 3, limit
    cycles at intermediate levels.

    Ours: a fixed point, and a limit cycle at each level from 1 to l1 - 1"""
    cycles = [cycle for cycle, verified in cycles_of(l0, l1) if verified]
    levels = {cycle.level for cycle in cycles if cycle.period > 1}
    fixed = any((cycle.level, cycle.period) == (0, 1) for cycle in cycles)
    there = fixed and levels == set(range(1, l1))
    return there or f"l0={l0}, l1={l1}: limit cycles at levels {sorted(levels)}"


@READING.claim("theorem-2.fixed-point-is-linearly-unstable", "Theorem 2 (1)", over=lengths(2))
def _fixed_point_is_unstable(l0: int, l1: int) -> bool | str:
    """The eviction-free fixed point is not linearly stable.

    Ours: all l1 - 1 roots of F lie outside the unit circle
    Paper: not stable
    Note: F has coefficients l0+1 < l0+2 < ... < l0+l1 from the highest power down, so this is so
    for every l0 and l1 (Eneström-Kakeya). In integers for the range."""
    outside = exact.cycle_stability(system_of(l0, l1), (1,) * l1).outside
    return outside == l1 - 1 or f"l0={l0}, l1={l1}: {outside} of {l1 - 1} outside"


@READING.claim(
    "theorem-2.intermediate-cycles-are-linearly-unstable",
    "Theorem 2 (2)",
    over=CYCLES.where(
        "levels 1 ... l1-2", lambda cycle, verified: 1 <= cycle.level <= sum(cycle.gaps) - 2
    ),
)
def _intermediate_are_unstable(cycle: Cycle, verified: bool) -> bool | str:
    """Limit cycles at the eviction levels 1 ... l1-2 are not linearly stable.

    Ours: all m - 1 multipliers outside the unit circle, for {count} cycles
    Paper: not stable
    Note: For every l0 and l1 at least one is outside: the determinant of (16) makes their product
    once round the product of (l0+l1)/(l0+g_h), above 1 unless a gap is l1."""
    l0, l1 = cycle.system.workload.classes[0].input_length, sum(cycle.gaps)
    outside = exact.cycle_stability(cycle.system, cycle.gaps).outside
    # The eigenvalues over one period, and with them those over a whole circuit, have this product.
    product = one_class.return_map.return_matrix(cycle.system, cycle.gaps).det()
    once_round = abs(Fraction(int(product.p), int(product.q))) ** (l1 // cycle.period)
    expansion = prod((Fraction(l0 + l1, l0 + g) for g in cycle.gaps), start=Fraction(1))
    right = outside == cycle.live - 1 and once_round == expansion > 1
    return right or f"{named(cycle)}: {outside} of {cycle.live - 1} outside"


@CLAIMS.claim("proposition-8.throughput", "Proposition 8, equation (25)", over=CYCLES)
def _formula(cycle: Cycle, verified: bool) -> bool | str:
    """Every gap vector gives an orbit that closes, with the throughput of equation (25).

    Paper: M / (l0 l1 + (l1^2 + sum of g_h^2) / 2)"""
    l0, l1 = cycle.system.workload.classes[0].input_length, sum(cycle.gaps)
    squares = sum(g * g for g in cycle.gaps)
    printed = cycle.system.capacity / (l0 * l1 + Fraction(l1 * l1 + squares, 2))
    completed = sum((state[-1] for state in cycle.states), Fraction(0)) / cycle.period
    return (verified and completed == printed) or f"{named(cycle)}: {completed} for {printed}"
