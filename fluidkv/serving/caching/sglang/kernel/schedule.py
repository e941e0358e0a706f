"""The next pass: of requests that can be prefilled, if there are any, else of those that decode."""

from typing import Any

import numpy as np

from fluidkv.prefix.radix.kernel.layout import LRU
from fluidkv.runs.kernels import routine
from fluidkv.serving.caching.sglang.kernel.admission import fill
from fluidkv.serving.caching.sglang.kernel.layout import (
    ABORTED,
    ADMITTED,
    DECODE,
    DECODING,
    IDLE,
    MIXED,
    NONE,
    PASSING,
    PREFILL,
    RETRACTED,
    WAITING,
    Record,
    Space,
)
from fluidkv.serving.caching.sglang.kernel.memory import (
    grow,
    look,
    make_room,
    release,
)
from fluidkv.serving.caching.sglang.kernel.orders import (
    STAYS,
    STAYS_BY_PRIORITY,
    URGENT,
    sort,
)
from fluidkv.serving.caching.sglang.kernel.ratio import estimate, sink
from fluidkv.serving.kernel.budget import again, pairs
from fluidkv.serving.kernel.pool import note
from fluidkv.serving.sglang_settings import RETRACT_STEPS, TOUCH_EVERY, TOUCHED


@routine
def schedule(run: Record, space: Space) -> None:
    """The pass stands in the run: its mode, how many it is, and of them the first prefilled."""
    if run.pass_admitted > 0:
        _join(run, space)
    if run.left:
        run.left = 0
        _keep_those_who_decode(run, space, False)
    run.pass_mode, run.pass_size, run.pass_admitted = IDLE, 0, 0
    _prefill(run, space)
    if run.pass_mode == IDLE:
        _decode(run, space)


@routine
def into_queue(run: Record, space: Space, r: int) -> None:
    """It waits, behind all others."""
    places = space.places
    if run.tail == places.shape[1]:
        _to_front(run, space)
    places[WAITING, run.tail] = r
    run.tail += 1
    run.unsorted = run.by_priority


@routine
def _to_front(run: Record, space: Space) -> None:
    """The queue stands at the front of its row."""
    places = space.places
    for place in range(run.head, run.tail):
        places[WAITING, place - run.head] = places[WAITING, place]
    run.head, run.tail = 0, run.tail - run.head


# -------------------------------------------------------------------------------- those who decode


@routine
def _keep_those_who_decode(run: Record, space: Space, parting: bool) -> Any:
    """Who is done leaves; or, if they part, who has its last token in flight.

    The flag goes with whoever leaves. Returns how many are left out.
    """
    places, kept = space.places, 0
    for place in range(run.decoding):
        r = places[DECODING, place]
        request = space.requests[r]
        leaves = request.finished > 0
        if parting:
            flies = run.flying and request.flown == run.launched
            leaves = flies and request.outputs + 1 >= request.most
        if not leaves:
            places[DECODING, kept] = r
            kept += 1
    gone = run.decoding - kept
    run.cost += run.decoding
    run.decoding = kept
    if gone > 0:
        run.full = 0
    return gone


@routine
def _join(run: Record, space: Space) -> None:
    """Who was prefilled decodes from now on. The flag is that of the batch that stays."""
    requests, places, joined = space.requests, space.places, 0
    for place in range(run.pass_size):
        r = places[PASSING, place]
        if not (requests[r].finished or r == run.chunked or r == run.pass_chunked):
            places[DECODING, run.decoding + joined] = r
            joined += 1
    if joined < run.pass_size or (run.decoding == 0 and joined > 0):
        run.full = 0
    run.decoding += joined
    run.cost += run.pass_size


@routine
def _fits(run: Record, space: Space) -> Any:
    """Whether each who decodes can get one more token; what nobody uses of the tree goes for it."""
    pages = run.decoding
    if run.page > 1:
        pages = 0
        for place in range(run.decoding):
            pages += space.requests[space.places[DECODING, place]].slots % run.page == 0
    run.cost += run.decoding
    return make_room(run, space, pages * run.page)


@routine
def _next_tokens(run: Record, space: Space) -> None:
    """Places for them. In pages the source makes room for a page each."""
    make_room(run, space, run.decoding * run.page)
    for place in range(run.decoding):
        request = space.requests[space.places[DECODING, place]]
        grow(run, request, request.slots + 1)
    run.cost += run.decoding


@routine
def _decode(run: Record, space: Space) -> None:
    """One more token of each, if anybody decodes now."""
    before = run.decoding
    parted = _keep_those_who_decode(run, space, True)
    if run.decoding == 0:
        run.full = 0
        return
    fits = _fits(run, space)
    if parted > 0 and not fits:  # the memory of those who are ending is free in the next step
        return
    if fits:
        sink(run)
    else:
        _retract(run, space)
    if run.decoding < before:
        run.full = 0
    if run.decoding == 0:
        return
    _next_tokens(run, space)
    run.pass_mode, run.pass_size = DECODE, run.decoding


