"""A measured vLLM run as arrays on one clock: what each request saw, and counters at each tick.

The folder holds requests.jsonl and timeseries.csv, and may hold meta.json with the KV capacity.
Two facts about the columns, which hold to the token in the log that we have (tests/logs):

- `prompt_throughput` counts a prompt, whole, in the tick of its first token. So tokens that a
  prefix cache served are in it, and tokens that are computed again after a preemption are not.
- `gen_throughput` counts tokens in the tick in which they were made: summed over the run, all
  output tokens.

The first fact also says how the two files' clocks lie to each other, which neither file does.
"""

from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fluidkv.errors import InputError
from fluidkv.logs.log import LoggedRequests, LoggedTicks
from fluidkv.traces.cells import MAX_TIME_S, length, number, seconds
from fluidkv.traces.format import BadRow, Format, Layout, Record, Row
from fluidkv.traces.formats.vllm_log import REQUESTS_FILE
from fluidkv.traces.report import Tally
from fluidkv.traces.source import csv_records, json_records

TICKS_FILE = "timeseries.csv"

_TIMES = {  # of the file -> of `LoggedRequests`, in the order in which they come
    "queued_ts": "queued_s",
    "scheduled_ts": "scheduled_s",
    "first_token_ts": "first_token_s",
    "last_token_ts": "last_token_s",
}
_MOST = float(MAX_TIME_S)  # of any counter too: none is so large, and no sum overflows
TICK_COLUMNS = ("t", "prompt_throughput", "gen_throughput", "running", "waiting", "kv_cache_pct")

Array = NDArray[np.float64]


class Laid(NamedTuple):
    """Both files on the clock of the ticks; and how they were laid, as `ServerLog` has it."""

    requests: LoggedRequests
    ticks: LoggedTicks
    offset_s: tuple[float, float]
    unmatched_ticks: int


def read_requests(path: Path) -> LoggedRequests:
    """Requests on the clock of the engine's stamps.

    Arrivals are from another clock, laid so that the quickest request was queued as it arrived; the
    file cannot tell what that one waited. Stamps that do not say when requests were queued cannot
    be laid on arrivals, and are left out.

    A request is dropped, and reported, for a length or a time that is missing or no number, and for
    times out of order. Times that no request has are None.

    Raises:
        InputError: a file that is unreadable or without a usable request.
    """
    records = [*json_records(path)]
    times = [n for n in _TIMES if any(n in r for _, r in records if not isinstance(r, BadRow))]
    tally, rows = Tally(), []
    for line, record in records:
        try:
            if isinstance(record, BadRow):
                raise record
            changed: list[str] = []
            rows.append(_request(record, times, changed))
        except BadRow as bad:
            tally.drop(bad.what, line)
        else:
            tally.keep(line, changed=tuple(changed), flagged=())
    report = tally.report(source=path.name, format="vllm-log")
    if not rows:
        found = "; ".join(str(reason) for reason in report.dropped_because[:2]) or "no rows"
        raise InputError("source", str(path), f"at least one request with all times ({found})")
    inputs, outputs, arrival, *stamps = np.array(rows, dtype=np.float64).T
    of_engine = {_TIMES[name]: values for name, values in zip(times, stamps, strict=True)}
    if "queued_s" in of_engine:
        arrival = arrival - float((arrival - of_engine["queued_s"]).max())
    else:
        of_engine = {}
    return LoggedRequests(
        input_lengths=inputs.astype(np.int64),
        decode_lengths=outputs.astype(np.int64),
        arrival_s=arrival,
        **of_engine,
        report=report,
    )


def _request(record: Record, times: list[str], changed: list[str]) -> list[float]:
    lengths = [length(record, name, changed) for name in ("input_toks", "output_toks")]
    arrival = float(seconds(record, "arrival_time"))
    stamps = [float(seconds(record, name)) for name in times]
    for (before, early), (after, late) in pairwise(zip(times, stamps, strict=True)):
        if late < early:
            raise BadRow(f"{after}: before {before}")
    return [*lengths, arrival, *stamps]


def read_ticks(path: Path) -> LoggedTicks:
    """Counters of each tick. None is dropped: tokens without their tick would go unaccounted for.

    Raises:
        InputError: a file that is unreadable; a tick that is not a row of finite numbers of at
            least 0 or comes before the one above it; fewer than two ticks.
    """
    ends, prompt_rate, generation_rate, running, waiting, kv_pct = _ticks(path)
    durations = np.diff(ends, prepend=2 * ends[0] - ends[1])  # the first as long as the second
    return LoggedTicks(
        ends_s=ends,
        running=running,
        waiting=waiting,
        kv_used=kv_pct / 100,
        generated_tokens=generation_rate * durations,
        prompt_tokens=prompt_rate * durations,
    )


