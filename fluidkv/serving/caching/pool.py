"""vLLM's pool of memory blocks, literally: who holds a block, what it says, which is reused next.

What a block says is a text: its own tokens behind all that come before them. There is no tree. Free
blocks keep their texts and wait in one line; a text is forgotten when its block is reused.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from fluidkv.prefix.pieces import Content


@dataclass(eq=False)
class BlockPool:
    """So many blocks, numbered; all free at first.

    A text may be in several blocks: two requests that computed the same have a copy each.
    """

    blocks: int

    free: list[int] = field(init=False)
    """The line of free blocks; its front is reused next."""
    holders: list[int] = field(init=False)
    """Requests that hold a block, by its number."""
    texts: list[Content | None] = field(init=False)
    """What a block says, held or not; None: nothing that is known."""
    copies: dict[Content, list[int]] = field(default_factory=dict, init=False)
    """Text -> the blocks that say it, the oldest first."""
    forgotten: int = field(default=0, init=False)
    """Texts lost so far because their block was reused."""

    def __post_init__(self) -> None:
        self.free = list(range(self.blocks))
        self.holders = [0] * self.blocks
        self.texts = [None] * self.blocks

    @property
    def cached(self) -> int:
        """Blocks that say something, held or not."""
        return sum(text is not None for text in self.texts)

    @property
    def distinct(self) -> int:
        """Different texts among them."""
        return len(self.copies)

    def lookup(self, texts: Iterable[Content]) -> list[int]:
        """The oldest copy of each text, up to the first that is nowhere. It changes nothing."""
        found = []
        for text in texts:
            if text not in self.copies:
                break
            found.append(self.copies[text][0])
        return found

    def hold(self, found: Iterable[int]) -> None:
        """One holder more for each; a free one leaves the line with its text."""
        for block in found:
            if self.holders[block] == 0:
                self.free.remove(block)
            self.holders[block] += 1

    def take(self, count: int) -> list[int]:
        """So many blocks from the front of the line; what they said is forgotten."""
        taken, self.free = self.free[:count], self.free[count:]
        for block in taken:
            self.holders[block] = 1
            self._forget(block)
        return taken

    def write(self, block: int, text: Content) -> None:
        """A block is full and known from now on."""
        self.texts[block] = text
        self.copies.setdefault(text, []).append(block)

    def release(self, held: list[int]) -> None:
        """One holder less for each, from the last block of a request to its first.

        What nobody holds any more is free: at the front of the line if it says nothing, else at its
        end.
        """
        for block in reversed(held):
            self.holders[block] -= 1
            if self.holders[block] == 0:
                if self.texts[block] is None:
                    self.free.insert(0, block)
                else:
                    self.free.append(block)

    def _forget(self, block: int) -> None:
        text = self.texts[block]
        if text is None:
            return
        self.texts[block] = None
        self.copies[text].remove(block)
        if not self.copies[text]:
            del self.copies[text]
        self.forgotten += 1
