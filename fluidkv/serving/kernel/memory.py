"""Blocks: what a request holds, what it is given, and whether the head of the queue may enter."""

from fluidkv.runs.inlined import call, inlined
from fluidkv.serving.kernel import ratio
from fluidkv.serving.kernel.gates import Entering, passes
from fluidkv.serving.kernel.grants import granted
from fluidkv.serving.kernel.layout import LOCKED, NONE, Record, Space
from fluidkv.serving.kernel.open_rules import OWN


@inlined
def blocks_of(run: Record, tokens: int) -> int:
    """ceil((tokens + reserved) / size) of whole numbers, by floats: integers divide far slower.

    It is floor((tokens + reserved + size - 1/2) / size), whose quotient is at least 1/(2 size) away
    from a whole number. Its rounding, in 1/size and in the product, is at most 2^-52 of it, which
    is less, as the numerator is below 2^51.
    """
    return int((tokens + run.half) * run.inverse)


@inlined
def steps_of(run: Record, request: Record) -> int:
    """Tokens that a request has computed, and emitted, since it was written down."""
    return run.passes - request.base if request.marks & LOCKED else 0


@inlined
def blocks_held(run: Record, request: Record) -> int:
    """By a running request, before this iteration."""
    if request.marks & LOCKED and request.residue != NONE:
        return blocks_of(run, request.computed + run.passes - request.base)
    return request.blocks


@inlined
def given_blocks(run: Record, request: Record, estimated: int, computed: int) -> int:
    """Blocks that it gets when it is admitted; `computed`: those of the tokens that it computes."""
    if not run.grants:
        return computed
    length = blocks_of(run, request.input + request.outputs)
    wanted = blocks_of(run, request.input + estimated - 1)
    free = run.watermark if run.always_guarded else 0
    most = run.blocks - max(free, run.one_free)
    return granted(run.allocation, computed, length, wanted, most)


@inlined
def peak_of(run: Record, request: Record) -> int:
    """Blocks of its input and the most outputs that it may have."""
    return blocks_of(run, request.input + request.most - 1)


@inlined
def possible_of(run: Record, request: Record) -> int:
    """Outputs that it may still emit, as far as they are counted."""
    return ratio.possible(request.most, request.outputs + steps_of(run, request), run.clip)


@inlined
def may_enter(
    run: Record, request: Record, estimated: int, r: int, tokens: int, there: int
) -> bool:
    """The gate, for a request that has so many tokens in memory once it has entered.

    Args:
        there: blocks of it in a prefix cache, but for those that nobody holds.
    """
    free = run.blocks - run.newcomers_hold if run.newcomers_first else run.free
    if run.running > 0 or run.always_guarded:
        free -= run.watermark
    whole = blocks_of(run, request.input + request.outputs)
    peak, to_come, possible, reserved = 0, 0, 0, 0
    if run.counts_peaks:
        peak, to_come = peak_of(run, request), run.peaks - (run.blocks - run.free)
    if run.counts_possible:
        possible, earlier = possible_of(run, request), run.possible - run.newcomers_possible
        reserved = earlier * run.ratio + run.newcomers_possible * ratio.SCALE
    head = Entering(
        free,
        blocks_of(run, tokens) - there,
        whole - there,
        given_blocks(run, request, estimated, whole) - there,
        peak,
        to_come,
        possible,
        reserved,
        run.block_size,
        run.running,
        run.waiting,
        r,
        request.input,
        request.outputs,
        request.evictions,
    )
    if run.gate == OWN:
        takes = head.granted if run.prefill_alone else head.chunk
        return takes <= free and call(run.own_gate, head) != 0
    return passes(run.gate, head)


@inlined
def next_ratio(run: Record, space: Space, evicted: int) -> None:
    """A step down in an iteration that evicts nobody; reset in one that does, and when idle."""
    if run.running == 0 or (evicted > 0 and not run.estimates):
        run.ratio = run.ratio_start
    elif evicted == 0:
        run.ratio = ratio.stepped_down(run.ratio, run.ratio_decay, run.ratio_least)
    else:
        outputs, most = 0, 0
        for place in range(run.low, run.tail):
            r = space.lists[place].running
            if r != NONE:
                outputs += space.requests[r].outputs + steps_of(run, space.requests[r]) + run.ahead
                most += space.requests[r].most
        run.cost += run.tail - run.low
        run.ratio = ratio.estimated(outputs, most)
