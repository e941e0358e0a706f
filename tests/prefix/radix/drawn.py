"""Drawn calls of several requests at once, made on two trees side by side.

Prompts part inside segments and pages, share beginnings, and come again; memory is small, so that
allocations evict and fail. Calls come in the groups that a server makes without a pause.
"""

from collections.abc import Iterator
from random import Random
from typing import Any

from fluidkv.prefix.pieces import Content, content, cut, joined, length
from fluidkv.prefix.radix.operations import CALLS, Operations

REQUESTS, AT_ONCE = 14, 4
_ALL = 10**6  # more tokens than there are


class BothTrees:
    """The requests of one seed, on two trees whose rows must be equal.

    `calls` and `failed` count what was made, and the allocations among it that did not fit.
    """

    def __init__(self, one: Operations, other: Operations, seed: int) -> None:
        self.one, self.other = one, other
        self.chance = Random(seed)
        self.page = one.tree.page_size
        self.prompts: list[Content] = []
        self.calls = self.failed = 0

    def run(self) -> None:
        """All requests; in the end everything goes, which shows the order of what was left."""
        coming, running = iter(range(REQUESTS)), []
        while True:
            if len(running) < AT_ONCE and (number := next(coming, None)) is not None:
                running.append(self._request(number))
            if not running:
                break
            request = self.chance.choice(running)
            if next(request, self) is self:  # it is done
                running.remove(request)
        self._call("E", _ALL)
        assert self.one.tree.evictable == 0

    def _call(self, name: str, *given: Any) -> int:
        looked = [each.tree.found(given[1]) for each in (self.one, self.other) if name == "M"]
        row = getattr(self.one, CALLS[name])(*given)
        same = getattr(self.other, CALLS[name])(*given)
        assert row == same, f"call {self.calls}: {name} {given}"
        assert looked in ([], 2 * [row[1]])
        self.calls += 1
        return row[1]

    def _allocate(self, number: int, tokens: int) -> bool:
        fits = self._call("A", number, tokens) >= 0
        self.failed += not fits
        return fits

    def _request(self, number: int) -> Iterator[None]:
        """Some requests only look, or insert without a match; most are served."""
        chance, prompt = self.chance, self._prompt()
        match chance.randrange(10):
            case 0:
                self._call("M", number, prompt)
            case 1:
                self._call("M", number, prompt)
                self._call("L", number)
                yield
                self._call("U", number)
            case 2:
                self._call("E", chance.randrange(6 * self.page))
            case 3:
                if self._allocate(number, length(prompt)):
                    self._call("I", number, prompt, chance.randrange(3), 0)
                    self._call("F", number)
            case _:
                yield from self._served(number, prompt)

    def _served(self, number: int, prompt: Content) -> Iterator[None]:
        """As the server does it: matched, locked, computed, kept, computed further, kept, freed."""
        chance, priority = self.chance, self.chance.randrange(3)
        outputs = content([[1000 + number, 1 + chance.randrange(3 * self.page)]])
        whole, size = joined(prompt + outputs), length(prompt)
        self._call("M", number, cut(prompt, 0, size - 1))
        self._call("L", number)
        if chance.random() < 0.2:
            yield
        if self._allocate(number, size):
            self._call("I", number, prompt, priority, 0)
            self._move(number, prompt)
            yield
            if self._allocate(number, length(whole)):
                self._call("I", number, whole, priority, chance.choice((0, size)))
                if chance.random() < 0.7:
                    self._call("I", number, prompt, priority + 1, chance.choice((0, size)))
                if chance.random() < 0.7:
                    self._move(number, whole)
        self._call("F", number)
        if chance.random() < 0.2:
            yield
        self._call("U", number)

    def _move(self, number: int, to: Content) -> None:
        """The lock follows what was inserted."""
        self._call("M", number, to)
        self._call("U", number)
        self._call("L", number)

    def _prompt(self) -> Content:
        """New; or one that came before, a beginning of it, or what goes on after a beginning."""
        chance, most = self.chance, 3 * self.page
        segments = [[chance.randrange(3), 1 + chance.randrange(most)]]
        if chance.random() < 0.6:
            segments.append([3 + chance.randrange(4), 1 + chance.randrange(most)])
        prompt = content(segments)
        if self.prompts and chance.random() < 0.6:
            old = chance.choice(self.prompts)
            prompt = cut(old, 0, 1 + chance.randrange(length(old)))
            if chance.random() < 0.6:
                prompt = joined(prompt + content([[7 + chance.randrange(9), most]]))
        self.prompts.append(prompt)
        return prompt
