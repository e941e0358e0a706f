"""Congestion, Propositions 5 to 8, Remark 1, Example 7, Figure 1: throughput by eviction level.

As in `congestion_cycles`, every cycle is run once round by the map in exact arithmetic.
"""

from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

from fluidkv.ledger.claim import Claim, Outcome
from fluidkv.ledger.outcomes import equals, holds_for, rounds_to
from fluidkv.papers.congestion.claims.one_class.cycles import (
    DECODES,
    INPUTS,
    RANGE,
    cycles_of,
    named,
    system_of,
    systems,
)
from fluidkv.papers.congestion.paper import congestion
from fluidkv.verdict import Evidence, Verdict

if TYPE_CHECKING:
    from fluidkv.exact.one_class.cycles import Cycle, State
    from fluidkv.workload import System

_SYSTEMS = f"l0 = {', '.join(map(str, INPUTS))}, l1 = 1 ... {DECODES[-1]}"


def _run(cycle: "Cycle") -> Fraction | None:
    """Completions an iteration of a cycle that the map confirms; None if it does not."""
    from fluidkv.exact.one_class.cycles_verified import verify_cycle

    if not verify_cycle(cycle.system, cycle):
        return None
    return sum((state[-1] for state in cycle.states), Fraction(0)) / cycle.period


def _first(cases: Iterable[str | None]) -> str | None:
    """The first counterexample of a range that starts with its smallest members."""
    return next((bad for bad in cases if bad), None)


def _compared(cycle: "Cycle", printed: Fraction) -> str | None:
    found = _run(cycle)
    return None if found == printed else f"{named(cycle)}: {found} for {printed}"


def _weight(l0: int, j: int) -> int:
    return l0 + 1 + j


# Proposition 5


def _adjacent() -> Outcome:
    from fluidkv.exact.one_class.cycles import adjacent_cycle

    def bad(l0: int, l1: int) -> str | None:
        system, last = system_of(l0, l1), _weight(l0, l1 - 1)
        printed = system.capacity / (last**2 - _weight(l0, 0) * _weight(l0, l1 - 2))
        return _compared(adjacent_cycle(system), printed)

    return holds_for(
        _first(bad(l0, l1) for l0, l1 in systems() if l1 > 1),
        ours="closes, with this throughput",
        paper="M / (w_{l1-1}^2 - w_0 w_{l1-2})",
        evidence=Evidence.SAMPLED,
    )


def _opposite() -> Outcome:
    from fluidkv.exact.one_class.cycles import opposite_cycle

    def bad(l0: int, l1: int) -> str | None:
        system, d = system_of(l0, l1), l1 // 2
        printed = system.capacity / (d * (_weight(l0, d - 1) + _weight(l0, l1 - 1)))
        return _compared(opposite_cycle(system), printed)

    return holds_for(
        _first(bad(l0, l1) for l0, l1 in systems() if l1 % 2 == 0),
        ours="closes, with this throughput",
        paper="M / (d (w_{d-1} + w_{l1-1}))",
        evidence=Evidence.SAMPLED,
    )


