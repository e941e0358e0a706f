"""Compiled runs are the literal ones, step by step; batches are single runs."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from fluidkv.errors import InputError
from fluidkv.tokenpd.knapsack.compiled import heap_rounds, price_rounds
from fluidkv.tokenpd.knapsack.heap import literal_heap
from fluidkv.tokenpd.knapsack.literal import literal_rounds
from fluidkv.tokenpd.knapsack.pool import Pool
from fluidkv.tokenpd.knapsack.run import PriceRun
from fluidkv.tokenpd.pricing import Budget, Pricing
from tests.tokenpd.knapsack.drawn import Drawn, assert_equal_runs, drawn, drawn_pool_of

SHAPE = 12, 8
"""Of most pools here: one compilation for each number of runs."""


def drawn_settings(seed: int, number: int, rounds: int, tokens: int) -> list[Drawn]:
    random = np.random.default_rng(seed)
    return [drawn(random, rounds, tokens) for _ in range(number)]


def compare_price(settings: list[Drawn]) -> list[PriceRun]:
    """The literal runs, each found equal to its compiled one."""
    pools, budgets, pricings, gone = zip(*settings, strict=True)
    compiled = price_rounds(pools, budgets, pricings, gone=gone)
    assert isinstance(compiled, list)
    literal = [literal_rounds(*each[:3], gone=each.option) for each in settings]
    for mine, other in zip(literal, compiled, strict=True):
        assert_equal_runs(mine, other)
    return literal


def compare_heap(settings: list[Drawn]) -> list[PriceRun]:
    """The same of the heap."""
    pools, budgets, pricings, fresh = zip(*settings, strict=True)
    compiled = heap_rounds(pools, budgets, pricings, fresh=fresh)
    assert isinstance(compiled, list)
    literal = [literal_heap(*each[:3], fresh=each.option) for each in settings]
    for mine, other in zip(literal, compiled, strict=True):
        assert_equal_runs(mine, other)
    return literal


def test_price_rounds_are_the_literal_ones() -> None:
    literal = compare_price(drawn_settings(0, 400, *SHAPE))
    # The settings reach what they are for.
    assert sum((run.wanted != run.kept).any() for run in literal) > 40
    assert sum(run.brought_back.any() for run in literal) > 40
    assert sum((np.diff(run.price) > 0).any() for run in literal) > 40


def test_heap_rounds_are_the_literal_ones() -> None:
    literal = compare_heap(drawn_settings(1, 400, *SHAPE))
    assert sum((run.wanted != run.kept).any() for run in literal) > 100


@pytest.mark.thorough
def test_more_tokens_than_rounds() -> None:
    compare_price(drawn_settings(2, 20, 3, 20))
    compare_heap(drawn_settings(3, 20, 3, 20))


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(10))
def test_ten_thousand_settings_of_either_rule(seed: int) -> None:
    """1,000 of each rule for each seed, half of them of another shape."""
    shapes = [SHAPE, (1 + 3 * seed, 1 + 2 * seed)]
    for shape in shapes:
        compare_price(drawn_settings(100 + seed, 500, *shape))
        compare_heap(drawn_settings(200 + seed, 500, *shape))


def test_a_price_too_small_for_a_float_stays_above_0() -> None:
    """500 empty rounds with eta = 3: e^-1500. What is worth nothing is not wanted then."""
    rounds = 502
    late = np.array([500, 500])
    returns = np.zeros((rounds, 2))
    returns[500:, 1] = 1 / 8
    pool = Pool(returns, np.arange(2), late, late + 2, np.zeros_like(returns))
    run = price_rounds(pool, 1, Pricing(3.0))
    assert_equal_runs(literal_rounds(pool, 1, Pricing(3.0)), run)
    assert run.imbalance[500] == -500
    assert 0 < run.price[500] < 1e-300
    assert run.kept[500:].tolist() == [[False, True]] * 2


def test_a_price_beyond_floats_keeps_nothing() -> None:
    returns = np.ones((4, 3))
    pool = Pool(returns, np.arange(3), np.zeros(3, int), np.full(3, 4), np.zeros_like(returns))
    run = price_rounds(pool, 1, Pricing(1000.0))
    assert_equal_runs(literal_rounds(pool, 1, Pricing(1000.0)), run)
    assert run.kept.sum(axis=1).tolist() == [3, 0, 0, 3]
    assert np.isinf(run.price[1:3]).all()


def test_single_precision_is_computed_in_double() -> None:
    """The float32 next to 0.7 is below 0.7: not wanted at that price, by either run."""
    returns, alone = np.full((2, 1), 0.7, np.float32), np.zeros(1, int)
    pool = Pool(returns, alone, alone, alone + 2, np.zeros_like(returns))
    step: Any = np.float32(0.1)
    pricing = Pricing(step, 0.7)
    run = price_rounds(pool, 1, pricing)
    assert_equal_runs(literal_rounds(pool, 1, pricing), run)
    assert run.kept[:, 0].tolist() == [False, True]
    assert run.reward.dtype == literal_rounds(pool, 1, pricing).reward.dtype == np.float64


def test_a_batch_is_its_single_runs() -> None:
    pool = drawn_pool_of(np.random.default_rng(5), *SHAPE)
    steps = [Pricing(step, 0.25, budget=Budget.HARD) for step in (0.1, 1.0)]
    batch = price_rounds(pool, 3 * pool.cost, steps)
    assert isinstance(batch, list)
    for pricing, run in zip(steps, batch, strict=True):
        assert_equal_runs(price_rounds(pool, 3 * pool.cost, pricing), run)
    budgets = heap_rounds(pool, [pool.cost, 2 * pool.cost], steps[0])
    assert isinstance(budgets, list)
    assert [run.kept.sum(axis=1).max() for run in budgets] == [1, 2]


def test_tokens_in_another_order_are_kept_the_same() -> None:
    """Where no two are worth the same."""
    random = np.random.default_rng(6)
    pool = replace(
        drawn_pool_of(random, *SHAPE), returns=random.random(SHAPE), risk=np.zeros(SHAPE)
    )
    pool = replace(pool, predicted=None)
    order = random.permutation(SHAPE[1])
    mixed = replace(
        pool,
        **{name: getattr(pool, name)[order] for name in ("request", "arrival", "end")},
        **{name: getattr(pool, name)[:, order] for name in ("returns", "risk")},
    )
    pricing = Pricing(0.5, 0.25, budget=Budget.HARD)
    mine, other = (price_rounds(each, 2 * pool.cost, pricing) for each in (pool, mixed))
    assert (mine.kept[:, order] == other.kept).all()
    assert mine.kept.any(axis=1).sum() > 5


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("returns", [["a", "b"]], "an array of numbers"),
        ("returns", None, "an array of numbers"),
        ("returns", [[0.5, 0.5], [0.5]], "an array"),
        ("predicted", [[np.nan, 0.5]], "finite numbers"),
        ("predicted", [[np.inf, 0.5]], "finite numbers"),
        ("risk", [[np.inf, 0.5]], "finite numbers of at least 0"),
        ("arrival", [0.5, 0.0], "an array of integers"),
    ],
)
def test_a_pool_says_what_is_allowed(name: str, value: Any, allowed: str) -> None:
    fields: dict[str, Any] = {
        "returns": [[0.5, 0.5]],
        "request": [0, 1],
        "arrival": [0, 0],
        "end": [1, 1],
        "risk": [[0.0, 0.0]],
    }
    assert Pool(**fields).present.all()
    with pytest.raises(InputError, match=f"{name}: got .*; allowed: {allowed}$"):
        Pool(**fields | {name: value})


def test_bad_input_is_one_line() -> None:
    pool = replace(drawn_pool_of(np.random.default_rng(7), *SHAPE), cost=3)
    wide = drawn_pool_of(np.random.default_rng(7), 12, 9)
    price = Pricing(0.1)
    for call in (price_rounds, heap_rounds, literal_rounds, literal_heap):
        with pytest.raises(InputError, match="budget: got 2; allowed: an integer of at least 3"):
            call(pool, 2, price)
        with pytest.raises(
            InputError, match=r"budget: .* allowed: at most 768614336404564650, for"
        ):
            call(pool, 2**60, price)
        with pytest.raises(InputError, match=r"budget: got 3\.5"):
            call(pool, 3.5, price)  # type: ignore[arg-type]  # what a user may write
    for call in (price_rounds, heap_rounds):
        with pytest.raises(InputError, match=r"pool: got .* allowed: pools of one shape"):
            call([pool, wide], 9, price)
        with pytest.raises(InputError, match="pricing: got '3 of them'; allowed: 1, or 4"):
            call([pool] * 4, 9, [price] * 3)
    with pytest.raises(InputError, match="pool: got None; allowed: a Pool"):
        price_rounds(None, 9, price)  # type: ignore[arg-type]  # what a user may write
    with pytest.raises(InputError, match="pricing: got None; allowed: a Pricing"):
        price_rounds(pool, 9, None)  # type: ignore[arg-type]  # what a user may write
