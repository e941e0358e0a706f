"""Congestion, section A.4 and the proof of Lemma 1: where memory-time goes, and what must complete.

(27) and (40) to (42) are stated for limit cycles; the accounts and the windows are tried along
whole trajectories too, from every start of a small range (`_boundary_states`).
"""

from fractions import Fraction
from functools import cache
from itertools import accumulate, pairwise, product
from typing import TYPE_CHECKING

from fluidkv.ledger.claim import Outcome
from fluidkv.ledger.outcomes import sampled
from fluidkv.papers.congestion.claims.one_class._boundary_states import RANGE, Case, cases
from fluidkv.papers.congestion.paper import congestion

if TYPE_CHECKING:
    from fluidkv.workload import System

_DECODES, _INPUTS = range(1, 8), range(1, 4)
_CYCLES = f"all gap vectors, l0 = 1 ... {_INPUTS[-1]}, l1 = 1 ... {_DECODES[-1]}, M = 7(l0+l1)/3"
_WINDOWS = 24  # starts of windows along a trajectory; every start of the range is settled by 33
_LITERAL = 6  # iterations from each start that the literal model is run along


@cache
def _rounds() -> "tuple[tuple[str, System, Fraction, int, list[tuple[Fraction, ...]]], ...]":
    """(name, system, W, live positions, states of l1 iterations) of each balanced cycle.

    States are walked by the exact engine from the balanced block-end; that they come back is
    checked where they are used.
    """
    from fluidkv.exact.one_class.blocks import BlockEnd
    from fluidkv.exact.one_class.trajectory import projected_start, trajectory
    from fluidkv.workload import RequestClass, System, Workload

    rounds = []
    for l1 in _DECODES:
        for l0 in _INPUTS:
            system = System(Workload((RequestClass(l0, l1),)), Fraction(7 * (l0 + l1), 3))
            lifetime = Fraction(sum(l0 + 1 + j for j in range(l1)))
            for cuts in product((False, True), repeat=l1 - 1):
                ends = [0, *(i for i, cut in enumerate(cuts, start=1) if cut), l1]
                gaps = tuple(b - a for a, b in pairwise(ends))
                state = BlockEnd(0, gaps, tuple(map(Fraction, gaps))).state
                states = trajectory(system, projected_start(system, state), iterations=l1)
                rounds.append((f"l0={l0}, gaps {gaps}", system, lifetime, len(gaps), states))
    return tuple(rounds)


def _equation_27() -> Outcome:
    from fluidkv.exact.one_class.waste import waste

    bad = None
    for name, system, lifetime, _, states in _rounds():
        p = len(states) - 1
        account = waste(states, system)
        completed = sum(x[-1] for x in states[:-1])
        right = completed * lifetime + account.evicted
        if states[0] != states[-1] or p * system.capacity != right:
            bad = bad or name
    return sampled(bad, f"adds up on {len(_rounds())} balanced cycles", "p M = p T W + E")


def _eviction_costs() -> Outcome:
    from fluidkv.exact.one_class.waste import waste

    bad = None
    for name, system, lifetime, live, states in _rounds():
        throughput = sum(x[-1] for x in states[:-1]) / (len(states) - 1)
        evicts = waste(states, system).evicted_requests > 0
        below = throughput < system.capacity / lifetime
        if evicts != below or evicts != (live < len(states) - 1):
            bad = bad or name
    return sampled(bad, f"{len(_rounds())} balanced cycles", "T < x* with eviction")


def _adds_up() -> Outcome:
    """What was evicted comes from the literal model; read off the states, any two would add up."""
    from fluidkv.exact.mass import iterate
    from fluidkv.exact.one_class.waste import waste_by_iteration

    bad, rows = None, 0
    for case in cases():
        system, states = case.system(), case.states(_LITERAL)
        for n, row in enumerate(waste_by_iteration(states, system)):
            rows += 1
            step = iterate(system, [states[n]])
            *ages, lifetime = accumulate(
                range(case.l0 + 1, case.l0 + len(states[n]) + 1), initial=0
            )
            thrown = sum(a * x for a, x in zip(ages, step.evicted[0], strict=True))
            pairs = zip(ages, states[n], step.state[0], strict=True)
            grown = sum(a * (after - before) for a, before, after in pairs)
            adds_up = case.capacity == lifetime * step.completed[0] + thrown + grown
            if not adds_up or row.evicted != thrown or row.used != case.capacity:
                bad = bad or f"{case}, n={n}"
    return sampled(
        bad,
        f"every one of {rows} iterations from {len(cases())} starts",
        "p M = p T W + E",
        "Away from cycles the memory-time of what is in flight at the end, less that of what was "
        "in flight at the start, is added.",
    )


@cache
def _windows() -> "tuple[tuple[Case, int, Fraction, Fraction, Fraction, Fraction], ...]":
    """(start, n, y_n, N_n, m, completions of the l1 iterations from n on)."""
    found = []
    for case in cases():
        l1 = len(case.masses)
        states = case.states(_WINDOWS + l1)
        least = Fraction(case.capacity, case.l0 + l1)
        for n in range(_WINDOWS):
            done = sum((x[-1] for x in states[n : n + l1]), Fraction(0))
            found.append((case, n, states[n][-1], sum(states[n]), least, done))
    return tuple(found)


def _equation_40() -> Outcome:
    bad = next((f"{c}, n={n}" for c, n, _, _, m, done in _windows() if done < m), None)
    return sampled(bad, f"{len(_windows())} windows, on cycles and off", "at least m")


def _equation_41() -> Outcome:
    bad = next((f"{c}, n={n}" for c, n, _, total, m, _ in _windows() if total < m), None)
    return sampled(bad, f"{len(_windows())} states", "at least m")


def _equation_42() -> Outcome:
    tried = [w for w in _windows() if w[2] > 0 and w[3] > w[4]]
    bad = next((f"{c}, n={n}" for c, n, _, _, m, done in tried if done <= m), None)
    return sampled(bad, f"{len(tried)} windows", "more than m")


CLAIMS = (
    congestion(
        "equation-27.cycles",
        "Over a cycle, memory-time is that of completed and of evicted requests: p M = p T W + E.",
        "equation (27)",
        _equation_27,
        kind="equation",
        checked=_CYCLES,
    ),
    congestion(
        "equation-27.loss",
        "A limit cycle has less throughput than the fixed point exactly if it evicts.",
        "below equation (27)",
        _eviction_costs,
        kind="equation",
        checked=_CYCLES,
    ),
    congestion(
        "equation-27.trajectories",
        "The account adds up in every iteration of every trajectory.",
        "equation (27), beyond limit cycles",
        _adds_up,
        kind="equation",
        checked=f"{RANGE}, {_LITERAL} iterations",
    ),
    congestion(
        "equation-40",
        "At least M/(l0+l1) requests complete in any l1 consecutive iterations.",
        "equation (40), for all trajectories",
        _equation_40,
        kind="equation",
        checked=f"{RANGE}, {_WINDOWS} windows",
    ),
    congestion(
        "equation-41",
        "At least M/(l0+l1) requests are in flight on the memory boundary.",
        "equation (41)",
        _equation_41,
        kind="equation",
        checked=f"{RANGE}, {_WINDOWS} iterations",
    ),
    congestion(
        "equation-42",
        "More than that complete in a window that starts with a completion and more requests.",
        "equation (42), for all trajectories",
        _equation_42,
        kind="equation",
        checked=f"{RANGE}, {_WINDOWS} windows",
    ),
)
