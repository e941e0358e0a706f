"""The pool of `pool`, in constant time a block: blocks are called by number, the line is linked."""

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from itertools import islice

_NOTHING = -1  # the name of a block that says nothing that is known


class FastPool:
    """As `BlockPool`, with a number for each text (`BlockNames`)."""

    def __init__(self, blocks: int) -> None:
        self.line = OrderedDict.fromkeys(range(blocks))
        self.holders = [0] * blocks
        self.names = [_NOTHING] * blocks
        self.oldest: dict[int, int] = {}  # name -> block
        self.newer: dict[int, list[int]] = {}  # name -> its other copies, the oldest first
        self.cached = 0
        self.forgotten = 0

    @property
    def free(self) -> int:
        """Blocks that nobody holds."""
        return len(self.line)

    @property
    def distinct(self) -> int:
        return len(self.oldest)

    def lookup(self, names: Sequence[int], most: int) -> list[int]:
        """The oldest copies of the first names, up to the first that is nowhere."""
        found = []
        oldest = self.oldest
        for name in islice(names, most):
            block = oldest.get(name, _NOTHING)
            if block == _NOTHING:
                break
            found.append(block)
        return found

    def unheld(self, found: Iterable[int]) -> int:
        """How many of these blocks are in the line."""
        holders = self.holders
        return sum(not holders[block] for block in found)

    def held_once(self, held: Iterable[int]) -> int:
        """How many of these blocks have one holder."""
        holders = self.holders
        return sum(holders[block] == 1 for block in held)

    def held_prefix(self, names: Sequence[int], most: int) -> int:
        """How many of the first names are said by a block that somebody holds.

        Who holds one holds those before it, so they are the first ones.
        """
        for place, name in enumerate(islice(names, most)):
            if name not in self.oldest:
                return place
            copies = (self.oldest[name], *self.newer.get(name, ()))
            if not any(self.holders[block] for block in copies):
                return place
        return min(most, len(names))

    def hold(self, found: Iterable[int]) -> None:
        holders, line = self.holders, self.line
        for block in found:
            if not holders[block]:
                del line[block]
            holders[block] += 1

    def take(self, count: int) -> list[int]:
        taken = []
        line, holders, names, oldest = self.line, self.holders, self.names, self.oldest
        for _ in range(count):
            block, _ = line.popitem(last=False)
            taken.append(block)
            holders[block] = 1
            name = names[block]
            if name != _NOTHING:
                names[block] = _NOTHING
                self.cached -= 1
                self.forgotten += 1
                if name in self.newer:
                    self._forget_copy(name, block)
                else:
                    del oldest[name]
        return taken

    def _forget_copy(self, name: int, block: int) -> None:
        newer = self.newer[name]
        if self.oldest[name] == block:
            self.oldest[name] = newer.pop(0)
        else:
            newer.remove(block)
        if not newer:
            del self.newer[name]

    def write(self, blocks: Sequence[int], names: Sequence[int]) -> None:
        """Each of these blocks is full and known from now on."""
        oldest, said = self.oldest, self.names
        for block, name in zip(blocks, names, strict=True):
            said[block] = name
            if oldest.setdefault(name, block) != block:
                self.newer.setdefault(name, []).append(block)
        self.cached += len(names)

    def release(self, held: Sequence[int]) -> None:
        holders, line, names = self.holders, self.line, self.names
        for block in reversed(held):
            holders[block] -= 1
            if not holders[block]:
                line[block] = None
                if names[block] == _NOTHING:
                    line.move_to_end(block, last=False)
