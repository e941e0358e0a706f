"""Sizes that are enough for nearly every draw of the requests, not only for those of the log."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from fluidkv.answers.served.fresh import LEFT_OPEN, Stretch, misses_allowed, share_of
from fluidkv.answers.size.edge import Edge
from fluidkv.answers.size.plan import Plan
from fluidkv.answers.size.search import close, met_by_run
from fluidkv.answers.size.sizes import Size, between
from fluidkv.answers.size.trials import Values, measured_sizes
from fluidkv.record import Record

_FEW = 4  # draws that are run first: a size that these refute is refuted
_STEPS = (1.0, 1.05, 1.1, 1.2, 1.35, 1.6, 2.0, 2.5, 3.5, 5.0, 8.0)
_NEAR = 0.02  # as near as chance of so few draws allows


@dataclass(frozen=True, eq=False)
class Nearly(Record):
    """What fresh draws need.

    Fields:
        edge: the hardest size that nearly every draw meets, of those tried, and the next one, which
            it does not; None: none tried does.
        along: size -> metrics of each draw, hardest first; of a size that the first draws refute,
            of these.
        draws: how many; horizon: requests of each.
        misses: how many may miss.
        stretch: what they are like; None: a mix, with Poisson arrivals.
        left_open: share of other days that is given to logs unlike their days.
    """

    edge: Edge | None
    along: Mapping[Size, Values]
    draws: int
    horizon: int
    misses: int
    stretch: Stretch | None
    left_open: float = 0.0

    @property
    def share(self) -> float:
        """Of other draws of a mix, how many meet it at least; of days of a log an estimate."""
        return share_of(self.draws, self.misses, self.left_open)


def nearly_every(plan: Plan, start: Size, within: float, tell: Callable[[int], None]) -> Nearly:
    """The hardest size from `start` on that nearly every fresh draw meets.

    Easier ones are tried until one does, and then those between it and the last that does not.

    Args:
        start: what the log by itself needs, where no harder size is looked for.
        within: how near the sizes on both sides of the edge are to be; no nearer than 2 %.
        tell: told how many sizes were tried.
    """
    draws = len(plan.fresh)
    left_open = LEFT_OPEN if plan.sample else 0.0
    misses, along = misses_allowed(draws, left_open), dict[Size, Values]()

    def enough(size: Size) -> bool:
        if size not in along:
            along[size] = _tried(plan, size, misses)
            tell(len(along))
        met = met_by_run(along[size], plan.slos_of_draws)
        return len(met) == draws and int((~met).sum()) <= misses

    axis, last, answer = plan.axis, None, None
    for size in _easier(plan, start):
        if enough(size):
            answer = size
            break
        last = size
    while answer is not None and last is not None:
        if close(axis, last, answer, max(within, _NEAR)):
            break
        new = between(axis, last, answer, 1)
        if not new:
            break
        last, answer = (last, new[0]) if enough(new[0]) else (new[0], answer)
    edge = None if answer is None else Edge(answer, last, None, None, ())
    order = {size: along[size] for size in axis.harder_first(list(along))}
    longest = max(map(len, plan.fresh))
    return Nearly(edge, order, draws, longest, misses, plan.stretch, left_open)


def _easier(plan: Plan, start: Size) -> list[Size]:
    axis, at = plan.axis, plan.axis.of(start)
    if axis.find == "replicas":
        most = min(map(len, plan.fresh))
        counts = [at + step for step in (0, 1, 2, 3)] + [at * each for each in _STEPS[7:]]
        return [axis.at(start, min(each, most)) for each in dict.fromkeys(counts)]
    return [axis.at(start, at * each if axis.easier_up else at / each) for each in _STEPS]


def _tried(plan: Plan, size: Size, misses: int) -> Values:
    """Of every draw, or of the first few where these already refute it."""
    first = _measured(plan, size, slice(0, _FEW))
    if int((~met_by_run(first, plan.slos_of_draws)).sum()) > misses or len(plan.fresh) <= _FEW:
        return first
    rest = _measured(plan, size, slice(_FEW, None))
    return {name: np.concatenate([first[name], rest[name]]) for name in first}


def _measured(plan: Plan, size: Size, part: slice) -> Values:
    server = replace(plan.server, tables=plan.fresh[part], every=plan.every_fresh)
    return measured_sizes(server, [size])[size]
