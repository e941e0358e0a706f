"""Tokens, as the theory of paging knows them: a token is the path that leads to it.

So two paths share exactly the tokens of their common beginning, a token's parent is itself without
its last number, and a cache is a set of tokens in which every parent is there too.
"""

from collections.abc import Iterable

from fluidkv.errors import InputError

Token = tuple[int, ...]
"""Its path; never empty."""

Path = Token
"""A complete token path (a prompt and its answer) is the same as its last token."""

Request = tuple[Path, ...]
"""Paths that are processed together, in this order; one path where nothing is batched."""


def tokens_of(path: Path) -> tuple[Token, ...]:
    """From the first to the last."""
    return tuple(path[: i + 1] for i in range(len(path)))


def singles(paths: Iterable[Path]) -> tuple[Request, ...]:
    """Each path as a request by itself."""
    return tuple((path,) for path in paths)


def needed(request: Request) -> tuple[Token, ...]:
    """All tokens of a request, each once, in the order in which they are first accessed."""
    return tuple(dict.fromkeys(token for path in request for token in tokens_of(path)))


def leaves(cached: Iterable[Token]) -> tuple[Token, ...]:
    """Tokens without a child among them, in the order given."""
    tokens = tuple(cached)
    parents = {token[:-1] for token in tokens}
    return tuple(token for token in tokens if token not in parents)


def closed(tokens: Iterable[Token]) -> bool:
    """Whether the parent of each is there."""
    held = set(tokens)
    return all(len(token) == 1 or token[:-1] in held for token in held)


def check_requests(requests: Iterable[Request], capacity: int) -> tuple[Request, ...]:
    """The requests, if each fits.

    Raises:
        InputError: a capacity below 1, a request without paths, an empty path, or one that needs
            more tokens than fit.
    """
    if type(capacity) is not int or capacity < 1:
        raise InputError("capacity", capacity, "a whole number of tokens, at least 1")
    found = tuple(requests)
    for request in found:
        if not request or not all(request):
            raise InputError("request", request, "at least one path, each of at least one token")
        if len(needed(request)) > capacity:
            raise InputError("request", request, f"at most {capacity} tokens, what the cache holds")
    return found
