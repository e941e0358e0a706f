"""Congestion, Theorem 2 and Corollary A.11: which equilibria attract, and which starts they miss.

Everything is run with the exact map. A start is followed until it is, exactly, on a balanced
cycle; none of the statements is used to decide when to stop.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations, islice, pairwise
from typing import TYPE_CHECKING

from fluidkv.ledger.claim import Outcome
from fluidkv.ledger.outcomes import holds_for
from fluidkv.papers.congestion.paper import congestion
from fluidkv.verdict import Evidence, Stability

if TYPE_CHECKING:
    from fluidkv.exact.one_class.cycles import State
    from fluidkv.workload import System

_INPUTS = range(1, 4)
# Decode length -> parts of memory that stages hold: all ways of dealing them out are started from.
_GRIDS = {2: 24, 3: 12, 4: 8, 5: 5}
_HORIZON = 2000  # ten times what the slowest start of these grids takes


def one_class(l0: int, l1: int, capacity: Fraction | int | None = None) -> "System":
    """Capacity 7 (l0 + l1) unless given: masses are proportional to it."""
    from fluidkv.workload import RequestClass, System, Workload

    return System(Workload((RequestClass(l0, l1),)), Fraction(capacity or 7 * (l0 + l1)))


def intermediate_gaps(l1: int) -> Iterator[tuple[int, ...]]:
    """Gap vectors, up to rotation, of the eviction levels 1 ... l1 - 2."""
    from fluidkv.exact.one_class.gaps import canonical_gaps

    for live in range(2, l1):
        for cuts in combinations(range(1, l1), live - 1):
            gaps = tuple(b - a for a, b in pairwise((0, *cuts, l1)))
            if gaps == canonical_gaps(gaps):
                yield gaps


def settles(system: "System", start: "Sequence[Fraction]") -> "tuple[int, State] | None":
    """First n with X^n exactly on a balanced cycle, and X^n; None within the horizon."""
    from fluidkv.exact.one_class.trajectory import is_settled, states_from

    for n, state in enumerate(islice(states_from(system, start), _HORIZON + 1)):
        if is_settled(system, state):
            return n, state
    return None


def _live(state: "Sequence[Fraction]") -> int:
    return sum(x > 0 for x in state)


# --- What there is ------------------------------------------------------------------------------


def _not_stable(cases: Sequence[tuple[int, tuple[int, ...]]], paper: str, note: str) -> Outcome:
    """Multipliers, and Definition 3 itself: starts as near as 10^-9 that move away, exactly.

    Away is half of the way from the cycle to anything with another level: the live set shrinks.
    """
    from fluidkv.exact.one_class.cycles import balanced_cycle
    from fluidkv.exact.one_class.return_map import cycle_stability

    bad = None
    for l0, gaps in cases:
        system = one_class(l0, sum(gaps))
        found = cycle_stability(system, gaps)
        unstable = found.verdict is Stability.UNSTABLE and found.expansion > 1
        state = balanced_cycle(system, gaps).states[0]
        left = all(_loses_support(system, state, Fraction(1, 10**k)) for k in (3, 9))
        if not (unstable and left):
            bad = bad or f"l0={l0}, gaps {gaps}: {found.verdict}, leaves: {left}"
    return holds_for(
        bad,
        ours=f"multipliers outside the unit circle, and starts 10^-9 away that lose support, for "
        f"{len(cases)} cycles",
        paper=paper,
        evidence=Evidence.SAMPLED,
        note=note,
    )


def _loses_support(system: "System", state: "State", size: Fraction) -> bool:
    """Whether a start on the same face, off by `size` of its memory, ends with fewer stages."""
    weights = [system.workload.classes[0].input_length + 1 + j for j in range(len(state))]
    occupied = [j for j, x in enumerate(state) if x > 0]
    first, last = occupied[0], occupied[-1]
    start = list(state)
    moved = size * start[last] * weights[last]
    start[last] -= moved / weights[last]
    start[first] += moved / weights[first]
    end = settles(system, start)
    return end is not None and _live(end[1]) < len(occupied)


def _fixed_point() -> Outcome:
    cases = [(l0, (1,) * l1) for l1 in range(2, 6) for l0 in _INPUTS]
    return _not_stable(
        cases,
        "not stable",
        "For every l0 and l1 >= 2: the multipliers have the product beta = (l0+l1)/(l0+1) > 1, "
        "so one is outside; as the weights increase, all are (Eneström and Kakeya).",
    )


def _intermediate() -> Outcome:
    cases = [(l0, gaps) for l1 in range(3, 6) for l0 in _INPUTS for gaps in intermediate_gaps(l1)]
    return _not_stable(
        cases,
        "not stable",
        "For every l0 and every gap vector: by Proposition A.4 the multipliers of a turn have the "
        "product of (l0+l1)/(l0+g_h) > 1. Read for balanced cycles, which are all there are.",
    )


# --- (3): the basin -----------------------------------------------------------------------------


def _grid(system: "System", parts: int) -> "Iterator[State]":
    """All states whose stages hold whole numbers of `parts` parts of memory; every face has some,
    and exact ties are frequent."""
    only = system.workload.classes[0]
    l1 = only.decode_length
    for cuts in combinations(range(parts + l1 - 1), l1 - 1):
        held = [b - a - 1 for a, b in pairwise((-1, *cuts, parts + l1 - 1))]
        yield tuple(
            system.capacity * k / (parts * (only.input_length + 1 + j)) for j, k in enumerate(held)
        )


@cache
def _ends() -> "tuple[tuple[int, int, State, int, State], ...]":
    """(l0, l1, start, n, X^n) over the grids; n = -1 where it did not settle."""
    found = []
    for l1, parts in _GRIDS.items():
        for l0 in _INPUTS:
            system = one_class(l0, l1)
            for start in _grid(system, parts):
                n, state = settles(system, start) or (-1, start)
                found.append((l0, l1, start, n, state))
    return tuple(found)


def _basin() -> Outcome:
    ends = _ends()
    lost = [(l0, l1, start) for l0, l1, start, n, _ in ends if n < 0]
    captured = Counter(_live(state) > 1 for _, _, _, n, state in ends if n >= 0)
    return holds_for(
        f"l0={lost[0][0]}, l1={lost[0][1]}, start {lost[0][2]}: no end" if lost else None,
        ours=f"of {len(ends)} starts {captured[False]} reach the maximal-eviction cycle and "
        f"{captured[True]} land exactly on another balanced cycle",
        paper="all but those captured exactly by a nonmaximal balanced orbit",
        evidence=Evidence.SAMPLED,
        note="Both ends are reached in finitely many iterations. Starts on all faces, with exact "
        "ties. With l1 = 1 the one state is the fixed point and the maximal-eviction cycle at "
        "once; the theorem asks for l1 >= 2.",
    )


def _unique() -> Outcome:
    from fluidkv.exact.one_class.return_map import cycle_stability

    bad, cycles = None, 0
    for l1 in range(2, 8):
        for gaps in ((1,) * l1, (l1,), *intermediate_gaps(l1)):
            cycles += 1
            stable = cycle_stability(one_class(2, l1), gaps).verdict is Stability.STABLE
            if stable != (gaps == (l1,)):
                bad = bad or f"gaps {gaps}"
    return holds_for(
        bad,
        ours=f"the only stable one of {cycles} cycles",
        paper="asymptotically stable; the fixed point and all intermediate cycles unstable",
        evidence=Evidence.SAMPLED,
        note="Read with Definition 3: by linear stability, for a map that is linear near the "
        "cycle. `congestion.lemma-a-10` has the neighbourhood.",
    )


# --- The exceptional set ------------------------------------------------------------------------


def _example() -> Outcome:
    from fluidkv.exact.mass import iterate, memory_used
    from fluidkv.exact.one_class.capture import captured_start, states_before, verify_capture

    system = one_class(2, 3, 24)
    start = (Fraction(48, 13), Fraction(24, 13), Fraction(72, 65))
    cycle = [
        (Fraction(0), Fraction(48, 13), Fraction(24, 13)),
        (Fraction(24, 13), Fraction(0), Fraction(48, 13)),
        (Fraction(72, 13), Fraction(24, 13), Fraction(0)),
    ]
    path = [start, *cycle, cycle[0]]
    walked = all(tuple(iterate(system, [x]).state[0]) == y for x, y in pairwise(path))
    on_boundary = memory_used(system, [start]) == 24
    ours = captured_start(system, cycle[0], iterations=1, shares=lambda n: [1] + [0] * (n - 1))
    others = len(states_before(system, cycle[0]))
    holds = on_boundary and walked and ours.start == start and verify_capture(ours)
    return holds_for(
        None if holds else "the printed start does not do so",
        ours="24 tokens; next state and cycle as printed",
        paper="24 tokens; (0, 48/13, 24/13), on the level-1 balanced cycle",
        evidence=Evidence.EXACT,
        note=f"It is one of the {others} ends of a segment of such starts: the states before "
        "(0, 48/13, 24/13) are (48/13 + t, 24/13, (72 - 39 t)/65), 0 <= t <= 24/13, and t = 24/13 "
        "is on the cycle itself. The start executes to exactly full memory.",
    )


def _other_systems() -> Outcome:
    from fluidkv.exact.one_class.capture import captured_start, verify_capture
    from fluidkv.exact.one_class.cycles import balanced_cycle

    bad, captures = None, 0
    for l1 in range(3, 7):
        for gaps in intermediate_gaps(l1):
            system = one_class(2, l1)
            target = next(x for x in balanced_cycle(system, gaps).states if x[0] == 0)
            for iterations in (1, 4):
                captures += 1
                if not verify_capture(captured_start(system, target, iterations=iterations)):
                    bad = bad or f"gaps {gaps}, {iterations} iterations"
    return holds_for(
        bad,
        ours=f"{captures} starts, off the cycle, that land on it after exactly 1 or 4 iterations",
        paper="the exceptional set is not empty",
        evidence=Evidence.SAMPLED,
        note="Every intermediate cycle has a state with stage 0 empty, and the states before it "
        "form a simplex of which the cycle holds one point.",
    )


def _fixed_point_captures_nothing() -> Outcome:
    from fluidkv.exact.one_class.capture import states_before
    from fluidkv.exact.one_class.cycles import fixed_point

    bad = None
    for l1 in range(2, 9):
        for l0 in _INPUTS:
            system = one_class(l0, l1)
            (state,) = fixed_point(system).states
            if states_before(system, state) != (state,):
                bad = bad or f"l0={l0}, l1={l1}"
    return holds_for(
        bad,
        ours="the one state before the fixed point is itself",
        paper="captured exactly: the trajectory lies on the fixed point after a finite time",
        evidence=Evidence.SAMPLED,
        note="Capture by the fixed point is being on it. For l1 = 2, where there is no "
        "intermediate cycle, the exceptional set is that one point. The argument needs no sample: "
        "stage 0 has mass, so nothing was evicted, and the eviction-free map is one-to-one.",
    )


def _lost_to_rounding() -> Outcome:
    from fluidkv.exact.one_class.capture import captured_start, verify_capture
    from fluidkv.exact.one_class.cycles import balanced_cycle
    from fluidkv.fluid.one_class.events import event_log

    system = one_class(2, 5, 100)
    captures = [
        captured_start(system, target, iterations=iterations)
        for gaps in intermediate_gaps(5)
        for target in balanced_cycle(system, gaps).states
        if target[0] == 0
        for iterations in (1, 2, 5)
    ]
    exact = all(verify_capture(capture) for capture in captures)
    starts = [[float(x) for x in capture.start] for capture in captures]
    collapsed = event_log(system, starts, iterations=2000).reached[:, -1].values
    lost = collapsed[collapsed >= 0]
    return holds_for(
        None if exact and lost.size else "all of them stay, or are not captured exactly",
        ours=f"of {len(starts)} starts {lost.size} end at maximal eviction, between iterations "
        f"{lost.min(initial=2000)} and {lost.max(initial=0)}",
        paper="(nothing is said about floats)",
        evidence=Evidence.FLOAT,
        note="Exact arithmetic keeps them all on their cycles. Rounding may also hold a trajectory "
        "on an unstable cycle for ever, such as the printed start of Appendix A.1: what floats do "
        "there proves nothing, and depends on the machine.",
    )


# --- What it costs ------------------------------------------------------------------------------


def _half() -> Outcome:
    bad = None
    for l0 in (1, 2, 10, 100):
        losses = [1 - Fraction(2 * l0 + l1 + 1, 2 * (l0 + l1)) for l1 in range(1, 2000)]
        rises = all(a < b for a, b in pairwise(losses))
        # loss = (l1 - 1) / (2 (l0 + l1)), so that 1/2 - loss = (l0 + 1) / (2 (l0 + l1)).
        gaps = all(
            Fraction(1, 2) - x == Fraction(l0 + 1, 2 * (l0 + l1))
            for l1, x in enumerate(losses, start=1)
        )
        if not (rises and gaps):
            bad = bad or f"l0={l0}"
    return holds_for(
        bad,
        ours="1/2 - loss = (l0+1)/(2(l0+l1)), which falls to 0 as l1 grows",
        paper="losses approach 50 % when decode lengths are large relative to input lengths",
        evidence=Evidence.SAMPLED,
        note="The abstract has losses that can be as large as 50 %: that is the supremum. No "
        "system attains it, since (l0+1)/(2(l0+l1)) > 0.",
    )


_GRID_RANGE = "l0 = 1 ... 3; memory dealt out in " + ", ".join(
    f"{parts} parts (l1 = {l1})" for l1, parts in _GRIDS.items()
)

CLAIMS = (
    congestion(
        "theorem-2.1",
        "The eviction-free fixed point is not stable.",
        "Theorem 2 (1)",
        _fixed_point,
        kind="theorem",
        checked="l0 = 1 ... 3, l1 = 2 ... 5",
    ),
    congestion(
        "theorem-2.2",
        "The limit cycles of the levels 1 to l1 - 2 are not stable.",
        "Theorem 2 (2)",
        _intermediate,
        kind="theorem",
        checked="all gap vectors, l0 = 1 ... 3, l1 = 3 ... 5",
    ),
    congestion(
        "theorem-2.3.basin",
        "Every start on the memory boundary reaches the maximal-eviction cycle unless a "
        "nonmaximal balanced orbit captures it exactly.",
        "Theorem 2 (3), Theorem A.1",
        _basin,
        kind="theorem",
        checked=_GRID_RANGE,
    ),
    congestion(
        "theorem-2.exceptional-set.example",
        "A start that the level-1 cycle captures exactly, in one iteration.",
        "Appendix A.1, after Lemma A.10",
        _example,
        kind="example",
        checked="l0 = 2, l1 = 3, M = 24",
    ),
    congestion(
        "theorem-2.exceptional-set.every-intermediate-cycle",
        "Every intermediate balanced cycle captures starts that are not on it.",
        "Appendix A.1, after Lemma A.10",
        _other_systems,
        kind="example",
        checked="all gap vectors, l0 = 2, l1 = 3 ... 6",
    ),
    congestion(
        "theorem-2.exceptional-set.fixed-point",
        "The fixed point captures no start but itself.",
        "Theorem 2, definition of the exceptional set",
        _fixed_point_captures_nothing,
        kind="theorem",
        checked="l0 = 1 ... 3, l1 = 2 ... 8",
    ),
    congestion(
        "theorem-2.exceptional-set.in-floats",
        "Starts that are captured exactly can be lost to rounding, and end at maximal eviction.",
        "Appendix A.1, after Lemma A.10 (ours)",
        _lost_to_rounding,
        kind="example",
        checked="l0 = 2, l1 = 5, M = 100; every intermediate cycle",
    ),
    congestion(
        "corollary-a-11.unique",
        "Of the balanced cycles the maximal-eviction cycle alone is stable.",
        "Corollary A.11",
        _unique,
        kind="corollary",
        checked="all gap vectors, l0 = 2, l1 = 2 ... 7",
    ),
    congestion(
        "theorem-2.loss-approaches-half",
        "The loss of throughput approaches one half as decode lengths grow.",
        "sections 1 and 3.2",
        _half,
        kind="theorem",
        checked="l0 = 1, 2, 10, 100; l1 = 1 ... 1,999",
    ),
)
