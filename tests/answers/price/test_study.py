"""Policies on the same weights: what is kept, against what, and what is refused."""

import math
from fractions import Fraction

import numpy as np
import pytest

from fluidkv.answers import price_tokens
from fluidkv.answers.price import optimum
from fluidkv.answers.price.brought import generated_attention
from fluidkv.answers.price.forecasts import predictor_of
from fluidkv.answers.price.optimum import held_optimum, pool_of
from fluidkv.answers.price.rule import at_most, tokens_of, usual_pricing
from fluidkv.errors import InputError
from fluidkv.tokenpd import ExponentialAverage, Oracle, Pricing, evict, policy
from fluidkv.tokenpd.attention.weights import Attention
from fluidkv.tokenpd.pricing import Budget
from fluidkv_papers.theory.price_rule import clairvoyant, round_optimum

SMALL = {"requests": 3, "prompt": 2, "length": (5, 8), "seeds": 2}
BUDGET = 6


@pytest.fixture(scope="module")
def small():
    return generated_attention("uneven", **SMALL)


@pytest.fixture(scope="module")
def answer(small):
    names = ["return-pooled", "token-pd", "token-pd-hard", "h2o"]
    return price_tokens(small, BUDGET, policies=names, predictor="oracle")


def test_the_numbers_are_those_of_the_runs(small, answer):
    weights = next(iter(small))
    pricing = usual_pricing(weights)
    run = evict(weights, BUDGET, policy("token-pd", Oracle(), pricing), record=True)
    kept = answer.of("token-pd")
    assert kept.used[0].tolist() == run.kept.tolist()
    assert kept.price.tolist() == run.price.tolist()
    rows = (weights.length - weights.prompt).tolist()
    assert kept.mass[0] == pytest.approx(run.mass.sum(0) / rows)
    assert kept.error[0] == pytest.approx(run.error.sum(0) / rows)
    runs = [
        evict(each, BUDGET, policy("token-pd", Oracle(), pricing), record=True) for each in small
    ]
    regrets = [each.optimum.sum() - each.mass.sum() for each in runs]
    assert kept.regret == pytest.approx(np.mean(regrets))
    assert answer.rows == sum(int((each.length - each.prompt).sum()) for each in small)


def test_what_brings_nothing_back_is_between_the_policies_and_the_best_of_each_round(answer):
    for kept in answer.kept:
        assert kept.regret_held <= kept.regret + 1e-9
        if kept.fits:
            assert kept.regret_held >= -1e-9
    assert answer.unheld is None


def test_attention_as_a_pool_has_the_same_best_sets(small):
    """Two ways to the optimum of each round: sorted rows, and tokens of a pool."""
    weights = next(iter(small))
    run = evict(weights, BUDGET, policy("h2o"), record=True)
    age = np.arange(weights.rounds)[:, None] - weights.start
    own = np.zeros(weights.rounds)
    for stream, ages in enumerate(age.T):
        for now, rows in enumerate(ages):
            if 1 <= rows <= weights.length[stream] - weights.prompt[stream]:
                at = weights.prompt[stream] + rows - 1
                own[now] += weights.weights[stream, at, at]
    assert round_optimum(pool_of(weights), BUDGET) + own == pytest.approx(run.optimum)


def test_large_cases_are_counted_as_the_pool_counts(small, monkeypatch):
    weights = next(iter(small))
    cells = int(pool_of(weights).present.sum())
    monkeypatch.setattr(optimum, "MOST_CELLS", cells)
    assert isinstance(held_optimum(weights, 4), float)
    monkeypatch.setattr(optimum, "MOST_CELLS", cells - 1)
    assert str(held_optimum(weights, 4)).startswith(f"{cells:,} tokens times rounds")


@pytest.mark.parametrize("budget", [1, 4, 9])
def test_the_best_that_brings_nothing_back_is_the_exact_schedules(small, budget):
    """A linear programme over who is held, and a flow of slots in integers."""
    for weights in small:
        pool = pool_of(weights)
        own = held_optimum(weights, 10**6) - pool.returns.sum()  # where all is held
        exact = float(clairvoyant(pool, budget).reward)
        assert held_optimum(weights, budget) == pytest.approx(own + exact, abs=1e-6)


def test_the_prices_budget_is_the_policys(answer):
    readings = {
        each.name: each.policy.pricing and each.policy.pricing.budget for each in answer.kept
    }
    assert readings["token-pd"] is Budget.NETTED
    assert readings["token-pd-hard"] is Budget.HARD
    assert readings["h2o"] is None


def test_who_is_told_the_future_is_not_picked(answer):
    assert [each.name for each in answer.kept if each.foresees] == [
        "return-pooled",
        "token-pd",
        "token-pd-hard",
    ]
    assert answer.pick.name == "h2o"


def test_the_token_shown_is_followed_from_its_prompt_on(small, answer):
    weights, shown = next(iter(small)), answer.shown
    assert shown.length == weights.length[shown.stream] == weights.length.max()
    for each in answer.kept:
        assert each.there.shape == (shown.length - shown.prompt + 1, shown.length)
        born = np.arange(shown.length) < shown.prompt + np.arange(len(each.there))[:, None]
        assert not (each.there & ~born).any()
        assert not each.there[-1].any()  # a request that ends frees its tokens
        assert [keys.tolist() for keys in each.there_by_round] == [
            np.flatnonzero(row).tolist() for row in each.there
        ]


def test_heads_of_a_request_count_as_one_request(small):
    weights = next(iter(small))
    as_heads = Attention(
        weights.weights, weights.prompt, weights.length, weights.start, np.array([7, 7, 9])
    )
    alone = price_tokens(weights, BUDGET, policies=["h2o"]).kept[0].mass[0]
    found = price_tokens(as_heads, BUDGET, policies=["h2o"]).kept[0].mass[0]
    rows = (weights.length - weights.prompt)[:2]
    assert found == pytest.approx([(alone[:2] * rows).sum() / rows.sum(), alone[2]])


def test_the_usual_price_is_what_a_token_has_on_average(small):
    weights = next(iter(small))
    streams, tokens = at_most(weights)
    assert usual_pricing(weights) == Pricing(1 / math.sqrt(weights.rounds), streams / tokens)
    assert tokens == max(
        sum(
            int(p) + now - int(s)
            for p, n, s in zip(weights.prompt, weights.length, weights.start, strict=True)
            if s <= now <= s + n - p
        )
        for now in range(weights.rounds)
    )
    assert tokens_of(Fraction(1, 2), weights) == tokens // 2
    with pytest.raises(InputError, match="at least one token"):
        tokens_of(Fraction(1, 1000), weights)


def test_predictors_by_name():
    assert predictor_of("average:rate=0.5") == ExponentialAverage(0.5)
    with pytest.raises(InputError, match="one of last-seen, average"):
        predictor_of("crystal-ball")


def test_requests_without_rows_after_their_prompts_have_nothing_to_compare(small):
    weights = next(iter(small))
    whole = Attention(
        weights.weights, weights.length, weights.length, weights.start, weights.request
    )
    with pytest.raises(InputError, match="more than the prompt's tokens"):
        price_tokens(whole, BUDGET)
    with pytest.raises(InputError, match="at least one run"):
        price_tokens([], BUDGET)
