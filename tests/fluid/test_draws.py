"""Starts of many systems are those of each alone, however the systems are cut."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import jax
import numpy as np
import pytest

from fluidkv.errors import InputError
from fluidkv.fluid import (
    burst_state,
    draws,
    empty_state,
    mode_starts,
    perturbed_starts,
    poisson_arrivals,
    start_families,
    uniform_starts,
)
from fluidkv.fluid.model import cohort_model
from fluidkv.systems import Systems
from fluidkv.workload import RequestClass, System, Workload
from tests.small_systems import one_class

KEY = jax.random.key(5)
HALF = Fraction(1, 2)
# Four, and the last three of them, are drawn by one compiled function.
UNLIKE = Systems.of(
    [
        one_class(3, 1, 20),
        System(Workload((RequestClass(3, 4, HALF), RequestClass(2, 7, HALF))), Fraction(33, 2)),
        one_class(3, 7, 30),
        one_class(9, 12, 100),
    ]
)

DRAWN: dict[str, Callable] = {
    "uniform": lambda key, of: uniform_starts(key, of, count=3),
    "on a face": lambda key, of: uniform_starts(key, of, count=3, occupied=[0]),
    "perturbed": lambda key, of: perturbed_starts(key, of, count=3, size=0.4),
    "families": lambda key, of: np.concatenate(
        [each for name, each in start_families(key, of, count=12).items() if name != "burst"],
        axis=-2,
    ),
}
MADE: dict[str, Callable] = {
    "burst": burst_state,
    "empty": empty_state,
    "modes": lambda of: mode_starts(of, 0.9 + 0.3j, count=3, size=0.2),
}


def _own(whole: np.ndarray, alone: np.ndarray) -> np.ndarray:
    """The part of a padded array that a system alone has; the rest is 0."""
    part = whole[tuple(slice(0, size) for size in alone.shape)]
    assert np.count_nonzero(whole) == np.count_nonzero(part)
    return part


@pytest.mark.daily(1)
@pytest.mark.parametrize("name", DRAWN)
def test_a_system_draws_by_its_place_alone(name: str) -> None:
    starts = DRAWN[name](KEY, UNLIKE)
    for i in range(1, 4):
        alone = DRAWN[name](jax.random.fold_in(KEY, i), UNLIKE[i])
        np.testing.assert_array_equal(_own(starts[i], alone), alone)
    part = DRAWN[name](KEY, UNLIKE[1:4])
    for whole, each in zip(starts[1:4], part, strict=True):
        np.testing.assert_array_equal(_own(whole, each), each)


@pytest.mark.parametrize("name", MADE)
def test_what_is_not_drawn_is_of_each_system_too(name: str) -> None:
    starts = MADE[name](UNLIKE)
    for i, system in enumerate(UNLIKE):
        alone = MADE[name](system)
        alone = alone if alone.ndim == 3 else alone[None]
        # Sums of memory in another order, of at most 14 terms.
        np.testing.assert_allclose(_own(starts[i], alone), alone, rtol=14 * 2.3e-16, atol=1e-15)


@pytest.mark.thorough
def test_bursts_of_all_ages_begin_again() -> None:
    starts = start_families(KEY, UNLIKE, count=4)["burst"]
    alone = start_families(KEY, UNLIKE[2], count=4)["burst"]
    np.testing.assert_array_equal(starts[2, :7, :7], alone)
    np.testing.assert_array_equal(starts[2, 7:], starts[2, :5])


def test_starts_surround_the_state_of_each_system() -> None:
    cohorts = cohort_model(UNLIKE[2:3]).equilibrium()
    starts = uniform_starts(KEY, UNLIKE[2:3], count=9, around=cohorts, size=1e-6)
    assert starts.shape == (1, 9, 7)
    weights = cohort_model(UNLIKE[2]).weights[0]
    assert np.all(np.abs(starts - cohorts) * weights <= 1e-6 * 30)


def test_parts_draw_what_the_whole_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = uniform_starts(KEY, UNLIKE, count=3)
    monkeypatch.setattr(draws, "_CHUNK", 1)
    np.testing.assert_array_equal(uniform_starts(KEY, UNLIKE, count=3), whole)


def test_other_generators_draw_alone_what_they_draw_in_a_sweep() -> None:
    key = jax.random.key(5, impl="rbg")
    starts = uniform_starts(key, UNLIKE, count=2)
    alone = uniform_starts(jax.random.fold_in(key, 3), UNLIKE[3], count=2)
    np.testing.assert_array_equal(_own(starts[3], alone), alone)


def test_a_batch_of_another_size_compiles_nothing() -> None:
    compiled: Any = draws._draw
    uniform_starts(KEY, UNLIKE[1], count=100)
    before = compiled._cache_size()
    uniform_starts(KEY, UNLIKE[1], count=101)
    uniform_starts(KEY, UNLIKE[3], count=80)
    assert compiled._cache_size() == before


@pytest.mark.parametrize(
    "key",
    [
        7,
        None,
        np.zeros(2),
        np.zeros(2, int),
        np.zeros(3, np.uint32),
        jax.random.split(KEY, 3),
        jax.random.split(jax.random.PRNGKey(0), 3),
    ],
)
def test_a_key_is_one_key(key: Any) -> None:
    for draw in (
        lambda: uniform_starts(key, UNLIKE[0], count=1),
        lambda: perturbed_starts(key, UNLIKE, count=1, size=0.1),
        lambda: poisson_arrivals(key, np.ones((3, 1))),
    ):
        with pytest.raises(InputError, match="key: got "):
            draw()


@pytest.mark.parametrize("of", [System(Workload.from_lengths([(2, 3)]), 24), UNLIKE], ids=str)
def test_more_starts_than_memory_are_refused_with_the_number_that_fits(of) -> None:
    with pytest.raises(InputError, match=r"count: got '10,000,000,000 starts, .* at most \d"):
        uniform_starts(KEY, of, count=10**10)
