"""What a router believes is in the caches: a tree of what was sent where, or the truth.

A router does not see its workers' caches. SGLang's keeps one tree of all prompts that it routed,
each node with the workers that got it, and cuts the tree of a worker back now and then, the least
recently used leaves first. The paper uses the same tree. Answers are not in it, and nobody tells it
what a worker evicted, so that it errs on both sides.

Source: Routing, appendix E; SGLang, sgl-router, `tree.rs`, where text is counted in characters.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Int

from fluidkv.errors import InputError
from fluidkv.prefix.on_trie.trie import Trie
from fluidkv.record import Record
from fluidkv.runs.checks import above_0, count


@dataclass(frozen=True)
class Belief(Record):
    """How a router comes to know how much of a prompt is in each cache.

    Args:
        of: "sent": the tree of what was routed where. "cache": the workers' caches themselves, as
            they are when it asks.
        most: tokens that the tree keeps of each worker; None: everything.
        every: seconds between two looks at whether a worker has more than that; it is then cut back
            leaf by leaf, whole stretches that nobody splits. 0: at each request.

    Raises:
        InputError: something else, `most` below 1, `every` below 0.

    In SGLang 0.4.6 a worker's tree is cut back to 2^24 characters every 60 seconds; with some 4
    characters a token that is 4 million tokens.

    Examples:
        >>> from fluidkv.prefix import shared_prefixes
        >>> from fluidkv.routing import LinearScore, Traffic, route
        >>> from fluidkv.routing.estimate import Belief
        >>> traffic = Traffic(*shared_prefixes(0, groups=4, queries=4, lengths=1000))
        >>> for belief in (Belief("sent"), Belief("cache")):
        ...     run = route(traffic, fk.Fleet(2, 1500, belief=belief), LinearScore())
        ...     print(belief.of, run.believed.sum(), sum(each.hits for each in run.times))
        sent 4500 3480
        cache 2988 2988
    """

    of: Literal["sent", "cache"] = "sent"
    most: int | None = None
    every: float = 60.0

    def __post_init__(self) -> None:
        if self.of not in ("sent", "cache"):
            raise InputError("of", self.of, "'sent' or 'cache'")
        if self.most is not None:
            count("most", self.most)
        if self.every != 0:
            above_0("every", self.every)


class SentTree:
    """One tree for all workers: which stretches each was sent, and when last.

    Args:
        trie: of the prompts alone, as `trie_of` makes it.
    """

    def __init__(self, trie: Trie, workers: int, belief: Belief) -> None:
        self.belief = belief
        self.paths = [np.array(path, np.int64) for path in trie.paths]
        self.tokens = np.array(trie.size, np.int64) * trie.granularity.page
        self.above = np.array(trie.before, np.int64)
        self.last = np.full((workers, self.tokens.size), -np.inf)
        self.size = np.zeros(workers, np.int64)
        self._looked = 0

    def hits(self, request: int) -> Int[np.ndarray, " worker"]:
        """Tokens of its prompt that each worker was sent, from the beginning on."""
        path = self.paths[request]
        there = np.logical_and.accumulate(self.last[:, path] > -np.inf, axis=1)
        return there @ self.tokens[path]

    def send(self, request: int, worker: int, now: float) -> None:
        path = self.paths[request]
        new = path[self.last[worker, path] == -np.inf]
        self.size[worker] += self.tokens[new].sum()
        self.last[worker, path] = now

    def cut_back(self, now: float) -> None:
        """As often as it is due."""
        if self.belief.most is None:
            return
        every = self.belief.every
        looks = int(now / every) if every else self._looked + 1
        if looks > self._looked:
            self._looked = looks
            for worker in np.flatnonzero(self.size > self.belief.most):
                self._cut(int(worker), self.belief.most)

    def _cut(self, worker: int, most: int) -> None:
        there = np.flatnonzero(self.last[worker] > -np.inf)
        # No stretch was used later than those above it: so leaves come before their parents.
        order = np.lexsort((-self.above[there], self.last[worker, there]))
        tokens = self.tokens[there[order]]
        left = self.size[worker] - np.cumsum(tokens)
        gone = there[order][: 1 + int(np.argmax(left <= most))]
        self.last[worker, gone] = -np.inf
        self.size[worker] -= self.tokens[gone].sum()
