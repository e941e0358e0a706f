"""The literal reference behind the interface of the fast engine."""

import math

import numpy as np

from fluidkv.runs.batch import Watch
from fluidkv.runs.records import Outcome, times_of
from fluidkv.runs.requests import Requests
from fluidkv.serving.clock import IterationClock
from fluidkv.wait.policy import Policy
from fluidkv.wait.runs.reference import COUNTS, WaitEngine

NO_LIMIT = 2**62
"""Iterations of a run that goes on as long as it can."""

_EVERY_SO_OFTEN = 256  # iterations between two reports of progress
_PREEMPT = COUNTS.index("preempt")


def run_literally(
    requests: Requests,
    policy: Policy,
    clock: IterationClock,
    capacity: int | None,
    *,
    horizon: float,
    iterations: int,
    watch: Watch | None = None,
) -> Outcome:
    """One run through `reference.WaitEngine`; the arguments as `run_policy`.

    Where memory is short, prompts can evict each other for ever. A run without a horizon then ends
    when it is found to repeat itself: it is stuck, as where no batch can be formed any more.
    Evictions after the last iteration count in it.
    """
    engine, watch = WaitEngine(requests, policy, clock, capacity), watch or Watch()
    endless = capacity is not None and horizon == math.inf and iterations == NO_LIMIT
    seen: _State | None = None
    rows: list[list[int]] = []
    time: list[float] = []
    stuck = False
    while len(rows) < iterations:
        batch = engine.select(horizon=horizon)
        stuck = batch is None
        if not batch:
            break
        rows.append(list(engine.execute(batch).values()))
        time.append(engine.now)
        if len(rows) % _EVERY_SO_OFTEN == 0:
            watch.report(_EVERY_SO_OFTEN, 0)
        if endless and engine.arrived == len(requests):
            # Nobody comes any more: what follows depends on who is where. A state that returns
            # will do so again, without a completion between. It is compared with one that is kept
            # for as many iterations as had passed before it, so that it meets any period.
            state = _state(engine)
            stuck = state == seen
            if stuck:
                break
            seen = state if len(rows).bit_count() == 1 or seen is None else seen
    watch.report(len(rows) % _EVERY_SO_OFTEN, sum(prompt.finished for prompt in engine.all))
    if engine.lost:  # somebody was inside, so that there is a last iteration
        rows[-1][_PREEMPT] += engine.lost
    counts = np.array(rows, np.int64).reshape(-1, len(COUNTS))
    prompts = times_of(engine.all, [max(0, prompt.stage - 1) for prompt in engine.all])
    return Outcome(counts, np.array(time), int(prompts.finished.sum()), stuck, prompts)


_State = tuple[tuple[tuple[int, int], ...], tuple[int, ...]]


def _state(engine: WaitEngine) -> _State:
    """Who holds memory at which stage, and who waits; both in their order."""
    inside = tuple((prompt.index, prompt.stage) for prompt in engine.inside)
    return inside, tuple(prompt.index for prompt in engine.waiting)
