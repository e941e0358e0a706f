"""What a prefix cache evicts when it is full, and in what units: two values.

Whatever the policy, only the end of something cached can go: what is behind it would be of no use.
A policy is an order of these leaves, or a way to draw one of them.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Literal, Protocol

from fluidkv.errors import InputError
from fluidkv.record import Record
from fluidkv.runs.checks import count


class Policy(Enum):
    """Which leaf goes first.

    Examples:
        >>> from fluidkv.prefix import Policy, loop, run_cache, trie_of
        >>> trie = trie_of(loop(0)[1])
        >>> for policy in (Policy.LRU, Policy.MRU, Policy.OPT):
        ...     print(policy.name, round(run_cache(trie, 6, policy).hit_rate(), 2))
        LRU 0.66
        MRU 0.91
        OPT 0.91
    """

    LRU = "lru"
    RLT = "rlt"
    LFU = "lfu"
    FIFO = "fifo"
    SLRU = "slru"
    MRU = "mru"
    FILO = "filo"
    PRIORITY = "priority"
    RANDOM = "random"
    RELEASED = "released"
    OPT = "opt"

    @property
    def label(self) -> str:
        """What it evicts, in words."""
        return _LABELS[self]

    @property
    def draws(self) -> bool:
        """Whether it needs a seed."""
        return self in (Policy.RLT, Policy.RANDOM)


_LABELS = {
    Policy.LRU: "the leaf least recently used",
    Policy.RLT: "a leaf without a mark, at random; the path being loaded keeps its marks",
    Policy.LFU: "the leaf least often used; of these the least recently used",
    Policy.FIFO: "the leaf loaded first",
    Policy.SLRU: "the leaf least recently used, of those used once if there is one",
    Policy.MRU: "the leaf most recently used",
    Policy.FILO: "the leaf loaded last",
    Policy.PRIORITY: "the leaf of lowest priority; of these the least recently used",
    Policy.RANDOM: "a leaf at random",
    Policy.RELEASED: "what was released first; a request releases its end before its beginning",
    Policy.OPT: "the leaf whose next use is furthest; of these the least recently used",
}

PROTECTED_HITS = 2
"""Uses from which SLRU protects a leaf, as SGLang."""


class Stamped(Protocol):
    """What the policies that order leaves know of one; any clock will do."""

    @property
    def used(self) -> int:
        """When it was last asked for."""
        ...

    @property
    def born(self) -> int:
        """When it was loaded."""
        ...

    @property
    def hits(self) -> int:
        """How often it was asked for since then, that time included."""
        ...

    @property
    def priority(self) -> int:
        """The highest of those who asked for it."""
        ...


def key(policy: Policy, leaf: Stamped) -> tuple[int, ...]:
    """The lowest goes first. Leaves of one tree with the same key are left in no order.

    Not for policies that draw, nor for those that know more than a leaf's past: RELEASED, OPT.

    Source: the orders of SGLang 0.5.23 where it has them.
    """
    match policy:
        case Policy.LRU:
            return (leaf.used,)
        case Policy.MRU:
            return (-leaf.used,)
        case Policy.FIFO:
            return (leaf.born,)
        case Policy.FILO:
            return (-leaf.born,)
        case Policy.LFU:
            return (leaf.hits, leaf.used)
        case Policy.SLRU:
            return (int(leaf.hits >= PROTECTED_HITS), leaf.used)
        case Policy.PRIORITY:
            return (leaf.priority, leaf.used)
    raise InputError("policy", policy.value, "one that orders leaves by their past")


@dataclass(frozen=True)
class Granularity(Record):
    """What is evicted at once, and what two prompts can share.

    Args:
        page: tokens of a unit. Prompts that part inside a page share nothing of it.
        last: a page that a prompt does not fill is "left out" of the cache, as engines do, or
            "counted" as a page of its own, as Mooncake's block hashes do.
        nodes: whole leaf nodes go, as in SGLang, instead of single units; only with "left out".

    Raises:
        InputError: a page below 1 token, another word, nodes together with "counted".

    Examples:
        >>> from fluidkv.prefix import Granularity
        >>> Granularity(16).units(100), Granularity(16, last="counted").units(100)
        (6, 7)
    """

    page: int = 1
    last: Literal["left out", "counted"] = "left out"
    nodes: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "page", count("page", self.page))
        if self.last not in ("left out", "counted"):
            raise InputError("last", self.last, "'left out' or 'counted'")
        if self.nodes and self.last == "counted":
            raise InputError("last", self.last, "'left out', where whole nodes go")

    def units(self, tokens: int) -> int:
        """How many a sequence of so many tokens has."""
        return tokens // self.page if self.last == "left out" else -(-tokens // self.page)


TOKENS = Granularity()
"""Single tokens, as in the paper.

>>> from fluidkv.prefix.policies import TOKENS
>>> TOKENS.page, TOKENS.units(100)
(1, 100)
"""
