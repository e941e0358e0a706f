"""Which running request goes first under the rule of a run: the one with the largest key."""

from fluidkv.runs.inlined import call, inlined
from fluidkv.serving.kernel.layout import NONE, Blocks, Record, Space
from fluidkv.serving.kernel.memory import blocks_held, steps_of
from fluidkv.serving.kernel.open_rules import OWN
from fluidkv.serving.kernel.pool import own_blocks
from fluidkv.serving.kernel.victims import Candidate, Victim, key_of

LAST_ADMITTED = Victim.LAST_ADMITTED.number


@inlined
def first_to_go(run: Record, space: Space, blocks: Blocks | None) -> int:
    """Of who runs and is no newcomer."""
    spared = NONE
    if run.asker_stays and run.running - run.newcomers > 1:
        spared = run.asker
    end = run.tail - run.newcomers  # they stand last
    if run.victim == LAST_ADMITTED:  # nobody else need be looked at
        end -= 1
        while space.lists[end].running == NONE or space.lists[end].running == spared:
            end -= 1
        return space.lists[end].running
    chosen, most, tie = NONE, 0.0, 0
    for place in range(run.low, end):
        r = space.lists[place].running
        if r in (NONE, spared):
            continue
        held = blocks_held(run, space.requests[r]) if run.counts_blocks else 0
        own = held
        if blocks is not None and run.counts_own:
            own = own_blocks(space.requests[r], blocks, r)
            run.cost += space.requests[r].blocks
        candidate = _candidate(run, space.requests[r], space.aside[r], r, held, own)
        if run.victim == OWN:
            key, second = call(run.own_victim, candidate), 0
        else:
            key, second = key_of(run.victim, candidate)
        ahead = chosen == NONE or key > most or (key == most and second > tie)
        equal = key == most and second == tie
        if ahead or (equal and not run.first_of_equals):
            chosen, most, tie = r, key, second
    run.cost += end - run.low
    return chosen


@inlined
def _candidate(
    run: Record, request: Record, aside: Record, r: int, held: int, own: int
) -> Candidate:
    steps = steps_of(run, request)
    return Candidate(
        r,
        request.input,
        request.most,
        aside.predicted,
        request.outputs + steps,
        request.computed + steps,
        held,
        own,
        aside.rank,
        aside.looseness,
        run.range_tokens,
        request.evictions,
        run.seed,
        run.iteration,
    )
