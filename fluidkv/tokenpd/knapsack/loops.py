"""The compiled loops over rounds: the price rule, and the heap of section 5.

They carry the integer S and sets of tokens. Tokens stand in the order of their arrival, so that of
equals the last one stays.
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from fluidkv.tokenpd.knapsack.price import compiled_price


class Table(NamedTuple):
    """Pools as pricings see them.

    Fields:
        worth: as seen. present: may be kept. new: is written in the round.
        order: tokens, the best first. place: of each token in that order.
    """

    worth: Float[Array, "*round table token"]
    present: Bool[Array, "*round table token"]
    new: Bool[Array, "*round table token"]
    order: Int[Array, "*round table token"]
    place: Int[Array, "*round table token"]


class Setting(NamedTuple):
    """Numbers of each run; `option`: gone, or of a heap fresh."""

    table: Int[Array, " run"]
    step: Float[Array, " run"]
    start: Float[Array, " run"]
    budget: Int[Array, " run"]
    cost: Int[Array, " run"]
    hard: Bool[Array, " run"]
    sees_kept: Bool[Array, " run"]
    option: Bool[Array, " run"]


Record = tuple[
    Float[Array, "rounds_and_1 run"],
    Int[Array, "rounds_and_1 run"],
    Bool[Array, "round run token"],
    Bool[Array, "round run token"],
]
"""Price and S, wanted and kept."""


@partial(jax.jit, static_argnames=("sorts",))
def price_loop(tables: Table, setting: Setting, sorts: bool) -> Record:
    """Price, S, wanted and kept of each round, with S and the price after the last."""
    fits = (setting.budget // setting.cost)[:, None]

    def step(
        carry: tuple[Array, Array], shown: Table
    ) -> tuple[tuple[Array, Array], tuple[Array, ...]]:
        imbalance, evicted = carry
        here = Table(*(column[setting.table] for column in shown))
        price = _price(setting, imbalance)
        allowed = here.present & ~(evicted & setting.option[:, None])
        wanted = allowed & (here.worth >= (price * setting.cost.astype(jnp.float64))[:, None])
        kept = wanted
        if sorts:
            kept = jnp.where(setting.hard[:, None], _best(wanted, here, fits), wanted)
        after = _after(setting, imbalance, wanted, kept)
        return (after, evicted | (here.present & ~kept)), (price, imbalance, wanted, kept)

    evicted = jnp.zeros((setting.table.shape[0], tables.worth.shape[2]), bool)
    start = jnp.zeros_like(setting.budget)
    (last, _), (price, imbalance, wanted, kept) = lax.scan(step, (start, evicted), tables)
    return *_with_last(setting, price, imbalance, last), wanted, kept


@jax.jit
def heap_loop(tables: Table, setting: Setting) -> Record:
    """The same of the heap; what it asks for stands for what is wanted."""
    fits = setting.budget // setting.cost

    def step(
        carry: tuple[Array, Array, Array], shown: Table
    ) -> tuple[tuple[Array, Array, Array], tuple[Array, ...]]:
        imbalance, held, excess = carry
        here = Table(*(column[setting.table] for column in shown))
        price = _price(setting, imbalance)
        now = here.worth - (price * setting.cost.astype(jnp.float64))[:, None]
        asked = here.present & (held | here.new)
        excess = jnp.where(here.new | setting.option[:, None], now, excess)
        # Ascending, and of equals the older first: the last ones stay.
        place = jnp.argsort(jnp.lexsort((excess, asked), axis=1), axis=1)
        kept = asked & (place >= (asked.shape[1] - fits)[:, None])
        after = _after(setting, imbalance, asked, kept)
        return (after, kept, excess), (price, imbalance, asked, kept)

    shape = (setting.table.shape[0], tables.worth.shape[2])
    empty = jnp.zeros_like(setting.budget), jnp.zeros(shape, bool), jnp.zeros(shape)
    (last, _, _), (price, imbalance, asked, kept) = lax.scan(step, empty, tables)
    return *_with_last(setting, price, imbalance, last), asked, kept


def _price(setting: Setting, imbalance: Int[Array, " run"]) -> Float[Array, " run"]:
    return compiled_price(setting.start, setting.step, setting.budget, imbalance)


def _after(
    setting: Setting,
    imbalance: Int[Array, " run"],
    wanted: Bool[Array, "run token"],
    kept: Bool[Array, "run token"],
) -> Int[Array, " run"]:
    """S after the round: (5)."""
    seen = jnp.where(setting.sees_kept[:, None], kept, wanted)
    return imbalance + setting.cost * seen.sum(axis=1, dtype=jnp.int64) - setting.budget


def _best(
    wanted: Bool[Array, "run token"], here: Table, fits: Int[Array, "run 1"]
) -> Bool[Array, "run token"]:
    """Of what is wanted the best that fit."""
    in_order = jnp.take_along_axis(wanted, here.order, axis=1)
    rank = jnp.cumsum(in_order, axis=1, dtype=jnp.int64)
    return wanted & (jnp.take_along_axis(rank, here.place, axis=1) <= fits)


def _with_last(
    setting: Setting,
    price: Float[Array, "round run"],
    imbalance: Int[Array, "round run"],
    last: Int[Array, " run"],
) -> tuple[Float[Array, "rounds_and_1 run"], Int[Array, "rounds_and_1 run"]]:
    """Price and S of each round, and after the last.

    The prices are those that the rounds used: computed again for all rounds together, XLA divides
    in another way, and they differ in the last digits.
    """
    after = _price(setting, last)
    return jnp.concatenate([price, after[None]]), jnp.concatenate([imbalance, last[None]])
