"""vLLM's blocks: no tree, but one line of free blocks that keep what was last written in them.

A request takes what it finds of its beginning out of the line, and for the rest blocks from the
line's front, whose content is lost. When it is done, its blocks go to the line's end, the last
first; one that is not full goes to the front, and nobody finds it. At least one token is computed.

Requests come one after the other here. Then it is LRU among leaves, but for two things that take
blocks and are never hit: a block that is not full, and the second copy of a prompt's last block
that was there and yet computed, as one token has to be.

Source: the public behaviour of vLLM's V1 block pool (0.33).
"""

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field

from fluidkv.errors import InputError
from fluidkv.prefix.on_trie.run import CacheRun, as_run, places
from fluidkv.prefix.on_trie.trie import Trie
from fluidkv.prefix.pieces import length
from fluidkv.prefix.policies import Policy
from fluidkv.runs.checks import count

Key = tuple[int, int]
"""A full block and all before it: (stretch of a trie, which of its units)."""


@dataclass(eq=False)
class BlockPool:
    """So many blocks, all free between two requests."""

    blocks: int
    evicted: int = field(default=0, init=False)
    """Blocks that lost their content to the last request."""

    def __post_init__(self) -> None:
        self._line: OrderedDict[int, Key | None] = OrderedDict.fromkeys(range(self.blocks))
        self._copies: dict[Key, dict[int, None]] = {}

    def request(self, full: list[Key], findable: int, blocks: int) -> int:
        """One request from start to end; how many leading blocks it found.

        Args:
            full: its blocks that are full when it is done.
            findable: of them, those that it may find.
            blocks: all that it fills or begins.
        """
        held: list[int] = []
        for key in full[:findable]:
            copies = self._copies.get(key)
            if not copies:
                break
            held.append(next(iter(copies)))
        found, self.evicted = len(held), 0
        for block in held:
            del self._line[block]
        while len(held) < blocks:
            block, content = self._line.popitem(last=False)
            if content is not None:
                self.evicted += 1
                del self._copies[content][block]
            held.append(block)
        for place in reversed(range(blocks)):
            content = full[place] if place < len(full) else None
            self._line[held[place]] = content
            if content is None:
                self._line.move_to_end(held[place], last=False)
            else:
                self._copies.setdefault(content, {})[held[place]] = None
        return found


def run_blocks(trie: Trie, capacity: int, *, order: Iterable[int] | None = None) -> CacheRun:
    """As `run_cache`, with vLLM's blocks.

    Args:
        trie: in pages, those that are not full "left out". With answers: an answer's last token is
            never written.
        capacity: tokens; whole blocks of them are there.
        order: as in `run_cache`.

    Raises:
        InputError: pages that are not full counted, a request longer than the memory.

    Cost: some steps for each block of each request.

    Examples:
        >>> from fluidkv.prefix import Granularity, Prompts, content, run_blocks, trie_of
        >>> table = Prompts([content([(0, 40)])] * 2, [content([(1, 8)])] * 2)
        >>> run_blocks(trie_of(table, Granularity(16), answers=True), 64).hit_tokens.tolist()
        [0, 32]
    """
    page = trie.granularity.page
    if trie.granularity.last == "counted":
        raise InputError("granularity", "counted", "pages that are not full left out")
    asked = list(range(len(trie))) if order is None else places(order, len(trie))
    written = [_written(trie, request) for request in range(len(trie))]
    most = max(-(-tokens // page) for tokens in written)
    pool = BlockPool(count("capacity", capacity) // page)
    if pool.blocks < most:
        raise InputError("capacity", capacity, f"at least {most * page} tokens: a request's blocks")
    keys = [
        [(stretch, unit) for stretch in path for unit in range(trie.size[stretch])]
        for path in trie.paths
    ]
    found, evicted = [], []
    for request in asked:
        full = keys[request][: written[request] // page]
        findable = (trie.asked_tokens[request] - 1) // page
        found.append(pool.request(full, findable, -(-written[request] // page)))
        evicted.append(pool.evicted)
    return as_run(trie, capacity, Policy.RELEASED, asked, found, evicted)


def _written(trie: Trie, request: int) -> int:
    """Tokens of a request whose keys and values are computed: not those of an answer's last."""
    tokens = length(trie.contents[request])
    return tokens - (tokens > trie.asked_tokens[request])
