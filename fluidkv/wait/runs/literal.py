"""The literal reference behind the interface of the fast engine."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from fluidkv.serving.clock import IterationClock
from fluidkv.serving.requests import Requests
from fluidkv.wait.policy import Policy
from fluidkv.wait.runs.history import PromptTimes
from fluidkv.wait.runs.reference import COUNTS, WaitEngine

NO_LIMIT = 2**62
"""Iterations of a run that goes on as long as it can."""

_EVERY_SO_OFTEN = 256  # iterations between two reports of progress
_PREEMPT = COUNTS.index("preempt")


class Outcome(NamedTuple):
    """One run, iteration by iteration.

    Fields:
        counts: ordered as `reference.COUNTS`. Evictions after the last iteration count in it.
        time: the clock at the end of each iteration.
        stuck: no batch can be formed any more, or batches go on for ever without completing a
            prompt.
        prompts: what became of each; None where nobody asked.
    """

    counts: Int[np.ndarray, "iteration count"]
    time: Float[np.ndarray, " iteration"]
    stuck: bool
    prompts: PromptTimes | None


def run_literally(
    requests: Requests,
    policy: Policy,
    clock: IterationClock,
    capacity: int | None,
    *,
    horizon: float,
    iterations: int,
    on_progress: Callable[[int], None] | None = None,
) -> Outcome:
    """One run through `reference.WaitEngine`; the arguments as `run_policy`.

    Where memory is short, prompts can evict each other for ever. A run without a horizon then ends
    when it is found to repeat itself.
    """
    engine = WaitEngine(requests, policy, clock, capacity)
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
        if on_progress is not None and len(rows) % _EVERY_SO_OFTEN == 0:
            on_progress(_EVERY_SO_OFTEN)
        if endless and engine.arrived == len(requests):
            # Nobody comes any more: what follows depends on who is where. A state that returns
            # will do so again, without a completion between. It is compared with one that is kept
            # for as many iterations as had passed before it, so that it meets any period.
            state = _state(engine)
            stuck = state == seen
            if stuck:
                break
            seen = state if len(rows).bit_count() == 1 or seen is None else seen
    if on_progress is not None:
        on_progress(len(rows) % _EVERY_SO_OFTEN)
    if engine.lost:  # somebody was inside, so that there is a last iteration
        rows[-1][_PREEMPT] += engine.lost
    counts = np.array(rows, np.int64).reshape(-1, len(COUNTS))
    return Outcome(counts, np.array(time), stuck, _prompts(engine))


_State = tuple[tuple[tuple[int, int], ...], tuple[int, ...]]


def _state(engine: WaitEngine) -> _State:
    """Who holds memory at which stage, and who waits; both in their order."""
    inside = tuple((prompt.index, prompt.stage) for prompt in engine.inside)
    return inside, tuple(prompt.index for prompt in engine.waiting)


def _prompts(engine: WaitEngine) -> PromptTimes:
    def column(name: str) -> np.ndarray:
        return np.array([getattr(prompt, name) for prompt in engine.all], np.float64)

    return PromptTimes(
        admitted=column("admitted_at"),  # None becomes NaN
        first_token=column("first_token_at"),
        last_token=column("last_token_at"),
        longest_gap=column("longest_gap"),
        evictions=np.array([prompt.evictions for prompt in engine.all]),
        outputs=np.array([max(0, prompt.stage - 1) for prompt in engine.all]),
        finished=np.array([prompt.finished for prompt in engine.all]),
    )
