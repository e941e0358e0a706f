"""One iteration of counts, for many runs: wait, select, measure, draw, execute.

The iteration of `fluidkv.wait.runs.reference`, with prompts that nobody can tell apart before they
differ. Who goes on from a segment is drawn when a cohort has passed all of it: until then no
decision depends on it, and each goes on with probability p, whatever has happened.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int, UInt32

from fluidkv.wait.chain import rates
from fluidkv.wait.chain.draws import gamma, look_up, poisson
from fluidkv.wait.chain.lanes import Form, Lanes
from fluidkv.wait.chain.words import uniform, words

WAITS = 2**16
"""Place of the first word that is drawn for a wait; below are those of arrivals and survivors."""


class Chain(NamedTuple):
    """The state of some runs, and what was summed on the way.

    Fields:
        key: of each run.
        queue: prompts that wait before each lane, those of the next batch among them.
        batches: that each lane has had.
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
    queue: Int[Array, "lane run"]
    batches: Int[Array, "lane run"]
    time: Float[Array, " run"]
    iterations: Int[Array, " run"]
    stuck: Int[Array, " run"]
    idle: Float[Array, " run"]
    owed: Float[Array, " run"]
    owed_area: Float[Array, " run"]
    area: Float[Array, " run"]
    queue_sum: Int[Array, "lane run"]
    queue_max: Int[Array, "lane run"]
    peak: Float[Array, " run"]
    exceeded: Float[Array, " run"]


class Step(NamedTuple):
    """What an iteration was. `joined`: lanes in the batch; `queue`: before it, before any wait."""

    alive: Bool[Array, " run"]
    queue: Int[Array, "lane run"]
    wait: Float[Array, " run"]
    waited: Int[Array, "lane run"]
    joined: Int[Array, " run"]
    kv_tokens: Float[Array, " run"]
    held_tokens: Float[Array, " run"]
    entered: Int[Array, "lane run"]
    time: Float[Array, " run"]


def empty(key: UInt32[Array, "2 run"], lanes: Lanes) -> Chain:
    """Nobody has come yet."""
    counts = jnp.zeros((lanes.threshold.shape[0], key.shape[1]), jnp.int32)
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
    waited, wait, chain = _wait(form, lanes, chain, alive, inside, iteration)
    ready = chain.queue + waited
    start = chain.time + wait

    running = _select(form, lanes, ready) & alive[None]
    # The first `stages` stages of a lane are full: with the newcomers, or those left behind.
    stages = jnp.minimum(chain.batches + _i32(running), lanes.span - _i32(~running))
    tokens = _tokens(lanes, stages)
    kv = jnp.sum(jnp.where(running, tokens, 0.0), axis=0)
    taken = jnp.where(running, lanes.threshold, 0)
    left = ready - taken
    held = jnp.sum(tokens + _f64(left) * lanes.boundary_tokens, axis=0)
    duration = lanes.base + lanes.per_kv_token * kv
    end = start + duration

    entered = _entered(form, lanes, chain.key, running, stages, start, end, alive, iteration)
    came = _total(entered[:1] if form.nested else entered)
    present = inside + _f64(_total(waited))
    area = present * duration + _f64(came) * _mean_rest(form, lanes, start, end)

    after = chain._replace(
        queue=left + entered,
        batches=chain.batches + _i32(running),
        time=jnp.where(alive, end, chain.time),
        iterations=chain.iterations + _i32(alive),
        area=chain.area + jnp.where(alive, area, 0.0),
        queue_sum=chain.queue_sum + jnp.where(alive[None], chain.queue, 0).astype(jnp.int64),
        queue_max=jnp.maximum(chain.queue_max, chain.queue),
        peak=jnp.where(alive, jnp.maximum(chain.peak, held), chain.peak),
        exceeded=jnp.minimum(chain.exceeded, jnp.where(alive & (held > level), start, jnp.inf)),
    )
    step = Step(alive, chain.queue, wait, waited, _total(_i32(running)), kv, held, entered, end)
    return after, step


def settle(form: Form, lanes: Lanes, chain: Chain, iteration: Int[Array, ""]) -> Chain:
    """Draw the time of what was waited for and is owed: so many gaps, each exponential."""
    if form.timed:
        return chain
    time = gamma(chain.owed, chain.key, iteration, WAITS) / lanes.rate[0]
    each = time / jnp.maximum(chain.owed, 1.0)  # expected, given their sum
    none = jnp.zeros_like(time)
    return chain._replace(
        time=chain.time + time,
        idle=chain.idle + time,
        area=chain.area + chain.owed_area * each,
        owed=none,
        owed_area=none,
    )


# -------------------------------------------------------------------------------------------- wait


