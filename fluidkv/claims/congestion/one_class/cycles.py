"""Congestion, Definitions 1 and 2, Lemma 1, Theorem 2, equation (25): which equilibria there are.

Every cycle is built by `fluidkv.exact.one_class.cycles` and then run once round by the map itself,
in exact arithmetic; a formula is held against what the run completes. Throughput and stability do
not depend on the capacity but for scale, so one capacity a system stands for all.
"""

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING

from fluidkv.claims.claim import Outcome
from fluidkv.claims.congestion.paper import congestion
from fluidkv.claims.outcomes import holds_for
from fluidkv.verdict import Evidence

if TYPE_CHECKING:
    from fluidkv.exact.one_class.cycles import Cycle
    from fluidkv.workload import System

INPUTS = (1, 2, 5, 20)
DECODES = range(1, 10)  # 144 gap vectors up to rotation, for each input length
RANGE = f"all gap vectors, l0 = {', '.join(map(str, INPUTS))}, l1 = 1 ... {DECODES[-1]}"


def system_of(l0: int, l1: int) -> "System":
    """One class; any capacity above l0 + l1 would do."""
    from fluidkv.workload import RequestClass, System, Workload

    return System(Workload((RequestClass(l0, l1),)), Fraction(7 * (l0 + l1), 3))


@cache
def cycles_of(l0: int, l1: int) -> "tuple[tuple[Cycle, bool], ...]":
    """Each balanced cycle, and whether the map, run once round, does what the record says."""
    from fluidkv.exact.one_class.cycles import balanced_cycle
    from fluidkv.exact.one_class.cycles_verified import verify_cycle
    from fluidkv.exact.one_class.gaps import gap_vectors

    system = system_of(l0, l1)
    cycles = (balanced_cycle(system, gaps) for gaps in gap_vectors(l1))
    return tuple((cycle, verify_cycle(system, cycle)) for cycle in cycles)


def named(cycle: "Cycle") -> str:
    """For witnesses: "l0=2, gaps (2, 1)"."""
    return f"l0={cycle.system.workload.classes[0].input_length}, gaps {cycle.gaps}"


def systems() -> Iterator[tuple[int, int]]:
    """(l0, l1) of the range, shortest decode lengths first."""
    return ((l0, l1) for l1 in DECODES for l0 in INPUTS)


def _cases() -> Iterator[tuple[int, int, "Cycle", bool]]:
    for l0, l1 in systems():
        for cycle, verified in cycles_of(l0, l1):
            yield l0, l1, cycle, verified


def _count() -> int:
    return sum(1 for _ in _cases())


def _fixed_point() -> Outcome:
    from fluidkv.exact.mass import iterate

    bad = None
    for _, l1, cycle, verified in _cases():
        fixed = verified and cycle.period == 1
        evicts = fixed and any(iterate(cycle.system, [cycle.states[0]]).evicted[0])
        if evicts or fixed != (cycle.gaps == (1,) * l1):
            bad = f"{named(cycle)}: period {cycle.period}"
            break
    return holds_for(
        bad,
        ours=f"of {_count()} cycles, those with no empty stage, and they evict nothing",
        paper="a steady regime with no eviction",
        evidence=Evidence.SAMPLED,
    )


def _periods() -> Outcome:
    bad = None
    for _, l1, cycle, verified in _cases():
        rotations = sum(
            cycle.gaps[h:] + cycle.gaps[:h] == cycle.gaps for h in range(len(cycle.gaps))
        )
        if not verified or cycle.period * rotations != l1:
            bad = f"{named(cycle)}: period {cycle.period}"
            break
    return holds_for(
        bad,
        ours="l1 over the number of rotations that keep the gaps",
        paper="p is the smallest positive integer for which the orbit closes",
        evidence=Evidence.SAMPLED,
        note="The paper gives no formula for p; by Definition 2 a period divides l1.",
    )


