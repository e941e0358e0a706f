"""What is tried: so much memory, arrivals so fast, so many replicas; and along which of these."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal

import numpy as np

from fluidkv.errors import InputError
from fluidkv.record import Record

Find = Literal["kv", "rate", "replicas"]


@dataclass(frozen=True)
class Size(Record):
    """A server that is tried.

    Fields:
        blocks: of KV memory, in each replica.
        speed: of the arrivals, times as fast as they are.
        replicas: among which the requests are shared out.

    Examples:
        >>> from fluidkv.answers import Size
        >>> now = Size(blocks=2587)
        >>> now.speed, now.replicas, Size(2587, speed=2.0) == now
        (1.0, 1, False)
    """

    blocks: int
    speed: float = 1.0
    replicas: int = 1


@dataclass(frozen=True)
class Axis(Record):
    """What is looked for.

    Fields:
        find: "kv" (blocks), "rate" (speed) or "replicas".
        field: of `Size`.
        whole: whether only whole numbers are tried.
        easier_up: whether more of it is more likely to meet what is asked.
    """

    find: Find
    field: str
    whole: bool
    easier_up: bool

    def of(self, size: Size) -> float:
        return getattr(size, self.field)

    def at(self, size: Size, value: float) -> Size:
        """The same server with another value here."""
        return replace(size, **{self.field: round(value) if self.whole else float(value)})

    def harder_first(self, sizes: Sequence[Size]) -> list[Size]:
        """From the least likely to meet what is asked to the most likely."""
        return sorted(sizes, key=self.of, reverse=not self.easier_up)


AXES: Mapping[str, Axis] = MappingProxyType(
    {
        "kv": Axis("kv", "blocks", whole=True, easier_up=True),
        "rate": Axis("rate", "speed", whole=False, easier_up=False),
        "replicas": Axis("replicas", "replicas", whole=True, easier_up=True),
    }
)
"""Name -> axis."""


def axis_of(find: str) -> Axis:
    """One of `AXES`.

    Raises:
        InputError: another name.
    """
    if find not in AXES:
        raise InputError("find", find, f"one of {', '.join(AXES)}")
    return AXES[find]


def spread(axis: Axis, at: Size, low: float, high: float, count: int) -> list[Size]:
    """So many values from `low` to `high`, both included, each the same factor above the last.

    Fewer where they must be whole and there are no more.
    """
    values = np.geomspace(low, high, count)
    return list(dict.fromkeys(axis.at(at, value) for value in values))


def between(axis: Axis, first: Size, last: Size, count: int) -> list[Size]:
    """At most so many sizes strictly between two, each the same factor from the next."""
    low, high = sorted((axis.of(first), axis.of(last)))
    inner = spread(axis, first, low, high, count + 2)
    found = [size for size in inner if low < axis.of(size) < high]
    if axis.whole and high - low <= count + 1:  # all of them
        found = [axis.at(first, value) for value in range(int(low) + 1, int(high))]
    return found
