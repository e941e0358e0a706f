"""The first and the last verb of the compiled engine: arrive, and execute."""

from typing import NamedTuple

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Int

from fluidkv.serving.compiled import queue
from fluidkv.serving.compiled.state import (
    Numbers,
    Progress,
    Runs,
    State,
    Table,
    Times,
    coming_back,
    decoding,
    missing,
    pick,
    total,
)


class Executed(NamedTuple):
    """Counts of an iteration; see `reference.COUNTS`."""

    completed: Int[Array, " run"]
    sched_reqs: Int[Array, " run"]
    tokens: Int[Array, " run"]
    prefill_tokens: Int[Array, " run"]
    recomputed_tokens: Int[Array, " run"]
    kv_tokens: Int[Array, " run"]
    new_outputs: Int[Array, " run"]


def arrive(numbers: Numbers, table: Table, runs: Runs) -> Runs:
    """Who has come by now is in the queue; or one for each client that has nothing in it."""
    # How many arrival times are at or before now, by bisection.
    size = table.arrival.shape[1]
    come = jnp.zeros_like(runs.arrived)
    for bit in reversed(range(size.bit_length())):
        more = come + (1 << bit)
        inside = jnp.minimum(more, size)[:, None] - 1
        earlier = pick(table.arrival, inside)[:, 0] <= runs.now
        come = jnp.where((more <= size) & earlier, more, come)
    populated = jnp.minimum(numbers.clients + runs.done, numbers.requests)
    come = jnp.where(numbers.clients > 0, populated, come)
    return runs._replace(
        arrived=jnp.where(runs.live, jnp.maximum(come, runs.arrived), runs.arrived)
    )


def execute(numbers: Numbers, table: Table, state: State) -> tuple[State, Executed]:
    """Compute; the clock runs; who has its whole length computed emits; who is done leaves."""
    slots, runs = state.slots, state.runs
    progress, tokens = slots.progress, jnp.where(slots.alive, slots.tokens, 0)
    tokens = jnp.where(runs.live[:, None], tokens, 0)
    computes = tokens > 0
    computed = slots.computed + tokens
    emits = computes & (tokens == missing(slots))
    unseen = emits & (computed > progress.highest)
    outputs = progress.outputs + emits.astype(jnp.int32)
    done = computes & (outputs == slots.target)
    completed = total(done)
    counts = Executed(
        completed=completed,
        sched_reqs=total(computes),
        tokens=total(tokens),
        prefill_tokens=total(jnp.where(decoding(slots), 0, tokens)),
        recomputed_tokens=total(jnp.clip(progress.highest - slots.computed, 0, tokens)),
        kv_tokens=total(jnp.where(slots.alive, computed, 0)),
        new_outputs=total(unseen),
    )
    runs = _advance(numbers, table, state, counts)
    progress = Progress(
        outputs,
        jnp.where(computes, jnp.maximum(progress.highest, computed), progress.highest),
        progress.kept,
        progress.estimated,
        None if progress.times is None else _seen(progress.times, runs.now[:, None], unseen),
    )
    slots = slots._replace(alive=slots.alive & ~done, computed=computed, progress=progress)
    runs = runs._replace(
        done=runs.done + completed,
        running=runs.running - completed,
        used=runs.used - total(jnp.where(done, slots.blocks, 0)),
        iterations=runs.iterations + runs.live.astype(jnp.int32),
    )
    return state._replace(slots=slots, runs=runs), counts


def _seen(times: Times, now: Float[Array, "run 1"], unseen: Array) -> Times:
    """A token that its client had not seen comes now."""
    first = jnp.isnan(times.last)
    gap = jnp.maximum(times.gap, now - times.last)
    halted = times.halted + (now - times.since)
    return times._replace(
        first=jnp.where(unseen & first, now, times.first),
        last=jnp.where(unseen, now, times.last),
        gap=jnp.where(unseen & ~first, gap, times.gap),
        halted=jnp.where(unseen & ~jnp.isnan(times.since), halted, times.halted),
        since=jnp.where(unseen, jnp.nan, times.since),
    )


def _advance(numbers: Numbers, table: Table, state: State, counts: Executed) -> Runs:
    """An iteration lasts what it costs; an idle one, a tick or until who it waits for."""
    runs = state.runs
    base, per_kv, per_prefill, per_pair = (numbers.clock[:, i] for i in range(4))
    # The sums of `IterationClock.duration`, in its order. A product may not be fused with the sum
    # after it, which would round once instead of twice: a maximum with 0, which changes nothing
    # here, stands between the two.
    kv = jnp.maximum(per_kv * counts.kv_tokens.astype(jnp.float64), 0.0)
    prefill = jnp.maximum(per_prefill * counts.prefill_tokens.astype(jnp.float64), 0.0)
    pair = jnp.maximum(per_pair * _pairs(numbers, state).astype(jnp.float64), 0.0)
    busy = runs.now + (((base + kv) + prefill) + pair)
    alone = (queue.waiting(state.queue, runs.arrived) == 0) & (runs.arrived < numbers.requests)
    alone &= numbers.clients == 0
    following = jnp.minimum(runs.arrived, table.arrival.shape[1] - 1)[:, None]
    come = jnp.where(alone, pick(table.arrival, following)[:, 0], jnp.inf)
    slots = state.slots
    if slots.ready is not None:
        back = jnp.where(coming_back(slots), slots.ready, jnp.inf)
        come = jnp.minimum(come, jnp.min(back, axis=1))
    waits = numbers.jumps & (come < jnp.inf)
    idle = jnp.where(waits, jnp.maximum(runs.now, come), runs.now + base)
    now = jnp.where(counts.sched_reqs > 0, busy, idle)
    return runs._replace(now=jnp.where(runs.live, now, runs.now))


def _pairs(numbers: Numbers, state: State) -> Int[Array, " run"]:
    """Of what is prefilled; see `clock.pairs`. 0 where no clock asks."""

    def counted() -> Int[Array, " run"]:
        slots = state.slots
        tokens = jnp.where(slots.alive & ~decoding(slots), slots.tokens, 0).astype(jnp.int64)
        twice = tokens * (2 * slots.computed.astype(jnp.int64) + tokens + 1)
        return total(twice // 2, jnp.int64)

    asked = jnp.any(numbers.clock[:, 3] > 0)
    return lax.cond(asked, counted, lambda: jnp.zeros(numbers.requests.shape, jnp.int64))
