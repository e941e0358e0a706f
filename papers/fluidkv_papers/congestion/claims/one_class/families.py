"""Congestion, Propositions 5 to 7 and equation (26): two stages, contiguous stages, even spacing.

Every cycle is run once round by the map in exact arithmetic.
"""

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise

from fluidkv import exact
from fluidkv.exact.mass import memory_used
from fluidkv.exact.one_class.cycles import (
    Cycle,
    State,
    adjacent_cycle,
    as_evenly_spaced_gaps,
    contiguous_cycle,
    evenly_spaced_cycle,
    fixed_point,
    maximal_eviction_cycle,
    opposite_cycle,
    throughput,
)
from fluidkv.exact.one_class.cycles_verified import verify_cycle
from fluidkv.ledger import Origin, Range
from fluidkv_papers.congestion.instances.one_class import (
    INPUTS,
    grid,
    lengths,
    named,
    system_of,
    weight,
)
from fluidkv_papers.congestion.paper import statements

CLAIMS = statements()

_TWO = lengths(2)
_DIVISORS = Range(
    f"{_TWO.words}, all divisors k >= 2",
    lambda: ((l0, l1, k) for l0, l1 in _TWO.cases() for k in range(2, l1 + 1) if l1 % k == 0),
)
_LEVELS = Range(
    f"{lengths().words}, all levels",
    lambda: ((l0, l1, i) for l0, l1 in lengths().cases() for i in range(l1)),
)
_WITH_EVICTION = Range(
    f"{lengths().words}, levels 1 ... l1-1",
    lambda: ((l0, l1, i) for l0, l1, i in _LEVELS.cases() if i),
)


def completions(cycle: Cycle) -> Fraction | None:
    """Per iteration of a cycle that the map confirms; None if it does not."""
    if not verify_cycle(cycle.system, cycle):
        return None
    return sum((state[-1] for state in cycle.states), Fraction(0)) / cycle.period


def contiguous_rate(l0: int, l1: int, i: int, capacity: Fraction) -> Fraction:
    """Equation (22)."""
    above = sum(weight(l0, j) for j in range(i + 1, l1))
    return capacity / ((i + 1) * weight(l0, i) + above)


def even_rate(l0: int, l1: int, k: int, capacity: Fraction) -> Fraction:
    """Equation (24)."""
    d = l1 // k
    return capacity / (d * sum(weight(l0, q * d - 1) for q in range(1, k + 1)))


def _completes(cycle: Cycle, printed: Fraction) -> bool | str:
    found = completions(cycle)
    return found == printed or f"{named(cycle)}: {found} for {printed}"


def _occupied(state: State) -> list[int]:
    return [j for j, x in enumerate(state) if x > 0]


# --- Proposition 5 --------------------------------------------------------------------------------


@CLAIMS.claim("proposition-5.adjacent-throughput", "Proposition 5, equation (20)", over=_TWO)
def _adjacent(l0: int, l1: int) -> bool | str:
    """The adjacent two-stage orbit closes, with throughput (20).

    Paper: M / (w_{l1-1}^2 - w_0 w_{l1-2})"""
    system, last = system_of(l0, l1), weight(l0, l1 - 1)
    printed = system.capacity / (last**2 - weight(l0, 0) * weight(l0, l1 - 2))
    return _completes(adjacent_cycle(system), printed)


@CLAIMS.claim(
    "proposition-5.opposite-throughput",
    "Proposition 5, equation (21)",
    over=_TWO.where("even", lambda l0, l1: l1 % 2 == 0),
)
def _opposite(l0: int, l1: int) -> bool | str:
    """For even l1 = 2d the opposite two-stage orbit closes, with throughput (21).

    Paper: M / (d (w_{d-1} + w_{l1-1}))"""
    system, d = system_of(l0, l1), l1 // 2
    printed = system.capacity / (d * (weight(l0, d - 1) + weight(l0, l1 - 1)))
    return _completes(opposite_cycle(system), printed)


_TWO_STAGES = (
    "limit cycles, which have period at least 2: adjacent of period l1, opposite of period d"
)


