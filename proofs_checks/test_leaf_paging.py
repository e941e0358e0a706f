"""Routing, Lemmas 1 to 3 and Theorem 4 in whole phases, and RLT repaired; cases drawn at large.

Whole phases are ours: one that starts within a path has the front of that path. With them misses
are at most B - L + c in a phase of Leaf-LRU, the optimum misses c / 2 in the sum and 1 in each, so
that Leaf-LRU stays within B - L + 2 times the optimum, and the first phase.
"""

from random import Random

from hypothesis import example, given, target
from hypothesis import strategies as st

from fluidkv.prefix.paging.bounds import lru_in_a_phase
from fluidkv.prefix.paging.lru import lru_misses
from fluidkv.prefix.paging.marking import marking, rlt_misses
from fluidkv.prefix.paging.optimum import fewest_misses, furthest_misses
from fluidkv.prefix.paging.tokens import closed, singles
from fluidkv_papers.theory.paging.nodes import node_misses
from fluidkv_papers.theory.paging.phases import phases
from fluidkv_papers.theory.paging.printed import printed_evictions


@st.composite
def cases(draw: st.DrawFn) -> tuple[int, tuple[tuple[int, ...], ...]]:
    """A capacity and paths that fit; few names, so that they share much."""
    capacity = draw(st.integers(2, 6))
    shortest = draw(st.integers(1, capacity))
    length = st.integers(shortest, capacity)
    path = length.flatmap(lambda n: st.tuples(*[st.integers(0, 2)] * n))
    return capacity, tuple(draw(st.lists(path, min_size=1, max_size=14)))


@given(cases())
@example((2, ((0, 0), (0, 1), (1, 0), (0, 0))))  # fails with printed phases
def test_whole_phases_keep_lemmas_2_and_3(case):
    capacity, paths = case
    shortest = min(map(len, paths))
    for phase in phases(singles(paths), capacity, whole=True):
        assert phase.misses <= lru_in_a_phase(capacity, shortest, phase.clean)
        assert not phase.returned


@given(cases())
def test_the_optimum_pays_for_clean_tokens_and_for_phases(case):
    capacity, paths = case
    requests = singles(paths)
    found = [each for each in phases(requests, capacity, whole=True) if each.complete]
    least = fewest_misses(requests, capacity)
    assert 2 * least >= sum(phase.clean for phase in found)
    assert least >= len(found)


@given(cases())
def test_lru_stays_within_the_bound_by_tokens_and_by_nodes(case):
    capacity, paths = case
    requests = singles(paths)
    least = fewest_misses(requests, capacity)
    bound = capacity - min(map(len, paths)) + 2
    missed = lru_misses(requests, capacity)
    target(missed / least, label="ratio")
    assert missed <= bound * least
    assert node_misses(paths, capacity) <= bound * least


@given(cases())
def test_the_furthest_leaf_is_optimal(case):
    capacity, paths = case
    requests = singles(paths)
    assert furthest_misses(requests, capacity) == fewest_misses(requests, capacity)


@given(cases(), st.integers(0, 9))
def test_repaired_rlt_is_defined_and_keeps_its_path(case, seed):
    capacity, paths = case
    for access in (each for accesses in marking(singles(paths), capacity) for each in accesses):
        assert closed(access.marked)
        assert len(access.marked) <= capacity
    for eviction in printed_evictions(paths[:5], capacity, repaired=True):
        assert eviction.gone is not None
        assert not eviction.of_its_path
    assert rlt_misses(singles(paths), capacity, Random(seed)) >= fewest_misses(
        singles(paths), capacity
    )
