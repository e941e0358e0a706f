"""Congestion, Theorem 2 and Corollary A.11: which equilibria attract, and which starts they miss.

Everything is run with the exact map. A start is followed until it is, exactly, on a balanced
cycle; none of the statements is used to decide when to stop.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations, islice, pairwise

from fluidkv import exact, fluid
from fluidkv.exact.mass import memory_used
from fluidkv.exact.one_class.capture import states_before, verify_capture
from fluidkv.exact.one_class.cycles import State, balanced_cycle, fixed_point
from fluidkv.exact.one_class.trajectory import is_settled, states_from
from fluidkv.ledger import Evidence, Finding, Origin, Range, Seen
from fluidkv.verdict import Stability
from fluidkv.workload import System
from fluidkv_papers.congestion.instances.one_class import grid, intermediate_gaps, system_of, weight
from fluidkv_papers.congestion.paper import statements

CLAIMS = statements()
THEOREM_2 = CLAIMS.section("theorem-2", "Appendix A.1, after Lemma A.10", origin=Origin.READING)

_INPUTS = range(1, 4)
_HORIZON = 2000  # ten times what the slowest start of these grids takes


def settles(system: System, start: Sequence[Fraction]) -> tuple[int, State] | tuple[None, None]:
    """First n with X^n exactly on a balanced cycle, and X^n; None within the horizon."""
    for n, state in enumerate(islice(states_from(system, start), _HORIZON + 1)):
        if is_settled(system, state):
            return n, state
    return None, None


def _live(state: Sequence[Fraction]) -> int:
    return sum(x > 0 for x in state)


# --- what there is --------------------------------------------------------------------------------


def _loses_support(system: System, state: State, size: Fraction) -> bool:
    """Whether a start on the same face, off by `size` of its memory, ends with fewer stages."""
    l0 = system.workload.classes[0].input_length
    occupied = [j for j, x in enumerate(state) if x > 0]
    first, last = occupied[0], occupied[-1]
    start = list(state)
    moved = size * start[last] * weight(l0, last)
    start[last] -= moved / weight(l0, last)
    start[first] += moved / weight(l0, first)
    _, end = settles(system, start)
    return end is not None and _live(end) < len(occupied)


_LEFT = "multipliers outside the unit circle, and starts 10^-9 away that lose support, for {count} "


@CLAIMS.claim(
    "theorem-2.2",
    "Theorem 2 (2)",
    "The limit cycles of the levels 1 to l1 - 2 are not stable.",
    over=Range(
        "all gap vectors, l0 = 1 ... 3, l1 = 3 ... 5",
        lambda: ((l0, g) for l1 in range(3, 6) for l0 in _INPUTS for g in intermediate_gaps(l1)),
    ),
    ours=_LEFT + "cycles",
    paper="not stable",
    note="For every l0 and every gap vector: by Proposition A.4 the multipliers of a turn have the "
    "product of (l0+l1)/(l0+g_h) > 1. Read for balanced cycles, which are all there are.",
)
@CLAIMS.claim(
    "theorem-2.1",
    "Theorem 2 (1)",
    "The eviction-free fixed point is not stable.",
    over=Range(
        "l0 = 1 ... 3, l1 = 2 ... 5",
        lambda: ((l0, (1,) * l1) for l1 in range(2, 6) for l0 in _INPUTS),
    ),
    ours=_LEFT + "cycles",
    paper="not stable",
    note="For every l0 and l1 >= 2: the multipliers have the product beta = (l0+l1)/(l0+1) > 1, so "
    "one is outside; as the weights increase, all are (Eneström and Kakeya).",
)
def _is_left(l0: int, gaps: tuple[int, ...]) -> bool | str:
    """Multipliers, and Definition 3 itself: starts as near as 10^-9 that move away, exactly.

    Away is half of the way from the cycle to anything with another level: the live set shrinks.
    """
    system = system_of(l0, sum(gaps))
    found = exact.cycle_stability(system, gaps)
    state = balanced_cycle(system, gaps).states[0]
    left = all(_loses_support(system, state, Fraction(1, 10**k)) for k in (3, 9))
    unstable = bool(found.outside) and found.verdict is Stability.UNSTABLE
    return (unstable and left) or f"l0={l0}, gaps {gaps}: {found.verdict}, leaves: {left}"


# --- (3): the basin -------------------------------------------------------------------------------

# Decode length -> parts of memory that stages hold: all ways of dealing them out are started from.
_GRIDS = {2: 24, 3: 12, 4: 8, 5: 5}


def _grid(system: System, parts: int) -> Iterator[State]:
    """All states whose stages hold whole numbers of `parts` parts of memory; every face has some,
    and exact ties are frequent."""
    only = system.workload.classes[0]
    l0, l1 = only.input_length, only.decode_length
    for cuts in combinations(range(parts + l1 - 1), l1 - 1):
        held = [b - a - 1 for a, b in pairwise((-1, *cuts, parts + l1 - 1))]
        yield tuple(system.capacity * k / (parts * weight(l0, j)) for j, k in enumerate(held))


@cache
def _ends() -> tuple[tuple[int, int, State, State | None], ...]:
    """(l0, l1, start, the first state on a cycle) over the grids."""
    return tuple(
        (l0, l1, start, settles(system_of(l0, l1), start)[1])
        for l1, parts in _GRIDS.items()
        for l0 in _INPUTS
        for start in _grid(system_of(l0, l1), parts)
    )


@CLAIMS.claim(
    "theorem-2.3.basin",
    "Theorem 2 (3), Theorem A.1",
    over=_ends,
    checked="l0 = 1 ... 3; memory dealt out in "
    + ", ".join(f"{parts} parts (l1 = {l1})" for l1, parts in _GRIDS.items()),
    ours=lambda seen: (
        f"of {{count}} starts {sum(seen)} reach the maximal-eviction cycle and "
        f"{len(seen) - sum(seen)} land exactly on another balanced cycle"
    ),
)
def _basin(l0: int, l1: int, start: State, end: State | None) -> bool | Seen:
    """Every start on the memory boundary reaches the maximal-eviction cycle unless a nonmaximal
    balanced orbit captures it exactly.

    Note: Both ends are reached in finitely many iterations. Starts on all faces, with exact ties.
    With l1 = 1 the one state is the fixed point and the maximal-eviction cycle at once; the theorem
    asks for l1 >= 2."""
    return end is not None and Seen(_live(end) == 1)


@CLAIMS.claim(
    "corollary-a-11.unique",
    "Corollary A.11",
    over=lambda: (
        (2, gaps) for l1 in range(2, 8) for gaps in ((1,) * l1, (l1,), *intermediate_gaps(l1))
    ),
)
def _unique(l0: int, gaps: tuple[int, ...]) -> bool:
    """Of the balanced cycles the maximal-eviction cycle alone is stable.

    Checked: all gap vectors, l0 = 2, l1 = 2 ... 7
    Ours: the only stable one of {count} cycles
    Paper: asymptotically stable; the fixed point and all intermediate cycles unstable
    Note: Read with Definition 3: by linear stability, for a map that is linear near the cycle.
    `congestion.lemma-a-10` has the neighbourhood."""
    found = exact.cycle_stability(system_of(l0, sum(gaps)), gaps)
    return (found.outside == found.on_circle == 0) == (len(gaps) == 1)


# --- the exceptional set --------------------------------------------------------------------------


@CLAIMS.claim("theorem-2.exceptional-set.example", "Appendix A.1, after Lemma A.10", kind="example")
def _printed_start() -> Finding:
    """A start that the level-1 cycle captures exactly, in one iteration.

    Checked: l0 = 2, l1 = 3, M = 24
    Ours: 24 tokens; next state and cycle as printed
    Paper: 24 tokens; (0, 48/13, 24/13), on the level-1 balanced cycle"""
    system = system_of(2, 3, 24)
    start = (Fraction(48, 13), Fraction(24, 13), Fraction(72, 65))
    cycle = [
        (Fraction(0), Fraction(48, 13), Fraction(24, 13)),
        (Fraction(24, 13), Fraction(0), Fraction(48, 13)),
        (Fraction(72, 13), Fraction(24, 13), Fraction(0)),
    ]
    path = [start, *cycle, cycle[0]]
    walked = all(tuple(exact.iterate(system, [x]).state[0]) == y for x, y in pairwise(path))
    on_boundary = memory_used(system, [start]) == 24
    ours = exact.captured_start(
        system, cycle[0], iterations=1, shares=lambda n: [1] + [0] * (n - 1)
    )
    others = len(states_before(system, cycle[0]))
    holds = on_boundary and walked and ours.start == start and verify_capture(ours)
    return Finding(
        None if holds else "the printed start does not do so",
        note=f"It is one of the {others} ends of a segment of such starts: the states before "
        "(0, 48/13, 24/13) are (48/13 + t, 24/13, (72 - 39 t)/65), 0 <= t <= 24/13, and t = 24/13 "
        "is on the cycle itself. The start executes to exactly full memory.",
    )


@THEOREM_2.claim(
    "exceptional-set.every-intermediate-cycle",
    over=lambda: (
        (gaps, iterations)
        for l1 in range(3, 7)
        for gaps in intermediate_gaps(l1)
        for iterations in (1, 4)
    ),
    kind="example",
)
def _every_cycle_captures(gaps: tuple[int, ...], iterations: int) -> bool:
    """Every intermediate balanced cycle captures starts that are not on it.

    Checked: all gap vectors, l0 = 2, l1 = 3 ... 6
    Ours: {count} starts, off the cycle, that land on it after exactly 1 or 4 iterations
    Paper: the exceptional set is not empty
    Note: Every intermediate cycle has a state with stage 0 empty, and the states before it form a
    simplex of which the cycle holds one point."""
    system = system_of(2, sum(gaps))
    target = next(x for x in balanced_cycle(system, gaps).states if x[0] == 0)
    return verify_capture(exact.captured_start(system, target, iterations=iterations))


@CLAIMS.claim(
    "theorem-2.exceptional-set.fixed-point",
    "Theorem 2, definition of the exceptional set",
    over=grid(_INPUTS, range(2, 9)),
    origin=Origin.READING,
)
def _captures_nothing(l0: int, l1: int) -> bool:
    """The fixed point captures no start but itself.

    Ours: the one state before the fixed point is itself
    Paper: captured exactly: the trajectory lies on the fixed point after a finite time
    Note: Capture by the fixed point is being on it. For l1 = 2, where there is no intermediate
    cycle, the exceptional set is that one point. The argument needs no sample: stage 0 has mass, so
    nothing was evicted, and the eviction-free map is one-to-one."""
    system = system_of(l0, l1)
    (state,) = fixed_point(system).states
    return states_before(system, state) == (state,)


@THEOREM_2.claim("exceptional-set.in-floats", "(ours)", evidence=Evidence.FLOAT, kind="example")
def _lost_to_rounding() -> Finding:
    """Starts that are captured exactly can be lost to rounding, and end at maximal eviction.

    Checked: l0 = 2, l1 = 5, M = 100; every intermediate cycle
    Paper: (nothing is said about floats)
    Note: Exact arithmetic keeps them all on their cycles. Rounding may also hold a trajectory on an
    unstable cycle for ever, such as the printed start of Appendix A.1: what floats do there proves
    nothing, and depends on the machine."""
    system = system_of(2, 5, 100)
    captures = [
        exact.captured_start(system, target, iterations=iterations)
        for gaps in intermediate_gaps(5)
        for target in balanced_cycle(system, gaps).states
        if target[0] == 0
        for iterations in (1, 2, 5)
    ]
    exactly = all(map(verify_capture, captures))
    starts = [[float(x) for x in capture.start] for capture in captures]
    collapsed = fluid.event_log(system, starts, iterations=2000).reached[:, -1].values
    lost = collapsed[collapsed >= 0]
    return Finding(
        None if exactly and lost.size else "all of them stay, or are not captured exactly",
        f"of {len(starts)} starts {lost.size} end at maximal eviction, between iterations "
        f"{lost.min(initial=2000)} and {lost.max(initial=0)}",
    )


# --- what it costs --------------------------------------------------------------------------------


@CLAIMS.claim(
    "theorem-2.loss-approaches-half",
    "sections 1 and 3.2",
    over=grid((1, 2, 10, 100), range(1, 2000)),
)
def _half(l0: int, l1: int) -> bool:
    """The loss of throughput approaches one half as decode lengths grow.

    Ours: 1/2 - loss = (l0+1)/(2(l0+l1)), which falls to 0 as l1 grows
    Paper: losses approach 50 % when decode lengths are large relative to input lengths
    Note: The abstract has losses that can be as large as 50 %: that is the supremum. No system
    attains it, since (l0+1)/(2(l0+l1)) > 0."""
    best = sum(weight(l0, j) for j in range(l1))  # M / x*
    worst = l1 * weight(l0, l1 - 1)  # M over the throughput of the maximal-eviction cycle
    return Fraction(1, 2) - (1 - Fraction(best, worst)) == Fraction(l0 + 1, 2 * (l0 + l1))
