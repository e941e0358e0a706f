"""Who goes first: as `decisions.choosing`, with keys of one integer, or one float."""

import numpy as np

from fluidkv.runs.kernels import inner
from fluidkv.serving.kernel.layout import (
    COST_AWARE,
    FEWEST_BLOCKS,
    FEWEST_OUTPUTS,
    LAST_ADMITTED,
    LEAST_COMPUTED,
    LEAST_PROGRESSED,
    LEAST_URGENT,
    LONGEST_REMAINING,
    LOOSEST_OBJECTIVE,
    MOST_BLOCKS,
    MOST_COMPUTED,
    MOST_OUTPUTS,
    NONE,
    Record,
    Records,
)
from fluidkv.serving.kernel.memory import blocks_held, steps_of


@inner
def victim(run: Record, requests: Records, aside: Records, lists: Records) -> int:
    """Of who runs and is no newcomer."""
    spared = NONE
    if run.asker_stays and run.running - run.newcomers > 1:
        spared = run.asker
    end = run.tail - run.newcomers  # they stand last
    if run.victim == LAST_ADMITTED:
        end -= 1
        while lists[end].running == NONE or lists[end].running == spared:
            end -= 1
        return lists[end].running
    found, most, highest = NONE, 0, 0.0
    for place in range(run.low, end):
        r = lists[place].running
        if r in (NONE, spared):
            continue
        if run.victim == COST_AWARE:
            own = aside[r].own if run.caching else blocks_held(run, requests[r])
            key, score = 0, cost(run, requests[r], own)
        else:
            key, score = key_of(run, requests[r], aside, r), 0.0
        ahead = found == NONE or key > most or score > highest
        equal = key == most and score == highest
        if ahead or (equal and not run.first_of_equals):
            found, most, highest = r, key, score
    run.cost += end - run.low
    return found


@inner
def cost(run: Record, request: Record, own_blocks: int) -> float:
    """As `choosing.score`; lengths are at least 1."""
    outputs = request.outputs + steps_of(run, request)
    return own_blocks / (request.input + outputs) * (1 - outputs / request.most)


@inner
def key_of(run: Record, request: Record, aside: Records, r: int) -> int | np.int64:
    """The largest goes. Lengths are below 2^29."""
    steps = steps_of(run, request)
    outputs, computed = request.outputs + steps, request.computed + steps
    rule = run.victim
    if rule == FEWEST_OUTPUTS:
        return request.input - (outputs << 30)
    if rule == LEAST_PROGRESSED:
        return -outputs
    if rule == MOST_OUTPUTS:
        return outputs
    if rule == MOST_BLOCKS:
        return blocks_held(run, request)
    if rule == FEWEST_BLOCKS:
        return -blocks_held(run, request)
    if rule == LEAST_COMPUTED:
        return -computed
    if rule == MOST_COMPUTED:
        return computed
    if rule == LEAST_URGENT:
        return aside[r].rank
    if rule == LONGEST_REMAINING:
        return max(0, aside[r].predicted - outputs)
    if rule == LOOSEST_OBJECTIVE:
        left = max(0, aside[r].predicted - outputs) // run.range_tokens
        loose = aside[r].looseness
        return (loose << 58) + (left << 29) - computed // run.range_tokens
    return -lot(run.seed, run.iteration, r)


@inner
def lot(seed: int, iteration: int, index: int) -> np.int64:
    """As `choosing.lot`."""
    return np.int64(
        _mixed(_mixed(_mixed(np.uint64(seed)) ^ np.uint64(iteration)) ^ np.uint64(index))
        >> np.uint64(3)
    )


@inner
def _mixed(number: np.uint64) -> np.uint64:
    """SplitMix64's: unsigned integers of 64 bits wrap as it wants them to."""
    number = number + np.uint64(0x9E3779B97F4A7C15)
    number = (number ^ (number >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    number = (number ^ (number >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return number ^ (number >> np.uint64(31))
