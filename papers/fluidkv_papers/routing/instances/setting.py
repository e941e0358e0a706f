"""The setting of Routing's experiments in simulation: what is printed, and what had to be chosen.

Printed (section 5, appendix A): the workloads' structure, 12 requests a second, answers of 4
tokens, 4 workers of 200,000 tokens, LBGR's parameters. Chosen:

- *The clock.* A worker serves one request at a time, in the order of routing, and only tokens that
  are not in its cache take time. How much is read off one row of Table 2: with Cache-Aware + LRU
  the servers are saturated (`routing.table-2.saturated`) at 10.73 requests a second of 3,128
  tokens, of which 23.89 % are cached. All other numbers are found by running.
  The other clock is that of whole servers, SGLang 0.5.23 with its own tree: 19 ms a pass and 0.15
  us a cached token, what an L40 needs to read 16 GB of weights and 131,072 bytes, and 0.14 ms for
  a token of a prompt, about half of its peak, chosen so that the same row comes out.
- *The texts.* Conversations and documents have the structure that appendix A gives ShareGPT,
  UltraChat and Loogle, and no texts; so both conversations are one workload.
- *The caches.* They hold prompts and answers, evict single tokens, and have a request's path locked
  only while it is loaded.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from fluidkv import prefix, routing, serving
from fluidkv.prefix.radix.lots import Lots
from fluidkv.prefix.workloads import GENERATORS
from fluidkv.routing.affine import SGLANG_0_4_6
from fluidkv.routing.cluster import run_cluster
from fluidkv_papers.routing.instances import printed

if TYPE_CHECKING:
    from fluidkv.routing.engines import EngineWorker


def mean_length(groups: int) -> Fraction:
    """Tokens of a prompt: the five lengths in a cycle over the groups, each group as often."""
    lengths = [printed.LENGTHS[group % len(printed.LENGTHS)] for group in range(groups)]
    return Fraction(sum(lengths), groups)


def computed_per_s() -> Fraction:
    """Uncached prompt tokens a second of one worker: all four, by the first row of Table 2."""
    row = printed.TABLE_2["cache-aware+lru"]
    uncached = 1 - Fraction(row.hit_rate) / 100
    return Fraction(row.throughput) * uncached * mean_length(printed.GROUPS) / printed.WORKERS


def document_lengths(documents: int = 512, seed: int = 0) -> tuple[int, ...]:
    """The four lengths of documents, as often each, in an order that is drawn.

    In a cycle, four workers in round-robin order would each get documents of one length.
    """
    lengths = [(1024, 2048, 4096, 8192)[document % 4] for document in range(documents)]
    random.Random(seed).shuffle(lengths)
    return tuple(lengths)


SECONDS_PER_1000 = float(round(1000 / computed_per_s(), 3))
"""0.157: of 1,000 tokens of a prompt that are computed."""


SERVER_CLOCK = (0.019, 1.5e-7, 1.4e-4)
"""Seconds of a pass, of a token in its cache, of a token of a prompt: see above."""
CHUNK, SERVER_REQUESTS = 8192, 256
"""Tokens of prompts in a pass at most, SGLang's default; requests at once, which never bind."""

LATER_THRESHOLD = 0.3
"""SGLang's default of `cache_threshold` from its next router on."""


@dataclass(frozen=True)
class Method:
    """A router and an eviction policy."""

    label: str
    router: Callable[[], "routing.Router"]
    policy: "prefix.Policy"


def methods() -> dict[str, Method]:
    """The six of Figure 2, by the names of Table 2; one for one worker; one that is not there.

    SGLang's cache-aware rule follows a match that is longer than a share of the prompt. At the time
    of the paper's version that was 0.5, which is the share that the prompts of a group have in
    common: so no match is longer, and the rule sees no cache. Later it was 0.3.
    """
    lru, rlt, aware = prefix.Policy.LRU, prefix.Policy.RLT, SGLANG_0_4_6
    return {
        "random+lru": Method("Random + LRU", routing.Random, lru),
        "round-robin+lru": Method("Round-Robin + LRU", routing.RoundRobin, lru),
        "cache-aware+lru": Method("Cache-Aware + LRU", lambda: aware, lru),
        "cache-aware-0.3+lru": Method(
            "Cache-Aware (0.3) + LRU", lambda: replace(aware, cache_threshold=LATER_THRESHOLD), lru
        ),
        "cache-aware+rlt": Method("Cache-Aware + RLT", lambda: aware, rlt),
        "round-robin+rlt": Method("Round-Robin + RLT", routing.RoundRobin, rlt),
        "lbgr+lru": Method("LBGR + LRU", routing.LBGR, lru),
        "lbgr+rlt": Method("LBGR + RLT", routing.LBGR, rlt),
    }


