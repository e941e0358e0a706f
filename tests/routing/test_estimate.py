"""What a router believes: what was sent, cut back or not, and what it costs to be wrong."""

import numpy as np
import pytest

from fluidkv.errors import InputError
from fluidkv.prefix import Policy, Prompts, shared_prefixes, trie_of
from fluidkv.prefix.pieces import Piece
from fluidkv.routing import CacheAware, Fleet, Traffic, route
from fluidkv.routing.estimate import Belief, SentTree
from tests.routing.tables import drawn

SYSTEM, A, B, OTHER = Piece(0, 0, 10), Piece(1, 0, 5), Piece(2, 0, 4), Piece(3, 0, 8)


def tree(belief: Belief, *prompts) -> SentTree:
    outputs = [(Piece(100 + row, 0, 1),) for row in range(len(prompts))]
    return SentTree(trie_of(Prompts(prompts, outputs)), 2, belief)


def test_each_worker_has_what_it_was_sent():
    sent = tree(Belief(), (SYSTEM, A), (SYSTEM, B), (OTHER,))
    assert sent.hits(0).tolist() == [0, 0]
    sent.send(0, 1, 0.0)
    assert sent.hits(0).tolist() == [0, 15]
    assert sent.hits(1).tolist() == [0, 10]
    sent.send(1, 0, 1.0)
    assert sent.hits(0).tolist() == [10, 15]
    assert sent.hits(2).tolist() == [0, 0]
    assert sent.size.tolist() == [14, 15]
    sent.send(0, 1, 2.0)
    assert sent.size.tolist() == [14, 15]


def test_the_leaf_that_was_sent_longest_ago_goes_and_not_what_others_need():
    sent = tree(Belief("sent", 24, 0), (SYSTEM, A), (SYSTEM, B), (OTHER,))
    for request, now in ((0, 0.0), (2, 1.0), (1, 2.0)):
        sent.cut_back(now)
        sent.send(request, 0, now)
    assert sent.size.tolist() == [27, 0]
    sent.cut_back(3.0)  # A goes: 22 are left
    assert sent.size.tolist() == [22, 0]
    assert [sent.hits(request)[0] for request in range(3)] == [10, 14, 8]


def test_trees_are_looked_at_now_and_then():
    sent = tree(Belief("sent", 1, 60.0), (OTHER,), (SYSTEM,))
    sent.send(0, 0, 10.0)
    sent.cut_back(59.9)
    assert sent.size[0] == 8
    sent.cut_back(60.1)
    assert sent.size[0] == 0
    sent.send(1, 0, 61.0)
    sent.cut_back(119.0)
    assert sent.size[0] == 10
    sent.cut_back(500.0)
    assert sent.size[0] == 0


def test_a_cut_tree_is_small_closed_and_keeps_what_is_newest():
    for seed in range(20):
        _, prompts = drawn(np.random.default_rng(seed), 60, longest=30)
        trie = trie_of(prompts)
        full, cut = SentTree(trie, 1, Belief()), SentTree(trie, 1, Belief("sent", 80, 0))
        for request in range(60):
            for each in (full, cut):
                each.cut_back(float(request))
                each.send(request, 0, float(request))
            there = np.flatnonzero(cut.last[0] > -np.inf)
            assert cut.size[0] == cut.tokens[there].sum()
            for stretch in there:  # with all above it, and none of them older
                above = trie.parent[stretch]
                if above > 0:
                    assert cut.last[0, above] >= cut.last[0, stretch]
        cut.cut_back(60.0)
        assert cut.size[0] <= 80
        there = cut.last[0] > -np.inf
        gone = (full.last[0] > -np.inf) & ~there
        if there.any() and gone.any():
            assert full.last[0, gone].max() <= full.last[0, there].min()


def test_the_truth_is_what_the_worker_finds_at_the_end():
    """A plain worker's cache is asked as it will be when all before the request have begun."""
    traffic = Traffic(*shared_prefixes(0, groups=12, queries=8))
    for policy in (Policy.LRU, Policy.RLT):
        run = route(traffic, Fleet(2, 20_000, policy, belief=Belief("cache")), CacheAware(0.1))
        assert run.believed.tolist() == [each.hits for each in run.times]
    run = route(traffic, Fleet(2, 20_000), CacheAware(0.1))
    assert (run.believed >= [each.hits for each in run.times]).all()
    assert run.believed.sum() > sum(each.hits for each in run.times)


@pytest.mark.parametrize(
    ("wrong", "argument"),
    [({"of": "guess"}, "of"), ({"most": 0}, "most"), ({"every": -1.0}, "every")],
)
def test_what_is_no_belief_is_one_line(wrong, argument):
    with pytest.raises(InputError, match=f"^{argument}: "):
        Belief(**wrong)
