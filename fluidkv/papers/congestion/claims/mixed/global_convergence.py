"""Congestion, Theorem 3 and Theorem 22, read literally: who returns, and from which l0 on.

Theorem 3 (2) is about "all sufficiently large l0", l0_min about small perturbations. Between them
there is a gap where the short class has one token of output: a cycle or an oscillation with
evictions lives beside the stable equilibrium. There the whole memory of the short class completes
in the iteration after admission, so that overflow can be met by the long class only, and a trim
removes 1 / q times the requests that the same tokens would admit: eviction feeds the mode that the
linear dynamics still damp. Where the short class lasts two iterations or more no start was met that
does not return from l0_min on.

`_return_survey` prints the larger table, docs/global_convergence.md.
"""

from collections.abc import Iterable
from fractions import Fraction
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

from fluidkv.ledger.claim import Outcome
from fluidkv.ledger.outcomes import decimal, holds_for, sampled, verdict
from fluidkv.papers.congestion.instances.return_survey import (
    named,
    survey,
    system_of,
    threshold,
)
from fluidkv.papers.congestion.paper import congestion
from fluidkv.verdict import Evidence, Verdict

if TYPE_CHECKING:
    from fluidkv.exact.mixed.cycles.orbits import PeriodicOrbit
    from fluidkv.papers.congestion.instances.return_survey import Survey

HALF = Fraction(1, 2)
_STARTS = 200
_HORIZON = 20_000  # iterations; the slowest return met here takes a tenth of it
_QUICK = (
    ((2, 3), Fraction(1, 20)),
    ((2, 3), HALF),
    ((2, 3), Fraction(19, 20)),
    ((5, 9), Fraction(1, 4)),
    ((5, 9), HALF),
    ((5, 9), Fraction(3, 4)),
)
_WITNESS = ((1, 6), Fraction(22, 29), 2)
_ISLAND = ((1, 12), HALF)  # an exception with equal shares


@cache
def _at(pair: tuple[int, int], share: Fraction, factor: int, more: int) -> "Survey":
    from fluidkv.exact.mixed.mix import two_lengths

    mix = two_lengths(*pair, share)
    least = threshold(mix)
    length = factor * max(least, 1) + more
    return survey(mix, length, least=least, count=_STARTS, horizon=_HORIZON)


def _returns(cases: Iterable[tuple[int, int]]) -> Outcome:
    """All starts of every quick pair, at factor * l0_min + more."""
    found = [_at(pair, share, *case) for case in cases for pair, share in _QUICK]
    bad = next((named(s) for s in found if not s.all_return), None)
    slow = max(found, key=lambda s: s.slowest)
    return sampled(
        bad,
        ours=f"{sum(s.returned for s in found):,} of {sum(s.starts for s in found):,} starts "
        f"return; slowest {slow.slowest:,} iterations, {named(slow)}",
        paper="from any feasible initial state, for all sufficiently large l0",
        note="Every burst, uniform, sparse, near-pulse and below capacity, on the cohort manifold "
        "(Lemma 9), in floats; M scales all masses and nothing else.",
        refuted=Evidence.FLOAT,
    )


@cache
def coexisting_cycle() -> "PeriodicOrbit":
    """The exact cycle that some starts of `_WITNESS` end on, found by following them."""
    from fluidkv.exact.mixed.cycles.orbits import periodic_orbit
    from fluidkv.exact.mixed.mix import two_lengths

    pair, share, l0 = _WITNESS
    mix = two_lengths(*pair, share)
    found = survey(mix, l0, least=threshold(mix), count=_STARTS)
    if found.final is None or found.final[1] == 0:
        raise ArithmeticError("no start was held on a cycle")
    state, period = found.final
    orbit = periodic_orbit(system_of(mix, l0), state, period=period)
    if orbit is None:
        raise ArithmeticError(f"no exact cycle of period {period}")
    return orbit


