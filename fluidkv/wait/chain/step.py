"""One iteration of counts, for many runs: wait, select, measure, draw, execute.

The iteration of `fluidkv.wait.runs.reference`, with prompts that nobody can tell apart before they
differ. Who goes on from a segment is drawn when a cohort has passed all of it: until then no
decision depends on it, and each goes on with probability p, whatever has happened.
"""

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int, UInt32

from fluidkv.wait.chain import rates
from fluidkv.wait.chain.draws import look_up, poisson
from fluidkv.wait.chain.lanes import Form, Lanes
from fluidkv.wait.chain.state import Chain, Step, f64, i32, over_lanes
from fluidkv.wait.chain.waits import mean_rest, pieces_of, wait_first
from fluidkv.wait.chain.words import uniform, words


def iterate(
    form: Form,
    lanes: Lanes,
    horizon: Float[Array, ""],
    level: Float[Array, ""],
    chain: Chain,
    iteration: Int[Array, ""],
) -> tuple[Chain, Step]:
    """Each run whose clock is before the horizon does an iteration."""
    alive = chain.time < horizon
    inside = _inside(lanes, chain)
    waited, wait, chain = wait_first(form, lanes, chain, alive, inside, iteration)
    ready = chain.queue + waited
    start = chain.time + wait

    running = _select(form, lanes, ready) & alive[None]
    # The first `stages` stages of a lane are full: with the newcomers, or those left behind.
    stages = jnp.minimum(chain.batches + i32(running), lanes.span - i32(~running))
    tokens = _tokens(lanes, stages)
    kv = jnp.sum(jnp.where(running, tokens, 0.0), axis=0)
    taken = jnp.where(running, lanes.threshold, 0)
    left = ready - taken
    held = jnp.sum(tokens + f64(left) * lanes.boundary_tokens, axis=0)
    duration = lanes.base + lanes.per_kv_token * kv
    end = start + duration

    entered = _entered(form, lanes, chain.key, running, stages, start, end, alive, iteration)
    came = over_lanes(entered[:1] if form.nested else entered)
    present = inside + f64(over_lanes(waited))
    area = present * duration + f64(came) * mean_rest(form, lanes, start, end)

    after = chain._replace(
        queue=left + entered,
        batches=chain.batches + i32(running),
        time=jnp.where(alive, end, chain.time),
        iterations=chain.iterations + i32(alive),
        area=chain.area + jnp.where(alive, area, 0.0),
        queue_sum=chain.queue_sum + jnp.where(alive[None], chain.queue, 0).astype(jnp.int64),
        queue_max=jnp.maximum(chain.queue_max, chain.queue),
        peak=jnp.where(alive, jnp.maximum(chain.peak, held), chain.peak),
        exceeded=jnp.minimum(chain.exceeded, jnp.where(alive & (held > level), start, jnp.inf)),
    )
    step = Step(alive, chain.queue, wait, waited, over_lanes(i32(running)), kv, held, entered, end)
    return after, step


# -------------------------------------------------------------------------------- select, measure


def _select(form: Form, lanes: Lanes, ready: Int[Array, "lane run"]) -> Bool[Array, "lane run"]:
    """Types that have reached their threshold; segments before the first that has not."""
    enough = ready >= lanes.threshold
    if not form.nested:
        return enough
    size = ready.shape[0]
    lane = jnp.arange(size, dtype=jnp.int32)[:, None]
    depth = jnp.min(jnp.where(enough, jnp.int32(size), lane), axis=0)
    return lane < depth[None]


def _tokens(lanes: Lanes, stages: Int[Array, "lane run"]) -> Float[Array, "lane run"]:
    """Of n prompts at each of a lane's first `stages` stages while these are computed.

    Paused, the same number of stages, each one further on, holds as much: a prompt keeps what it
    has computed.
    """
    count = f64(stages)
    return f64(lanes.threshold) * (count * lanes.first_tokens + count * (count - 1) / 2)


def _inside(lanes: Lanes, chain: Chain) -> Float[Array, " run"]:
    """Prompts in the system between two iterations."""
    stages = jnp.minimum(chain.batches, lanes.span - 1)
    inside = f64(lanes.threshold) * f64(stages)  # may be more than 32 bits hold
    return jnp.sum(f64(chain.queue) + inside, axis=0)


# ------------------------------------------------------------------------------------------- draw


def _entered(
    form: Form,
    lanes: Lanes,
    key: UInt32[Array, "2 run"],
    running: Bool[Array, "lane run"],
    stages: Int[Array, "lane run"],
    start: Float[Array, " run"],
    end: Float[Array, " run"],
    alive: Bool[Array, " run"],
    iteration: Int[Array, ""],
) -> Int[Array, "lane run"]:
    """Who comes to wait before each lane in this iteration: arrivals, survivors."""
    size = running.shape[0]
    word = words(key, iteration, 0, size)
    units = rates.elapsed(pieces_of(lanes), start, end) if form.varying else end - start
    if not form.nested:
        return jnp.where(alive[None], poisson(lanes.rate * units[None], uniform(word)), 0)

    lane = jnp.arange(size, dtype=jnp.int32)[:, None]
    depth = jnp.maximum(over_lanes(i32(running)), 1)
    table = jnp.where(lane == 0, size - 2 + depth[None], lane - 1)
    drawn = look_up(lanes.tables, form.columns, table, word)

    def search() -> Int[Array, " run"]:
        return poisson(lanes.rate[0] * units, uniform(word)[0])

    if form.varying:
        arrivals = search()
    else:
        # Of full segments by table. Which way a run goes depends on itself alone.
        full = jnp.all(~running | (stages == lanes.span), axis=0)
        searched = lax.cond(jnp.all(full), lambda: jnp.zeros_like(depth), search)
        arrivals = jnp.where(full, drawn[0] + lanes.arrivals_from[depth - 1], searched)
    passed = running & (stages == lanes.span)
    comes = jnp.concatenate([alive[None], passed[:-1]])
    return jnp.where(comes, jnp.where(lane == 0, arrivals[None], drawn), 0)
