"""What scorers count, at the edges of what they count."""

import jax.numpy as jnp
import numpy as np
import pytest

from fluidkv.errors import InputError
from fluidkv.runs.precision import in_float64
from fluidkv.tokenpd.eviction.scorers import Drawn, LastUsed, Persistence
from fluidkv.tokenpd.seen import Seen


def seen(round_: int, weights: list[float]) -> Seen:
    """One stream with as many keys, all there."""
    row = jnp.asarray([weights])
    return Seen(
        weights=row,
        there=jnp.ones_like(row, bool),
        query=jnp.array([len(weights) - 1]),
        round=jnp.array([round_]),
        prompt=jnp.array([1]),
        future=row,
        spread=row,
    )


def test_a_key_with_just_its_share_is_not_used_and_not_unimportant() -> None:
    with in_float64():
        used, few = LastUsed(), Persistence(8)
        state, record = used.begin(1, 2), few.begin(1, 2)
        expected = [(0, [0.5, 0.5], [0, 0], [0, 0]), (3, [0.25, 0.75], [0, 3], [-1, 0])]
        for round_, weights, rounds, times in expected:
            row = seen(round_, weights)
            state, record = used.observe(state, row), few.observe(record, row)
            np.testing.assert_array_equal(used.score(state, row), [rounds])
            np.testing.assert_array_equal(few.score(record, row), [times])


def test_what_is_drawn_needs_a_key() -> None:
    with pytest.raises(InputError, match="key"):
        Drawn().score((), seen(0, [1.0]))
