"""SGLang's prefix tree, fast: equal to `reference.RadixTree` after every call.

Children are found by their first page, sequences are compared a piece at a time, what the tree
holds is counted as it changes, and leaves that may go lie in a heap. A leaf that is used again gets
a new entry there; old entries are passed over when they come up.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from itertools import count
from typing import Any

from fluidkv.prefix.pieces import Content, cut, length
from fluidkv.prefix.policies import Policy, key
from fluidkv.prefix.radix.lots import Lots
from fluidkv.prefix.radix.values import Evicted, Match, SplitBirth, checked_page, checked_policy

_FEW = 64  # entries of a heap that are not worth clearing up

Entry = tuple[tuple[int, ...], int, "Node"]
"""Key, number of the entry, leaf."""


@dataclass(eq=False, slots=True)
class Node:
    """As `reference.Node`; `size` are its tokens, `end` those from the root to its last."""

    key: Content
    size: int
    end: int
    parent: "Node | None"
    used: int
    born: int
    priority: int = 0
    hits: int = 0
    locks: int = 0
    children: dict[Any, "Node"] = field(default_factory=dict)
    entry: Entry | None = None


class FastRadixTree:
    """As `reference.RadixTree`, call by call.

    Args:
        lots: leaves go by lot (RLT), whatever the policy.

    Examples:
        >>> from fluidkv.prefix import FastRadixTree, content
        >>> tree = FastRadixTree(page_size=16)
        >>> tree.insert(content([(0, 100)])), tree.found(content([(0, 50)]))  # whole pages
        (0, 48)
    """

    def __init__(
        self,
        page_size: int = 1,
        policy: Policy = Policy.LRU,
        split_birth: SplitBirth = SplitBirth.OLD,
        lots: Lots | None = None,
    ) -> None:
        self.page_size = checked_page(page_size)
        self.policy = checked_policy(policy)
        self._split_birth, self._lots = split_birth, lots
        self._tick = count().__next__
        self._root = Node((), 0, 0, None, 0, 0)
        self._heap: list[Entry] = []
        self._entries = count().__next__
        self.total = self.protected = self.nodes = self.leaves = 0

    @property
    def evictable(self) -> int:
        """Tokens of nodes that nobody has locked."""
        return self.total - self.protected

    def holds(self, node: Node) -> bool:
        """Whether a node that `match` returned is still there."""
        return node is self._root or node.parent is not None

    def found(self, content: Content) -> int:
        """Tokens that `match` would find; looking changes nothing."""
        node, whole, place, offset = self._root, self._whole_pages(content), 0, 0
        while place < len(whole):
            child = node.children.get(self._page(whole, place, offset))
            if child is None:
                break
            same, place, offset = _along(child.key, whole, place, offset)
            if same < child.size:
                return node.end + same - same % self.page_size
            node = child
        return node.end

    def match(self, content: Content) -> Match:
        """Go down as far as the sequence leads; a node that it ends in is split there."""
        *_, node = self._root, *self._down(self._whole_pages(content))
        self._offer(node)
        return Match(node, node.end)

    def insert(self, content: Content, priority: int = 0, inserted: int = 0) -> int:
        """Keep a sequence; what the tree lacks of it becomes one leaf. Returns what it had."""
        node, whole = self._root, self._whole_pages(content)
        for node in self._down(whole):
            node.priority = max(node.priority, priority)
            node.hits += node.end > inserted
        self._offer(node)
        had, size = node.end, length(whole)
        if had < size:
            self._append(node, cut(whole, had, size), size, priority, int(size > inserted))
        return had

    def evict(self, tokens: int) -> list[Evicted]:
        """Whole leaves go, the lowest key first, until so many tokens are free or none is left."""
        gone: list[Evicted] = []
        freed = 0
        while freed < tokens and (leaf := self._lowest()) is not None:
            first = leaf.key[0]
            gone.append(Evicted(leaf.end - leaf.size, leaf.size, first.segment, first.start))
            freed += leaf.size
            self._remove(leaf)
        return gone

    def lock(self, node: Node) -> int:
        """One more uses this path. Returns: the tokens that became protected."""
        before = self.protected
        while node.parent is not None:
            if not node.locks:
                self.protected += node.size
            node.locks += 1
            node = node.parent
        return self.protected - before

    def unlock(self, node: Node) -> int:
        """One less uses this path. Returns: the tokens that became evictable."""
        before, last = self.protected, node
        while node.parent is not None:
            node.locks -= 1
            if not node.locks:
                self.protected -= node.size
            node = node.parent
        self._offer(last)
        return before - self.protected

    # ------------------------------------------------------------------------- down through pieces

    def _whole_pages(self, content: Content) -> Content:
        size = length(content)
        over = size % self.page_size
        return cut(content, 0, size - over) if over else content

    def _page(self, content: Content, place: int, offset: int) -> Any:
        """The page that begins there; equal for equal tokens, as pieces that go on are one."""
        piece = content[place]
        if piece.length - offset >= self.page_size:
            return piece.segment, piece.start + offset
        found, missing = [], self.page_size
        while missing:
            segment, start, size = content[place]
            taken = min(size - offset, missing)
            found.append((segment, start + offset, taken))
            missing, place, offset = missing - taken, place + 1, 0
        return tuple(found)

    def _down(self, whole: Content) -> Iterator[Node]:
        """The nodes that a sequence goes through, all stamped with one time, from the root on.

        Of a node that the sequence ends in comes the upper part, which is split off. The last one
        is not offered yet.
        """
        now, node, place, offset = self._tick(), self._root, 0, 0
        while place < len(whole):
            child = node.children.get(self._page(whole, place, offset))
            if child is None:
                return
            child.used = now
            same, place, offset = _along(child.key, whole, place, offset)
            if same < child.size:
                yield self._split(child, same - same % self.page_size)
                return
            yield child
            node = child

    # --------------------------------------------------------------------------------- the nodes

    def _split(self, node: Node, at: int) -> Node:
        """A new node takes the first tokens of this one, and its place. Returns: the new one."""
        parent, born, used = node.parent, self._tick(), self._tick()
        assert parent is not None
        if self._split_birth is SplitBirth.OLD:
            born = node.born
        start = node.end - node.size
        upper = Node(cut(node.key, 0, at), at, start + at, parent, used, born)
        upper.priority, upper.hits, upper.locks = node.priority, node.hits, node.locks
        parent.children[self._page(node.key, 0, 0)] = upper
        node.parent, node.key, node.size = upper, cut(node.key, at, node.size), node.size - at
        upper.children[self._page(node.key, 0, 0)] = node
        self.nodes += 1
        self._offer(node)
        return upper

    def _append(self, parent: Node, own: Content, end: int, priority: int, hits: int) -> None:
        size = end - parent.end
        leaf = Node(own, size, end, parent, self._tick(), self._tick(), priority, hits)
        self.leaves += bool(parent.children) or parent is self._root
        parent.children[self._page(own, 0, 0)] = leaf
        self.nodes += 1
        self.total += size
        self._offer(leaf)

    def _remove(self, leaf: Node) -> None:
        parent = leaf.parent
        assert parent is not None
        del parent.children[self._page(leaf.key, 0, 0)]
        leaf.parent = leaf.entry = None
        self.nodes -= 1
        self.total -= leaf.size
        self.leaves -= bool(parent.children) or parent is self._root
        self._offer(parent)

    # --------------------------------------------------------------------------------- the leaves

    def _offer(self, node: Node) -> None:
        """A leaf that may go gets an entry of its key; nothing happens to other nodes."""
        if node.children or node.locks or node.parent is None:
            return
        if self._lots:
            self._lots.offer(node)
            return
        order = key(self.policy, node)
        if node.entry is not None and node.entry[0] == order:
            return
        node.entry = (order, self._entries(), node)
        heappush(self._heap, node.entry)
        if len(self._heap) > _FEW + 4 * self.leaves:
            self._clear_up()

    def _clear_up(self) -> None:
        """Entries of leaves that may go remain, one for each."""
        self._heap = [entry for entry in self._heap if self._is_due(entry)]
        heapify(self._heap)

    def _is_due(self, entry: Entry) -> bool:
        """Whether it is its leaf's newest and the leaf may go; if the leaf may not, it has none."""
        node = entry[2]
        if node.entry is not entry:
            return False
        if node.children or node.locks:
            node.entry = None
        return node.entry is entry

    def _lowest(self) -> Node | None:
        """The leaf that goes next."""
        if self._lots:
            return self._lots.draw(self._tick())
        while self._heap:
            entry = heappop(self._heap)
            if self._is_due(entry):
                return entry[2]
        return None


def _along(own: Content, whole: Content, place: int, offset: int) -> tuple[int, int, int]:
    """How many tokens of `own` a sequence goes on with, and where the sequence is then."""
    same, done, at = 0, 0, 0
    while at < len(own) and place < len(whole):
        mine, other = own[at], whole[place]
        if not done and not offset and mine == other:
            same, at, place = same + mine.length, at + 1, place + 1
            continue
        if mine.segment != other.segment or mine.start + done != other.start + offset:
            break
        step = min(mine.length - done, other.length - offset)
        same, done, offset = same + step, done + step, offset + step
        if done == mine.length:
            at, done = at + 1, 0
        if offset == other.length:
            place, offset = place + 1, 0
    return same, place, offset