def _formula() -> Outcome:
    bad = None
    for l0, l1, cycle, verified in _cases():
        squares = sum(g * g for g in cycle.gaps)
        printed = cycle.system.capacity / (l0 * l1 + Fraction(l1 * l1 + squares, 2))
        completed = sum((state[-1] for state in cycle.states), Fraction(0)) / cycle.period
        if not verified or completed != printed:
            bad = f"{named(cycle)}: {completed} for {printed}"
            break
    return holds_for(
        bad,
        ours=f"closes, with this throughput, for {_count()} systems and gap vectors"
        if bad is None
        else "not for all gap vectors",
        paper="M / (l0 l1 + (l1^2 + sum of g_h^2) / 2)",
        evidence=Evidence.SAMPLED,
    )


def _no_other() -> Outcome:
    from fluidkv.exact.one_class.return_map import multiplier_polynomial
    from fluidkv.exact.roots.polynomial import count_outside_and_on

    bad = None
    for _, _, cycle, _ in _cases():
        polynomial = multiplier_polynomial(cycle.system, cycle.gaps)
        if count_outside_and_on(polynomial)[1] > 0:
            bad = f"{named(cycle)}: a multiplier on the unit circle"
            break
    return holds_for(
        bad,
        ours="no return map has a multiplier on the unit circle",
        paper="a periodic orbit with a fixed relative support is balanced",
        evidence=Evidence.SAMPLED,
        note="By Lemma A.3 every periodic orbit has a fixed relative support, and with it the "
        "linear map (16). A second orbit with the same gaps, of whatever period, would be an "
        "eigenvector to a root of unity. Decided in integers for each gap vector.",
    )


def _minimum() -> Outcome:
    bad = None
    for l0, l1, cycle, verified in _cases():
        worst = cycle.system.capacity / (l1 * (l0 + l1))
        found, maximal = cycle.throughput, len(cycle.gaps) == 1
        if not verified or found < worst or (found == worst) != maximal:
            bad = f"{named(cycle)}: {found} against {worst}"
            break
    return holds_for(
        bad,
        ours=f"attained by the gap vector (l1) alone, of {_count()} systems and gap vectors"
        if bad is None
        else "not the minimum",
        paper="least throughput of all limit cycles, attained by no other",
        evidence=Evidence.SAMPLED,
        note="These are all limit cycles (congestion.lemma-1.every-limit-cycle-is-balanced).",
    )


def _existence() -> Outcome:
    bad = None
    for l0, l1 in systems():
        if l1 < 2:
            continue
        levels = {c.level for c, verified in cycles_of(l0, l1) if verified and c.period > 1}
        fixed = any(c.level == 0 and c.period == 1 for c, verified in cycles_of(l0, l1) if verified)
        if not fixed or levels != set(range(1, l1)):
            bad = f"l0={l0}, l1={l1}: limit cycles at levels {sorted(levels)}"
            break
    return holds_for(
        bad,
        ours="a fixed point, and a limit cycle at each level from 1 to l1 - 1",
        paper="a fixed point, one at level l1 - 1, and for l1 >= 3 intermediate ones",
        evidence=Evidence.SAMPLED,
    )


def _fixed_point_is_unstable() -> Outcome:
    from fluidkv.exact.one_class.return_map import multiplier_polynomial
    from fluidkv.exact.roots.polynomial import count_outside_and_on

    bad = None
    for l0, l1 in systems():
        polynomial = multiplier_polynomial(system_of(l0, l1), (1,) * l1)
        outside, _ = count_outside_and_on(polynomial)
        if l1 > 1 and outside != l1 - 1:
            bad = f"l0={l0}, l1={l1}: {outside} of {l1 - 1} outside"
            break
    return holds_for(
        bad,
        ours="all l1 - 1 roots of F lie outside the unit circle",
        paper="not stable",
        evidence=Evidence.SAMPLED,
        note="F has coefficients l0+1 < l0+2 < ... < l0+l1 from the highest power down, so this "
        "is so for every l0 and l1 (Eneström-Kakeya). In integers for the range.",
    )


