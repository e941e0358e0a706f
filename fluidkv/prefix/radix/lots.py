"""Leaves by lot: RLT in a tree that lets go of whole leaves, as SGLang's does.

A leaf is marked while it was used since the phase began. One that may go and has no mark is drawn,
each as likely; where all that may go have marks, a new phase begins. So what a phase has asked for
goes only when nothing else is left. What is in use is locked, and its path with it.

Source: Routing, Algorithm 1, whose units are single tokens and whose phase ends with so many of
them that the cache would not hold more; ours ends when it does not. `on_trie.drawn_nodes` has the
paper's phases on nodes, for requests one by one, which lock nothing.
"""

from collections.abc import Iterable
from typing import Any, Protocol

import numpy as np


class Leaf(Protocol):
    """What lots know of a node."""

    used: int
    locks: int
    parent: Any
    children: Any


class Lots:
    """Those that may go.

    Args:
        seed: of the draws.

    Examples:
        >>> from fluidkv.prefix import FastRadixTree, Lots, content
        >>> tree = FastRadixTree(lots=Lots(seed=0))
        >>> for segment in range(3):
        ...     _ = tree.insert(content([(segment, 10)]))
        >>> tree.evict(10)[0].segment, tree.total
        (2, 20)
    """

    def __init__(self, seed: int) -> None:
        self._random = np.random.default_rng(seed)
        self._offered: dict[Any, None] = {}
        self._phase = 0

    def offer(self, leaf: Leaf) -> None:
        """A leaf that nobody uses."""
        self._offered[leaf] = None

    def draw(self, now: int) -> Any:
        """One of them, which goes; None where there is none.

        Args:
            now: later than all uses so far.
        """
        free = [leaf for leaf in self._offered if _may_go(leaf)]
        self._offered = dict.fromkeys(free)
        if not free:
            return None
        left = self._without_mark(free)
        if not left:
            self._phase, left = now, free
        chosen = left[int(self._random.integers(len(left)))]
        del self._offered[chosen]
        return chosen

    def _without_mark(self, leaves: Iterable[Leaf]) -> list[Leaf]:
        return [leaf for leaf in leaves if leaf.used < self._phase]


def _may_go(leaf: Leaf) -> bool:
    return leaf.parent is not None and not leaf.children and not leaf.locks
