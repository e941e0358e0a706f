"""Thousands of runs at once are the literal run, access by access, given the same numbers."""

from random import Random

import numpy as np
import pytest

from fluidkv.errors import InputError
from fluidkv.prefix.paging.adversaries import batches_of_tails, drawn, tails
from fluidkv.prefix.paging.batch import accesses_of, batch_misses, place, uniforms
from fluidkv.prefix.paging.marking import expected_misses, misses
from fluidkv.prefix.paging.tokens import singles

PATHS = ((0,), (0, 0), (0, 1), (1,), (1, 0, 0), (1, 0, 1), (2,), (3, 0))
CASES = {
    "paths": (drawn(singles(PATHS), 50, Random(1)), 4),
    "tails": (drawn(singles(tails(6, 3)), 40, Random(2)), 6),
    "batches": (drawn(batches_of_tails(6, 3, 2), 30, Random(3)), 6),
}


@pytest.mark.daily(2)
@pytest.mark.parametrize("policy", ["rlt", "random leaf"])
@pytest.mark.parametrize("case", CASES)
def test_each_run_is_the_literal_one(case: str, policy) -> None:
    requests, capacity = CASES[case]
    found = batch_misses(requests, capacity, policy, runs=12, seed=5)
    accesses = accesses_of(requests, capacity, policy)
    for run in range(12):
        numbers = uniforms(5, run, len(accesses))
        literal = misses(
            accesses, capacity, lambda at, free, u=numbers: free[place(u[at], len(free))]
        )
        assert literal == found[run].tolist()


@pytest.mark.thorough
def test_a_run_depends_on_its_seed_and_number_alone() -> None:
    requests, capacity = CASES["paths"]
    few, many = (batch_misses(requests, capacity, runs=runs, seed=1) for runs in (3, 40))
    assert np.array_equal(few, many[:3])
    assert not np.array_equal(few, batch_misses(requests, capacity, runs=3, seed=2))


def test_means_are_the_exact_expectations() -> None:
    requests, capacity = CASES["paths"][0][:14], 4
    exact = [float(p) for each in expected_misses(requests, capacity) for p in each]
    found = batch_misses(requests, capacity, runs=4000).mean(axis=0)
    # six standard errors of a share
    assert np.abs(found - exact).max() < 6 * 0.5 / np.sqrt(4000)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"policy": "lru"}, "policy"),
        ({"runs": 0}, "runs"),
        ({"capacity": 2}, "at most 2 tokens"),
    ],
)
def test_wrong_input_is_one_line(change, said) -> None:
    given = {"requests": CASES["paths"][0], "capacity": 4, "policy": "rlt", "runs": 1, **change}
    with pytest.raises(InputError, match=said):
        batch_misses(**given)