def _intermediate_are_unstable() -> Outcome:
    from fluidkv.exact.one_class.return_map import multiplier_polynomial
    from fluidkv.exact.roots.polynomial import count_outside_and_on

    bad, checked = None, 0
    for l0, l1, cycle, _ in _cases():
        if not 1 <= cycle.level <= l1 - 2:
            continue
        checked += 1
        polynomial = multiplier_polynomial(cycle.system, cycle.gaps)
        outside, _ = count_outside_and_on(polynomial)
        # Once round the circuit the multipliers have this product; its modulus is above 1.
        once = Fraction(int(polynomial.coeffs()[0]), int(polynomial.coeffs()[-1]))
        expansion = Fraction(1)
        for g in cycle.gaps:
            expansion *= Fraction(l0 + l1, l0 + g)
        if outside != cycle.live - 1 or not abs(once) ** (l1 // cycle.period) == expansion > 1:
            bad = f"{named(cycle)}: {outside} of {cycle.live - 1} outside"
            break
    return holds_for(
        bad,
        ours=f"all m - 1 multipliers outside the unit circle, for {checked} cycles",
        paper="not stable",
        evidence=Evidence.SAMPLED,
        note="For every l0 and l1 at least one is outside: the determinant of (16) makes their "
        "product once round the product of (l0+l1)/(l0+g_h), above 1 unless a gap is l1.",
    )


CLAIMS = (
    congestion(
        "definition-1.no-eviction",
        "A fixed point is a steady regime without eviction.",
        "Definition 1 and the sentence after it",
        _fixed_point,
        kind="definition",
        checked=RANGE,
    ),
    congestion(
        "definition-2.period",
        "Every balanced orbit has a smallest period, by which throughput is averaged.",
        "Definition 2",
        _periods,
        kind="definition",
        checked=RANGE,
    ),
    congestion(
        "lemma-1.every-limit-cycle-is-balanced",
        "There is no limit cycle besides the balanced ones.",
        "proof of Proposition 8; Lemma 1 for all limit cycles rests on it here",
        _no_other,
        kind="lemma",
        checked=f"{RANGE}; orbits of every period",
    ),
    congestion(
        "lemma-1.minimum",
        "No cycle has a lower throughput than M/(l1(l0+l1)), and only the maximal-eviction cycle "
        "has this one.",
        "Lemma 1",
        _minimum,
        kind="lemma",
        checked=RANGE,
    ),
    congestion(
        "theorem-2.existence",
        "There are a fixed point, a maximal-eviction limit cycle at level l1-1 and, for l1 >= 3, "
        "limit cycles at intermediate levels.",
        "Theorem 2, first sentence",
        _existence,
        kind="theorem",
        checked=f"l0 = {', '.join(map(str, INPUTS))}, l1 = 2 ... {DECODES[-1]}",
    ),
    congestion(
        "theorem-2.fixed-point-is-linearly-unstable",
        "The eviction-free fixed point is not stable.",
        "Theorem 2 (1)",
        _fixed_point_is_unstable,
        kind="theorem",
        checked=f"linearised; l0 = {', '.join(map(str, INPUTS))}, l1 = 2 ... {DECODES[-1]}",
    ),
    congestion(
        "theorem-2.intermediate-cycles-are-linearly-unstable",
        "Limit cycles at the eviction levels 1 ... l1-2 are not stable.",
        "Theorem 2 (2)",
        _intermediate_are_unstable,
        kind="theorem",
        checked=f"linearised return map; {RANGE}",
    ),
    congestion(
        "proposition-8.throughput",
        "Every gap vector gives an orbit that closes, with the throughput of equation (25).",
        "Proposition 8, equation (25)",
        _formula,
        kind="proposition",
        checked=RANGE,
    ),
)
