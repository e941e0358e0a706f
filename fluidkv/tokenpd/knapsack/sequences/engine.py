"""The compiled loop behind `price_sums`, in groups of lanes and blocks of rounds.

A *lane* is one seed of one setting. Values do not depend on the price, so that a block of rounds is
drawn and sorted at once; then the price goes through it round by round.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Int, UInt32

from fluidkv.processes import cores
from fluidkv.runs.batch import Progress, Reached, Watch, go_on, in_groups
from fluidkv.runs.precision import in_float64
from fluidkv.runs.words import run_keys
from fluidkv.tokenpd.knapsack.price import compiled_price
from fluidkv.tokenpd.knapsack.sequences.draws import Sequence
from fluidkv.tokenpd.objective import Objective, worth_of
from fluidkv.tokenpd.pricing import Budget, Demand, Pricing

BLOCK = 32
"""Rounds drawn and sorted at once: those of a group stay near a core's second cache."""
CALL = 64
"""Blocks of a compiled call: between two of them a run can be interrupted."""
_MOST_ON_CPU = 512
_MOST_ELSEWHERE = 2**15
_LEAST = 128
"""Lanes of a group are a multiple: few sizes are compiled, and fewer lanes take as long."""


class Plan(NamedTuple):
    """What all lanes share."""

    sequence: Sequence
    objective: Objective
    rounds: int
    seed: int
    prices: tuple[float, ...]


class Lane(NamedTuple):
    """One seed of one setting."""

    seed: int
    budget: int
    pricing: Pricing
    cost: int


class _Numbers(NamedTuple):
    """Of each lane; arrays of shape (lane,)."""

    keys: UInt32[Array, "2 lane"]
    step: Array
    start: Array
    penalty: Array
    budget: Array
    cost: Array
    sees_kept: Array


class _Sums(NamedTuple):
    """As in `PriceSums`, but `wanted` and `stayed` count tokens. The bars are the moving price, 0,
    whose best that fit are the optimum, and the fixed prices."""

    netted: Float[Array, "bar lane"]
    hard: Float[Array, "bar lane"]
    wanted: Float[Array, "bar lane"]
    stayed: Float[Array, "bar lane"]
    imbalance: Int[Array, " lane"]
    above: Int[Array, " lane"]
    largest: Int[Array, " lane"]
    highest: Int[Array, " lane"]
    lowest: Int[Array, " lane"]
    priced: Float[Array, " lane"]
    priced_square: Float[Array, " lane"]


