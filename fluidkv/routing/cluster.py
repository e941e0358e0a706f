"""Workers behind a router: each request is routed when it comes, by what is known then.

The order of things: when a request comes, every worker is at that time; first and last tokens up to
then are told to the router in their order, the router chooses, the worker takes the request.
"""

import heapq
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from jaxtyping import Float, Int

from fluidkv.errors import InputError
from fluidkv.plain import plain_tuple
from fluidkv.prefix.on_trie.trie import Trie
from fluidkv.routing.estimate import Belief, SentTree
from fluidkv.routing.plain import Event, Times
from fluidkv.routing.router import Router, View
from fluidkv.runs.requests import Requests

_EVERY_SO_OFTEN = 256  # requests between two reports


class Worker(Protocol):
    """A server with a cache, as the cluster sees it.

    Attributes:
        busy: seconds in which it was at work, over the requests that it serves at once.
    """

    busy: float

    @property
    def work(self) -> float:
        """Seconds that its requests cost it in all: the P_i of (2)."""
        ...

    @property
    def times(self) -> Mapping[int, Times]:
        """Of the requests that it was offered."""
        ...

    def offer(self, index: int) -> None:
        """It gets the request, which comes now."""
        ...

    def found(self, index: int) -> int:
        """Tokens of a request's prompt that are in its cache."""
        ...

    def advance(self, until: float) -> Sequence[Event]:
        """Work up to a time; what is newly known, which may lie after it."""
        ...


class Routed(NamedTuple):
    """What became of the requests of one run, and of its workers.

    Fields:
        worker: who got each.
        believed: prompt tokens that the router believed to be in that worker's cache; -1 where it
            looked at none.
        times: of each.
        busy, work: of each worker, as in `Worker`.

    Examples:
        >>> from fluidkv.prefix import shared_prefixes
        >>> from fluidkv.routing import LinearScore, Traffic, route
        >>> traffic = Traffic(*shared_prefixes(0, groups=2, queries=4, lengths=1000))
        >>> run = route(traffic, fk.Fleet(2, 20_000), LinearScore())
        >>> run.worker.tolist(), [each.hits for each in run.times]
        ([1, 0, 1, 1, 1, 1, 1, 0], [0, 0, 0, 500, 500, 500, 500, 0])
    """

    worker: Int[np.ndarray, " request"]
    believed: Int[np.ndarray, " request"]
    times: list[Times]
    busy: Float[np.ndarray, " worker"]
    work: Float[np.ndarray, " worker"]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return plain_tuple(self)


def run_cluster(
    requests: Requests,
    trie: Trie,
    workers: Sequence[Worker],
    router: Router,
    *,
    belief: Belief | None = None,
    seed: int = 0,
    on_progress: Callable[[int], None] | None = None,
) -> Routed:
    """Route every request of a table, in order of arrival.

    Args:
        requests: with their times, seconds.
        trie: of their prompts (`trie_of`, without answers).
        workers: new ones, at least 1.
        router: the rule.
        belief: what it knows of the caches; None: everything that was sent.
        seed: of what chance decides in the router, and of nothing else.
        on_progress: told now and then how many requests have come; may end the run by an exception.

    Raises:
        InputError: no workers, or prompts of other requests.

    Examples:
        >>> from fluidkv.prefix import Policy, TraceCache, shared_prefixes, trie_of
        >>> from fluidkv.routing import RoundRobin, Service
        >>> from fluidkv.routing.plain import PlainWorker
        >>> from fluidkv.routing.cluster import run_cluster
        >>> requests, prompts = shared_prefixes(0, groups=2, queries=4, lengths=1000)
        >>> trie = trie_of(prompts)
        >>> caches = [TraceCache(trie, 20_000, Policy.LRU) for _ in range(2)]
        >>> workers = [PlainWorker(requests, cache, Service()) for cache in caches]
        >>> run_cluster(requests, trie, workers, RoundRobin()).busy.round(3).tolist()
        [0.45, 0.45]
    """
    if not workers:
        raise InputError("workers", 0, "at least 1")
    if len(trie) != len(requests):
        allowed = f"{len(requests)}, one for each request"
        raise InputError("trie", f"{len(trie)} prompts", allowed)
    run = _Run(requests, trie, workers, router, belief or Belief())
    draws = np.random.default_rng(seed).random((len(requests), 2)).tolist()
    for index in range(len(requests)):
        run.arrives(index, draws[index])
        if on_progress is not None and index % _EVERY_SO_OFTEN == 0:
            on_progress(index)
    run.ends()
    times = [worker.times for worker in workers]
    return Routed(
        np.array(run.worker),
        np.array(run.believed),
        [times[who][index] for index, who in enumerate(run.worker)],
        np.array([worker.busy for worker in workers]),
        np.array([worker.work for worker in workers]),
    )


class _Run:
    def __init__(
        self,
        requests: Requests,
        trie: Trie,
        workers: Sequence[Worker],
        router: Router,
        belief: Belief,
    ) -> None:
        self.arrival, self.length = requests.arrival.tolist(), requests.input_length.tolist()
        self.workers, self.router = workers, router
        self.state: Any = router.start(len(workers))
        self.tickets: dict[int, Any] = {}
        self.belief = belief
        self.tree = SentTree(trie, len(workers), belief) if router.looks_at_caches else None
        self.nobody = np.zeros(len(workers), np.int64)
        self.pending, self.to_compute, self.active = (self.nobody.copy() for _ in range(3))
        self.worker: list[int] = []
        self.believed: list[int] = []
        self.events: list[Event] = []

    def arrives(self, index: int, draws: Sequence[float]) -> None:
        now, length = self.arrival[index], self.length[index]
        self._catch_up(now)
        hits = self._hits(index, now)
        view = View(
            now,
            length,
            hits,
            self.nobody if self.tree is None else self.tree.size,
            self.pending,
            self.to_compute,
            self.active,
            (draws[0], draws[1]),
        )
        choice = self.router.route(self.state, view)
        self.state, worker = choice.state, choice.worker
        self.tickets[index] = choice.ticket
        self.worker.append(worker)
        self.believed.append(-1 if self.tree is None else int(hits[worker]))
        self.pending[worker] += 1
        self.active[worker] += length
        self.to_compute[worker] += length - int(hits[worker])
        if self.tree is not None:
            self.tree.send(index, worker, now)
        self.workers[worker].offer(index)

    def ends(self) -> None:
        self._catch_up(math.inf)

    def _hits(self, index: int, now: float) -> Int[np.ndarray, " worker"]:
        if self.tree is None:
            return self.nobody
        self.tree.cut_back(now)
        if self.belief.of == "cache":
            return np.array([worker.found(index) for worker in self.workers])
        return self.tree.hits(index)

    def _catch_up(self, now: float) -> None:
        for worker in self.workers:
            for event in worker.advance(now):
                heapq.heappush(self.events, event)
        while self.events and self.events[0].time <= now:
            self._tell(heapq.heappop(self.events))

    def _tell(self, event: Event) -> None:
        index, worker = event.request, self.worker[event.request]
        length = self.length[index]
        if not event.last:
            self.to_compute[worker] -= length - max(0, self.believed[index])
            return
        self.pending[worker] -= 1
        self.active[worker] -= length
        self.state = self.router.finished(
            self.state,
            self.tickets.pop(index),
            now=event.time,
            latency=event.time - self.arrival[index],
        )
