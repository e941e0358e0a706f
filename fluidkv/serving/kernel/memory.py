"""Blocks: what a request holds, what it is given, and what must fit before it enters."""

from fluidkv.runs.kernels import inner
from fluidkv.serving.kernel.layout import (
    BY_BLOCK,
    DOUBLE,
    FIRST_CHUNK,
    LOCKED,
    NONE,
    PEAK,
    RATIO,
    Record,
    Records,
)
from fluidkv.serving.rules import NewTokenRatio

SCALE = NewTokenRatio.SCALE


@inner
def blocks_of(run: Record, tokens: int) -> int:
    """ceil((tokens + reserved) / size) of whole numbers, by floats: integers divide far slower.

    It is floor((tokens + reserved + size - 1/2) / size), whose quotient is at least 1/(2 size) away
    from a whole number. Its rounding, in 1/size and in the product, is at most 2^-52 of it, which
    is less, as the numerator is below 2^51.
    """
    return int((tokens + run.half) * run.inverse)


@inner
def steps_of(run: Record, request: Record) -> int:
    """Tokens that a request has computed, and emitted, since it was written down."""
    return run.passes - request.base if request.marks & LOCKED else 0


@inner
def blocks_held(run: Record, request: Record) -> int:
    """By a running request, before this iteration."""
    if request.marks & LOCKED and request.residue != NONE:
        return blocks_of(run, request.computed + run.passes - request.base)
    return request.blocks


@inner
def given_blocks(run: Record, request: Record, estimated: int, computed: int) -> int:
    """As `granting.given_blocks`; `computed`: blocks of the tokens that it computes."""
    if run.allocation == BY_BLOCK:
        return computed
    least = blocks_of(run, request.input + request.outputs)
    wanted = blocks_of(run, request.input + estimated - 1)
    free = run.watermark if run.always_guarded else 0
    return max(least, min(wanted, run.blocks - max(free, run.one_free)))


@inner
def next_estimate(run: Record, request: Record, estimated: int) -> int:
    """As `granting.next_estimate`; of one that has just been written down."""
    if run.allocation == DOUBLE:
        more = request.input + 2 * estimated
    else:
        more = request.outputs + run.more_outputs
    return min(more, run.blocks * run.block_size)


@inner
def peak_of(run: Record, request: Record) -> int:
    """Blocks of its input and the most outputs that it may have."""
    return blocks_of(run, request.input + request.most - 1)


@inner
def possible_of(run: Record, request: Record) -> int:
    """Outputs that it may still emit, as far as they are counted."""
    return min(request.most - request.outputs - steps_of(run, request), run.clip)


@inner
def may_enter(run: Record, request: Record, estimated: int, chunk: int) -> bool:
    """As `reference.Engine._may_enter`: the gate, for `chunk` tokens computed now."""
    free = run.blocks - run.newcomers_hold if run.newcomers_first else run.free
    if run.running > 0 or run.always_guarded:
        free -= run.watermark
    if run.gate == FIRST_CHUNK:
        return blocks_of(run, chunk) <= free
    whole = blocks_of(run, request.input + request.outputs)
    if run.gate == PEAK:
        to_come = run.peaks - (run.blocks - run.free)
        return peak_of(run, request) + to_come <= free
    if run.gate == RATIO:
        earlier = run.possible - run.newcomers_possible
        reserved = earlier * run.ratio + run.newcomers_possible * SCALE
        needed = whole * run.block_size + possible_of(run, request)
        return needed * SCALE + reserved <= free * run.block_size * SCALE
    return given_blocks(run, request, estimated, whole) <= free


@inner
def next_ratio(run: Record, requests: Records, lists: Records, evicted: int) -> None:
    """As `gating.next_ratio`."""
    if run.running == 0 or (evicted > 0 and not run.estimates):
        run.ratio = run.ratio_start
    elif evicted == 0:
        run.ratio = max(run.ratio - run.ratio_decay, run.ratio_least)
    else:
        outputs, most = 0, 0
        for place in range(run.low, run.tail):
            r = lists[place].running
            if r != NONE:
                outputs += requests[r].outputs + steps_of(run, requests[r]) + run.ahead
                most += requests[r].most
        run.cost += run.tail - run.low
        run.ratio = min(SCALE, SCALE * outputs // most)
