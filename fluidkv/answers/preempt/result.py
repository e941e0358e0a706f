"""What `fluidkv preempt` reports."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import xarray as xr

from fluidkv.answers.preempt.effects import Effects
from fluidkv.answers.preempt.objectives import Objectives
from fluidkv.answers.preempt.pick import Aim, Pick
from fluidkv.answers.preempt.rules import PROPOSED, RELEASED, Combination
from fluidkv.answers.served import bias as of_log
from fluidkv.answers.served.clock import clock_values
from fluidkv.answers.served.demand import Demand
from fluidkv.answers.served.paired import CONFIDENCE, Against
from fluidkv.answers.served.slo import first_tokens
from fluidkv.answers.served.window import Window
from fluidkv.plain import finite
from fluidkv.preempt.slo import MeanTimes
from fluidkv.record import Record
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.limits import Limits
from fluidkv.serving.rules import EngineRules


@dataclass(frozen=True, eq=False)
class PreemptAnswer(Record):
    """Every combination of rules on one workload; indices are of combinations.

    Fields:
        engine: whose rules surround those that are compared.
        limits: memory and caps, and what swapping costs.
        demand, clock: who asks, and how long an iteration lasts.
        objectives: what was asked for each request; None: nothing.
        times: the mean times that a scale of objectives is a multiple of; else None.
        combinations: a full grid; the first is what the engine does.
        table: metrics [combination, run]; all combinations serve the same requests in a run.
        against: metric -> difference from the first combination.
        pairs: what it is taken over: "run", or "segment" of the one run of a trace.
        effects: metric -> what each of the four values explains, where anything differs.
        aims, pick: what is to be had, and what to take.
        knows: combinations that look at true lengths, as no server can: as predictions, or as
            `max_tokens`.
        bias: metric -> measured beside simulated, of the first combination; empty without a log.
        requests: in each run.
        window: what they are of a trace that is replayed; None: they are drawn.
        seed: of the first run.

    Examples:
        >>> from fluidkv.serving import Victim
        >>> mix, victims = fk.Workload.from_lengths([(8, 10), (30, 20)]), [Victim.MOST_BLOCKS]
        >>> small = {"requests": 40, "seeds": 2, "backend": "reference"}
        >>> found = fk.preempt_study(mix, fk.Limits(128, 4), victims=victims, **small)
        >>> [aim.metric for aim in found.aims], found.pick.index
        (['throughput', 'longest_gap_p99'], 0)
        >>> found.against["preemptions"].mean, dict(found.table.preemptions.sizes)
        (array([ 0.        , -0.37288136]), {'combination': 2, 'run': 2})
    """

    engine: EngineRules
    limits: Limits
    demand: Demand
    clock: IterationClock
    objectives: Objectives | None
    times: MeanTimes | None
    combinations: tuple[Combination, ...]
    table: xr.Dataset
    against: Mapping[str, Against]
    pairs: str
    effects: Mapping[str, Effects]
    aims: tuple[Aim, ...]
    pick: Pick
    knows: tuple[int, ...]
    bias: Mapping[str, of_log.Bias]
    requests: int
    window: Window | None
    seed: int

    @property
    def runs(self) -> int:
        """Of each combination, with other requests each."""
        return self.table.sizes["run"]

    @property
    def throughput(self) -> str:
        """The metric of throughput on this clock."""
        return throughput_of(self.clock)

    @property
    def free_prefill(self) -> bool:
        """Whether computing again costs no time on this clock, only tokens of a batch."""
        return not self.clock.prefills

    @property
    def first_tokens(self) -> bool:
        """Whether times to first token are said."""
        return first_tokens(self.demand, self.clock)

    @property
    def ranked(self) -> tuple[int, ...]:
        """The engine's own first; then by the first aim, the best first, and in it by the others.

        Numbers that are alike as shown, to three digits, count as equal.
        """

        def place(index: int) -> tuple[float, ...]:
            values = [-aim.sign * self.mean(index, aim.metric) for aim in self.aims]
            shown = [float(f"{value:.3g}") for value in values]
            return (float(index != 0), *(v if math.isfinite(v) else math.inf for v in shown))

        return tuple(sorted(range(len(self.combinations)), key=place))

    @property
    def unfinished(self) -> tuple[int, ...]:
        """Combinations of which a run did not end."""
        ended = self.table.ended.values.all(axis=1)
        return tuple(i for i, there in enumerate(ended) if not there)

    def mean(self, index: int, metric: str) -> float:
        """Over the runs of a combination; NaN where a run has no value."""
        return float(self.table[metric].values[index].mean())

    def to_xarray(self) -> "xr.Dataset":
        """Metrics [combination, run]; coordinates are the four choices."""
        return self.table

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; docs/json.md lists the keys."""
        clock, swap, asked = self.clock, self.limits.swap, self.objectives
        return {
            "engine": {"name": self.engine.name, "version": self.engine.version},
            "capacity": self.limits.capacity,
            "block_size": self.limits.block_size,
            "max_num_seqs": self.limits.max_num_seqs,
            "max_num_batched_tokens": self.limits.max_num_batched_tokens,
            "swap": {
                "per_token": swap.per_token,
                "per_copy": swap.per_copy,
                "pool": swap.pool,
                "sweet_spot": swap.sweet_spot,
                "shared": swap.shared,
            },
            "demand": {
                "kind": self.demand.kind,
                "rate": self.demand.rate,
                "clients": self.demand.clients,
                "speed": self.demand.speed,
            },
            "clock": clock_values(clock),
            "objectives": None
            if asked is None
            else {
                "ttft": asked.ttft,
                "tbt": asked.tbt,
                "scale": asked.scale and list(asked.scale),
                "mean_ttft": self.times and finite(self.times.ttft),
                "mean_tbt": self.times and finite(self.times.tbt),
            },
            "evidence": "sampled",
            "runs": self.runs,
            "requests": self.requests,
            "window": None if self.window is None else self.window.to_dict(),
            "pairs": self.pairs,
            "seed": self.seed,
            "confidence": CONFIDENCE,
            "combinations": [self._row(index) for index in range(len(self.combinations))],
            "effects": {metric: found.to_dict() for metric, found in self.effects.items()},
            "aims": {aim.metric: aim.sign for aim in self.aims},
            "pick": {
                "index": self.pick.index,
                "better": list(self.pick.better),
                "close": list(self.pick.close),
                "by": self.pick.by,
                "wins": self.pick.wins,
                "untold": list(self.pick.untold),
            },
            "measured": of_log.as_dict(self.bias) or None,
        }

    def _row(self, index: int) -> dict[str, Any]:
        combination = self.combinations[index]
        rules = (combination.victim, combination.restore, combination.allocation)
        return {
            **combination.names,
            "knows_lengths": index in self.knows,
            "released": [RELEASED.get(rule) for rule in rules],
            "proposed": [PROPOSED.get(rule) for rule in rules],
            "metrics": {
                str(name): finite(column.values[index].astype(float).tolist())
                for name, column in self.table.data_vars.items()
            },
            "score": finite(self.pick.scores[index]),
            "against": {name: found.row(index) for name, found in self.against.items()},
        }


def throughput_of(clock: IterationClock) -> str:
    """Requests a second, or an iteration."""
    return "throughput_per_time" if clock.unit == "s" else "throughput"