@routine
def _retract(run: Record, space: Space) -> None:
    """Who goes first, goes to the tail of the queue, one at a time, until all fits.

    At least one goes, and one stays: if it does not fit alone, it is aborted. Who stays is in the
    order of retraction from now on.
    """
    order = STAYS_BY_PRIORITY if run.least_urgent else STAYS
    sort(order, space, DECODING, run.decoding)
    run.cost += 16 * run.decoding
    fits = False
    while run.decoding > 1 and not fits:
        r = _last_goes(run, space)
        note(run, space, RETRACTED, r, 0, 0)
        run.retracted += 1
        fits = _fits(run, space)
    if run.decoding == 1 and not _fits(run, space):
        r = _last_goes(run, space)
        note(run, space, ABORTED, r, 0, 0)
        space.requests[r].aborted = 1
        run.gone += 1
    estimate(run, space)
    for place in range(run.noted):
        r = space.events[place].request
        if space.events[place].kind == RETRACTED:
            request = space.requests[r]
            request.evictions += 1
            if np.isnan(request.since):
                request.since = run.now
            into_queue(run, space, r)


@routine
def _last_goes(run: Record, space: Space) -> Any:
    """Nothing of it enters the tree. Room is made for some passes of those who are left."""
    run.decoding -= 1
    run.in_memory -= 1
    r = space.places[DECODING, run.decoding]
    request = space.requests[r]
    request.highest = max(request.highest, request.slots)
    release(run, space, request)
    make_room(run, space, run.decoding * RETRACT_STEPS)
    request.retracted, request.middle_chunks = 1, 0
    return r


# ----------------------------------------------------------------------------------------- prefill


@routine
def _prefill(run: Record, space: Space) -> None:
    """A pass of those who can be admitted, if there is anybody."""
    if run.decoding == 0:
        run.full = 0
    if run.chunked == NONE:
        if run.full or run.tail == run.head:
            return
        if run.max_running <= run.decoding:
            run.full = 1
            return
    if run.unsorted:
        _to_front(run, space)
        sort(URGENT, space, WAITING, run.tail)
        run.cost += 16 * run.tail
        run.unsorted = 0
    _touch(run, space)
    going_on = run.chunked
    fill(run, space)
    if run.admitted == 0:
        return
    _enter(run, space, going_on)
    run.pass_mode, run.pass_size, run.pass_admitted = PREFILL, run.admitted, run.admitted
    run.pass_chunked = run.chunked
    if run.mixed and run.decoding > 0:
        _mix(run, space)


@routine
def _touch(run: Record, space: Space) -> None:
    """Now and then those who wait touch their prefixes, the head of the queue last."""
    if run.tail == run.head or run.policy != LRU:
        return
    if run.attempts % TOUCH_EVERY == 0 and run.radix:
        for place in range(min(run.tail, run.head + TOUCHED) - 1, run.head - 1, -1):
            r = space.places[WAITING, place]
            look(run, space, r, space.requests[r].input + space.requests[r].outputs)
            run.cost += 20
    run.attempts += 1


@routine
def _enter(run: Record, space: Space, going_on: int) -> None:
    """They get their memory. In pages the source makes room for one more each."""
    computes = run.admitted * run.page if run.page > 1 else 0
    for place in range(run.admitted):
        request = space.requests[space.places[PASSING, place]]
        computes += request.end - request.prefix
    make_room(run, space, computes)
    for place in range(run.admitted):
        r = space.places[PASSING, place]
        request = space.requests[r]
        computed = request.end - request.prefix
        grow(run, request, request.end)
        run.prefill += computed
        run.pairs += pairs(request.prefix, computed)
        run.recomputed += again(computed, request.highest, request.prefix)
        request.highest = max(request.highest, request.end)
        note(run, space, ADMITTED, r, request.prefix, computed)
        if r == going_on:
            continue
        run.first += 1
        run.in_memory += 1
        run.hits += request.prefix
        run.resumed += request.retracted
        request.retracted = 0
        request.hit_tokens += request.prefix
        if np.isnan(request.admitted):
            request.admitted = run.now
            request.first_hit_tokens = request.prefix


@routine
def _mix(run: Record, space: Space) -> None:
    """Who decodes joins the pass, unless memory is short for that."""
    _keep_those_who_decode(run, space, True)
    if run.decoding > 0 and _fits(run, space):
        _next_tokens(run, space)
        for place in range(run.decoding):
            space.places[PASSING, run.pass_size + place] = space.places[DECODING, place]
        run.pass_mode = MIXED
        run.pass_size += run.decoding
        run.decoding = 0