@dataclass(frozen=True)
class Setting:
    """One experiment.

    Args:
        workload: name in `fluidkv.prefix.workloads.GENERATORS`.
        options: of the generator; it has the paper's defaults.
        workers, capacity: how many, and KV tokens of each.
        seconds: of 1,000 computed tokens.
        server: None: plain service, as above. Else SGLang serves, and this many requests at once at
            most; RLT is then about whole nodes of its tree.
        router: replaces that of a method, where the figure is about a parameter of it.
    """

    workload: str = "gsp"
    options: tuple[tuple[str, Any], ...] = ()
    workers: int = printed.WORKERS
    capacity: int = printed.CAPACITY
    seconds: float = SECONDS_PER_1000
    server: int | None = None
    router: "routing.Router | None" = None


def half(
    *,
    groups: int = printed.GROUPS // 2,
    workers: int = printed.WORKERS,
    capacity: int = printed.CAPACITY // 2,
    server: int | None = None,
    router: "routing.Router | None" = None,
    **options: Any,
) -> Setting:
    """Half of the groups in half of the cache: as many of them fit, and runs are half as long."""
    given = (("groups", groups), *options.items())
    return Setting("gsp", given, workers, capacity, server=server, router=router)


def half_chats(*, seconds: float = SECONDS_PER_1000) -> Setting:
    """Conversations of 64 clients in half of the cache."""
    return Setting("chats", (("clients", 64),), capacity=printed.CAPACITY // 2, seconds=seconds)


def half_documents(*, router: "routing.Router | None" = None, **options: Any) -> Setting:
    """256 documents in half of the cache."""
    given = (("documents", 256), ("lengths", document_lengths(256)), *options.items())
    return Setting("documents", given, capacity=printed.CAPACITY // 2, router=router)


@cache
def measured(setting: Setting, method: str, seed: int) -> dict[str, float]:
    """One run: `routing.MEASURES` by name.

    Args:
        seed: of requests and times, of the router's draws and of the evictions.
    """
    chosen = methods()[method]
    traffic = _traffic(setting.workload, setting.options, seed)
    router = setting.router or chosen.router()
    if setting.server is None:
        service = routing.Service(cached=0.0, missed=setting.seconds, output=0.0)
        fleet = routing.Fleet(setting.workers, setting.capacity, chosen.policy, service)
        run = routing.route(traffic, fleet, router, seed=seed)
    else:
        servers = servers_of(setting, traffic, chosen.policy, seed)
        run = run_cluster(traffic.requests, traffic.sent, servers, router, seed=seed)
    found = routing.results.measures(
        routing.results.as_dataset([run], [traffic.requests], [method], [seed])
    )
    return {str(name): float(found[name][0]) for name in found.data_vars}


def servers_of(
    setting: Setting, traffic: "routing.Traffic", policy: "prefix.Policy", seed: int
) -> "list[EngineWorker]":
    """SGLang's servers with trees that evict by the policy, LRU or RLT."""
    from fluidkv.routing.engines import EngineWorker
    from fluidkv.serving.caching.sglang.stepped import SglangEngine
    from fluidkv.serving.sglang_settings import SglangSettings

    limits = serving.Limits(setting.capacity, 1, setting.server or SERVER_REQUESTS)
    options = SglangSettings.of(limits, chunked_prefill_size=CHUNK)
    clock = serving.IterationClock(*SERVER_CLOCK)
    arguments = (traffic.requests, traffic.prompts, options, clock)
    if policy is not prefix.Policy.RLT:
        return [
            EngineWorker(SglangEngine(*arguments, compiled=True)) for _ in range(setting.workers)
        ]
    lots = (Lots(seed * setting.workers + place) for place in range(setting.workers))
    return [EngineWorker(SglangEngine(*arguments, lots=each)) for each in lots]


@lru_cache(maxsize=2)
def _traffic(workload: str, options: tuple[tuple[str, Any], ...], seed: int) -> "routing.Traffic":
    return routing.Traffic(*GENERATORS[workload](seed, **dict(options)))