def _wait(
    form: Form,
    lanes: Lanes,
    chain: Chain,
    alive: Bool[Array, " run"],
    inside: Float[Array, " run"],
    iteration: Int[Array, ""],
) -> tuple[Int[Array, "lane run"], Float[Array, " run"], Chain]:
    """Arrivals of each lane until a batch can be formed, the time that takes, and its sums."""
    if not form.nested:
        return _race(form, lanes, chain, alive, inside, iteration)
    missing = jnp.where(alive, jnp.maximum(lanes.threshold[0] - chain.queue[0], 0), 0)
    waited = jnp.where(_first(chain.queue), missing[None], 0)
    stuck = chain.stuck + _i32(missing > 0)
    count = _f64(missing)
    if not form.timed:
        area = count * (inside + (count - 1) / 2)
        owed = chain._replace(
            stuck=stuck, owed=chain.owed + count, owed_area=chain.owed_area + area
        )
        return waited, jnp.zeros_like(inside), owed

    def draw() -> Float[Array, " run"]:
        return gamma(count, chain.key, iteration, WAITS) / lanes.rate[0]

    units = lax.cond(jnp.any(missing > 0), draw, lambda: jnp.zeros_like(inside))
    wait = jnp.where(missing > 0, _lasting(form, lanes, chain.time, units), 0.0)
    rest = _mean_rest(form, lanes, chain.time, chain.time + wait)
    area = inside * wait + jnp.maximum(count - 1, 0.0) * rest  # the last one comes at the end
    return waited, wait, chain._replace(stuck=stuck, idle=chain.idle + wait, area=chain.area + area)


def _race(
    form: Form,
    lanes: Lanes,
    chain: Chain,
    alive: Bool[Array, " run"],
    inside: Float[Array, " run"],
    iteration: Int[Array, ""],
) -> tuple[Int[Array, "lane run"], Float[Array, " run"], Chain]:
    """Arrivals one at a time, until a type has reached its threshold."""
    total = jnp.sum(lanes.rate)
    shares = jnp.cumsum(lanes.rate, axis=0)[:-1] / total
    lane = jnp.arange(chain.queue.shape[0], dtype=jnp.int32)[:, None]

    def lacking(waited: Int[Array, "lane run"]) -> Bool[Array, " run"]:
        return alive & jnp.all(chain.queue + waited < lanes.threshold, axis=0)

    def one(carry: tuple[Array, ...]) -> tuple[Array, ...]:
        waited, wait, area, place = carry
        going = lacking(waited)
        u = uniform(words(chain.key, iteration, place, 2))
        gap = _lasting(form, lanes, chain.time + wait, -jnp.log(u[0]) / total)
        gap = jnp.where(going, gap, 0.0)
        kind = jnp.sum(u[1:] >= shares, axis=0, dtype=jnp.int32)
        came = _i32(going[None] & (kind[None] == lane))
        area = area + gap * (inside + _f64(_total(waited)))
        return waited + came, wait + gap, area, place + jnp.uint32(2)

    none = jnp.zeros_like(inside)
    start = (jnp.zeros_like(chain.queue), none, none, jnp.uint32(WAITS))
    waited, wait, area, _ = lax.while_loop(lambda carry: jnp.any(lacking(carry[0])), one, start)
    return (
        waited,
        wait,
        chain._replace(
            stuck=chain.stuck + _i32(wait > 0), idle=chain.idle + wait, area=chain.area + area
        ),
    )


def _lasting(form: Form, lanes: Lanes, begin: Array, units: Array) -> Float[Array, " run"]:
    """The time in which Lambda grows by `units`."""
    return rates.after(_pieces(lanes), begin, units) - begin if form.varying else units


def _mean_rest(form: Form, lanes: Lanes, begin: Array, end: Array) -> Float[Array, " run"]:
    """How long before `end` who comes between the two comes, on average."""
    return rates.mean_rest(_pieces(lanes), begin, end) if form.varying else (end - begin) / 2


def _pieces(lanes: Lanes) -> rates.Pieces:
    assert lanes.pieces is not None  # where form.varying
    return lanes.pieces


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
    count = _f64(stages)
    return _f64(lanes.threshold) * (count * lanes.first_tokens + count * (count - 1) / 2)


def _inside(lanes: Lanes, chain: Chain) -> Float[Array, " run"]:
    """Prompts in the system between two iterations."""
    stages = jnp.minimum(chain.batches, lanes.span - 1)
    return _f64(_total(chain.queue + lanes.threshold * stages))


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
    units = rates.elapsed(_pieces(lanes), start, end) if form.varying else end - start
    if not form.nested:
        return jnp.where(alive[None], poisson(lanes.rate * units[None], uniform(word)), 0)

    lane = jnp.arange(size, dtype=jnp.int32)[:, None]
    depth = jnp.maximum(_total(_i32(running)), 1)
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


def _first(values: Array) -> Bool[Array, "lane 1"]:
    return jnp.arange(values.shape[0])[:, None] == 0


def _i32(values: Array) -> Int[Array, "..."]:
    return values.astype(jnp.int32)


def _f64(values: Array) -> Float[Array, "..."]:
    return values.astype(jnp.float64)


def _total(values: Int[Array, "lane run"]) -> Int[Array, " run"]:
    """Over lanes, in 32 bits: a sum of integers is one of 64 bits by default."""
    return jnp.sum(values, axis=0, dtype=jnp.int32)
