"""Traffic and the fleet that serves it, as values; one call for a run."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from fluidkv.errors import InputError
from fluidkv.prefix.on_trie.cache import TraceCache
from fluidkv.prefix.on_trie.trie import Trie, trie_of
from fluidkv.prefix.policies import TOKENS, Granularity, Policy
from fluidkv.prefix.prompts import Prompts
from fluidkv.record import Record
from fluidkv.routing.bound import Offline, most_shared, offline_bounds
from fluidkv.routing.cluster import Routed, run_cluster
from fluidkv.routing.engines import ENGINES, Engine, EngineWorker
from fluidkv.routing.estimate import Belief
from fluidkv.routing.plain import PlainWorker, PromptTokens, Service
from fluidkv.routing.router import Router
from fluidkv.runs.checks import count
from fluidkv.runs.requests import Requests


@dataclass(frozen=True, eq=False)
class Traffic:
    """Requests and what they say.

    Args:
        requests: with their times, seconds.
        prompts: of the same requests, in the same order.
        granularity: what two prompts can share, and what is evicted at once.
        answers: whether answers are cached behind their prompts.

    Raises:
        InputError: prompts of other lengths than the table says, whole nodes.

    Examples:
        >>> from fluidkv.prefix import shared_prefixes
        >>> from fluidkv.routing import Traffic
        >>> traffic = Traffic(*shared_prefixes(0, groups=2, queries=4, lengths=1000))
        >>> len(traffic.requests), traffic.sent.total  # 2 beginnings of 500, and 8 ends
        (8, 5000)
    """

    requests: Requests
    prompts: Prompts
    granularity: Granularity = TOKENS
    answers: bool = True

    def __post_init__(self) -> None:
        if len(self.prompts) != len(self.requests):
            allowed = f"{len(self.requests)}, one for each request"
            raise InputError("prompts", f"{len(self.prompts)} prompts", allowed)
        for name in ("input_length", "output_length"):
            said, table = getattr(self.prompts, name), getattr(self.requests, name)
            if (said != table).any():
                row = int(np.argmax(said != table))
                given = f"{said[row]} tokens in request {row}"
                raise InputError("prompts", given, f"{table[row]}, its {name}")
        if self.granularity.nodes:
            raise InputError("granularity", "nodes", "units: tokens or pages")

    @cached_property
    def sent(self) -> Trie:
        """Prompts, token by token: what a router sees."""
        return trie_of(self.prompts)

    @cached_property
    def cached(self) -> Trie:
        """What a plain worker caches, in units."""
        return trie_of(self.prompts, self.granularity, answers=self.answers)


@dataclass(frozen=True)
class Fleet(Record):
    """Workers that are all alike.

    Args:
        workers: how many, at least 1.
        capacity: tokens of each one's prefix cache; of an engine, of all its KV memory.
        policy: what goes when that is full; not OPT, which would have to know the router. None: the
            engine's own, LRU for plain service.
        service: plain, or an engine.
        belief: what the router knows of the caches.

    Raises:
        InputError: no workers, no capacity, OPT, a value of another kind.

    Examples:
        >>> from fluidkv.prefix import shared_prefixes
        >>> from fluidkv.routing import LinearScore, Service, Traffic, route
        >>> traffic = Traffic(*shared_prefixes(0, groups=4, queries=4, lengths=1000))
        >>> fleet = fk.Fleet(2, 20_000, service=Service(missed=0.2))
        >>> route(traffic, fleet, LinearScore()).busy.round(2).tolist()
        [1.2, 1.1]
    """

    workers: int
    capacity: int
    policy: Policy | None = None
    service: Service | Engine = field(default_factory=Service)
    belief: Belief = field(default_factory=Belief)

    def __post_init__(self) -> None:
        count("workers", self.workers)
        count("capacity", self.capacity)
        if self.policy is None:
            own = Policy.LRU
            if isinstance(self.service, Engine):
                own = ENGINES[self.service.name][0]
            object.__setattr__(self, "policy", own)
        if self.policy is Policy.OPT:
            allowed = "one that does not know the future: it depends on the router"
            raise InputError("policy", self.policy.value, allowed)

    def new(self, traffic: Traffic, seed: int) -> list[PlainWorker | EngineWorker]:
        """Its workers, empty.

        Args:
            seed: of the lots of caches that draw.

        Raises:
            InputError: a request that does not fit, a policy that an engine does not have.
        """
        policy, capacity = self.policy or Policy.LRU, self.capacity
        if isinstance(self.service, Engine):
            given = traffic.requests, traffic.prompts, capacity, policy
            return [self.service.worker(*given) for _ in range(self.workers)]
        seeds = np.random.SeedSequence(seed).generate_state(self.workers).tolist()
        caches = (TraceCache(traffic.cached, capacity, policy, seed=lots) for lots in seeds)
        return [
            PlainWorker(traffic.requests, PromptTokens(cache), self.service) for cache in caches
        ]


def route(
    traffic: Traffic,
    fleet: Fleet,
    router: Router,
    *,
    seed: int = 0,
    on_progress: Callable[[int], None] | None = None,
) -> Routed:
    """One run of a fleet behind a router.

    Args:
        seed: of the router's draws, and of the lots of caches that draw.
        on_progress: told now and then how many requests have come.

    Raises:
        InputError: a request longer than a worker's cache.

    Examples:
        >>> from fluidkv.prefix import shared_prefixes
        >>> from fluidkv.routing import LinearScore, RoundRobin, Traffic, route
        >>> traffic = Traffic(*shared_prefixes(0, groups=9, queries=4, lengths=1000, rate=2))
        >>> for router in (RoundRobin(), LinearScore()):
        ...     print(sum(each.hits for each in route(traffic, fk.Fleet(4, 20_000), router).times))
        7000
        12500
    """
    return run_cluster(
        traffic.requests,
        traffic.sent,
        fleet.new(traffic, seed),
        router,
        belief=fleet.belief,
        seed=seed,
        on_progress=on_progress,
    )


def bounds(traffic: Traffic, fleet: Fleet) -> Offline:
    """What no router can do better with this fleet, and a schedule of the least costs.

    Raises:
        InputError: workers that are engines, whose requests have no cost of their own.

    Examples:
        >>> from fluidkv.prefix import shared_prefixes
        >>> from fluidkv.routing import Traffic, bounds
        >>> traffic = Traffic(*shared_prefixes(0, groups=2, queries=4, lengths=1000))
        >>> bounds(traffic, fk.Fleet(2, 20_000)).hit_rate  # half of 3 prompts of 4
        0.375
    """
    if not isinstance(fleet.service, Service):
        raise InputError("service", fleet.service.name, "plain service")
    shared, table = most_shared(traffic.cached), traffic.requests
    rows = zip(
        shared.tolist(), table.input_length.tolist(), table.output_length.tolist(), strict=True
    )
    costs = np.array([fleet.service.cost(*row) for row in rows])
    return offline_bounds(table, shared, costs, fleet.workers, at_once=fleet.service.at_once)
