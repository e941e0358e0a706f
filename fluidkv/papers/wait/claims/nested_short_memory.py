"""WAIT, beside Theorem 2: Nested WAIT where memory is short. The paper gives no rule for it.

The rule here is that of `fluidkv.wait.runs.reference`: newcomers that do not fit wait, the last
first; then whoever was admitted last loses its cache and starts again, whether it runs or pauses.
"""

from collections.abc import Iterator
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

from fluidkv.ledger.claim import Claim, Outcome
from fluidkv.ledger.outcomes import holds_for, verdict
from fluidkv.papers.wait.claims._systems import margin
from fluidkv.papers.wait.claims.nested_instances import INSTANCE, NESTED
from fluidkv.papers.wait.paper import wait
from fluidkv.verdict import Evidence

if TYPE_CHECKING:
    from fluidkv.wait.runs.reference import WaitEngine

_RULE = "Newcomers that do not fit wait, then the last admitted is evicted and starts again."
_PROMPTS, _QUIET = 30, 60
_FLUID_MEMORY = 9


class _Dead(NamedTuple):
    """n_1, n_2 and M of a run that came to complete nothing more; whether batches go on."""

    thresholds: tuple[int, int]
    capacity: int
    batches: bool


def _engine(thresholds: tuple[int, int], capacity: int) -> "WaitEngine":
    """l = 1, outputs of 2 that all come at the start, segments up to 1 and 2; d0 = 1, d1 = 0."""
    import numpy as np

    from fluidkv.runs.requests import Requests
    from fluidkv.serving.clock import IterationClock
    from fluidkv.wait.policy import NestedWait
    from fluidkv.wait.runs.reference import WaitEngine

    none = np.zeros(_PROMPTS)
    prompts = Requests(1, np.full(_PROMPTS, 2), arrival=none, class_index=none.astype(int))
    return WaitEngine(prompts, NestedWait((1, 2), thresholds), IterationClock(1.0, 0.0), capacity)


def _fate(thresholds: tuple[int, int], capacity: int) -> _Dead | None:
    """Nothing completes in `_QUIET` iterations, or no batch fits though n_1 newcomers wait."""
    engine, quiet = _engine(thresholds, capacity), 0
    while quiet < _QUIET:
        step = engine.step()
        if step is None:
            more = len(engine.waiting) >= thresholds[0]  # else they only lack company
            return _Dead(thresholds, capacity, batches=False) if more else None
        quiet = 0 if step["completed"] else quiet + 1
    return _Dead(thresholds, capacity, batches=True)


def _found(most: int = 3) -> Iterator[_Dead]:
    """By capacity, then by thresholds; M from the largest prompt to M^pi = 3 n_1 + 3 n_2."""
    pairs = ((a, b) for a, b in product(range(1, most + 1), repeat=2))
    sizes = sorted(pairs, key=lambda n: (sum(n), n))
    for capacity in range(3, 6 * most + 1):
        for n in sizes:
            dead = _fate(n, capacity) if capacity <= 3 * sum(n) else None
            if dead is not None:
                yield dead


def _shown(dead: _Dead) -> str:
    return f"n = {dead.thresholds}, M = {dead.capacity}"


def _stops() -> Outcome:
    dead = next((each for each in _found() if not each.batches), None)
    shown = dead and (
        f"{_shown(dead)}: {dead.thresholds[1] - 1} prompts pause before segment 2 with 2 tokens "
        "each, and newcomers find no room"
    )
    return holds_for(
        None if dead else "never",
        ours=shown or "",
        paper="no rule is given",
        note=f"Our own statement. {_RULE} Inputs of 1, outputs of 2, segments up to 1 and 2; (12) "
        "holds at low rates of arrival, and M is above M*, which vanishes with them.",
    )


def _circles() -> Outcome:
    dead = next((each for each in _found() if each.batches), None)
    return holds_for(
        None if dead else "never",
        ours=f"{_shown(dead)}: a newcomer is let in, evicted and let in again" if dead else "",
        paper="no rule is given",
        note=f"Our own statement. {_RULE}",
    )


def _enough() -> Outcome:
    """Of those found, how near M comes to M^pi."""
    found = list(_found())
    bad = next((each for each in found if each.capacity >= 3 * sum(each.thresholds)), None)
    nearest = max(found, key=lambda each: each.capacity / (3 * sum(each.thresholds)))
    return holds_for(
        None if bad is None else _shown(bad),
        ours=f"{len(found)} of them below; nearest {_shown(nearest)}, M^pi = "
        f"{3 * sum(nearest.thresholds)}",
        paper="no rule is given",
        note=f"Our own statement. {_RULE} At most n_2 - 1 pause before segment 2 without a batch "
        "for it, which leaves room for segment 1.",
        evidence=Evidence.SAMPLED,
    )


def _at_fluid_memory() -> Outcome:
    """M = M* = 9 with the least thresholds."""
    from fluidkv.serving.clock import IterationClock
    from fluidkv.wait.model import PromptType, WaitSystem
    from fluidkv.wait.policy import NestedWait
    from fluidkv.wait.runs.arrivals import poisson_prompts
    from fluidkv.wait.runs.reference import WaitEngine

    system = WaitSystem([PromptType(1, 1, 1), PromptType(1, 1, 2)], 1, 0)
    policy, rates = NestedWait((1, 2), NESTED), []
    for seed in range(6):
        prompts = poisson_prompts(system, rng=seed, horizon=600.0)
        engine = WaitEngine(prompts, policy, IterationClock(1.0, 0.0), _FLUID_MEMORY)
        done = 0
        while engine.now < 600 and (step := engine.step()) is not None:
            done += step["completed_outputs"]
        rates.append(done / 600)
    mean, wide = sum(rates) / len(rates), margin(rates)
    return Outcome(
        verdict(mean + wide < 2.7),
        Evidence.SAMPLED,
        ours=f"{mean:.2f} ± {wide:.2f} of 3 output tokens per d0",
        paper="no rule is given",
        note=f"Our own statement. {_RULE} {len(rates)} runs, ± what chance exceeds one time in a "
        "million (Student). Any blind policy has 2.706 at most (wait.proposition-5.gap); M^pi is "
        "15 with the least thresholds.",
    )


CLAIMS: tuple[Claim, ...] = (
    wait(
        "theorem-2.short-memory.stops",
        "With less memory than M^pi, Nested WAIT may stop for ever while prompts wait.",
        "beside Theorem 2 (our own)",
        _stops,
        kind="remark",
        checked="n_1, n_2 <= 3, from M = 3 on",
    ),
    wait(
        "theorem-2.short-memory.circles",
        "With less memory than M^pi, Nested WAIT may also run for ever and complete nothing.",
        "beside Theorem 2 (our own)",
        _circles,
        kind="remark",
        checked="n_1, n_2 <= 3, from M = 3 on",
    ),
    wait(
        "theorem-2.short-memory.enough",
        "With M = M^pi Nested WAIT was not seen to stop, or to run and complete nothing, for ever.",
        "beside Theorem 2 (our own)",
        _enough,
        kind="remark",
        checked="n_1, n_2 <= 3, M = 3 to M^pi",
    ),
    wait(
        "theorem-2.short-memory.fluid",
        "With M = M* Nested WAIT evicts and falls below the best blind policy.",
        "beside Theorem 2 (our own)",
        _at_fluid_memory,
        kind="remark",
        checked=f"{INSTANCE}: 6 runs of 600 d0",
    ),
)