def run_sums(plan: Plan, lanes: list[Lane], on_progress: Progress | None) -> dict[str, np.ndarray]:
    """All sums of all lanes: arrays (..., lane) by the names of `PriceSums`."""
    on_cpu = jax.default_backend() == "cpu"
    threads = cores() if on_cpu else 1
    each = -(-len(lanes) // (threads * _LEAST)) * _LEAST
    size = min(each, _MOST_ON_CPU if on_cpu else _MOST_ELSEWHERE)
    watch = Watch(on_progress)
    parts = in_groups(
        lambda group: _run_group(plan, [lanes[at] for at in group], size, watch),
        len(lanes),
        size,
        threads,
        watch,
    )
    return {name: np.concatenate([part[name] for part in parts], axis=-1) for name in parts[0]}


def _run_group(plan: Plan, lanes: list[Lane], size: int, watch: Watch) -> dict[str, np.ndarray]:
    with in_float64():
        # Filled up with lanes that nobody asked for, so that all groups share a compilation.
        numbers = _numbers(plan.seed, lanes + lanes[-1:] * (size - len(lanes)))
        prices, rounds = jnp.array(plan.prices, jnp.float64), jnp.int64(plan.rounds)
        sums = _nothing(size, len(plan.prices))
        call = partial(_blocks, plan.sequence, plan.objective, numbers, prices, rounds)
        watch.compile(size, lambda: call(sums, jnp.int64(plan.rounds)))

        def on(at: int) -> Reached:
            nonlocal sums
            sums = jax.block_until_ready(call(sums, jnp.int64(at)))
            end = min(at + BLOCK * CALL, plan.rounds)
            over = end >= plan.rounds
            return Reached(end, end * len(lanes), len(lanes) * over, not over)

        go_on(on, plan.rounds, watch)
        named = _named(numbers, sums)
        return {name: np.asarray(values)[..., : len(lanes)] for name, values in named.items()}


def _named(numbers: _Numbers, sums: _Sums) -> dict[str, Any]:
    """By the names of `PriceSums`."""
    found = sums._asdict()
    netted, hard, wanted, stayed = (
        found.pop(name) for name in ("netted", "hard", "wanted", "stayed")
    )
    return found | {
        "netted": netted[0],
        "hard": hard[0],
        "optimum": hard[1],
        "price": _price(numbers, sums.imbalance),
        "fixed_netted": netted[2:],
        "fixed_hard": hard[2:],
        "fixed_used": numbers.cost[None] * wanted[2:].astype(jnp.int64),
        "fixed_used_hard": numbers.cost[None] * stayed[2:].astype(jnp.int64),
    }


def _numbers(seed: int, lanes: list[Lane]) -> _Numbers:
    pricings = [lane.pricing for lane in lanes]
    return _Numbers(
        keys=run_keys(seed, np.array([lane.seed for lane in lanes])),
        step=jnp.array([pricing.step for pricing in pricings], jnp.float64),
        start=jnp.array([pricing.start for pricing in pricings], jnp.float64),
        penalty=jnp.array([pricing.penalty for pricing in pricings], jnp.float64),
        budget=jnp.array([lane.budget for lane in lanes], jnp.int64),
        cost=jnp.array([lane.cost for lane in lanes], jnp.int64),
        sees_kept=jnp.array(
            [
                pricing.budget is Budget.HARD and pricing.demand is Demand.KEPT
                for pricing in pricings
            ]
        ),
    )


def _nothing(lanes: int, prices: int) -> _Sums:
    of_bars = jnp.zeros((2 + prices, lanes))
    whole, real = jnp.zeros(lanes, jnp.int64), jnp.zeros(lanes)
    return _Sums(
        netted=of_bars,
        hard=of_bars,
        wanted=of_bars,
        stayed=of_bars,
        imbalance=whole,
        above=whole,
        largest=jnp.full(lanes, jnp.iinfo(jnp.int64).min),
        highest=whole,
        lowest=whole,
        priced=real,
        priced_square=real,
    )


@partial(jax.jit, static_argnames=("sequence", "objective"))
def _blocks(
    sequence: Sequence,
    objective: Objective,
    numbers: _Numbers,
    prices: Float[Array, " price"],
    rounds: Int[Array, ""],
    sums: _Sums,
    begin: Int[Array, ""],
) -> _Sums:
    """So many blocks of rounds from `begin` on, none after the last round."""

    def block(at: Int[Array, ""], sums: _Sums) -> _Sums:
        first = begin + at * BLOCK
        here = first + jnp.arange(BLOCK, dtype=jnp.int64)
        returns = sequence.draw(numbers.keys, here, rounds)
        worth = worth_of(
            objective, returns, 0.0, risk_aversion=0.0, penalty=numbers.penalty[None, None]
        )
        ordered = descending(jnp.where(returns >= 0, worth, -jnp.inf))

        def one(row: Int[Array, ""], sums: _Sums) -> _Sums:
            return _round(numbers, prices, ordered[row], sums)

        return lax.fori_loop(0, jnp.clip(rounds - first, 0, BLOCK), one, sums)

    blocks = jnp.clip(-((begin - rounds) // BLOCK), 0, CALL)
    return lax.fori_loop(0, blocks, block, sums)


def _round(
    numbers: _Numbers,
    prices: Float[Array, " price"],
    worth: Float[Array, "token lane"],
    sums: _Sums,
) -> _Sums:
    """(4), what fits of it, and (5); `worth` descends."""
    cost, fits = numbers.cost.astype(jnp.float64), numbers.budget // numbers.cost
    price = _price(numbers, sums.imbalance)
    fixed = jnp.broadcast_to(prices[:, None], (prices.shape[0], price.shape[0]))
    bars = jnp.concatenate([jnp.stack([price, jnp.zeros_like(price)]), fixed]) * cost[None]
    wanted, netted, hard = _taken(worth, bars, fits)
    stayed = jnp.minimum(wanted, fits.astype(jnp.float64)[None])
    seen = jnp.where(numbers.sees_kept, stayed[0], wanted[0]).astype(jnp.int64)
    over = numbers.cost * seen - numbers.budget
    imbalance, weight = sums.imbalance + over, over.astype(jnp.float64)
    return _Sums(
        netted=sums.netted + netted,
        hard=sums.hard + hard,
        wanted=sums.wanted + wanted,
        stayed=sums.stayed + stayed,
        imbalance=imbalance,
        above=sums.above + jnp.maximum(over, 0),
        largest=jnp.maximum(sums.largest, over),
        highest=jnp.maximum(sums.highest, imbalance),
        lowest=jnp.minimum(sums.lowest, imbalance),
        priced=sums.priced + price * weight,
        priced_square=sums.priced_square + price * weight**2,
    )


def _taken(
    worth: Float[Array, "token lane"], bars: Float[Array, "bar lane"], fits: Int[Array, " lane"]
) -> tuple[Float[Array, "bar lane"], Float[Array, "bar lane"], Float[Array, "bar lane"]]:
    """How many are worth at least a bar, what they are worth, and what the first `fits` are.

    The barriers keep XLA from comparing again for each of the three sums.
    """
    gain = jnp.where(worth > 0, worth, 0.0)
    place = jnp.arange(worth.shape[0], dtype=jnp.int64)[:, None]
    first = jnp.where(place < fits[None], gain, 0.0)
    enough = (worth[:, None] >= bars[None]).astype(jnp.float64)
    gain, first, enough = lax.optimization_barrier((gain, first, enough))
    number = all_of_them = best = jnp.zeros_like(bars)
    for at in range(worth.shape[0]):
        number = number + enough[at]
        all_of_them = all_of_them + gain[at][None] * enough[at]
        best = best + first[at][None] * enough[at]
    return lax.optimization_barrier((number, all_of_them, best))


def _price(numbers: _Numbers, imbalance: Int[Array, " lane"]) -> Float[Array, " lane"]:
    return compiled_price(numbers.start, numbers.step, numbers.budget, imbalance)


def descending(values: Float[Array, "round token lane"]) -> Float[Array, "round place lane"]:
    """Sorted along the tokens, filled up with -inf to a power of two: Batcher's bitonic network.

    All lanes compare the same places, which XLA does many at a time; its own sort takes a lane
    after the other, ten times as long for eight tokens.
    """
    rounds, tokens, lanes = values.shape
    size = 1 << (tokens - 1).bit_length()
    values = jnp.pad(values, ((0, 0), (0, size - tokens), (0, 0)), constant_values=-jnp.inf)
    run = 2
    while run <= size:
        apart = run // 2
        while apart:
            pairs = values.reshape(rounds, size // (2 * apart), 2, apart, lanes)
            high, low = (f(pairs[:, :, 0], pairs[:, :, 1]) for f in (jnp.maximum, jnp.minimum))
            down = (np.arange(0, size, 2 * apart) & run == 0)[None, :, None, None]
            places = jnp.where(down, high, low), jnp.where(down, low, high)
            values = jnp.stack(places, axis=2).reshape(rounds, size, lanes)
            apart //= 2
        run *= 2
    return values
