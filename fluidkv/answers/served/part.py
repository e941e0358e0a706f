"""A part of a trace: its busiest stretch, and how fast its requests come."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from fluidkv.traces import Trace

_COLUMNS = (
    *("input_lengths", "decode_lengths", "max_tokens"),
    *("prefix_blocks", "prompt_segments", "output_segments"),
)
_DAY_S, _HOUR_S = 86_400.0, 3_600.0
_TENTHS = 10


def busiest_rows(times: Sequence[float] | np.ndarray, requests: int) -> slice:
    """Where the rate is highest, of so many requests in a row.

    Args:
        times: of arrival, in order.

    Examples:
        >>> from fluidkv.answers.served.part import busiest_rows
        >>> busiest_rows([0.0, 5.0, 6.0, 6.5, 20.0], 3)
        slice(1, 4, None)
    """
    at = np.asarray(times)
    if requests >= len(at):
        return slice(0, len(at))
    first = int((at[requests - 1 :] - at[: len(at) - requests + 1]).argmin())
    return slice(first, first + requests)


def busiest(trace: Trace, requests: int) -> Trace:
    """The stretch of a trace with the highest rate: of so many requests, or an hour of days."""
    times = np.array(trace.arrival_times_s)
    if times[-1] - times[0] >= _DAY_S:
        ends = np.searchsorted(times, times + _HOUR_S)
        first = int((ends - np.arange(len(times))).argmax())
        return part_of(trace, slice(first, int(ends[first])))
    return part_of(trace, busiest_rows(times.tolist(), requests))


def part_of(trace: Trace, rows: slice) -> Trace:
    """Some requests of a trace, from time 0 on; all of them are the trace itself."""
    if range(len(trace))[rows] == range(len(trace)):
        return trace
    columns = {
        name: values[rows] for name in _COLUMNS if (values := getattr(trace, name)) is not None
    }
    times = trace.arrival_times_s
    if times is not None:
        part = times[rows]
        columns["arrival_times_s"] = tuple(time - part[0] for time in part)
    return replace(trace, **columns)


def rate_of(times: Sequence[float] | np.ndarray) -> float:
    """Arrivals a second; infinite where all come at once.

    Examples:
        >>> from fluidkv.answers.served.part import rate_of
        >>> rate_of([1.0, 2.0, 5.0])
        0.5
    """
    span = float(times[-1] - times[0])
    return (len(times) - 1) / span if span > 0 else math.inf


def rate_of_trace(trace: Trace) -> float:
    """The same of a trace with times.

    Examples:
        >>> from fluidkv.answers.served.part import rate_of_trace
        >>> rate_of_trace(fk.Trace((4, 4), (1, 2), (0.0, 2.0)))
        0.5
    """
    assert trace.arrival_times_s is not None  # callers looked
    return rate_of(trace.arrival_times_s)


def rates_of_tenths(times: Sequence[float] | np.ndarray) -> tuple[float, ...]:
    """Arrivals a second in each tenth of the time; none where all come at once.

    Their mean is `rate_of`, which counts the gaps: one fewer than there are requests.

    Examples:
        >>> from fluidkv.answers.served.part import rates_of_tenths
        >>> rates_of_tenths([0.0, 1.0, 2.0, 9.5, 10.0])
        (0.8, 0.8, 0.8, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.6)
    """
    span = float(times[-1] - times[0])
    if span <= 0:
        return ()
    counts = np.histogram(np.asarray(times, float), bins=_TENTHS)[0]
    return tuple((counts / counts.mean() * rate_of(times)).tolist())
