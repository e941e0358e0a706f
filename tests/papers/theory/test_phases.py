"""Phases, Leaf-LRU by tokens and by whole nodes."""

from itertools import pairwise
from random import Random

import pytest

from fluidkv.prefix.paging.bounds import lru_in_a_phase
from fluidkv.prefix.paging.lru import lru_misses
from fluidkv.prefix.paging.tokens import singles
from fluidkv_papers.theory.paging.nodes import Node, node_misses, serve_nodes
from fluidkv_papers.theory.paging.phases import phases
from tests.prefix.paging.drawing import drawn_paths


def test_phases_have_as_many_distinct_tokens_as_fit() -> None:
    found = phases(singles([(0,), (1,), (0,), (2,), (1,), (3,)]), 2)
    assert [each.new for each in found] == [((0,), (1,)), ((2,), (1,)), ((3,),)]
    assert [each.clean for each in found] == [2, 1, 1]
    assert [each.misses for each in found] == [2, 2, 1]
    assert [each.complete for each in found] == [True, True, False]


def test_a_phase_that_splits_paths_may_miss_more_than_lemma_2_says() -> None:
    paths = [(0, 0), (0, 1), (1, 0), (0, 0)]
    third = phases(singles(paths), 2)[2]
    assert (third.new, third.before) == (((1, 0), (0,)), ((0,), (1,)))
    assert third.misses == 2 > lru_in_a_phase(2, 2, third.clean) == 1
    whole = phases(singles(paths), 2, whole=True)
    assert all(each.misses <= lru_in_a_phase(2, 2, each.clean) for each in whole)


@pytest.mark.parametrize("seed", range(20))
def test_phases_share_out_all_misses(seed: int) -> None:
    paths = drawn_paths(seed, 20)
    for whole in (False, True):
        found = phases(singles(paths), 5, whole=whole)
        assert sum(each.misses for each in found) == lru_misses(singles(paths), 5)
        assert not any(each.returned for each in found)


def test_whole_phases_are_in_the_cache_when_they_end() -> None:
    for seed in range(20):
        found = phases(singles(drawn_paths(seed, 20)), 5, whole=True)
        for earlier, later in pairwise(found):
            assert set(later.before) == set(earlier.new)


def test_a_path_that_leaves_a_node_in_the_middle_splits_it() -> None:
    cached, missed = serve_nodes((), (0, 0, 0), 4)
    assert (cached, missed) == ((Node((0, 0, 0), 0),), 3)
    cached, missed = serve_nodes(cached, (0, 1), 4)
    assert (cached, missed) == ((Node((0, 0, 0), 1), Node((0,), 0), Node((0, 1), 1)), 1)


def test_a_whole_node_goes_where_one_token_would_do() -> None:
    cached, _ = serve_nodes((), (0, 0, 0), 4)
    cached, _ = serve_nodes(cached, (1, 0), 4)
    assert cached == (Node((1, 0), 0),)


@pytest.mark.parametrize("seed", range(20))
def test_nodes_of_one_token_are_tokens(seed: int) -> None:
    rng = Random(seed)
    paths = tuple((rng.randrange(6),) for _ in range(30))
    assert node_misses(paths, 4) == lru_misses(singles(paths), 4)
