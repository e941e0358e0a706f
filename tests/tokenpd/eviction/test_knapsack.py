"""With an oracle for the next row, and what was evicted back, a run is the online knapsack."""

from dataclasses import replace

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array, Float

from fluidkv.tokenpd import Pricing, evict
from fluidkv.tokenpd.attention.weights import Attention
from fluidkv.tokenpd.eviction.policy import Choice, EvictionPolicy, Scope
from fluidkv.tokenpd.eviction.scorers import Return
from fluidkv.tokenpd.knapsack.compiled import heap_rounds, price_rounds
from fluidkv.tokenpd.knapsack.pool import Pool
from fluidkv.tokenpd.pricing import Budget, Demand
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


def policy_of(attention: Attention, pricing: Pricing) -> EvictionPolicy:
    scorer = Return(NextRow(jnp.asarray(attention.weights)))
    return EvictionPolicy("oracle", scorer, Scope.POOLED, Choice.PRICE, pricing=pricing)


NETTED = Pricing(step=0.25, start=1 / 32)
HARD = replace(NETTED, budget=Budget.HARD, demand=Demand.KEPT)


@pytest.mark.thorough
def test_a_price_is_the_knapsacks() -> None:
    """Netted and hard, back and gone; dyadic weights, so that sums are exact."""
    for seed in range(4):
        attention, comes_back = drawn_attention(seed), bool(seed % 2)
        netted = policy_of(attention, NETTED)
        hard = replace(netted, pricing=HARD)
        found = evict(attention, 5, [netted, hard], comes_back=comes_back, record=True)
        pool, tokens = as_pool(attention)
        meant = price_rounds(pool, 5, [NETTED, HARD], gone=not comes_back)
        assert isinstance(meant, list)
        assert found.masks is not None
        masks = found.masks[:, :, tokens[:, 0], tokens[:, 1]]
        for at, one in enumerate(meant if comes_back else meant[:1]):
            np.testing.assert_array_equal(found.kept[at], one.used)
            np.testing.assert_array_equal(found.imbalance[at], one.imbalance[1:])
            # What is kept at the end of a round pays in the next.
            paid = (found.mass[at].sum(1) - own_mass(attention))[1:]
            np.testing.assert_array_equal(paid, one.reward[:-1])
        # Where tokens tie for the last place, the knapsack looks at arrival, a run at position; so
        # that under a hard budget sets may differ, and without return what comes of them.
        np.testing.assert_array_equal(masks[0], meant[0].kept)
        np.testing.assert_array_equal(found.recomputed[0], meant[0].brought_back)
        np.testing.assert_allclose(found.price[0], meant[0].price[:-1], rtol=1e-14)
        assert found.kept[1].max() <= 5


def test_a_netted_price_may_keep_more_than_the_budget() -> None:
    attention = drawn_attention(11)
    cheap = replace(NETTED, start=1e-3)
    netted = policy_of(attention, cheap)
    hard = replace(netted, pricing=replace(cheap, budget=Budget.HARD))
    run = evict(attention, 3, [netted, hard], record=True)
    assert run.kept[0].max() > 3
    assert run.kept[1].max() == 3
    assert (run.mass[1].sum(1) <= run.optimum[1]).all()
    assert (run.mass[0].sum(1) > run.optimum[0]).any()


@pytest.mark.thorough
def test_the_recorded_heap_is_the_knapsacks() -> None:
    """No two weights are alike, so that ties, which the two decide differently, do not occur."""
    dyadic = drawn_attention(1)
    weights = np.tril(np.random.default_rng(1).gamma(0.5, size=dyadic.weights.shape))
    attention = replace(dyadic, weights=(weights / weights.sum(2, keepdims=True)).astype("f4"))
    pool, tokens = as_pool(attention)
    for budget in (3, 6, 9):
        pricing = replace(NETTED, budget=Budget.HARD)
        heap = replace(policy_of(attention, pricing), choice=Choice.HEAP)
        found = evict(attention, budget, heap, record=True)
        meant = heap_rounds(pool, budget, pricing)
        assert found.masks is not None
        masks = found.masks[:, tokens[:, 0], tokens[:, 1]]
        np.testing.assert_array_equal(masks, meant.kept)
        np.testing.assert_array_equal(found.imbalance, meant.imbalance[1:])
        assert masks.any()


def test_the_best_of_the_next_row_are_the_optimum() -> None:
    for seed in range(3):
        attention = drawn_attention(seed)
        best = replace(policy_of(attention, NETTED), choice=Choice.BEST, pricing=None)
        found = evict(attention, [2, 6], best, comes_back=True)
        np.testing.assert_array_equal(found.mass.sum(2), found.optimum)
        gone = evict(attention, [2, 6], best)
        assert (gone.mass.sum(2) <= gone.optimum).all()
        assert (gone.mass.sum(2) < gone.optimum).any()
