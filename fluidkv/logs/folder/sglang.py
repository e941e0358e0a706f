"""A measured SGLang run as a folder: requests.jsonl, decode_log.csv, events.jsonl and meta.json.

The decode log has a row for each `decode_log_interval` steps, with times in whole seconds, so that
several rows may have one time. Tokens in use are those of running requests: what the radix cache
could evict is not among them.
"""

from pathlib import Path

import numpy as np

from fluidkv.errors import InputError
from fluidkv.logs.log import LoggedRequests, LoggedTicks, PrefillPass, Retraction
from fluidkv.traces.cells import MAX_TIME_S, number, seconds
from fluidkv.traces.format import BadRow, Format, Layout, Record, Row
from fluidkv.traces.formats.sglang_log import SGLANG_LOG
from fluidkv.traces.report import Tally
from fluidkv.traces.source import csv_records, json_records

DECODE_FILE = "decode_log.csv"
EVENTS_FILE = "events.jsonl"
DECODE_COLUMNS = (
    "time_s",
    "decode_iter",
    "running",
    "waiting",
    "tokens",
    "kv_usage",
    "preemptions",
)
_RESOLUTION_S = 1.0
_SHARE = 0.006  # what a share may be off: it has two digits in what SGLang prints


def read_requests(path: Path) -> LoggedRequests:
    """Lengths, arrivals and cached tokens. A row without them is dropped, and reported.

    Raises:
        InputError: a file that is unreadable or without a usable request.
    """
    tally, rows = Tally(), []
    for line, record in json_records(path):
        try:
            if isinstance(record, BadRow):
                raise record
            row = SGLANG_LOG.parse(record)
        except BadRow as bad:
            tally.drop(bad.what, line)
        else:
            rows.append(row)
            tally.keep(line, changed=row.changed, flagged=())
    report = tally.report(source=path.name, format=SGLANG_LOG.name)
    if not rows:
        found = "; ".join(str(reason) for reason in report.dropped_because[:2]) or "no rows"
        raise InputError("source", str(path), f"at least one request with its lengths ({found})")
    cached = [dict(row.prompt_segments or ()).get(0, 0) for row in rows]
    return LoggedRequests(
        input_lengths=np.array([row.input_length for row in rows], np.int64),
        decode_lengths=np.array([row.decode_length for row in rows], np.int64),
        cached_prefix=np.array(cached, np.int64),
        arrival_s=np.array([row.arrival_s for row in rows], float),
        report=report,
    )


def read_ticks(path: Path, capacity: int | None) -> LoggedTicks:
    """Counters of each row. None is dropped.

    Args:
        capacity: of the pool; without it the share in use is the file's own, of four digits.

    Raises:
        InputError: a file that is unreadable; a row that is not of finite numbers of at least 0; a
            time, or a count so far, that falls; a share that is not that of the tokens; fewer than
            two rows.
    """
    form = Format("sglang-log", Layout.CSV, DECODE_COLUMNS, parse=_no_row)
    rows: list[list[float]] = []
    for line, record in csv_records(path, form):
        try:
            if isinstance(record, BadRow):
                raise record
            row = [float(number(record, name)) for name in DECODE_COLUMNS]
        except BadRow as bad:
            allowed = f"rows without gaps (line {line}: {bad.what})"
            raise InputError("source", str(path), allowed) from None
        for place, (name, value) in enumerate(zip(DECODE_COLUMNS, row, strict=True)):
            before = rows[-1][place] if rows and name in _NEVER_FALLS else 0.0
            if not before <= value <= MAX_TIME_S:
                said = f"{name} is {value:g} after {before:g}" if before else f"{name} is {value:g}"
                allowed = f"counters that can be (line {line}: {said})"
                raise InputError("source", str(path), allowed)
        if capacity is not None and abs(row[4] / capacity - row[5]) > _SHARE:
            said = f"line {line}: {row[4]:,.0f} tokens of {capacity:,}, kv_usage {row[5]:g}"
            raise InputError("source", str(path), f"one capacity of the KV cache ({said})")
        rows.append(row)
    if len(rows) < 2:
        raise InputError("source", str(path), f"at least two rows (found {len(rows)})")
    ends, steps, running, waiting, tokens, usage, preemptions = np.array(rows).T
    return LoggedTicks(
        ends_s=ends,
        running=running,
        waiting=waiting,
        kv_used=usage if capacity is None else tokens / capacity,
        preemptions=preemptions,
        decode_steps=steps,
        resolution_s=_RESOLUTION_S,
    )


_NEVER_FALLS = ("time_s", "decode_iter", "preemptions")


def _no_row(record: Record) -> Row:
    # A format reads requests; `read_ticks` takes only what it says of the columns of a series.
    raise NotImplementedError("a row of the decode log is not a request")


def read_events(path: Path) -> tuple[tuple[Retraction, ...], tuple[PrefillPass, ...]]:
    """Retractions and prefill passes, in the order of the file; other events are passed over.

    Raises:
        InputError: a file that is unreadable, or a retraction or prefill of it.
    """
    retractions, prefills = [], []
    for line, record in json_records(path):
        try:
            if isinstance(record, BadRow):
                raise record
            if record.get("kind") == "retract":
                retractions.append(_retraction(record))
            elif record.get("kind") == "prefill":
                prefills.append(_prefill(record))
        except BadRow as bad:
            allowed = f"retractions and prefills without gaps (line {line}: {bad.what})"
            raise InputError("source", str(path), allowed) from None
    return tuple(retractions), tuple(prefills)


def _retraction(record: Record) -> Retraction:
    return Retraction(
        time_s=float(seconds(record, "time_s")),
        after_step=_said(record, "after_decode_iter"),
        ratio_before=_said(record, "ratio_before"),
        ratio_after=_said(record, "ratio_after"),
        tokens_gained=_said(record, "tokens_gained"),
    )


def _prefill(record: Record) -> PrefillPass:
    tokens, requests = (float(number(record, name)) for name in ("new_tokens", "new_seqs"))
    if not (0 <= tokens <= MAX_TIME_S and requests >= 1 and requests == int(requests)):
        raise BadRow("prefill: no count of tokens and requests")
    return PrefillPass(
        time_s=float(seconds(record, "time_s")),
        tokens=tokens,
        requests=int(requests),
        after_step=_said(record, "after_decode_iter"),
    )


def _said(record: Record, name: str) -> float | None:
    return None if record.get(name) is None else float(number(record, name))