def closes(orbit: "PeriodicOrbit") -> bool:
    """Whether the literal model, class by class, brings the first state back after one period."""
    from fluidkv.exact.mass import iterate
    from fluidkv.exact.mixed.cycles.orbits import CohortMap

    dynamics = CohortMap(orbit.system)
    start = state = dynamics.masses(orbit.states[0])
    evicted = Fraction(0)
    for _ in range(orbit.period):
        step = iterate(orbit.system, state)
        state, evicted = step.state, evicted + sum(map(sum, step.evicted))
    return state == start and evicted > 0


def _threshold_is_global() -> Outcome:
    from fluidkv.exact.mixed.mix import two_lengths
    from fluidkv.exact.roots.spectrum import count_unstable

    (pair, share, l0), orbit = _WITNESS, coexisting_cycle()
    count = count_unstable(two_lengths(*pair, share).weights(l0))
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
        paper="l0_min is defined by the roots of F",
        note="Exact: found in floats, solved and run in rationals. Not the paper's words, which "
        "keep local and global apart. It completes "
        f"{decimal(orbit.share_of_best, 5)} times as many requests as the equilibrium, since only "
        "the long class is evicted.",
    )


def _one_token_later() -> Outcome:
    """The exceptions: at l0_min, and one token later."""
    here, after = _at(*_ISLAND, 1, 0), _at(*_ISLAND, 1, 1)
    return Outcome(
        verdict(here.all_return),
        Evidence.FLOAT,
        ours=f"{here.starts - here.returned} of {here.starts} starts do not return within "
        f"{_HORIZON:,} iterations; at l0 = {after.input_length}, "
        f"{after.starts - after.returned} of {after.starts}",
        paper="l0_min is defined by the roots of F",
        note="An oscillation that does not repeat itself, with evictions to the end: seen in "
        "floats, not proved.",
        witness=named(here),
    )


# --- Theorem 3 (1) ------------------------------------------------------------------------------


def _common_divisor_count() -> Outcome:
    from math import gcd

    from fluidkv.exact.mixed.mix import two_lengths
    from fluidkv.exact.mixed.thresholds.threshold import input_threshold

    latest, where, bad, mixes = -1, "", None, 0
    for n in range(4, 13):
        for a in (a for a in range(2, n) if gcd(a, n) > 1):
            for share in (Fraction(1, 10), HALF, Fraction(9, 10)):
                mixes += 1
                last = input_threshold(two_lengths(a, n, share)).windows[-1]
                if (last.growing_modes, last.neutral_modes) != (gcd(a, n) - 1, 0) or last.last:
                    bad = bad or f"({a}, {n}), p = {share}: {last}"
                if last.first > latest:
                    latest, where = last.first, f"({a}, {n}), p = {share}"
    return holds_for(
        bad,
        ours=f"in all {mixes} mixes, for every l0 beyond some; the largest is {latest}, {where}",
        paper="g - 1 unstable roots and n - g stable ones, for all sufficiently large l0",
        evidence=Evidence.SAMPLED,
        note="Of these mixes proved, in balls: crossings of the unit circle cut the axis of l0; "
        "none lies beyond.",
        refuted=Evidence.BALL,
    )


def _small_perturbations_leave() -> Outcome:
    import jax
    import numpy as np

    from fluidkv.exact.mixed.mix import two_lengths
    from fluidkv.fluid import cohort_model, equilibrium_state, nearby_starts
    from fluidkv.fluid.cohorts.convergence import RETURNED, convergence

    bad, first, count = None, [], 0
    for pair in ((2, 6), (3, 6), (4, 6)):
        system = system_of(two_lengths(*pair, HALF), 50)
        centre = equilibrium_state(cohort_model(system))[0]
        for size in (1e-2, 1e-4):
            starts = nearby_starts(jax.random.key(3), system, centre, count=40, size=size)
            found = convergence(system, starts, iterations=5_000)
            count += len(starts)
            stays = (found.last_eviction.values == 0) | (found.outcome.values == RETURNED)
            if np.any(stays):
                bad = bad or f"{pair}, size {size}: {int(stays.sum())} starts never evict"
            first.append(size)
    return sampled(
        bad,
        ours=f"all {count} starts reach eviction, and none comes back for good",
        paper="leaves the region without evictions in finite time",
        note=f"l0 = 50, equal shares; uniform starts shrunk towards the equilibrium by {min(first)}"
        f" and {max(first)}. Those without projection on the unstable modes have measure 0.",
        refuted=Evidence.FLOAT,
    )


