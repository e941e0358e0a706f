"""Prefix caches over a trace: every policy at ten sizes, and against a plain radix tree.

    python -m benchmarks.prefix

Mooncake's conversation trace, 12,031 requests that refer to 182,790 blocks of 512 tokens. Once in
blocks and once in single tokens, of which there are 90,695,412: each policy at ten sizes from the
longest request to the whole trace, one process. LRU and released take one pass for all sizes; OPT
does so beside. The plain tree is what one writes first: nodes with lists of ids, of blocks or of
tokens, split where a request parts from them; evicting makes a heap of the leaves and cuts them
from their ends. Its hits are compared, request by request, before it is timed; on tokens only the
first requests, as it keeps a list of them.

SGLang's own RadixCache is not timed: to import it takes torch and its kernels, which are not here.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import partial
from heapq import heapify, heappop, heappush

from benchmarks.inputs import SkippedError, trace_path
from benchmarks.report import against, load
from fluidkv.prefix.on_trie.cache import TraceCache
from fluidkv.prefix.on_trie.curves import hit_curves, some_capacities
from fluidkv.prefix.on_trie.run import CacheRun, run_cache
from fluidkv.prefix.on_trie.stacks import every_size
from fluidkv.prefix.on_trie.trie import Trie, trie_of
from fluidkv.prefix.pieces import tokens
from fluidkv.prefix.policies import TOKENS, Granularity, Policy
from fluidkv.prefix.prompts import prompts_of_blocks
from fluidkv.suite.tables import markdown_table as table
from fluidkv.suite.tables import seconds
from fluidkv.suite.timing import times
from fluidkv.traces import Trace, read_trace

TRACE = "mooncake_conversation.jsonl"
BLOCK = 512
SIZES = 10
PLAIN_CAPACITY = 3_000_000  # tokens
FIRST, FIRST_CAPACITY = 300, 300_000  # requests and tokens of the plain tree on tokens
TARGET_S = 60.0  # a policy at ten sizes


@dataclass(eq=False)
class _Node:
    key: list[Hashable]
    parent: "_Node | None"
    used: int = 0
    children: dict[Hashable, "_Node"] = field(default_factory=dict)


class PlainTree:
    """A radix tree over ids; the end of the leaf least recently used goes."""

    def __init__(self, ids: int) -> None:
        self.capacity, self.total, self.now = ids, 0, 0
        self.root = _Node([], None)
        self.leaves: dict[_Node, None] = {}

    def request(self, ids: Sequence[Hashable]) -> int:
        """Ids found; all of them are held afterwards."""
        self.now += 1
        node, hits = self._match(ids)
        self._evict(max(0, len(ids) - hits + self.total - self.capacity), node)
        if hits < len(ids):
            leaf = _Node(list(ids[hits:]), node, self.now)
            node.children[ids[hits]] = leaf
            self.leaves.pop(node, None)
            self.leaves[leaf] = None
            self.total += len(leaf.key)
        return hits

    def _match(self, ids: Sequence[Hashable]) -> tuple[_Node, int]:
        node, hits = self.root, 0
        while hits < len(ids) and ids[hits] in node.children:
            child, same = node.children[ids[hits]], 0
            while same < min(len(child.key), len(ids) - hits):
                if child.key[same] != ids[hits + same]:
                    break
                same += 1
            if same < len(child.key):
                upper = _Node(child.key[:same], node, self.now, {child.key[same]: child})
                node.children[ids[hits]] = upper
                child.key, child.parent = child.key[same:], upper
                child = upper
            child.used = self.now
            node, hits = child, hits + same
        return node, hits

    def _evict(self, short: int, kept: _Node) -> None:
        if short == 0:
            return
        heap = [(leaf.used, id(leaf), leaf) for leaf in self.leaves if leaf is not kept]
        heapify(heap)
        while short:
            _, _, leaf = heap[0]
            first = leaf.key[0]
            gone = min(short, len(leaf.key))
            del leaf.key[-gone:]
            short -= gone
            self.total -= gone
            if not leaf.key:
                heappop(heap)
                above = leaf.parent
                assert above is not None
                del self.leaves[leaf], above.children[first]
                if not above.children and above is not self.root:
                    self.leaves[above] = None
                    if above is not kept:
                        heappush(heap, (above.used, id(above), above))


@dataclass(frozen=True)
class PrefixTiming:
    """Seconds.

    Fields:
        build_s: the trie of all prompts, from its block ids; in blocks, in tokens.
        policies: policy -> ten sizes, in blocks and in tokens.
        stack_s: OPT at every size in one pass, in blocks and in tokens.
        plain_s, fast_s: LRU: all requests in blocks at `PLAIN_CAPACITY`; the `FIRST` in tokens.
        asked, gone: stretches asked for and parts of them evicted in that run, in blocks.
    """

    requests: int
    build_s: tuple[float, float]
    policies: dict[Policy, tuple[float, float]]
    stack_s: tuple[float, float]
    plain_s: tuple[float, float]
    fast_s: tuple[float, float]
    asked: int
    gone: int


def run_prefix(trace: Trace, *, sizes: int = SIZES) -> PrefixTiming:
    """Compare, then time."""
    blocks, size = trace.prefix_blocks, trace.prefix_block_size
    if blocks is None or size is None:
        raise SkippedError("a trace without block ids")
    prompts = prompts_of_blocks(blocks, size, trace.input_lengths, trace.decode_lengths)
    units = (Granularity(size, "counted"), TOKENS)
    builds = [_once(partial(trie_of, prompts, of)) for of in units]
    tries = [trie_of(prompts, of) for of in units]
    policies = {policy: tuple(_curve_s(trie, policy, sizes) for trie in tries) for policy in Policy}
    stacks = [_once(partial(every_size, trie, Policy.OPT)) for trie in tries]
    first = [list(tokens(of)) for of in prompts.prompts[:FIRST]]
    asked, gone = _compared(tries[0], blocks, PLAIN_CAPACITY)
    _compared(tries[1], first, FIRST_CAPACITY)
    plain = (
        times(lambda: _plain(blocks, PLAIN_CAPACITY // size), calls=3).best,
        times(lambda: _plain(first, FIRST_CAPACITY), calls=3).best,
    )
    fast = (
        times(partial(run_cache, tries[0], PLAIN_CAPACITY, Policy.LRU), calls=3).best,
        times(lambda: _run(tries[1], range(FIRST), FIRST_CAPACITY), calls=3).best,
    )
    return PrefixTiming(
        len(trace),
        (builds[0], builds[1]),
        {policy: (taken[0], taken[1]) for policy, taken in policies.items()},
        (stacks[0], stacks[1]),
        plain,
        fast,
        asked,
        gone,
    )


def report() -> str:
    """The tables in Markdown."""
    title = "## Prefix caches over a trace"
    try:
        trace = read_trace(trace_path(TRACE)).trace
    except SkippedError as skipped:
        return f"{title}\n\nSkipped: {skipped}."
    t = run_prefix(trace)
    rows = [[p.value, *map(seconds, taken)] for p, taken in t.policies.items()]
    rows += [["OPT at every size", *map(seconds, t.stack_s)]]
    slowest = max(max(taken) for taken in t.policies.values())
    runs = [
        [f"{name}, {what}", seconds(taken), f"{n / taken:,.0f}", f"{plain / taken:,.1f}"]
        for what, n, plain, fast in (
            ("blocks", t.requests, t.plain_s[0], t.fast_s[0]),
            (f"tokens, {FIRST} requests", FIRST, t.plain_s[1], t.fast_s[1]),
        )
        for name, taken in (("plain radix tree", plain), ("trie", fast))
    ]
    each = t.fast_s[0] / t.requests
    return "\n".join(
        [
            title,
            "",
            f"{TRACE}, {t.requests:,} requests. The trie is built in"
            f" {' (blocks) and '.join(map(seconds, t.build_s))} (tokens).",
            "",
            table([f"at {SIZES} sizes", f"blocks of {BLOCK}", "tokens"], rows),
            "",
            against(f"every policy within {TARGET_S:g} s", slowest < TARGET_S),
            "",
            table(["LRU", "time", "requests/s", "vs plain"], runs),
            "",
            f"A request asks for {t.asked / t.requests:.1f} stretches of the trie and evicts"
            f" {t.gone / t.requests:.1f} parts of some, each one entry of a heap;"
            f" {seconds(each)} for them is the interpreter's time for that many steps.",
            "",
            "SGLang's own RadixCache is not timed: to import it takes torch and its kernels.",
            "",
            f"Load at the end: {load()}.",
        ]
    )


def _once(call: Callable[[], object]) -> float:
    return times(call, calls=1, warm_up=0).best


def _curve_s(trie: Trie, policy: Policy, sizes: int) -> float:
    capacities = some_capacities(trie, sizes)
    return _once(partial(hit_curves, trie, capacities, [policy]))


def _plain(asked: Sequence[Sequence[Hashable]], capacity: int) -> list[int]:
    tree = PlainTree(capacity)
    return [tree.request(ids) for ids in asked]


def _run(trie: Trie, order: Sequence[int], capacity: int) -> CacheRun:
    return run_cache(trie, capacity, Policy.LRU, order=order)


def _compared(trie: Trie, asked: Sequence[Sequence[Hashable]], capacity: int) -> tuple[int, int]:
    """Stretches asked for and parts that went, after both were found to hit the same."""
    cache = TraceCache(trie, capacity, Policy.LRU, record=True)
    hits, stretches, gone = [], 0, 0
    for request in range(len(asked)):
        hits.append(cache.request(request))
        stretches += len(trie.paths[request])
        gone += len(cache.gone)
    if hits != _plain(asked, cache.units):
        raise AssertionError("the plain tree and the trie hit differently")
    return stretches, gone


if __name__ == "__main__":
    print(report())
