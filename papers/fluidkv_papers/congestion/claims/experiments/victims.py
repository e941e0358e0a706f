"""What a victim rule can do about the growing modes: nothing before memory runs short, then little.

The paper evicts the least progressed and lets them start again. Here the mass model has other
victims, and evicted progress that is kept (`fluidkv_papers.theory.masses`). Statements are ours.
"""

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import pairwise, product

import numpy as np

from fluidkv import exact
from fluidkv.ledger import Evidence, Finding, Instance, Origin
from fluidkv.serving.rules import Keeps
from fluidkv.workload import RequestClass, System, Workload
from fluidkv_papers.congestion.paper import statements
from fluidkv_papers.theory.masses import (
    Course,
    Masses,
    Server,
    Trim,
    course,
    first_eviction,
    moved,
    nudged,
)

CLAIMS = statements(origin=Origin.READING, evidence=Evidence.SAMPLED)

_PLACE = "section 2.2, with other victims"
_NUDGES = tuple(Fraction(n, 7) for n in (7, -6, 3, 2, -5))
_ONE_CLASS = ((2, 4), (5, 6), (20, 5), (3, 8))
_TURNS = 80  # lifetimes in a run, an even number; a start at random takes some ten to collapse
_SAME = 1e-6
"""Floats of some thousand steps against an exact rate."""
_SWINGS = 3.0
"""Completions of an iteration that differ by three times x* are no settling."""


def _system(*lengths: tuple[int, int]) -> System:
    share = Fraction(1, len(lengths))
    return System(Workload(tuple(RequestClass(i, o, share) for i, o in lengths)), 1000)


_ONE, _PAIR = _system((10, 10)), _system((10, 10), (10, 20))
_BOTH = {"{10}": _ONE, "{10, 20}": _PAIR}


@cache
def _from_near(name: str, trim: Trim, keeps: Keeps) -> Course:
    """From 1 % off the equilibrium, sixty turns of the longest lifetime."""
    system = _BOTH[name]
    start = nudged(system, [float(n) for n in _NUDGES], 0.01)
    return course(Server(system, trim, keeps), start, iterations=1200)


@CLAIMS.claim("victims.linearisation", _PLACE)
def _one_linearisation() -> Iterator[Instance]:
    """Until memory first runs short, no victim rule is told from another, and so none removes a
    growing mode.

    Checked: six orders, progress kept and lost, four systems near their equilibria, in rationals
    Ours: the same states; first eviction in iteration {list}
    Paper: -"""
    for lengths in (((2, 4),), ((5, 3), (2, 6)), ((1, 4), (9, 2)), ((10, 7),)):
        system = _system(*lengths)
        start = nudged(system, _NUDGES, Fraction(1, 100))
        servers = [Server(system, trim, keeps) for trim, keeps in product(Trim, Keeps)]
        ends = {first_eviction(server, start, iterations=80) or 80 for server in servers}
        runs = [_states(server, start, min(ends)) for server in servers]
        same = len(ends) == 1 and all(run == runs[0] for run in runs)
        yield Instance(same, str(max(ends)), f"{lengths}: first evictions at {sorted(ends)}")


def _states(server: Server, state: Masses, iterations: int) -> list[Masses]:
    states = [state]
    for _ in range(iterations):
        states.append(moved(server, states[-1]).state)
    return states


@CLAIMS.claim("victims.one-class", _PLACE)
def _one_class_ends_the_same() -> Iterator[Instance]:
    """One class whose evicted start again ends at the worst cycle, M / (l1 (l0 + l1)), whoever
    goes.

    Checked: least and most progressed, and in proportion; four classes; from 3 starts at random
    Ours: off by {max:.0e} x* at most
    Paper: the worst cycle"""
    orders = (Trim.LEAST_PROGRESSED, Trim.MOST_PROGRESSED, Trim.IN_PROPORTION)
    for (l0, l1), trim in product(_ONE_CLASS, orders):
        system = _system((l0, l1))
        worst = Fraction(1000, l1 * (l0 + l1)) / exact.eviction_free_equilibrium(system).rate
        for state in _at_random(l0, l1, 3):
            found = course(Server(system, trim), state, iterations=_TURNS * l1)
            off = abs(found.throughput - float(worst))
            bad = f"l0 = {l0}, l1 = {l1}, {trim.name}: {found.throughput:.4f} x*"
            yield Instance(off <= _SAME, off, bad)


