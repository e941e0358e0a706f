"""One round over streams: a round of a pool."""

import jax.numpy as jnp
import numpy as np
import pytest

from fluidkv.errors import InputError
from fluidkv.tokenpd.knapsack.literal import literal_rounds
from fluidkv.tokenpd.knapsack.pool import Pool
from fluidkv.tokenpd.knapsack.step import price_step
from fluidkv.tokenpd.pricing import Budget, Pricing

PRICING = Pricing(0.5, 0.5, risk_aversion=0.5)


def test_rounds_one_by_one_are_those_of_a_pool() -> None:
    """Three streams of five places, of eighths, in single precision; 15 flags are no eights."""
    random = np.random.default_rng(0)
    returns, risk = (random.integers(0, 9, (6, 3, 5)) / 8 for _ in range(2))
    there = np.arange(15).reshape(3, 5) % 4 > 0
    tokens = np.flatnonzero(there)
    ones = np.ones(tokens.size, int)
    values = [array.reshape(6, 15)[:, tokens] for array in (returns, risk)]
    pool = Pool(values[0], ones, 0 * ones, 6 * ones, values[1], cost=2)
    run = literal_rounds(pool, 9, PRICING)
    imbalance = 0
    for now in range(6):
        shown, doubt = (jnp.asarray(each[now], jnp.float32) for each in (returns, risk))
        keep, imbalance = price_step(
            shown, doubt, jnp.asarray(there), imbalance, 9, PRICING, cost=2
        )
        assert np.asarray(keep).ravel()[tokens].tolist() == run.kept[now].tolist()
        assert not np.asarray(keep)[~there].any()
        assert imbalance == run.imbalance[now + 1]
    assert len(set(run.used.tolist())) > 2


def test_a_price_too_small_for_single_precision_stays_above_0() -> None:
    """S = -2000 at eta = 1/2: what is worth nothing is not wanted, a little is."""
    returns, there = jnp.array([[0.0, 1e-30]], jnp.float32), jnp.ones((1, 2), bool)
    keep, _ = price_step(returns, 0 * returns, there, -2000, 1, Pricing(0.5))
    assert np.asarray(keep).tolist() == [[False, True]]


def test_a_step_says_what_is_allowed() -> None:
    returns, there = jnp.zeros((3, 5)), jnp.ones((3, 5), bool)
    with pytest.raises(InputError, match=r"risk: got \(3, 4\); allowed: .* \(3, 5\)"):
        price_step(returns, returns[:, :4], there, 0, 9, PRICING)
    with pytest.raises(InputError, match=r"returns: got dtype.*int.*; allowed: floats"):
        price_step(returns.astype(int), returns, there, 0, 9, PRICING)
    with pytest.raises(InputError, match=r"there: got dtype.*float32.*; allowed: flags"):
        price_step(returns, returns, returns, 0, 9, PRICING)
    with pytest.raises(InputError, match=r"imbalance: got 0\.5; allowed: an integer"):
        price_step(returns, returns, there, 0.5, 9, PRICING)  # type: ignore[arg-type]  # refused
    with pytest.raises(InputError, match="budget: got 1; allowed: an integer of at least 2"):
        price_step(returns, returns, there, 0, 1, PRICING, cost=2)
    with pytest.raises(InputError, match=r"pricing: got .*HARD.*; allowed: Budget\.NETTED"):
        price_step(returns, returns, there, 0, 9, Pricing(0.5, budget=Budget.HARD))
