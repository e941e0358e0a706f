"""Decode passes in which no request joins, leaves, is tried or evicted: only sums change.

How far those who decode are is written at them when something else happens. The literal scheduler
does without, and looks at each in every pass.
"""

import numpy as np

from fluidkv.runs.kernels import inner, routine
from fluidkv.serving.caching.sglang.kernel.counting import begin_pass, count, passes, show
from fluidkv.serving.caching.sglang.kernel.layout import (
    DECODE,
    DECODING,
    NONE,
    PHASES,
    Record,
    Space,
)
from fluidkv.serving.caching.sglang.kernel.ratio import sink

_SPARE = 2**62


@inner
def glides(run: Record, space: Space, counts: np.ndarray) -> bool:
    """A decode pass in which nobody joins, leaves, is tried or evicted costs as little as this.

    How far those who decode are is written down later. Returns False where it is no such pass.
    """
    if not run.glides:
        return False
    waits = run.tail > run.head and not run.full
    if waits or run.left or run.chunked != NONE or run.decoding == 0 or run.pass_admitted > 0:
        return False
    if run.available < run.decoding * run.page:
        return False
    if run.overlap and (not run.flying or run.pass_mode != DECODE):
        return False
    if run.spare == 0:
        settle(run, space)
        _look_ahead(run, space)
        if run.spare == 0:
            return False
    run.spare -= 1
    sink(run)
    needs_page = -run.glided % run.page
    run.glided += 1
    run.available -= space.places[PHASES, needs_page] * run.page
    run.held += run.decoding
    run.pass_mode, run.pass_size = DECODE, run.decoding
    begin_pass(run)
    counts[0] += run.in_memory
    count(run, counts, run.decoding, run.held)
    show(run)
    passes(run, run.held, run.decoding)
    landed = run.now
    if run.overlap:
        landed = run.flight_ended
        run.flight_ended = run.now
    if run.glided == 1:
        run.first_landing, run.longest_gap = landed, 0.0
    else:
        run.longest_gap = max(run.longest_gap, landed - run.last_landing)
    run.last_landing = landed
    counts[13] += run.decoding
    run.iteration += 1
    return True


@routine
def _look_ahead(run: Record, space: Space) -> None:
    """How many passes come before somebody is done; what those who decode hold, by phase."""
    spare, run.held = _SPARE, 0
    for phase in range(run.page):
        space.places[PHASES, phase] = 0
    for place in range(run.decoding):
        request = space.requests[space.places[DECODING, place]]
        spare = min(spare, request.target - request.outputs - 1)
        run.held += request.slots
        space.places[PHASES, request.slots % run.page] += 1
    run.spare = spare
    run.cost += 2 * run.decoding + run.page


@routine
def settle(run: Record, space: Space) -> None:
    """At those who decode stands how far they are; what comes is looked at anew."""
    if run.glided > 0:
        for place in range(run.decoding):
            request = space.requests[space.places[DECODING, place]]
            request.slots += run.glided
            request.outputs += run.glided
            gap = max(run.first_landing - request.last_token, run.longest_gap)
            request.longest_gap = max(request.longest_gap, gap)
            request.last_token = run.last_landing
        run.cost += 2 * run.decoding
        run.glided = 0
    run.spare = 0
