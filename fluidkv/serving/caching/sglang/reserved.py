"""Memory that admission keeps for those who run, in floats as the source adds them up."""

from collections.abc import Callable, Iterable
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

    def __init__(self, beside: int, running: Iterable[Request], clip: int, ratio: float) -> None:
        self.tokens = beside + shares(running, clip, ratio)

    def charge(self, tokens: int) -> None:
        self.tokens += tokens

    def leaves_more_than(self, tokens: int, free: int) -> bool:
        return tokens < free - self.tokens

    def leaves_at_least(self, tokens: int, free: int) -> bool:
        return tokens <= free - self.tokens

    def left_of(self, free: int) -> int:
        return int(free - self.tokens)


class Estimated:
    """As `Summed`, from a sum of whole numbers; added up only where that could decide otherwise.

    Args:
        beside, ratio: as there.
        may_emit: of all who run, added up.
        added_up: does what `Summed` does, before anything is charged.
    """

    _SURE = 1e-3  # floats of fewer than 10^10 tokens add up to an error far below

    def __init__(
        self, beside: int, may_emit: int, ratio: float, added_up: Callable[[], float]
    ) -> None:
        self._about = beside + may_emit * ratio
        self._sure = -1.0 if ratio == 1 else self._SURE  # whole numbers have no error
        self._added_up = added_up
        self._charges: list[int] = []

    def charge(self, tokens: int) -> None:
        self._about += tokens
        self._charges.append(tokens)

    def leaves_more_than(self, tokens: int, free: int) -> bool:
        left = free - self._about
        return tokens < (left if abs(left - tokens) > self._sure else free - self._exactly())

    def leaves_at_least(self, tokens: int, free: int) -> bool:
        left = free - self._about
        return tokens <= (left if abs(left - tokens) > self._sure else free - self._exactly())

    def left_of(self, free: int) -> int:
        left = free - self._about
        near = abs(left - round(left)) <= self._sure
        return int(free - self._exactly() if near else left)

    def _exactly(self) -> float:
        total = self._added_up()
        for tokens in self._charges:
            total += tokens
        return total
