"""What a sweep found, as plain values."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import xarray as xr

from fluidkv.answers.recommend.frontier import MARGIN, Choice, watermarks_alone
from fluidkv.answers.served import bias as of_log
from fluidkv.answers.served.demand import Demand, mostly_start
from fluidkv.answers.served.paired import within_noise
from fluidkv.answers.served.setting import KNOBS, Setting
from fluidkv.answers.served.slo import Slo
from fluidkv.exact.survival import Equilibrium
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.limits import Limits
from fluidkv.serving.rules import EngineRules

_FIRST_KNOWN = {("vllm", "--watermark"): "0.33.0"}
"""(engine, flag) -> the first version that we know to have it.

Pull request 44594 of vLLM brought the watermark after 0.24.0; our records are of 0.33.0.
"""


@dataclass(frozen=True, eq=False)
class Recommendation:
    """What a sweep found; indices are of settings.

    Fields:
        engine: its rules.
        caching: whether a preempted request finds what is left of itself in a prefix cache.
        limits: capacity, block size and token budget, which all settings share.
        demand: who asked.
        clock: how long an iteration lasts.
        equilibrium: of the mass model at this capacity; where the rate caps come from.
        settings: what was tried; the first is how the server is set now.
        table: metrics [setting, run], from `fluidkv.runs.measuring`; coordinates are the knobs.
        objectives: metrics that the frontier is about; the first is the throughput.
        frontier: settings that no other beats in all objectives, by their means; of settings with
            the same means, the one with the fewest knobs turned.
        slos, choice: what was asked, and what to take: nothing, of runs that are `all_start`.
        candidate: what would be taken if the simulation were exact; another than `choice.index`
            where all that it gains is no more than the simulation misses on the log.
        bias: metric -> measured beside simulated, now; empty where no log of this server is given.
        end_of_preemption: smallest watermark, all else as now, with which no run preempts; None
            if none that was tried, or if runs are `all_start`.
        requests: in each run.
        warm_up, iterations: where requests wait from the start, iterations left out, and in all;
            0 and None where runs go on until every request is served.
        unfinished: runs that did not end as runs of this kind should.
    """

    engine: EngineRules
    caching: bool
    limits: Limits
    demand: Demand
    clock: IterationClock
    equilibrium: Equilibrium
    settings: tuple[Setting, ...]
    table: xr.Dataset
    objectives: tuple[str, ...]
    frontier: tuple[int, ...]
    slos: tuple[Slo, ...]
    choice: Choice
    candidate: int | None
    bias: Mapping[str, of_log.Bias]
    end_of_preemption: int | None
    requests: int
    warm_up: int
    iterations: int | None
    unfinished: int

    @property
    def throughput(self) -> str:
        """The metric to make large."""
        return self.objectives[0]

    @property
    def tails(self) -> tuple[str, ...]:
        """The metrics of the frontier that are tails of times."""
        return self.objectives[2:]

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
        return mostly_start(self.demand, self.equilibrium, self.requests)

    @property
    def free_prefill(self) -> bool:
        """Whether computing a lost prompt again costs no time, only a place in the batch."""
        return not self.clock.prefills

    def mean(self, index: int, metric: str) -> float:
        """Over the runs of a setting; NaN where a run has no value."""
        return float(self.table[metric].values[index].mean())

    def gain(self, index: int, metric: str) -> float:
        """Of a setting against now, relative, by the means over runs."""
        return self.mean(index, metric) / self.mean(0, metric) - 1

    @property
    def left(self) -> bool:
        """Whether the server is left as it is because no gain exceeds what is off on the log."""
        return self.choice.index == 0 and self.candidate not in (None, 0)

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
        known = dict(self.engine.flags)
        setting = self.settings[index]
        return tuple(
            (known[name], _spelled(getattr(setting, name)))
            for name in setting.changed(self.settings[0])
            if name in known
        )

    def needs(self, index: int, version: str | None) -> tuple[tuple[str, str], ...]:
        """(flag, first version known to have it) for the flags that an older server lacks.

        Args:
            version: of the server, "0.19.0"; None, or one that is no list of numbers: not known.
        """
        there = _numbers(version)
        return tuple(
            (flag, first)
            for flag, _ in self.flags(index)
            for known, first in _FIRST_KNOWN.items()
            if known == (self.engine.name, flag) and there and there < _numbers(first)
        )

    def without_flag(self, index: int) -> tuple[str, ...]:
        """Knobs that differ from now and have no flag in this engine."""
        changed = self.settings[index].changed(self.settings[0])
        return tuple(name for name in changed if name not in dict(self.engine.flags))

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON, under keys that stay."""
        choice = self.choice
        return {
            "engine": {"name": self.engine.name, "version": self.engine.version},
            "prefix_cache": self.caching,
            "capacity": self.limits.capacity,
            "block_size": self.limits.block_size,
            "max_num_batched_tokens": self.limits.max_num_batched_tokens,
            "demand": {"kind": self.demand.kind}
            | {
                name: getattr(self.demand, name)
                for name in ("rate", "clients", "speed")
                if getattr(self.demand, name) not in (None, 1.0)
            },
            "clock": {
                "unit": self.clock.unit,
                "base": self.clock.base,
                "per_kv_token": self.clock.per_kv_token,
                "per_prefill_token": self.clock.per_prefill_token,
                "per_prefill_pair": self.clock.per_prefill_pair,
            },
            "equilibrium": {
                "rate": float(self.equilibrium.rate),
                "in_flight": float(self.equilibrium.in_flight),
            },
            "simulated": {
                "evidence": "sampled",
                "settings": len(self.settings),
                "runs_each": self.runs,
                "requests_each": self.requests,
                "iterations": self.iterations,
                "warm_up": self.warm_up,
                "unfinished": self.unfinished,
                "all_start": self.all_start,
            },
            "slos": {slo.metric: slo.bound for slo in self.slos},
            "now": self._row(0),
            "pick": None if choice.index is None else self._row(choice.index),
            "candidate": None if self.candidate is None else self._row(self.candidate),
            "measured": of_log.as_dict(self.bias) or None,
            "closest": None if choice.closest is None else self._row(choice.closest),
            "flags": {} if choice.index is None else dict(self.flags(choice.index)),
            "frontier": [self._row(index) for index in self.frontier],
            "end_of_preemption": None
            if self.end_of_preemption is None
            else self.settings[self.end_of_preemption].watermark,
        }

    def _row(self, index: int) -> dict[str, Any]:
        rate = self.settings[index].admission_rate
        return {
            **{name: getattr(self.settings[index], name) for name in KNOBS},
            "admission_rate": None if rate is None else float(rate),
            "metrics": {
                str(name): _number(float(column.values[index].mean()))
                for name, column in self.table.data_vars.items()
            },
        }


def _numbers(version: str | None) -> tuple[int, ...]:
    """The numbers that a version begins with: () for none."""
    found = re.match(r"\d+(\.\d+)*", version or "")
    return tuple(int(part) for part in found[0].split(".")) if found else ()


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _spelled(value: float | int | None) -> str:
    return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
