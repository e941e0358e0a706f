"""What a pick gains on fresh draws: what holds for one log need not hold for its like.

A pick is the best of many settings on the requests that all of them served, so it looks better
there than it is. It is run again, beside the server as it is, on draws that chose nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from fluidkv.answers.recommend.choosing import MARGIN
from fluidkv.answers.recommend.gains import Gain, Gains, Pick
from fluidkv.answers.recommend.plan import Plan
from fluidkv.answers.recommend.runs import Backend, run_settings
from fluidkv.answers.served.demand import tables_of
from fluidkv.answers.served.fresh import HORIZON, Days, Horizon, days_like
from fluidkv.answers.served.setting import Setting
from fluidkv.errors import InputError
from fluidkv.record import Record
from fluidkv.traces import Trace
from fluidkv.workload import Workload

_SEEDS = 2**40  # above those of runs, so that a draw repeats none


@dataclass(frozen=True, eq=False)
class Likes(Record):
    """Some settings on fresh draws.

    Fields:
        indices: of the settings among all; the first is 0, the server as it is.
        gains: of these settings on the first, over draws.
        met: of each, draws that meet every SLO.
        days: what was drawn.
    """

    indices: tuple[int, ...]
    gains: Gains
    met: tuple[int, ...]
    days: Days

    @property
    def draws(self) -> int:
        return len(self.days.tables)

    def of(self, index: int, metric: str) -> Gain | None:
        """What a setting gains; None: it was not run."""
        if index not in self.indices:
            return None
        return self.gains.of(self.indices.index(index), metric)

    def holds(self, index: int, gains: Gains, *, for_slos: bool) -> bool:
        """Whether a pick is one on fresh draws too.

        Args:
            gains: on the requests that chose it.
            for_slos: whether it was chosen since the server as it is misses an SLO.
        """
        place = self.indices.index(index)
        if for_slos:
            return self.met[place] >= self.met[0]
        felt = gains.felt.order
        lost = [self.gains.of(place, metric) for metric in felt]
        if any(gain.relative < -MARGIN and -gain.paired > gain.half for gain in lost):
            return False
        sold = [metric for metric in felt if gains.of(index, metric).counts]
        return any(self.gains.of(place, metric).counts for metric in sold)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        stretch = self.days.stretch
        felt = self.gains.felt.order
        return {
            "count": self.draws,
            "requests": self.days.requests,
            "stretch": None if stretch is None else stretch.to_dict(),
            "settings": [
                {
                    "setting": index,
                    "meet_slos": self.met[place],
                    "gains": {name: self.gains.of(place, name).to_dict() for name in felt}
                    if index
                    else {},
                }
                for place, index in enumerate(self.indices)
            ],
        }


def days_of(source: Workload | Trace, plan: Plan, draws: int, horizon: Horizon, seed: int) -> Days:
    """Fresh draws of what was run.

    Raises:
        InputError: a horizon in seconds of requests that come at no rate, or any where all wait
            from the start.
    """
    demand, clock = plan.demand, plan.clock
    if plan.window is not None:
        log = plan.window.drawn_from(source)
        if plan.window.rate is not None:
            caching = plan.engine.finds_prefixes
            how = {"usual": min(len(log), HORIZON), "caching": caching, "seed": seed}
            return days_like(log, draws, horizon, demand, clock, **how)
    size = plan.size
    if horizon != Horizon():
        if demand.kind == "saturated" or (horizon.seconds is not None and demand.rate is None):
            allowed = "a number of requests that come at a rate, or from clients"
            raise InputError("horizon", str(horizon.requests or horizon.seconds), allowed)
        size = horizon.of(demand.rate or 0.0)
    workload = source.workload() if isinstance(source, Trace) else source
    if demand.kind == "replay":  # all at once: there is nothing to draw but who comes
        demand = replace(demand, replay=False, speed=1.0)
    tables = tables_of(source, workload, demand, clock, size, draws, seed + _SEEDS)
    return Days(tables, (None,) * draws, None)


def likes_of(
    plan: Plan, settings: Sequence[Setting], indices: Sequence[int], days: Days, backend: Backend
) -> Likes:
    """Settings, and the server as it is, on fresh draws."""
    places = (0, *(index for index in indices if index))
    fresh = replace(plan, tables=list(days.tables), prompts=tuple(days.prompts))
    ran = run_settings(fresh, [settings[index] for index in places], backend)
    gains = Gains(ran.table, None, {}, plan.felt, days.widen)
    asked = [slo.over(days.requests / plan.size) for slo in plan.asked]
    met = tuple(
        sum(
            all(bool(slo.met(ran.table[slo.metric].values[[place]][:, [run]])[0]) for slo in asked)
            for run in range(len(days.tables))
        )
        for place in range(len(places))
    )
    return Likes(places, gains, met, days)


def pick_that_holds(pick: Pick, likes: Likes, gains: Gains) -> Pick:
    """The pick where it is one on fresh draws too; else the server as it is."""
    index = pick.index
    if not index or index not in likes.indices:
        return pick
    for_slos = 0 not in pick.choice.allowed
    if likes.holds(index, gains, for_slos=for_slos):
        return pick
    return replace(pick, choice=replace(pick.choice, index=0))
