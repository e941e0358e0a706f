"""Who is evicted, in the compiled engine.

Let need be the blocks that a request holds once its tokens are computed. What runs fits if the sum
of needs is at most the memory. Two ways to the same victims as one at a time:

- `Victim.LAST_ADMITTED`: victims are a tail of the running list, and a shorter list asks for the
  same tokens (the budget is handed out from the front). The sum of needs rises with the list, so
  the longest list that fits is found from the end, a window of slots at a time.
- other victims (`keys`): one at a time. A victim in the middle hands its share of the token budget
  to those behind it, who may then need more blocks than it freed, so that nothing shorter is the
  same.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from fluidkv.serving.compiled import copies, queue
from fluidkv.serving.compiled.keys import GONE, key, lowest
from fluidkv.serving.compiled.state import (
    Choices,
    Numbers,
    Progress,
    Slots,
    State,
    Times,
    asks,
    before,
    blocks_of,
    pick,
    positions,
    put,
    total,
)

_WINDOW = 16
"""Slots that the search from the end looks at in one go. Any number gives the same victims."""


class Demand(NamedTuple):
    """What the running requests ask for."""

    alive: Bool[Array, "run slot"]
    tokens: Int[Array, "run slot"]
    need: Int[Array, "run slot"]  # blocks
    asked: Int[Array, " run"]  # sum of tokens
    needed: Int[Array, " run"]  # sum of need


def within_budget(
    ask: Int[Array, "run slot"], budget: Int[Array, " run"]
) -> tuple[Int[Array, "run slot"], Int[Array, " run"]]:
    """Tokens that are computed, handed out from the front while the budget lasts; their sum."""
    asked, most = total(ask, jnp.int64), budget.astype(jnp.int64)

    def handed_out() -> Int[Array, "run slot"]:
        wide = ask.astype(jnp.int64)
        return jnp.clip(most[:, None] - before(wide), 0, wide).astype(jnp.int32)

    tokens = lax.cond(jnp.any(asked > most), handed_out, lambda: ask)
    return tokens, jnp.minimum(asked, most).astype(jnp.int32)


def demand_of(numbers: Numbers, slots: Slots, alive: Bool[Array, "run slot"]) -> Demand:
    tokens, asked = within_budget(jnp.where(alive, asks(slots), 0), numbers.budget)
    grown = jnp.maximum(slots.blocks, blocks_of(numbers, slots.computed + tokens))
    need = jnp.where(alive, jnp.where(tokens > 0, grown, slots.blocks), 0)
    return Demand(alive, tokens, need, asked, total(need))


# --------------------------------------------------------------------------------- from the end


class _Search(NamedTuple):
    """The list before slot `end` is left to look at; what stands from `cut` on is evicted."""

    state: State
    going: Bool[Array, " run"]
    end: Int[Array, " run"]
    cut: Int[Array, " run"]
    asked: Int[Array, " run"]
    needed: Int[Array, " run"]
    evictions: Int[Array, " run"]


def from_the_end(
    numbers: Numbers, state: State, demand: Demand
) -> tuple[State, Demand, Int[Array, " run"]]:
    tokens, need = demand.tokens, demand.need
    runs = jnp.any(demand.alive, axis=1)
    # Where one block must stay free, the search decides; it may find that all is well.
    doubtful = demand.needed + numbers.one_free.astype(jnp.int32) > numbers.blocks
    end = state.runs.tail
    search = _Search(
        state, runs & doubtful, end, end, demand.asked, demand.needed, jnp.zeros_like(end)
    )

    free = _to_stay_free(numbers, state.slots, demand)

    def look(search: _Search) -> _Search:
        index = search.end[:, None] - 1 - jnp.arange(_WINDOW, dtype=jnp.int32)[None]
        inside = index >= 0
        index = jnp.maximum(index, 0)
        alive, asked, needs, spare = pick((demand.alive, tokens, need, free), index)
        alive &= inside & search.going[:, None]
        needs = jnp.where(alive, needs, 0)
        # The list that ends with this request: does it fit?
        listed = search.needed[:, None] - before(needs)
        goes = alive & (listed + spare > numbers.blocks[:, None])
        found = jnp.any(alive & ~goes, axis=1)
        here = search._replace(
            going=search.going & ~found & (search.end > _WINDOW),
            end=search.end - _WINDOW,
            cut=jnp.minimum(search.cut, jnp.min(jnp.where(goes, index, search.cut[:, None]), 1)),
            asked=search.asked - total(jnp.where(goes, asked, 0)),
            needed=search.needed - total(jnp.where(goes, needs, 0)),
            evictions=search.evictions + total(goes),
        )
        return here._replace(state=requeue(numbers, search.state, index, goes))

    search = lax.while_loop(lambda search: jnp.any(search.going), look, search)
    alive = demand.alive & (positions(state.slots) < search.cut[:, None])
    return (
        search.state,
        Demand(alive, tokens, need, search.asked, search.needed),
        search.evictions,
    )


def _to_stay_free(numbers: Numbers, slots: Slots, demand: Demand) -> Int[Array, "run slot"]:
    """Beside the list that ends with each slot, where one block must stay free.

    The last who asks must see it: a block that it takes is one that it saw. Behind it may stand
    those who ask for nothing.
    """

    def seen() -> Int[Array, "run slot"]:
        last = lax.cummax(jnp.where(demand.tokens > 0, positions(slots), -1), axis=1)
        growth = pick(demand.need - slots.blocks, jnp.maximum(last, 0))
        return jnp.where(last >= 0, jnp.maximum(1 - growth, 0), 0)

    return lax.cond(numbers.one_free, seen, lambda: jnp.zeros_like(demand.need))


def _growth_of_the_last(slots: Slots, demand: Demand) -> Int[Array, " run"]:
    """Blocks that the last who asks takes: behind it are only those for whom no budget is left."""
    last = jnp.max(jnp.where(demand.tokens > 0, positions(slots), 0), axis=1)[:, None]
    return (pick(demand.need, last) - pick(slots.blocks, last))[:, 0]


# --------------------------------------------------------------------------------- one by one


class _Round(NamedTuple):
    state: State
    keys: Int[Array, "run slot"]  # of those who still run; GONE for the others
    demand: Demand  # `alive` is out of date
    short: Bool[Array, " run"]
    evictions: Int[Array, " run"]


def one_by_one(
    choices: Choices, numbers: Numbers, state: State, demand: Demand
) -> tuple[State, Demand, Int[Array, " run"]]:
    slots = state.slots
    place = positions(slots)
    # Whether a victim changes more than its own part of the sums.
    asked = total(jnp.where(demand.alive, asks(slots), 0), jnp.int64)
    careful = numbers.one_free | jnp.any(asked > numbers.budget.astype(jnp.int64))

    def evict_one(round: _Round) -> _Round:
        victim = lowest(choices.first_of_equals, round.keys)
        goes = round.short[:, None]
        keys = put(
            round.keys,
            jnp.where(goes, victim, place.shape[1]),
            jnp.full(victim.shape, GONE),
        )

        def without() -> Demand:
            was = round.demand
            tokens, need = pick((was.tokens, was.need), victim)
            return was._replace(
                asked=was.asked - jnp.where(goes, tokens, 0)[:, 0],
                needed=was.needed - jnp.where(goes, need, 0)[:, 0],
            )

        demand = lax.cond(careful, lambda: demand_of(numbers, slots, keys < GONE), without)
        return _Round(
            requeue(numbers, round.state, victim, goes),
            keys,
            demand,
            round.short & short_of(numbers, slots, demand),
            round.evictions + round.short.astype(jnp.int32),
        )

    start = _Round(
        state,
        jnp.where(demand.alive, key(choices.victim, numbers, state.runs, slots), GONE),
        demand,
        short_of(numbers, slots, demand),
        jnp.zeros_like(state.runs.running),
    )
    end = lax.while_loop(lambda round: jnp.any(round.short), evict_one, start)
    return end.state, end.demand._replace(alive=end.keys < GONE), end.evictions


def short_of(numbers: Numbers, slots: Slots, demand: Demand) -> Bool[Array, " run"]:
    """Whether what is asked for does not fit. Exactly full still fits."""
    spare = lax.cond(
        numbers.one_free,
        lambda: jnp.where(
            demand.asked > 0, jnp.maximum(1 - _growth_of_the_last(slots, demand), 0), 0
        ),
        lambda: jnp.zeros_like(demand.needed),
    )
    return demand.needed + spare > numbers.blocks


# --------------------------------------------------------------------------------- both


def requeue(
    numbers: Numbers,
    state: State,
    index: Int[Array, "run some"],
    goes: Bool[Array, "run some"],
) -> State:
    """Requests in these slots go to the store and to the queue, in this order."""
    request = pick(state.slots.request, index)
    progress: Progress = pick(state.slots.progress, index)
    progress = progress._replace(outputs=jnp.where(numbers.keeps_outputs, progress.outputs, 0))
    if progress.times is not None:
        progress = progress._replace(times=_halted(progress.times, state.runs.now[:, None]))
    size = state.queue.ring.shape[1]
    if state.copies is not None:
        cached = pick(state.slots.computed, index)
        kept, sent = copies.leave(numbers, state.copies, progress, cached, goes)
        state, progress = state._replace(copies=sent), progress._replace(kept=kept)
    return state._replace(
        store=put(state.store, jnp.where(goes, request, size), progress),
        queue=queue.join(state.queue, state.runs.arrived, request, goes),
    )


def _halted(times: Times, now: Float[Array, "run 1"]) -> Times:
    """One more eviction; a halt that goes on began earlier."""
    since = jnp.where(jnp.isnan(times.since), now, times.since)
    return times._replace(evictions=times.evictions + 1, since=since)