def _at_random(l0: int, l1: int, count: int) -> Iterator[Masses]:
    weights = l0 + 1 + np.arange(l1)
    for seed in range(count):
        masses = np.random.default_rng(seed).exponential(1, l1)
        yield [(masses * 1000 / (weights @ masses)).tolist()]


@CLAIMS.claim("victims.kept", _PLACE)
def _kept_progress_still_swings() -> Finding:
    """Where the evicted keep their progress, every rule completes x* an iteration, to 2 %, and none
    settles.

    Checked: six orders; outputs of 10, and of 10 and 20; from 1 % off the equilibrium
    Paper: a cycle"""
    bad, rates, swings = None, [], []
    for name, trim in product(_BOTH, Trim):
        found = _from_near(name, trim, Keeps.OUTPUTS)
        rates.append(found.throughput)
        swings.append(found.swing)
        if found.throughput < 0.98 or found.swing < _SWINGS:
            bad = bad or f"{name}, {trim.name}: {found.throughput:.3f} x*, swing {found.swing:.1f}"
    return Finding(
        bad,
        f"{min(rates):.3f} x* or more; completions of an iteration differ by {min(swings):.1f} to "
        f"{max(swings):.1f} x*",
    )


@CLAIMS.claim("victims.kept.tax", _PLACE)
def _rules_cheapen() -> Iterator[Instance]:
    """Where the evicted keep their progress, the rules differ in the recompute tax alone, and there
    by a third at most.

    Checked: six orders; outputs of 10, and of 10 and 20; from 1 % off the equilibrium
    Paper: -"""
    for name in _BOTH:
        taxes = [_from_near(name, trim, Keeps.OUTPUTS).tax for trim in Trim]
        shown = f"{name}: {min(taxes):.1%} to {max(taxes):.1%}"
        yield Instance(max(taxes) <= 4 / 3 * min(taxes), shown)


@CLAIMS.claim("victims.mix.starved", _PLACE)
def _the_longer_class_starves() -> Finding:
    """Where the evicted start again, most progressed and longest remaining leave the longer class
    less than a fifth of its share.

    Checked: outputs of 10 and 20, half each; from 1 % off the equilibrium
    Paper: -"""
    found = {trim: _from_near("{10, 20}", trim, Keeps.NOTHING).of_class for trim in Trim}
    low = {Trim.MOST_PROGRESSED, Trim.MOST_COMPUTED, Trim.LONGEST_REMAINING}
    starved = {trim for trim, (_, longer) in found.items() if longer < 0.2}
    shown = ", ".join(f"{t.name.lower()} {found[t][0]:.2f} and {found[t][1]:.2f}" for t in Trim)
    bad = None if starved == low else shown
    return Finding(bad, f"completions over shares: {shown}")


@CLAIMS.claim("victims.rate-limit", "section 5.1, with other victims")
def _a_cap_settles() -> Iterator[Instance]:
    """A cap of x* on admission ends the swing and the evictions under every victim rule.

    Checked: six orders, progress kept and lost; outputs of 10, and of 10 and 20; 1 % off
    Ours: x* completed; swing and evictions of {max:.0e} x* at most
    Paper: x*"""
    for (name, system), trim, keeps in product(_BOTH.items(), Trim, Keeps):
        rate = float(exact.eviction_free_equilibrium(system).rate)
        start = nudged(system, [float(n) for n in _NUDGES], 0.01)
        found = course(Server(system, trim, keeps, cap=rate), start, iterations=200)
        most = max(found.swing, found.evicted)
        settles = most <= _SAME and found.throughput >= 1 - _SAME
        yield Instance(settles, most, f"{name}, {trim.name}: {found}")


@CLAIMS.claim("victims.watermark", _PLACE)
def _a_watermark_does_not_settle() -> Finding:
    """A watermark lets the swing and the worst rate stand, and takes some of the recomputing away.

    Checked: outputs of 10 that start again; watermarks 0, 0.1, 0.2, 0.3; from 1 % off
    Paper: -"""
    start = nudged(_ONE, [float(n) for n in _NUDGES], 0.01)
    found = [
        course(Server(_ONE, watermark=share), start, iterations=1200)
        for share in (0.0, 0.1, 0.2, 0.3)
    ]
    same = all(abs(c.throughput - found[0].throughput) < _SAME for c in found)
    swings = all(c.swing > _SWINGS for c in found)
    falls = all(a.tax > b.tax for a, b in pairwise(found))
    shown = ", ".join(f"{c.throughput:.3f} x* at a tax of {c.tax:.1%}" for c in found)
    return Finding(None if same and swings and falls else shown, shown)
