"""Sizes tried so far, and which to try next: a grid, then what lies at an edge."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
from jaxtyping import Bool

from fluidkv.answers.served.slo import Slo
from fluidkv.answers.size.plan import Plan
from fluidkv.answers.size.sizes import Edge, Size, between, close, edge_of, spread
from fluidkv.answers.size.trials import Values, measured_sizes

WITHIN = 0.01
"""An edge is narrowed until neighbours differ by no more than this share, or have none between."""
MOST_SIZES = 200
_GRID = 12  # sizes of the first batch
_FINEST = 2 * _GRID  # sizes up to which a grid is made finer, where no size meets all bounds
_AT_ONCE, _ONE_BY_ONE = 12, 3  # sizes between two neighbours, where a batch costs little, and not
_LOADS = (0.25, 2.5)  # of the first grid, in what memory carries in theory
_FURTHEST = (0.005, 20.0)  # loads beyond which no rate is tried
# Harder and easier than an answer, relative to it: how near the cliff is.
_LESS = (0.98, 0.955, 0.9, 0.8, 0.65, 0.5)
_MORE = (1.02, 1.05, 1.1, 1.25, 1.5, 2.0)

Told = Callable[[int, int, Size | None], None]
"""Told now and then: sizes tried, of about how many, and the answer so far."""


class Tried:
    """What was found so far.

    Args:
        plan: what is run.
        tell: see `Told`.
        total: sizes that will be tried, about.
        misses: runs that may miss what is asked.
        first: runs that are made first: a size that these refute is refuted; None: all at once.
    """

    def __init__(
        self,
        plan: Plan,
        tell: Told | None = None,
        total: int = 1,
        *,
        misses: int = 0,
        first: int | None = None,
    ) -> None:
        self.plan, self.axis, self.total = plan, plan.axis, total
        self.along: dict[Size, Values] = {}  # sizes that differ on the axis alone
        self.across: dict[Size, Values] = {}  # others
        self._tell, self._misses, self._first = tell, misses, first
        self._at_once = _ONE_BY_ONE if plan.one_by_one else _AT_ONCE
        if first is not None:
            self._at_once = 1

    def run(self, sizes: Iterable[Size], *, across: bool = False) -> None:
        """Try sizes that were not tried."""
        known = self.across if across else self.along
        new = [size for size in dict.fromkeys(sizes) if size not in known]
        # As they come where they go one by one: what is found so far is told on the way.
        for batch in [new] if self._at_once == _AT_ONCE else [[size] for size in new]:
            if batch:
                known |= self._measured(batch)
                self.tell(0)

    def _measured(self, sizes: list[Size]) -> dict[Size, Values]:
        """Of every run, or of the first few where these already refute a size."""
        tables = self.plan.tables
        if self._first is None or len(tables) <= self._first:
            return measured_sizes(self.plan, sizes)
        parts = (tables[: self._first], tables[self._first :])
        few, rest = (replace(self.plan, tables=part) for part in parts)
        found = measured_sizes(few, sizes)
        for size, values in found.items():
            if int((~met_by_run(values, self.plan.slos)).sum()) <= self._misses:
                more = measured_sizes(rest, [size])[size]
                found[size] = {n: np.concatenate([values[n], more[n]]) for n in values}
        return found

    def tell(self, more: int) -> None:
        """What is found here, and that so many sizes were tried elsewhere."""
        if self._tell is None:
            return
        edge, tried = self.edge(), len(self.along) + len(self.across) + more
        self._tell(tried, max(tried, self.total), None if edge is None else edge.answer)

    @property
    def hardest_first(self) -> dict[Size, Values]:
        """Sizes along the axis, in order."""
        return {size: self.along[size] for size in self.axis.harder_first(list(self.along))}

    def edge(self) -> Edge | None:
        """What the sizes say so far."""
        met = {size: met_by_run(values, self.plan.slos) for size, values in self.along.items()}
        every = len(self.plan.tables)
        enough = {s: m.size == every and int((~m).sum()) <= self._misses for s, m in met.items()}
        return edge_of(self.axis, enough)

    def finer(self, within: float) -> list[Size]:
        """Untried sizes between all neighbours, where each bound is met by some size tried.

        One bound may be met from some memory on and another up to some: both may hold in between,
        where a coarse grid has nothing. None where there are `_FINEST` sizes already.
        """
        order, slos = list(self.hardest_first), self.plan.slos
        some = (any(meets(found, [slo]) for found in self.along.values()) for slo in slos)
        if len(order) > _FINEST or not all(some):
            return []
        return [new for pair in pairwise(order) for new in self._between(*pair, within, 1)]

    def narrow(self, within: float) -> Size:
        """Try what lies at the edges until neighbours there are close; the answer then.

        Some size tried has to meet what is asked.
        """
        while True:
            edge = self.edge()
            assert edge is not None
            pairs = [(edge.blocker, edge.answer), (edge.ceiling, edge.too_easy)]
            new = [
                size
                for first, last in pairs
                if first and last
                for size in self._between(first, last, within, self._at_once)
            ]
            if not new or len(self.along) >= MOST_SIZES:
                return edge.answer
            self.run(new)

    def _between(self, first: Size, last: Size, within: float, count: int) -> list[Size]:
        """Sizes between two that are not close."""
        if close(self.axis, first, last, within):
            return []
        return between(self.axis, first, last, count)


def about(plan: Plan, *, against: bool) -> int:
    """How many sizes will be tried, roughly.

    Args:
        against: whether all is run again with the simulation's error.
    """
    narrowing = 8 if plan.one_by_one else 2 * _AT_ONCE
    beside = len(_LESS) + len(_MORE)
    again = len(_MORE) + 2 + narrowing if against else 0
    return _GRID + 1 + narrowing + beside + len(_MORE) + again


def meets(values: Values, slos: Sequence[Slo]) -> bool:
    """Whether a size meets every bound in every run, and serves all requests."""
    return bool(met_by_run(values, slos).all())


def met_by_run(values: Values, slos: Sequence[Slo]) -> Bool[np.ndarray, " run"]:
    """Which runs meet every bound, and serve all requests."""
    served = values["unfinished"] == 0
    each = [slo.met(values[slo.metric][:, None]) for slo in slos]
    return np.all([served, *each], axis=0)


# --- what to try --------------------------------------------------------------------------------


def base_of(plan: Plan) -> Size:
    """The server of which one thing is looked for: its arrivals as they are, one replica."""
    return Size(plan.today or plan.least)


def first_grid(plan: Plan) -> list[Size]:
    """Around what the theory says memory carries; memory for all requests; and today.

    What lies further out takes many iterations and is seldom where an answer is: `further` has it.
    """
    base, axis = base_of(plan), plan.axis
    if axis.find == "replicas":
        return [axis.at(base, count) for count in _replicas(plan)]
    if axis.find == "rate":
        slow, fast = (plan.speed_of(load, base) for load in _LOADS)
        now = [base] if plan.own_rate is not None else []
        return [*spread(axis, base, slow, fast, _GRID), *now]
    # A cap on running requests, or a burst, may leave a load that no memory carries.
    least = plan.load(axis.at(base, plan.most))
    large = plan.blocks_of(max(_LOADS[0], 1.02 * least))
    small = plan.blocks_of(max(_LOADS[1], 3 * least))
    ends = [min(max(end, plan.least), plan.most) for end in (small, large)]
    today = [base] if plan.today is not None and plan.today >= plan.least else []
    everything = axis.at(base, plan.most)
    grid = spread(axis, base, ends[0], ends[1], _GRID - 1)
    return [everything, *today, *grid[::-1]]  # first what may be an answer


def further(plan: Plan, tried: Sequence[Size], *, harder: bool) -> list[Size]:
    """Sizes beyond those tried, on one side; none where there are none."""
    axis = plan.axis
    order = axis.harder_first(tried)
    end = axis.of(order[0] if harder else order[-1])
    up = axis.easier_up != harder
    if axis.find == "rate":
        load = plan.load(order[0] if harder else order[-1])
        if not _FURTHEST[0] < load < _FURTHEST[1]:
            return []
        return [axis.at(order[0], end * (factor if up else 1 / factor)) for factor in (2.0, 5.0)]
    least, most = 1, min(map(len, plan.tables))
    if axis.find == "kv":
        least, most = plan.least, plan.most
    found = [min(end * factor, most) if up else max(end / factor, least) for factor in (1.5, 2.5)]
    return [size for size in (axis.at(order[0], each) for each in found) if size not in tried]


def _replicas(plan: Plan) -> list[int]:
    """Up to twice what the theory asks for, no more than there are requests."""
    enough = 2 * np.ceil(plan.load(base_of(plan))) + 2
    found = [count for step in range(20) for count in (2**step, 3 * 2**step)]
    most = min(map(len, plan.tables))
    return sorted(count for count in found if count <= min(enough, most))


def neighbours(plan: Plan, answer: Size) -> list[Size]:
    """Sizes around an answer: whether it holds beside it, and how near the cliff is."""
    axis, at = plan.axis, plan.axis.of(answer)
    if axis.find == "replicas":
        counts = {int(at) + step for step in (-2, -1, 1, 2)} | {int(2 * at)}
        most = min(map(len, plan.tables))
        return [axis.at(answer, count) for count in sorted(counts) if 1 <= count <= most]
    found = [axis.at(answer, at * factor) for factor in (*_LESS, *_MORE)]
    if axis.find == "kv":
        found = [size for size in found if plan.least <= size.blocks <= plan.most]
    return found


def easier(plan: Plan, answer: Size) -> list[Size]:
    """The answer and sizes that are easier, up to the easiest that is tried at all."""
    axis, at = plan.axis, plan.axis.of(answer)
    if axis.find == "rate":
        return [axis.at(answer, at * factor) for factor in (1.0, *_LESS)]
    most = plan.most if axis.find == "kv" else min(map(len, plan.tables))
    found = [axis.at(answer, min(at * factor, most)) for factor in (1.0, *_MORE)]
    if axis.find == "kv":
        return [*found, axis.at(answer, most)]
    return [*found, axis.at(answer, min(at + 1, most)), axis.at(answer, min(at + 2, most))]


def other_ways(plan: Plan, answer: Size) -> list[Size]:
    """At the answer, arrivals that come faster; with rates, less memory."""
    if plan.axis.find == "rate":
        found = [replace(answer, blocks=round(answer.blocks * factor)) for factor in _LESS]
        return [size for size in found if size.blocks >= plan.least]
    return [replace(answer, speed=answer.speed * factor) for factor in _MORE]
