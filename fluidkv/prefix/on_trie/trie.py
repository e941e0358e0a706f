"""All prompts of a trace as one tree, built once: stretches of units between its branches.

A request asks for whole stretches or for nothing of them, so what a cache holds of a stretch is a
number: how many units from its beginning. Prompts are never written out token by token.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cmp_to_key

import numpy as np

from fluidkv.prefix.pieces import Content, common, length
from fluidkv.prefix.policies import TOKENS, Granularity
from fluidkv.prefix.prompts import Prompts
from fluidkv.record import Record

ROOT = 0
"""The stretch of no units that all begin with."""


@dataclass(frozen=True, eq=False)
class Trie(Record):
    """The tree, and what each request asks of it.

    Fields:
        granularity: what a unit is.
        contents: for each request, what is cached of it, in tokens.
        parent: (stretch,), parents before children; the root's is -1.
        before: (stretch,), units above it.
        size: (stretch,), its units; 0 for the root alone.
        paths: for each request, its stretches from the top, without the root.
        units: (request,), in all of them.
        asked_units: (request,), those of the prompt: hits are counted up to there.
        asked_tokens: (request,), tokens of the prompt.

    Examples:
        >>> from fluidkv.prefix import Prompts, content, trie_of
        >>> asked = [content([(0, 100), (1, 20)]), content([(0, 100), (2, 30)])]
        >>> trie = trie_of(Prompts(asked, [content([(3, 1)])] * 2))
        >>> trie.total, trie.longest  # 100 tokens are one for both
        (150, 130)
    """

    granularity: Granularity
    contents: tuple[Content, ...]
    parent: tuple[int, ...]
    before: tuple[int, ...]
    size: tuple[int, ...]
    paths: tuple[tuple[int, ...], ...]
    units: tuple[int, ...]
    asked_units: tuple[int, ...]
    asked_tokens: tuple[int, ...]

    def __len__(self) -> int:
        """Number of requests."""
        return len(self.paths)

    @property
    def total(self) -> int:
        """Units of the whole tree: a cache of as many never evicts."""
        return sum(self.size)

    @property
    def longest(self) -> int:
        """Units of the longest request: the smallest cache."""
        return max(self.units)

    def hit_tokens(self, request: int, units: int) -> int:
        """Tokens of its prompt among its first units."""
        return min(units * self.granularity.page, self.asked_tokens[request])


def trie_of(prompts: Prompts, granularity: Granularity = TOKENS, *, answers: bool = False) -> Trie:
    """The tree of a table's prompts.

    Args:
        answers: what is cached of a request is its prompt and its answer, not its prompt alone.

    Cost: n log n comparisons of prompts, piece by piece.

    Examples:
        >>> from fluidkv.prefix import Granularity, loop, trie_of
        >>> _, prompts = loop(0, capacity=6, length=3)
        >>> trie_of(prompts).total, trie_of(prompts, Granularity(2)).total
        (7, 1)
    """
    contents = prompts.paths if answers else prompts.prompts
    lengths = [length(of) for of in contents]
    asked = [length(of) for of in prompts.prompts] if answers else lengths
    order = sorted(range(len(contents)), key=_lexicographic(contents, lengths))
    parent, end, last = [-1], [0], [ROOT] * len(contents)
    open_, previous = [ROOT], None  # from the root down to where the previous path ended
    for request in order:
        alike = 0 if previous is None else _alike(contents, lengths, previous, request, granularity)
        child = None
        while end[open_[-1]] > alike:
            child = open_.pop()
        if child is not None and end[open_[-1]] < alike:  # they part within a stretch
            parent.append(open_[-1])
            end.append(alike)
            parent[child] = len(end) - 1
            open_.append(parent[child])
        if granularity.units(lengths[request]) > alike:
            parent.append(open_[-1])
            end.append(granularity.units(lengths[request]))
            open_.append(len(end) - 1)
        last[request], previous = open_[-1], request
    return _numbered(granularity, contents, parent, end, last, asked)


def _lexicographic(contents: Sequence[Content], lengths: Sequence[int]) -> Callable:
    """Sorts so that all that begin alike stand together, the shorter before the longer."""

    def compare(one: int, other: int) -> int:
        same = common(contents[one], contents[other])
        if same == lengths[one] or same == lengths[other]:
            return lengths[one] - lengths[other]
        return -1 if _token(contents[one], same) < _token(contents[other], same) else 1

    return cmp_to_key(compare)


def _token(of: Content, at: int) -> tuple[int, int]:
    for piece in of:
        if at < piece.length:
            return piece.segment, piece.start + at
        at -= piece.length
    raise IndexError(at)


def _alike(
    contents: Sequence[Content], lengths: Sequence[int], one: int, other: int, of: Granularity
) -> int:
    """Units that both begin with; a page that is not full is alike only where both end."""
    same = common(contents[one], contents[other])
    whole = same == lengths[one] == lengths[other]
    return of.units(same) if whole else same // of.page


def _numbered(
    granularity: Granularity,
    contents: tuple[Content, ...],
    parent: list[int],
    end: list[int],
    last: list[int],
    asked: list[int],
) -> Trie:
    """Parents before children: a stretch ends later than its parent."""
    order = sorted(range(len(end)), key=end.__getitem__)
    number = {old: new for new, old in enumerate(order)}
    parents = [-1, *(number[parent[old]] for old in order[1:])]
    ends = [end[old] for old in order]
    before = [0, *(ends[above] for above in parents[1:])]
    size = (np.array(ends) - before).tolist()
    paths: list[tuple[int, ...]] = [()]
    for stretch in range(1, len(ends)):
        paths.append((*paths[parents[stretch]], stretch))
    return Trie(
        granularity,
        contents,
        tuple(parents),
        tuple(before),
        tuple(size),
        tuple(paths[number[old]] for old in last),
        tuple(ends[number[old]] for old in last),
        tuple(granularity.units(tokens) for tokens in asked),
        tuple(asked),
    )
