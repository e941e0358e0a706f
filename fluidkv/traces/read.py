"""Read a trace or a benchmark result of any known format, with an account of every row."""

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

from fluidkv.errors import InputError
from fluidkv.plain import plain_tuple
from fluidkv.text import nearest
from fluidkv.traces.cells import elapsed
from fluidkv.traces.format import BadRow, Format, Layout, Record, Row
from fluidkv.traces.known import LOG_FORMATS, chosen_format, format_names
from fluidkv.traces.place import place_of
from fluidkv.traces.report import LoadReport, Tally
from fluidkv.traces.results.documents import rows_of_run
from fluidkv.traces.results.run import RunFormat
from fluidkv.traces.samples.shipped import sample_path
from fluidkv.traces.source import csv_records, json_records
from fluidkv.traces.times import LoadedRun, RunFacts, times_of
from fluidkv.traces.trace import Trace


class LoadedTrace(NamedTuple):
    """A trace and the account of how it was read; unpacks as `trace, report = read_trace(...)`.

    Examples:
        >>> from pathlib import Path
        >>> rows = '''input_length,decode_length
        ... 10,2
        ... 12,0'''
        >>> _ = Path("mine.csv").write_text(rows)
        >>> loaded = fk.read_trace("mine.csv")
        >>> loaded.trace.input_lengths, loaded.report.dropped
        ((10,), 1)
        >>> list(loaded.to_dict())
        ['trace', 'report']
    """

    trace: Trace
    report: LoadReport

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return plain_tuple(self)


def read_trace(
    source: Path | str,
    *,
    format: str | None = None,
    columns: Mapping[str, str] | None = None,
) -> LoadedTrace:
    """Read the requests of a file or a log folder, in the order of the file.

    Args:
        source: a text file, a log folder with requests.jsonl or one benchmark result, or a log that
            ships with the package (`sample_names()`). Of a benchmark result with several runs,
            `FILE#N` is the N-th.
        format: one of `format_names()`; None finds it from the content (never from the name).
        columns: for format "csv" only: which column is `input_length`, `decode_length` and
            (optional, seconds or dates) `arrival_time`. Fields left out are found by usual names.

    Returns:
        The trace, named after the source, and a report of the rows kept, changed, flagged and
        dropped. A row is dropped for a length that is not a whole number from 1 to 10**8, for an
        arrival that is not a time, for times that contradict each other, and for broken text; the
        last line is no exception, except that a CSV file cut off inside its last number cannot be
        told from a complete one. Arrivals are seconds after the first row kept. Benchmark results
        with times of arrival are read in their order.

    Raises:
        InputError: a source that cannot be read as text or has no usable row; a format that is
            unknown, or not the one of the source; `columns` that do not fit; a benchmark result
            with totals alone, or that contradicts itself as a whole.

    Examples:
        >>> trace, report = fk.read_trace("sample:vllm-rtx4090")
        >>> trace.input_lengths[:3], trace.decode_lengths[:3], round(trace.arrival_times_s[1], 3)
        ((2358, 1034, 1320), (531, 769, 769), 0.265)
        >>> report.kept, report.dropped
        (300, 0)
    """
    return LoadedTrace(*read_run(source, format=format, columns=columns)[:2])


def read_run(
    source: Path | str,
    *,
    format: str | None = None,
    columns: Mapping[str, str] | None = None,
) -> LoadedRun:
    """As `read_trace`, with what a benchmark's client measured beside the lengths.

    Returns:
        The trace and the report of `read_trace`; the times of each request of the trace, None where
        the format has none; and what the file says of the run, None where it is no result.

    Raises:
        InputError: as `read_trace`.

    Examples:
        >>> import json
        >>> from pathlib import Path
        >>> from fluidkv.traces import read_run
        >>> said = {"backend": "vllm", "model_id": "qwen3-4b", "max_concurrency": 2}
        >>> said |= {"input_lens": [12, 13], "output_lens": [3, 4], "start_times": [100.5, 101.0]}
        >>> said |= {"duration": 1.5, "ttfts": [0.25, 0.5], "itls": [[0.5, 0.25], [0.1, 0.1, 0.3]]}
        >>> _ = Path("run.json").write_text(json.dumps(said))
        >>> run = read_run("run.json")
        >>> run.report.format, run.times.last_token_s, run.facts.max_concurrency
        ('vllm-bench-serve', (1.0, 1.5), 2)
    """
    if format is not None and format not in format_names():
        raise InputError("format", format, nearest(format, format_names()))
    path, number = place_of(source, format)
    chosen, objects = chosen_format(path, format, columns)
    facts: RunFacts | None = None
    notes: tuple[str, ...] = ()
    if isinstance(chosen, RunFormat):
        run = rows_of_run(path, chosen, number, objects)
        found: Iterable[tuple[int, Row | BadRow]] = enumerate(run.rows, start=1)
        facts, notes = run.facts, run.notes
    elif number is not None:
        allowed = f"a benchmark result where a run is named (this is {chosen.name})"
        raise InputError("source", str(source), allowed)
    else:
        found = _parsed(path, chosen)
    rows, tally, notes = _account(found, chosen, notes)
    shown = Path(source).resolve()
    of_log = chosen.name in LOG_FORMATS or sample_path(source).is_dir()
    report = tally.report(source=shown.name, format=chosen.name, notes=notes, of_log=of_log)
    if not rows:
        raise _nothing_left(path, report)
    block_size = None if isinstance(chosen, RunFormat) else chosen.block_size
    trace = _trace(rows, block_size, shown.stem if shown.is_file() else shown.name)
    return LoadedRun(trace, report, times_of(rows, trace.arrival_times_s), facts)


