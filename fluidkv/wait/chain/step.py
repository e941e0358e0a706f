"""One iteration of counts, for many runs: wait, select, measure, draw, execute.

The iteration of `fluidkv.wait.runs.reference`, with prompts that nobody can tell apart before they
differ. Who goes on from a segment is drawn when a cohort has passed all of it: until then no
decision depends on it, and each goes on with probability p, whatever has happened.
"""

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int, UInt32

from fluidkv.runs.words import uniform, words
from fluidkv.wait.chain import rates
from fluidkv.wait.chain.draws import look_up, poisson
from fluidkv.wait.chain.numbers import Form, Numbers
from fluidkv.wait.chain.state import Chain, Step, f64, i32, over_segments
from fluidkv.wait.chain.waits import mean_rest, pieces_of, wait_first


def iterate(
    form: Form,
    numbers: Numbers,
    chain: Chain,
    iteration: Int[Array, ""],
) -> tuple[Chain, Step]:
    """Each run whose clock is before its horizon does an iteration."""
    alive = chain.time < numbers.horizon
    inside = _inside(numbers, chain)
    waited, wait, chain = wait_first(form, numbers, chain, alive, inside, iteration)
    ready = chain.queue + waited
    start = chain.time + wait

    running = _select(form, numbers, ready) & alive[None]
    # The first `stages` stages of a segment are full: with the newcomers, or those left behind.
    stages = jnp.minimum(chain.batches + i32(running), numbers.span - i32(~running))
    tokens = _tokens(numbers, stages)
    kv = jnp.sum(jnp.where(running, tokens, 0.0), axis=0)
    taken = jnp.where(running, numbers.threshold, 0)
    left = ready - taken
    held = jnp.sum(tokens + f64(left) * numbers.boundary_tokens, axis=0)
    computed = jnp.sum(jnp.where(running, numbers.prefill_tokens, 0.0), axis=0)
    prefill = numbers.per_prefill_token * computed
    duration = numbers.base + numbers.per_kv_token * kv + prefill
    end = start + duration

    entered = _entered(form, numbers, chain.key, running, stages, start, end, alive, iteration)
    came = over_segments(entered[:1] if form.nested else entered)
    present = inside + f64(over_segments(waited))
    area = present * duration + f64(came) * mean_rest(form, numbers, start, end)

    above = alive & (held > numbers.level)
    after = chain._replace(
        queue=left + entered,
        batches=chain.batches + i32(running),
        time=jnp.where(alive, end, chain.time),
        iterations=chain.iterations + i32(alive),
        area=chain.area + jnp.where(alive, area, 0.0),
        queue_sum=chain.queue_sum + jnp.where(alive[None], chain.queue, 0).astype(jnp.int64),
        queue_max=jnp.maximum(chain.queue_max, chain.queue),
        peak=jnp.where(alive, jnp.maximum(chain.peak, held), chain.peak),
        exceeded=jnp.minimum(chain.exceeded, jnp.where(above, start, jnp.inf)),
    )
    step = Step(
        alive, chain.queue, wait, waited, over_segments(i32(running)), kv, held, entered, end
    )
    return after, step


# -------------------------------------------------------------------------------- select, measure


def _select(
    form: Form, numbers: Numbers, ready: Int[Array, "segment run"]
) -> Bool[Array, "segment run"]:
    """Types that have reached their threshold; segments before the first that has not."""
    enough = ready >= numbers.threshold
    if not form.nested:
        return enough
    size = ready.shape[0]
    segment = jnp.arange(size, dtype=jnp.int32)[:, None]
    depth = jnp.min(jnp.where(enough, jnp.int32(size), segment), axis=0)
    return segment < depth[None]


def _tokens(numbers: Numbers, stages: Int[Array, "segment run"]) -> Float[Array, "segment run"]:
    """Of n prompts at each of a segment's first `stages` stages while these are computed.

    Paused, the same number of stages, each one further on, holds as much: a prompt keeps what it
    has computed.
    """
    count = f64(stages)
    return f64(numbers.threshold) * (count * numbers.first_tokens + count * (count - 1) / 2)


def _inside(numbers: Numbers, chain: Chain) -> Float[Array, " run"]:
    """Prompts in the system between two iterations."""
    stages = jnp.minimum(chain.batches, numbers.span - 1)
    inside = f64(numbers.threshold) * f64(stages)  # may be more than 32 bits hold
    return jnp.sum(f64(chain.queue) + inside, axis=0)


# ------------------------------------------------------------------------------------------- draw


def _entered(
    form: Form,
    numbers: Numbers,
    key: UInt32[Array, "2 run"],
    running: Bool[Array, "segment run"],
    stages: Int[Array, "segment run"],
    start: Float[Array, " run"],
    end: Float[Array, " run"],
    alive: Bool[Array, " run"],
    iteration: Int[Array, ""],
) -> Int[Array, "segment run"]:
    """Who comes to wait before each segment in this iteration: arrivals, survivors."""
    size = running.shape[0]
    word = words(key, iteration, 0, size)
    units = rates.elapsed(pieces_of(numbers), start, end) if form.varying else end - start
    if not form.nested:
        return jnp.where(alive[None], poisson(numbers.rate * units[None], uniform(word)), 0)

    segment = jnp.arange(size, dtype=jnp.int32)[:, None]
    depth = jnp.maximum(over_segments(i32(running)), 1)
    there = segment < numbers.segments[None]  # others are there for longer chains beside this one
    table = jnp.where(segment == 0, numbers.segments[None] - 2 + depth[None], segment - 1)
    of_run = numbers.first_cell, numbers.columns, numbers.shift
    drawn = look_up(numbers.tables, *of_run, jnp.where(there, table, 0), word)

    def search() -> Int[Array, " run"]:
        return poisson(numbers.rate[0] * units, uniform(word)[0])

    if form.varying:
        arrivals = search()
    else:
        # Of full segments by table. Which way a run goes depends on itself alone.
        full = jnp.all(~running | (stages == numbers.span), axis=0)
        searched = lax.cond(jnp.all(full), lambda: jnp.zeros_like(depth), search)
        least = jnp.where(segment == depth[None] - 1, numbers.arrivals_from, 0)
        arrivals = jnp.where(full, drawn[0] + over_segments(least), searched)
    passed = running & (stages == numbers.span)
    comes = jnp.concatenate([alive[None], passed[:-1]]) & there
    return jnp.where(comes, jnp.where(segment == 0, arrivals[None], drawn), 0)
