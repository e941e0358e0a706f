"""What happened in a run, from the segments and from when each of them ran.

The clock's part of a run is a `Schedule`. Everything else is read off the segments: nothing here
iterates over time, and nothing depends on how the schedule was found.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from fluidkv.runs.records import RequestTimes
from fluidkv.runs.requests import Requests
from fluidkv.wait.runs.reference import COUNTS
from fluidkv.wait.runs.turns import Segment


class Schedule(NamedTuple):
    """When each iteration ran, and which segments were in it."""

    start: Float[np.ndarray, " iteration"]
    end: Float[np.ndarray, " iteration"]
    ran: Bool[np.ndarray, "iteration segment"]


def counts_of(
    requests: Requests, segments: list[Segment], schedule: Schedule
) -> Int[np.ndarray, "iteration count"]:
    """The counts of every iteration, named and ordered as `reference.COUNTS`."""
    found = {name: np.zeros(schedule.start.size, np.int64) for name in COUNTS}
    admitted = np.zeros_like(found["waiting"])
    after = np.cumsum(schedule.ran, axis=0)  # turns of each segment, this iteration among them
    for index, segment in enumerate(segments):
        turns, ran = after[:, index], schedule.ran[:, index]

        def add(name: str, values: np.ndarray, where: np.ndarray, *, by=turns) -> None:
            found[name] += np.where(where, values[by], 0)

        for name, values in (
            ("running", segment.size),
            ("kv_tokens", segment.tokens),
            ("held_tokens", segment.tokens),
            ("completed", segment.completed),
            ("completed_outputs", segment.completed_outputs),
            ("tokens", segment.computed),
        ):
            add(name, values, ran)
        add("paused", segment.paused, ~ran)
        add("held_tokens", segment.paused_tokens, ~ran)
        found["joined"] += ran
        taken = segment.threshold * turns
        if segment.follows:
            before = after[:, index - 1] - schedule.ran[:, index - 1]
            come = segments[index - 1].passed[before]
            found["paused"] += come - taken
            found["held_tokens"] += segment.before_tokens[come] - segment.before_tokens[taken]
        else:
            admitted += taken
            found["admit_new"] += segment.threshold * ran
    found["new_outputs"] = found["running"] - found["admit_new"]  # all but prefills emit
    arrived = np.searchsorted(requests.arrival, schedule.start, side="right")
    found["waiting"] = arrived - admitted
    return np.stack([found[name] for name in COUNTS], axis=1)


def times_of(requests: Requests, segments: list[Segment], schedule: Schedule) -> RequestTimes:
    """What became of each prompt."""
    size = len(requests)
    times = RequestTimes(
        arrival=requests.arrival,
        admitted=np.full(size, np.nan),
        first_token=np.full(size, np.nan),
        last_token=np.full(size, np.nan),
        longest_gap=np.zeros(size),
        evictions=np.zeros(size, np.int64),
        outputs=np.zeros(size, np.int64),
        finished=np.zeros(size, bool),
        halted=np.zeros(size),
    )
    for index, segment in enumerate(segments):
        at = np.flatnonzero(schedule.ran[:, index])
        _through(segment, schedule.start[at], schedule.end[at], requests, times)
    return times


def _through(
    segment: Segment,
    starts: Float[np.ndarray, " turn"],
    ends: Float[np.ndarray, " turn"],
    requests: Requests,
    times: RequestTimes,
) -> None:
    """Prompts go through a segment, whose turns start and end at these times. Fills `times` in."""
    taken = segment.threshold * starts.size
    rows, last = segment.prompts[:taken], segment.last[:taken]
    first = np.arange(taken) // segment.threshold  # turn of the first stage, from 0
    final = np.minimum(first + last - segment.start, starts.size - 1)  # latest turn so far
    speaks = first if segment.follows else first + 1  # stage 0 emits no token
    some = final >= speaks
    if segment.follows:
        gap = ends[first] - times.last_token[rows]
        times.longest_gap[rows] = np.maximum(times.longest_gap[rows], gap)
    else:
        times.admitted[rows] = starts[first]
        times.first_token[rows[some]] = ends[speaks[some]]
    times.last_token[rows[some]] = ends[final[some]]
    times.outputs[rows] = segment.start + final - first
    times.finished[rows] = times.outputs[rows] == requests.output_length[rows]
    several = final > speaks
    gap = _largest(np.diff(ends), speaks[several], final[several])
    times.longest_gap[rows[several]] = np.maximum(times.longest_gap[rows[several]], gap)


def _largest(
    values: Float[np.ndarray, " place"],
    first: Int[np.ndarray, " query"],
    end: Int[np.ndarray, " query"],
) -> Float[np.ndarray, " query"]:
    """max(values[first:end]) for each query, none of them empty.

    Windows whose length is a power of two have their maxima in a row of their own, each row made
    from the one before; two windows cover a query.
    """
    found = np.zeros(first.size)
    levels = np.frexp(end - first)[1] - 1  # floor(log2), exact below 2^53
    for level in range(levels.max(initial=-1) + 1):
        here = levels == level
        found[here] = np.maximum(values[first[here]], values[end[here] - (1 << level)])
        values = np.maximum(values[: -(1 << level)], values[1 << level :])
    return found
