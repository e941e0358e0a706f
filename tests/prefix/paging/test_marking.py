"""RLT: as printed it may have nothing to evict; repaired it always has, off its path."""

from fractions import Fraction
from random import Random

import pytest

from fluidkv.prefix.paging.marking import (
    evictable,
    expected_misses,
    marking,
    misses,
    path_locked,
    rlt_misses,
)
from fluidkv.prefix.paging.tokens import singles
from fluidkv_papers.theory.paging.cases import sequences
from fluidkv_papers.theory.paging.printed import printed_evictions


def test_printed_rlt_may_find_no_leaf_without_a_mark() -> None:
    found = list(printed_evictions(((0,), (1, 0), (0,)), 2, lock=True))
    assert [each.gone for each in found] == [(0,), None]
    assert found[1].cached == {(1,), (1, 0)}
    assert found[1].access.marked == {(0,), (1, 0)}


def test_printed_rlt_may_evict_the_parent_of_what_it_loads() -> None:
    found = list(printed_evictions(((0,), (1, 0)), 2))
    assert {each.gone for each in found} == {(0,), (1,)}
    assert [each.of_its_path for each in found if each.gone == (1,)] == [True]


def test_printed_and_repaired_are_one_where_no_token_is_above_another() -> None:
    for paths in sequences(5, 1, 1):
        same = [list(printed_evictions(paths, 3, repaired=each)) for each in (True, False)]
        assert same[0] == same[1]


@pytest.mark.thorough
def test_repaired_rlt_is_defined_and_keeps_its_path_in_all_longer_sequences() -> None:
    for capacity, count in ((2, 6), (3, 4), (4, 3)):
        for paths in sequences(count, 1, capacity):
            for each in printed_evictions(paths, capacity, repaired=True):
                assert each.gone is not None
                assert not each.of_its_path


def test_marks_of_the_path_in_process_stay() -> None:
    accesses = [a for each in marking(singles([(0,), (1, 0)]), 2) for a in each]
    assert [a.starts for a in accesses] == [False, False, True]
    assert accesses[-1].marked == {(1,), (1, 0)}


def test_expected_misses_are_the_mean_over_runs_that_are_equally_likely() -> None:
    # Two slots, three tokens: the third evicts either, so that the first misses half of the time.
    requests = singles([(0,), (1,), (2,), (0,)])
    assert expected_misses(requests, 2) == [[1], [1], [1], [Fraction(1, 2)]]


def test_runs_agree_with_the_exact_expectation() -> None:
    requests = singles([(0, 0), (0, 1), (1,), (2, 0), (0, 0), (1,), (0, 1)])
    exact = float(sum(map(sum, expected_misses(requests, 3))))
    found = [rlt_misses(requests, 3, Random(seed)) for seed in range(2000)]
    deviation = (sum((each - exact) ** 2 for each in found) / len(found)) ** 0.5
    # six standard errors: one run of the test in a billion
    assert abs(sum(found) / len(found) - exact) < 6 * deviation / len(found) ** 0.5


def test_a_random_leaf_may_be_marked_but_is_off_the_path() -> None:
    seen = set()

    def first(at: int, leaves: tuple) -> tuple:
        seen.update(leaves)
        return leaves[0]

    requests = singles([(0,), (1,), (2, 0)])
    assert sum(misses([a for each in map(path_locked, requests) for a in each], 2, first)) == 4
    assert seen == {(0,), (1,)}


def test_evictable_are_leaves_without_a_mark() -> None:
    (access,) = next(marking(singles([(1,)]), 3))
    assert evictable(frozenset({(0,), (0, 0), (1,)}), access) == ((0, 0),)
