"""RLT, which evicts a leaf token without a mark at random: as printed, and so that it always can.

Tokens get marks as they are accessed. When more are marked than fit, all marks go: as printed, all
but that of the token just accessed; in the repaired version the path in process keeps its marks
up to that token. Then the marked tokens are always closed under parents.

The repaired version always finds a leaf to evict, off the path in process. A token is loaded into a
full cache while at most B are marked, itself one of them and not cached: so some cached token is
not marked. All below it are not marked either, since marks are closed under parents, and the
deepest of them is a leaf; the path in process is marked as far as it is cached.

Source: Routing, Algorithm 1.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain
from random import Random

from fluidkv.prefix.paging.tokens import Request, Token, check_requests, leaves, needed, tokens_of

Marks = frozenset[Token]
Cache = frozenset[Token]


@dataclass(frozen=True)
class Access:
    """One access, as far as no chance has a part in it.

    Args:
        token: what is accessed.
        marked: tokens with a mark, after lines 7 to 9.
        starts: whether the marks were cleared: a phase starts.
    """

    token: Token
    marked: Marks
    starts: bool


def mark(
    marked: Marks, request: Request, capacity: int, *, repaired: bool = True
) -> tuple[Access, ...]:
    """The accesses of a request; marks depend on requests alone.

    Args:
        marked: before it.
        request: a batch of several paths gets all its marks at once, before its first access,
            so that nothing of it is evicted; the repaired version only.
        repaired: whether the request in process keeps its marks when all others go.
    """
    accesses, so_far = [], set(needed(request) if len(request) > 1 else ())
    for token in (token for path in request for token in tokens_of(path)):
        so_far.add(token)
        marked |= so_far if len(request) > 1 else {token}
        starts = len(marked) > capacity
        if starts:
            marked = frozenset(so_far) if repaired else frozenset({token})
        accesses.append(Access(token, marked, starts))
    return tuple(accesses)


def marking(
    requests: Iterable[Request], capacity: int, *, repaired: bool = True
) -> Iterator[tuple[Access, ...]]:
    """The accesses of each request, as `mark` finds them, from no marks."""
    marked: Marks = frozenset()
    for request in requests:
        accesses = mark(marked, request, capacity, repaired=repaired)
        marked = accesses[-1].marked
        yield accesses


def evictable(cached: Cache, access: Access) -> tuple[Token, ...]:
    """Leaf tokens without a mark: U, in line 14."""
    return tuple(sorted(set(leaves(cached)) - access.marked))


def path_locked(request: Request) -> tuple[Access, ...]:
    """The accesses of a request where nothing is protected but itself, for a random leaf."""
    return mark(frozenset(), request, len(needed(request)))


Choose = Callable[[int, tuple[Token, ...]], Token]
"""Which access it is, from 0, and several tokens in order -> one of them."""


def misses(accesses: Iterable[Access], capacity: int, choose: Choose) -> list[bool]:
    """Whether each access misses, from the empty cache, where `choose` picks who goes."""
    cached, missed = set[Token](), []
    for at, access in enumerate(accesses):
        missed.append(access.token not in cached)
        if missed[-1]:
            if len(cached) == capacity:
                cached.remove(choose(at, evictable(frozenset(cached), access)))
            cached.add(access.token)
    return missed


def rlt_misses(requests: Iterable[Request], capacity: int, rng: Random) -> int:
    """Misses of one run of the repaired version, from the empty cache.

    Raises:
        InputError: as `check_requests`.
    """
    accesses = chain.from_iterable(marking(check_requests(requests, capacity), capacity))
    return sum(misses(accesses, capacity, lambda _, leaves: rng.choice(leaves)))


Chances = Mapping[Cache, Fraction]
"""Cache -> its probability."""


def expected_misses(requests: Iterable[Request], capacity: int) -> list[list[Fraction]]:
    """Of the repaired version, exactly: the expected misses of each access of each request.

    Raises:
        InputError: as `check_requests`.
    """
    chances: Chances = {frozenset(): Fraction(1)}
    found = []
    for accesses in marking(check_requests(requests, capacity), capacity):
        found.append([])
        for access in accesses:
            chances, missed = accessed(chances, access, capacity)
            found[-1].append(missed)
    return found


def accessed(chances: Chances, access: Access, capacity: int) -> tuple[Chances, Fraction]:
    """Chances after an access, and the probability that it missed."""
    after: dict[Cache, Fraction] = {}
    missed = Fraction(0)
    for cached, chance in chances.items():
        if access.token in cached:
            after[cached] = after.get(cached, Fraction(0)) + chance
            continue
        missed += chance
        gone = evictable(cached, access) if len(cached) == capacity else (None,)
        for token in gone:
            next_cache = cached - {token} | {access.token}
            after[next_cache] = after.get(next_cache, Fraction(0)) + chance / len(gone)
    return after, missed