def _parsed(path: Path, form: Format) -> Iterator[tuple[int, Row | BadRow]]:
    for line, record in _records(path, form):
        try:
            if isinstance(record, BadRow):
                raise record
            row: Row | BadRow = form.parse(record)
        except BadRow as bad:
            row = bad
        yield line, row


def _records(path: Path, form: Format) -> Iterator[tuple[int, Record | BadRow]]:
    return csv_records(path, form) if form.layout is Layout.CSV else json_records(path)


def _account(
    found: Iterable[tuple[int, Row | BadRow]], chosen: Format | RunFormat, notes: tuple[str, ...]
) -> tuple[list[Row], Tally, tuple[str, ...]]:
    """The rows that are requests, in the order of the trace, and what became of each row."""
    by_arrival = isinstance(chosen, RunFormat) or chosen.by_arrival
    tally = Tally(place="request" if isinstance(chosen, RunFormat) else "line")
    rows, places = [], []
    for at, row in found:
        if isinstance(row, BadRow):
            tally.drop(row.what, at)
            continue
        rows.append(row)
        places.append(at)
    changed = _fill_missing_blocks(rows)
    late = [()] * len(rows) if by_arrival else _out_of_order(rows)
    for at, row, more_changed, more_flagged in zip(places, rows, changed, late, strict=True):
        tally.keep(at, changed=row.changed + more_changed, flagged=row.flagged + more_flagged)
    if by_arrival:
        ordered = sorted(rows, key=lambda row: row.arrival_s or 0)
        if any(a is not b for a, b in zip(ordered, rows, strict=True)):
            notes = (*notes, "read in order of arrival; the file has another order")
        rows = ordered
    return rows, tally, (*notes, *_prefix_note(rows))


def _prefix_note(rows: list[Row]) -> tuple[str, ...]:
    """What is done with prompts that say what they share."""
    if any(row.prefix_blocks for row in rows):
        said = "hash_ids"
    elif _share_segments(rows):
        said = "segments"
    else:
        return ()
    users = "cache and route, recommend and compare"
    return (f"prompts say what they share ({said}): used by prefix caches, in {users}",)


def _share_segments(rows: list[Row]) -> bool:
    return any(segment is not None for row in rows for segment, _ in row.prompt_segments or ())


def _fill_missing_blocks(rows: list[Row]) -> list[tuple[str, ...]]:
    """What changed in each row: one without prefix blocks among others that have them gets none."""
    if all(row.prefix_blocks is None for row in rows):
        return [()] * len(rows)
    note = ("prefix blocks: missing, read as an empty list",)
    return [note if row.prefix_blocks is None else () for row in rows]


def _out_of_order(rows: list[Row]) -> list[tuple[str, ...]]:
    """What is odd in each row: an arrival before the row above. The order of the file stays."""
    flags: list[tuple[str, ...]] = []
    before: Decimal | None = None
    for row in rows:
        now = row.arrival_s
        late = before is not None and now is not None and now < before
        flags.append(("arrival: before that of the row above",) if late else ())
        before = now
    return flags


def _trace(rows: list[Row], block_size: int | None, name: str) -> Trace:
    start = rows[0].arrival_s
    times = None
    if start is not None:
        times = tuple(elapsed(start, row.arrival_s) for row in rows if row.arrival_s is not None)
    has_blocks = any(row.prefix_blocks is not None for row in rows)
    asked = tuple(row.max_tokens for row in rows if row.max_tokens is not None)
    segments = _numbered(rows) if _share_segments(rows) else None
    return Trace(
        input_lengths=tuple(row.input_length for row in rows),
        decode_lengths=tuple(row.decode_length for row in rows),
        arrival_times_s=times,
        prefix_blocks=tuple(row.prefix_blocks or () for row in rows) if has_blocks else None,
        prefix_block_size=block_size if has_blocks else None,
        prompt_segments=segments,
        output_segments=tuple(row.output_segment for row in rows) if segments else None,
        max_tokens=asked or None,
        name=name,
    )


def _numbered(rows: list[Row]) -> tuple[tuple[tuple[int, int], ...], ...]:
    """The segments of each prompt; what is nobody else's gets a number that nobody else has."""
    prompts = [row.prompt_segments or () for row in rows]
    named = [segment for prompt in prompts for segment, _ in prompt]
    named += [row.output_segment for row in rows]
    own = 1 + max(segment for segment in named if segment is not None)
    return tuple(
        tuple((own + k if segment is None else segment, tokens) for segment, tokens in prompt)
        for k, prompt in enumerate(prompts)
    )


def _nothing_left(path: Path, report: LoadReport) -> InputError:
    found = "no rows"
    if report.dropped_because:
        reasons = "; ".join(str(reason) for reason in report.dropped_because[:2])
        found = f"{report.dropped} rows dropped: {reasons}"
    allowed = f"at least one usable row of format {report.format} ({found})"
    return InputError("source", str(path), allowed)
