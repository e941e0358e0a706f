"""The price rule and the heap in JAX, batched over pools, prices, steps and budgets.

What tokens are worth, and their order in a round, do not depend on the price, so that they are
computed before, in NumPy, as in the literal run; no rounding tells the two apart. The compiled loop
carries S and who may still be kept.
"""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple, overload

import jax.numpy as jnp
import numpy as np

from fluidkv.errors import InputError
from fluidkv.runs.checks import instance
from fluidkv.runs.precision import in_float64
from fluidkv.runs.values import one_each
from fluidkv.tokenpd.knapsack.loops import Setting, Table, heap_loop, price_loop
from fluidkv.tokenpd.knapsack.pool import Pool
from fluidkv.tokenpd.knapsack.run import PriceRun, tokens_that_fit
from fluidkv.tokenpd.objective import worth_of
from fluidkv.tokenpd.pricing import Budget, Demand, Pricing


@overload
def price_rounds(pool: Pool, budget: int, pricing: Pricing, *, gone: bool = False) -> PriceRun: ...
@overload
def price_rounds(
    pool: Pool | Sequence[Pool],
    budget: int | Sequence[int],
    pricing: Pricing | Sequence[Pricing],
    *,
    gone: bool | Sequence[bool] = False,
) -> PriceRun | list[PriceRun]: ...
def price_rounds(
    pool: Pool | Sequence[Pool],
    budget: int | Sequence[int],
    pricing: Pricing | Sequence[Pricing],
    *,
    gone: bool | Sequence[bool] = False,
) -> PriceRun | list[PriceRun]:
    """Rule (4) with (5) over the rounds of a pool; many runs at once where an argument has many.

    A round: requests that have ended free theirs; (4) wants tokens worth at least mu c; under
    Budget.HARD the best of them stay, as many as fit (among equals the later arrival, then the
    higher index); (5) sets the price. Worth is computed from `pool.seen`, rewards from the returns.

    Args:
        pool: one, or one for each run, all of one shape.
        budget: M, units of memory; one, or one for each run.
        pricing: one, or one for each run.
        gone: what was evicted cannot come back. Otherwise it may be kept again later, which
            `PriceRun.brought_back` counts.

    Returns:
        A run; a list of them where any argument has several.

    Raises:
        InputError: a budget below one token; numbers of runs that differ; pools of several shapes.

    Source: Token-PD, (4), (5).

    Examples:
        >>> from fluidkv.tokenpd import Pricing
        >>> from fluidkv.tokenpd.knapsack.pool import Pool
        >>> from fluidkv.tokenpd.knapsack.compiled import price_rounds
        >>> returns, risk = np.ones((3, 2)), np.zeros((3, 2))
        >>> pool = Pool(returns, request=[0, 0], arrival=[0, 0], end=[3, 3], risk=risk)
        >>> run = price_rounds(pool, budget=1, pricing=Pricing(step=0.5))
        >>> run.used.tolist(), run.price.round(2).tolist()
        ([2, 0, 2], [1.0, 1.65, 1.0, 1.65])
    """
    runs, single = _runs({"pool": pool, "budget": budget, "pricing": pricing, "gone": gone})
    found = _computed(runs, sorts=any(run.pricing.budget is Budget.HARD for run in runs))
    return found[0] if single else found


@overload
def heap_rounds(pool: Pool, budget: int, pricing: Pricing, *, fresh: bool = False) -> PriceRun: ...
@overload
def heap_rounds(
    pool: Pool | Sequence[Pool],
    budget: int | Sequence[int],
    pricing: Pricing | Sequence[Pricing],
    *,
    fresh: bool | Sequence[bool] = False,
) -> PriceRun | list[PriceRun]: ...
def heap_rounds(
    pool: Pool | Sequence[Pool],
    budget: int | Sequence[int],
    pricing: Pricing | Sequence[Pricing],
    *,
    fresh: bool | Sequence[bool] = False,
) -> PriceRun | list[PriceRun]:
    """Section 5's heap over the rounds of a pool; many runs at once where an argument has many.

    A round: requests that have ended free theirs; new tokens are written and their excess values
    g recorded at the round's price; the smallest go until the rest fits, for good (among equals the
    earlier arrival, then the lower index). The new ones are in the heap then: they may go at once.

    Args:
        pool, budget, pricing: as for `price_rounds`; the budget is always hard. (5) sees what was
            asked for (Demand.WANTED: what was held and what is new) or what stayed.
        fresh: g of all that is held is computed again in each round.

    Returns:
        A run, whose `wanted` is what was asked for; a list where any argument has several.

    Raises:
        InputError: as `price_rounds`.

    Source: Token-PD, section 5, "Hook points".

    Examples:
        >>> from fluidkv.tokenpd import Pricing
        >>> from fluidkv.tokenpd.knapsack.pool import Pool
        >>> from fluidkv.tokenpd.knapsack.compiled import heap_rounds
        >>> returns, risk = [[0.75, 0.5], [0.25, 0.5]], np.zeros((2, 2))
        >>> pool = Pool(returns, request=[0, 0], arrival=[0, 0], end=[2, 2], risk=risk)
        >>> run = heap_rounds(pool, budget=1, pricing=Pricing(step=0.5))
        >>> run.kept.tolist()  # the second token was worth less when written, and is gone
        [[True, False], [True, False]]
    """
    runs, single = _runs({"pool": pool, "budget": budget, "pricing": pricing, "fresh": fresh})
    found = _computed(runs, sorts=None)
    return found[0] if single else found


