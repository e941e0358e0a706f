"""Hits of LRU and of OPT at every cache size in one pass.

Both keep nested caches: what a cache holds, every larger one holds too. So units stand in a stack,
a cache of B units holds the first B, and a unit asked for is a hit where B is at least its place.

The stack of LRU among leaves is that of plain LRU in which a request touches its path from its end
to its beginning: what is above a unit was used no earlier, so the unit least recently used is a
leaf. The stack of OPT: below the request's own path, every place keeps, of what was there and what
comes from above, the unit with the next use that is nearest, and hands on the other.

Source: nested caches, Mattson et al. (1970); the two stacks for leaves are ours.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np

from fluidkv.errors import InputError
from fluidkv.prefix.on_trie.ordered import NEVER, next_uses
from fluidkv.prefix.on_trie.trie import Trie
from fluidkv.prefix.policies import Policy
from fluidkv.record import Record
from fluidkv.runs.checks import count


class Reference(NamedTuple):
    """Units of a request, one behind the other, and how many stand above the first in the stack."""

    request: int
    first: int
    size: int
    above: int


@dataclass(frozen=True, eq=False)
class EverySize(Record):
    """Hits as a function of the capacity: straight between its corners, from the longest request.

    Fields:
        longest: units; smaller caches are not spoken of.
        corners: units, rising.
        units, tokens: hits at the corners.
        asked_units, asked_tokens: of all prompts.

    Examples:
        >>> from fluidkv.prefix import Policy, loop, trie_of
        >>> from fluidkv.prefix.on_trie.stacks import every_size
        >>> found = every_size(trie_of(loop(0)[1]), Policy.LRU)
        >>> found.longest, found.corners.tolist(), found.asked_tokens
        (3, [0, 2, 6, 7], 480)
    """

    longest: int
    corners: np.ndarray
    units: np.ndarray
    tokens: np.ndarray
    asked_units: int
    asked_tokens: int

    def hits(self, capacity: int) -> tuple[int, int]:
        """Units and tokens hit by a cache of so many units.

        Raises:
            InputError: fewer than the longest request has.
        """
        capacity = count("capacity", capacity, least=self.longest)
        place = int(np.searchsorted(self.corners, capacity, "right")) - 1
        if place == len(self.corners) - 1:
            return int(self.units[-1]), int(self.tokens[-1])
        width = int(self.corners[place + 1] - self.corners[place])
        past = capacity - int(self.corners[place])
        units, tokens = (
            int(hits[place]) + int(hits[place + 1] - hits[place]) // width * past
            for hits in (self.units, self.tokens)
        )
        return units, tokens


def every_size(trie: Trie, policy: Policy, *, order: Sequence[int] | None = None) -> EverySize:
    """What caches of all sizes hit.

    Args:
        policy: LRU, RELEASED (the same, requests one by one) or OPT.
        order: as in `run_cache`.

    Raises:
        InputError: another policy.

    Cost: LRU, a logarithm for each stretch asked for. OPT, a pass over all stretches that are asked
    for again, for each request.

    Examples:
        >>> from fluidkv.prefix import Policy, loop, run_cache, trie_of
        >>> from fluidkv.prefix.on_trie.stacks import every_size
        >>> trie = trie_of(loop(0)[1])
        >>> units, tokens = every_size(trie, Policy.LRU).hits(6)
        >>> tokens, run_cache(trie, 6, Policy.LRU).hit_tokens.sum().item()
        (318, 318)
    """
    asked = range(len(trie)) if order is None else order
    if policy in (Policy.LRU, Policy.RELEASED):
        references = lru_references(trie, asked)
    elif policy is Policy.OPT:
        references = opt_references(trie, asked)
    else:
        raise InputError("policy", policy.value, "lru, released or opt: the nested ones")
    slopes: dict[int, list[int]] = {0: [0, 0]}
    for each in references:
        _add(slopes, trie, each)
    corners = np.array(sorted(slopes), np.int64)
    slope = np.array([slopes[corner] for corner in corners.tolist()], np.int64).cumsum(axis=0)
    rises = slope[:-1] * np.diff(corners)[:, None]
    hits = np.concatenate([np.zeros((1, 2), np.int64), rises.cumsum(axis=0)])
    return EverySize(
        trie.longest,
        corners,
        hits[:, 0],
        hits[:, 1],
        sum(trie.asked_units[request] for request in asked),
        sum(trie.asked_tokens[request] for request in asked),
    )


def _add(slopes: dict[int, list[int]], trie: Trie, each: Reference) -> None:
    """How the hits of a reference rise with the capacity, units and tokens."""
    page, tokens = trie.granularity.page, trie.asked_tokens[each.request]
    whole = min(max(tokens // page - each.first, 0), each.size)
    part = tokens - (each.first + whole) * page if whole < each.size else 0
    asked = min(max(trie.asked_units[each.request] - each.first, 0), each.size)
    for units, column, weight in ((asked, 0, 1), (whole, 1, page)):
        _rise(slopes, each.above, units, column, weight)
    if part > 0:
        _rise(slopes, each.above + whole, 1, 1, part)


def _rise(slopes: dict[int, list[int]], above: int, units: int, column: int, weight: int) -> None:
    slopes.setdefault(above, [0, 0])[column] += weight
    slopes.setdefault(above + units, [0, 0])[column] -= weight


def lru_references(trie: Trie, order: Sequence[int]) -> Iterator[Reference]:
    """What each request asks for again, from its beginning."""
    last = [-1] * len(trie.size)
    first: list[int] = []  # of a request: units of its path that were used again since
    weights = _Sums(len(order))
    for now, request in enumerate(order):
        path = trie.paths[request]
        for stretch in path:
            if last[stretch] >= 0:
                above = weights.beyond(last[stretch]) + trie.before[stretch] - first[last[stretch]]
                yield Reference(request, trie.before[stretch], trie.size[stretch], above)
        for stretch in path:
            if last[stretch] >= 0:
                weights.add(last[stretch], -trie.size[stretch])
                first[last[stretch]] = trie.before[stretch] + trie.size[stretch]
            last[stretch] = now
        weights.add(now, trie.units[request])
        first.append(0)


class _Sums:
    """Units by the request that used them last, and how many were used later (Fenwick, 1994)."""

    def __init__(self, size: int) -> None:
        self._tree = [0] * (size + 1)
        self._total = 0

    def add(self, place: int, units: int) -> None:
        self._total += units
        place += 1
        while place < len(self._tree):
            self._tree[place] += units
            place += place & -place

    def beyond(self, place: int) -> int:
        upto, place = 0, place + 1
        while place:
            upto += self._tree[place]
            place &= place - 1
        return self._total - upto


DEAD = -1
"""In place of the stretch, for units that nobody asks for again."""

_Part = tuple[int, int, int, int]
"""Units in the stack, one below the other: (next use, first unit of a path, stretch, how many)."""


def opt_references(trie: Trie, order: Sequence[int]) -> Iterator[Reference]:
    """What each request asks for again, in the order of the stack."""
    stack: list[_Part] = []
    for request, uses in zip(order, next_uses(trie, order), strict=True):
        path = trie.paths[request]
        own, above = set(path), 0
        for _, first, stretch, size in stack:
            if stretch in own:
                yield Reference(request, first, size, above)
            above += size
        below = _handed_down(stack, own, trie.units[request])
        stack = []
        for use, stretch in zip(uses, path, strict=True):
            _append(stack, (use, trie.before[stretch], stretch, trie.size[stretch]))
        stack += below


def _handed_down(stack: list[_Part], own: set[int], room: int) -> list[_Part]:
    """What stands below a path of so many units, once it was taken out of the stack to its top."""
    found: list[_Part] = []
    carried: list[_Part] = []
    left = -room  # places that are to be filled
    for part in stack:
        if part[2] not in own:
            heappush(carried, part)
        left += part[3]
        while left > 0:
            left -= _place(found, carried, left)
    while carried:
        _append(found, heappop(carried))
    if found and found[-1][0] == NEVER:  # at the end, what nobody asks for is as good as nothing
        found.pop()
    return found


def _place(found: list[_Part], carried: list[_Part], room: int) -> int:
    """The nearest next use stays; how many units of it."""
    use, first, stretch, size = heappop(carried)
    placed = min(size, room)
    _append(found, (use, first, stretch, placed))
    if placed < size:
        heappush(carried, (use, first + placed, stretch, size - placed))
    return placed


def _append(stack: list[_Part], part: _Part) -> None:
    """Neighbours of one stretch go on from each other: one part. So do those nobody asks for."""
    use, first, stretch, size = part
    if use == NEVER:
        first, stretch = 0, DEAD
    if stack and stack[-1][2] == stretch:
        _, first, _, above = stack.pop()
        size += above
    stack.append((use, first, stretch, size))
