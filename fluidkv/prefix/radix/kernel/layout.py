"""The tree and its texts as arrays of records.

What texts say is *strands*, runs of pages that follow each other (`BlockNames`, or the stretches of
a `Trie`): a text is some pages of one strand, then some of another that begins there. The tree
keeps whole beginnings, so of each strand it has the first pages, and how many is one number.
"""

from typing import Any

import numpy as np

from fluidkv.prefix.policies import Policy
from fluidkv.prefix.radix.values import POLICIES

Record = Any
Records = Any
"""A row of an array of records, whose fields are attributes in a kernel; and such an array."""

Space = Any
"""What a tree lies in: `nodes`, `strands`, `spans`, and `requests` that name their spans."""

Number = int | np.integer

NONE = -1
"""No request, no node, no place."""
ROOT = 0
"""The node of nothing."""

NUMBERS = {policy: number for number, policy in enumerate(POLICIES)}
LRU, MRU, FIFO, FILO = (NUMBERS[Policy(name)] for name in ("lru", "mru", "fifo", "filo"))
LFU, SLRU = NUMBERS[Policy.LFU], NUMBERS[Policy.SLRU]


def integers(*names: str) -> list[tuple[str, type]]:
    """Fields of a record."""
    return [(name, np.int64) for name in names]


SPANS = integers("first_span", "last_span")
"""Of a request: the spans of what it says; the last is one more."""

TREE = [
    *integers("page", "policy"),
    *integers("total", "protected"),  # tokens in the tree; of these, in use
    *integers("tick", "heap"),  # of its clock; nodes that may go
    *integers("fresh", "given_back", "spare_nodes"),  # nodes never taken begin here; the others
    *integers("cost"),  # in about one instruction on a request
]
"""Of a run that has a tree: its settings, and where it is."""

NODE = np.dtype(
    [
        *integers("parent"),  # or, of one that was given back, the next of those
        *integers("end", "size"),  # tokens from the root to its last; its own
        *integers("strand"),  # of its last page
        *integers("children", "locks", "used", "born", "hits", "priority"),
        *integers("place"),  # in the heap of those that may go; NONE: it may not
        *integers("heap"),  # not its own: the node that stands at this place
    ]
)
"""A node of the tree."""

STRAND = np.dtype(
    [
        *integers("parent", "base"),  # the one that it begins in; tokens before its first
        *integers("present"),  # tokens of it that are in the tree
        *integers("deepest"),  # node that has the last of these
    ]
)
"""Pages that follow each other wherever they occur."""

SPAN = np.dtype(integers("strand", "end"))
"""Some pages of a text, in one strand, and the tokens up to their end."""


def empty_tree(nodes: int) -> Records:
    """Space for so many, of which the root alone is there."""
    tree = np.zeros(nodes, NODE)
    for name in ("parent", "strand", "place"):
        tree[name][ROOT] = NONE
    return tree


def new_strands(parent: np.ndarray, base: np.ndarray) -> Records:
    """Of which the tree has nothing."""
    strands = np.zeros(len(parent), STRAND)
    strands["parent"], strands["base"], strands["deepest"] = parent, base, NONE
    return strands


def new_spans(strand: np.ndarray, end: np.ndarray) -> Records:
    """Those of all texts, one text's behind the other's."""
    spans = np.zeros(len(strand), SPAN)
    spans["strand"], spans["end"] = strand, end
    return spans
