"""A worker as the paper has it, without iterations: requests in turn, for what their tokens cost.

Source: Routing, (1) to (3). What the cache has of a request is decided in the order of routing, as
in (3); requests begin in that order, so that it is what the request finds when it begins.
"""

import heapq
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from fluidkv.prefix.on_trie.cache import TraceCache
from fluidkv.record import Record
from fluidkv.routing.affine import at_least_0
from fluidkv.runs.checks import count
from fluidkv.runs.requests import Requests

THOUSAND = 1000.0


@dataclass(frozen=True)
class Service(Record):
    """What a request costs a worker, and how many it serves at once.

    Args:
        cached, missed: seconds for each 1,000 prompt tokens that are, or are not, in its cache.
        output: seconds for each output token.
        at_once: requests served at the same time, each as fast as it would be alone.

    Raises:
        InputError: a time below 0 or not finite, or fewer than 1 at once.

    The defaults are ours; the paper gives none for its servers, only the router's. `missed` is
    about what one NVIDIA L40 takes for prompts of an 8B model.

    Examples:
        >>> from fluidkv.routing import Service
        >>> Service(missed=0.2, output=0.01).cost(hits=500, length=2000, outputs=10)
        0.4
    """

    cached: float = 0.0
    missed: float = 0.15
    output: float = 0.0
    at_once: int = 1

    def __post_init__(self) -> None:
        for name in ("cached", "missed", "output"):
            at_least_0(name, getattr(self, name))
        count("at_once", self.at_once)

    def prefill(self, hits: int, length: int) -> float:
        """Seconds until a prompt is read."""
        return (self.cached * hits + self.missed * (length - hits)) / THOUSAND

    def cost(self, hits: int, length: int, outputs: int) -> float:
        """Cost of (1), seconds."""
        return self.prefill(hits, length) + self.output * outputs


class Cache(Protocol):
    """One worker's prefix cache, asked by requests of a table."""

    def request(self, request: int) -> int:
        """Tokens of its prompt that are there; then all of it is, and others may go."""
        ...

    def found(self, request: int) -> int:
        """Tokens of its prompt that are there; looking changes nothing."""
        ...


class PromptTokens:
    """A `TraceCache` whose answers are tokens of prompts."""

    def __init__(self, cache: TraceCache) -> None:
        self.cache = cache

    def request(self, request: int) -> int:
        return self.cache.trie.hit_tokens(request, self.cache.request(request))

    def found(self, request: int) -> int:
        return self.cache.trie.hit_tokens(request, self.cache.found(request))


class Times(NamedTuple):
    """What became of one request; seconds.

    Fields:
        began: service, or its first admission.
        first_token, last_token: NaN: not yet.
        hits: prompt tokens found in the cache when it began.
        evictions: times preempted.
        longest_gap: between two of its tokens.
    """

    began: float
    first_token: float
    last_token: float
    hits: int
    evictions: int = 0
    longest_gap: float = 0.0


class Event(NamedTuple):
    """A request has its first token, or its last: a worker says so once."""

    time: float
    request: int
    last: bool


class PlainWorker:
    """First come, first served.

    Examples:
        >>> from fluidkv.prefix import Policy, TraceCache, trie_of
        >>> from fluidkv.prefix.prompts import private
        >>> from fluidkv.routing import Service
        >>> from fluidkv.routing.plain import PlainWorker
        >>> table = fk.Requests([1000, 1000], [9, 9], arrival=[0, 0])
        >>> cache = TraceCache(trie_of(private(table)), 5000, Policy.LRU)
        >>> worker = PlainWorker(table, cache, Service(missed=0.2))
        >>> _ = [worker.offer(request) for request in (0, 1)]
        >>> [worker.times[request].last_token for request in (0, 1)]  # one after the other
        [0.2, 0.4]
    """

    def __init__(self, requests: Requests, cache: Cache, service: Service) -> None:
        self.arrival = requests.arrival.tolist()
        self.lengths = requests.input_length.tolist()
        self.outputs = requests.output_length.tolist()
        self.cache, self.service = cache, service
        self.free = [0.0] * service.at_once  # when each place is next free, a heap
        self.times: dict[int, Times] = {}
        self.busy = 0.0
        self.work = 0.0
        self._new: list[Event] = []

    def offer(self, index: int) -> None:
        length, outputs = self.lengths[index], self.outputs[index]
        hits = self.cache.request(index)
        began = max(self.arrival[index], self.free[0])
        prefill = self.service.prefill(hits, length)
        cost = self.service.cost(hits, length, outputs)
        first, last = began + prefill + self.service.output, began + cost
        heapq.heapreplace(self.free, last)
        gap = self.service.output if outputs > 1 else 0.0
        self.times[index] = Times(began, first, last, hits, longest_gap=gap)
        self.busy += cost / self.service.at_once
        self.work += cost
        self._new += [Event(first, index, False), Event(last, index, True)]

    def found(self, index: int) -> int:
        return self.cache.found(index)

    def advance(self, until: float) -> list[Event]:
        """What is known of first and last tokens since it was asked last, whenever they come."""
        new, self._new = self._new, []
        return new
