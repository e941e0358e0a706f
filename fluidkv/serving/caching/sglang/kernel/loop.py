"""A run of SGLang's scheduler: arrivals, a pass, its tokens.

The page to compare with SGLang's source: called as plain Python it is the literal scheduler, and
compiled the fast one. An iteration is one pass of the model, or an idle one:

    schedule   who was prefilled joins the decode batch; then a prefill pass if anybody can be
               admitted, else a decode pass, for which requests are retracted until it fits
    run        the clock goes on
    results    tokens are there; who is done leaves, and its tokens enter the tree

With `overlap` the results are those of the pass before, so that a pass is scheduled without them.
Compiled, sums alone change while nobody comes, goes or is tried (`glide`).
"""

import numpy as np

from fluidkv.runs.kernels import inner, kernel, routine
from fluidkv.serving.caching.sglang.kernel.admission import needed_alone
from fluidkv.serving.caching.sglang.kernel.counting import begin_pass, count, passes, show
from fluidkv.serving.caching.sglang.kernel.glide import glides, settle
from fluidkv.serving.caching.sglang.kernel.layout import (
    DECODING,
    ENDED,
    FINISHED,
    FLYING,
    FULL,
    IDLE,
    NONE,
    PASSING,
    SHORT,
    TIRED,
    WAITING,
    Record,
    Records,
    Space,
)
from fluidkv.serving.caching.sglang.kernel.memory import (
    found,
    release,
    store,
)
from fluidkv.serving.caching.sglang.kernel.ratio import reset
from fluidkv.serving.caching.sglang.kernel.schedule import into_queue, schedule
from fluidkv.serving.kernel.pool import note
from fluidkv.serving.sglang_settings import TOUCHED

_NODES = 6
"""More than an iteration makes for a request: one where it is tried; where it is kept, one where
the tree parts from it, one where its prompt ends, and a leaf."""


@kernel
def offer(runs: Records, space: Space, r: int) -> None:
    """A request joins the queue; the clock of an idle server goes on to its arrival."""
    _come(runs[0], space, r)


@kernel
def found_tokens(runs: Records, space: Space, r: int) -> int:
    """Tokens of a request's prompt that it would find now."""
    return found(runs[0], space, r)


@kernel
def write_down(runs: Records, space: Space) -> None:
    """At those who decode stands how far they are."""
    settle(runs[0], space)


@kernel
def advance(
    runs: Records,
    space: Space,
    counts: np.ndarray,
    time: np.ndarray,
    horizon: int,
    every: int,
    most: int,
    until: float,
) -> int:
    """An iteration and more, until the run ends, or what is asked for.

    Args:
        counts, time: rows, a window each: (row, count) and (row,).
        horizon: iterations of the run.
        every: of a window.
        most: cost after which the call returns.
        until: the clock after which it does.

    Returns:
        `ENDED`, `FULL`, `TIRED` or `SHORT`.
    """
    run, cost = runs[0], 0
    while True:
        if run.open == 0:
            if run.row == time.size:
                return FULL
            counts[run.row] = 0
            run.open = 1
        if run.offered == 0:
            _arrive(run, space)
        if run.radix and run.spare_nodes < TOUCHED + _NODES * (1 + run.arrived - run.done):
            return SHORT
        run.cost = 8
        if not glides(run, space, counts[run.row]):
            _iterate(run, space, counts[run.row])
        time[run.row] = run.now
        if run.iteration % every == 0:
            run.row += 1
            run.open = 0
        cost += run.cost
        if run.iteration >= horizon or run.now >= until or _ends(run, space):
            break
        if cost > most:
            return TIRED
    run.row += run.open
    run.open = 0
    return ENDED


@routine
def _ends(run: Record, space: Space) -> bool:
    """All are served; or whoever waits first has grown past what is ever admitted.

    What is offered its requests ends where nothing goes on; any other also where all that is left
    was aborted.
    """
    run.stuck = 0
    if run.in_memory == 0 and run.tail > run.head:
        run.stuck = needed_alone(run, space.requests[space.places[WAITING, run.head]]) > run.tokens
    if run.offered:
        return run.stuck > 0 or _idle(run)
    if run.done == run.requests and run.aborted > 0:
        run.stuck = 1
    return run.stuck > 0 or run.done == run.requests


@inner
def _idle(run: Record) -> bool:
    """Nothing runs and nothing waits."""
    waits = run.tail > run.head or run.chunked != NONE
    return not (waits or run.flying or run.in_memory > 0)


# -------------------------------------------------------------------------------------- who comes


