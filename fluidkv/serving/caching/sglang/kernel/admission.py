"""Which requests may join a prefill pass: SGLang's reservation of memory, the tokens of the pass.

A request fits if what it computes, what it may still emit and a page are *less* than what is left
of free memory past the reservation: a share of what those who run may still emit, and all of it for
those who were admitted in the same pass. The pass stands in the run while it is put together, its
requests in the list `PASSING`.
"""

from typing import Any

from fluidkv.runs.kernels import inner, routine
from fluidkv.serving.caching.sglang.kernel.layout import (
    DECODING,
    GO_ON,
    NO_MEMORY,
    NONE,
    PASSING,
    RELEASES,
    SPENT,
    WAITING,
    Record,
    Space,
)
from fluidkv.serving.caching.sglang.kernel.memory import (
    find,
    free_tokens,
    in_pages,
    lock_prefix,
    unlock_prefix,
)
from fluidkv.serving.caching.sglang.kernel.orders import SOON_DONE, sort

_KEPT = 1  # tokens for each request that runs on, where all ignore the end of text


@routine
def fill(run: Record, space: Space) -> None:
    """The prompt that goes on, and from the head of the queue who fits; these leave it."""
    _begin(run, space)
    if run.chunked != NONE:
        run.chunked = _go_on(run, space, run.chunked)
    while run.tail > run.head and _verdict(run) != SPENT:
        if run.full or run.admitted >= run.max_running - run.decoding:
            run.full = 1
            break
        r, before = space.places[WAITING, run.head], run.admitted
        find(run, space, r)
        verdict = _add(run, space, r)
        run.cost += 20
        if run.admitted > before:
            run.head += 1
        if verdict == NO_MEMORY:
            run.full = run.admitted > 0 or run.decoding > 0
        if verdict != GO_ON:
            break
    if run.cut != NONE:
        run.chunked = run.cut
    if run.chunked != NONE and run.admitted > 0:
        space.requests[run.chunked].middle_chunks += 1


@inner
def may_emit(run: Record, request: Record) -> Any:
    """Outputs that may still come, as far as they count."""
    return min(request.most - request.outputs, run.clip)


@routine
def needed_alone(run: Record, request: Record) -> Any:
    """Tokens of memory in which it is admitted alone, as `table.tokens_alone`."""
    if not run.known:
        held = request.input + request.outputs
        return held + max(may_emit(run, request), 0) + run.page + 1
    rounded = 0
    for emitted in range(min(request.target, run.page)):
        rounded = max(rounded, in_pages(run, request.input + emitted) - emitted)
    return rounded + request.most + run.page + 2


@routine
def _begin(run: Record, space: Space) -> None:
    """Nobody is in it; memory is reserved for who decodes, added up in their order."""
    beside = run.decoding if run.mixed else 0
    run.reserved = beside + shares(run, space)
    run.at_once = beside
    run.prompt_left = run.prefill_tokens - beside
    run.chunk_left = run.chunk - beside  # means nothing where prompts are not cut
    run.admitted, run.cut, run.releases = 0, NONE, NONE


@inner
def shares(run: Record, space: Space) -> Any:
    """Of each who decodes a share of what it may still emit, in floats, as the source adds up."""
    ratio = 1.0 if run.in_full else run.ratio
    total = 0.0
    for place in range(run.decoding):
        total += may_emit(run, space.requests[space.places[DECODING, place]]) * ratio
    run.cost += run.decoding
    return total


@inner
def charge(run: Record, tokens: int) -> None:
    """So much more of memory is reserved."""
    run.reserved += tokens


@inner
def _left(run: Record) -> Any:
    """Of what can be had, past the reservation."""
    return free_tokens(run) - run.reserved


@routine
def _verdict(run: Record) -> Any:
    """On whoever comes next."""
    if not _left(run) > 0 or free_tokens(run) <= run.at_once:
        return NO_MEMORY
    if run.prompt_left <= 0 or (run.chunk != NONE and run.chunk_left <= 0):
        return SPENT
    return GO_ON


@routine
def _go_on(run: Record, space: Space, r: int) -> Any:
    """The next chunk of a prompt that is in memory up to its prefix.

    Returns:
        The request, if its prompt does not end with this chunk.
    """
    request = space.requests[r]
    left = min(run.chunk_left, int(_left(run)))
    if left <= 0:
        left = run.chunk_left  # it has to get on, so that its memory is free again some day
    computes = request.input + request.outputs - request.prefix
    ends = computes <= left
    _take(run, space, r, min(computes, left), request.most if ends else 0)
    return NONE if ends else r


