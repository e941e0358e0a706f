"""Algorithm 1 as printed, along every choice that chance may make.

A leaf token is one without a child in the cache. The algorithm is read as it stands, but for its
last line: every missing token is loaded, not only into a full cache, from which it never would be
filled.

Source: Routing, Algorithm 1.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from fluidkv.prefix.paging.marking import Access, Cache, evictable, mark
from fluidkv.prefix.paging.tokens import Path, Token, tokens_of


@dataclass(frozen=True)
class Eviction:
    """A token is loaded into a full cache.

    Args:
        at: which request, from 0.
        access: the token, and what is marked.
        cached: before it.
        gone: what is evicted for it; None where there is no leaf without a mark, so that the
            algorithm does not say what happens. Nothing that may follow is looked at then.
    """

    at: int
    access: Access
    cached: Cache
    gone: Token | None

    @property
    def of_its_path(self) -> bool:
        """Whether a token goes that leads to the one loaded."""
        token = self.access.token
        return self.gone is not None and token[: len(self.gone)] == self.gone


def printed_evictions(
    paths: tuple[Path, ...], capacity: int, *, repaired: bool = False, lock: bool = False
) -> Iterator[Eviction]:
    """All that can happen, each once, from the empty cache.

    Args:
        repaired: the algorithm that keeps the marks of the path in process.
        lock: the printed one with a lock that it does not mention, on the path in process.
    """
    caches, marked = {Cache()}, frozenset[Token]()
    for at, path in enumerate(paths):
        accesses = mark(marked, (path,), capacity, repaired=repaired)
        marked = accesses[-1].marked
        for access in accesses:
            after = set[Cache]()
            for cached in caches:
                if access.token in cached:
                    after.add(cached)
                elif len(cached) < capacity:
                    after.add(cached | {access.token})
                else:
                    free = evictable(cached, access)
                    if lock:
                        free = tuple(token for token in free if token not in tokens_of(path))
                    for gone in free or (None,):
                        yield Eviction(at, access, cached, gone)
                        if gone is not None:
                            after.add(cached - {gone} | {access.token})
            caches = after
