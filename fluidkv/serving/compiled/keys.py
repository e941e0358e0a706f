"""Who is evicted first, in the compiled engine: one integer for each request, the smallest goes."""

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Int

from fluidkv.serving.compiled.state import Numbers, Runs, Slots, positions
from fluidkv.serving.rules import Victim

GONE = 2**62
"""Above all keys: of who does not run."""


def key(rule: Victim, numbers: Numbers, runs: Runs, slots: Slots) -> Int[Array, "run slot"]:
    """As `choosing` has it, turned round, in one int64. Lengths are below 2^29."""
    outputs, predicted = slots.progress.outputs, slots.merits.predicted
    found = _simple(rule, slots)
    if found is not None:
        return found.astype(jnp.int64)
    if rule is Victim.FEWEST_OUTPUTS:
        return (outputs.astype(jnp.int64) << 30) - slots.input.astype(jnp.int64)
    if rule is Victim.LONGEST_REMAINING and predicted is not None:
        return -jnp.maximum(predicted - outputs, 0).astype(jnp.int64)
    if rule is Victim.LOOSEST_OBJECTIVE and predicted is not None:
        return _loosest(numbers, slots, predicted)
    if rule is Victim.COST_AWARE and slots.longest is not None:
        return _cost_aware(slots, slots.longest)
    if rule is Victim.RANDOM:
        return _lots(numbers, runs, slots)
    raise ValueError(f"{rule} has no key of what is in a slot")


def lowest(first_of_equals: bool, keys: Int[Array, "run slot"]) -> Int[Array, "run 1"]:
    """The slot of the smallest key; of equals the last one, or the first."""
    place = jnp.arange(keys.shape[1], dtype=jnp.int32)[None]
    equal = keys == jnp.min(keys, axis=1, keepdims=True)
    if first_of_equals:
        return jnp.min(jnp.where(equal, place, keys.shape[1]), axis=1, keepdims=True)
    return jnp.max(jnp.where(equal, place, 0), axis=1, keepdims=True)


def _simple(rule: Victim, slots: Slots) -> Int[Array, "run slot"] | None:
    match rule:
        case Victim.LAST_ADMITTED:
            return jnp.broadcast_to(-positions(slots), slots.alive.shape)
        case Victim.LEAST_PROGRESSED:
            return slots.progress.outputs
        case Victim.MOST_OUTPUTS:
            return -slots.progress.outputs
        case Victim.MOST_BLOCKS:
            return -slots.blocks
        case Victim.FEWEST_BLOCKS:
            return slots.blocks
        case Victim.LEAST_COMPUTED:
            return slots.computed
        case Victim.MOST_COMPUTED:
            return -slots.computed
        case Victim.LEAST_URGENT if slots.merits.urgency is not None:
            return -slots.merits.urgency
        case _:
            return None


def _loosest(
    numbers: Numbers, slots: Slots, predicted: Int[Array, "run slot"]
) -> Int[Array, "run slot"]:
    """Objective, remaining outputs and tokens in the cache, in ranges: 4, 29 and 29 bits."""
    width = numbers.range_tokens
    remaining = jnp.maximum(predicted - slots.progress.outputs, 0) // width
    cached = (slots.computed // width).astype(jnp.int64)
    looseness = jnp.zeros_like(cached)
    if slots.merits.looseness is not None:
        looseness = slots.merits.looseness.astype(jnp.int64)
    return cached - (remaining.astype(jnp.int64) << 29) - (looseness << 58)


def _cost_aware(slots: Slots, longest: Int[Array, "run slot"]) -> Int[Array, "run slot"]:
    """The floats of `choosing.score`, none below 0: these are in the order of their bits."""
    blocks, outputs, most = (
        column.astype(jnp.float64)
        for column in (slots.blocks, slots.progress.outputs, jnp.maximum(longest, 1))
    )
    length = jnp.maximum(slots.input + slots.progress.outputs, 1).astype(jnp.float64)
    score = jnp.where(slots.alive, blocks / length * (1.0 - outputs / most), 0.0)
    return -lax.bitcast_convert_type(score, jnp.int64)


def _lots(numbers: Numbers, runs: Runs, slots: Slots) -> Int[Array, "run slot"]:
    """As `choosing.lot`."""
    seed, iteration = (
        column.astype(jnp.uint64)[:, None] for column in (numbers.seed, runs.iterations)
    )
    drawn = _mixed(_mixed(_mixed(seed) ^ iteration) ^ slots.request.astype(jnp.uint64))
    return (drawn >> np.uint64(3)).astype(jnp.int64)


def _mixed(number: Array) -> Array:
    """SplitMix64's: unsigned integers of 64 bits wrap as it wants them to."""
    number = number + np.uint64(0x9E3779B97F4A7C15)
    number = (number ^ (number >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    number = (number ^ (number >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return number ^ (number >> np.uint64(31))
