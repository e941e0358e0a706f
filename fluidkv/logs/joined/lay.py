"""The clock of requests aligned with the clock of ticks, where neither file says the offset.

Of each moment both files say how many requests are in the system: the client, that had sent them
and had not their last token; the server, that ran them or had them wait. What a client sends takes
a while to reach the scheduler, and its tokens a while to come back: so long the client counts a
request, and the server does not. The offset and the delay are taken at which the two agree best.
Without last tokens only those that were sent are known, so only ticks before the first completion
count, until the number in the system falls; the delay is then in the offset.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from fluidkv.logs.log import Array, LoggedRequests, LoggedTicks

_STEPS = 4000  # offsets that are tried
_TICKS = 500  # that are looked at, evenly chosen
_IDLE = 5  # idle ticks that count on either side of the busy ones
_OFF = 0.1  # of the mean number in the system: what two counts of one run may differ by
_LEAST = 1.5  # requests: and this, for few of them
_DELAYS = 0.01 * np.arange(201)  # seconds that are tried: requests were seen to take up to 1 s
_TOLD = 0.1  # requests: a delay that brings two counts nearer by less than this is not seen


class Laying(NamedTuple):
    """How the clocks lie.

    Fields:
        low, high: offsets at which both agree best, as `ServerLog.offset_s` has it.
        delay_s: as `ServerLog.delay_s` has it.
        off: requests that the counts differ by there, mean over the ticks.
        agrees: whether they are of one run.
    """

    low: float
    high: float
    delay_s: float
    off: float
    agrees: bool


def laying(requests: LoggedRequests, ticks: LoggedTicks) -> Laying | None:
    """How two clocks lie; None where the files do not say enough."""
    if requests.arrival_s is None or ticks.running is None or ticks.waiting is None:
        return None
    counted = ticks.running + ticks.waiting
    arrival, last = np.sort(requests.arrival_s), requests.last_token_s
    done = None if last is None else np.sort(last)
    ends, counted = _known(ticks.spread_s(), counted, all_of_it=done is not None)
    if ends.size < 2 or counted.max() == 0:
        return None
    busy = np.flatnonzero(counted)  # a server may idle for hours around a benchmark of minutes
    around = slice(max(int(busy[0]) - _IDLE, 0), int(busy[-1]) + 1 + _IDLE)
    ends, counted = ends[around], counted[around]
    some = np.linspace(0, ends.size - 1, min(_TICKS, ends.size)).round().astype(int)
    ends, counted = ends[some], counted[some]
    end = float(arrival[-1] if done is None else done[-1])
    low, high = arrival[0] - ends[-1], end - ends[0]
    best_low, best_high, off = _best(low, high, arrival, done, ends, counted)
    step, delay = (high - low) / _STEPS, 0.0
    if done is not None:
        if step > _DELAYS[-1]:  # of a run of hours: nearer first, at most that far are delays tried
            near = best_low - step, best_high + step
            best_low, best_high, off = _best(*near, arrival, done, ends, counted)
            step = (near[1] - near[0]) / _STEPS
        around_s = step + _DELAYS[-1]
        delay, best = _delay(
            best_low - around_s, best_high + around_s, arrival, done, ends, counted
        )
        best_low, best_high = min(best_low, best), max(best_high, best)
    best_low, best_high, off = _best(
        best_low - step, best_high + step, arrival + delay, done, ends, counted
    )
    cut = (ticks.resolution_s or 0.0) / 2  # times are cut to whole seconds: all may be as late
    low, high = best_low - cut, best_high + cut
    mean = float(counted.mean())  # below a request or so any two runs differ by less than one
    most = max(min(_LEAST, mean / 2), _OFF * mean)
    return Laying(low, high, delay, off, off <= most)


def answered(requests: LoggedRequests, ticks: LoggedTicks, offset_s: float) -> LoggedTicks:
    """Pages at the moments at which they were made, not at which they were asked for.

    A loop that polls sleeps as long each time. What lies between two of its times beyond the
    shortest, it may have waited for the page: a server that has much to do may answer a second
    late. Within that, a page is from when the client had the tokens that it counts, if each
    request's came evenly between its first and its last.

    Args:
        offset_s: seconds from the clock of the ticks to that of the requests.
    """
    asked, first, last = ticks.ends_s, requests.first_token_s, requests.last_token_s
    if ticks.generated_tokens is None or first is None or last is None or len(asked) < 2:
        return ticks
    gaps = np.diff(asked, append=2 * asked[-1] - asked[-2])
    outputs, spans = requests.decode_lengths, last - first
    at_once = np.where(spans > 0, 1, outputs)
    rates = (outputs - at_once) / np.where(spans > 0, spans, 1.0)
    moments = np.concatenate((first, last))
    order = np.argsort(moments, kind="stable")
    moments, rates = moments[order], np.cumsum(np.concatenate((rates, -rates))[order])
    tokens = np.cumsum(np.concatenate((at_once, 0 * at_once))[order]).astype(np.float64)
    tokens[1:] += np.cumsum(rates[:-1] * np.diff(moments))
    begun = asked + offset_s >= first.min()
    made = np.cumsum(np.where(begun, ticks.generated_tokens, 0.0))
    came = np.interp(made, tokens, moments) - offset_s
    running = begun & (made < tokens[-1])
    ends = np.where(running, np.clip(came, asked, asked + gaps - gaps.min()), asked)
    return replace(ticks, ends_s=ends)


def _known(ends: Array, counted: Array, *, all_of_it: bool) -> tuple[Array, Array]:
    """Ticks in which the client's count is known."""
    if all_of_it:
        return ends, counted
    falls = np.flatnonzero(np.diff(counted) < 0)
    until = falls[0] + 1 if falls.size else counted.size
    return ends[:until], counted[:until]


def _delay(
    low: float, high: float, arrival: Array, done: Array, ends: Array, counted: Array
) -> tuple[float, float]:
    """The least of the delays that agree best, 0 where none is seen, and its offset."""
    step = float(_DELAYS[1])
    offsets = np.arange(low, high + step, step)
    before = low - step * np.arange(len(_DELAYS) - 1, 0, -1)
    moments = ends + np.concatenate((before, offsets))[:, None]
    sent = np.searchsorted(arrival, moments, side="right").astype(np.float64)
    left = np.searchsorted(done, moments[len(before) :], side="right") + counted
    off = np.array(
        [
            np.abs(sent[place : place + len(offsets)] - left).mean(axis=1)
            for place in range(len(before), -1, -1)
        ]
    )
    if off[0].min() - off.min() < _TOLD:
        off = off[:1]
    delay, offset = np.unravel_index(int(np.argmin(off)), off.shape)
    return float(_DELAYS[delay]), float(offsets[offset])


def _best(
    low: float, high: float, arrival: Array, done: Array | None, ends: Array, counted: Array
) -> tuple[float, float, float]:
    """(lowest, highest) of the offsets around the best one that are as good, and how far off."""
    offsets = np.linspace(low, high, _STEPS + 1)
    moments = ends[None, :] + offsets[:, None]
    inside = np.searchsorted(arrival, moments, side="right").astype(np.float64)
    if done is not None:
        inside -= np.searchsorted(done, moments, side="right")
    off = np.abs(inside - counted).mean(axis=1)
    best = int(np.argmin(off))
    same = off <= off[best] + 1e-9  # sums of whole numbers: equal, but for rounding
    left = right = best
    while left > 0 and same[left - 1]:
        left -= 1
    while right < _STEPS and same[right + 1]:
        right += 1
    return float(offsets[left]), float(offsets[right]), float(off[best])
