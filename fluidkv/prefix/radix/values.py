"""What trees take and give: policies, birth times of split nodes, results."""

from enum import Enum
from typing import Any, NamedTuple

from fluidkv.errors import InputError
from fluidkv.prefix.policies import Policy

POLICIES = tuple(map(Policy, ("lru", "mru", "fifo", "filo", "lfu", "priority", "slru")))
"""Those of SGLang. Each orders leaves, no two of which are alike: equal times lie on one path."""


class SplitBirth(Enum):
    """The birth time of the upper part of a node that is split; the lower part keeps its own.

    Examples:
        >>> from fluidkv.prefix import Policy, RadixTree, content
        >>> from fluidkv.prefix.radix.values import SplitBirth
        >>> for birth in SplitBirth:  # the first of two leaves is split behind 4 tokens
        ...     tree = RadixTree(1, Policy.FIFO, birth)
        ...     _ = tree.insert(content([(0, 10)])), tree.insert(content([(1, 10)]))
        ...     _ = tree.match(content([(0, 4)]))
        ...     print(birth.name, [leaf.segment for leaf in tree.evict(10)])
        OLD [0, 0]
        NEW [0, 1]
    """

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


def checked_page(page_size: int) -> int:
    """Raises: InputError: not a whole number of at least 1."""
    if type(page_size) is not int or page_size < 1:
        raise InputError("page_size", page_size, "a whole number of at least 1")
    return page_size


def checked_policy(policy: Policy) -> Policy:
    """Raises: InputError: a policy that is not SGLang's."""
    if policy not in POLICIES:
        said = ", ".join(each.value for each in POLICIES)
        raise InputError("policy", getattr(policy, "value", policy), f"one of {said}")
    return policy
