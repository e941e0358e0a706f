"""With an oracle for the next row, and what was evicted back, a run is the online knapsack."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from fluidkv.tokenpd import (
    Attention,
    Budget,
    Choice,
    Demand,
    EvictionPolicy,
    Pool,
    Pricing,
    Return,
    Scope,
    evict,
    heap_rounds,
    price_rounds,
)
from fluidkv.tokenpd.seen import Seen
from tests.tokenpd.eviction.cases import drawn_attention


class NextRow(eqx.Module):
    """Knows the true weights of each stream's next row."""

    weights: Array

    def begin(self, streams: int, keys: int) -> tuple[()]:
        return ()

    def observe(self, state: tuple[()], seen: Seen) -> tuple[()]:
        return state

    def predict(
        self, state: tuple[()], seen: Seen
    ) -> tuple[Float[Array, "stream key"], Float[Array, "stream key"]]:
        following = jnp.minimum(seen.query + 1, self.weights.shape[1] - 1)
        row = self.weights[jnp.arange(len(following)), following].astype(jnp.float64)
        return row, jnp.zeros_like(row)


def as_pool(attention: Attention) -> tuple[Pool, np.ndarray]:
    """What is kept at the end of round t pays in round t + 1. Also each token's stream and key."""
    rounds = attention.rounds
    tokens, columns, arrivals, ends = [], [], [], []
    for stream, key in np.ndindex(attention.weights.shape[::2]):
        start, prompt = int(attention.start[stream]), int(attention.prompt[stream])
        arrival = start + max(0, key + 1 - prompt)
        end = start + int(attention.length[stream]) - prompt
        if arrival >= end:
            continue  # its stream ends with its own row, so that it is never kept
        column = np.zeros(rounds)
        for round_ in range(arrival, end):
            column[round_] = attention.weights[stream, prompt + round_ - start, key]
        tokens.append((stream, key))
        columns.append(column)
        arrivals.append(arrival)
        ends.append(end)
    found = np.array(tokens)
    returns = np.stack(columns, axis=1)
    pool = Pool(returns, found[:, 0], np.array(arrivals), np.array(ends), np.zeros_like(returns))
    return pool, found


def own_mass(attention: Attention) -> np.ndarray:
    """What rows give to their own keys, which are there whatever is kept; of each round."""
    own = np.zeros(attention.rounds)
    for stream, start in enumerate(attention.start):
        prompt, length = attention.prompt[stream], attention.length[stream]
        for query in range(prompt, length):
            own[start + query - prompt + 1] += attention.weights[stream, query, query]
    return own


def run_both(seed: int, budget: int, pricing: Pricing, choice: Choice, *, comes_back: bool) -> None:
    attention = drawn_attention(seed)
    pool, tokens = as_pool(attention)
    scorer = Return(NextRow(jnp.asarray(attention.weights)))
    policy = EvictionPolicy("oracle", scorer, Scope.POOLED, choice, pricing=pricing)
    found = evict(attention, budget, policy, comes_back=comes_back, record=True)
    if choice is Choice.HEAP:
        meant = heap_rounds(pool, budget, pricing)
    else:
        meant = price_rounds(pool, budget, pricing, gone=not comes_back)
    assert found.masks is not None
    np.testing.assert_array_equal(found.masks[:, tokens[:, 0], tokens[:, 1]], meant.kept)
    np.testing.assert_array_equal(found.kept, meant.used)
    np.testing.assert_array_equal(found.imbalance, meant.imbalance[1:])
    np.testing.assert_allclose(found.price, meant.price[:-1], rtol=1e-14)
    if choice is Choice.PRICE:
        np.testing.assert_array_equal(found.recomputed, meant.brought_back)
    # Dyadic weights: sums are exact. What is kept at the end of a round pays in the next.
    paid = (found.mass.sum(1) - own_mass(attention))[1:]
    np.testing.assert_array_equal(paid, meant.reward[:-1])


def test_a_netted_price_is_the_knapsacks() -> None:
    for seed in range(6):
        budget = (3, 5, 8)[seed % 3]
        pricing = Pricing(step=0.25, start=1 / 32)
        run_both(seed, budget, pricing, Choice.PRICE, comes_back=bool(seed // 3))


def test_a_hard_budget_that_sees_what_is_kept_is_the_knapsacks() -> None:
    """Where tokens tie for the last place, the knapsack looks at arrival and not at position."""
    for seed in range(3):
        pricing = Pricing(0.25, 1 / 32, budget=Budget.HARD, demand=Demand.KEPT)
        attention = drawn_attention(seed)
        run_both_up_to_ties(attention, 5, pricing)


def run_both_up_to_ties(attention: Attention, budget: int, pricing: Pricing) -> None:
    pool, _ = as_pool(attention)
    scorer = Return(NextRow(jnp.asarray(attention.weights)))
    policy = EvictionPolicy("oracle", scorer, Scope.POOLED, Choice.PRICE, pricing=pricing)
    found = evict(attention, budget, policy, comes_back=True)
    meant = price_rounds(pool, budget, pricing)
    np.testing.assert_array_equal(found.kept, meant.used)
    paid = (found.mass.sum(1) - own_mass(attention))[1:]
    np.testing.assert_array_equal(paid, meant.reward[:-1])


def test_the_best_of_the_next_row_are_the_optimum() -> None:
    for seed in range(3):
        attention = drawn_attention(seed)
        scorer = Return(NextRow(jnp.asarray(attention.weights)))
        policy = EvictionPolicy("oracle", scorer, Scope.POOLED)
        found = evict(attention, [2, 6], policy, comes_back=True)
        np.testing.assert_array_equal(found.mass.sum(2), found.optimum)
        gone = evict(attention, [2, 6], policy)
        assert (gone.mass.sum(2) <= gone.optimum).all()
        assert (gone.mass.sum(2) < gone.optimum).any()
