"""Congestion, Lemma 1 and Proposition 8: throughput of every balanced cycle of small systems.

A balanced cycle is given by its gap vector, positive integers with sum l1: m live positions at
stages S_h - 1, S_h the partial sums, each with a mass in proportion to its gap. Nothing here uses
the formulas that are checked: each cycle is walked with the literal model.
"""

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import accumulate, pairwise, product

from fluidkv.claims._congestion import congestion
from fluidkv.claims.claim import Outcome
from fluidkv.claims.outcomes import holds_for
from fluidkv.verdict import Evidence

_INPUTS = range(1, 5)
_DECODES = range(1, 8)  # 2^(l1 - 1) gap vectors each; about a second in all
_RANGE = f"all gap vectors, l0 = 1 ... {_INPUTS[-1]}, l1 = 1 ... {_DECODES[-1]}, M = 7(l0+l1)/3"


def _capacity(l0: int, l1: int) -> Fraction:
    """Any value above l0 + l1 would do: masses and throughput are proportional to it."""
    return Fraction(7 * (l0 + l1), 3)


def _gap_vectors(total: int) -> Iterator[tuple[int, ...]]:
    """All ordered sums of positive integers: cut or not at each of the places between."""
    for cuts in product((False, True), repeat=total - 1):
        ends = [0, *(place for place, cut in enumerate(cuts, start=1) if cut), total]
        yield tuple(b - a for a, b in pairwise(ends))


@cache
def _throughput(l0: int, gaps: tuple[int, ...]) -> Fraction | None:
    """Completions an iteration over one turn of the cycle; None if it does not close."""
    from fluidkv.exact.mass import iterate, memory_used
    from fluidkv.workload import RequestClass, System, Workload

    l1 = sum(gaps)
    system = System(Workload((RequestClass(l0, l1),)), _capacity(l0, l1))
    start = [Fraction(0)] * l1
    for gap, reached in zip(gaps, accumulate(gaps), strict=True):
        start[reached - 1] = Fraction(gap)
    scale = system.capacity / memory_used(system, [start])
    state = start = [scale * x for x in start]
    completed = Fraction(0)
    for _ in range(l1):
        step = iterate(system, [state])
        state, completed = step.state[0], completed + step.completed[0]
    return completed / l1 if state == start else None


def _cases() -> list[tuple[int, tuple[int, ...]]]:
    return [(l0, gaps) for l1 in _DECODES for l0 in _INPUTS for gaps in _gap_vectors(l1)]


def _formula() -> Outcome:
    bad = None
    for l0, gaps in _cases():
        l1, squares = sum(gaps), sum(g * g for g in gaps)
        printed = _capacity(l0, l1) / (l0 * l1 + Fraction(l1 * l1 + squares, 2))
        if _throughput(l0, gaps) != printed:
            bad = f"l0={l0}, gaps {gaps}: {_throughput(l0, gaps)} for {printed}"
            break
    return holds_for(
        bad,
        ours=f"closes, with this throughput, for {len(_cases())} systems and gap vectors"
        if bad is None
        else "not for all gap vectors",
        paper="M / (l0 l1 + (l1^2 + sum of g_h^2) / 2)",
        evidence=Evidence.SAMPLED,
    )


def _minimum() -> Outcome:
    bad = None
    for l0, gaps in _cases():
        l1 = sum(gaps)
        worst = _capacity(l0, l1) / (l1 * (l0 + l1))
        found = _throughput(l0, gaps)
        maximal = len(gaps) == 1
        if found is None or found < worst or (found == worst) != maximal:
            bad = f"l0={l0}, gaps {gaps}: {found} against {worst}"
            break
    return holds_for(
        bad,
        ours=f"attained by the gap vector (l1) alone, of {len(_cases())} systems and gap vectors"
        if bad is None
        else "not the minimum",
        paper="least throughput of all limit cycles, attained by no other",
        evidence=Evidence.SAMPLED,
        note="Lemma 1 speaks of every limit cycle; checked are the balanced ones, whose live "
        "positions keep their distances.",
    )


CLAIMS = (
    congestion(
        "lemma-1.minimum",
        "No cycle has a lower throughput than M/(l1(l0+l1)), and only the maximal-eviction cycle "
        "has this one.",
        "Lemma 1, for balanced cycles",
        _minimum,
        kind="lemma",
        checked=_RANGE,
    ),
    congestion(
        "proposition-8.throughput",
        "Every gap vector gives a limit cycle, with the throughput of equation (25).",
        "Proposition 8, equation (25)",
        _formula,
        kind="proposition",
        checked=_RANGE,
    ),
)
