"""Congestion, Example 6, Figure 7, and the words "eviction block" and "block-end"."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache

from fluidkv import exact
from fluidkv.exact.mass import Step
from fluidkv.exact.one_class.collapse import Cascade
from fluidkv.ledger import Finding, Origin, equals
from fluidkv_papers.congestion.claims.one_class.examples import vector
from fluidkv_papers.congestion.instances.boundary_states import STARTS, Case, fallen
from fluidkv_papers.congestion.instances.one_class import system_of
from fluidkv_papers.congestion.paper import statements

CLAIMS = statements()
READING = CLAIMS.section(origin=Origin.READING)

# --- Example 6 ------------------------------------------------------------------------------------

_SYSTEM = system_of(2, 4, 63)
_ORBIT = ("17, 3, 0, 0", "0, 12, 3, 0", "0, 0, 9, 3", "3, 0, 0, 9")


@cache
def _orbit() -> tuple[list[Step], Cascade]:
    """The literal steps of one round, and the analysis of two."""
    states = [vector(_ORBIT[0])]
    steps = []
    for _ in range(8):
        steps.append(exact.iterate(_SYSTEM, [states[-1]]))
        states.append(steps[-1].state[0])
    return steps[:4], exact.cascade(states, _SYSTEM)


def _state(n: int) -> list[Fraction]:
    return [Fraction(x) for x in _orbit()[1].states[n]]


def _after(printed: str) -> list[Fraction]:
    """One literal iteration."""
    return exact.iterate(_SYSTEM, [vector(printed)]).state[0]


def _evicted(n: int) -> list[Fraction]:
    """By stage, in the transition n -> n + 1."""
    return _orbit()[0][n].evicted[0]


def _at_end(n: int) -> list[Fraction]:
    """Gaps, masses, normalized masses and spread at a block-end."""
    found = _orbit()[1]
    masses = [x for x in found.states[n] if x]
    values = [*found.gaps[n], *masses, *found.normalized[n], found.block_spreads[n]]
    return [Fraction(x) for x in values]


def _live_stages(n: int) -> list[int]:
    return [j for j, x in enumerate(_state(n)) if x]


# Place, statement, printed numbers, ours.
_PRINTED: tuple[tuple[str, str, str, Callable[[], Sequence[Fraction | int]]], ...] = (
    *(
        (
            f"n-{n}.state",
            f"X^{n} of the orbit, after the printed state before it, is ({printed}).",
            printed,
            lambda n=n: _after(_ORBIT[n - 1]),
        )
        for n, printed in enumerate(_ORBIT)
    ),
    ("closes", "After four iterations the orbit is back.", _ORBIT[0], lambda: _state(4)),
    (
        "n-0.evicts",
        "From n = 0 to 1, 5 requests are evicted, from the most recent stage alone.",
        "0, 5, 0, 0",
        lambda: _evicted(0),
    ),
    (
        "n-1.evicts",
        "From n = 1 to 2, 3 requests are evicted, from the most recent stage alone.",
        "0, 0, 3, 0",
        lambda: _evicted(1),
    ),
    (
        "n-0.completes",
        "No completions occur from n = 0 to 2.",
        "0, 0",
        lambda: [step.completed[0] for step in _orbit()[0][:2]],
    ),
    (
        "eviction-block",
        "The iterations from n = 0 to 2 are the eviction block, those from 2 to 4 are not.",
        "1, 2",
        lambda: list(_orbit()[1].eviction_blocks[0]),
    ),
    (
        "block-ends",
        "The block-ends of a round are n = 2 and n = 3.",
        "2, 3",
        lambda: [n for n in _orbit()[1].block_ends if n < 4],
    ),
    ("n-2.stages", "At n = 2 stages 2 and 3 are live.", "2, 3", lambda: _live_stages(2)),
    (
        "n-2.block-end",
        "At n = 2 gaps are (3, 1), masses (9, 3), normalized (3, 3), spread 0.",
        "3, 1, 9, 3, 3, 3, 0",
        lambda: _at_end(2),
    ),
    ("n-3.stages", "At n = 3 stages 0 and 3 are live.", "0, 3", lambda: _live_stages(3)),
    (
        "n-3.block-end",
        "At n = 3 gaps are (1, 3), masses (3, 9), normalized (3, 3), spread 0.",
        "1, 3, 3, 9, 3, 3, 0",
        lambda: _at_end(3),
    ),
)

for _place, _statement, _numbers, _ours in _PRINTED:
    CLAIMS.claim(f"example-6.{_place}", "Example 6", _statement)(
        lambda ours=_ours, printed=_numbers: equals(ours(), printed)
    )


# --- eviction blocks ------------------------------------------------------------------------------


@CLAIMS.claim(
    "definition.eviction-block.fixed-support", "Appendix A.1, eviction blocks", over=STARTS
)
def _evicts_or_completes(case: Case) -> bool | str:
    """While the live set, of at least two, lasts, an iteration evicts exactly if no live position
    completes.

    Paper: pure-evict iterations between completions"""
    found = fallen(case)
    evicting = {e.iteration for e in found.evictions}
    losing = {s.iteration for s in found.support_losses}
    for n, live in zip(found.iterations[1:], found.live[1:], strict=True):
        lasts = len(live) > 1 and n not in losing
        if lasts and (n in evicting) == (found.states[n - 1][-1] > 0):
            return f"{case}, n={n}"
    return True


@READING.fails(
    "definition.eviction-block.two-phases", "Appendix A.1, eviction blocks, for all iterations"
)
def _two_phases() -> Finding:
    """Every iteration either evicts and completes nothing, or completes and admits.

    Checked: Example 3
    Paper: two phases: evictions without completions, completions with admissions
    Note: The two phases are those of a fixed support; a support loss is mostly in neither.
    Holds: definition.eviction-block.fixed-support"""
    # Example 3, n = 7, its first eviction: requests complete, and nothing is admitted.
    start = (Fraction(5, 2), Fraction(2), Fraction(17, 10))
    states = exact.trajectory(system_of(2, 3, 24), start, iterations=7)
    completed, admitted = states[6][-1], states[7][0]
    return Finding(
        completed == 0 or admitted > 0 or "Example 3, n=7",
        f"at n=7 {completed} requests complete, {admitted} are admitted, some are evicted",
    )


# --- block-ends -----------------------------------------------------------------------------------


@READING.fails(
    "definition.block-end.same-pattern",
    "Appendix A.1, eviction blocks and block-ends, read as occupied stages",
)
def _same_pattern() -> Finding:
    """At a block-end the same stages are live as at the block-end before.

    Checked: Example 6
    Paper: returns to the same configuration it had at the previous block-end
    Note: What returns is the gap vector, rotated by one; the stages return after m blocks.
    Holds: definition.block-end.same-pattern-after-m"""
    before, after = (_live_stages(n) for n in (2, 3))
    same = before == after
    return Finding(
        None if same else f"Example 6: live stages {before} at n=2, {after} at n=3",
        "the pattern rotates" if not same else "the same",
    )


@READING.claim(
    "definition.block-end.same-pattern-after-m",
    "Appendix A.1, eviction blocks and block-ends, the reading that holds",
    over=STARTS,
)
def _same_after_m_blocks(case: Case) -> bool | str:
    """As long as the live set lasts, the same stages are live m block-ends later.

    Paper: the same configuration"""
    found = fallen(case)
    for i, n in enumerate(found.block_ends):
        m = len(found.gaps[n])
        later = found.block_ends[i + m] if i + m < len(found.block_ends) else n
        if found.live[n] == found.live[later] and found.gaps[n] != found.gaps[later]:
            return f"{case}, n={n}"
    return True


@READING.fails(
    "definition.block-end.after-evictions",
    "Appendix A.1, block-ends, and Figure 7, caption, with a block of one iteration or more",
    kind="definition",
)
def _after_evictions() -> Finding:
    """Every block-end follows an iteration that evicts.

    Checked: Example 6
    Paper: the first iteration after the eviction block in which a live position completes
    Note: The reading that the rest of the appendix uses, and that holds: a block-end is every state
    with a live position in the last stage. Where gaps are 1 the block is empty. The same goes for
    Figure 7, whose caption has block-ends "immediately after the eviction block settles"."""
    # Which block-ends of Example 6 follow an eviction block, as the definition asks.
    steps, found = _orbit()
    missing = [n for n in found.block_ends if n < 4 and not any(steps[n - 1].evicted[0])]
    return Finding(
        not missing or f"Example 6: no eviction leads to X^{missing[0]}",
        "n = 3 follows an iteration that completes and evicts nothing" if missing else "both",
    )
