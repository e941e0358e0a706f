"""What engines evict, on generated workloads: vLLM's blocks, SGLang's nodes, single tokens."""

from functools import cache
from typing import NamedTuple

from fluidkv import answers, prefix
from fluidkv.prefix.on_trie.trie import Trie
from fluidkv.prefix.policies import TOKENS

_WORKLOADS = ("chats", "zipf")
_PAGE = 16
_SIZES = {
    "chats": (9_000, 18_000, 36_000, 74_000, 160_000, 320_000),
    "zipf": (5_000, 12_000, 30_000, 77_000, 200_000, 510_000),
}


class Compared(NamedTuple):
    """Shares of prompt tokens found in one cache, all by the least recently used.

    Fields:
        vllm: by vLLM's line of free blocks of 16 tokens; `blocks`: by L-LRU on such blocks.
        tokens: by L-LRU on single tokens; `nodes`: on whole nodes, as SGLang.
        overshoot: of what went with nodes, the share that did not have to go then.
    """

    workload: str
    capacity: int
    vllm: float
    blocks: float
    tokens: float
    nodes: float
    overshoot: float


@cache
def compared() -> tuple[Compared, ...]:
    """Every size of every workload."""
    found = []
    for name in _WORKLOADS:
        prompts = answers.prompted_generator(name).prompts
        kinds = (prefix.Granularity(_PAGE), TOKENS, prefix.Granularity(nodes=True))
        blocks, tokens, nodes = (prefix.trie_of(prompts, k, answers=True) for k in kinds)
        for size in _SIZES[name]:
            runs = [prefix.run_cache(t, size, prefix.Policy.LRU) for t in (blocks, tokens, nodes)]
            vllm = prefix.run_blocks(blocks, size).hit_rate()
            block, token, node = (run.hit_rate() for run in runs)
            over = _overshoot(nodes, size)
            found.append(Compared(name, size, vllm, block, token, node, over))
    return tuple(found)


def _overshoot(trie: Trie, capacity: int) -> float:
    cache, wanted, gone = prefix.NodeCache(trie, capacity, prefix.Policy.LRU), 0, 0
    for request in range(len(trie)):
        free = capacity - cache.total
        wanted += max(0, trie.units[request] - cache.found(request) - free)
        cache.request(request)
        gone += cache.evicted
    return 1 - wanted / gone
