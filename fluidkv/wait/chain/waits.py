"""What comes before an iteration of counts: arrivals until a batch can be formed, their time."""

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from fluidkv.runs.words import uniform, words
from fluidkv.wait.chain import rates
from fluidkv.wait.chain.draws import gamma
from fluidkv.wait.chain.numbers import Form, Numbers
from fluidkv.wait.chain.state import Chain, f64, i32, over_segments

WAITS = 2**16
"""Place of the first word that is drawn for a wait; below are those of arrivals and survivors."""


def wait_first(
    form: Form,
    numbers: Numbers,
    chain: Chain,
    alive: Bool[Array, " run"],
    inside: Float[Array, " run"],
    iteration: Int[Array, ""],
) -> tuple[Int[Array, "segment run"], Float[Array, " run"], Chain]:
    """Arrivals of each segment until a batch can be formed, the time that takes, and its sums."""
    if not form.nested:
        return _race(form, numbers, chain, alive, inside, iteration)
    missing = jnp.where(alive, jnp.maximum(numbers.threshold[0] - chain.queue[0], 0), 0)
    waited = jnp.where(_first(chain.queue), missing[None], 0)
    stuck = chain.stuck + i32(missing > 0)
    count = f64(missing)
    if not form.timed:
        area = count * (inside + (count - 1) / 2)
        owed = chain._replace(
            stuck=stuck, owed=chain.owed + count, owed_area=chain.owed_area + area
        )
        return waited, jnp.zeros_like(inside), owed

    def draw() -> Float[Array, " run"]:
        return gamma(count, chain.key, iteration, WAITS) / numbers.rate[0]

    units = lax.cond(jnp.any(missing > 0), draw, lambda: jnp.zeros_like(inside))
    wait = jnp.where(missing > 0, lasting(form, numbers, chain.time, units), 0.0)
    rest = mean_rest(form, numbers, chain.time, chain.time + wait)
    area = inside * wait + jnp.maximum(count - 1, 0.0) * rest  # the last one comes at the end
    return waited, wait, chain._replace(stuck=stuck, idle=chain.idle + wait, area=chain.area + area)


def settle(form: Form, numbers: Numbers, chain: Chain, iteration: Int[Array, ""]) -> Chain:
    """Draw the time of what was waited for and is owed: so many gaps, each exponential."""
    if form.timed:
        return chain
    time = gamma(chain.owed, chain.key, iteration, WAITS) / numbers.rate[0]
    each = time / jnp.maximum(chain.owed, 1.0)  # expected, given their sum
    none = jnp.zeros_like(time)
    return chain._replace(
        time=chain.time + time,
        idle=chain.idle + time,
        area=chain.area + chain.owed_area * each,
        owed=none,
        owed_area=none,
    )


def lasting(form: Form, numbers: Numbers, begin: Array, units: Array) -> Float[Array, " run"]:
    """The time in which Lambda grows by `units`."""
    return rates.after(pieces_of(numbers), begin, units) - begin if form.varying else units


def mean_rest(form: Form, numbers: Numbers, begin: Array, end: Array) -> Float[Array, " run"]:
    """How long before `end` who comes between the two comes, on average."""
    return rates.mean_rest(pieces_of(numbers), begin, end) if form.varying else (end - begin) / 2


def pieces_of(numbers: Numbers) -> rates.Pieces:
    assert numbers.pieces is not None  # where form.varying
    return numbers.pieces


def _race(
    form: Form,
    numbers: Numbers,
    chain: Chain,
    alive: Bool[Array, " run"],
    inside: Float[Array, " run"],
    iteration: Int[Array, ""],
) -> tuple[Int[Array, "segment run"], Float[Array, " run"], Chain]:
    """Arrivals one at a time, until a type has reached its threshold."""
    total, shares = numbers.total_rate, numbers.shares
    segment = jnp.arange(chain.queue.shape[0], dtype=jnp.int32)[:, None]

    def lacking(waited: Int[Array, "segment run"]) -> Bool[Array, " run"]:
        return alive & jnp.all(chain.queue + waited < numbers.threshold, axis=0)

    def one(carry: tuple[Array, ...]) -> tuple[Array, ...]:
        waited, wait, area, place = carry
        going = lacking(waited)
        u = uniform(words(chain.key, iteration, place, 2))
        gap = lasting(form, numbers, chain.time + wait, -jnp.log(u[0]) / total)
        gap = jnp.where(going, gap, 0.0)
        kind = jnp.sum(u[1:] >= shares, axis=0, dtype=jnp.int32)
        came = i32(going[None] & (kind[None] == segment))
        area = area + gap * (inside + f64(over_segments(waited)))
        return waited + came, wait + gap, area, place + jnp.uint32(2)

    none = jnp.zeros_like(inside)
    start = (jnp.zeros_like(chain.queue), none, none, jnp.uint32(WAITS))
    waited, wait, area, _ = lax.while_loop(lambda carry: jnp.any(lacking(carry[0])), one, start)
    return (
        waited,
        wait,
        chain._replace(
            stuck=chain.stuck + i32(wait > 0), idle=chain.idle + wait, area=chain.area + area
        ),
    )


def _first(values: Array) -> Bool[Array, "segment 1"]:
    return jnp.arange(values.shape[0])[:, None] == 0
