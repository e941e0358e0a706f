"""Congestion, Appendix A.1: the cascade of l0 = 2, l1 = 4, M = 48 and the captions of Figures 8, 9.

The paper does not say which state is "delta_0 = 0.5 above equilibrium". We read it as in Example 3,
whose start is given: half a request more at stage 0, and the last stage gives back the memory. What
the last stage holds completes at once, so that raising stage 0 alone, off the memory boundary,
leads to the same X^1. Other readings on the boundary are tried beside it.
"""

from collections.abc import Iterator
from fractions import Fraction
from functools import cache, partial

from fluidkv import exact
from fluidkv.exact.mass import memory_used
from fluidkv.exact.one_class.collapse import Cascade
from fluidkv.exact.one_class.positions import distance_from_cycle
from fluidkv.ledger import Finding, Origin, Outcome, equals
from fluidkv_papers.congestion.instances.one_class import system_of
from fluidkv_papers.congestion.paper import statements

CLAIMS = statements()

_WEIGHTS, _CAPACITY = (3, 4, 5, 6), Fraction(48)
_EQUILIBRIUM, _ABOVE = Fraction(8, 3), Fraction(1, 2)
_PRINTED = (9, 13, 17, 20, 21)

SYSTEM = system_of(2, 4, _CAPACITY)
START = (
    _EQUILIBRIUM + _ABOVE,
    _EQUILIBRIUM,
    _EQUILIBRIUM,
    _EQUILIBRIUM - _ABOVE * Fraction(_WEIGHTS[0], _WEIGHTS[-1]),
)
"""x* + 1/2 at stage 0; the last stage is smaller by as many tokens."""


@cache
def _way(first: tuple[Fraction, ...] = START) -> Cascade:
    """Forty iterations from a start, exact and analysed."""
    return exact.cascade(exact.trajectory(SYSTEM, first, iterations=40), SYSTEM)


def _evictions(first: tuple[Fraction, ...]) -> list[int]:
    """Before the last cycle: an eviction of the cycle itself is no step of the cascade."""
    found = _way(first)
    last = found.support_losses[-1].iteration
    return [e.iteration for e in found.evictions if e.iteration <= last]


def _levels_at(iterations: tuple[int, ...]) -> list[int]:
    return [_way().levels[n] for n in iterations]


def _other_starts() -> Iterator[tuple[str, tuple[Fraction, ...]]]:
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


# The start is ours, so what follows from it is no statement that is printed with all it needs.
_claim = partial(CLAIMS.claim, kind="figure", origin=Origin.REPRODUCTION)
_TEXT = "Appendix A.1 and Figure 9, caption"


@_claim("appendix-a1.l1-4.start", "Figure 9, caption")
def _start_is_full() -> Outcome:
    """The start, read as in Example 3, lies on the memory boundary."""
    return equals(memory_used(SYSTEM, [START]), "48")


@_claim("appendix-a1.l1-4.evictions", _TEXT)
def _eviction_times() -> Outcome:
    """Evictions before the last cycle lead to n = 9, 13, 17, 20, 21."""
    return equals(_evictions(START), "9, 13, 17, 20, 21")


@_claim("appendix-a1.l1-4.levels", _TEXT)
def _levels() -> Outcome:
    """The evictions at n = 9, 13 are at level 1, those at 17, 20, 21 at levels 2, 2 and 3."""
    return equals(_levels_at(_PRINTED), "1, 1, 2, 2, 3")


@_claim("appendix-a1.l1-4.growing-oscillation", _TEXT)
def _growing_oscillation() -> Outcome:
    """All stages are occupied, and nothing is evicted, for n = 0 ... 8."""
    return equals([sum(_levels_at(tuple(range(9)))), _way().first_eviction or 0], "0, 9")


@_claim("appendix-a1.l1-4.settles", _TEXT)
def _settles() -> Finding:
    """From n = 22 on the state is on the level-3 cycle.

    Paper: convergence to the level-3 cycle, n >= 22"""
    settled = _way().settled
    on = settled is not None and settled.attractor == "maximal-eviction cycle"
    since = settled.iteration if settled else None
    return Finding(
        None if on and since is not None and since <= 22 else f"settled {settled}",
        f"on the maximal-eviction cycle from n = {since} on",
    )


@_claim("appendix-a1.l1-4.throughput", _TEXT)
def _throughput() -> Outcome:
    """The last cycle completes 2 requests per iteration, a quarter less than x* = 8/3."""
    last, best = Fraction(_way().throughput), exact.eviction_free_equilibrium(SYSTEM).rate
    return equals([last, 1 - last / best, best], "2, 1/4, 8/3")


@_claim("appendix-a1.l1-4.bypasses", "Appendix A.1, cycle multiplicity")
def _bypasses() -> Finding:
    """The cascade passes level 2 without being on one of its orbits.

    Paper: the cascade bypasses them"""
    found = _way()
    nearest = min(
        distance_from_cycle(x, 2, _CAPACITY)
        for x, level in zip(found.states, found.levels, strict=True)
        if level == 2
    )
    return Finding(
        nearest > 0 or "a state on a level-2 orbit",
        f"level-2 states stay {float(nearest):.2f} or more, relative, from their orbit",
    )


@CLAIMS.claim(
    "appendix-a1.l1-4.other-readings",
    "Figure 9, caption",
    over=_other_starts,
    whole=True,
    origin=Origin.READING,
)
def _other_readings(name: str, first: tuple[Fraction, ...]) -> bool:
    """No other simple reading of the start gives the printed iterations.

    Checked: a stage above by 1/2; one other, all others, or a scaling gives memory back
    Ours: none of {count} other readings gives these five iterations
    Paper: n = 9, 13, 17, 20, 21
    Note: The captions and the text do not give the start. Raising stage 0 alone, which leaves the
    memory boundary, leads to the same X^1 as our reading."""
    return _evictions(first) != list(_PRINTED)
