"""Memory and tree: who holds which tokens, what enters the tree, what is evicted for room."""

from fluidkv.prefix.pieces import cut
from fluidkv.prefix.radix.values import Tree
from fluidkv.serving.caching.sglang.state import Request
from fluidkv.serving.sglang_settings import SglangSettings


class Pool:
    """The tokens of one server. A token is free, in the tree, or held by one request alone.

    Args:
        tree: empty; None: no prefixes are kept.
    """

    def __init__(self, settings: SglangSettings, tree: Tree | None) -> None:
        self.settings = settings
        self.tree = tree
        self.available = settings.tokens

    @property
    def evictable(self) -> int:
        """Tokens of the tree that nobody uses."""
        return self.tree.evictable if self.tree else 0

    @property
    def protected(self) -> int:
        """Tokens of the tree that somebody uses."""
        return self.tree.protected if self.tree else 0

    @property
    def free(self) -> int:
        """What can be had."""
        return self.available + self.evictable

    # ------------------------------------------------------------------------------------- room

    def make_room(self, tokens: int) -> bool:
        """Evict until so many are available, as far as that goes; whether they are."""
        if self.tree and tokens > self.available:
            gone = self.tree.evict(tokens - self.available)
            self.available += sum(each.length for each in gone)
        return self.available >= tokens

    def grow(self, request: Request, tokens: int) -> None:
        """It gets places for so many tokens in all."""
        more = self.settings.in_pages(tokens) - self.settings.in_pages(request.slots)
        self.available -= more
        request.slots = tokens

    def free_request(self, request: Request) -> None:
        """What it holds alone is free again, and it uses its prefix no more."""
        self.available += self.settings.in_pages(request.slots) - request.shared
        self.unlock(request)
        request.slots = request.shared = request.inserted = 0

    # ------------------------------------------------------------------------------------- tree

    def match(self, request: Request) -> None:
        """Find its prefix; its last token is computed in any case."""
        request.prefix = request.shared = 0
        if self.tree:
            found = self.tree.match(request.content(request.length - 1))
            request.node, request.prefix = found
            request.shared = request.prefix
        request.slots = request.shared

    def found(self, request: Request) -> int:
        """Tokens that its match would find now; looking changes nothing."""
        return self.tree.found(request.content(request.length - 1)) if self.tree else 0

    def touch(self, request: Request) -> None:
        """It waits; what it would find counts as used."""
        if self.tree:
            self.tree.match(request.content(request.length))

    def lock(self, request: Request) -> None:
        """The node of its match is in use."""
        if self.tree:
            self.tree.lock(request.node)
            request.locked = True

    def unlock(self, request: Request) -> None:
        """It does not use its node any more, if it did."""
        if self.tree and request.locked:
            self.tree.unlock(request.node)
            request.locked = False

    def store(self, request: Request, tokens: int) -> None:
        """Its first tokens enter the tree, in whole pages, and it uses them there.

        What the tree had of them already is free now. The node is split where the prompt ends, so
        that outputs can go and prompts stay.
        """
        page = self.settings.page_size
        whole, prompt = tokens // page * page, request.input_length // page * page
        if not self.tree or not whole:
            return
        content = request.content(whole)
        had = self.tree.insert(content, 0, request.inserted)
        self.available += had - request.shared
        request.inserted = max(request.inserted, whole)
        if 0 < prompt < whole:
            self.tree.insert(cut(content, 0, prompt), 1, prompt)
        self.unlock(request)
        # Stamps once more what was stamped just now: no leaf changes places for it.
        request.node, request.shared = self.tree.match(content)
        self.lock(request)
