"""The literal rules by hand: small cases whose every number can be checked on paper."""

from fractions import Fraction

import numpy as np
import pytest

from fluidkv.tokenpd.knapsack.heap import literal_heap
from fluidkv.tokenpd.knapsack.literal import literal_rounds
from fluidkv.tokenpd.knapsack.pool import Pool
from fluidkv.tokenpd.objective import Objective
from fluidkv.tokenpd.pricing import Budget, Demand, Pricing
from tests.tokenpd.knapsack.drawn import drawn

HARD = Budget.HARD


def pool_of(
    returns: list[list[float]],
    *,
    arrival: tuple[int, ...] | None = None,
    end: tuple[int, ...] | None = None,
    risk: list[list[float]] | None = None,
    cost: int = 1,
) -> Pool:
    """Tokens are there all the time unless it is said when."""
    values = np.array(returns)
    rounds, tokens = values.shape
    return Pool(
        values,
        np.arange(tokens),
        np.array(arrival or (0,) * tokens),
        np.array(end or (rounds,) * tokens),
        np.zeros_like(values, dtype=float) if risk is None else np.array(risk),
        cost=cost,
    )


def test_a_first_round_uses_what_it_wants() -> None:
    """Two tokens worth more than their price, memory for one."""
    pool = pool_of([[1, 0.75], [1, 0.75]])
    run = literal_rounds(pool, 1, Pricing(0.1, 0.5))
    assert run.kept[0].tolist() == [True, True]
    assert run.used[0] == 2
    assert run.imbalance.tolist() == [0, 1, 2]
    assert run.price.tolist() == pytest.approx([0.5, 0.5 * np.exp(0.1), 0.5 * np.exp(0.2)])
    assert run.reward.tolist() == [1.75, 1.75]
    assert run.optimum.tolist() == [1, 1]


def test_a_hard_budget_keeps_the_best_of_it() -> None:
    pool = pool_of([[0.5, 1, 0.75]])
    wanted = literal_rounds(pool, 2, Pricing(0.1, 0.5, budget=HARD))
    assert wanted.wanted.tolist() == [[True] * 3]  # a value equal to its price is wanted
    assert wanted.kept.tolist() == [[False, True, True]]
    assert wanted.imbalance.tolist() == [0, 1]
    kept = literal_rounds(pool, 2, Pricing(0.1, 0.5, budget=HARD, demand=Demand.KEPT))
    assert kept.imbalance.tolist() == [0, 0]


def test_among_equals_the_newer_stays() -> None:
    pool = pool_of([[1, 1, 1, 1]] * 2, arrival=(0, 1, 0, 0))
    run = literal_rounds(pool, 1, Pricing(0.1, 0.0, budget=HARD))
    assert run.kept.tolist() == [[False, False, False, True], [False, True, False, False]]


def test_the_cost_is_weighed_and_added_up() -> None:
    """mu c = 3/4 with mu = 1/4: one of two; 3 used of 4, and memory for one token."""
    run = literal_rounds(pool_of([[0.75, 0.7]], cost=3), 4, Pricing(1.0, 0.25))
    assert run.kept.tolist() == [[True, False]]
    assert (run.used[0], run.imbalance[1]) == (3, -1)
    assert run.price[1] == pytest.approx(0.25 * np.exp(-1 / 4))


def test_requests_that_end_free_theirs() -> None:
    pool = pool_of([[1, 1, 1]] * 3, arrival=(0, 1, 2), end=(1, 3, 3))
    run = literal_rounds(pool, 5, Pricing(0.1, 0.5))
    assert run.kept.tolist() == [[True, False, False], [False, True, False], [False, True, True]]
    assert run.brought_back.tolist() == [0, 0, 0]
    assert run.imbalance.tolist() == [0, -4, -8, -11]


def test_what_was_evicted_comes_back_unless_it_is_gone() -> None:
    """A needle: worth something in the first and the last round."""
    pool = pool_of([[1], [0], [0], [1], [1]])
    back = literal_rounds(pool, 1, Pricing(0.1, 0.5))
    assert back.kept[:, 0].tolist() == [True, False, False, True, True]
    assert back.brought_back.tolist() == [0, 0, 0, 1, 0]
    gone = literal_rounds(pool, 1, Pricing(0.1, 0.5), gone=True)
    assert gone.kept[:, 0].tolist() == [True] + [False] * 4
    assert gone.brought_back.sum() == 0
    assert (back.optimum == gone.optimum).all()


def test_what_is_chosen_by_and_what_is_earned() -> None:
    """Prediction chooses, the return pays, risk and penalty count in both."""
    pool = Pool(
        returns=np.array([[0.25, 1.0]]),
        request=np.arange(2),
        arrival=np.zeros(2, int),
        end=np.ones(2, int),
        risk=np.array([[0.0, 0.5]]),
        predicted=np.array([[1.0, 0.5]]),
    )
    pricing = Pricing(0.1, 0.5, risk_aversion=0.5, penalty=0.125, objective=Objective.REPAIRED)
    run = literal_rounds(pool, 1, pricing)
    assert run.kept.tolist() == [[True, False]]  # 1 + 1/8; 1/2 - 1/4 + 1/8 < 1/2
    assert (run.reward[0], run.optimum[0]) == (0.375, 0.875)