class _Asked(NamedTuple):
    """What one run is asked for."""

    pool: Pool
    budget: int
    pricing: Pricing
    option: bool


def _runs(given: dict) -> tuple[list[_Asked], bool]:
    columns = one_each(given)
    runs = [_Asked(*row) for row in zip(*columns.values(), strict=True)]
    shapes = {instance("pool", run.pool, Pool, "a Pool").returns.shape for run in runs}
    if len(shapes) > 1:
        raise InputError("pool", sorted(shapes), "pools of one shape")
    for run in runs:
        instance("pricing", run.pricing, Pricing, "a Pricing")
        tokens_that_fit(run.budget, run.pool.cost, len(run.pool.returns))
    single = not any(isinstance(value, Sequence | np.ndarray) for value in given.values())
    return runs, single


def _computed(runs: list[_Asked], sorts: bool | None) -> list[PriceRun]:
    """`sorts`: whether any budget is hard; None for the heap."""
    keys = [_key(run) for run in runs]
    first = dict(reversed(list(zip(keys, runs, strict=True))))
    place = {key: at for at, key in enumerate(first)}
    stacked = zip(*map(_table, first.values()), strict=True)
    with in_float64():
        tables = Table(*(jnp.asarray(np.stack(column, axis=1)) for column in stacked))
        setting = _setting(runs, [place[key] for key in keys])
        loop = heap_loop if sorts is None else partial(price_loop, sorts=sorts)
        price, imbalance, wanted, kept = (np.asarray(each) for each in loop(tables, setting))
    return [
        _run_of(run, price[:, at], imbalance[:, at], wanted[:, at], kept[:, at])
        for at, run in enumerate(runs)
    ]


def _key(run: _Asked) -> tuple:
    pricing = run.pricing
    return id(run.pool), pricing.objective, float(pricing.risk_aversion), float(pricing.penalty)


def _setting(runs: list[_Asked], table: list[int]) -> Setting:
    pricings = [run.pricing for run in runs]
    return Setting(
        table=jnp.array(table, jnp.int32),
        step=jnp.array([pricing.step for pricing in pricings], jnp.float64),
        start=jnp.array([pricing.start for pricing in pricings], jnp.float64),
        budget=jnp.array([run.budget for run in runs], jnp.int64),
        cost=jnp.array([run.pool.cost for run in runs], jnp.int64),
        hard=jnp.array([pricing.budget is Budget.HARD for pricing in pricings]),
        sees_kept=jnp.array([pricing.demand is Demand.KEPT for pricing in pricings]),
        option=jnp.array([bool(run.option) for run in runs]),
    )


def _worth(run: _Asked, returns: np.ndarray) -> np.ndarray:
    pricing = run.pricing
    found = worth_of(
        pricing.objective,
        returns,
        run.pool.risk,
        risk_aversion=pricing.risk_aversion,
        penalty=pricing.penalty,
    )
    return np.asarray(found, np.float64)


def _table(run: _Asked) -> tuple[np.ndarray, ...]:
    """The columns of `Table` for one pool as its pricing sees it."""
    pool = run.pool
    by_arrival = np.argsort(pool.arrival, kind="stable")
    worth = _worth(run, pool.seen)[:, by_arrival]
    rounds = np.arange(len(worth))[:, None]
    order = np.argsort(worth, axis=1, kind="stable")[:, ::-1].astype(np.int32)
    return (
        worth,
        pool.present[:, by_arrival],
        np.maximum(pool.arrival, 0)[by_arrival] == rounds,
        order,
        np.argsort(order, axis=1).astype(np.int32),
    )


def _run_of(
    run: _Asked, price: np.ndarray, imbalance: np.ndarray, wanted: np.ndarray, kept: np.ndarray
) -> PriceRun:
    pool, fits = run.pool, run.budget // run.pool.cost
    back = np.argsort(np.argsort(pool.arrival, kind="stable"))  # to the pool's order
    wanted, kept = wanted[:, back], kept[:, back]
    realised, present = _worth(run, pool.returns), pool.present
    gains = np.where(present, realised, 0.0).clip(min=0)
    before = np.zeros_like(kept)
    before[1:] = (present & ~kept)[:-1]
    return PriceRun(
        price=price,
        wanted=wanted,
        kept=kept,
        used=pool.cost * kept.sum(axis=1, dtype=np.int64),
        imbalance=imbalance,
        reward=np.where(kept, realised, 0.0).sum(axis=1),
        optimum=np.sort(gains, axis=1)[:, ::-1][:, :fits].sum(axis=1),
        brought_back=(kept & before).sum(axis=1, dtype=np.int64),
    )