@routine
def _arrive(run: Record, space: Space) -> None:
    """Who has come, or is next where nothing goes on and the clock need not tick until then."""
    while run.arrived < run.requests:
        request = space.requests[run.arrived]
        if run.clients > 0:
            if run.arrived >= run.clients + run.done:
                return
            request.arrival = run.now
        elif request.arrival > run.now and not (run.jumps and _idle(run)):
            return
        _come(run, space, run.arrived)


@routine
def _come(run: Record, space: Space, r: int) -> None:
    if _idle(run) and space.requests[r].arrival > run.now:
        run.now = space.requests[r].arrival
        run.pass_mode, run.pass_size, run.pass_admitted = IDLE, 0, 0
        run.decoding = run.full = run.left = 0
        reset(run)
    into_queue(run, space, r)
    run.arrived += 1


# --------------------------------------------------------------------------------- one iteration


@routine
def _iterate(run: Record, space: Space, counts: np.ndarray) -> None:
    """One iteration; `counts`, as `seen.COUNTS`, are added to."""
    run.cost += 24
    settle(run, space)
    counts[0] += run.in_memory
    begin_pass(run)
    _keep_chunk(run, space)
    schedule(run, space)
    extends = run.pass_admitted > 0
    held = _held(run, space, extends)
    in_memory = run.decoding + (run.pass_size if extends else 0)
    count(run, counts, in_memory, held)
    show(run)
    _run(run, space, held)
    landed = run.flying  # with overlap, the pass before
    if landed:
        _land(run, space)
    if run.pass_mode != IDLE:
        _launch(run, space, extends)
        if not run.overlap:
            _land(run, space)
    elif not landed and _rests(run):
        reset(run)
    run.done += run.finished + run.gone
    run.aborted += run.gone
    counts[7] += run.finished
    counts[13] += run.emitted
    run.iteration += 1


@routine
def _keep_chunk(run: Record, space: Space) -> None:
    """What the prompt that goes on has computed enters the tree."""
    if run.chunked != NONE:
        request = space.requests[run.chunked]
        if request.end > request.prefix:
            keep(run, space, run.chunked)


@routine
def keep(run: Record, space: Space, r: int) -> None:
    """What a request has computed enters the tree; it runs on."""
    request = space.requests[r]
    store(run, space, r, request.end)
    request.prefix = request.end


@inner
def _rests(run: Record) -> bool:
    waits = run.tail > run.head or run.chunked != NONE
    return not (waits or run.flying or run.decoding > 0)


@routine
def _held(run: Record, space: Space, extends: bool) -> int:
    """Tokens of those who decode and, where prompts are extended, of those in the pass."""
    held = 0
    for place in range(run.decoding):
        held += space.requests[space.places[DECODING, place]].slots
    if extends:
        for place in range(run.pass_size):
            held += space.requests[space.places[PASSING, place]].slots
    run.cost += run.decoding + run.pass_size
    return held


@routine
def _run(run: Record, space: Space, held: int) -> None:
    """A pass lasts what it costs; an idle one nothing, or a tick of the theory's clock."""
    if run.pass_mode != IDLE:
        passes(run, held, run.pass_size - run.admitted)
    elif not run.jumps:
        run.now += run.base


@routine
def _launch(run: Record, space: Space, extends: bool) -> None:
    """Its tokens are in flight."""
    run.launched += 1
    run.flying, run.flight_ended = 1, run.now
    run.flight_size, run.flight_admitted = run.pass_size, run.pass_admitted
    row = PASSING if extends else DECODING
    for place in range(run.pass_size):
        r = space.places[row, place]
        space.places[FLYING, place] = r
        space.requests[r].flown = run.launched
    run.cost += run.pass_size


@routine
def _land(run: Record, space: Space) -> None:
    """The tokens of the pass in flight. Who was retracted meanwhile loses its token."""
    run.flying = 0
    for place in range(run.flight_size):
        r = space.places[FLYING, place]
        request = space.requests[r]
        if request.middle_chunks > 0:
            request.middle_chunks -= 1
            continue
        if request.finished or request.retracted:
            continue
        _emit(request, run.flight_ended)
        run.emitted += 1
        if request.outputs == request.target:
            store(run, space, r, min(request.slots, request.input + request.outputs))
            release(run, space, request)
            note(run, space, FINISHED, r, 0, 0)
            request.finished = run.left = 1
            run.finished += 1
            run.in_memory -= 1
            run.cost += 40
        elif place < run.flight_admitted:
            keep(run, space, r)
            run.cost += 40
    run.cost += 4 * run.flight_size


@inner
def _emit(request: Record, now: float) -> None:
    """One more output is known; it was there at this time."""
    request.outputs += 1
    if np.isnan(request.last_token):
        request.first_token = now
    else:
        request.longest_gap = max(request.longest_gap, now - request.last_token)
    request.last_token = now
    if not np.isnan(request.since):
        request.halted += now - request.since
        request.since = np.nan
