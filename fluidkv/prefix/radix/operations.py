"""Calls of requests on a tree and a pool of tokens, and what is in both after each.

A request has a row: the tokens of the pool that it holds, of which the tree shares a beginning.
"""

from collections import deque
from dataclasses import dataclass, field
from typing import Any

from fluidkv.errors import InputError
from fluidkv.prefix.pieces import Content, length
from fluidkv.prefix.radix.reference import RadixTree
from fluidkv.prefix.radix.values import Evicted, Match

COLUMNS = (
    *("op", "result", "evicted_tokens", "evicted_nodes"),
    *("total", "evictable", "protected", "available", "nodes", "leaves", "evicted_list"),
)
"""Of a row: the call and its result; what it evicted; what then is in tree and pool."""

CALLS = {
    "M": "match",
    "L": "lock",
    "U": "unlock",
    "A": "allocate",
    "I": "insert",
    "F": "free",
    "E": "evict",
}
"""Names of calls in records, and the methods of `Operations` that they are."""


@dataclass
class Row:
    """What a request holds: tokens in all, and how many of them the tree has.

    `node` is what its last match found, None before one; `locked` are the nodes it has locked.
    """

    tokens: int = 0
    in_tree: int = 0
    node: Any = None
    locked: deque[Any] = field(default_factory=deque)


class Operations:
    """A tree, a pool, and the rows of requests. Each call returns its counts, as `COLUMNS` says.

    So calls raise InputError where no server could make them: a request that nobody knows, an
    unlock without a lock, tokens that the request does not hold.

    Args:
        tree: empty.
        capacity: tokens of the pool.
    """

    def __init__(self, tree: RadixTree, capacity: int) -> None:
        self.tree = tree
        self.available = capacity
        self._rows: dict[int, Row] = {}
        self._evicted: list[Evicted] = []

    def match(self, request: int, content: Content) -> list[Any]:
        """The request remembers the node; with its first match also the tokens, as its row."""
        found: Match = self.tree.match(content)
        if request not in self._rows:
            self._rows[request] = Row(found.length, found.length)
        self._rows[request].node = found.node
        return self._said("M", found.length)

    def lock(self, request: int) -> list[Any]:
        """The request's node; the result is negative, as in SGLang."""
        row = self._row(request)
        if row.node is None or not self.tree.holds(row.node):
            raise InputError("request", request, "one whose last match is still in the tree")
        row.locked.append(row.node)
        return self._said("L", -self.tree.lock(row.node))

    def unlock(self, request: int) -> list[Any]:
        """Its oldest lock."""
        row = self._row(request)
        if not row.locked:
            raise InputError("request", request, "one that has a lock")
        return self._said("U", self.tree.unlock(row.locked.popleft()))

    def allocate(self, request: int, tokens: int) -> list[Any]:
        """Room for so many in all: what the row lacks, in whole pages; -1 where it does not fit.

        What has to be evicted for it goes first, and is gone even where that is not enough.
        """
        row, page = self._rows.setdefault(request, Row()), self.tree.page_size
        lacking = max(-(-tokens // page) * page - row.tokens, 0)
        self._evict(lacking - self.available)
        if lacking > self.available:
            return self._said("A", -1)
        row.tokens += lacking
        self.available -= lacking
        return self._said("A", lacking)

    def insert(self, request: int, content: Content, priority: int, inserted: int) -> list[Any]:
        """What the tree had of it, beyond what the row shares already, goes back to the pool."""
        row, page = self._row(request), self.tree.page_size
        pages = length(content) // page * page
        if pages > row.tokens:
            raise InputError("sequence", f"{pages} tokens", f"the {row.tokens} of the row at most")
        had = self.tree.insert(content, priority, inserted)
        if had < min(row.in_tree, pages):
            said = "one whose beginning is locked: what it shared with the tree was evicted"
            raise InputError("request", request, said)
        self.available += max(had - row.in_tree, 0)
        row.in_tree = max(row.in_tree, pages)
        return self._said("I", had)

    def free(self, request: int) -> list[Any]:
        """What the tree does not hold of the row."""
        row = self._row(request)
        given = row.tokens - row.in_tree
        row.tokens = row.in_tree
        self.available += given
        return self._said("F", given)

    def evict(self, tokens: int) -> list[Any]:
        """Whole leaves, until so many tokens are free."""
        self._evict(tokens)
        return self._said("E", sum(each.length for each in self._evicted))

    def _row(self, request: int) -> Row:
        if request not in self._rows:
            raise InputError("request", request, "one that matched or allocated before")
        return self._rows[request]

    def _evict(self, tokens: int) -> None:
        self._evicted = self.tree.evict(tokens)
        self.available += sum(each.length for each in self._evicted)

    def _said(self, call: str, result: int) -> list[Any]:
        tree, gone, self._evicted = self.tree, self._evicted, []
        return [
            *(call, result, sum(each.length for each in gone), len(gone)),
            *(tree.total, tree.evictable, tree.protected, self.available, tree.nodes, tree.leaves),
            [list(each) for each in gone],
        ]