# --- Theorem 22 ---------------------------------------------------------------------------------


def _exponential() -> Outcome:
    """After the last eviction the deviation decays at the spectral radius."""
    import jax
    import numpy as np

    from fluidkv.exact.mixed.mix import two_lengths
    from fluidkv.exact.roots.spectrum import certify_spectrum
    from fluidkv.fluid import cohort_model, equilibrium_state, simulate
    from fluidkv.fluid.cohorts.convergence import convergence
    from fluidkv.fluid.cohorts.starts import start_families

    bad, shown = None, []
    for pair, share, l0 in (((2, 3), HALF, 10), ((2, 3), Fraction(1, 20), 80)):
        mix = two_lengths(*pair, share)
        system, model = system_of(mix, l0), cohort_model(system_of(mix, l0))
        low, high = certify_spectrum(mix.weights(l0)).radius
        starts = np.concatenate(list(start_families(jax.random.key(1), system, count=100).values()))
        settled = convergence(system, starts)
        window = 4 * mix.ages  # longer than a turn of the slowest mode of these mixes
        decay = round(float(np.log(1e-6) / np.log(high)))
        run = simulate(
            model,
            settled.final_state.values[:, None],
            iterations=decay + 2 * window,
            record=("state",),
        )
        centre = equilibrium_state(model)
        off = np.abs(run.state.values / centre - 1).max(axis=(2, 3))
        before, after = off[:, :window].max(axis=1), off[:, -window:].max(axis=1)
        rates = (after / before) ** (1 / (decay + window))
        # Before the slowest mode rules, faster ones have decayed; phases within a window and what
        # the window cuts off change the rate by less than a hundredth over six decades.
        if rates.max() > 1.01 * high or np.any(settled.outcome.values != "returned"):
            bad = bad or f"{pair}, p = {share}, l0 = {l0}: rate {rates.max()}"
        shown.append(
            f"{pair}, p = {share}, l0 = {l0}: {rates.max():.4f} (spectral radius {low:.4f})"
        )
    return sampled(
        bad,
        ours="slowest rate an iteration after the last eviction: " + "; ".join(shown),
        paper="converges exponentially from any feasible initial state",
        refuted=Evidence.FLOAT,
    )


# --- Lemma 9 ------------------------------------------------------------------------------------


def _enters_manifold() -> Outcome:
    from itertools import islice
    from random import Random

    from fluidkv.exact.mass import iterates

    draw, bad, trials, ratio = Random(SEED_LEMMA), None, 150, Fraction(0)
    for _ in range(trials):
        system, state = _any_state(draw)
        d, second = system.workload.longest_decode, _second_longest(system)
        states = list(islice(iterates(system, state), d + 4))
        on = [_proportional(system, s) for s in states]
        entry = next((n for n in range(len(on)) if all(on[n:])), None)
        if entry is None or entry > second:
            bad = bad or f"entry {entry}, {system}"
        elif not all(later for now, later in pairwise(on) if now):
            bad = bad or f"the manifold is left, {system}"
        else:
            ratio = max(ratio, Fraction(entry, second))
    return sampled(
        bad,
        ours=f"{trials} states of 2 to 4 classes, full memory or not: entered by the decode length "
        f"of the second class from the top at the latest (met exactly: {ratio == 1}), and kept",
        paper="after at most d = max l1 iterations",
        note="A mass off the proportions shows only at stages that two classes have, so d is never "
        "needed unless two classes share it.",
    )


SEED_LEMMA = 9


