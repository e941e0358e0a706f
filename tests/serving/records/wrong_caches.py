"""vLLM's prefix cache with one rule changed each: what a record has to tell from the real one."""

from collections.abc import Iterable

from fluidkv.prefix.pieces import Content, cut
from fluidkv.serving.caching.pool import BlockPool
from fluidkv.serving.caching.vllm import VllmEngine
from fluidkv.serving.progress import Request


class Newest(BlockPool):
    """A lookup gives the newest copy."""

    def lookup(self, texts: Iterable[Content]) -> list[int]:
        found = super().lookup(texts)
        return [self.copies[text][-1] for block in found if (text := self.texts[block])]


class FirstToLast(BlockPool):
    """A request's beginning is released first."""

    def release(self, held: list[int]) -> None:
        super().release(held[::-1])


class AllToTheEnd(BlockPool):
    """Unfinished blocks wait behind the others."""

    def release(self, held: list[int]) -> None:
        before = list(self.free)
        super().release(held)
        new = [block for block in self.free if block not in before]
        self.free = before + new


class OneCopy(BlockPool):
    """Nothing is in two blocks."""

    def write(self, block: int, text: Content) -> None:
        if text not in self.copies:
            super().write(block, text)


class LatestFirst(BlockPool):
    """The block released last is reused first."""

    def take(self, count: int) -> list[int]:
        self.free.reverse()
        taken = super().take(count)
        self.free.reverse()
        return taken


class NothingKept(BlockPool):
    """A free block says nothing."""

    def release(self, held: list[int]) -> None:
        super().release(held)
        for block in held:
            if self.holders[block] == 0:
                self._forget(block)


class Renewing(BlockPool):
    """A lookup moves what it found to the end of the line, whether or not admission follows."""

    def lookup(self, texts: Iterable[Content]) -> list[int]:
        found = super().lookup(texts)
        for block in reversed(found):
            if block in self.free:
                self.free.remove(block)
                self.free.append(block)
        return found


class PromptsOnly(VllmEngine):
    """Outputs are not cached."""

    def _compute(self, request: Request, tokens: int) -> None:
        kept = self.pool.write
        prompt = cut(self.texts[request.index], 0, request.input_length)

        def write(block: int, text: Content) -> None:
            if text == cut(prompt, 0, sum(piece.length for piece in text)):
                kept(block, text)

        self.pool.write = write
        super()._compute(request, tokens)
        self.pool.write = kept


class WhenComputed(VllmEngine):
    """A block counts as cached from the next step on."""

    def step(self) -> dict[str, int]:
        late: list[tuple[int, Content]] = []
        write = self.pool.write

        def later(block: int, text: Content) -> None:
            late.append((block, text))

        def computed() -> None:
            for block, text in late:
                write(block, text)

        self.pool.write, self._computed = later, computed
        counts = super().step()
        self.pool.write = write
        return counts

    def execute(self, computing: dict[Request, int]) -> dict[str, int]:
        self._computed()
        return super().execute(computing)


class HitsAreFree(VllmEngine):
    """What is found in the line of free blocks is not asked for on admission."""

    def _may_share(self, request: Request, found: list[int], chunk: int) -> bool:
        return self.limits.blocks_of(request.length) - len(found) <= self.pool_free


class FoundWhole(VllmEngine):
    """A prompt that is wholly cached has no block to compute again."""

    def _lookup(self, request: Request) -> list[int]:
        size, text = self.limits.block_size, self.texts[request.index]
        whole = range(request.length // size)
        return self.pool.lookup(cut(text, 0, (place + 1) * size) for place in whole)


POOLS = (Newest, FirstToLast, AllToTheEnd, OneCopy, LatestFirst, NothingKept)
ENGINES = (PromptsOnly, WhenComputed, HitsAreFree, FoundWhole)
