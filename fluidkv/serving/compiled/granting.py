"""What a request is given when it is admitted, in the compiled engine: as `decisions.granting`."""

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Int

from fluidkv.serving.compiled.state import (
    Choices,
    Numbers,
    Progress,
    State,
    blocks_of,
    positions,
    total,
)
from fluidkv.serving.compiled.victims import requeue


def given_blocks(
    numbers: Numbers, inputs: Int[Array, "run some"], progress: Progress
) -> Int[Array, "run some"]:
    """Blocks of its present length, or what it is given; int64."""
    least = blocks_of(numbers, (inputs + progress.outputs).astype(jnp.int64))
    if progress.estimated is None:
        return least
    wanted = blocks_of(numbers, (inputs + progress.estimated - 1).astype(jnp.int64))
    return jnp.maximum(least, jnp.minimum(wanted, _most_given(numbers)))


def _most_given(numbers: Numbers) -> Int[Array, "run 1"]:
    guarded = jnp.where(numbers.always_guarded, numbers.watermark_blocks, 0)
    free = jnp.maximum(guarded, numbers.one_free.astype(guarded.dtype))
    return (numbers.blocks - free).astype(jnp.int64)[:, None]


def end_grants(
    choices: Choices, numbers: Numbers, state: State, runs: Bool[Array, " run"]
) -> tuple[State, Int[Array, " run"]]:
    """Who has outgrown what it was given goes, in the runs that say so; how many go."""
    if not choices.by_estimate:
        return state, jnp.zeros_like(state.runs.running)
    slots = state.slots
    needs = blocks_of(numbers, slots.input + slots.progress.outputs)
    goes = slots.alive & runs[:, None] & (needs > slots.blocks) & numbers.evicts_itself

    def let_go(_: Array, before: State) -> State:
        slots, estimated = before.slots, _next_estimate(numbers, before)
        again = slots._replace(progress=slots.progress._replace(estimated=estimated))
        from_the_end = jnp.broadcast_to(positions(slots)[:, ::-1], goes.shape)
        state = requeue(numbers, before._replace(slots=again), from_the_end, goes[:, ::-1])
        counters = state.runs._replace(
            running=state.runs.running - total(goes),
            used=state.runs.used - total(jnp.where(goes, slots.blocks, 0)),
        )
        left = slots._replace(
            alive=slots.alive & ~goes,
            request=jnp.where(goes, state.queue.ring.shape[1], slots.request),
            tokens=jnp.where(goes, 0, slots.tokens),
        )
        return state._replace(runs=counters, slots=left)

    # A loop of no or one turn, not a cond: what does not change passes through a loop in place.
    turns = jnp.any(goes).astype(jnp.int32)
    return lax.fori_loop(0, turns, let_go, state), total(goes)


def _next_estimate(numbers: Numbers, state: State) -> Int[Array, "run slot"]:
    """Outputs that memory is given for when it comes back; more than the memory holds are none."""
    slots = state.slots
    more = slots.progress.outputs.astype(jnp.int64) + numbers.more_outputs[:, None]
    if slots.progress.estimated is not None:
        estimated = slots.progress.estimated.astype(jnp.int64)
        twice = slots.input.astype(jnp.int64) + 2 * estimated
        more = jnp.where(numbers.doubles, twice, more)
    memory = numbers.blocks.astype(jnp.int64) * numbers.block_size.astype(jnp.int64)
    return jnp.minimum(more, memory[:, None]).astype(jnp.int32)
