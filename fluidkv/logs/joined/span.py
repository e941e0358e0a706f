"""The ticks of one run out of those of a server's life, once both lie on one clock.

A server lives longer than a benchmark: it warms up, and a client tries it out, before the first
request that a file counts; metrics are polled on after the last. What lies outside is left out, and
what is counted so far is counted from there on.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from fluidkv.logs.log import LoggedRequests, ServerLog

_SO_FAR = ("preemptions", "decode_steps")
_PER_TICK = (
    *("ends_s", "running", "waiting", "kv_used", "generated_tokens", "prompt_tokens"),
    *("generation_rate", "iterations", *_SO_FAR),
)


def of_run(log: ServerLog) -> ServerLog:
    """The log without the ticks that end before the first request came or begin after the last.

    Moment 0 of its clock is that of its first request, to the unit of its times.
    """
    requests, ticks = log.requests, log.ticks
    if requests is None or ticks is None or requests.arrival_s is None:
        return log
    came = float(requests.arrival_s.min())
    ends = ticks.spread_s()
    cut = (ticks.resolution_s or 0.0) / 2  # a time may be as much earlier than it is written
    begin = int(np.searchsorted(ends + cut, came))
    end = len(ends)
    if requests.last_token_s is not None:
        end = int(np.searchsorted(ends - cut, float(requests.last_token_s.max()))) + 1
    if end - begin < 2:
        return log
    outside = (begin, max(len(ends) - end, 0))
    found = _moved(_between(log, begin, end, came), requests)
    if not any(outside):
        return found
    said = f"{outside[0]:,} ticks before the first request and {outside[1]:,} after the last"
    return replace(found, notes=(*found.notes, f"{said} are left out: this run is none of theirs"))


def _between(log: ServerLog, begin: int, end: int, came: float) -> ServerLog:
    ticks = log.ticks
    if ticks is None or (begin == 0 and end >= len(ticks)):
        return log
    found: dict[str, Any] = {}
    for name in _PER_TICK:
        values = getattr(ticks, name)
        if values is not None:
            before = values[begin - 1] if begin and name in _SO_FAR else 0.0
            found[name] = values[begin:end] - before
    steps = 0.0 if ticks.decode_steps is None or not begin else float(ticks.decode_steps[begin - 1])
    unit = ticks.resolution_s or 0.0

    def inside(events: tuple) -> tuple:
        """Events are cut by their own times: a trial may end behind its last line."""
        kept = [e for e in events if e.time_s + unit > came and (e.after_step or steps) >= steps]
        return tuple(
            e if e.after_step is None else replace(e, after_step=e.after_step - steps) for e in kept
        )

    if log.retractions and ticks.preemptions is not None:
        left = sum(e.requests for e in log.retractions) - sum(
            e.requests for e in inside(log.retractions)
        )
        found["preemptions"] = ticks.preemptions[begin:end] - left
    return replace(
        log,
        ticks=replace(ticks, **found),
        retractions=inside(log.retractions),
        prefills=inside(log.prefills),
    )


def _moved(log: ServerLog, requests: LoggedRequests) -> ServerLog:
    """The same on the clock whose moment 0 is the beginning of the first request's second."""
    ticks, arrival = log.ticks, requests.arrival_s
    if ticks is None or arrival is None:
        return log
    unit = ticks.resolution_s or 0.0
    by = float(arrival.min())
    by = unit * round((by - unit / 2) / unit) if unit else by
    if by == 0:
        return log
    return replace(
        log,
        ticks=replace(ticks, ends_s=ticks.ends_s - by),
        requests=requests.moved(by),
        retractions=tuple(replace(e, time_s=e.time_s - by) for e in log.retractions),
        prefills=tuple(replace(e, time_s=e.time_s - by) for e in log.prefills),
        clock_zero_s=None if log.clock_zero_s is None else log.clock_zero_s + by,
        offset_s=None if log.offset_s is None else (log.offset_s[0] + by, log.offset_s[1] + by),
    )
