"""One iteration of a chain of counts, pure JAX: wait, select, measure, draw, execute.

The iteration of `fluidkv.wait.runs.reference`, with prompts that nobody can tell apart before they
differ: every prompt at a stage is like every other, so that it is enough to know how many wait
before each segment and how many batches each has had. A batch takes exactly n prompts at a
segment's first stage, so that each of its stages holds n prompts or none. Who goes on from a
segment is drawn when a cohort has passed all of it: until then no decision depends on it, and each
goes on with probability p, whatever has happened.

Source: WAIT, Algorithms 1 and 2.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from fluidkv.runs.words import Words, uniform, words
from fluidkv.wait.chain import rates
from fluidkv.wait.chain.chains import NEVER, CountChain, CountState, Flows, along
from fluidkv.wait.chain.draws import gamma, look_up, poisson

WAITS = 2**16
"""Place of the first word that is drawn for a wait; below are those of arrivals and survivors."""


def count_step(chain: CountChain, state: CountState, key: Array) -> tuple[CountState, Flows]:
    """One iteration of one run; axes of further runs may come last in every array and in the words
    of the key."""
    typed = jnp.issubdtype(key.dtype, jax.dtypes.prng_key)
    data = jnp.moveaxis(jax.random.key_data(key), -1, 0) if typed else key
    draw = partial(words, data, state.iterations)

    before = prompts(chain, state)
    waited, wait, waiting_area = _wait(chain, state, before, draw)
    ready = state.queue + waited
    start = state.time + wait

    joined = chain.select(ready)
    # The first `stages` stages of a segment are full: with the newcomers, or those left behind.
    stages = jnp.minimum(state.batches + i32(joined), chain.span - i32(~joined))
    tokens = _tokens(chain, stages)
    kv = jnp.sum(jnp.where(joined, tokens, 0.0), axis=0)
    left = ready - jnp.where(joined, chain.threshold, 0)
    held = jnp.sum(tokens + f64(left) * chain.boundary_tokens, axis=0)
    duration = chain.duration(kv, f64(jnp.where(joined, chain.threshold, 0)))

    passed = joined & (stages == chain.span)
    entered = _entered(chain, joined, stages, passed, start, duration, draw)
    came = over_segments(entered[:1] if chain.nested else entered)
    present = before + f64(over_segments(waited))
    area = present * duration + f64(came) * rates.mean_rest(chain.pieces, start, duration)

    gone = over_segments(jnp.where(passed, chain.threshold, 0)) - (over_segments(entered) - came)
    decoding = f64(stages) - chain.prefills  # stages that emit a token
    emitted = jnp.where(joined, f64(chain.threshold) * decoding, 0.0)
    flows = Flows(
        wait=wait,
        waited=waited,
        joined=joined,
        kv_tokens=kv,
        held_tokens=held,
        duration=duration,
        entered=entered,
        arrived=over_segments(waited) + came,
        completed=gone,
        outputs=jnp.sum(emitted, axis=0),
        waiting_area=waiting_area,
        area=area,
    )
    after = CountState(
        queue=left + entered,
        batches=state.batches + i32(joined),
        time=start + duration,
        iterations=state.iterations + 1,
    )
    return after, flows


def prompts(chain: CountChain, state: CountState) -> Float[Array, "*run"]:
    """In the system, between two iterations."""
    stages = jnp.minimum(state.batches, chain.span - 1)
    inside = f64(chain.threshold) * f64(stages)  # may be more than 32 bits hold
    return jnp.sum(f64(state.queue) + inside, axis=0)


Draw = Callable[[int | Array, int], Words]
"""(first place, places) -> words of this iteration."""


# ------------------------------------------------------------------------------------------- wait


def _wait(
    chain: CountChain, state: CountState, before: Float[Array, "*run"], draw: Draw
) -> tuple[Int[Array, "segment ..."], Float[Array, "*run"], Float[Array, "*run"]]:
    """Arrivals of each segment until a batch can be formed, the time that takes, and the prompts in
    the system, integrated over it."""
    if not chain.nested:
        return _race(chain, state, before, draw)
    missing = jnp.maximum(chain.threshold[0] - state.queue[0], 0)
    waited = jnp.where(along(state.queue) == 0, missing[None], 0)
    count = f64(missing)
    gaps = lax.cond(
        jnp.any(missing > 0),
        lambda: gamma(count, draw, WAITS) / chain.total_rate,
        lambda: jnp.zeros_like(count),
    )
    wait = jnp.where(missing > 0, rates.lasting(chain.pieces, state.time, gaps), 0.0)
    rest = rates.mean_rest(chain.pieces, state.time, wait)
    # The last one comes at the end.
    return waited, wait, before * wait + jnp.maximum(count - 1, 0.0) * rest


def _race(
    chain: CountChain, state: CountState, before: Float[Array, "*run"], draw: Draw
) -> tuple[Int[Array, "segment ..."], Float[Array, "*run"], Float[Array, "*run"]]:
    """Arrivals one at a time, until a type has reached its threshold."""
    segment = along(state.queue)

    def lacking(waited: Int[Array, "segment ..."]) -> Bool[Array, "*run"]:
        return jnp.all(state.queue + waited < chain.threshold, axis=0)

    def one(carry: tuple[Array, ...]) -> tuple[Array, ...]:
        waited, wait, area, place = carry
        going = lacking(waited)
        u = uniform(draw(place, 2))
        units = -jnp.log(u[0]) / chain.total_rate
        gap = jnp.where(going, rates.lasting(chain.pieces, state.time + wait, units), 0.0)
        kind = jnp.sum(u[1:] >= chain.upto, axis=0, dtype=jnp.int32)
        came = i32(going[None] & (kind[None] == segment))
        area = area + gap * (before + f64(over_segments(waited)))
        return waited + came, wait + gap, area, place + jnp.uint32(2)

    none = jnp.zeros_like(before)
    start = (jnp.zeros_like(state.queue), none, none, jnp.uint32(WAITS))
    waited, wait, area, _ = lax.while_loop(lambda carry: jnp.any(lacking(carry[0])), one, start)
    return waited, wait, area


# ---------------------------------------------------------------------------------------- measure


def _tokens(chain: CountChain, stages: Int[Array, "segment ..."]) -> Float[Array, "segment ..."]:
    """Of n prompts at each of a segment's first `stages` stages while these are computed.

    Paused, the same number of stages, each one further on, holds as much: a prompt keeps what it
    has computed.
    """
    count = f64(stages)
    return f64(chain.threshold) * (count * chain.first_tokens + count * (count - 1) / 2)


# ------------------------------------------------------------------------------------------- draw


def _entered(
    chain: CountChain,
    joined: Bool[Array, "segment ..."],
    stages: Int[Array, "segment ..."],
    passed: Bool[Array, "segment ..."],
    start: Float[Array, "*run"],
    duration: Float[Array, "*run"],
    draw: Draw,
) -> Int[Array, "segment ..."]:
    """Who comes to wait before each segment in this iteration: arrivals, survivors."""
    word = draw(0, len(joined))
    units = rates.elapsed(chain.pieces, start, duration)
    if chain.cells is None:
        return poisson(f64(chain.rate) * units[None], uniform(word))

    # Table 2 k is of arrivals while segments 0 to k are full, 2 k - 1 of those who go on into k.
    segment = along(joined)
    depth = jnp.maximum(over_segments(i32(joined)), 1) - 1
    there = chain.threshold < NEVER  # others are there for longer chains beside this one
    table = jnp.where(segment == 0, 2 * depth[None], 2 * segment - 1)
    cells, first, bits = map(jnp.asarray, (chain.cells, chain.first_cell, chain.bits))
    drawn = look_up(cells, first, bits, jnp.where(there, table, 0), word)

    def search() -> Int[Array, "*run"]:
        return poisson(jnp.asarray(chain.total_rate) * units, uniform(word)[0])

    if chain.pieces is not None:
        arrivals = search()
    else:
        # Of full segments by table. Which way a run goes depends on itself alone.
        full = jnp.all(~joined | (stages == chain.span), axis=0)
        searched = lax.cond(jnp.all(full), lambda: jnp.zeros_like(depth), search)
        least = jnp.where(segment == depth[None], chain.arrivals_from, 0)
        arrivals = jnp.where(full, drawn[0] + over_segments(least), searched)
    comes = jnp.concatenate([jnp.ones_like(passed[:1]), passed[:-1]]) & there
    return jnp.where(comes, jnp.where(segment == 0, arrivals[None], drawn), 0)


def over_segments(values: Int[Array, "segment ..."]) -> Int[Array, "*run"]:
    """Over segments, in 32 bits: a sum of integers is one of 64 bits by default."""
    return jnp.sum(values, axis=0, dtype=jnp.int32)


def i32(values: Array) -> Int[Array, "..."]:
    return values.astype(jnp.int32)


def f64(values: Any) -> Float[Array, "..."]:
    return jnp.asarray(values, jnp.float64)
