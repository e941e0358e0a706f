"""The fewest misses, by dynamic programming over all caches; and the rule that attains them.

A cache is a set of tokens closed under parents. After a request all its tokens are in the cache,
none of which may be evicted while it is processed; whatever else was there may stay, as far as
it fits.
"""

from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from itertools import combinations

from fluidkv.prefix.paging.tokens import (
    Request,
    Token,
    check_requests,
    closed,
    leaves,
    needed,
    tokens_of,
)

Cache = frozenset[Token]

Costs = Mapping[Cache, int]
"""Cache at the end -> fewest misses that lead to it."""

EMPTY: Costs = {frozenset(): 0}


def served(costs: Costs, request: Request, capacity: int, *, eager: bool = False) -> Costs:
    """The same after one more request.

    Args:
        eager: also caches with less than what fits, as a policy may leave that evicts more than
            it needs to.
    """
    found: dict[Cache, int] = {}
    for before, cost in costs.items():
        missed = cost + len(frozenset(needed(request)) - before)
        for after in _successors(before, frozenset(needed(request)), capacity, eager):
            if missed < found.get(after, missed + 1):
                found[after] = missed
    return found


def fewest_misses(requests: Iterable[Request], capacity: int, *, eager: bool = False) -> int:
    """Misses of the best offline policy from the empty cache.

    Raises:
        InputError: as `check_requests`.
    """
    costs = EMPTY
    for request in check_requests(requests, capacity):
        costs = served(costs, request, capacity, eager=eager)
    return min(costs.values())


def furthest_misses(requests: Iterable[Request], capacity: int) -> int:
    """Misses where the leaf goes whose next use lies furthest in the future, of those off the
    request in process; of several that never come again, or come in the same request, the deepest.

    A token is used with each token below it, so that of all tokens, leaves or not, one whose next
    use is furthest is a leaf: this is Belady's rule on single tokens.
    """
    chosen = check_requests(requests, capacity)
    cached: set[Token] = set()
    missed = 0
    for at, request in enumerate(chosen):
        locked = set(needed(request))
        for token in needed(request):
            if token in cached:
                continue
            missed += 1
            if len(cached) == capacity:
                cached.remove(furthest(set(leaves(cached)) - locked, chosen[at + 1 :]))
            cached.add(token)
    return missed


def furthest(candidates: Collection[Token], later: Iterable[Request]) -> Token:
    """The one used last, or never; the deepest of several, then the last by its name."""
    left = set(candidates)
    for request in later:
        others = left.difference(needed(request))
        if not others:
            break
        left = others
    return max(left, key=lambda token: (len(token), token))


def unlocked_furthest(paths: Iterable[Token], capacity: int) -> Iterable[tuple[Token, Token]]:
    """(token loaded, token evicted for it) of the rule as its sentence says it: any leaf may go.

    A token that is needed by the rest of the request in process is used next.
    """
    order = tuple(paths)
    cached: set[Token] = set()
    for at, path in enumerate(order):
        for place, token in enumerate(tokens_of(path)):
            if token in cached:
                continue
            if len(cached) == capacity:
                coming = set(tokens_of(path)[place:])
                others = set(leaves(cached)) - coming
                gone = furthest(others or coming & cached, [(later,) for later in order[at + 1 :]])
                cached.remove(gone)
                yield token, gone
            cached.add(token)


@lru_cache(2**16)
def _successors(before: Cache, request: Cache, capacity: int, eager: bool) -> tuple[Cache, ...]:
    """Caches that one request may leave: all of it, and a part of what was there."""
    others = sorted(before - request)
    most = min(len(others), capacity - len(request))
    sizes = range(most + 1) if eager else (most,)
    kept = (frozenset(part) | request for size in sizes for part in combinations(others, size))
    return tuple(after for after in kept if closed(after))
