"""What a pick gains on fresh draws: what holds for one log need not hold for its like.

A pick is the best of many settings on the requests that all of them served, so it looks better
there than it is. It is run again, beside the server as it is, on draws that chose nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fluidkv.answers.recommend.choosing import Gains
from fluidkv.answers.recommend.records import MARGIN, Choice, Gain
from fluidkv.answers.recommend.runs import Backend, Plan, run_settings
from fluidkv.answers.served.demand import tables_of
from fluidkv.answers.served.experiment import workload_of
from fluidkv.answers.served.fresh import Days, Horizon
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

    def that_holds(self, choice: Choice, gains: Gains) -> Choice:
        """The choice where it is one on fresh draws too; else the server as it is.

        Args:
            choice: of the settings.
            gains: on the requests that chose it.
        """
        index = choice.index
        if not index or index not in self.indices:
            return choice
        for_slos = 0 not in choice.allowed  # since the server as it is misses one
        return choice if self._holds(index, gains, for_slos) else replace(choice, index=0)

    def _holds(self, index: int, gains: Gains, for_slos: bool) -> bool:
        place = self.indices.index(index)
        if for_slos:
            return self.met[place] >= self.met[0]
        felt = gains.felt
        fresh = {metric: self.gains.of(place, metric) for metric in felt}
        if any(gain.relative < -MARGIN and -gain.paired > gain.half for gain in fresh.values()):
            return False
        return any(gains.of(index, name).counts and fresh[name].counts for name in felt)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        stretch = self.days.stretch
        felt = self.gains.felt
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


def days_of(source: Workload | Trace, plan: Plan, draws: int, horizon: Horizon) -> Days:
    """Fresh draws of what was run.

    Raises:
        InputError: a horizon in seconds of requests that come at no rate, or any where all wait
            from the start.
    """
    days = plan.days_like(source, draws, horizon, plan.engine.finds_prefixes)
    if days is not None:
        return days
    demand = plan.demand
    size = plan.size
    if horizon != Horizon():
        if demand.kind == "saturated" or (horizon.seconds is not None and demand.rate is None):
            allowed = "a number of requests that come at a rate, or from clients"
            raise InputError("horizon", str(horizon.requests or horizon.seconds), allowed)
        size = horizon.of(demand.rate or 0.0)
    if demand.kind == "replay":  # all at once: there is nothing to draw but who comes
        demand = replace(demand, replay=False, speed=1.0)
    workload = workload_of(source)
    tables = tables_of(source, workload, demand, plan.clock, size, draws, plan.seed + _SEEDS)
    return Days(tables, (None,) * draws, None)


def likes_of(
    plan: Plan, settings: Sequence[Setting], indices: Sequence[int], days: Days, backend: Backend
) -> Likes:
    """Settings, and the server as it is, on fresh draws."""
    places = (0, *indices)
    ran = run_settings(plan.on(days), [settings[index] for index in places], backend)
    gains = Gains(ran.table, None, {}, plan.felt, days.widen)
    fine = np.ones((len(places), len(days.tables)), bool)
    for slo in plan.asked:
        values = ran.table[slo.metric].values.reshape(-1, 1)
        fine &= slo.over(days.requests / plan.size).met(values).reshape(fine.shape)
    return Likes(places, gains, tuple(fine.sum(axis=1).tolist()), days)
