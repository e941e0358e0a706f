"""What no router can do better, with all requests known before; and a schedule that knows them.

A prompt finds at most what an earlier one, or its answer, begins with: whatever the caches and
whoever is sent where. So a request costs at least what it costs with that in the cache, and the
rest is scheduling of jobs with known lengths on machines that are alike.

Source: Routing, section 3.1 (the objective); R. L. Graham, "Bounds on multiprocessing timing
anomalies" (1969), for LPT.
"""

import heapq
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from fluidkv.errors import InputError
from fluidkv.plain import plain_tuple
from fluidkv.prefix.on_trie.run import run_cache
from fluidkv.prefix.on_trie.trie import ROOT, Trie
from fluidkv.prefix.policies import Policy
from fluidkv.runs.requests import Requests

_EVEN = 1.02  # the fullest worker of a schedule, over the least possible


def most_shared(trie: Trie) -> Int[np.ndarray, " request"]:
    """Of each prompt, the tokens with which an earlier one and its answer begin.

    Args:
        trie: of prompts with their answers.

    Examples:
        >>> from fluidkv.prefix import Prompts, content, trie_of
        >>> from fluidkv.routing.bound import most_shared
        >>> asked = [content([(0, 100)]), content([(0, 100), (1, 20)]), content([(0, 60), (2, 9)])]
        >>> trie = trie_of(Prompts(asked, [content([(1, 5)])] * 3), answers=True)
        >>> most_shared(trie).tolist()  # the second goes on with the answer of the first
        [0, 105, 60]
    """
    everything = trie.total * trie.granularity.page
    return run_cache(trie, everything, Policy.LRU).hit_tokens


class Offline(NamedTuple):
    """Bounds on a fleet with plain service.

    Fields:
        makespan: no assignment has less on its fullest worker. The larger of the mean and the
            largest request: the linear program in which requests may be split says the same.
        end: nobody is done with all requests before this time.
        throughput: requests, over the time from the first arrival to that end.
        hit_rate: no prompt tokens beyond this share are found in a cache.
        costs: the least that each request costs, seconds.
        lpt: makespan of these costs, longest first, each to the worker with the least so far. At
            most 4/3 of the least with these costs, which caches may not allow.

    Examples:
        >>> from fluidkv.prefix import shared_prefixes
        >>> from fluidkv.routing import Traffic, bounds
        >>> traffic = Traffic(*shared_prefixes(0, groups=2, queries=4, lengths=1000))
        >>> found = bounds(traffic, fk.Fleet(2, 20_000))
        >>> found.hit_rate, round(found.makespan, 3)  # 5,000 tokens, 2 workers
        (0.375, 0.375)
    """

    makespan: float
    end: float
    throughput: float
    hit_rate: float
    costs: Float[np.ndarray, " request"]
    lpt: float

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return plain_tuple(self)


def offline_bounds(
    requests: Requests,
    shared: Int[np.ndarray, " request"],
    costs: Float[np.ndarray, " request"],
    workers: int,
    *,
    at_once: int = 1,
) -> Offline:
    """Bounds for requests whose least costs are known.

    Args:
        requests: with their times.
        shared: most prompt tokens that each may find (`most_shared`).
        costs: seconds of service, with that in the cache.
        workers: how many, at least 1.
        at_once: requests that a worker serves at the same time, each as fast as alone.

    Raises:
        InputError: no workers.

    Examples:
        >>> from fluidkv.routing.bound import offline_bounds
        >>> table = fk.Requests([100, 100, 100], [9, 9, 9])
        >>> found = offline_bounds(table, np.array([0, 50, 50]), np.array([2.0, 1.0, 1.0]), 2)
        >>> found.makespan, round(found.hit_rate, 2), found.throughput
        (2.0, 0.33, 1.5)
    """
    if workers < 1:
        raise InputError("workers", workers, "at least 1")
    load = np.bincount(lpt(costs, workers), weights=costs, minlength=workers)
    later = np.cumsum(costs[::-1])[::-1]  # of who comes then or later
    ends = requests.arrival + np.maximum(later / (workers * at_once), costs)
    end = float(ends.max())
    return Offline(
        makespan=float(max(costs.sum() / workers, costs.max())),
        end=end,
        throughput=len(requests) / (end - float(requests.arrival[0])),
        hit_rate=float(shared.sum() / requests.input_length.sum()),
        costs=costs,
        lpt=float(load.max()),
    )