@CLAIMS.claim(
    "proposition-5.limit-cycles",
    "Proposition 5 with Definition 2, from l1 = 3",
    "For every l1 >= 3 the adjacent orbit is a limit cycle of period l1, and for even l1 = 2d the "
    "opposite one of period d.",
    over=lengths(3),
    paper=_TWO_STAGES,
)
@CLAIMS.fails(
    "proposition-5.limit-cycles-every-length",
    "Proposition 5 with Definition 2, as printed",
    "For every l1 >= 2 the adjacent orbit is a limit cycle of period l1, and for even l1 = 2d the "
    "opposite one of period d.",
    over=_TWO,
    ours="for l1 = 2 both are the fixed point, of period 1; limit cycles from l1 = 3 on",
    paper=_TWO_STAGES,
    holds="proposition-5.limit-cycles",
)
def _two_stage_periods(l0: int, l1: int) -> bool | str:
    system = system_of(l0, l1)
    found = [(adjacent_cycle(system), l1)]
    if l1 % 2 == 0:
        found.append((opposite_cycle(system), l1 // 2))
    for cycle, printed in found:
        if completions(cycle) is None or cycle.period != printed or cycle.period < 2:
            return f"{named(cycle)}: smallest period {cycle.period}"
    return True


# --- Proposition 6 --------------------------------------------------------------------------------


@CLAIMS.claim("proposition-6.throughput", "Proposition 6, equation (22)", over=_LEVELS)
def _contiguous(l0: int, l1: int, i: int) -> bool | str:
    """At every level the contiguous orbit closes, with throughput c_i of equation (22).

    Paper: M / ((i+1) w_i + sum of w_j for j > i)"""
    system = system_of(l0, l1)
    cycle = contiguous_cycle(system, i)
    if cycle.level != i:
        return f"{named(cycle)}: level {cycle.level}"
    return _completes(cycle, contiguous_rate(l0, l1, i, system.capacity))


@CLAIMS.claim("equation-26", "equation (26), proof of Proposition 6", over=_WITH_EVICTION)
def _printed_orbit(l0: int, l1: int, i: int) -> bool | str:
    """The states X_r of the proof, with a_r of equation (26) ahead of k - 1 stages of b = c_i for r
    < i and (i+1) b ahead of them from then on, fill memory and follow one another.

    Ours: an orbit of the literal model, {count} systems and levels
    Paper: w_r a_r + b sum of w_j = M; X_r goes to X_{r+1}, the last to X_0"""
    system, k = system_of(l0, l1), l1 - i
    b = contiguous_rate(l0, l1, i, system.capacity)
    states = []
    for r in range(l1):
        behind = [(r + s) % l1 for s in range(1, k)]
        held = b * sum(weight(l0, j) for j in behind)
        lead = (system.capacity - held) / weight(l0, r) if r < i else (i + 1) * b
        states.append([lead if j == r else b if j in behind else Fraction(0) for j in range(l1)])
    for state, following in pairwise([*states, states[0]]):
        full = memory_used(system, [state]) == system.capacity
        if not full or exact.iterate(system, [state]).state != [following]:
            return f"l0={l0}, l1={l1}, level {i}: from {', '.join(map(str, state))}"
    return True


@CLAIMS.claim("proposition-6.ends", "Proposition 6", over=lengths())
def _contiguous_ends(l0: int, l1: int) -> bool:
    """c_0 is x* and c_{l1-1} the throughput of the maximal-eviction cycle.

    Paper: c_0 = x*, c_{l1-1} = M / (l1 w_{l1-1})"""
    system = system_of(l0, l1)
    first, last = contiguous_cycle(system, 0), contiguous_cycle(system, l1 - 1)
    best = 2 * system.capacity / (l1 * (2 * l0 + l1 + 1))
    worst = system.capacity / (l1 * (l0 + l1))
    same = first == fixed_point(system) and last == maximal_eviction_cycle(system)
    return same and (completions(first), completions(last)) == (best, worst)


def _in_blocks(blocks: Callable[[State], int], l0: int, l1: int, i: int) -> bool | str:
    cycle = contiguous_cycle(system_of(l0, l1), i)
    bad = next((state for state in cycle.states if blocks(state) != 1), None)
    return bad is None or f"{named(cycle)}: occupied stages {_occupied(bad)}"


def _blocks(state: State) -> int:
    """Contiguous blocks of occupied stages, in stage order."""
    return sum(x > 0 and (j == 0 or state[j - 1] == 0) for j, x in enumerate(state))


_ONE_BLOCK = "a contiguous block at every iteration"
ONE_BLOCK = CLAIMS.section(over=_WITH_EVICTION, paper=_ONE_BLOCK)


@ONE_BLOCK.fails(
    "proposition-6.contiguous-stages",
    "Proposition 6 and Remark 1, read as stage indices",
    origin=Origin.READING,
)
def _contiguous_stages(l0: int, l1: int, i: int) -> bool | str:
    """The occupied stages are a contiguous block of stage indices at every iteration.

    Ours: not while the block passes from the last stage to 0
    Note: The proof says what holds: in cyclic order.
    Holds: proposition-6.contiguous-cyclically"""
    return _in_blocks(_blocks, l0, l1, i)


@ONE_BLOCK.claim("proposition-6.contiguous-cyclically", "Proposition 6, as its proof reads it")
def _contiguous_cyclically(l0: int, l1: int, i: int) -> bool | str:
    """The occupied stages are a contiguous block in cyclic order at every iteration."""

    def joined(state: State) -> int:
        return _blocks(state) - (state[0] > 0 and state[-1] > 0 and not all(state))

    return _in_blocks(joined, l0, l1, i)


@CLAIMS.claim(
    "proposition-6.strictly-decreasing",
    "Proposition 6, equation (23)",
    over=lambda: ((l0, l1, i) for l1 in range(2, 31) for l0 in INPUTS for i in range(l1 - 1)),
    checked=f"l0 = {', '.join(map(str, INPUTS))}, l1 = 2 ... 30",
)
def _contiguous_decreases(l0: int, l1: int, i: int) -> bool:
    """c_i decreases strictly with the level.

    Ours: strictly decreasing; the denominators grow by i + 1"""
    system = system_of(l0, l1)
    here, above = (contiguous_rate(l0, l1, level, system.capacity) for level in (i, i + 1))
    # The proof's own step: the denominators differ by i + 1.
    return here > above and system.capacity / above - system.capacity / here == i + 1


# --- Proposition 7 --------------------------------------------------------------------------------


@CLAIMS.claim("proposition-7.throughput", "Proposition 7, equation (24)", over=_DIVISORS)
def _evenly_spaced(l0: int, l1: int, k: int) -> bool | str:
    """For a divisor k of l1, k evenly spaced stages give an orbit that closes, with throughput
    (24).

    Paper: M / (d sum of w_{qd-1}, q = 1 ... k)"""
    system = system_of(l0, l1)
    cycle = evenly_spaced_cycle(system, k)
    for stages in map(_occupied, cycle.states):
        if stages != list(range(stages[0], l1, l1 // k)) or len(stages) != k:
            return f"{named(cycle)}: occupied stages {stages}"
    return _completes(cycle, even_rate(l0, l1, k, system.capacity))


@CLAIMS.claim(
    "proposition-7.limit-cycle",
    "Proposition 7 with Definition 2, for k < l1",
    "For every divisor k of l1, from 2 to below l1, the evenly spaced orbit is a limit cycle.",
    over=_DIVISORS.where("below l1", lambda l0, l1, k: k < l1),
    paper="a limit cycle, which has period at least 2",
)
@CLAIMS.fails(
    "proposition-7.limit-cycle-every-divisor",
    "Proposition 7 with Definition 2, for k = l1 too",
    "For every divisor k of l1, from 2 to l1, the evenly spaced orbit is a limit cycle.",
    over=_DIVISORS,
    origin=Origin.READING,
    ours="for k = l1 it is the fixed point; a limit cycle, of period l1/k, for k < l1",
    paper="an eviction-level-(l1-k) limit cycle",
    note="Section 3.2 calls a periodic orbit with i empty stages an eviction-level-i limit cycle, "
    "which the fixed point is at level 0; Definition 2 asks for a period of at least 2.",
    holds="proposition-7.limit-cycle",
)
def _evenly_spaced_period(l0: int, l1: int, k: int) -> bool | str:
    cycle = evenly_spaced_cycle(system_of(l0, l1), k)
    limit = completions(cycle) is not None and cycle.period == l1 // k >= 2
    return limit or f"{named(cycle)}, k={k}: smallest period {cycle.period}"


@CLAIMS.claim("proposition-7.increasing", "Proposition 7", over=grid(INPUTS, range(2, 61)))
def _evenly_spaced_increases(l0: int, l1: int) -> bool | str:
    """The throughput of evenly spaced cycles increases strictly with the number of occupied stages.

    Ours: strictly increasing over the divisors, k = 1 among them"""
    system = system_of(l0, l1)
    divisors = [k for k in range(1, l1 + 1) if l1 % k == 0]
    found = [throughput(system, as_evenly_spaced_gaps(l1, k)) for k in divisors]
    return all(a < b for a, b in pairwise(found)) or f"l0={l0}, l1={l1}: {found}"
