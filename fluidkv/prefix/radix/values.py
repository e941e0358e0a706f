"""What both trees take and give: the order of eviction, birth times of split nodes, results."""

from collections.abc import Callable
from enum import Enum
from typing import Any, NamedTuple, Protocol

from fluidkv.errors import InputError
from fluidkv.prefix.pieces import Content


class Used(Protocol):
    """What a node remembers of its use. Times are readings of the tree's clock, which counts."""

    used: int
    born: int
    hits: int
    priority: int


KEYS: dict[str, Callable[[Used], tuple[int, ...]]] = {
    "lru": lambda node: (node.used,),
    "mru": lambda node: (-node.used,),
    "fifo": lambda node: (node.born,),
    "filo": lambda node: (-node.born,),
    "lfu": lambda node: (node.hits, node.used),
    "priority": lambda node: (node.priority, node.used),
    "slru": lambda node: (node.hits >= 2, node.used),
}
"""The leaf with the lowest goes first. No two leaves are alike: equal times lie on one path."""


class SplitBirth(Enum):
    """The birth time of the upper part of a node that is split; the lower part keeps its own."""

    OLD = "the node's"  # the unified tree, which SGLang's server builds
    NEW = "the time of the split"  # RadixCache


class Match(NamedTuple):
    """The deepest node that a sequence reaches, and the tokens down to its end."""

    node: Any
    length: int


class Evicted(NamedTuple):
    """A node that went: tokens before it, its own tokens, and which one is its first."""

    depth: int
    length: int
    segment: int
    offset: int


class Tree(Protocol):
    """What `reference.RadixTree` and `tree.FastRadixTree` both do; a node is opaque to callers."""

    page_size: int

    def match(self, content: Content) -> Match: ...
    def insert(self, content: Content, priority: int = 0, inserted: int = 0) -> int: ...
    def lock(self, node: Any) -> int: ...
    def unlock(self, node: Any) -> int: ...
    def evict(self, tokens: int) -> list[Evicted]: ...
    def holds(self, node: Any) -> bool: ...
    @property
    def total(self) -> int: ...
    @property
    def evictable(self) -> int: ...
    @property
    def protected(self) -> int: ...
    @property
    def nodes(self) -> int: ...
    @property
    def leaves(self) -> int: ...


def checked_page(page_size: int) -> int:
    """Raises: InputError: not a whole number of at least 1."""
    if type(page_size) is not int or page_size < 1:
        raise InputError("page_size", page_size, "a whole number of at least 1")
    return page_size


def key_of(policy: str) -> Callable[[Used], tuple[int, ...]]:
    """Raises: InputError: a policy that is not SGLang's."""
    if policy not in KEYS:
        raise InputError("policy", policy, "one of " + ", ".join(KEYS))
    return KEYS[policy]
