"""What is revealed of returns, and when."""

import numpy as np
import pytest

from fluidkv.errors import InputError
from fluidkv.tokenpd.knapsack.returns_so_far import revealed_returns
from tests.tokenpd.knapsack.drawn import drawn_pool_of


@pytest.mark.parametrize("delay", [0, 1, 3, 40])
def test_returns_are_revealed_so_many_rounds_later(delay: int) -> None:
    """Against a loop over what may be known."""
    pool = drawn_pool_of(np.random.default_rng(0), 12, 8)
    found = revealed_returns(pool, delay)
    for now in range(12):
        for token in range(8):
            rounds = [at for at in range(12) if at <= now - delay and pool.present[at, token]]
            known = pool.returns[rounds, token]
            assert found.times[now, token] == len(known)
            assert found.last[now, token] == (known[-1] if rounds else 0)
            assert found.mean[now, token] == pytest.approx(known.mean() if rounds else 0)
    assert found.times.any() == (delay < 12)


def test_a_delay_below_0_is_refused() -> None:
    pool = drawn_pool_of(np.random.default_rng(0), 12, 8)
    with pytest.raises(InputError, match="delay: got -1; allowed: an integer of at least 0"):
        revealed_returns(pool, -1)