def test_the_log_of_the_price_is_what_was_used() -> None:
    """Of any run: sum of g = (M / eta) log(mu_(T+1) / mu_1), by (5)."""
    random, checked = np.random.default_rng(3), 0
    for _ in range(60):
        pool, budget, pricing, gone = drawn(random, 12, 8)
        if pricing.start == 0 or (pricing.budget is HARD and pricing.demand is Demand.WANTED):
            continue
        run = literal_rounds(pool, budget, pricing, gone=gone)
        over = int((run.used - budget).sum())
        assert run.imbalance[-1] == over
        # Logs of numbers near 1 lose digits: absolute, in units of the exponent.
        found = budget / pricing.step * np.log(run.price[-1] / pricing.start)
        assert found == pytest.approx(over, abs=1e-12 * budget / pricing.step * 100)
        checked += 1
    assert checked > 20


def test_a_price_of_0_stays_0() -> None:
    run = literal_rounds(pool_of([[1, 0.5]] * 50), 1, Pricing(2.0, 0.0))
    assert not run.price.any()
    assert (run.used == 2).all()


def test_fractions_stay_fractions() -> None:
    """e^eta = 2, two tokens worth 1, then one worth 1/2, memory for one: both readings differ by 1
    in two rounds."""
    half = Fraction(1, 2)
    returns = np.array([[Fraction(1), Fraction(1), 0], [0, 0, half]] * 3, dtype=object)
    arrival, end = np.array([0, 0, 1]), np.array([6, 6, 6])
    zero = np.zeros(returns.shape, int)
    pool = Pool(returns, np.arange(3), arrival, end, zero)
    for budget, regret in ((Budget.NETTED, -half), (HARD, half)):
        pricing = Pricing(1, 1, budget=budget, risk_aversion=0, penalty=0)
        run = literal_rounds(pool, 1, pricing, price_at=lambda at: Fraction(2) ** at)
        assert run.price.tolist() == [1, 2, 1, 2, 1, 2, 1]
        assert run.wanted.sum(axis=1).tolist() == [2, 0] * 3
        assert sum(run.optimum) - sum(run.reward) == 3 * regret
        assert all(isinstance(value, Fraction) for value in run.price)


# -------------------------------------------------------------------------------------- the heap


def test_a_heap_evicts_the_smallest_for_good() -> None:
    pool = pool_of([[1, 0.5, 0.75]] * 3, arrival=(0, 0, 1))
    run = literal_heap(pool, 2, Pricing(0.1, 0.5))
    assert run.wanted.sum(axis=1).tolist() == [2, 3, 2]
    assert run.kept.tolist() == [[True, True, False], [True, False, True], [True, False, True]]
    assert run.used.max() == 2


def test_a_heap_with_memory_left_keeps_what_costs_more_than_it_is_worth() -> None:
    run = literal_heap(pool_of([[0.25, 0.5]]), 2, Pricing(0.1, 1.0))
    assert run.kept.all()


def test_a_recorded_heap_evicts_the_better_token() -> None:
    """The second token is worth more, but was written when memory was dear.

    Four units are asked for in round 0, and there are two: the price rises from 1/4 to e / 4. What
    is recorded of the first is 1/2 - 1/4, of the second less than 5/8 - 0.6.
    """
    pool = pool_of(
        [[0.5, 0, 0, 0.125, 0.125, 0.125], [0.5, 0.625, 0, 0, 0, 0], [0.5, 0.625, 1, 0, 0, 0]],
        arrival=(0, 1, 2, 0, 0, 0),
        end=(3, 3, 3, 1, 1, 1),
    )
    recorded = literal_heap(pool, 2, Pricing(1.0, 0.25))
    assert recorded.imbalance[1] == 2
    assert recorded.kept[2].tolist() == [True, False, True, False, False, False]
    assert recorded.reward[2] < recorded.optimum[2]
    fresh = literal_heap(pool, 2, Pricing(1.0, 0.25), fresh=True)
    assert fresh.kept[2].tolist() == [False, True, True, False, False, False]
    assert fresh.reward[2] == fresh.optimum[2]


def test_a_fresh_heap_does_not_mind_the_price() -> None:
    random = np.random.default_rng(8)
    for _ in range(20):
        pool, budget, pricing, _ = drawn(random, 12, 8)
        runs = [
            literal_heap(
                pool, budget, Pricing(step, start, objective=pricing.objective), fresh=True
            )
            for step, start in ((0.125, 0.0), (0.125, 0.5), (2.0, 0.5))
        ]
        assert all((run.kept == runs[0].kept).all() for run in runs)