def lpt(costs: Float[np.ndarray, " request"], workers: int) -> Int[np.ndarray, " request"]:
    """The longest first, each to the worker with the least so far (of several the first).

    Examples:
        >>> from fluidkv.routing.bound import lpt
        >>> lpt(np.array([3.0, 3.0, 2.0, 2.0, 2.0]), 2).tolist()  # 7 and 5; 6 and 6 is best
        [0, 1, 0, 1, 0]
    """
    chosen = np.zeros(costs.size, np.int64)
    loads = [(0.0, worker) for worker in range(workers)]
    for request in np.argsort(-costs, kind="stable"):
        load, worker = heapq.heappop(loads)
        chosen[request] = worker
        heapq.heappush(loads, (load + float(costs[request]), worker))
    return chosen


def by_prefix(
    trie: Trie, costs: Float[np.ndarray, " request"], workers: int
) -> Int[np.ndarray, " request"]:
    """A schedule that keeps together what begins alike, as far as that leaves the work even.

    A group is a stretch of the tree with all requests below it, first that of all. While groups,
    the longest first, each to the worker with the least so far, leave the fullest more than 2 %
    above the mean, the largest are split into what is below them.

    Args:
        trie: of the prompts.
        costs: of each request, seconds.
        workers: how many.

    Examples:
        >>> from fluidkv.prefix import shared_prefixes
        >>> from fluidkv.routing import Traffic
        >>> from fluidkv.routing.bound import by_prefix
        >>> traffic = Traffic(*shared_prefixes(0, groups=2, queries=4, lengths=1000))
        >>> by_prefix(traffic.sent, np.ones(8), 2).tolist(), traffic.requests.class_index.tolist()
        ([0, 0, 1, 0, 1, 0, 1, 1], [0, 0, 1, 0, 1, 0, 1, 1])
    """
    tree = _Below(trie)
    groups = [_Group(float(costs.sum()), ROOT, tree.below[ROOT])]
    best = max(float(costs.sum()) / workers, float(costs.max()))
    limit = float(costs.sum())
    while True:
        owners = lpt(np.array([each.cost for each in groups]), workers)
        load = np.bincount(owners, [each.cost for each in groups], workers)
        whole = all(each.stretch is None or not each.cost for each in groups)  # 0 is even anyhow
        if load.max() <= _EVEN * best or whole:
            break
        limit /= 2
        groups = [part for each in groups for part in tree.split(each, costs, limit)]
    chosen = np.zeros(costs.size, np.int64)
    for each, worker in zip(groups, owners, strict=True):
        chosen[each.requests] = worker
    return chosen


class _Group(NamedTuple):
    """Requests that stay together; stretch None: a single one that ends where others go on."""

    cost: float
    stretch: int | None
    requests: list[int]


class _Below:
    """Of each stretch, the requests that have it, and the stretches that follow it."""

    def __init__(self, trie: Trie) -> None:
        self.below: dict[int, list[int]] = defaultdict(list)
        self.children: dict[int, list[int]] = defaultdict(list)
        for request, path in enumerate(trie.paths):
            for stretch in (ROOT, *path):
                self.below[stretch].append(request)
        for stretch in range(1, len(trie.parent)):
            self.children[trie.parent[stretch]].append(stretch)

    def split(self, group: _Group, costs: np.ndarray, limit: float) -> Iterator[_Group]:
        """Its parts, each of at most `limit` seconds or a single request."""
        if group.cost <= limit or group.stretch is None:
            yield group
            return
        deeper: set[int] = set()
        for stretch in self.children[group.stretch]:
            requests = self.below[stretch]
            deeper.update(requests)
            part = _Group(float(costs[requests].sum()), stretch, requests)
            yield from self.split(part, costs, limit)
        for request in group.requests:
            if request not in deeper:
                yield _Group(float(costs[request]), None, [request])
