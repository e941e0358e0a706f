"""What cannot all be true in one log: more requests running than came, tokens that nobody got.

Two requests more than the file has are let pass: a client tries a server out before it measures.
"""

import numpy as np

from fluidkv.errors import InputError
from fluidkv.logs.log import ServerLog

_TRIALS = 2
_ROUNDED = 0.02  # times in whole seconds, rates with a digit behind the point, blocks set apart


def check(log: ServerLog) -> None:
    """Pass, or refuse a log that contradicts itself.

    Raises:
        InputError: the rows that contradict others.
    """
    for found in (_too_many(log), _too_many_tokens(log), _too_full(log)):
        if found is not None:
            raise InputError("source", log.source, found)


def _too_many(log: ServerLog) -> str | None:
    requests, ticks = log.requests, log.ticks
    if requests is None or ticks is None or ticks.running is None:
        return None
    there = ticks.running + (0.0 if ticks.waiting is None else ticks.waiting)
    came = len(requests) + (0 if requests.report is None else requests.report.dropped)
    rows = np.flatnonzero(there > came + _TRIALS)
    if not rows.size:
        return None
    return (
        f"ticks and requests of one run: {there[rows[0]]:,.0f} run or wait {_at(log, rows)}, and "
        f"{came:,} requests came in all"
    )


def _too_many_tokens(log: ServerLog) -> str | None:
    requests, ticks = log.requests, log.ticks
    if requests is None or ticks is None or ticks.generated_tokens is None:
        return None
    if requests.report is not None and requests.report.dropped:
        return None  # nobody knows what those got
    outputs, longest = requests.decode_lengths.sum(), requests.decode_lengths.max()
    so_far = np.cumsum(ticks.generated_tokens)
    rows = np.flatnonzero(so_far > outputs * (1 + _ROUNDED) + _TRIALS * longest)
    if not rows.size:
        return None
    return (
        f"ticks and requests of one run: {so_far[rows[0]]:,.0f} tokens were generated until tick "
        f"{rows[0] + 1}, and the requests have {outputs:,} outputs"
    )


def _too_full(log: ServerLog) -> str | None:
    ticks = log.ticks
    if ticks is None or ticks.kv_used is None:
        return None
    rows = np.flatnonzero(ticks.kv_used > 1 + _ROUNDED)
    if not rows.size:
        return None
    return (
        f"ticks and a capacity of one server: {ticks.kv_used[rows[0]]:.1%} of the KV capacity are "
        f"in use {_at(log, rows)}"
    )


def _at(log: ServerLog, rows: np.ndarray) -> str:
    """The ticks, the first few by number."""
    named = ", ".join(str(row + 1) for row in rows[:3])
    more = f" and {rows.size - 3:,} more" if rows.size > 3 else ""
    time = "" if log.ticks is None else f" ({log.ticks.ends_s[rows[0]]:g} s)"
    return f"at tick {named}{more}{time}"
