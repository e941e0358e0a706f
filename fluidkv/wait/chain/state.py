"""The state of some runs of counts, and what an iteration of them was."""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, UInt32

from fluidkv.wait.chain.numbers import Numbers


class Chain(NamedTuple):
    """The state of some runs, and what was summed on the way.

    Fields:
        key: of each run.
        queue: prompts that wait before each segment, those of the next batch among them.
        batches: that each segment has had.
        time: the clock; without waits that are owed where the form is not timed.
        iterations: done.
        stuck: iterations that had to wait first.
        idle: time waited.
        owed: arrivals that were waited for and whose time is not drawn yet.
        owed_area: sum over them of the prompts in the system before each.
        area: prompts in the system, integrated over time; expected, given all counts and `time`.
        queue_sum, queue_max: of `queue` as it was at the start of each iteration.
        peak: most tokens in memory in an iteration.
        exceeded: start of the first iteration above the level asked for; inf: none.
    """

    key: UInt32[Array, "2 run"]
    queue: Int[Array, "segment run"]
    batches: Int[Array, "segment run"]
    time: Float[Array, " run"]
    iterations: Int[Array, " run"]
    stuck: Int[Array, " run"]
    idle: Float[Array, " run"]
    owed: Float[Array, " run"]
    owed_area: Float[Array, " run"]
    area: Float[Array, " run"]
    queue_sum: Int[Array, "segment run"]
    queue_max: Int[Array, "segment run"]
    peak: Float[Array, " run"]
    exceeded: Float[Array, " run"]


class Step(NamedTuple):
    """What an iteration was. `joined`: segments in the batch; `queue`: before any wait for it."""

    alive: Bool[Array, " run"]
    queue: Int[Array, "segment run"]
    wait: Float[Array, " run"]
    waited: Int[Array, "segment run"]
    joined: Int[Array, " run"]
    kv_tokens: Float[Array, " run"]
    held_tokens: Float[Array, " run"]
    entered: Int[Array, "segment run"]
    time: Float[Array, " run"]


def empty(key: UInt32[Array, "2 run"], numbers: Numbers) -> Chain:
    """Nobody has come yet."""
    counts = jnp.zeros((numbers.threshold.shape[0], key.shape[1]), jnp.int32)
    none = jnp.zeros(key.shape[1])
    zero = jnp.zeros(key.shape[1], jnp.int32)
    sums = counts.astype(jnp.int64)
    never = jnp.full_like(none, jnp.inf)
    return Chain(
        key=key,
        queue=counts,
        batches=counts,
        time=none,
        iterations=zero,
        stuck=zero,
        idle=none,
        owed=none,
        owed_area=none,
        area=none,
        queue_sum=sums,
        queue_max=counts,
        peak=none,
        exceeded=never,
    )


def i32(values: Array) -> Int[Array, "..."]:
    return values.astype(jnp.int32)


def f64(values: Array) -> Float[Array, "..."]:
    return values.astype(jnp.float64)


def over_segments(values: Int[Array, "segment run"]) -> Int[Array, " run"]:
    """Over segments, in 32 bits: a sum of integers is one of 64 bits by default."""
    return jnp.sum(values, axis=0, dtype=jnp.int32)
