"""Leaves by lot: RLT in a tree that lets go of whole leaves, as SGLang's does.

A leaf is marked while it was used since the phase began. One that may go and has no mark is drawn,
each as likely; where all that may go have marks, a new phase begins. So what a phase has asked for
goes only when nothing else is left. What is in use is locked, and its path with it.

Source: Routing, Algorithm 1, whose units are single tokens and whose phase ends with so many of
them that the cache would not hold more; ours ends when it does not. `on_trie.drawn_nodes` has the
paper's phases on nodes, for requests one by one, which lock nothing.
"""

from typing import Any

import numpy as np

from fluidkv.prefix.radix.kernel.layout import NONE, ROOT, Record, Records

LEAVES = "fluidkv.prefix.radix.kernel.leaves"
"""The module whose functions lots have by the same names, where a tree is plain Python."""


class Lots:
    """Those that may go.

    Args:
        seed: of the draws.

    Examples:
        >>> from fluidkv.prefix.radix.lots import Lots
        >>> from fluidkv.serving import SglangSettings
        >>> from fluidkv.serving.caching.sglang.stepped import SglangEngine
        >>> table, clock = fk.Requests([30, 30, 30], [2, 2, 2]), fk.IterationClock(1.0)
        >>> server = SglangEngine(table, None, SglangSettings(80), clock, lots=Lots(seed=0))
        >>> for request in range(3):
        ...     server.offer(request)
        ...     server.advance(until=100.0)
        >>> [server.found(request) for request in range(3)]  # for the last one, one had to go
        [31, 0, 31]
    """

    def __init__(self, seed: int) -> None:
        self._random = np.random.default_rng(seed)
        self._offered: dict[int, None] = {}
        self._phase = 0

    def offer(self, run: Record, nodes: Records, node: int) -> None:
        """It may be drawn, if it is a leaf that nobody uses."""
        if node != ROOT and _may_go(nodes[node]):
            self._offered[node] = None

    def lowest(self, run: Record, nodes: Records) -> Any:
        """One of them, which goes; NONE where there is none."""
        run.tick += 1
        free = [leaf for leaf in self._offered if _may_go(nodes[leaf])]
        self._offered = dict.fromkeys(free)
        if not free:
            return NONE
        left = [leaf for leaf in free if nodes[leaf].used < self._phase]
        if not left:
            self._phase, left = run.tick, free
        chosen = left[int(self._random.integers(len(left)))]
        del self._offered[chosen]
        return chosen


def _may_go(leaf: Record) -> bool:
    return not leaf.children and not leaf.locks
