"""Congestion, Proposition 8, Remark 1, Example 7, Figure 1: throughput by eviction level.

As in `cycles`, every cycle is run once round by the map in exact arithmetic.
"""

from fractions import Fraction
from functools import cache

from fluidkv import exact
from fluidkv.exact import one_class
from fluidkv.exact.one_class.cycles import (
    Cycle,
    adjacent_cycle,
    contiguous_cycle,
    evenly_spaced_cycle,
    fixed_point,
    maximal_eviction_cycle,
    opposite_cycle,
)
from fluidkv.ledger import Finding, Origin, Outcome, Range, equals, rounds_to
from fluidkv_papers.congestion.claims.one_class.families import (
    completions,
    contiguous_rate,
    even_rate,
)
from fluidkv_papers.congestion.instances import one_class as systems
from fluidkv_papers.congestion.paper import statements

CLAIMS = statements()
APPENDIX_A1_TWO_ORBITS = CLAIMS.section("appendix-a1.two-orbits", "Appendix A.1")

# --- Proposition 8, Remark 1 ----------------------------------------------------------------------

_LIVE = Range(
    systems.CYCLES.words,
    lambda: ((l0, l1, m) for l0, l1 in systems.lengths().cases() for m in range(1, l1 + 1)),
)
"""By the number of live positions."""


@cache
def _extremes(l0: int, l1: int, m: int) -> tuple[list[Cycle], list[Cycle]]:
    """All cycles with m live positions that attain the least and the most throughput."""
    cycles = [c for c, verified in systems.cycles_of(l0, l1) if verified and c.live == m]
    low, high = (pick(c.throughput for c in cycles) for pick in (min, max))
    return [c for c in cycles if c.throughput == low], [c for c in cycles if c.throughput == high]


def _endpoint(l0: int, l1: int, squares: int) -> Fraction:
    """The printed endpoints, with the sum of squared gaps."""
    return systems.system_of(l0, l1).capacity / (l0 * l1 + Fraction(l1 * l1 + squares, 2))


@CLAIMS.claim("proposition-8.least", "Proposition 8, lower endpoint", over=_LIVE)
def _least(l0: int, l1: int, m: int) -> bool | str:
    """With m live positions, throughput is least at the contiguous gap vector, up to rotation
    alone.

    Ours: at the contiguous gap vector and, up to rotation, at no other
    Paper: minimised by (l1-m+1, 1, ..., 1), at c_{l1-m}"""
    worst, _ = _extremes(l0, l1, m)
    longest = l1 - m + 1
    only = [c.gaps for c in worst] == [(longest,) + (1,) * (m - 1)]
    printed = _endpoint(l0, l1, longest**2 + m - 1)
    contiguous = contiguous_rate(l0, l1, l1 - m, worst[0].system.capacity)
    same = printed == worst[0].throughput == contiguous
    return (only and same) or f"{systems.named(worst[0])}: one of {len(worst)}"


@CLAIMS.claim("proposition-8.most", "Proposition 8, upper endpoint", over=_LIVE)
def _most(l0: int, l1: int, m: int) -> bool | str:
    """With m live positions, throughput is most at the as-evenly-spaced gap vectors, in any order
    of the gaps.

    Ours: at every order of r gaps a+1 and m-r gaps a, and nowhere else"""
    _, best = _extremes(l0, l1, m)
    a, r = divmod(l1, m)
    even = [a] * (m - r) + [a + 1] * r
    every = [c.gaps for c, _ in systems.cycles_of(l0, l1) if sorted(c.gaps) == even]
    printed = _endpoint(l0, l1, r * (a + 1) ** 2 + (m - r) * a * a)
    same = printed == best[0].throughput and [c.gaps for c in best] == every
    return same or f"{systems.named(best[0])}: one of {len(best)}"


@CLAIMS.claim(
    "proposition-8.evenly-spaced",
    "Proposition 8, last sentence",
    over=_LIVE.where("m >= 2 a divisor of l1", lambda l0, l1, m: m > 1 and l1 % m == 0),
)
def _bridge(l0: int, l1: int, m: int) -> bool | str:
    """Where m divides l1, the upper endpoint is the throughput of Proposition 7."""
    _, best = _extremes(l0, l1, m)
    return best[0].throughput == even_rate(l0, l1, m, best[0].system.capacity) or systems.named(
        best[0]
    )


