"""Congestion, section A.4 and the proof of Lemma 1: where memory-time goes, and what must complete.

(27) and (40) to (42) are stated for limit cycles; the accounts and the windows are tried along
whole trajectories too, from every start of a small range (`boundary_states`).
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from itertools import accumulate

from fluidkv import exact
from fluidkv.exact.one_class.blocks import BlockEnd
from fluidkv.exact.one_class.cycles import State
from fluidkv.exact.one_class.trajectory import projected_start
from fluidkv.exact.one_class.waste import waste_by_iteration
from fluidkv.ledger import Origin, Range
from fluidkv_papers.congestion.instances.boundary_states import STARTS, Case, cases
from fluidkv_papers.congestion.instances.one_class import compositions, system_of, weight
from fluidkv_papers.congestion.paper import statements

CLAIMS = statements()

# --- equation (27) --------------------------------------------------------------------------------

_DECODES, _INPUTS = range(1, 8), range(1, 4)
_CYCLES = Range(
    f"all gap vectors, l0 = 1 ... {_INPUTS[-1]}, l1 = 1 ... {_DECODES[-1]}, M = 7(l0+l1)/3",
    lambda: ((l0, gaps) for l1 in _DECODES for l0 in _INPUTS for gaps in compositions(l1)),
    name=lambda l0, gaps: f"l0={l0}, gaps {gaps}",
)


@cache
def _round(l0: int, gaps: tuple[int, ...]) -> tuple[list[State], Fraction, Fraction]:
    """l1 iterations of a balanced cycle, their completions, and W.

    States are walked by the exact engine from the balanced block-end; that they come back is
    checked where they are used.
    """
    l1 = sum(gaps)
    system = system_of(l0, l1)
    first = BlockEnd(0, gaps, tuple(map(Fraction, gaps))).state
    states = exact.trajectory(system, projected_start(system, first), iterations=l1)
    completed = sum((x[-1] for x in states[:-1]), Fraction(0))
    return states, completed, Fraction(sum(weight(l0, j) for j in range(l1)))


@CLAIMS.claim("equation-27.cycles", "equation (27)", over=_CYCLES)
def _equation_27(l0: int, gaps: tuple[int, ...]) -> bool:
    """Over a cycle, memory-time is that of completed and of evicted requests: p M = p T W + E."""
    system = system_of(l0, sum(gaps))
    states, completed, lifetime = _round(l0, gaps)
    right = completed * lifetime + exact.waste(states, system).evicted
    return states[0] == states[-1] and sum(gaps) * system.capacity == right


@CLAIMS.claim("equation-27.loss", "below equation (27)", over=_CYCLES)
def _eviction_costs(l0: int, gaps: tuple[int, ...]) -> bool:
    """A limit cycle has less throughput than the fixed point exactly if it evicts."""
    system = system_of(l0, sum(gaps))
    states, completed, lifetime = _round(l0, gaps)
    evicts = exact.waste(states, system).evicted_requests > 0
    below = completed / sum(gaps) < system.capacity / lifetime
    return evicts == below == (max(gaps) > 1)


_LITERAL = 6  # iterations from each start that the literal model is run along


@CLAIMS.claim(
    "equation-27.trajectories",
    "equation (27), beyond limit cycles",
    over=replace(STARTS, words=f"{STARTS.words}, {_LITERAL} iterations"),
    origin=Origin.READING,
    ours=f"each of {_LITERAL} iterations from {{count}} starts",
)
def _adds_up(case: Case) -> bool | str:
    """The account adds up in every iteration of every trajectory.

    Note: Away from cycles the memory-time of what is in flight at the end, less that of what was in
    flight at the start, is added."""
    # What was evicted comes from the literal model; read off the states, any two would add up.
    system, states = case.system(), case.states(_LITERAL)
    l1 = len(case.masses)
    *ages, lifetime = accumulate((weight(case.l0, j) for j in range(l1)), initial=0)
    for n, row in enumerate(waste_by_iteration(states, system)):
        step = exact.iterate(system, [states[n]])
        thrown = sum(a * x for a, x in zip(ages, step.evicted[0], strict=True))
        pairs = zip(ages, states[n], step.state[0], strict=True)
        grown = sum(a * (after - before) for a, before, after in pairs)
        adds_up = case.capacity == lifetime * step.completed[0] + thrown + grown
        if not adds_up or row.evicted != thrown or row.used != case.capacity:
            return f"{case}, n={n}"
    return True


# --- equations (40) to (42) -----------------------------------------------------------------------

_STARTED = 24  # windows along a trajectory; every start of the range is settled by 33


@dataclass(frozen=True)
class _Window:
    """l1 iterations from X^n on: y_n, N_n, m and what completes, requests."""

    case: Case
    n: int
    last_stage: Fraction
    in_flight: Fraction
    least: Fraction
    done: Fraction

    def __str__(self) -> str:
        return f"{self.case}, n={self.n}"


@cache
def _windows() -> tuple[_Window, ...]:
    found = []
    for case in cases():
        l1 = len(case.masses)
        states = case.states(_STARTED + l1)
        least = Fraction(case.capacity, case.l0 + l1)
        for n in range(_STARTED):
            done = sum((x[-1] for x in states[n : n + l1]), Fraction(0))
            total = sum(states[n], Fraction(0))
            found.append(_Window(case, n, states[n][-1], total, least, done))
    return tuple(found)


_WINDOWS = Range(f"{STARTS.words}, {_STARTED} windows", _windows)


@CLAIMS.claim("equation-40", "equation (40), for all trajectories", over=_WINDOWS)
def _equation_40(window: _Window) -> bool:
    """At least M/(l0+l1) requests complete in any l1 consecutive iterations."""
    return window.done >= window.least


@CLAIMS.claim("equation-41", "equation (41)", over=_WINDOWS)
def _equation_41(window: _Window) -> bool:
    """At least M/(l0+l1) requests are in flight on the memory boundary, and that many exactly if
    all are in the last stage."""
    fewest = window.in_flight == window.least
    all_last = window.in_flight == window.last_stage
    return window.in_flight >= window.least and fewest == all_last


CLAIMS.claim(
    "equation-42",
    "equation (42), for all trajectories",
    "More than that complete in a window that starts with a completion and more requests.",
    over=_WINDOWS.where(
        "that start with a completion and more than m",
        lambda window: window.last_stage > 0 and window.in_flight > window.least,
    ),
)(lambda window: window.done > window.least)
