"""WAIT, beside Theorem 2: Nested WAIT where memory is short. The paper gives no rule for it.

The rule here is that of `fluidkv.wait.runs.reference`: newcomers that do not fit wait, the last
first; then whoever was admitted last loses its cache and starts again, whether it runs or pauses.
"""

from fractions import Fraction
from functools import cache
from itertools import product
from typing import NamedTuple

from fluidkv import runs, serving, wait
from fluidkv.ledger import Evidence, Finding, Origin, np
from fluidkv.wait.runs.reference import WaitEngine
from fluidkv_papers.wait.instances.nested import INSTANCE, NESTED
from fluidkv_papers.wait.instances.statistics import margin
from fluidkv_papers.wait.instances.systems import proposition_3
from fluidkv_papers.wait.paper import statements

CLAIMS = statements(origin=Origin.READING)

_RULE = "Newcomers that do not fit wait, then the last admitted is evicted and starts again."
_PLACE = "beside Theorem 2 (our own)"
_PROMPTS, _QUIET = 30, 60
_FLUID_MEMORY = 9


class Dead(NamedTuple):
    """n_1, n_2 and M of a run that came to complete nothing more; whether batches go on."""

    thresholds: tuple[int, int]
    capacity: int
    batches: bool

    def __str__(self) -> str:
        return f"n = {self.thresholds}, M = {self.capacity}"


def _engine(thresholds: tuple[int, int], capacity: int) -> WaitEngine:
    """l = 1, outputs of 2 that all come at the start, segments up to 1 and 2; d0 = 1, d1 = 0."""
    none = np.zeros(_PROMPTS)
    prompts = runs.Requests(1, np.full(_PROMPTS, 2), arrival=none, class_index=none.astype(int))
    policy, clock = wait.NestedWait((1, 2), thresholds), serving.IterationClock(1.0, 0.0)
    return WaitEngine(prompts, policy, clock, capacity)


def fate(thresholds: tuple[int, int], capacity: int) -> Dead | None:
    """Nothing completes in `_QUIET` iterations, or no batch fits though n_1 newcomers wait."""
    engine, quiet = _engine(thresholds, capacity), 0
    while quiet < _QUIET:
        step = engine.step()
        if step is None:
            more = len(engine.waiting) >= thresholds[0]  # else they only lack company
            return Dead(thresholds, capacity, batches=False) if more else None
        quiet = 0 if step["completed"] else quiet + 1
    return Dead(thresholds, capacity, batches=True)


@cache
def _found(most: int = 3) -> list[Dead]:
    """By capacity, then by thresholds; M from the largest prompt to M^pi = 3 n_1 + 3 n_2."""
    upto = range(1, most + 1)
    sizes = sorted(product(upto, upto), key=lambda n: (sum(n), n))
    tried = (
        fate(n, capacity)
        for capacity in range(3, 6 * most + 1)
        for n in sizes
        if capacity <= 3 * sum(n)
    )
    return [dead for dead in tried if dead is not None]


@CLAIMS.claim("theorem-2.short-memory.stops", _PLACE, kind="remark")
def _stops() -> Finding:
    """With less memory than M^pi, Nested WAIT may stop for ever while prompts wait.

    Checked: n_1, n_2 <= 3, from M = 3 on
    Paper: no rule is given"""
    dead = next((each for each in _found() if not each.batches), None)
    shown = dead and (
        f"{dead}: {dead.thresholds[1] - 1} prompts pause before segment 2 with 2 tokens "
        "each, and newcomers find no room"
    )
    return Finding(
        None if dead else "never",
        shown or "",
        note=f"Our own statement. {_RULE} Inputs of 1, outputs of 2, segments up to 1 and 2; (12) "
        "holds at low rates of arrival, and M is above M*, which vanishes with them.",
    )


@CLAIMS.claim("theorem-2.short-memory.circles", _PLACE, kind="remark")
def _circles() -> Finding:
    """With less memory than M^pi, Nested WAIT may also run for ever and complete nothing.

    Checked: n_1, n_2 <= 3, from M = 3 on
    Paper: no rule is given"""
    dead = next((each for each in _found() if each.batches), None)
    return Finding(
        None if dead else "never",
        f"{dead}: a newcomer is let in, evicted and let in again",
        note=f"Our own statement. {_RULE}",
    )


@CLAIMS.claim("theorem-2.short-memory.enough", _PLACE, evidence=Evidence.SAMPLED, kind="remark")
def _enough() -> Finding:
    """With M = M^pi Nested WAIT was not seen to stop, or to run and complete nothing, for ever.

    Checked: n_1, n_2 <= 3, M = 3 to M^pi
    Paper: no rule is given"""
    # Of those found, how near M comes to M^pi.
    found = _found()
    bad = next((each for each in found if each.capacity >= 3 * sum(each.thresholds)), None)
    nearest = max(found, key=lambda each: each.capacity / (3 * sum(each.thresholds)))
    return Finding(
        bad is None or str(bad),
        f"{len(found)} of them below; nearest {nearest}, M^pi = {3 * sum(nearest.thresholds)}",
        note=f"Our own statement. {_RULE} At most n_2 - 1 pause before segment 2 without a batch "
        "for it, which leaves room for segment 1.",
    )


@CLAIMS.claim(
    "theorem-2.short-memory.fluid",
    _PLACE,
    checked=f"{INSTANCE}: 6 runs of 600 d0",
    evidence=Evidence.SAMPLED,
    kind="remark",
)
def _at_fluid_memory() -> Finding:
    """With M = M* Nested WAIT evicts and falls below the best blind policy.

    Paper: no rule is given"""
    # M = M* = 9 with the least thresholds.
    system, rates, evicted = proposition_3(Fraction(1)), [], 0
    for seed in range(6):
        prompts = wait.poisson_prompts(system, rng=seed, horizon=600.0)
        policy = wait.NestedWait((1, 2), NESTED)
        engine, done = WaitEngine(prompts, policy, system.clock, _FLUID_MEMORY), 0
        while engine.now < 600 and (step := engine.step()) is not None:
            done += step["completed_outputs"]
            evicted += step["preempt"]
        rates.append(done / 600)
    mean, wide = sum(rates) / len(rates), margin(rates)
    return Finding(
        mean + wide < 2.7 and evicted > 0,
        f"{mean:.2f} ± {wide:.2f} of 3 output tokens per d0",
        note=f"Our own statement. {_RULE} {len(rates)} runs, ± what chance exceeds one time in a "
        "million (Student). Any blind policy has 2.706 at most (wait.proposition-5.gap); M^pi is "
        "15 with the least thresholds.",
    )
