"""Sizes that are enough for nearly every draw of the requests, not only for those of the log."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from fluidkv.answers.served.fresh import LEFT_OPEN, Stretch, misses_allowed, share_of
from fluidkv.answers.served.slo import Slo
from fluidkv.answers.size.plan import Plan
from fluidkv.answers.size.search import Tried
from fluidkv.answers.size.sizes import Edge, Size
from fluidkv.answers.size.trials import Values
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
        slos: what has to hold in a draw.
        draws: how many; horizon: requests of each.
        misses: how many may miss.
        stretch: what they are like; None: a mix, with Poisson arrivals.
        left_open: share of other days that is given to logs unlike their days.
    """

    edge: Edge | None
    along: Mapping[Size, Values]
    slos: tuple[Slo, ...]
    draws: int
    horizon: int
    misses: int
    stretch: Stretch | None
    left_open: float = 0.0

    @property
    def share(self) -> float:
        """Of other draws of a mix, how many meet it at least; of days of a log an estimate."""
        return share_of(self.draws, self.misses, self.left_open)


@dataclass(frozen=True, eq=False)
class Against(Record):
    """What is found if the server is slower than the simulation, by its error bar on the log.

    Fields:
        bar: by which share every iteration lasts longer.
        edge: where the sizes that meet what is asked begin then; None: none tried does.
        along: the sizes tried so, hardest first.
    """

    bar: float
    edge: Edge | None
    along: Mapping[Size, Values]


def nearly_every(draws: Plan, start: Size, within: float, tell: Callable[[int], None]) -> Nearly:
    """The hardest size from `start` on that nearly every fresh draw meets.

    Easier ones are tried until one does, and then those between it and the last that does not.

    Args:
        draws: their plan.
        start: what the log by itself needs, where no harder size is looked for.
        within: how near the sizes on both sides of the edge are to be; no nearer than 2 %.
        tell: told how many sizes were tried.
    """
    if not draws.holds(start):
        start = replace(start, blocks=draws.least)
    count, left_open = len(draws.tables), LEFT_OPEN if draws.sample else 0.0
    misses = misses_allowed(count, left_open)
    tried = Tried(draws, lambda tried, *_: tell(tried), misses=misses, first=_FEW)
    for size in _easier(draws, start):
        tried.run([size])
        if tried.edge() is not None:
            tried.narrow(max(within, _NEAR))
            break
    return Nearly(
        edge=tried.edge(),
        along=tried.hardest_first,
        slos=draws.slos,
        draws=count,
        horizon=max(map(len, draws.tables)),
        misses=misses,
        stretch=draws.stretch,
        left_open=left_open,
    )


def _easier(draws: Plan, start: Size) -> list[Size]:
    axis, at = draws.axis, draws.axis.of(start)
    if axis.find == "replicas":
        most = min(map(len, draws.tables))
        counts = [at + step for step in (0, 1, 2, 3)] + [at * each for each in _STEPS[7:]]
        return [axis.at(start, min(each, most)) for each in dict.fromkeys(counts)]
    return [axis.at(start, at * each if axis.easier_up else at / each) for each in _STEPS]