def _two_stage_periods(least: int) -> Outcome:
    from fluidkv.exact.one_class.cycles import adjacent_cycle, opposite_cycle

    def bad(l0: int, l1: int) -> str | None:
        found = [(adjacent_cycle(system_of(l0, l1)), l1)]
        if l1 % 2 == 0:
            found.append((opposite_cycle(system_of(l0, l1)), l1 // 2))
        for cycle, printed in found:
            if _run(cycle) is None or cycle.period != printed or cycle.period < 2:
                return f"{named(cycle)}: smallest period {cycle.period}"
        return None

    first = _first(bad(l0, l1) for l0, l1 in systems() if l1 >= least)
    return holds_for(
        first,
        ours="limit cycles with these smallest periods"
        if first is None
        else "for l1 = 2 both are the fixed point, of period 1; limit cycles from l1 = 3 on",
        paper="limit cycles, which have period at least 2: adjacent of period l1, opposite of "
        "period d",
        evidence=Evidence.SAMPLED if first is None else Evidence.EXACT,
    )


# Proposition 6


def _contiguous_printed(system: "System", i: int) -> Fraction:
    """Equation (22)."""
    only = system.workload.classes[0]
    l0, l1 = only.input_length, only.decode_length
    above = sum(_weight(l0, j) for j in range(i + 1, l1))
    return system.capacity / ((i + 1) * _weight(l0, i) + above)


def _contiguous() -> Outcome:
    from fluidkv.exact.one_class.cycles import contiguous_cycle

    def bad(l0: int, l1: int, i: int) -> str | None:
        system = system_of(l0, l1)
        cycle = contiguous_cycle(system, i)
        if cycle.level != i:
            return f"{named(cycle)}: level {cycle.level}"
        return _compared(cycle, _contiguous_printed(system, i))

    return holds_for(
        _first(bad(l0, l1, i) for l0, l1 in systems() for i in range(l1)),
        ours="closes at each level, with this throughput",
        paper="M / ((i+1) w_i + sum of w_j for j > i)",
        evidence=Evidence.SAMPLED,
    )


def _blocks(occupied: "State") -> int:
    """Contiguous blocks of occupied stages, in stage order."""
    return sum(x > 0 and (j == 0 or occupied[j - 1] == 0) for j, x in enumerate(occupied))


def _contiguity(blocks: "Callable[[State], int]", reading: str) -> Outcome:
    from fluidkv.exact.one_class.cycles import contiguous_cycle

    def bad(l0: int, l1: int, i: int) -> str | None:
        cycle = contiguous_cycle(system_of(l0, l1), i)
        for state in cycle.states:
            if blocks(state) != 1:
                stages = [j for j, x in enumerate(state) if x > 0]
                return f"{named(cycle)}: occupied stages {stages}"
        return None

    first = _first(bad(l0, l1, i) for l0, l1 in systems() for i in range(1, l1))
    return holds_for(
        first,
        ours=reading if first is None else "not while the block passes from the last stage to 0",
        paper="a contiguous block at every iteration",
        evidence=Evidence.SAMPLED if first is None else Evidence.EXACT,
        note="" if first is None else "The proof says what holds: in cyclic order.",
    )


def _cyclic_blocks(state: "State") -> int:
    joined = state[0] > 0 and state[-1] > 0 and not all(state)
    return _blocks(state) - joined


def _contiguous_decreases() -> Outcome:
    def bad(l0: int, l1: int) -> str | None:
        system = system_of(l0, l1)
        printed = [_contiguous_printed(system, i) for i in range(l1)]
        for i in range(l1 - 1):
            # The proof's own step: the denominators differ by i + 1.
            step = system.capacity / printed[i + 1] - system.capacity / printed[i]
            if not printed[i] > printed[i + 1] or step != i + 1:
                return f"l0={l0}, l1={l1}, i={i}"
        return None

    return holds_for(
        _first(bad(l0, l1) for l1 in range(2, 31) for l0 in INPUTS),
        ours="strictly decreasing; the denominators grow by i + 1",
        paper="c_i > c_{i+1}",
        evidence=Evidence.SAMPLED,
    )


def _contiguous_ends() -> Outcome:
    from fluidkv.exact.one_class.cycles import contiguous_cycle, fixed_point, maximal_eviction_cycle

    def bad(l0: int, l1: int) -> str | None:
        system = system_of(l0, l1)
        best = 2 * system.capacity / (l1 * (2 * l0 + l1 + 1))
        worst = system.capacity / (l1 * (l0 + l1))
        first, last = contiguous_cycle(system, 0), contiguous_cycle(system, l1 - 1)
        same = first == fixed_point(system) and last == maximal_eviction_cycle(system)
        if same and (_run(first), _run(last)) == (best, worst):
            return None
        return f"l0={l0}, l1={l1}"

    return holds_for(
        _first(bad(l0, l1) for l0, l1 in systems()),
        ours="the fixed point and the maximal-eviction cycle",
        paper="c_0 = x*, c_{l1-1} = M / (l1 w_{l1-1})",
        evidence=Evidence.SAMPLED,
    )


# Proposition 7


def _divisors() -> list[tuple[int, int, int]]:
    """(l0, l1, k) with k >= 2 a divisor of l1."""
    return [(l0, l1, k) for l0, l1 in systems() for k in range(2, l1 + 1) if l1 % k == 0]


def _evenly_spaced() -> Outcome:
    from fluidkv.exact.one_class.cycles import evenly_spaced_cycle

    def bad(l0: int, l1: int, k: int) -> str | None:
        system, d = system_of(l0, l1), l1 // k
        cycle = evenly_spaced_cycle(system, k)
        for state in cycle.states:
            stages = [j for j, x in enumerate(state) if x > 0]
            if stages != list(range(stages[0], l1, d)) or len(stages) != k:
                return f"{named(cycle)}: occupied stages {stages}"
        weights = sum(_weight(l0, q * d - 1) for q in range(1, k + 1))
        return _compared(cycle, system.capacity / (d * weights))

    return holds_for(
        _first(bad(*case) for case in _divisors()),
        ours="closes, stages d apart, with this throughput",
        paper="M / (d sum of w_{qd-1}, q = 1 ... k)",
        evidence=Evidence.SAMPLED,
    )


def _evenly_spaced_period(with_all: bool) -> Outcome:
    from fluidkv.exact.one_class.cycles import evenly_spaced_cycle

    def bad(l0: int, l1: int, k: int) -> str | None:
        cycle = evenly_spaced_cycle(system_of(l0, l1), k)
        verified = _run(cycle) is not None and cycle.period == l1 // k >= 2
        return None if verified else f"{named(cycle)}, k={k}: smallest period {cycle.period}"

    first = _first(bad(l0, l1, k) for l0, l1, k in _divisors() if with_all or k < l1)
    return holds_for(
        first,
        ours="limit cycles, of period l1/k"
        if first is None
        else "for k = l1 it is the fixed point; a limit cycle, of period l1/k, for k < l1",
        paper="a limit cycle, which has period at least 2",
        evidence=Evidence.SAMPLED if first is None else Evidence.EXACT,
    )


def _evenly_spaced_increases() -> Outcome:
    from fluidkv.exact.one_class.cycles import as_evenly_spaced_gaps, throughput

    def bad(l0: int, l1: int) -> str | None:
        system = system_of(l0, l1)
        divisors = [k for k in range(1, l1 + 1) if l1 % k == 0]
        found = [throughput(system, as_evenly_spaced_gaps(l1, k)) for k in divisors]
        rising = all(a < b for a, b in pairwise(found))
        return None if rising else f"l0={l0}, l1={l1}: {found}"

    return holds_for(
        _first(bad(l0, l1) for l1 in range(2, 61) for l0 in INPUTS),
        ours="strictly increasing over the divisors, k = 1 among them",
        paper="strictly increasing in k",
        evidence=Evidence.SAMPLED,
    )


# Proposition 8, Remark 1


@cache
def _extremes(l0: int, l1: int, m: int) -> "tuple[list[Cycle], list[Cycle]]":
    """All cycles with m live positions that attain the least and the most throughput."""
    cycles = [c for c, verified in cycles_of(l0, l1) if verified and c.live == m]
    low, high = (pick(c.throughput for c in cycles) for pick in (min, max))
    return [c for c in cycles if c.throughput == low], [c for c in cycles if c.throughput == high]


def _least() -> Outcome:
    def bad(l0: int, l1: int, m: int) -> str | None:
        worst, _ = _extremes(l0, l1, m)
        longest = l1 - m + 1
        squares = longest**2 + m - 1
        printed = worst[0].system.capacity / (l0 * l1 + Fraction(l1 * l1 + squares, 2))
        only = [c.gaps for c in worst] == [(longest,) + (1,) * (m - 1)]
        same = printed == worst[0].throughput == _contiguous_printed(worst[0].system, l1 - m)
        return None if only and same else f"{named(worst[0])}: one of {len(worst)}"

    return holds_for(
        _first(bad(l0, l1, m) for l0, l1 in systems() for m in range(1, l1 + 1)),
        ours="at the contiguous gap vector and, up to rotation, at no other",
        paper="minimised by (l1-m+1, 1, ..., 1), at c_{l1-m}",
        evidence=Evidence.SAMPLED,
    )


def _most() -> Outcome:
    def bad(l0: int, l1: int, m: int) -> str | None:
        _, best = _extremes(l0, l1, m)
        a, r = divmod(l1, m)
        squares = r * (a + 1) ** 2 + (m - r) * a * a
        printed = best[0].system.capacity / (l0 * l1 + Fraction(l1 * l1 + squares, 2))
        even = sorted([a + 1] * r + [a] * (m - r))
        every = [c.gaps for c, _ in cycles_of(l0, l1) if sorted(c.gaps) == even]
        same = printed == best[0].throughput and [c.gaps for c in best] == every
        return None if same else f"{named(best[0])}: one of {len(best)}"

    return holds_for(
        _first(bad(l0, l1, m) for l0, l1 in systems() for m in range(1, l1 + 1)),
        ours="at every order of r gaps a+1 and m-r gaps a, and nowhere else",
        paper="maximised by any as-evenly-spaced gap vector",
        evidence=Evidence.SAMPLED,
    )


def _bridge() -> Outcome:
    def bad(l0: int, l1: int, k: int) -> str | None:
        _, best = _extremes(l0, l1, k)
        d = l1 // k
        weights = sum(_weight(l0, q * d - 1) for q in range(1, k + 1))
        printed = best[0].system.capacity / (d * weights)
        return None if best[0].throughput == printed else f"{named(best[0])}"

    return holds_for(
        _first(bad(*case) for case in _divisors()),
        ours="equal",
        paper="equation (24)",
        evidence=Evidence.SAMPLED,
    )


def _several() -> Outcome:
    def bad(l0: int, l1: int, i: int) -> str | None:
        rates = [c.throughput for c, verified in cycles_of(l0, l1) if verified and c.level == i]
        several = 2 <= i <= l1 - 2
        right = len(set(rates)) > 1 if several else len(rates) == 1
        return None if right else f"l0={l0}, l1={l1}, level {i}: {len(rates)} cycles"

    return holds_for(
        _first(bad(l0, l1, i) for l0, l1 in systems() for i in range(l1)),
        ours="several throughputs at every level from 2 to l1 - 2, one cycle at each other level",
        paper="need not be unique; distinct throughputs",
        evidence=Evidence.SAMPLED,
        note="Never unique there, in the range: stronger than the remark.",
    )


# Example 7, Figure 1, the numbers for l1 = 4


def _share(cycle: "Cycle") -> Fraction:
    """Of the capacity completed an iteration; the run decides, not a formula."""
    found = _run(cycle)
    if found is None:
        raise ArithmeticError(f"{named(cycle)} does not close")
    return found / cycle.system.capacity


def _example_7_contiguous() -> Outcome:
    from fluidkv.exact.one_class.cycles import contiguous_cycle

    return equals(_share(contiguous_cycle(system_of(2, 10), 4)), "1/85")


def _example_7_even() -> Outcome:
    from fluidkv.exact.one_class.cycles import evenly_spaced_cycle

    return equals(_share(evenly_spaced_cycle(system_of(2, 10), 5)), "1/80")


def _example_7_order() -> Outcome:
    from fluidkv.exact.one_class.cycles import contiguous_cycle, evenly_spaced_cycle

    system = system_of(2, 10)
    lower, higher = contiguous_cycle(system, 4), evenly_spaced_cycle(system, 5)
    bad = None if _share(lower) < _share(higher) and lower.live == higher.live + 1 else "not so"
    heavy = 5 * _weight(2, 4)
    return holds_for(
        bad,
        ours=f"M/{1 / _share(lower)} < M/{1 / _share(higher)}",
        paper="M/85 < M/80",
        note=f"The text adds that 5 w_4 = {heavy} dominates the denominator. It is the largest "
        f"term, but less than half of {1 / _share(lower)}.",
    )


def _figure_1() -> "list[tuple[Fraction, Fraction, list[Fraction]]]":
    """By level: least, most and all throughputs, as shares of x*, for l0 = 2 and l1 = 12."""
    from fluidkv.exact.one_class.cycles import fixed_point
    from fluidkv.exact.one_class.equilibria import envelope

    system = system_of(2, 12)
    best = fixed_point(system).throughput
    rows: list[list[Fraction]] = [[] for _ in range(12)]
    for cycle, verified in cycles_of(2, 12):
        if not verified:
            raise ArithmeticError(f"{named(cycle)} does not close")
        rows[cycle.level].append(cycle.throughput / best)
    return [
        (point.lowest / best, point.highest / best, row)
        for point, row in zip(envelope(system), rows, strict=True)
    ]


def _figure_1_between() -> Outcome:
    rows = _figure_1()
    bad = _first(
        None if low <= min(row) and max(row) <= high else f"level {level}: outside"
        for level, (low, high, row) in enumerate(rows)
    )
    return holds_for(
        bad,
        ours=f"all {sum(len(row) for _, _, row in rows)} cycles lie between the curves",
        paper="all lie between these two curves",
    )


def _figure_1_ends() -> Outcome:
    rows = _figure_1()
    equal = [level for level, (low, high, _) in enumerate(rows) if low == high]
    return holds_for(
        None if {0, 11} <= set(equal) else f"equal at {equal}",
        ours=f"the curves coincide at the levels {', '.join(map(str, equal))}",
        paper="both coincide at level 0 and level l1-1",
        note="Also at level 1, which has only one cycle.",
    )


def _figure_1_gap() -> Outcome:
    low, high, _ = _figure_1()[8]
    return rounds_to(high - low, "0.16")


def _figure_1_peak() -> Outcome:
    widths = [high - low for low, high, _ in _figure_1()]
    peak = max(range(12), key=widths.__getitem__)
    return holds_for(
        None if peak == 8 else f"level {peak}: {float(widths[peak]):.4f} of x*",
        ours=f"widest at level {peak}, {float(widths[peak]):.4f} of x*; "
        f"at level 8 {float(widths[8]):.4f}",
        paper="reaching 16% of x* at level 8",
        note="The caption does not say that the gap is widest at level 8; read so, it fails.",
    )


def _l1_4(name: str) -> "Cycle":
    from fluidkv.exact.one_class import cycles
    from fluidkv.workload import RequestClass, System, Workload

    return getattr(cycles, name)(System(Workload((RequestClass(2, 4),)), 48))


def _l1_4_rate(name: str) -> Fraction:
    cycle = _l1_4(name)
    return _share(cycle) * cycle.system.capacity


def _l1_4_values() -> Outcome:
    values: list[Fraction | int] = []
    for name in ("opposite_cycle", "adjacent_cycle"):
        values += [_l1_4(name).period, _l1_4_rate(name)]
    return equals(values, "2, 12/5, 4, 16/7")


def _l1_4_best() -> Outcome:
    return equals(_l1_4_rate("fixed_point"), "8/3")


def _l1_4_shares() -> Outcome:
    names = ("opposite_cycle", "adjacent_cycle", "maximal_eviction_cycle")
    best = _l1_4_rate("fixed_point")
    return rounds_to([_l1_4_rate(name) / best for name in names], "0.90, 0.86, 0.75")


def _l1_4_unstable() -> Outcome:
    from fluidkv.exact.one_class.return_map import cycle_stability

    found = [
        cycle_stability(cycle.system, cycle.gaps)
        for cycle in (_l1_4("opposite_cycle"), _l1_4("adjacent_cycle"))
    ]
    growth = " and ".join(f"{f.growth[0]:.4f}" for f in found if f.growth)
    return holds_for(
        None if all(f.outside for f in found) else "no multiplier outside",
        ours=f"one multiplier each, outside: a factor {growth} an iteration",
        paper="both are unstable",
    )


def _proposition(
    id: str,
    statement: str,
    place: str,
    check: Callable[[], Outcome],
    *,
    checked: str = _SYSTEMS,
    expected: Verdict = Verdict.HOLDS,
) -> Claim:
    return congestion(
        f"proposition-{id}",
        statement,
        f"Proposition {place}",
        check,
        kind="proposition",
        checked=checked,
        expected=expected,
    )


_TWO = f"l0 = {', '.join(map(str, INPUTS))}, l1 = 2 ... {DECODES[-1]}"
_DIVISORS = f"{_TWO}, all divisors k >= 2"

CLAIMS = (
    _proposition(
        "5.adjacent-throughput",
        "The adjacent two-stage orbit closes, with throughput (20).",
        "5, equation (20)",
        _adjacent,
        checked=_TWO,
    ),
    _proposition(
        "5.opposite-throughput",
        "For even l1 = 2d the opposite two-stage orbit closes, with throughput (21).",
        "5, equation (21)",
        _opposite,
        checked=f"{_TWO}, even",
    ),
    _proposition(
        "5.limit-cycles-every-length",
        "For every l1 >= 2 the adjacent orbit is a limit cycle of period l1, and for even l1 = 2d "
        "the opposite one of period d.",
        "5 with Definition 2, as printed",
        lambda: _two_stage_periods(2),
        checked=_TWO,
        expected=Verdict.FAILS,
    ),
    _proposition(
        "5.limit-cycles",
        "For every l1 >= 3 the adjacent orbit is a limit cycle of period l1, and for even l1 = 2d "
        "the opposite one of period d.",
        "5 with Definition 2, from l1 = 3",
        lambda: _two_stage_periods(3),
        checked=f"l0 = {', '.join(map(str, INPUTS))}, l1 = 3 ... {DECODES[-1]}",
    ),
    _proposition(
        "6.throughput",
        "At every level the contiguous orbit closes, with throughput c_i of equation (22).",
        "6, equation (22)",
        _contiguous,
        checked=f"{_SYSTEMS}, all levels",
    ),
    _proposition(
        "6.ends",
        "c_0 is x* and c_{l1-1} the throughput of the maximal-eviction cycle.",
        "6",
        _contiguous_ends,
    ),
    _proposition(
        "6.contiguous-stages",
        "The occupied stages are a contiguous block of stage indices at every iteration.",
        "6 and Remark 1, as printed",
        lambda: _contiguity(_blocks, "one block"),
        checked=f"{_SYSTEMS}, levels 1 ... l1-1",
        expected=Verdict.FAILS,
    ),
    _proposition(
        "6.contiguous-cyclically",
        "The occupied stages are a contiguous block in cyclic order at every iteration.",
        "6, as its proof reads it",
        lambda: _contiguity(_cyclic_blocks, "one block, the last stage and stage 0 being next"),
        checked=f"{_SYSTEMS}, levels 1 ... l1-1",
    ),
    _proposition(
        "6.strictly-decreasing",
        "c_i decreases strictly with the level.",
        "6, equation (23)",
        _contiguous_decreases,
        checked=f"l0 = {', '.join(map(str, INPUTS))}, l1 = 2 ... 30",
    ),
    _proposition(
        "7.throughput",
        "For a divisor k of l1, k evenly spaced stages give an orbit that closes, with "
        "throughput (24).",
        "7, equation (24)",
        _evenly_spaced,
        checked=_DIVISORS,
    ),
    _proposition(
        "7.limit-cycle-every-divisor",
        "For every divisor k of l1, from 2 to l1, the evenly spaced orbit is a limit cycle.",
        "7 with Definition 2, as printed",
        lambda: _evenly_spaced_period(with_all=True),
        checked=_DIVISORS,
        expected=Verdict.FAILS,
    ),
    _proposition(
        "7.limit-cycle",
        "For every divisor k of l1, from 2 to below l1, the evenly spaced orbit is a limit cycle.",
        "7 with Definition 2, for k < l1",
        lambda: _evenly_spaced_period(with_all=False),
        checked=f"{_DIVISORS} below l1",
    ),
    _proposition(
        "7.increasing",
        "The throughput of evenly spaced cycles increases strictly with the number of occupied "
        "stages.",
        "7",
        _evenly_spaced_increases,
        checked=f"l0 = {', '.join(map(str, INPUTS))}, l1 = 2 ... 60",
    ),
    _proposition(
        "8.least",
        "With m live positions, throughput is least at the contiguous gap vector, up to rotation "
        "alone.",
        "8, lower endpoint",
        _least,
        checked=RANGE,
    ),
    _proposition(
        "8.most",
        "With m live positions, throughput is most at the as-evenly-spaced gap vectors, in any "
        "order of the gaps.",
        "8, upper endpoint",
        _most,
        checked=RANGE,
    ),
    _proposition(
        "8.evenly-spaced",
        "Where m divides l1, the upper endpoint is the throughput of Proposition 7.",
        "8, last sentence",
        _bridge,
        checked=_DIVISORS,
    ),
    congestion(
        "remark-1.not-unique",
        "For l1 >= 4 there can be several limit cycles, of distinct throughput, at a level i with "
        "2 <= i <= l1-2.",
        "Remark 1",
        _several,
        kind="remark",
        checked=RANGE,
    ),
    congestion(
        "figure-1.between",
        "For l0 = 2, l1 = 12 every balanced cycle lies between the contiguous and the "
        "as-evenly-spaced curve.",
        "Figure 1, caption",
        _figure_1_between,
        kind="figure",
        checked="all gap vectors, l0 = 2, l1 = 12",
    ),
    congestion(
        "figure-1.ends",
        "Both envelopes coincide at level 0 and at level l1-1.",
        "Figure 1, caption",
        _figure_1_ends,
        kind="figure",
    ),
    congestion(
        "figure-1.level-8",
        "The gap between the envelopes is 16% of x* at level 8.",
        "Figure 1, caption",
        _figure_1_gap,
        kind="figure",
    ),
    congestion(
        "figure-1.widest",
        "The gap between the envelopes is widest at level 8.",
        "Figure 1, caption, one reading",
        _figure_1_peak,
        kind="figure",
        expected=Verdict.FAILS,
    ),
    congestion(
        "appendix-a1.two-orbits.values",
        "For l0 = 2, l1 = 4, M = 48, the opposite orbit has period 2 and throughput 12/5, the "
        "adjacent one period 4 and throughput 16/7.",
        "Appendix A.1, cycle multiplicity",
        _l1_4_values,
    ),
    congestion(
        "appendix-a1.two-orbits.fixed-point",
        "x* is 8/3.",
        "Appendix A.1 and Figure 9, caption",
        _l1_4_best,
    ),
    congestion(
        "appendix-a1.two-orbits.shares",
        "They carry 90% and 86% of x*, and the maximal-eviction cycle 75%.",
        "Appendix A.1, cycle multiplicity",
        _l1_4_shares,
    ),
    congestion(
        "appendix-a1.two-orbits.unstable",
        "Both are unstable.",
        "Appendix A.1, cycle multiplicity",
        _l1_4_unstable,
    ),
    congestion(
        "example-7.contiguous",
        "For l0 = 2, l1 = 10 the contiguous cycle at level 4 completes M/85 an iteration.",
        "Example 7 (1)",
        _example_7_contiguous,
    ),
    congestion(
        "example-7.evenly-spaced",
        "For l0 = 2, l1 = 10 five evenly spaced stages complete M/80 an iteration.",
        "Example 7 (2)",
        _example_7_even,
    ),
    congestion(
        "example-7.order",
        "The cycle at level 4 carries less than the one at level 5, though it has one more "
        "occupied stage.",
        "Example 7",
        _example_7_order,
    ),
)
