"""What a sweep found."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import xarray as xr

from fluidkv.answers.recommend.choosing import MARGIN, Choice
from fluidkv.answers.recommend.flags import IN_FRONT, flags_of, needs_of, without_flag
from fluidkv.answers.recommend.frontier import watermarks_alone
from fluidkv.answers.recommend.gains import Gains, Pick
from fluidkv.answers.recommend.likes import Likes
from fluidkv.answers.recommend.plan import Plan
from fluidkv.answers.recommend.plan import as_dict as of_plan
from fluidkv.answers.recommend.runs import Ran
from fluidkv.answers.recommend.what_if import WhatIf
from fluidkv.answers.served.bias import Bias, Totals
from fluidkv.answers.served.bias import as_dict as of_log
from fluidkv.answers.served.demand import mostly_start
from fluidkv.answers.served.paired import gained, within_noise
from fluidkv.answers.served.published import Published, misses_of
from fluidkv.answers.served.setting import KNOBS, Setting
from fluidkv.plain import finite
from fluidkv.record import Record
from fluidkv.serving.engines import CACHE


@dataclass(frozen=True)
class Picks(Record):
    """What to take, of three kinds of settings.

    Fields:
        of_engine: with flags of the engine, in any version that we know.
        at_hand: with flags that the server's version has; the same where it has all.
        in_front: also with what no engine has a flag for, a rate limiter or fewer clients.
    """

    of_engine: Pick
    at_hand: Pick
    in_front: Pick


@dataclass(frozen=True, eq=False)
class Recommendation(Record):
    """What a sweep found; indices are of settings.

    Fields:
        plan: what was asked for, and of whom.
        ran: what was run for it, metrics [setting, run].
        gains: of every setting on the server as it is.
        frontier: settings that no other beats in all objectives, by their means; of settings with
            the same means, the one with the fewest knobs turned.
        picks: what to take: nothing, of runs that are `all_start`.
        totals: what the log says of the run as a whole.
        version: of the server, where it is known.
        end_of_preemption: smallest watermark, all else as now, with which no run preempts; None
            if none that was tried, or if runs are `all_start`.
        unfinished: runs that did not end as runs of this kind should.
        likes: the picks, or what would be, on fresh draws; None: none was to be run.
        what_if: with more memory, longer prompts and so on; empty where it was not run.

    Examples:
        >>> mix = fk.Workload.from_lengths([(8, 10), (8, 20)])
        >>> small = {"requests": 104, "runs": 2, "backend": "reference"}
        >>> tried = {"max_num_seqs": [12], "watermark": [], "admission_rate": []}
        >>> found = fk.recommend_settings(mix, 400, candidates=tried, **small)
        >>> [setting.max_num_seqs for setting in found.settings]
        [None, 12]
        >>> found.flags(1), found.frontier, round(found.gain(1, "output_throughput"), 3)
        ((('--max-num-seqs', '12'),), (0, 1), -0.273)
    """

    plan: Plan
    ran: Ran
    gains: Gains
    frontier: tuple[int, ...]
    picks: Picks
    totals: Totals
    version: str | None
    end_of_preemption: int | None
    unfinished: int
    what_if: tuple[WhatIf, ...]
    likes: Likes | None

    @property
    def label(self) -> str:
        """The engine and its version as asked for, without what is said of a cache."""
        return self.plan.engine.label.replace(CACHE, "")

    @property
    def settings(self) -> tuple[Setting, ...]:
        """What was run; the first is how the server is set now."""
        return self.ran.settings

    @property
    def table(self) -> xr.Dataset:
        """Metrics [setting, run], from `fluidkv.runs.measuring`; coordinates are the knobs."""
        return self.ran.table

    @property
    def bias(self) -> Mapping[str, Bias]:
        """Metric -> measured beside simulated, now; empty where no log of this server is given."""
        return self.gains.bias

    @property
    def choice(self) -> Choice:
        """What to take of the settings that the engine has flags for."""
        return self.picks.of_engine.choice

    @property
    def candidate(self) -> int | None:
        """What would be taken if every simulated difference were one of the server."""
        return self.picks.of_engine.candidate

    @property
    def requests(self) -> int:
        """In each run."""
        return self.plan.size

    @property
    def iterations(self) -> int | None:
        """Where requests wait from the start, in all; None: runs go on until all are served."""
        return self.plan.horizon

    @property
    def warm_up(self) -> int:
        """Iterations of these that are left out."""
        return self.plan.warm_up * self.plan.every

    @property
    def throughput(self) -> str:
        """The metric to make large."""
        return self.plan.objectives[0]

    @property
    def tails(self) -> tuple[str, ...]:
        """The metrics of the frontier that are tails of times."""
        return self.plan.objectives[2:]

    @property
    def felt(self) -> tuple[str, ...]:
        """What the pick is about: the objective, then what else users feel."""
        return self.plan.felt.order

    @property
    def runs(self) -> int:
        """Runs of each setting, with other requests each."""
        return self.table.sizes["run"]

    @property
    def watermarks(self) -> tuple[int, ...]:
        """Settings that differ from now in the watermark only, ascending."""
        return watermarks_alone(self.settings)

    @property
    def all_start(self) -> bool:
        """Whether runs are too short for memory to be filled and emptied a few times."""
        return mostly_start(self.plan.demand, self.plan.equilibrium, self.requests)

    @property
    def free_prefill(self) -> bool:
        """Whether computing a lost prompt again costs no time, only a place in the batch."""
        return not self.plan.clock.prefills

    @property
    def left(self) -> bool:
        """Whether the server is left as it is although the rule alone would take something."""
        return self.choice.index == 0 and self.candidate not in (None, 0)

    @property
    def in_front(self) -> int | None:
        """What a rate limiter or fewer clients gain beyond the pick; None where they do not."""
        index = self.picks.in_front.index
        if index is None or not {*self.settings[index].changed(self.settings[0])} & {*IN_FRONT}:
            return None
        return index

    @property
    def to_take(self) -> bool:
        """Whether there is a setting to take, be it with a rate limiter in front."""
        return self.choice.index is not None or self.in_front is not None

    def mean(self, index: int, metric: str) -> float:
        """Over the runs of a setting; NaN where a run has no value."""
        return float(self.table[metric].values[index].mean())

    def gain(self, index: int, metric: str) -> float:
        """Of a setting against now, relative, by the means over runs, simulated both."""
        return gained(self.mean(index, metric), self.mean(0, metric))

    def depends_on(self, index: int) -> tuple[Published, ...]:
        """Published measurements that our predictions miss, of the knobs that a setting turns."""
        return misses_of(self.settings[index].changed(self.settings[0]))

    def as_fast(self, index: int) -> bool:
        """Whether its throughput is within `MARGIN` of the highest of all settings."""
        means = self.table[self.throughput].values.mean(axis=1)
        return bool(means[index] >= (1 - MARGIN) * means.max())

    def in_noise(self, index: int) -> bool:
        """Whether the runs do not tell its throughput from the highest of all settings."""
        speeds = self.table[self.throughput].values
        return within_noise(speeds[index], speeds[speeds.mean(axis=1).argmax()])

    def flags(self, index: int) -> tuple[tuple[str, str], ...]:
        """(flag, value) for what differs from now and has a flag in this engine."""
        return flags_of(self.plan.rules, self.settings[index], self.settings[0])

    def needs(self, index: int) -> tuple[tuple[str, str], ...]:
        """(flag, first version known to have it) for the flags that the server lacks."""
        return needs_of(self.plan.rules, self.settings[index], self.settings[0], self.version)

    def without_flag(self, index: int) -> tuple[str, ...]:
        """Knobs that differ from now and have no flag in this engine."""
        return without_flag(self.plan.rules, self.settings[index], self.settings[0])

    def to_xarray(self) -> "xr.Dataset":
        """Metrics [setting, run]; coordinates are the knobs."""
        return self.table

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, under keys that stay; docs/recommend.md lists them."""
        picks, index = self.picks, self.choice.index
        return {
            **of_plan(self.plan),
            "logged_version": self.version,
            "simulated": {
                "evidence": "sampled",
                "settings": len(self.settings),
                "settings_left_out": self.ran.left_out,
                "runs_each": self.runs,
                "requests_each": self.requests,
                "iterations": self.iterations,
                "warm_up": self.warm_up,
                "unfinished": self.unfinished,
                "all_start": self.all_start,
            },
            "nothing_to_gain": self.ran.nothing_to_gain,
            "now": self._row(0),
            "measured": of_log(self.bias) or None,
            "measured_preemptions": None
            if self.totals.preemptions is None
            else {"count": self.totals.preemptions, "counted": self.totals.counted},
            "pick": self._row(index),
            "candidate": self._row(self.candidate),
            "pick_at_hand": self._row(picks.at_hand.index),
            "pick_in_front": self._row(self.in_front),
            "closest": self._row(self.choice.closest),
            "flags": {} if index is None else dict(self.flags(index)),
            "needs": {} if index is None else dict(self.needs(index)),
            "published": [one.to_dict() for one in self.depends_on(self.candidate or 0)],
            "frontier": [self._row(index) for index in self.frontier],
            "end_of_preemption": None
            if self.end_of_preemption is None
            else self.settings[self.end_of_preemption].watermark,
            "draws": None if self.likes is None else self.likes.to_dict(),
            "what_if": [one.to_dict() for one in self.what_if],
        }

    def _row(self, index: int | None) -> dict[str, Any] | None:
        if index is None:
            return None
        rate = self.settings[index].admission_rate
        return {
            **{name: getattr(self.settings[index], name) for name in KNOBS},
            "admission_rate": None if rate is None else float(rate),
            "metrics": {
                str(name): finite(float(column.values[index].mean()))
                for name, column in self.table.data_vars.items()
            },
            "gains": {name: self.gains.of(index, name).to_dict() for name in self.felt}
            if index
            else {},
        }
