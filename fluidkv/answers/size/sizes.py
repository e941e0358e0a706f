"""What is tried: so much memory, arrivals so fast, so many replicas; and where along one of these
the sizes that meet what is asked begin.

A metric need not fall as memory grows: with more memory more requests run together, and each waits
longer between its tokens. So nothing is concluded for a size that was not tried, and sizes out of
order are named. Beyond an answer lies the cliff: how much less memory, or more load, until all is
worse.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from fluidkv.record import Record

if TYPE_CHECKING:
    import numpy as np
    from jaxtyping import Float

Find = Literal["kv", "rate", "replicas"]


SIZED_KEYS = (
    ("tokens", "tokens", "of each replica"),
    ("blocks", "count", "of each replica"),
    ("rate", "a unit of time", "requests of all"),
    ("speed", "number", "the trace's times are divided by it"),
    ("replicas", "count", "how many"),
    ("load", "share", "of what memory carries without evictions"),
    ("theory", "", "if time is known, of the mass model; else null"),
    ("theory.in_flight", "requests", "x*"),
    ("theory.completions_per_iteration", "per iteration", "what x* carries"),
    ("theory.rate", "a unit of time", "critical rate"),
    ("theory.rate_reserving", "a unit of time", "rate at which every request has its peak"),
    ("met", "yes/no", "whether every SLO holds"),
    ("metrics", "", "→ [metrics](#metrics)"),
)
"""Keys of one size that was tried."""


@dataclass(frozen=True)
class Size(Record):
    """A server that is tried.

    Fields:
        blocks: of KV memory, in each replica.
        speed: of the arrivals, times as fast as they are.
        replicas: among which the requests are shared out.

    Examples:
        >>> from fluidkv.answers.size.sizes import Size
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


def spread(axis: Axis, at: Size, low: float, high: float, count: int) -> list[Size]:
    """So many values from `low` to `high`, both included, each the same factor above the last.

    Fewer where they must be whole and there are no more.
    """
    from numpy import geomspace

    return list(dict.fromkeys(axis.at(at, value) for value in geomspace(low, high, count)))


def between(axis: Axis, first: Size, last: Size, count: int) -> list[Size]:
    """At most so many sizes strictly between two, each the same factor from the next."""
    low, high = sorted((axis.of(first), axis.of(last)))
    inner = spread(axis, first, low, high, count + 2)
    found = [size for size in inner if low < axis.of(size) < high]
    if axis.whole and high - low <= count + 1:  # all of them
        found = [axis.at(first, value) for value in range(int(low) + 1, int(high))]
    return found


def close(axis: Axis, first: Size, last: Size, within: float) -> bool:
    """Whether two sizes differ by no more than a share."""
    low, high = sorted((axis.of(first), axis.of(last)))
    return high <= low * (1 + within)


# --- the edge ------------------------------------------------------------------------------------


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
    runs = [list(sizes) for enough, sizes in groupby(order, met.__getitem__) if enough]
    if not runs:
        return None

    def ratio(run: list[Size]) -> float:
        low, high = sorted(axis.of(end) for end in (run[0], run[-1]))
        return high / low

    widest = max(runs[::-1], key=ratio)  # of equal ones the easiest
    run = runs[-1] if met[order[-1]] else widest
    harder, easier = order[: order.index(run[0])], order[order.index(run[-1]) + 1 :]
    return Edge(
        answer=run[0],
        blocker=harder[-1] if harder else None,
        ceiling=run[-1] if easier else None,
        too_easy=easier[0] if easier else None,
        islands=tuple((other[0], other[-1]) for other in runs if other is not run),
    )


# --- the cliff -----------------------------------------------------------------------------------

TIMES_WORSE = 2.0
"""A tail that is so many times what it is at the answer has gone over the cliff."""


@dataclass(frozen=True)
class Cliff(Record):
    """What lies beyond an answer, along one axis, among the sizes tried.

    Fields:
        metric: the tail that is looked at, in its worst run.
        at: its value at the answer.
        worse: the size nearest to the answer from which on it is `TIMES_WORSE` times that; None:
            none that was tried.
        value: the tail there.
        margin: by which share of the answer `worse` differs from it.
        preempts: the easiest size at which a run preempts; None: none does.
        preempts_margin: by which share of the answer it lies above (below 0: under) it.
    """

    metric: str
    at: float
    worse: Size | None
    value: float | None
    margin: float | None
    preempts: Size | None
    preempts_margin: float | None

    @property
    def times(self) -> float | None:
        """How many times worse."""
        return self.value / self.at if self.value is not None and self.at > 0 else None


def cliff_of(
    axis: Axis,
    answer: Size,
    tried: "Mapping[Size, Mapping[str, Float[np.ndarray, ' run']]]",
    metric: str,
) -> Cliff:
    """What lies beyond an answer.

    Args:
        axis: along which to look: less memory, faster arrivals, fewer replicas.
        answer: one of `tried`.
        tried: sizes that differ on this axis alone.
        metric: a tail.
    """
    order = axis.harder_first(list(tried))
    beyond = order[order.index(answer) :: -1]  # the answer, then ever harder ones
    at = float(tried[answer][metric].max())
    worst = {size: float(tried[size][metric].max()) for size in beyond}
    worse = next((size for size in beyond[1:] if not worst[size] < TIMES_WORSE * at), None)
    preempts = next((size for size in order[::-1] if tried[size]["preemptions"].any()), None)
    return Cliff(
        metric,
        at,
        worse,
        None if worse is None else worst[worse],
        None if worse is None else abs(axis.of(worse) / axis.of(answer) - 1),
        preempts,
        None if preempts is None else axis.of(preempts) / axis.of(answer) - 1,
    )
