"""Read a trace of any known format, with an account of every row."""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from fluidkv.errors import InputError
from fluidkv.traces import generic
from fluidkv.traces.azure import AZURE
from fluidkv.traces.burstgpt import BURSTGPT
from fluidkv.traces.cells import elapsed
from fluidkv.traces.format import BadRow, Format, Layout, Record, Row, folded, listed
from fluidkv.traces.mooncake import MOONCAKE
from fluidkv.traces.report import LoadReport, Tally
from fluidkv.traces.samples.shipped import sample_path
from fluidkv.traces.segments import SEGMENTS
from fluidkv.traces.source import (
    csv_header,
    csv_records,
    first_line,
    is_json,
    json_records,
    wrong_columns,
)
from fluidkv.traces.trace import Trace
from fluidkv.traces.vidur import VIDUR
from fluidkv.traces.vllm_bench import REQUESTS_FILE, VLLM_BENCH

# Searched in this order; no file has the columns of two of them unless it was made to.
_FORMATS = {form.name: form for form in (AZURE, BURSTGPT, MOONCAKE, SEGMENTS, VIDUR, VLLM_BENCH)}

# Lines looked at to recognise JSON lines: enough to pass over a few broken ones.
_LINES_TO_RECOGNISE = 20


class LoadedTrace(NamedTuple):
    """A trace and the account of how it was read; unpacks as `trace, report = read_trace(...)`."""

    trace: Trace
    report: LoadReport


def read_trace(
    source: Path | str,
    *,
    format: str | None = None,
    columns: Mapping[str, str] | None = None,
) -> LoadedTrace:
    """Read the requests of a file or a log folder, in the order of the file.

    Args:
        source: a text file, the folder of a vLLM bench log, or a log that ships with the package
            (`sample_names()`).
        format: one of `format_names()`; None finds it from the content (never from the name).
        columns: for format "csv" only: which column is `input_length`, `decode_length` and
            (optional, seconds or dates) `arrival_time`. Fields left out are found by usual names.

    Returns:
        The trace, named after the source, and a report of the rows kept, changed, flagged and
        dropped. A row is dropped for a length that is not a whole number from 1 to 10**8, for an
        arrival that is not a time, and for broken text; the last line is no exception, except
        that a CSV file cut off inside its last number cannot be told from a complete one.
        Arrivals are seconds after the first row kept.

    Raises:
        InputError: a source that cannot be read as text or has no usable row; a format that is
            unknown, or not the one of the source; `columns` that do not fit.
    """
    path = _log_file(source, format)
    chosen = _choose(path, format, columns)
    tally = Tally()
    rows, lines = [], []
    for line, record in _records(path, chosen):
        try:
            if isinstance(record, BadRow):
                raise record
            row = chosen.parse(record)
        except BadRow as bad:
            tally.drop(bad.what, line)
            continue
        rows.append(row)
        lines.append(line)
    changed = _fill_missing_blocks(rows)
    late = _out_of_order(rows)
    for line, row, more_changed, more_flagged in zip(lines, rows, changed, late, strict=True):
        tally.keep(line, changed=row.changed + more_changed, flagged=row.flagged + more_flagged)
    shown = Path(source).resolve()
    report = tally.report(source=shown.name, format=chosen.name)
    if not rows:
        raise _nothing_left(path, report)
    return LoadedTrace(_trace(rows, chosen, shown.stem if shown.is_file() else shown.name), report)


def format_names() -> tuple[str, ...]:
    """What `format=` takes, in alphabetical order."""
    return tuple(sorted((*_FORMATS, generic.NAME)))


def _log_file(source: Path | str, format: str | None) -> Path:
    if not isinstance(source, Path | str):
        raise InputError("source", source, "the path of a trace file or log folder")
    if format is not None and format not in format_names():
        raise InputError("format", format, f"one of {', '.join(format_names())}")
    path = sample_path(source)
    try:
        if not path.is_dir():
            return path
    except OSError as error:  # a folder on the way that must not be entered, a name too long
        raise InputError("source", str(source), f"a readable path ({error.strerror})") from None
    if format not in (None, VLLM_BENCH.name):
        raise InputError("format", format, f"{VLLM_BENCH.name} where the source is a folder")
    log = path / REQUESTS_FILE
    if not log.is_file():
        raise InputError("source", str(source), f"a file, or a log folder with {REQUESTS_FILE}")
    return log


def _choose(path: Path, format: str | None, columns: Mapping[str, str] | None) -> Format:
    if columns is not None and format not in (None, generic.NAME):
        raise InputError("columns", columns, f"none, unless the format is {generic.NAME}")
    first_line(path)  # an empty file, or one that is no text, gets a message of its own
    if format in _FORMATS:
        return _FORMATS[format]
    if format is None and columns is None and is_json(path):
        return _recognise_json(path)
    header = csv_header(path)
    if format is None and columns is None:
        for form in _FORMATS.values():
            if form.layout is Layout.CSV and _has(header, form.required):
                return form
    found = generic.csv_format(header, columns)
    if found is None:
        wanted = ("input_length", "decode_length")
        what = f"columns of {_names(Layout.CSV)}, or with usual names for"
        raise wrong_columns(path, header, what, wanted)
    return found


def _recognise_json(path: Path) -> Format:
    keys: tuple[str, ...] = ()
    for _, record in islice(json_records(path), _LINES_TO_RECOGNISE):
        if isinstance(record, BadRow):
            continue
        keys = keys or tuple(record)
        for form in _FORMATS.values():
            if form.layout is Layout.JSON_LINES and all(key in record for key in form.required):
                return form
    raise InputError(
        "source", str(path), f"JSON lines of {_names(Layout.JSON_LINES)} (found: {listed(keys)})"
    )


def _names(layout: Layout) -> str:
    return " or ".join(form.name for form in _FORMATS.values() if form.layout is layout)


def _has(header: tuple[str, ...], required: tuple[str, ...]) -> bool:
    names = {folded(name) for name in header}
    return all(folded(name) in names for name in required)


def _records(path: Path, form: Format) -> Iterator[tuple[int, Record | BadRow]]:
    return csv_records(path, form) if form.layout is Layout.CSV else json_records(path)


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


def _trace(rows: list[Row], form: Format, name: str) -> Trace:
    start = rows[0].arrival_s
    times = None
    if start is not None:
        times = tuple(elapsed(start, row.arrival_s) for row in rows if row.arrival_s is not None)
    has_blocks = any(row.prefix_blocks is not None for row in rows)
    segments = tuple(row.prompt_segments for row in rows if row.prompt_segments is not None)
    return Trace(
        input_lengths=tuple(row.input_length for row in rows),
        decode_lengths=tuple(row.decode_length for row in rows),
        arrival_times_s=times,
        prefix_blocks=tuple(row.prefix_blocks or () for row in rows) if has_blocks else None,
        prefix_block_size=form.block_size if has_blocks else None,
        prompt_segments=segments or None,
        output_segments=tuple(row.output_segment for row in rows) if segments else None,
        name=name,
    )


def _nothing_left(path: Path, report: LoadReport) -> InputError:
    found = "no rows"
    if report.dropped_because:
        reasons = "; ".join(str(reason) for reason in report.dropped_because[:2])
        found = f"{report.dropped} rows dropped: {reasons}"
    allowed = f"at least one usable row of format {report.format} ({found})"
    return InputError("source", str(path), allowed)