@routine
def _add(run: Record, space: Space, r: int) -> Any:
    """Try to admit the head of the queue, whose prefix is known."""
    if run.known:
        return _add_of_known_length(run, space, r)
    lock_prefix(run, space, space.requests[r])
    verdict = _select(run, space, r)
    if verdict != GO_ON:
        unlock_prefix(run, space, space.requests[r])
        return verdict
    return _verdict(run)


@routine
def _select(run: Record, space: Space, r: int) -> Any:
    request = space.requests[r]
    computes = request.input + request.outputs - request.prefix
    whole = in_pages(run, computes)
    if not computes + max(may_emit(run, request), 0) + run.page < _left(run):
        return NO_MEMORY
    asked = request.most
    if run.chunk == NONE:
        if run.admitted > 0 and whole >= run.prompt_left:
            return SPENT
    elif whole > run.chunk_left:
        end = request.prefix + run.chunk_left // run.page * run.page
        end = end // run.page * run.page
        if end <= request.prefix:
            return SPENT
        run.cut = r
        computes, asked = end - request.prefix, 0
    _take(run, space, r, computes, asked)
    return GO_ON


@routine
def _take(run: Record, space: Space, r: int, computes: int, asked: int) -> None:
    """It is in the pass. Newcomers are charged all that they ask for."""
    request, whole = space.requests[r], in_pages(run, computes)
    request.end = request.prefix + computes
    space.places[PASSING, run.admitted] = r
    run.admitted += 1
    charge(run, whole + run.page + min(asked, run.clip))
    run.at_once += whole + run.page
    run.prompt_left -= whole
    run.chunk_left -= whole


# --------------------------------------------------------------- all lengths known, nothing kept


@routine
def _add_of_known_length(run: Record, space: Space, r: int) -> Any:
    """Where nobody ends early and no tree keeps anything: play the releases to come."""
    request = space.requests[r]
    computes, free = request.input + request.outputs, free_tokens(run)
    now = in_pages(run, computes) + run.page
    if now > free - run.at_once or not now <= _left(run):
        return NO_MEMORY
    _put_among_releases(run, space, r)
    if not _released_in_time(run, space, free - run.at_once - now):
        return NO_MEMORY
    if run.chunk == NONE or computes <= run.chunk_left:
        _take(run, space, r, computes, request.most)
    elif run.chunk_left <= 0:
        return SPENT
    else:
        run.cut = r
        _take(run, space, r, run.chunk_left, 0)
    return _verdict(run)


@routine
def _put_among_releases(run: Record, space: Space, r: int) -> None:
    """With the first try, everybody in order of who is done first.

    Later ones come before the first that is not done earlier; where there is none, before the last.
    """
    requests, places = space.requests, space.places
    if run.releases == NONE:
        run.releases = 0
        for place in range(1 + run.decoding + run.admitted):
            who = r
            if place > run.decoding:
                who = space.places[PASSING, place - run.decoding - 1]
            elif place > 0:
                who = space.places[DECODING, place - 1]
            if requests[who].most > requests[who].outputs:
                places[RELEASES, run.releases] = who
                run.releases += 1
        sort(SOON_DONE, space, RELEASES, run.releases)
        run.cost += 16 * run.releases
        return
    to_come = requests[r].most - requests[r].outputs
    if to_come <= 0:
        return
    at = 0
    while at < run.releases:
        other = requests[places[RELEASES, at]]
        if to_come <= other.most - other.outputs:
            break
        at += 1
    if at == run.releases:
        at = max(run.releases - 1, 0)
    for place in range(run.releases, at, -1):
        places[RELEASES, place] = places[RELEASES, place - 1]
    places[RELEASES, at] = r
    run.releases += 1


@routine
def _released_in_time(run: Record, space: Space, free: int) -> Any:
    """Whether everybody can emit all that it may."""
    run.cost += 2 * run.releases
    for place in range(run.releases):
        request = space.requests[space.places[RELEASES, place]]
        to_come, left = request.most - request.outputs, run.releases - place
        if free - to_come * left <= _KEPT * left:
            return False
        free += request.input + request.outputs
    return True
