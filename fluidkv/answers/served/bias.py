"""How far a simulation of a logged run is from the log: the error bar of every gain."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from jaxtyping import Float

from fluidkv.answers.replay.account import Account, of_log, of_run
from fluidkv.answers.served.paired import gained
from fluidkv.answers.served.segments import SEGMENTS, paces, percentile, percentiles
from fluidkv.logs.timed import TimedRun
from fluidkv.record import Record

OUTPUT = "output_throughput_per_time"


@dataclass(frozen=True)
class Totals(Record):
    """What a log says of a run as a whole, and of no request. None: it does not say.

    Fields:
        duration_s: from the first arrival to the last token.
        preemptions: at least so many; just so many where they are `counted`.
    """

    duration_s: float | None = None
    preemptions: int | None = None
    counted: bool = False


@dataclass(frozen=True)
class Bias(Record):
    """One metric, measured and simulated as the server was set.

    Fields:
        measured, simulated: over the whole run, in the unit of the metric.
        parts: simulated over measured, less 1, in `SEGMENTS` parts of the run, as `segments` has
            them; without those in which there is nothing to compare.
    """

    measured: float
    simulated: float
    parts: tuple[float, ...]

    @property
    def relative(self) -> float:
        """Simulated over measured, less 1, over the whole run."""
        return self.simulated / self.measured - 1 if self.measured else math.nan

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
        gains = [gained(value, base) for base in (self.simulated, self.measured)]
        return min(gains) if more_is_better else -max(gains)

    def to_dict(self) -> dict[str, float]:
        """Plain values for JSON."""
        return {
            "measured": self.measured,
            "simulated": self.simulated,
            "relative": self.relative,
            "spread": self.spread,
            "error_bar": self.error_bar,
        }


def biases(
    run: xr.Dataset,
    log: TimedRun,
    metrics: tuple[str, ...],
    bounds: Mapping[str, float] | None = None,
    totals: Totals | None = None,
) -> Mapping[str, Bias]:
    """A simulated run of a log against the log itself.

    Args:
        run: one run of all requests of the log, at its times and as its server was set.
        log: what was measured.
        metrics: `OUTPUT`, and percentiles of ttft, latency and tpot, "ttft_p99"; others are left
            out, since a log does not say them. "goodput" where there are bounds.
        bounds: most of ttft, latency and tpot for each request, seconds.
        totals: where the log has no time of a last token.

    Returns:
        Metric -> bias, of those that the log has.
    """
    durations = np.diff(log.tick_ends_s, prepend=log.tick_ends_s[0] - _first_tick(log))
    measured, simulated = of_log(log, durations), of_run(run, log, durations)
    found = {}
    for metric in metrics:
        if metric == OUTPUT:
            of = _of_output if np.isfinite(log.last_token_s).all() else _of_rows
            found[metric] = of(measured, simulated, log, durations, totals or Totals())
            continue
        if metric == "goodput" and bounds:
            found[metric] = _of_goodput(measured, simulated, log, bounds)
            continue
        name, _, level = metric.rpartition("_p")
        if name in ("ttft", "latency", "tpot") and level.isdigit():
            found[metric] = _of_percentile(measured, simulated, log, name, int(level) / 100)
    return {name: bias for name, bias in found.items() if math.isfinite(bias.error_bar)}


def _first_tick(log: TimedRun) -> float:
    return float(log.tick_ends_s[1] - log.tick_ends_s[0])


def _of_output(
    measured: Account,
    simulated: Account,
    log: TimedRun,
    durations: Float[np.ndarray, " tick"],
    _: Totals,
) -> Bias:
    """Tokens over the time from the first arrival to the last token; of parts, their paces."""
    tokens, start = float(log.decode_lengths.sum()), float(log.arrival_s[0])
    whole, parts = [], []
    for account in (measured, simulated):
        whole.append(tokens / float(account.last_token_s.max() - start))
        made = account.generated * durations
        since = np.maximum(log.tick_ends_s - start, 0.0)  # ticks may begin before the first arrival
        parts.append(paces(made, since))
    return Bias(whole[0], whole[1], _apart(*parts))


def _of_rows(
    measured: Account,
    simulated: Account,
    log: TimedRun,
    durations: Float[np.ndarray, " tick"],
    totals: Totals,
) -> Bias:
    """Of a log that may end before the run: parts are of the logged time, each by its tokens."""
    tokens = float(log.decode_lengths.sum())
    ended = float(simulated.last_token_s.max() - log.arrival_s[0])
    whole = tokens / (totals.duration_s or math.nan), tokens / ended
    of_tick = np.ceil(np.arange(1, durations.size + 1) / durations.size * SEGMENTS)
    made, said = (
        np.array([(a.generated * durations)[of_tick == k].sum() for k in range(1, SEGMENTS + 1)])
        for a in (measured, simulated)
    )
    return Bias(*whole, _apart(made, said))


def _of_percentile(
    measured: Account, simulated: Account, log: TimedRun, name: str, level: float
) -> Bias:
    order = np.argsort(log.arrival_s, kind="stable")
    theirs, ours = (getattr(account, name)[order] for account in (measured, simulated))
    return Bias(
        percentile(theirs, level),
        percentile(ours, level),
        _apart(percentiles(theirs, level), percentiles(ours, level)),
    )


def _of_goodput(
    measured: Account, simulated: Account, log: TimedRun, bounds: Mapping[str, float]
) -> Bias:
    """Requests that are within all bounds, over the time from the first arrival to the last token;
    of parts, as many requests in each, the shares that are.
    """
    order = np.argsort(log.arrival_s, kind="stable")
    whole, parts = [], []
    for account in (measured, simulated):
        good = np.all([~(getattr(account, name) > most) for name, most in bounds.items()], axis=0)
        whole.append(good.sum() / float(account.last_token_s.max() - log.arrival_s[0]))
        shares = [part.mean() for part in np.array_split(good[order], SEGMENTS)]
        parts.append(np.array(shares, float))
    return Bias(whole[0], whole[1], _apart(*parts))


def _apart(
    measured: Float[np.ndarray, " segment"], simulated: Float[np.ndarray, " segment"]
) -> tuple[float, ...]:
    """Simulated over measured, less 1; without the parts in which there is nothing to compare."""
    there = np.isfinite(measured) & np.isfinite(simulated) & (measured > 0)
    return tuple((simulated[there] / measured[there] - 1).tolist())


def as_dict(bias: Mapping[str, Bias]) -> dict[str, Any]:
    """Plain values for JSON, by metric."""
    return {name: one.to_dict() for name, one in bias.items()}
