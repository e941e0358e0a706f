"""All prompts of a table in one tree, cut wherever two of them part: what is shared counts once.

A node is a stretch of tokens that nobody splits. So which tokens of a prompt are somewhere is which
of its nodes are.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from fluidkv.prefix.pieces import Content, Piece
from fluidkv.prefix.prompts import Prompts


@dataclass(frozen=True, eq=False)
class Paths:
    """Prompts as paths from the root, and with their answers.

    Fields:
        prompts: nodes of each prompt, from the root on.
        whole: nodes of each prompt and its answer; it begins with those of the prompt.
        tokens: of each node.
        depth: of each node; children of the root have 0.
    """

    prompts: tuple[Int[np.ndarray, " step"], ...]
    whole: tuple[Int[np.ndarray, " step"], ...]
    tokens: Int[np.ndarray, " node"]
    depth: Int[np.ndarray, " node"]


def paths_of(prompts: Prompts) -> Paths:
    """The tree of all prompts and answers of a table."""
    tree, wholes = _Tree(), prompts.paths
    for prompt, whole in zip(prompts.prompts, wholes, strict=True):
        tree.add(prompt)
        tree.add(whole)
    found = tuple(np.array(tree.path(whole), np.int64) for whole in wholes)
    tokens = np.array([sum(piece.length for piece in edge) for edge in tree.edges], np.int64)
    depth = np.zeros(tokens.size, np.int64)
    begins = []
    for path, length in zip(found, prompts.input_length, strict=True):
        depth[path] = np.arange(path.size)
        begins.append(path[: 1 + int(np.searchsorted(np.cumsum(tokens[path]), length))])
    return Paths(tuple(begins), found, tokens, depth)


def most_shared(paths: Paths) -> Int[np.ndarray, " request"]:
    """Of each prompt, the tokens with which an earlier one and its answer begin.

    No cache finds more of it, and one that keeps everything finds as much.
    """
    seen, found = np.zeros(paths.tokens.size, bool), []
    for prompt, whole in zip(paths.prompts, paths.whole, strict=True):
        found.append(int(paths.tokens[prompt][seen[prompt]].sum()))  # a seen node has seen parents
        seen[whole] = True
    return np.array(found, np.int64)


class _Tree:
    def __init__(self) -> None:
        self.edges: list[Content] = []
        self.children: list[dict[tuple[int, int], int]] = [{}]  # of the root, then of each node

    def add(self, content: Content) -> None:
        parent, rest = -1, content
        while rest:
            node = self.children[parent + 1].get(_first(rest))
            if node is None:
                self.children[parent + 1][_first(rest)] = self._new(rest)
                return
            same, behind = _parted(self.edges[node], rest)
            if same:  # the edge goes on where the two part
                lower = self._new(same)
                self.children[lower + 1] = self.children[node + 1]
                self.children[node + 1] = {_first(same): lower}
                self.edges[node] = _less(self.edges[node], same)
            parent, rest = node, behind

    def path(self, content: Content) -> list[int]:
        """The nodes of a sequence that was added."""
        found, parent, rest = [], -1, content
        while rest:
            parent = self.children[parent + 1][_first(rest)]
            found.append(parent)
            rest = _parted(self.edges[parent], rest)[1]
        return found

    def _new(self, edge: Content) -> int:
        self.edges.append(edge)
        self.children.append({})
        return len(self.edges) - 1


def _first(content: Content) -> tuple[int, int]:
    return content[0].segment, content[0].start


def _parted(one: Content, other: Content) -> tuple[Content, Content]:
    """What is left of each behind what both begin with."""
    place = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            same = min(a.length, b.length) if a[:2] == b[:2] else 0
            return _behind(one, place, same), _behind(other, place, same)
        place += 1
    return one[place:], other[place:]


def _behind(content: Content, place: int, tokens: int) -> Content:
    piece = content[place]
    if tokens == piece.length:
        return content[place + 1 :]
    left = Piece(piece.segment, piece.start + tokens, piece.length - tokens)
    return (left, *content[place + 1 :])


def _less(content: Content, end: Content) -> Content:
    """Without its end, which may begin inside a piece."""
    kept = content[: len(content) - len(end)]
    if kept and content[len(kept)] == end[0]:
        return kept
    whole = content[len(kept)]
    cut = whole.length - end[0].length
    return (*kept, Piece(whole.segment, whole.start, cut)) if cut else kept
