"""Congestion, section 4.3: whether l0_min is also the threshold of Theorem 3 (2).

Theorem 3 (2) is about "all sufficiently large l0", l0_min about small perturbations. Between them
there is a gap where the short class has one token of output: a cycle or an oscillation with
evictions lives beside the stable equilibrium. There the whole memory of the short class completes
in the iteration after admission, so that overflow can be met by the long class only, and a trim
removes 1 / q times the requests that the same tokens would admit: eviction feeds the mode that the
linear dynamics still damp. Where the short class lasts two iterations or more no start was met that
does not return from l0_min on.

`instances.return_survey` prints the larger table, docs/global_convergence.md.
"""

from fractions import Fraction
from functools import cache

from fluidkv import exact
from fluidkv.exact.mixed import cycles
from fluidkv.ledger import Evidence, Finding, Origin, decimal
from fluidkv_papers.congestion.instances import return_survey as surveys
from fluidkv_papers.congestion.paper import statements

CLAIMS = statements(origin=Origin.READING)

_WITNESS = ((1, 6), Fraction(22, 29), 2)
_ISLAND = ((1, 12), Fraction(1, 2))  # an exception with equal shares


@cache
def coexisting_cycle() -> "cycles.orbits.PeriodicOrbit":
    """The exact cycle that some starts of `_WITNESS` end on, found by following them."""
    pair, share, l0 = _WITNESS
    mix = exact.two_lengths(*pair, share)
    found = surveys.survey(mix, l0, least=surveys.threshold(mix), count=surveys.STARTS)
    if found.final is None or found.final[1] == 0:
        raise ArithmeticError("no start was held on a cycle")
    state, period = found.final
    search = exact.periodic_orbit(surveys.system_of(mix, l0), state, period=period)
    if search.orbit is None:
        raise ArithmeticError(f"no exact cycle of period {period}: {search.status}")
    return search.orbit


def closes(orbit: "cycles.orbits.PeriodicOrbit") -> bool:
    """Whether the literal model, class by class, brings the first state back after one period."""
    dynamics = cycles.orbits.CohortMap(orbit.system)
    start = state = dynamics.masses(orbit.states[0])
    evicted = Fraction(0)
    for _ in range(orbit.period):
        step = exact.iterate(orbit.system, state)
        state, evicted = step.state, evicted + sum(map(sum, step.evicted))
    return state == start and evicted > 0


_TAKEN = "section 4.3, l0_min taken for the threshold of Theorem 3 (2)"


@CLAIMS.fails("section-4-3.threshold-is-global", _TAKEN, kind="definition")
def _threshold_is_global() -> Finding:
    """Local stability is global: from the smallest stable input length on every start returns.

    Checked: the smallest input length of one pair
    Paper: l0_min is defined by the roots of F; it quantifies the large inputs of Theorem 3
    Holds: theorem-3.2.returns-from-threshold"""
    (pair, share, l0), orbit = _WITNESS, coexisting_cycle()
    count = exact.count_unstable(exact.two_lengths(*pair, share).weights(l0))
    stable = (count.outside, count.on_circle, count.evidence) == (0, 0, Evidence.EXACT)
    refuted = stable and closes(orbit) and orbit.attracts is True
    where = f"({pair[0]}, {pair[1]}), p = {share}, l0 = {l0}"
    return Finding(
        not refuted
        or f"{where}: all roots of F inside the unit circle, and beside the equilibrium an "
        f"attracting cycle of period {orbit.period}",
        f"{where}: y = {', '.join(map(str, orbit.states[0]))} at M = {orbit.system.capacity} "
        f"returns after {orbit.period} iterations, with evictions, all multipliers inside",
        note="Exact: found in floats, solved and run in rationals. The paper's definition of "
        "l0_min is a local one; read with its sentence on Theorem 3 it is not. The cycle completes "
        f"{decimal(orbit.share_of_best, 5)} times as many requests as the equilibrium, since only "
        "the long class is evicted.",
    )


@CLAIMS.undecided(
    "section-4-3.threshold-is-global.equal-shares",
    _TAKEN,
    evidence=Evidence.FLOAT,
    kind="definition",
)
def _one_token_later() -> Finding:
    """Local stability is global for decode lengths 1 and 12 in equal shares, where l0_min is 59.

    Checked: l0 = 59 and 60; 212 starts each
    Paper: l0_min is defined by the roots of F
    Note: An oscillation that does not repeat itself, with evictions to the end: seen in floats over
    a horizon, which proves neither."""
    # The exceptions: at l0_min, and one token later. A horizon refutes no convergence.
    here, after = surveys.survey_at(*_ISLAND, 1, 0), surveys.survey_at(*_ISLAND, 1, 1)
    return Finding(
        here.all_return or surveys.named(here),
        f"{here.starts - here.returned} of {here.starts} starts do not return within "
        f"{surveys.QUICK_HORIZON:,} iterations; at l0 = {after.input_length}, "
        f"{after.starts - after.returned} of {after.starts}",
    )
