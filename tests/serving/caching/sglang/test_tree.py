"""The kernel's tree is SGLang's, written out literally (`prefix.radix.reference`), call by call."""

from typing import Any

import pytest

from fluidkv.prefix.pieces import cut, joined
from fluidkv.prefix.radix.reference import RadixTree
from fluidkv.runs.interpreted import interpreted
from fluidkv.serving.caching.sglang.stepped import SglangEngine
from tests.serving.caching.sglang.drawn import Run, drawn

MEMORY = interpreted("fluidkv.serving.caching.sglang.kernel.memory")
CALLS = ("insert", "walk", "lock", "unlock", "evict", "reach")


class Beside:
    """What the kernel asks of its tree is asked of the literal one as well."""

    def __init__(self, run: Run) -> None:
        said = zip(run.prompts.prompts, run.prompts.outputs, strict=True)
        self.texts = [joined(prompt + output) for prompt, output in said]
        self.tree = RadixTree(run.settings.page_size, run.settings.policy)
        self.nodes: dict[int, Any] = {}  # the kernel's number -> node
        self.calls = {name: getattr(MEMORY, name) for name in CALLS}
        self.evicted = 0

    def insert(
        self, run: Any, space: Any, r: int, tokens: int, priority: int, inserted: int
    ) -> int:
        had = self.calls["insert"](run, space, r, tokens, priority, inserted)
        assert self.tree.insert(cut(self.texts[r], 0, tokens), priority, inserted) == had
        return had

    def walk(self, run: Any, space: Any, r: int, tokens: int, priority: int, inserted: int) -> int:
        node = self.calls["walk"](run, space, r, tokens, priority, inserted)
        text = cut(self.texts[r], 0, tokens)
        if priority == MEMORY.OF_PROMPTS:
            assert self.tree.insert(text, 1, inserted) == tokens
            return node
        self.nodes[node], length = self.tree.match(text)
        assert space.nodes[node].end == length
        return node

    def lock(self, run: Any, space: Any, node: int) -> None:
        self.calls["lock"](run, space, node)
        self.tree.lock(self.nodes[node])
        assert run.protected == self.tree.protected

    def unlock(self, run: Any, space: Any, node: int) -> None:
        self.calls["unlock"](run, space, node)
        self.tree.unlock(self.nodes[node])
        assert run.protected == self.tree.protected

    def evict(self, run: Any, space: Any, tokens: int) -> int:
        freed = self.calls["evict"](run, space, tokens)
        assert sum(gone.length for gone in self.tree.evict(tokens)) == freed
        assert run.total == self.tree.total
        self.evicted += freed
        return freed

    def reach(self, run: Any, space: Any, r: int, tokens: int) -> tuple[int, int]:
        depth, strand = self.calls["reach"](run, space, r, tokens)
        assert self.tree.found(cut(self.texts[r], 0, tokens)) == depth
        return depth, strand


@pytest.mark.parametrize(
    "seeds",
    [
        range(400, 480),
        *(pytest.param(range(n, n + 400), marks=pytest.mark.thorough) for n in (480, 880)),
    ],
)
def test_every_call_is_that_of_the_literal_tree(
    seeds: range, monkeypatch: pytest.MonkeyPatch
) -> None:
    evicted = 0
    for run in map(drawn, seeds):
        if not run.settings.radix:
            continue
        with monkeypatch.context() as patched:
            beside = Beside(run)
            for name in CALLS:
                patched.setattr(MEMORY, name, getattr(beside, name))
            server = SglangEngine(*run.given())
            for index, arrival in enumerate(run.requests.arrival.tolist()):
                server.advance(arrival)
                server.found(index)
                if not (server.idle or server.stuck or server.now >= arrival):
                    break
                server.offer(index)
            server.advance(float("inf"))
            evicted += beside.evicted
    assert evicted > 500
