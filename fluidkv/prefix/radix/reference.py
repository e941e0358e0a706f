"""SGLang's prefix tree, literally: a node is a run of tokens, and whole leaves are evicted.

This is the meaning of `radix.kernel`, and the page to compare with SGLang's source. Nothing is
stored that a look at the whole tree finds; slow on purpose. The clock counts its readings.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count

from fluidkv.prefix.pieces import Content, common, cut, length
from fluidkv.prefix.policies import Policy, key
from fluidkv.prefix.radix.values import Evicted, Match, SplitBirth, checked_page, checked_policy


@dataclass(eq=False)
class Node:
    """Some tokens in one piece, and what is remembered of their use."""

    key: Content
    parent: "Node | None"
    used: int
    born: int
    priority: int = 0
    hits: int = 0
    locks: int = 0
    children: list["Node"] = field(default_factory=list)

    @property
    def evictable(self) -> bool:
        """Nothing hangs on it, and nobody uses it."""
        return self.parent is not None and not self.children and not self.locks

    def path(self) -> Iterator["Node"]:
        """From itself up to the root, without the root."""
        node = self
        while node.parent is not None:
            yield node
            node = node.parent


class RadixTree:
    """SGLang's prefix tree.

    Args:
        page_size: tokens; sequences are shared in whole pages, from their beginning.
        policy: one of `values.POLICIES`.
        split_birth: which of SGLang's two trees; they differ in nothing else.

    Raises:
        InputError: a page below 1, a policy that SGLang does not have.

    Examples:
        >>> from fluidkv.prefix import RadixTree, content
        >>> tree = RadixTree()
        >>> tree.insert(content([(0, 100), (1, 20)])), tree.insert(content([(0, 100), (2, 30)]))
        (0, 100)
        >>> tree.total, tree.nodes, tree.leaves
        (150, 3, 2)
    """

    def __init__(
        self,
        page_size: int = 1,
        policy: Policy = Policy.LRU,
        split_birth: SplitBirth = SplitBirth.OLD,
    ) -> None:
        self.page_size = checked_page(page_size)
        self.policy = checked_policy(policy)
        self._split_birth = split_birth
        self._tick = count().__next__
        self._root = Node((), None, 0, 0)

    # ------------------------------------------------------------------------------ four verbs

    def match(self, content: Content) -> Match:
        """Go down as far as the sequence leads; a node that it ends in is split there.

        A node is stamped before it is split: what was not matched of it counts as used, too.
        """
        now, node, rest = self._tick(), self._root, self._whole_pages(content)
        node.used = now
        while child := self._child(node, rest):
            child.used = now
            node, rest = self._enter(child, rest)
        return Match(node, sum(length(each.key) for each in node.path()))

    def insert(self, content: Content, priority: int = 0, inserted: int = 0) -> int:
        """Keep a sequence; what the tree lacks of it becomes one leaf.

        Args:
            content: is kept as far as it has whole pages.
            priority: of the request; every node on the path has at least this from now on.
            inserted: tokens that the request has inserted before. Nodes that end beyond them
                count one hit.

        Returns: the tokens that the tree had.
        """
        now, node, rest, had = self._tick(), self._root, self._whole_pages(content), 0
        node.used = now
        while child := self._child(node, rest):
            child.used = now
            node, rest = self._enter(child, rest)
            had += length(node.key)
            node.priority = max(node.priority, priority)
            node.hits += had > inserted
        if rest:
            leaf = Node(rest, node, self._tick(), self._tick(), priority)
            leaf.hits += had + length(rest) > inserted
            node.children.append(leaf)
        return had

    def evict(self, tokens: int) -> list[Evicted]:
        """Whole leaves go, the lowest key first, until so many tokens are free or no leaf is left.

        The last one may free more than was asked for. A parent that lost its last child is a
        leaf in the same pass.
        """
        gone: list[Evicted] = []
        while sum(each.length for each in gone) < tokens:
            leaves = [node for node in self._all() if node.evictable]
            if not leaves:
                break
            leaf = min(leaves, key=lambda node: key(self.policy, node))
            first, depth = leaf.key[0], sum(length(each.key) for each in leaf.path())
            own = length(leaf.key)
            gone.append(Evicted(depth - own, own, first.segment, first.start))
            assert leaf.parent is not None
            leaf.parent.children.remove(leaf)
        return gone

    def lock(self, node: Node) -> int:
        """One more uses this path. Returns: the tokens that became protected."""
        before = self.protected
        for each in node.path():
            each.locks += 1
        return self.protected - before

    def unlock(self, node: Node) -> int:
        """One less uses this path. Returns: the tokens that became evictable."""
        before = self.protected
        for each in node.path():
            each.locks -= 1
        return before - self.protected

    # ------------------------------------------------------------------------------ what it holds

    def found(self, content: Content) -> int:
        """Tokens that `match` would find; looking changes nothing."""
        node, rest, had = self._root, self._whole_pages(content), 0
        while child := self._child(node, rest):
            same = self._common(child.key, rest)
            node, rest, had = child, cut(rest, same, length(rest)), had + same
            if same < length(child.key):
                break
        return had

    def holds(self, node: Node) -> bool:
        """Whether a node that `match` returned is still there."""
        return node is self._root or any(each is node for each in self._all())

    @property
    def total(self) -> int:
        """Tokens."""
        return sum(length(node.key) for node in self._all())

    @property
    def protected(self) -> int:
        """Tokens of locked nodes."""
        return sum(length(node.key) for node in self._all() if node.locks)

    @property
    def evictable(self) -> int:
        """Tokens of the others."""
        return self.total - self.protected

    @property
    def nodes(self) -> int:
        return sum(1 for _ in self._all())

    @property
    def leaves(self) -> int:
        return sum(not node.children for node in self._all())

    # ------------------------------------------------------------------------------------ helpers

    def _whole_pages(self, content: Content) -> Content:
        return cut(content, 0, length(content) // self.page_size * self.page_size)

    def _common(self, one: Content, other: Content) -> int:
        """Tokens of the whole pages that both begin with."""
        return common(one, other) // self.page_size * self.page_size

    def _child(self, node: Node, rest: Content) -> Node | None:
        """The child that begins with the first page of the rest."""
        return next((each for each in node.children if self._common(each.key, rest)), None)

    def _enter(self, child: Node, rest: Content) -> tuple[Node, Content]:
        """The part of a child that the rest goes through, and what then is left of the rest."""
        same = self._common(child.key, rest)
        through = child if same == length(child.key) else self._split(child, same)
        return through, cut(rest, same, length(rest))

    def _split(self, node: Node, at: int) -> Node:
        """A new node takes the first tokens of this one, and its place. Returns: the new one."""
        parent, born, used = node.parent, self._tick(), self._tick()
        assert parent is not None
        if self._split_birth is SplitBirth.OLD:
            born = node.born
        upper = Node(cut(node.key, 0, at), parent, used, born, node.priority, node.hits, node.locks)
        upper.children = [node]
        parent.children[parent.children.index(node)] = upper
        node.parent, node.key = upper, cut(node.key, at, length(node.key))
        return upper

    def _all(self) -> Iterator[Node]:
        """Every node but the root."""
        below = list(self._root.children)
        while below:
            node = below.pop()
            yield node
            below += node.children