def _any_state(draw):
    """A system of a few classes, and masses by class and stage at or below capacity."""
    from fluidkv.exact.mass import memory_used
    from fluidkv.workload import RequestClass, System, Workload

    parts = [draw.randint(1, 5) for _ in range(draw.randint(2, 4))]
    classes = [
        RequestClass(draw.randint(1, 9), draw.randint(1, 6), Fraction(k, sum(parts))) for k in parts
    ]
    workload = Workload(tuple(classes))
    system = System(workload, workload.largest_footprint + draw.randint(1, 20))
    state = [[Fraction(draw.choice([0, 1, 2, 5])) for _ in range(c.decode_length)] for c in classes]
    state[0][0] += 1
    fill = Fraction(draw.randint(1, 4), 4) * system.capacity / memory_used(system, state)
    return system, [[x * fill for x in row] for row in state]


def _second_longest(system) -> int:
    return sorted(c.decode_length for c in system.workload.classes)[-2]


def _proportional(system, state) -> bool:
    """x_kj = p_k y_j at all stages."""
    rows = list(zip(system.workload.classes, state, strict=True))
    return all(
        len({row[j] / c.share for c, row in rows if j < len(row)}) == 1
        for j in range(system.workload.longest_decode)
    )


_RANGE = (
    "pairs (2, 3), (2, 7), (5, 9), (3, 8) with shares 1/20 ... 19/20; 200 starts and bursts each"
)

CLAIMS = (
    congestion(
        "theorem-3.1.count",
        "With a common divisor g of two decode lengths, g - 1 modes grow and the others decay, for "
        "all l0 from some length on.",
        "Theorem 3 (1)",
        _common_divisor_count,
        kind="theorem",
        checked="all pairs with a common divisor up to 12, p = 1/10, 1/2, 9/10, every l0",
    ),
    congestion(
        "theorem-3.1.leaves",
        "Then small perturbations of the equilibrium lead to eviction in finite time.",
        "Theorem 3 (1), last sentence",
        _small_perturbations_leave,
        kind="theorem",
        checked="(2, 6), (3, 6), (4, 6) at l0 = 50; 80 starts each",
    ),
    congestion(
        "theorem-3.2.returns-from-threshold",
        "For coprime decode lengths, the shorter at least 2, every start returns to the "
        "eviction-free equilibrium already at the smallest stable input length.",
        "Theorem 3 (2) and section 4.3, sharpened: from which l0 on",
        lambda: _returns([(1, 0), (1, 1)]),
        kind="theorem",
        checked=_RANGE,
    ),
    congestion(
        "theorem-22.returns",
        "For coprime decode lengths and long inputs every start returns to the eviction-free "
        "equilibrium.",
        "Theorem 22 and Theorem 3 (2)",
        lambda: _returns([(2, 0), (8, 0)]),
        kind="theorem",
        checked=f"twice and 8 times l0_min; {_RANGE}",
    ),
    congestion(
        "theorem-22.exponential",
        "The return is exponential: at the spectral radius once evictions have ended.",
        "Theorem 22",
        _exponential,
        kind="theorem",
        checked="(2, 3), p = 1/2 at l0 = 10 and p = 1/20 at l0 = 80; 103 starts each",
    ),
    congestion(
        "section-4-3.threshold-is-global",
        "Local stability is global: from the smallest stable input length on every start returns.",
        "section 4.3, l0_min taken for the threshold of Theorem 3 (2)",
        _threshold_is_global,
        kind="definition",
        expected=Verdict.FAILS,
        checked="the smallest input length of one pair",
    ),
    congestion(
        "section-4-3.threshold-is-global.equal-shares",
        "The same for decode lengths 1 and 12 in equal shares, where l0_min is 59.",
        "section 4.3, l0_min taken for the threshold of Theorem 3 (2)",
        _one_token_later,
        kind="definition",
        expected=Verdict.FAILS,
        checked="l0 = 59 and 60; 212 starts each",
    ),
    congestion(
        "lemma-9.entry",
        "From any feasible state the proportions of the classes hold at every stage after at most "
        "d iterations, and from then on.",
        "Lemma 9",
        _enters_manifold,
        kind="lemma",
        checked="150 random states, 2 to 4 classes, decode lengths up to 6; exact",
    ),
)
