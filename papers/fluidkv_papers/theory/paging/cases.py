"""All small cases, each once up to the names of tokens."""

from collections.abc import Iterator

from fluidkv.prefix.paging.tokens import Path, Token, tokens_of


def sequences(count: int, shortest: int, longest: int) -> Iterator[tuple[Path, ...]]:
    """All sequences of so many paths of such lengths; tokens are named as they first appear."""
    return _continued((), frozenset(), count, shortest, longest)


def forests(size: int) -> Iterator[tuple[Token, ...]]:
    """All forests of so many tokens, parents first."""
    for shape in _shapes(size):
        yield tuple(_named(shape, ()))


_Shape = tuple["_Shape", ...]
"""A forest: of each tree what hangs below its root."""


def _continued(
    paths: tuple[Path, ...], seen: frozenset[Token], count: int, shortest: int, longest: int
) -> Iterator[tuple[Path, ...]]:
    if len(paths) == count:
        yield paths
        return
    for path in _paths((), seen, longest):
        if len(path) >= shortest:
            known = seen.union(tokens_of(path))
            yield from _continued((*paths, path), known, count, shortest, longest)


def _paths(front: Token, seen: frozenset[Token], longest: int) -> Iterator[Path]:
    """Those that go on from `front` through tokens that are known, or the next new one."""
    if front:
        yield front
    if len(front) < longest:
        child = 0
        while (*front, child) in seen:
            yield from _paths((*front, child), seen, longest)
            child += 1
        yield from _paths((*front, child), seen, longest)


def _shapes(size: int) -> list[_Shape]:
    """Each forest once: its trees in order."""
    if not size:
        return [()]
    found: set[_Shape] = set()
    for first in range(1, size + 1):
        for below in _shapes(first - 1):
            for others in _shapes(size - first):
                found.add(tuple(sorted((below, *others))))
    return sorted(found)


def _named(shape: _Shape, front: Token) -> Iterator[Token]:
    for child, below in enumerate(shape):
        yield (*front, child)
        yield from _named(below, (*front, child))
