"""How much of what a cache evicted was not needed, since whole leaves go."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from fluidkv.prefix.radix.operations import COLUMNS
from fluidkv.record import Record


@dataclass(frozen=True)
class Overshoot(Record):
    """Tokens that were evicted for allocations, and those of them that nothing was missing for.

    Examples:
        >>> from fluidkv.prefix.radix.overshoot import Overshoot
        >>> found = Overshoot(evicted=200, unneeded=50)
        >>> found.share
        0.25
    """

    evicted: int
    unneeded: int

    @property
    def share(self) -> float:
        """Of the evicted; 0 where nothing was."""
        return self.unneeded / self.evicted if self.evicted else 0.0


def overshoot(rows: Iterable[Sequence[Any]]) -> Overshoot:
    """Of all allocations in some rows.

    An allocation that had to evict takes all that was free, and what it needs of what went. So
    what is free behind it was evicted for nothing. One that did not fit needed all that went.

    Args:
        rows: as `operations.COLUMNS` says.

    Examples:
        >>> from fluidkv.prefix import RadixTree, content, overshoot
        >>> from fluidkv.prefix.radix.operations import Operations
        >>> server = Operations(RadixTree(), capacity=12)
        >>> _ = server.allocate(0, 10), server.insert(0, content([(0, 10)]), 0, 0)
        >>> overshoot([server.allocate(1, 4)])  # 2 are free, and the whole leaf of 10 goes
        Overshoot(evicted=10, unneeded=8)
    """
    op, result, evicted, available = (
        COLUMNS.index(name) for name in ("op", "result", "evicted_tokens", "available")
    )
    went = [row for row in rows if row[op] == "A" and row[evicted]]
    return Overshoot(
        sum(row[evicted] for row in went),
        sum(row[available] for row in went if row[result] >= 0),
    )
