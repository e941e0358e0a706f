"""Leaf-LRU by single tokens: the leaf token that was accessed longest ago goes first.

Tokens that are cached and their order of access are one thing here, a tuple from the one accessed
longest ago to the latest. Source: Routing, section 3.2.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from fluidkv.prefix.paging.tokens import Request, Token, check_requests, leaves, needed, tokens_of

Recency = tuple[Token, ...]
"""What is cached, the token accessed longest ago first."""


def access(
    cached: Recency, token: Token, capacity: int, locked: Collection[Token] = ()
) -> tuple[Recency, bool]:
    """The cache after an access, and whether it missed.

    Nothing of the path in process is evicted, locked or not: of it those tokens that are cached are
    a front of it, all of them accessed later than anything else, so some other leaf is older as
    long as the path fits.

    Args:
        locked: tokens that may not go, as those of the same batch.
    """
    if token in cached:
        return (*(each for each in cached if each != token), token), False
    if len(cached) == capacity:
        oldest = next(each for each in leaves(cached) if each not in locked)
        cached = tuple(each for each in cached if each != oldest)
    return (*cached, token), True


@dataclass(frozen=True)
class Step:
    """One access: what was cached before and after it, and whether it missed."""

    token: Token
    before: Recency
    after: Recency
    missed: bool


def accesses(cached: Recency, request: Request, capacity: int) -> Iterator[Step]:
    """Those of a request, one by one.

    A batch is processed path by path; all of its tokens are locked from its start.
    """
    locked = needed(request) if len(request) > 1 else ()
    for path in request:
        for token in tokens_of(path):
            after, missed = access(cached, token, capacity, locked)
            yield Step(token, cached, after, missed)
            cached = after


def lru_misses(requests: Iterable[Request], capacity: int) -> int:
    """Tokens that Leaf-LRU misses from the empty cache.

    Raises:
        InputError: as `check_requests`.
    """
    cached, missed = (), 0
    for request in check_requests(requests, capacity):
        for step in accesses(cached, request, capacity):
            cached, missed = step.after, missed + step.missed
    return missed