@CLAIMS.claim(
    "remark-1.not-unique",
    "Remark 1",
    over=lambda: ((l0, l1, i) for l0, l1 in systems.lengths().cases() for i in range(l1)),
    checked=systems.CYCLES.words,
)
def _several(l0: int, l1: int, i: int) -> bool | str:
    """For l1 >= 4 there can be several limit cycles, of distinct throughput, at a level i with 2 <=
    i <= l1-2.

    Ours: several throughputs at every level from 2 to l1 - 2, one cycle at each other level
    Note: Never unique there, in the range: stronger than the remark."""
    rates = [c.throughput for c, verified in systems.cycles_of(l0, l1) if verified and c.level == i]
    several = 2 <= i <= l1 - 2
    right = len(set(rates)) > 1 if several else len(rates) == 1
    return right or f"l0={l0}, l1={l1}, level {i}: {len(rates)} cycles"


# --- Figure 1: l0 = 2, l1 = 12 --------------------------------------------------------------------


@cache
def _landscape() -> tuple[tuple[Fraction, Fraction, tuple[Fraction, ...]], ...]:
    """By level: least, most and all throughputs, as shares of x*."""
    system = systems.system_of(2, 12)
    best = fixed_point(system).throughput
    rows: list[list[Fraction]] = [[] for _ in range(12)]
    for cycle, verified in systems.cycles_of(2, 12):
        if not verified:
            raise ArithmeticError(f"{systems.named(cycle)} does not close")
        rows[cycle.level].append(cycle.throughput / best)
    return tuple(
        (point.lowest / best, point.highest / best, tuple(row))
        for point, row in zip(one_class.equilibria.envelope(system), rows, strict=True)
    )


def _widths() -> list[Fraction]:
    return [high - low for low, high, _ in _landscape()]


@CLAIMS.claim("figure-1.between", "Figure 1, caption")
def _between() -> Finding:
    """For l0 = 2, l1 = 12 every balanced cycle lies between the contiguous and the as-evenly-spaced
    curve.

    Checked: all gap vectors, l0 = 2, l1 = 12
    Paper: all lie between these two curves"""
    outside = [
        f"level {level}: outside"
        for level, (low, high, row) in enumerate(_landscape())
        if not low <= min(row) <= max(row) <= high
    ]
    count = sum(len(row) for _, _, row in _landscape())
    return Finding(not outside or outside[0], f"all {count} cycles lie between the curves")


@CLAIMS.claim("figure-1.ends", "Figure 1, caption")
def _ends() -> Finding:
    """Both envelopes coincide at level 0 and at level l1-1.

    Paper: both coincide at level 0 and level l1-1
    Note: Also at level 1, which has only one cycle."""
    equal = [level for level, width in enumerate(_widths()) if width == 0]
    return Finding(
        {0, 11} <= set(equal) or f"equal at {equal}",
        f"the curves coincide at the levels {', '.join(map(str, equal))}",
    )


@CLAIMS.claim("figure-1.level-8", "Figure 1, caption")
def _at_level_8() -> Outcome:
    """The gap between the envelopes is 16% of x* at level 8."""
    return rounds_to(_widths()[8], "0.16")


@CLAIMS.claim(
    "figure-1.widest",
    "Figure 1, caption, what widens at intermediate levels",
    origin=Origin.READING,
)
def _widest() -> Finding:
    """The gap between the envelopes is widest at an intermediate level, and wider at level 8 than
    at each level before.

    Paper: widens at intermediate levels, reaching 16% of x* at level 8
    Note: The caption does not say that the gap is widest at level 8."""
    widths = _widths()
    peak = max(range(12), key=widths.__getitem__)
    holds = 1 <= peak <= 10 and widths[8] > max(widths[:8])
    return Finding(
        None if holds else f"level {peak}: {float(widths[peak]):.4f} of x*",
        f"widest at level {peak}, {float(widths[peak]):.4f} of x*; "
        f"at level 8 {float(widths[8]):.4f}, more than before",
    )


