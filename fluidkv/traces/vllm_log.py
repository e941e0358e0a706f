"""A measured vLLM run as arrays on one clock: what each request saw, and counters at each tick.

The folder holds requests.jsonl and timeseries.csv, and may hold meta.json with the KV capacity.
Two facts about the columns, which hold to the token in the log that we have (tests/traces):

- `prompt_throughput` counts a prompt, whole, in the tick of its first token. So tokens that a
  prefix cache served are in it, and tokens that are computed again after a preemption are not.
- `gen_throughput` counts tokens in the tick in which they were made: summed over the run, all
  output tokens.

The first fact also says how the two files' clocks lie to each other, which neither file does.
"""

from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fluidkv.errors import InputError
from fluidkv.traces.cells import MAX_TIME_S, length, number, seconds
from fluidkv.traces.format import BadRow, Format, Layout, Record, Row
from fluidkv.traces.report import LoadReport, Tally
from fluidkv.traces.source import csv_records, json_records
from fluidkv.traces.vllm_bench import REQUESTS_FILE
from fluidkv.traces.vllm_meta import bench_capacity

TICKS_FILE = "timeseries.csv"

_TIMES = ("queued_ts", "scheduled_ts", "first_token_ts", "last_token_ts")
_MOST = float(MAX_TIME_S)  # of any counter too: none is so large, and no sum overflows
_COUNTERS = ("prompt_throughput", "gen_throughput", "running", "waiting", "kv_cache_pct")

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class VllmLog:
    """One run. All times are seconds on the clock of the ticks.

    Fields, of shape (request,) to `last_token_s` and of shape (tick,) from `tick_ends_s` on:
        input_lengths, decode_lengths: tokens, in the order of the file.
        arrival_s: when each came. From another clock, laid so that the quickest request was queued
            as it arrived; the log cannot tell what that one waited.
        queued_s, scheduled_s, first_token_s, last_token_s: scheduled is the first time only.
        tick_ends_s: strictly increasing.
        running, waiting: requests, as seen at the end of each tick.
        kv_used: part of the KV blocks in use there, 0 to 1.
        prompt_tokens, generated_tokens: during each tick; see the module for what they count.
        capacity: KV tokens, from meta.json; None where it does not say.
        offset_s: (low, high): adding any number between to the ticks' clock gives the requests'
            own; the middle was taken.
        unmatched_ticks: ticks whose prompt tokens are not those of the requests; 0 unless requests
            were dropped.
        report: of requests.jsonl.
    """

    input_lengths: NDArray[np.int64]
    decode_lengths: NDArray[np.int64]
    arrival_s: Array
    queued_s: Array
    scheduled_s: Array
    first_token_s: Array
    last_token_s: Array
    tick_ends_s: Array
    running: Array
    waiting: Array
    kv_used: Array
    prompt_tokens: Array
    generated_tokens: Array
    capacity: int | None
    offset_s: tuple[float, float]
    unmatched_ticks: int
    report: LoadReport = field(repr=False)

    def __post_init__(self) -> None:
        for values in vars(self).values():
            if isinstance(values, np.ndarray):
                values.flags.writeable = False

    def clock_arrays(self) -> dict[str, NDArray[np.generic]]:
        """The arguments of `fluidkv.serving.clock_fit.points.tick_points`.

        Raises:
            InputError: a log without a capacity.
        """
        if self.capacity is None:
            raise InputError("capacity", None, "a meta.json with kv_cache.num_kv_tokens")
        return {
            "tick_ends_s": self.tick_ends_s,
            "running": self.running,
            "kv_tokens": self.kv_used * self.capacity,
            "generated_tokens": self.generated_tokens,
            "input_lengths": self.input_lengths,
            "scheduled_s": self.scheduled_s,
            "first_token_s": self.first_token_s,
            "last_token_s": self.last_token_s,
        }


def log_folder(source: Path | str) -> Path:
    """The folder of a measured run; of a file in it, that folder."""
    path = Path(source)
    return path.parent if path.is_file() else path


def read_vllm_log(source: Path | str) -> VllmLog:
    """Read the folder of a measured run.

    A request is dropped, and reported, for a length or a time that is missing or no number, and for
    times out of order. A tick is not: tokens without their tick would go unaccounted for.

    Args:
        source: the folder, or a file in it.

    Raises:
        InputError: a file that is missing or unreadable, no usable request, a tick that is not a
            row of finite numbers of at least 0 or comes before the one above it, fewer than two
            ticks, or two files that are not of one run.
    """
    folder = log_folder(source)
    (inputs, outputs, arrival, *stamps), report = _requests(folder / REQUESTS_FILE)
    ends, prompt_rate, generation_rate, running, waiting, kv_pct = _ticks(folder / TICKS_FILE)
    durations = np.diff(ends, prepend=2 * ends[0] - ends[1])  # the first as long as the second
    queued, scheduled, first, last = stamps
    low, high, unmatched = _offset(first, inputs, ends, prompt_rate * durations)
    if unmatched > report.dropped:  # a dropped request leaves one tick unmatched at most
        allowed = f"{TICKS_FILE} with the prompt tokens of {REQUESTS_FILE} ({unmatched} ticks not)"
        raise InputError("source", str(folder), allowed)
    origin = (low + high) / 2
    of_the_quickest = float((arrival - queued).max())
    return VllmLog(
        input_lengths=inputs.astype(np.int64),
        decode_lengths=outputs.astype(np.int64),
        arrival_s=arrival - of_the_quickest - origin,
        queued_s=queued - origin,
        scheduled_s=scheduled - origin,
        first_token_s=first - origin,
        last_token_s=last - origin,
        tick_ends_s=ends,
        running=running,
        waiting=waiting,
        kv_used=kv_pct / 100,
        prompt_tokens=prompt_rate * durations,
        generated_tokens=generation_rate * durations,
        capacity=bench_capacity(folder),
        offset_s=(low, high),
        unmatched_ticks=unmatched,
        report=report,
    )


def _requests(path: Path) -> tuple[Array, LoadReport]:
    """Lengths, arrival and the four stamps, shape (7, request), and what became of each row."""
    tally, rows = Tally(), []
    for line, record in json_records(path):
        try:
            if isinstance(record, BadRow):
                raise record
            changed: list[str] = []
            rows.append(_request(record, changed))
        except BadRow as bad:
            tally.drop(bad.what, line)
        else:
            tally.keep(line, changed=tuple(changed), flagged=())
    report = tally.report(source=path.name, format="vllm-log")
    if not rows:
        found = "; ".join(str(reason) for reason in report.dropped_because[:2]) or "no rows"
        raise InputError("source", str(path), f"at least one request with all times ({found})")
    return np.array(rows, dtype=np.float64).T, report


def _request(record: Record, changed: list[str]) -> list[float]:
    lengths = [length(record, name, changed) for name in ("input_toks", "output_toks")]
    arrival = float(seconds(record, "arrival_time"))
    stamps = [float(seconds(record, name)) for name in _TIMES]
    for (before, early), (after, late) in pairwise(zip(_TIMES, stamps, strict=True)):
        if late < early:
            raise BadRow(f"{after}: before {before}")
    return [*lengths, arrival, *stamps]


def _ticks(path: Path) -> Array:
    """t and the counters, shape (6, tick)."""
    form = Format("vllm-log", Layout.CSV, ("t", *_COUNTERS), parse=_no_row)
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
