"""Sequences of requests that the proofs set against a policy: tails behind one common prefix.

All paths have the least length L and differ in their last token alone. There are B - L + 2 tails,
one more than fit behind the prefix.
"""

from random import Random

from fluidkv.errors import InputError
from fluidkv.prefix.paging.tokens import Path, Request, check_requests


def tails(capacity: int, shortest: int) -> tuple[Path, ...]:
    """The paths, B - L + 2 of length L; B = capacity, L = shortest.

    Raises:
        InputError: lengths out of 1 ... capacity.

    Source: Routing, Theorem 4 (lower bound) and Theorem 8.
    """
    if not 1 <= shortest <= capacity:
        raise InputError("shortest", shortest, f"1 to {capacity}, what the cache holds")
    return tuple((*(0,) * (shortest - 1), tail) for tail in range(capacity - shortest + 2))


def batches_of_tails(capacity: int, shortest: int, size: int) -> tuple[Request, ...]:
    """B - L - beta + 3 batches, which share their first beta - 1 paths; beta = size.

    Raises:
        InputError: a batch that may not fit.

    Source: Routing, Theorem 5 (lower bound) and Corollary 9.
    """
    paths = tails(capacity, shortest)
    if not 1 <= size * shortest <= capacity:
        raise InputError("size", size, f"1 to {capacity // shortest}, what fits at once")
    batches = tuple((*paths[: size - 1], last) for last in paths[size - 1 :])
    return check_requests(batches, capacity)


def in_a_loop(requests: tuple[Request, ...], loops: int) -> tuple[Request, ...]:
    """The requests in order, so many times."""
    return requests * loops


def drawn(requests: tuple[Request, ...], count: int, rng: Random) -> tuple[Request, ...]:
    """So many of the requests, each uniformly at random, independent of the others."""
    return tuple(rng.choice(requests) for _ in range(count))