# --- Appendix A.1: two orbits at level 2, l0 = 2, l1 = 4, M = 48 ----------------------------------

_SYSTEM = systems.system_of(2, 4, 48)


def _rate(cycle: Cycle) -> Fraction:
    """Completions per iteration; the run decides, not a formula."""
    found = completions(cycle)
    if found is None:
        raise ArithmeticError(f"{systems.named(cycle)} does not close")
    return found


@APPENDIX_A1_TWO_ORBITS.claim("values", ", cycle multiplicity", kind="example")
def _values() -> Outcome:
    """For l0 = 2, l1 = 4, M = 48, the opposite orbit has period 2 and throughput 12/5, the adjacent
    one period 4 and throughput 16/7."""
    opposite, adjacent = opposite_cycle(_SYSTEM), adjacent_cycle(_SYSTEM)
    values = [opposite.period, _rate(opposite), adjacent.period, _rate(adjacent)]
    return equals(values, "2, 12/5, 4, 16/7")


APPENDIX_A1_TWO_ORBITS.claim("fixed-point", "and Figure 9, caption", "x* is 8/3.", kind="example")(
    lambda: equals(_rate(fixed_point(_SYSTEM)), "8/3")
)


@APPENDIX_A1_TWO_ORBITS.claim("shares", ", cycle multiplicity", kind="example")
def _shares() -> Outcome:
    """They carry 90% and 86% of x*, and the maximal-eviction cycle 75%."""
    best, *others = (
        _rate(cycle(_SYSTEM))
        for cycle in (
            fixed_point,
            opposite_cycle,
            adjacent_cycle,
            maximal_eviction_cycle,
        )
    )
    return rounds_to([rate / best for rate in others], "0.90, 0.86, 0.75")


@APPENDIX_A1_TWO_ORBITS.claim("unstable", ", cycle multiplicity", kind="example")
def _both_unstable() -> Finding:
    """Both are unstable.

    Paper: both are unstable"""
    orbits = (opposite_cycle(_SYSTEM), adjacent_cycle(_SYSTEM))
    found = [exact.cycle_stability(_SYSTEM, cycle.gaps) for cycle in orbits]
    growth = " and ".join(f"{f.growth[0]:.4f}" for f in found if f.growth)
    return Finding(
        all(f.outside for f in found) or "no multiplier outside",
        f"one multiplier each, outside: a factor {growth} per iteration",
    )


# --- Example 7 ------------------------------------------------------------------------------------


def _level_4() -> Cycle:
    return contiguous_cycle(systems.system_of(2, 10), 4)


def _level_5() -> Cycle:
    return evenly_spaced_cycle(systems.system_of(2, 10), 5)


def _share(cycle: Cycle) -> Fraction:
    """Of the capacity, completed per iteration."""
    return _rate(cycle) / cycle.system.capacity


@CLAIMS.claim("example-7.contiguous", "Example 7 (1)")
def _example_7_contiguous() -> Outcome:
    """For l0 = 2, l1 = 10 the contiguous cycle at level 4 completes M/85 per iteration."""
    return equals(_share(_level_4()), "1/85")


@CLAIMS.claim("example-7.evenly-spaced", "Example 7 (2)")
def _example_7_even() -> Outcome:
    """For l0 = 2, l1 = 10 five evenly spaced stages complete M/80 per iteration."""
    return equals(_share(_level_5()), "1/80")


@CLAIMS.claim("example-7.order", "Example 7")
def _example_7_order() -> Finding:
    """The cycle at level 4 carries less than the one at level 5, though it has one more occupied
    stage.

    Paper: M/85 < M/80"""
    lower, higher = _level_4(), _level_5()
    less = _share(lower) < _share(higher) and lower.live == higher.live + 1
    heavy = 5 * systems.weight(2, 4)
    return Finding(
        None if less else "not so",
        f"M/{1 / _share(lower)} < M/{1 / _share(higher)}",
        note=f"The text adds that 5 w_4 = {heavy} dominates the denominator. It is the largest "
        f"term, but less than half of {1 / _share(lower)}.",
    )
