"""A prefix cache as `reference` says, on the stretches of a trie instead of single units."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from fluidkv.errors import InputError
from fluidkv.prefix.on_trie.drawn import Drawn
from fluidkv.prefix.on_trie.held import Held
from fluidkv.prefix.on_trie.ordered import Gone, Ordered
from fluidkv.prefix.on_trie.trie import Trie
from fluidkv.prefix.policies import Policy
from fluidkv.runs.checks import count


@dataclass(eq=False)
class TraceCache:
    """A cache that the requests of a trie can be asked of, in any order, again and again.

    Args:
        trie: what there is to ask for.
        capacity: tokens; whole pages of them are used.
        policy: what goes when it is full.
        seed: of the lots, for policies that draw.
        order: for OPT: the requests that will come, in order.
        record: keep `gone`.

    Raises:
        InputError: a request longer than the cache, nodes instead of units.

    Examples:
        >>> from fluidkv.prefix import Policy, TraceCache, loop, trie_of
        >>> cache = TraceCache(trie_of(loop(0)[1]), 6, Policy.LRU)
        >>> [cache.request(r) for r in (0, 1, 0)], cache.total  # tokens found; then those cached
        ([0, 2, 3], 4)
    """

    trie: Trie
    capacity: int
    policy: Policy
    seed: int = 0
    order: Sequence[int] = ()
    record: bool = False
    evicted: int = field(default=0, init=False)
    """Units that went for the last request."""

    def __post_init__(self) -> None:
        if self.trie.granularity.nodes:
            raise InputError("granularity", self.trie.granularity, "units that go one by one")
        self.units = capacity_units(self.trie, self.capacity)
        self._held = Held(self.trie)
        if self.policy.draws:
            marks = self.policy is Policy.RLT
            self._evictor: Drawn | Ordered = Drawn(
                self._held, self.units, marks, self.seed, self.record
            )
        else:
            self._evictor = Ordered(self._held, self.policy, self.order, self.record)

    @property
    def total(self) -> int:
        """Units cached."""
        return self._held.total

    @property
    def gone(self) -> list[Gone]:
        """What went for the last request, in order: (stretch, its first unit that went, units)."""
        return self._evictor.gone

    def found(self, request: int) -> int:
        """How many of its units, from the first, are cached now."""
        path = self.trie.paths[request]
        if isinstance(self._evictor, Drawn):
            self._evictor.settle(path)
        return self._held.found(path).hits

    def request(self, request: int, priority: int = 0) -> int:
        """Serves it, and caches all of it; how many of its units, from the first, were there."""
        path, held = self.trie.paths[request], self._held
        if isinstance(self._evictor, Drawn):
            self._evictor.settle(path)
        hits, tip = held.found(path)
        self.evicted = max(0, self.trie.units[request] - hits + held.total - self.units)
        self._evictor.make_room(path, hits, tip, self.evicted)
        loaded = [held.load(stretch) for stretch in path]
        self._evictor.used(path, loaded, priority)
        return hits


def capacity_units(trie: Trie, capacity: int) -> int:
    """A capacity in tokens as one in units.

    Raises:
        InputError: a request is longer.
    """
    page = trie.granularity.page
    if count("capacity", capacity) // page < trie.longest:
        allowed = f"at least {trie.longest * page} tokens: the longest request"
        raise InputError("capacity", capacity, allowed)
    return capacity // page
