"""How far a simulation of a logged run is from the log: the error bar of every gain."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from jaxtyping import Float

from fluidkv.answers.replay.account import Account, of_log, of_run
from fluidkv.logs.timed import TimedRun

PARTS = 4
"""Parts of a log, one after the other, each compared by itself."""

OUTPUT = "output_throughput_per_time"


@dataclass(frozen=True)
class Bias:
    """One metric, measured and simulated as the server was set.

    Fields:
        measured, simulated: over the whole run, in the unit of the metric.
        parts: simulated over measured, less 1, in `PARTS` parts of the run; without those in which
            there is nothing to compare.
    """

    measured: float
    simulated: float
    parts: tuple[float, ...]

    @property
    def relative(self) -> float:
        """Simulated over measured, less 1, over the whole run."""
        return self.simulated / self.measured - 1

    @property
    def spread(self) -> float:
        """Standard deviation of the parts: what is off in one and made good in another counts."""
        return float(np.std(self.parts)) if self.parts else 0.0

    @property
    def error_bar(self) -> float:
        """What a gain has to exceed, relative: bias and spread together."""
        return abs(self.relative) + self.spread

    def gain(self, value: float, *, more_is_better: bool) -> float:
        """What a simulated setting gains on the server as it is, simulated or measured.

        Relative, the lesser of the two: a number that the log itself already has is no gain.
        """
        gains = [value / base - 1 for base in (self.simulated, self.measured)]
        return min(gains) if more_is_better else -max(gains)

    def as_dict(self) -> dict[str, float]:
        """Plain values for JSON."""
        return {
            "measured": self.measured,
            "simulated": self.simulated,
            "relative": self.relative,
            "spread": self.spread,
            "error_bar": self.error_bar,
        }


def biases(run: xr.Dataset, log: TimedRun, metrics: tuple[str, ...]) -> Mapping[str, Bias]:
    """A simulated run of a log against the log itself.

    Args:
        run: one run of all requests of the log, at its times and as its server was set.
        log: what was measured.
        metrics: `OUTPUT`, and percentiles of ttft, latency and tpot, "ttft_p99"; others are left
            out, since a log does not say them.

    Returns:
        Metric -> bias, of those that the log has.
    """
    durations = np.diff(log.tick_ends_s, prepend=log.tick_ends_s[0] - _first_tick(log))
    measured, simulated = of_log(log, durations), of_run(run, log, durations)
    found = {}
    for metric in metrics:
        if metric == OUTPUT:
            found[metric] = _of_output(measured, simulated, log, durations)
            continue
        name, _, level = metric.rpartition("_p")
        if name in ("ttft", "latency", "tpot") and level.isdigit():
            found[metric] = _of_percentile(measured, simulated, log, name, int(level) / 100)
    return {name: bias for name, bias in found.items() if math.isfinite(bias.error_bar)}


def _first_tick(log: TimedRun) -> float:
    return float(log.tick_ends_s[1] - log.tick_ends_s[0])


def _of_output(
    measured: Account, simulated: Account, log: TimedRun, durations: Float[np.ndarray, " tick"]
) -> Bias:
    """Tokens over the time from the first arrival to the last token; by parts, over their ticks."""
    tokens = float(log.decode_lengths.sum())
    whole = [tokens / float(a.last_token_s.max() - log.arrival_s[0]) for a in (measured, simulated)]
    start, end = float(log.arrival_s[0]), float(measured.last_token_s.max())
    of_tick = _part_of(log.tick_ends_s, start, end)
    parts = []
    for part in range(PARTS):
        here = of_tick == part
        made = float((measured.generated * durations)[here].sum())
        said = float((simulated.generated * durations)[here].sum())
        if made > 0:
            parts.append(said / made - 1)
    return Bias(whole[0], whole[1], tuple(parts))


def _of_percentile(
    measured: Account, simulated: Account, log: TimedRun, name: str, level: float
) -> Bias:
    """By parts: requests in order of arrival, as many in each."""
    theirs, ours = measured.latencies(log)[name], simulated.latencies(log)[name]
    order = np.argsort(log.arrival_s, kind="stable")
    parts = []
    for chosen in np.array_split(order, PARTS):
        made, said = _percentile(theirs[chosen], level), _percentile(ours[chosen], level)
        if made > 0 and math.isfinite(said):
            parts.append(said / made - 1)
    return Bias(_percentile(theirs, level), _percentile(ours, level), tuple(parts))


def _percentile(values: Float[np.ndarray, " request"], level: float) -> float:
    there = values[np.isfinite(values)]
    return float(np.quantile(there, level)) if there.size else math.nan


def _part_of(
    times: Float[np.ndarray, " tick"], start: float, end: float
) -> Float[np.ndarray, " tick"]:
    """The part of a run in which each time lies, 0 to `PARTS` - 1; other numbers are outside."""
    return np.floor((times - start) / (end - start) * PARTS)


def as_dict(bias: Mapping[str, Bias]) -> dict[str, Any]:
    """Plain values for JSON, by metric."""
    return {name: one.as_dict() for name, one in bias.items()}
