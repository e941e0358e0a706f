"""Memory that admission keeps for those who run, in floats as the source adds them up."""

from collections.abc import Iterable, Sequence
from typing import Protocol

from fluidkv.serving.caching.sglang.state import Request


class Reserved(Protocol):
    """What is reserved, and what is left of so many free tokens past it."""

    def charge(self, tokens: int) -> None:
        """So many more."""
        ...

    def leaves_more_than(self, tokens: int, free: int) -> bool: ...

    def leaves_at_least(self, tokens: int, free: int) -> bool: ...

    def left_of(self, free: int) -> int:
        """What is left, without its fraction."""
        ...


def shares(running: Iterable[Request], clip: int, ratio: float) -> float:
    """Of each request a share of what it may still emit, added up in running order."""
    total = 0.0
    for request in running:
        total += request.may_emit(clip) * ratio
    return total


class Summed:
    """Added up request by request.

    Args:
        beside: tokens that are taken in any case.
        running: in order.
        clip, ratio: of what each may still emit, at most so much, and this share of it.
    """

    def __init__(self, beside: int, running: Sequence[Request], clip: int, ratio: float) -> None:
        self.tokens = beside + shares(running, clip, ratio)

    def charge(self, tokens: int) -> None:
        self.tokens += tokens

    def leaves_more_than(self, tokens: int, free: int) -> bool:
        return tokens < free - self.tokens

    def leaves_at_least(self, tokens: int, free: int) -> bool:
        return tokens <= free - self.tokens

    def left_of(self, free: int) -> int:
        return int(free - self.tokens)
