"""SGLang's tree with one rule wrong: what records and lists by hand must see."""

from typing import Any

from fluidkv.prefix.pieces import Content, common, cut, length
from fluidkv.prefix.policies import key
from fluidkv.prefix.radix.operations import Operations, Row
from fluidkv.prefix.radix.reference import Node, RadixTree
from fluidkv.prefix.radix.values import Evicted, Match


class PagesAreCut(RadixTree):
    """Sequences share what they have in common inside a page, too."""

    def _common(self, one: Content, other: Content) -> int:
        return common(one, other)


class LastPageIsKept(RadixTree):
    """A page that a sequence does not fill is kept, too."""

    def _whole_pages(self, content: Content) -> Content:
        return content


class RestIsNotRefreshed(RadixTree):
    """What a match left of a node that it split keeps its stamp."""

    def match(self, content: Content) -> Match:
        before = {node: node.used for node in self._all()}
        found = super().match(content)
        for node, used in before.items():
            if node.parent not in before and node.parent is not self._root:
                node.used = used
        return found


class OnlyTheEndIsStamped(RadixTree):
    """A match stamps the last node of the path alone."""

    def match(self, content: Content) -> Match:
        before = {node: node.used for node in self._all()}
        found = super().match(content)
        for node in list(found.node.path())[1:]:
            node.used = before.get(node, node.used)
        return found


class InsertDoesNotStamp(RadixTree):
    """What an insert passes keeps its stamp."""

    def insert(self, content: Content, priority: int = 0, inserted: int = 0) -> int:
        before = {node: node.used for node in self._all()}
        had = super().insert(content, priority, inserted)
        for node, used in before.items():
            node.used = used
        return had


class PriorityIsNotRaised(RadixTree):
    """What an insert passes keeps its priority."""

    def insert(self, content: Content, priority: int = 0, inserted: int = 0) -> int:
        before = {node: node.priority for node in self._all()}
        had = super().insert(content, priority, inserted)
        for node, own in before.items():
            node.priority = own
        return had


class RestIsRaised(RadixTree):
    """What an insert left of a node that it split has its priority at least, too."""

    def insert(self, content: Content, priority: int = 0, inserted: int = 0) -> int:
        before = set(self._all())
        had = super().insert(content, priority, inserted)
        for node in before:
            if node.parent not in before and node.parent is not self._root:
                node.priority = max(node.priority, priority)
        return had


class PriorityIsReplaced(RadixTree):
    """An insert gives what it passes its own priority, higher or lower."""

    def insert(self, content: Content, priority: int = 0, inserted: int = 0) -> int:
        had = super().insert(content, priority, inserted)
        for node in self.match(content).node.path():
            node.priority = priority
        return had


class EveryInsertIsAHit(RadixTree):
    """Nodes that the same request has inserted before count a hit, too."""

    def insert(self, content: Content, priority: int = 0, inserted: int = 0) -> int:
        return super().insert(content, priority, 0)


class HitsAreNotCopied(RadixTree):
    """The upper part of a split begins without hits."""

    def _split(self, node: Node, at: int) -> Node:
        upper = super()._split(node, at)
        upper.hits = 0
        return upper


class PriorityIsNotCopied(RadixTree):
    """The upper part of a split begins with priority 0."""

    def _split(self, node: Node, at: int) -> Node:
        upper = super()._split(node, at)
        upper.priority = 0
        return upper


class LocksAreNotCopied(RadixTree):
    """The upper part of a split begins without locks."""

    def _split(self, node: Node, at: int) -> Node:
        upper = super()._split(node, at)
        upper.locks = 0
        return upper


class OnlyTheNodeIsLocked(RadixTree):
    """What is before a locked node is not protected."""

    def lock(self, node: Node) -> int:
        node.locks += 1
        return length(node.key) if node.locks == 1 else 0

    def unlock(self, node: Node) -> int:
        node.locks -= 1
        return 0 if node.locks else length(node.key)


class TokensGo(RadixTree):
    """Of a leaf only what is wanted goes, from its end."""

    def evict(self, tokens: int) -> list[Evicted]:
        gone: list[Evicted] = []
        while (wanted := tokens - sum(each.length for each in gone)) > 0:
            leaves = [node for node in self._all() if node.evictable]
            if not leaves:
                break
            leaf = min(leaves, key=lambda node: key(self.policy, node))
            own = length(leaf.key)
            kept = max(own - wanted, 0) // self.page_size * self.page_size
            end = sum(length(each.key) for each in leaf.path())
            first = cut(leaf.key, kept, own)[0]
            gone.append(Evicted(end - own + kept, own - kept, first.segment, first.start))
            leaf.key = cut(leaf.key, 0, kept)
            if not kept and leaf.parent is not None:
                leaf.parent.children.remove(leaf)
        return gone


def _leaves_alone(tree: RadixTree, tokens: int) -> list[Evicted]:
    """Only what is a leaf already goes."""
    waiting = [node for node in tree._all() if node.children and not node.locks]
    for node in waiting:
        node.locks += 1
    gone = RadixTree.evict(tree, tokens)
    for node in waiting:
        node.locks -= 1
    return gone


class ParentsWait(RadixTree):
    """A parent that became a leaf does not go in the same pass."""

    def evict(self, tokens: int) -> list[Evicted]:
        return _leaves_alone(self, tokens)


class ParentsAreLast(RadixTree):
    """Parents join the pass behind all that were leaves when it began."""

    def evict(self, tokens: int) -> list[Evicted]:
        gone = _leaves_alone(self, tokens)
        return gone + super().evict(tokens - sum(each.length for each in gone))


class SecondCopyIsKept(Operations):
    """What two requests computed does not go back to the pool."""

    def insert(self, request: int, content: Content, priority: int, inserted: int) -> list[Any]:
        before = self.available
        row = super().insert(request, content, priority, inserted)
        self.available = before
        return [*row[:7], before, *row[8:]]


class AllIsEvicted(Operations):
    """An allocation that does not fit evicts all that it asks for, not what is missing."""

    def allocate(self, request: int, tokens: int) -> list[Any]:
        row, page = self._rows.setdefault(request, Row()), self.tree.page_size
        lacking = max(-(-tokens // page) * page - row.tokens, 0)
        if lacking > self.available:
            self._evict(lacking)
        if lacking > self.available:
            return self._said("A", -1)
        row.tokens += lacking
        self.available -= lacking
        return self._said("A", lacking)


WRONG_TREES: tuple[type[RadixTree], ...] = (
    *(PagesAreCut, LastPageIsKept, RestIsNotRefreshed, OnlyTheEndIsStamped, InsertDoesNotStamp),
    *(PriorityIsNotRaised, RestIsRaised, PriorityIsReplaced, EveryInsertIsAHit),
    *(HitsAreNotCopied, PriorityIsNotCopied, LocksAreNotCopied, OnlyTheNodeIsLocked),
    *(TokensGo, ParentsWait, ParentsAreLast),
)
WRONG_POOLS: tuple[type[Operations], ...] = (SecondCopyIsKept, AllIsEvicted)