def laid(requests: LoggedRequests, ticks: LoggedTicks, source: str) -> Laid:
    """The times of requests on the clock of the ticks, by the ticks in which prompts are counted.

    Raises:
        InputError: two files that are not of one run.
    """
    first, prompts = np.asarray(requests.first_token_s), np.asarray(ticks.prompt_tokens)
    low, high, unmatched = _offset(
        first, requests.input_lengths.astype(np.float64), ticks.ends_s, prompts
    )
    dropped = 0 if requests.report is None else requests.report.dropped
    if unmatched > dropped:  # a dropped request leaves one tick unmatched at most
        ends = _unmatched(first - (low + high) / 2, requests, ticks.ends_s, prompts)
        some = ", ".join(f"{end:g}" for end in ends[:4]) + (", ..." if len(ends) > 4 else "")
        raise InputError(
            "source",
            source,
            f"{TICKS_FILE} with the prompt tokens of {REQUESTS_FILE} ({unmatched} ticks not: those "
            f"that end at {some} s)",
        )
    return Laid(requests.moved((low + high) / 2), ticks, (low, high), unmatched)


def _unmatched(first_s: Array, requests: LoggedRequests, ends: Array, prompts: Array) -> Array:
    """Ends of the ticks whose prompt tokens are not those of the first tokens in them."""
    tick = np.minimum(np.searchsorted(ends, first_s), len(ends))
    found = np.bincount(tick, requests.input_lengths, minlength=len(ends) + 1)[: len(ends)]
    return ends[np.abs(found - prompts) >= 0.5]


def _ticks(path: Path) -> Array:
    """t and the counters, shape (6, tick)."""
    form = Format("vllm-log", Layout.CSV, TICK_COLUMNS, parse=_no_row)
    rows: list[list[float]] = []
    for line, record in csv_records(path, form):
        try:
            if isinstance(record, BadRow):
                raise record
            row = [float(number(record, name)) for name in form.required]
        except BadRow as bad:
            raise InputError(
                "source", str(path), f"ticks without gaps (line {line}: {bad.what})"
            ) from None
        for name, value in zip(form.required, row, strict=True):
            if not 0 <= value <= _MOST:
                allowed = f"counters from 0 to {_MOST:.0e} (line {line}: {name} is {value:g})"
                raise InputError("source", str(path), allowed)
        if rows and row[0] <= rows[-1][0]:
            allowed = f"t that increases (line {line}: {row[0]:g} after {rows[-1][0]:g})"
            raise InputError("source", str(path), allowed)
        rows.append(row)
    if len(rows) < 2:
        raise InputError("source", str(path), f"at least two ticks (found {len(rows)})")
    return np.array(rows).T


def _no_row(record: Record) -> Row:
    # A format reads requests; `_ticks` takes only what it says of the columns of a series.
    raise NotImplementedError("a tick is not a request")


def _offset(first: Array, inputs: Array, ends: Array, prompt: Array) -> tuple[float, float, int]:
    """(low, high) around stamp - t of one moment, and how many ticks it leaves unmatched.

    A sweep. The earliest first token lies in the first tick that has prompt tokens, so the offset
    lies within one tick; and while it grows, first tokens pass into the tick before theirs, one at
    a time.
    """
    have = np.flatnonzero(prompt > 0.5)
    if not have.size:
        return 0.0, 0.0, len(ends)
    begins = np.concatenate(([2 * ends[0] - ends[1]], ends[:-1]))
    lowest = float(first.min() - ends[have[0]])
    highest = float(first.min() - begins[have[0]])
    tick = np.searchsorted(ends, first - lowest)  # a first token at the end of a tick is in it
    gap = np.bincount(np.minimum(tick, len(ends)), inputs, minlength=len(ends) + 1)[:-1] - prompt
    unmatched = int((np.abs(gap) >= 0.5).sum())  # tokens are whole; a rate is rounded to a tenth
    moves = sorted(
        (float(first[i] - ends[k]), int(k), i)
        for i, at in enumerate(tick)
        for k in range(int(np.searchsorted(ends, first[i] - highest)), min(at, len(ends)))
    )
    spans, since = [], lowest
    for at, k, i in [*moves, (highest, len(ends), 0)]:  # the last one moves nothing
        if at > since:
            spans.append((unmatched, since, at))
        since = at
        for place, change in ((k, inputs[i]), (k + 1, -inputs[i])):
            if place < len(ends):
                before = abs(gap[place]) >= 0.5
                gap[place] += change
                unmatched += int(abs(gap[place]) >= 0.5) - int(before)
    fewest = min(count for count, _, _ in spans)
    _, low, high = max((s for s in spans if s[0] == fewest), key=lambda span: span[2] - span[1])
    return low, high, fewest
