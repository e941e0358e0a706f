"""Eviction in the compiled engine: who runs asks for room; victims go until what is asked fits."""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

from fluidkv.serving.compiled.state import Choices, Numbers, Slots, State, total
from fluidkv.serving.compiled.turns import one_after_the_other
from fluidkv.serving.compiled.victims import demand_of, from_the_end, one_by_one
from fluidkv.serving.rules import NewTokenRatio, RatioReset, Victim


def evict(
    choices: Choices, numbers: Numbers, state: State, runs: Bool[Array, " run"]
) -> tuple[State, Int[Array, " run"], Int[Array, " run"]]:
    """Victims go, the others get their blocks and tokens, in the runs that say so.

    Newcomers that come first have theirs: what they leave of memory and budget is for the others.

    Returns:
        The state, the number of evictions, and the tokens that go on being asked for.
    """
    asking, new = state.slots.alive & runs[:, None], _newcomers(choices, state.slots)
    held = total(jnp.where(new, state.slots.blocks, 0))
    if choices.newcomers_first or choices.swaps:
        served = total(jnp.where(new, state.slots.tokens, 0))
        numbers = numbers._replace(blocks=numbers.blocks - held, budget=numbers.budget - served)
        asking &= ~new
    demand = demand_of(numbers, state.slots, asking)
    if choices.in_turn:
        state, kept, evictions = one_after_the_other(choices, numbers, state, demand)
    elif choices.victim is Victim.LAST_ADMITTED:
        state, kept, evictions = from_the_end(numbers, state, demand)
    else:
        state, kept, evictions = one_by_one(choices, numbers, state, demand)
    slots = state.slots
    gone = asking & ~kept.alive
    stays = runs[:, None] & kept.alive
    untouched = new | ~runs[:, None]
    slots = slots._replace(
        alive=slots.alive & ~gone,
        request=jnp.where(gone, state.queue.ring.shape[1], slots.request),
        tokens=jnp.where(stays, kept.tokens, jnp.where(untouched, slots.tokens, 0)),
        blocks=jnp.where(stays, kept.need, slots.blocks),
    )
    counters = state.runs._replace(
        running=state.runs.running - evictions,
        used=jnp.where(runs, kept.needed + held, state.runs.used),
    )
    state = state._replace(slots=slots, runs=counters)
    return _new_ratio(choices, numbers, state, runs, evictions), evictions, kept.asked


def _newcomers(choices: Choices, slots: Slots) -> Bool[Array, "run slot"]:
    """Who was admitted before the others were asked: nothing of it is computed or copied yet."""
    new = jnp.zeros_like(slots.alive)
    if slots.ready is not None:
        new |= slots.alive & jnp.isinf(slots.ready)
    if choices.newcomers_first:
        new |= slots.alive & (slots.computed == 0)
    return new


def _new_ratio(
    choices: Choices,
    numbers: Numbers,
    state: State,
    runs: Bool[Array, " run"],
    evictions: Int[Array, " run"],
) -> State:
    """A step down where nobody was evicted; reset where somebody was, and where nobody runs."""
    if choices.reset is None:
        return state
    start, least, decay, _, ahead = numbers.ratio
    ratio = jnp.where(evictions == 0, jnp.maximum(state.runs.ratio - decay, least), start)
    slots = state.slots
    if choices.reset is RatioReset.ESTIMATE and slots.longest is not None:
        outputs = slots.progress.outputs.astype(jnp.int64) + ahead
        outputs = total(jnp.where(slots.alive, outputs, 0), jnp.int64)
        most = total(jnp.where(slots.alive, slots.longest, 0), jnp.int64)
        scale = NewTokenRatio.SCALE
        estimate = jnp.minimum(scale, scale * outputs // jnp.maximum(most, 1))
        ratio = jnp.where(evictions == 0, ratio, estimate)
    ratio = jnp.where(state.runs.running == 0, start, ratio)
    after = state.runs._replace(ratio=jnp.where(runs, ratio, state.runs.ratio))
    return state._replace(runs=after)
