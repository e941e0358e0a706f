"""Where the sizes that meet what is asked begin, and what breaks their order.

A metric need not fall as memory grows: with more memory more requests run together, and each waits
longer between its tokens. So nothing is concluded for a size that was not tried, and sizes out of
order are named.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fluidkv.answers.size.sizes import Axis, Size
from fluidkv.record import Record


@dataclass(frozen=True)
class Edge(Record):
    """What the sizes tried say, from the hardest to the easiest.

    Fields:
        answer: the hardest size such that it and every easier one tried, up to `ceiling`, meets
            what is asked.
        blocker: the next harder one tried, which does not; None where all tried do.
        ceiling: the last size that does, where the easiest one tried does not; None: it does. The
            widest run of neighbours is taken then.
        too_easy: the next one after `ceiling`, which does not.
        islands: other sizes that do, as runs of neighbours, (hardest, easiest) of each: luck of
            these requests, or a metric that falls with less memory.
    """

    answer: Size
    blocker: Size | None
    ceiling: Size | None
    too_easy: Size | None
    islands: tuple[tuple[Size, Size], ...]


def edge_of(axis: Axis, met: Mapping[Size, bool]) -> Edge | None:
    """What sizes that were tried say; None where none of them meets what is asked.

    Args:
        met: size -> whether it does; sizes that differ on the axis alone.
    """
    order = axis.harder_first(list(met))
    runs = _runs(order, met)
    if not runs:
        return None
    first, last = runs[-1] if met[order[-1]] else _widest(axis, runs)
    islands = [run for run in runs if run != (first, last)]
    blocker = order[order.index(first) - 1] if first != order[0] else None
    if last == order[-1]:
        return Edge(first, blocker, None, None, tuple(islands))
    return Edge(first, blocker, last, order[order.index(last) + 1], tuple(islands))


def _widest(axis: Axis, runs: Sequence[tuple[Size, Size]]) -> tuple[Size, Size]:
    """By the ratio of its ends; of equal ones the easiest."""

    def ratio(run: tuple[Size, Size]) -> float:
        low, high = sorted(axis.of(end) for end in run)
        return high / low

    return max(runs[::-1], key=ratio)


def _runs(order: Sequence[Size], met: Mapping[Size, bool]) -> list[tuple[Size, Size]]:
    """Neighbours that meet what is asked: the first and the last of each run of them."""
    found: list[tuple[Size, Size]] = []
    before = False
    for size in order:
        if met[size]:
            first = found.pop()[0] if before else size
            found.append((first, size))
        before = met[size]
    return found
