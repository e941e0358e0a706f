"""Leaves by lot: never what is in use, marked ones last, and each of the others as likely."""

from collections import Counter
from random import Random

from fluidkv.prefix.pieces import content
from fluidkv.prefix.radix.lots import Lots
from fluidkv.prefix.radix.tree import FastRadixTree


def _tree(seed: int, leaves: int) -> FastRadixTree:
    """One root path of 4 tokens, and leaves of 2 behind it, the first asked for first."""
    tree = FastRadixTree(lots=Lots(seed))
    for leaf in range(leaves):
        tree.insert(content([[0, 4], [1 + leaf, 2]]))
    return tree


def test_leaves_without_marks_are_equally_likely() -> None:
    seen = Counter(_tree(seed, 4).evict(1)[0].segment for seed in range(2000))
    # 500 each; five standard deviations of a binomial count are 97
    assert all(abs(seen[1 + leaf] - 500) < 97 for leaf in range(4))


def test_what_a_phase_asked_for_goes_last() -> None:
    for seed in range(50):
        tree = _tree(seed, 5)
        tree.evict(1)  # all have marks: a phase begins, in which nobody was asked for yet
        left = [leaf for leaf in range(5) if tree.found(content([[0, 4], [1 + leaf, 2]])) == 6]
        tree.match(content([[0, 4], [1 + left[0], 2]]))
        gone = [tree.evict(1)[0].segment for _ in range(4)]
        assert gone[-1] == 1 + left[0]
        assert tree.evict(100)[0].segment == 0  # the path above is a leaf only now
        assert tree.total == 0


def test_what_is_in_use_stays_and_the_account_is_right() -> None:
    for seed in range(100):
        chance, tree = Random(seed), FastRadixTree(lots=Lots(seed))
        locked = []
        for step in range(60):
            prompt = content([[chance.randrange(3), 1 + chance.randrange(5)], [10 + step, 3]])
            tree.insert(prompt)
            if chance.random() < 0.3:
                node, found = tree.match(prompt)
                tree.lock(node)
                locked.append((prompt, node, found))
            if locked and chance.random() < 0.2:
                tree.unlock(locked.pop(chance.randrange(len(locked)))[1])
            before, free = tree.total, tree.evictable
            gone = sum(each.length for each in tree.evict(chance.randrange(8)))
            assert tree.total == before - gone
            assert tree.evictable == free - gone
            assert all(tree.found(kept) == found for kept, _, found in locked)
        for _, node, _ in locked:
            tree.unlock(node)
        tree.evict(10**6)
        assert (tree.total, tree.nodes, tree.evictable) == (0, 0, 0)


def test_the_same_seed_draws_the_same() -> None:
    assert _tree(7, 9).evict(8) == _tree(7, 9).evict(8)
