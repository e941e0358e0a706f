"""The fewest misses: the dynamic program, the rule, and what is known for single pages."""

import pytest

from fluidkv.prefix.paging.lru import lru_misses
from fluidkv.prefix.paging.optimum import (
    EMPTY,
    fewest_misses,
    furthest_misses,
    served,
    unlocked_furthest,
)
from fluidkv.prefix.paging.tokens import singles
from fluidkv_papers.theory.paging.cases import sequences
from tests.prefix.paging.drawing import drawn_paths


def test_belady_on_pages() -> None:
    # The textbook's sequence with three frames: 7 faults of the best, 12 reads.
    pages = (1, 2, 3, 4, 1, 2, 5, 1, 2, 3, 4, 5)
    requests = singles((page,) for page in pages)
    assert fewest_misses(requests, 3) == furthest_misses(requests, 3) == 7
    assert lru_misses(requests, 3) == 10


@pytest.mark.parametrize("seed", range(40))
def test_the_rule_misses_as_little_as_any_policy(seed: int) -> None:
    requests = singles(drawn_paths(seed))
    for capacity in (4, 5):
        least = fewest_misses(requests, capacity)
        assert furthest_misses(requests, capacity) == least
        assert lru_misses(requests, capacity) >= least


def test_evicting_early_never_helps() -> None:
    for seed in range(10):
        requests = singles(drawn_paths(seed, 8))
        assert fewest_misses(requests, 4, eager=True) == fewest_misses(requests, 4)


@pytest.mark.thorough
def test_the_rule_is_optimal_in_all_small_sequences() -> None:
    for capacity, count in ((2, 6), (3, 4), (4, 3)):
        for paths in sequences(count, 1, capacity):
            requests = singles(paths)
            assert furthest_misses(requests, capacity) == fewest_misses(requests, capacity)


def test_batches_hold_all_their_paths_at_once() -> None:
    batches = (((0,), (1,)), ((0,), (2,)), ((0,), (1,)))
    assert fewest_misses(batches, 2) == furthest_misses(batches, 2) == 4
    assert fewest_misses(singles(path for batch in batches for path in batch), 2) == 4
    assert fewest_misses(batches, 3) == 3


def test_without_a_lock_the_rule_evicts_the_parent_of_what_it_loads() -> None:
    assert list(unlocked_furthest(((0,), (1, 0), (0,)), 2)) == [((1, 0), (1,))]


def test_a_phase_by_itself_may_cost_the_optimum_nothing() -> None:
    # Phases {0, 1}, {2, 1}, {0, 1} in two slots: the best is 4 with or without a miss in the last.
    requests = singles([(0,), (1,), (2,), (1,), (0,), (1,)])
    costs = EMPTY
    for request in requests[:4]:
        costs = served(costs, request, 2)
    assert costs[frozenset({(0,), (1,)})] == fewest_misses(requests, 2) == 4
