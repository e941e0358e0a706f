"""Congestion, section 3.3, Lemma A.1 and equation (38): the spread, until something is evicted.

Tried on every start of a small range (`boundary_states`).
"""

from fractions import Fraction
from functools import cache

from fluidkv.ledger import Range
from fluidkv_papers.congestion.instances.boundary_states import STARTS, Case, cases, shown
from fluidkv_papers.congestion.paper import statements

CLAIMS = statements()

State = tuple[Fraction, ...]


@CLAIMS.claim("equation-5", "equation (5), with the proof of Lemma A.2", over=STARTS)
def _no_spread_is_fixed(case: Case) -> bool | str:
    """On the memory boundary the spread is 0 at the fixed point, and nowhere else.

    Ours: 0 exactly at starts that an iteration leaves alone, {count} starts
    Paper: the fixed point is the unique eviction-free boundary state with G = 0"""
    (after,) = case.step().state
    return (case.spread == 0) == (after == list(case.masses)) or f"{case} to {shown(after)}"


@cache
def _quiet() -> tuple[tuple[Case, State, State], ...]:
    """Each start that evicts nothing, as fractions, and the state after one literal iteration."""
    return tuple(
        (case, tuple(map(Fraction, case.masses)), tuple(case.step().state[0]))
        for case in cases()
        if not any(case.step().evicted[0])
    )


_QUIET = Range(STARTS.words, _quiet, name=lambda case, x, y: f"{case} to {shown(y)}")


def _spread(state: State) -> Fraction:
    return max(state) - min(state)


@CLAIMS.claim("equation-6.admission", "equation (6)", over=_QUIET)
def _equation_6(case: Case, x: State, y: State) -> bool:
    """Without eviction the admitted mass is that of equation (6)."""
    return y[0] == x[-1] + sum(x[-1] - value for value in x) / (case.l0 + 1)


@CLAIMS.claim("equation-6.sign", "section 3.3, below equation (6)", over=_QUIET)
def _equation_6_sign(case: Case, x: State, y: State) -> bool:
    """Without eviction more is admitted than completes exactly if the last stage is above
    average."""
    return (y[0] > x[-1]) == (x[-1] > sum(x) / len(x))


CLAIMS.claim(
    "section-3-3.extremal-growth",
    "section 3.3, below equation (6)",
    "Without eviction the spread grows by at least G/(l0+1) when the last stage holds the "
    "minimum or the maximum.",
    over=_QUIET.where(
        "an extremum in the last stage", lambda case, x, y: x[-1] in (min(x), max(x))
    ),
)(lambda case, x, y: _spread(y) >= _spread(x) + _spread(x) / (case.l0 + 1))


@CLAIMS.claim("lemma-a-1.spread", "Lemma A.1", over=_QUIET)
def _spread_does_not_fall(case: Case, x: State, y: State) -> bool:
    """The spread G does not fall in an iteration without eviction."""
    return _spread(y) >= _spread(x)


@CLAIMS.claim("equation-38", "equation (38), proof of Lemma A.2", over=_QUIET)
def _equation_38(case: Case, x: State, y: State) -> bool:
    """Without eviction the admitted mass exceeds the maximum by equation (38)."""
    top = max(x)
    below = sum(top - value for value in x)
    return y[0] - top == (below - (case.l0 + len(x) + 1) * (top - x[-1])) / (case.l0 + 1)
