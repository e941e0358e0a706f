"""Congestion, Theorem 3 and Theorem 22, read literally: who returns, and from which l0 on.

Theorem 3 (2) is about "all sufficiently large l0", l0_min about small perturbations. Between them
there is a gap where the short class has one token of output: a cycle or an oscillation with
evictions lives beside the stable equilibrium. There the whole memory of the short class completes
in the iteration after admission, so that overflow can be met by the long class only, and a trim
removes 1 / q times the requests that the same tokens would admit: eviction feeds the mode that the
linear dynamics still damp. Where the short class lasts two iterations or more no start was met that
does not return from l0_min on.

`instances.return_survey` prints the larger table, docs/global_convergence.md.
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from itertools import product

from fluidkv import exact, fluid
from fluidkv.ledger.claim import Origin, Outcome
from fluidkv.ledger.outcomes import decimal, holds_for
from fluidkv.ledger.ranges import Range, Seen
from fluidkv.papers.congestion.instances.return_survey import (
    Survey,
    named,
    survey,
    system_of,
    threshold,
)
from fluidkv.papers.congestion.paper import statements
from fluidkv.verdict import Evidence, Verdict

CLAIMS = statements()

HALF = Fraction(1, 2)
_STARTS = 200
_HORIZON = 20_000  # iterations; the slowest return met here takes a tenth of it


@cache
def _at(pair: tuple[int, int], share: Fraction, factor: int, more: int) -> Survey:
    """What became of all starts at factor * l0_min + more."""
    mix = exact.two_lengths(*pair, share)
    least = threshold(mix)
    length = factor * max(least, 1) + more
    return survey(mix, length, least=least, count=_STARTS, horizon=_HORIZON)


# --- Theorem 3 (2) and Theorem 22 -----------------------------------------------------------------

_MIXES = (
    *(((2, 3), share) for share in (Fraction(1, 20), HALF, Fraction(19, 20))),
    *(((5, 9), share) for share in (Fraction(1, 4), HALF, Fraction(3, 4))),
)
_WORDS = "pairs (2, 3), (5, 9) with three shares each; 200 starts and the bursts"


def _surveys(words: str, lengths: Sequence[tuple[int, int]]) -> Range:
    return Range(
        f"{words}; {_WORDS}",
        lambda: (_at(*mix, *length) for length, mix in product(lengths, _MIXES)),
        name=named,
    )


def _tally(found: list[Survey]) -> str:
    slow = max(found, key=lambda s: s.slowest)
    return (
        f"{sum(s.returned for s in found):,} of {sum(s.starts for s in found):,} starts return; "
        f"slowest {slow.slowest:,} iterations, {named(slow)}"
    )


_ALL_STARTS = "from any feasible initial state, for all sufficiently large l0"
_KINDS = (
    "Every burst, uniform, sparse, near-pulse and below capacity, on the cohort manifold (Lemma "
    "9), in floats; M scales all masses and nothing else."
)


@CLAIMS.over(
    _surveys("twice and 8 times l0_min", ((2, 0), (8, 0))),
    "theorem-22.returns",
    "Theorem 22 and Theorem 3 (2)",
    "For coprime decode lengths and long inputs every start returns to the eviction-free "
    "equilibrium.",
    ours=_tally,
    paper=_ALL_STARTS,
    note=_KINDS,
    refuted=Evidence.FLOAT,
)
@CLAIMS.over(
    _surveys("l0_min and one token more", ((1, 0), (1, 1))),
    "theorem-3.2.returns-from-threshold",
    "Theorem 3 (2) and section 4.3, sharpened: from which l0 on",
    "For coprime decode lengths, the shorter at least 2, every start returns to the eviction-free "
    "equilibrium already at the smallest stable input length.",
    ours=_tally,
    paper=_ALL_STARTS,
    note=_KINDS,
    refuted=Evidence.FLOAT,
    origin=Origin.READING,
)
def _all_return(found: Survey) -> bool | Seen:
    return found.all_return and Seen(found)


def _decay(pair: tuple[int, int], share: Fraction, l0: int) -> tuple[float, float, float, bool]:
    """Slowest rate per iteration after the last eviction, the spectral radius from below and above,
    whether all starts returned."""
    import numpy as np

    mix = exact.two_lengths(*pair, share)
    system, model = system_of(mix, l0), fluid.cohort_model(system_of(mix, l0))
    low, high = exact.certify_spectrum(mix.weights(l0)).radius
    families = fluid.start_families(fluid.random_key(1), system, count=100)
    settled = fluid.convergence(system, np.concatenate(list(families.values())))
    window = 4 * mix.ages  # longer than a turn of the slowest mode of these mixes
    decay = round(float(np.log(1e-6) / np.log(high)))
    run = fluid.simulate(
        model,
        settled.final_state.values[:, None],
        iterations=decay + 2 * window,
        record=("state",),
    )
    off = np.abs(run.state.values / fluid.equilibrium_state(model) - 1).max(axis=(2, 3))
    before, after = off[:, :window].max(axis=1), off[:, -window:].max(axis=1)
    rates = (after / before) ** (1 / (decay + window))
    returned = bool(np.all(settled.outcome.values == fluid.RETURNED))
    return float(rates.max()), float(low), float(high), returned


@CLAIMS.over(
    Range(
        "(2, 3), p = 1/2 at l0 = 10 and p = 1/20 at l0 = 80; 103 starts each",
        lambda: (((2, 3), HALF, 10), ((2, 3), Fraction(1, 20), 80)),
    ),
    "theorem-22.exponential",
    "Theorem 22",
    "The return is exponential: at the spectral radius once evictions have ended.",
    ours=lambda seen: "slowest rate per iteration after the last eviction: " + "; ".join(seen),
    paper="converges exponentially from any feasible initial state",
    refuted=Evidence.FLOAT,
)
def _exponential(pair: tuple[int, int], share: Fraction, l0: int) -> Seen | str:
    rate, low, high, returned = _decay(pair, share, l0)
    shown = f"{pair}, p = {share}, l0 = {l0}: {rate:.4f} (spectral radius {low:.4f})"
    # Before the slowest mode rules, faster ones have decayed; phases within a window and what the
    # window cuts off change the rate by less than a hundredth over six decades.
    return Seen(shown) if returned and rate <= 1.01 * high else shown


# --- section 4.3: local and global ----------------------------------------------------------------

_WITNESS = ((1, 6), Fraction(22, 29), 2)
_ISLAND = ((1, 12), HALF)  # an exception with equal shares


@cache
def coexisting_cycle() -> "exact.PeriodicOrbit":
    """The exact cycle that some starts of `_WITNESS` end on, found by following them."""
    pair, share, l0 = _WITNESS
    mix = exact.two_lengths(*pair, share)
    found = survey(mix, l0, least=threshold(mix), count=_STARTS)
    if found.final is None or found.final[1] == 0:
        raise ArithmeticError("no start was held on a cycle")
    state, period = found.final
    orbit = exact.periodic_orbit(system_of(mix, l0), state, period=period)
    if orbit is None:
        raise ArithmeticError(f"no exact cycle of period {period}")
    return orbit


def closes(orbit: "exact.PeriodicOrbit") -> bool:
    """Whether the literal model, class by class, brings the first state back after one period."""
    dynamics = exact.CohortMap(orbit.system)
    start = state = dynamics.masses(orbit.states[0])
    evicted = Fraction(0)
    for _ in range(orbit.period):
        step = exact.iterate(orbit.system, state)
        state, evicted = step.state, evicted + sum(map(sum, step.evicted))
    return state == start and evicted > 0


_TAKEN = "section 4.3, l0_min taken for the threshold of Theorem 3 (2)"


@CLAIMS.claim(
    "section-4-3.threshold-is-global",
    _TAKEN,
    "Local stability is global: from the smallest stable input length on every start returns.",
    expected=Verdict.FAILS,
    origin=Origin.READING,
    kind="definition",
    checked="the smallest input length of one pair",
)
def _threshold_is_global() -> Outcome:
    (pair, share, l0), orbit = _WITNESS, coexisting_cycle()
    count = exact.count_unstable(exact.two_lengths(*pair, share).weights(l0))
    stable = (count.outside, count.on_circle, count.evidence) == (0, 0, Evidence.EXACT)
    refuted = stable and closes(orbit) and orbit.attracts is True
    where = f"({pair[0]}, {pair[1]}), p = {share}, l0 = {l0}"
    return holds_for(
        f"{where}: all roots of F inside the unit circle, and beside the equilibrium an attracting "
        f"cycle of period {orbit.period}"
        if refuted
        else None,
        ours=f"{where}: y = {', '.join(map(str, orbit.states[0]))} at M = {orbit.system.capacity} "
        f"returns after {orbit.period} iterations, with evictions, all multipliers inside",
        paper="l0_min is defined by the roots of F; it quantifies the large inputs of Theorem 3",
        note="Exact: found in floats, solved and run in rationals. The paper's definition of "
        "l0_min is a local one; read with its sentence on Theorem 3 it is not. The cycle completes "
        f"{decimal(orbit.share_of_best, 5)} times as many requests as the equilibrium, since only "
        "the long class is evicted.",
    )


@CLAIMS.claim(
    "section-4-3.threshold-is-global.equal-shares",
    _TAKEN,
    "The same for decode lengths 1 and 12 in equal shares, where l0_min is 59.",
    expected=Verdict.UNDECIDED,
    evidence=Evidence.FLOAT,
    origin=Origin.READING,
    kind="definition",
    checked="l0 = 59 and 60; 212 starts each",
)
def _one_token_later() -> Outcome:
    """The exceptions: at l0_min, and one token later. A horizon refutes no convergence."""
    here, after = _at(*_ISLAND, 1, 0), _at(*_ISLAND, 1, 1)
    return Outcome(
        Verdict.HOLDS if here.all_return else Verdict.UNDECIDED,
        Evidence.FLOAT,
        ours=f"{here.starts - here.returned} of {here.starts} starts do not return within "
        f"{_HORIZON:,} iterations; at l0 = {after.input_length}, "
        f"{after.starts - after.returned} of {after.starts}",
        paper="l0_min is defined by the roots of F",
        note="An oscillation that does not repeat itself, with evictions to the end: seen in "
        "floats over a horizon, which proves neither.",
        witness=named(here),
    )
