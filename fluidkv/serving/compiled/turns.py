"""Who runs asks for room one after the other, in the compiled engine (`EngineRules.in_turn`).

No loop over those who ask. Up to the first who finds no room all are served, and a sum over the
list says who that is. A victim goes for it, itself maybe; then the budget is handed out again to
those behind it, and the next who finds no room is looked for, maybe the same one. So there is a
turn of the loop for each victim, as in `victims.one_by_one`.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Int

from fluidkv.serving.compiled.keys import GONE, key, lowest
from fluidkv.serving.compiled.state import (
    Choices,
    Numbers,
    Slots,
    State,
    before,
    blocks_of,
    positions,
    total,
)
from fluidkv.serving.compiled.state import asks as wanted
from fluidkv.serving.compiled.victims import Demand, requeue, short_of, within_budget


class _Round(NamedTuple):
    state: State
    demand: Demand
    short: Bool[Array, " run"]
    evictions: Int[Array, " run"]


def one_after_the_other(
    choices: Choices, numbers: Numbers, state: State, demand: Demand
) -> tuple[State, Demand, Int[Array, " run"]]:
    """As `reference.Engine` does it in turn; `demand`: what all ask for before anybody goes."""
    slots = state.slots
    place = positions(slots)

    def evict_one(round: _Round) -> _Round:
        was, goes = round.demand, round.short[:, None]
        asks = _first_without_room(numbers, slots, was)
        served = slots._replace(blocks=jnp.where(place < asks, was.need, slots.blocks))
        keys = key(choices.victim, numbers, round.state.runs, served)
        may_go = was.alive
        if choices.asker_stays:
            others = was.alive & (place != asks)
            may_go = jnp.where(jnp.any(others, axis=1, keepdims=True), others, was.alive)
        victim = lowest(choices.first_of_equals, jnp.where(may_go, keys, GONE))
        alive = was.alive & ~(goes & (place == victim))
        demand = _handed_on(numbers, slots, was, alive, asks)
        demand = Demand(
            *(
                jnp.where(goes if new.ndim == 2 else round.short, new, old)
                for new, old in zip(demand, was, strict=True)
            )
        )
        return _Round(
            requeue(numbers, round.state, victim, goes),
            demand,
            round.short & short_of(numbers, slots, demand),
            round.evictions + round.short.astype(jnp.int32),
        )

    # What all ask for fits if and only if nobody finds too little room in its turn.
    start = _Round(
        state,
        demand,
        short_of(numbers, slots, demand),
        jnp.zeros_like(state.runs.running),
    )
    end = lax.while_loop(lambda round: jnp.any(round.short), evict_one, start)
    return end.state, end.demand, end.evictions


def _first_without_room(numbers: Numbers, slots: Slots, demand: Demand) -> Int[Array, "run 1"]:
    """Its slot, when those before it have taken what they asked for; where all fit, no slot."""
    held = total(jnp.where(demand.alive, slots.blocks, 0))[:, None]
    growth = jnp.where(demand.alive, demand.need - slots.blocks, 0)
    seen = jnp.where(numbers.one_free, jnp.maximum(growth, 1), growth)
    lacks = (demand.tokens > 0) & (held + before(growth) + seen > numbers.blocks[:, None])
    place = positions(slots)
    return jnp.min(jnp.where(lacks, place, place.shape[1]), axis=1, keepdims=True)


def _handed_on(
    numbers: Numbers,
    slots: Slots,
    was: Demand,
    alive: Bool[Array, "run slot"],
    asks: Int[Array, "run 1"],
) -> Demand:
    """Up to the one who asks tokens stay what they are; the rest of the budget is for others."""
    upto = alive & (positions(slots) <= asks)
    kept = jnp.where(upto, was.tokens, 0)
    behind = jnp.where(alive & ~upto, wanted(slots), 0)
    more, _ = within_budget(behind, numbers.budget - total(kept))
    tokens = kept + more
    grown = jnp.maximum(slots.blocks, blocks_of(numbers, slots.computed + tokens))
    need = jnp.where(alive, jnp.where(tokens > 0, grown, slots.blocks), 0)
    return Demand(alive, tokens, need, total(tokens), total(need))
