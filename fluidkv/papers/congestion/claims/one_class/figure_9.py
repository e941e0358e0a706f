"""Congestion, Appendix A.1: the cascade of l0 = 2, l1 = 4, M = 48 and the captions of Figures 8, 9.

The paper does not say which state is "delta_0 = 0.5 above equilibrium". We read it as in Example 3,
whose start is given: half a request more at stage 0, and the last stage gives back the memory. What
the last stage holds completes at once, so that raising stage 0 alone, off the memory boundary,
leads to the same X^1. Other readings on the boundary are tried beside it.
"""

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING

from fluidkv.ledger.claim import Outcome
from fluidkv.ledger.outcomes import equals, holds_for
from fluidkv.papers.congestion.paper import congestion

if TYPE_CHECKING:
    from fluidkv.exact.one_class.cascade import Cascade
    from fluidkv.workload import System

_WEIGHTS, _CAPACITY = (3, 4, 5, 6), Fraction(48)
_EQUILIBRIUM, _ABOVE = Fraction(8, 3), Fraction(1, 2)
_PRINTED = (9, 13, 17, 20, 21)


def start() -> tuple[Fraction, ...]:
    """x* + 1/2 at stage 0; the last stage is smaller by as many tokens."""
    x = _EQUILIBRIUM
    return (x + _ABOVE, x, x, x - _ABOVE * Fraction(_WEIGHTS[0], _WEIGHTS[-1]))


def system() -> "System":
    from fluidkv.workload import RequestClass, System, Workload

    return System(Workload((RequestClass(2, 4),)), _CAPACITY)


@cache
def way(first: tuple[Fraction, ...]) -> "Cascade":
    """Forty iterations from a start, exact and analysed."""
    from fluidkv.exact.one_class.cascade import cascade
    from fluidkv.exact.one_class.trajectory import trajectory

    return cascade(trajectory(system(), first, iterations=40), system())


def _evictions(first: tuple[Fraction, ...]) -> list[int]:
    """Before the last cycle: an eviction of the cycle itself is no step of the cascade."""
    found = way(first)
    last = found.support_losses[-1].iteration
    return [e.iteration for e in found.evictions if e.iteration <= last]


def _readings() -> Iterator[tuple[str, tuple[Fraction, ...]]]:
    """Ways to be half a request above equilibrium on the memory boundary, besides ours."""
    for j, weight in enumerate(_WEIGHTS):
        raised = [_EQUILIBRIUM] * 4
        raised[j] += _ABOVE
        extra = _ABOVE * weight
        scale = _CAPACITY / (_CAPACITY + extra)
        yield f"stage {j}, then all scaled", tuple(scale * x for x in raised)
        for k, other in enumerate(_WEIGHTS):
            if k != j and (j, k) != (0, 3):
                moved = list(raised)
                moved[k] -= extra / other
                yield f"stage {j}, stage {k} gives back", tuple(moved)
        share = extra / (sum(_WEIGHTS) - weight)
        spread = tuple(x if i == j else x - share for i, x in enumerate(raised))
        yield f"stage {j}, all others give back", spread


def _levels_at(iterations: tuple[int, ...]) -> list[int]:
    return [way(start()).levels[n] for n in iterations]


def _phase_iv() -> Outcome:
    found = way(start())
    settled = found.settled
    on = settled is not None and settled.attractor == "maximal-eviction cycle"
    since = settled.iteration if settled else None
    return holds_for(
        None if on and since is not None and since <= 22 else f"settled {settled}",
        ours=f"on the maximal-eviction cycle from n = {since} on",
        paper="convergence to the level-3 cycle, n >= 22",
    )


def _other_readings() -> Outcome:
    matching = [name for name, first in _readings() if _evictions(first) == list(_PRINTED)]
    tried = len(list(_readings()))
    return holds_for(
        None if not matching else f"also: {matching[0]}",
        ours=f"none of {tried} other readings gives these five iterations"
        if not matching
        else f"{len(matching)} other readings do too",
        paper="n = 9, 13, 17, 20, 21",
        note="The captions and the text do not give the start. Raising stage 0 alone, which "
        "leaves the memory boundary, leads to the same X^1 as our reading.",
    )


def _last_throughput() -> Fraction:
    return Fraction(way(start()).throughput)


def _fixed_point() -> Fraction:
    from fluidkv.exact.survival import eviction_free_equilibrium

    return eviction_free_equilibrium(system()).rate


def _bypasses() -> Outcome:
    """Level 2 is passed, never on a balanced level-2 orbit."""
    from fluidkv.exact.one_class.positions import distance_from_cycle

    found = way(start())
    nearest = min(
        distance_from_cycle(x, 2, _CAPACITY)
        for x, level in zip(found.states, found.levels, strict=True)
        if level == 2
    )
    return holds_for(
        None if nearest > 0 else "a state on a level-2 orbit",
        ours=f"level-2 states stay {float(nearest):.2f} or more, relative, from their orbit",
        paper="the cascade bypasses them",
    )


_NOTE = "appendix-a1.l1-4"

CLAIMS = (
    congestion(
        f"{_NOTE}.start",
        "The start, read as in Example 3, lies on the memory boundary.",
        "Figure 9, caption",
        lambda: equals(sum(w * x for w, x in zip(_WEIGHTS, start(), strict=True)), "48"),
        kind="figure",
    ),
    congestion(
        f"{_NOTE}.evictions",
        "Evictions before the last cycle lead to n = 9, 13, 17, 20, 21.",
        "Appendix A.1 and Figure 9, caption",
        lambda: equals(_evictions(start()), "9, 13, 17, 20, 21"),
        kind="figure",
    ),
    congestion(
        f"{_NOTE}.levels",
        "The evictions at n = 9, 13 are at level 1, those at 17, 20, 21 at levels 2, 2 and 3.",
        "Appendix A.1 and Figure 9, caption",
        lambda: equals(_levels_at(_PRINTED), "1, 1, 2, 2, 3"),
        kind="figure",
    ),
    congestion(
        f"{_NOTE}.growing-oscillation",
        "All stages are occupied, and nothing is evicted, for n = 0 ... 8.",
        "Appendix A.1 and Figure 9, caption",
        lambda: equals(
            [sum(_levels_at(tuple(range(9)))), way(start()).first_eviction or 0], "0, 9"
        ),
        kind="figure",
    ),
    congestion(
        f"{_NOTE}.settles",
        "From n = 22 on the state is on the level-3 cycle.",
        "Appendix A.1 and Figure 9, caption",
        _phase_iv,
        kind="figure",
    ),
    congestion(
        f"{_NOTE}.throughput",
        "The last cycle completes 2 requests an iteration, a quarter less than x* = 8/3.",
        "Appendix A.1 and Figure 9, caption",
        lambda: equals(
            [_last_throughput(), 1 - _last_throughput() / _EQUILIBRIUM, _fixed_point()],
            "2, 1/4, 8/3",
        ),
        kind="figure",
    ),
    congestion(
        f"{_NOTE}.bypasses",
        "The cascade passes level 2 without being on one of its orbits.",
        "Appendix A.1, cycle multiplicity",
        _bypasses,
        kind="figure",
    ),
    congestion(
        f"{_NOTE}.other-readings",
        "No other simple reading of the start gives the printed iterations.",
        "Figure 9, caption",
        _other_readings,
        kind="figure",
        checked="a stage above by 1/2; one other, all others, or a scaling gives memory back",
    ),
)
