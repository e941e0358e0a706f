"""One account of a run, whoever gives it: the log, a prediction, or a baseline.

All are at the same ticks and for the same requests, so that errors are taken alike.
"""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import xarray as xr
from jaxtyping import Float

from fluidkv.logs.timed import TimedRun
from fluidkv.questions.answer import Answer, Described, described

PerTick = Float[np.ndarray, " tick"]
PerRequest = Float[np.ndarray, " request"]


@dataclass(frozen=True, eq=False)
class Account(Answer):
    """What happened in a run, or is said to.

    Fields:
        running, waiting, kv_used: at the end of each tick.
        generated: output tokens a second, during each tick.
        first_token_s, last_token_s: of each request, on the clock of the ticks.
        log: whose ticks and requests they are.
        preempted_s: when each preemption was, on the same clock; None where it is not known.
        latency, ttft, tpot: of each request; tpot is NaN for one of one output.
    """

    name: Annotated[str, Described("whose account it is: measured, or an engine")]
    running: Annotated[PerTick, Described("requests running", "request", "tick")]
    waiting: Annotated[PerTick, Described("requests waiting", "request", "tick")]
    kv_used: Annotated[PerTick, Described("share of the KV blocks in use", dims="tick")]
    generated: Annotated[PerTick, Described("output tokens", "token / s", "tick")]
    first_token_s: PerRequest
    last_token_s: PerRequest
    log: TimedRun
    preempted_s: Float[np.ndarray, " preemption"] | None = None

    @described("from arrival to last token", unit="s", dims="request")
    def latency(self) -> PerRequest:
        return self.last_token_s - self.log.arrival_s

    @described("from arrival to first token", unit="s", dims="request")
    def ttft(self) -> PerRequest:
        return self.first_token_s - self.log.arrival_s

    @described("from first to last token, over outputs - 1", unit="s", dims="request")
    def tpot(self) -> PerRequest:
        between = self.log.decode_lengths - 1.0
        return (self.last_token_s - self.first_token_s) / np.where(between > 0, between, np.nan)


SERIES = tuple(part.name for part in Account.parts() if part.dims == ("tick",))
LATENCIES = tuple(part.name for part in Account.parts() if part.dims == ("request",))


def shares_after(log: TimedRun, since_s: float) -> dict[str, PerRequest]:
    """Of each measured latency, the part that lies after a moment: 1 all, 0 or less none of it.

    Keyed as `LATENCIES`; NaN for a time of 0.
    """
    spans = {
        "latency": (log.arrival_s, log.last_token_s),
        "ttft": (log.arrival_s, log.first_token_s),
        "tpot": (log.first_token_s, log.last_token_s),
    }
    return {
        name: (end - np.maximum(start, since_s)) / np.where(end > start, end - start, np.nan)
        for name, (start, end) in spans.items()
    }


def of_log(log: TimedRun, durations_s: PerTick, preempted_s: np.ndarray | None = None) -> Account:
    """What the log says."""
    return Account(
        name="measured",
        running=log.running,
        waiting=log.waiting,
        kv_used=log.kv_used,
        generated=log.generated_tokens / durations_s,
        first_token_s=log.first_token_s,
        last_token_s=log.last_token_s,
        log=log,
        preempted_s=preempted_s,
    )


def of_run(run: xr.Dataset, log: TimedRun, durations_s: PerTick, name: str = "") -> Account:
    """What one run of an engine says of the ticks of a log.

    A tick shows the state as the last iteration that ended by then left it: whoever completed in it
    has gone. Their blocks are still counted, since a run records blocks before they are freed. It
    begins as the first request reaches the scheduler.
    """
    one, begin = run.isel(run=0), log.arrival_s[0] + log.delay_s
    ends = one.time.values + begin
    left = np.searchsorted(ends, log.tick_ends_s, side="right")  # iterations that ended by then

    def after(values: np.ndarray) -> PerTick:
        return np.concatenate(([0.0], values))[left]

    used = np.append(one.used_blocks.values[:-1], 0.0)  # at the end nobody holds a block
    so_far = np.concatenate(([0.0], np.cumsum(one.new_outputs.values)))[left]
    return Account(
        name=name,
        running=after(one.running.values - one.completed.values),
        waiting=after(one.waiting.values),
        kv_used=after(used / int(one.blocks)),
        generated=np.diff(so_far, prepend=0.0) / durations_s,
        first_token_s=one.first_token.values + begin,
        last_token_s=one.last_token.values + begin,
        log=log,
        preempted_s=np.repeat(ends, one.preempt.values),
    )


@dataclass(frozen=True)
class Rates:
    """Means of one part of a log.

    Args:
        output_per_s: output tokens a second.
        stay_s, prefill_s: of a request in the batch, and from there to its first token.
        kv_used: while anybody runs.
    """

    output_per_s: float
    stay_s: float
    prefill_s: float
    kv_used: float


def rates_of(
    log: TimedRun,
    durations_s: PerTick,
    ticks: np.ndarray,
    requests: np.ndarray,
    steps: PerTick | None = None,
) -> Rates:
    """Of the ticks and requests of two masks.

    Args:
        steps: of decoding, during each tick, of a log that has no times of requests: each one that
            runs gets a token in each, and how long they stay is by Little's law.
    """
    busy = ticks & (log.running > 0)
    seconds, kv_used = durations_s[busy], float(log.kv_used[busy].mean())
    if steps is None:
        stay_s = float((log.last_token_s - log.scheduled_s)[requests].mean())
        prefill_s = float((log.first_token_s - log.scheduled_s)[requests].mean())
        return Rates(log.generated_tokens[busy].sum() / seconds.sum(), stay_s, prefill_s, kv_used)
    came = np.searchsorted(np.sort(log.arrival_s), log.tick_ends_s[busy][[0, -1]], side="right")
    left = came - (log.running + log.waiting)[busy][[0, -1]]  # who has come, and is not there
    done = max(float(left[1] - left[0]), 1.0)
    return Rates(
        output_per_s=float((log.running * steps)[busy].sum() / seconds.sum()),
        stay_s=float((log.running * durations_s)[busy].sum()) / done,
        prefill_s=0.0,
        kv_used=kv_used,
    )


def of_constant_rates(log: TimedRun, rates: Rates) -> Account:
    """A baseline: the means of one part of the log, held for all of it.

    Requests finish in order of arrival at the part's output tokens a second; each stays in the
    batch for the mean time that those of the part stayed, and gets its first token after their mean
    wait for it. Batch, queue and tokens follow by counting; memory is at its mean.
    """
    rate, stays = rates.output_per_s, rates.stay_s
    outputs = log.decode_lengths.astype(float)
    came = log.arrival_s + log.delay_s
    done_at = came[0] + stays / 2 + np.cumsum(outputs) / rate  # a request's middle token
    admitted = np.maximum(done_at - stays, came)
    done_at = admitted + stays
    ends = log.tick_ends_s

    def so_far(times: PerRequest) -> PerTick:
        return np.searchsorted(np.sort(times), ends, side="right").astype(float)

    running = so_far(admitted) - so_far(done_at)
    return Account(
        name="constant rates",
        running=running,
        waiting=so_far(came) - so_far(admitted),
        kv_used=np.where(running > 0, rates.kv_used, 0.0),
        generated=np.where(running > 0, rate, 0.0),
        first_token_s=admitted + rates.prefill_s,
        last_token_s=done_at,
        log=log,
    )
