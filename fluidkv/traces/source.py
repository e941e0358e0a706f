"""Text out of a file, record by record; whatever is not readable text is an InputError."""

import json
import re
from collections.abc import Iterable, Iterator
from decimal import Decimal
from pathlib import Path

from fluidkv.errors import InputError
from fluidkv.reading import BROKEN, PLAIN, csv_rows, lines, reading
from fluidkv.traces.format import BadRow, Format, Record, folded, listed

# A `[` that opens objects or arrays, or stands alone; not a section `[name]` of a settings file.
_JSON_ARRAY = re.compile(r"\s*\[\s*([\[{]|$)")


def first_line(path: Path) -> str:
    """The first line that is not blank.

    Raises:
        InputError: as `reading`, or nothing but blank lines.
    """
    with reading(path) as text:
        for line in lines(text, path):
            if line.strip():
                return line
    raise InputError("source", str(path), f"{PLAIN} that holds requests (this file is empty)")


def is_json(path: Path) -> bool:
    """Whether the first line looks like JSON."""
    line = first_line(path)
    return line.lstrip().startswith("{") or _JSON_ARRAY.match(line) is not None


def csv_header(path: Path) -> tuple[str, ...]:
    """Column names, each on one line; none where the first line is not a row of CSV."""
    with reading(path) as text:
        _, cells = next(csv_rows(text, path), (0, None))
    return tuple(" ".join(name.split()) for name in cells or ())


def csv_records(path: Path, form: Format) -> Iterator[tuple[int, Record | BadRow]]:
    """(line where it begins, record) for each row after the header; blank lines are no rows.

    Column names agree whatever their case and order; further columns are ignored. A quoted cell
    may run over several lines.

    Raises:
        InputError: as `reading`; a column that is missing or stands twice; a quote never closed.
    """
    with reading(path) as text:
        rows = csv_rows(text, path)
        _, header = next(rows, (0, []))
        if header is None:
            raise InputError("source", str(path), f"a {form.layout.value} ({BROKEN})")
        where = _column_indices(path, header, form)
        for line, cells in rows:
            if cells is None:
                yield line, BadRow(BROKEN)
            elif len(cells) < len(header):
                yield line, BadRow("fewer cells than the header")
            elif len(cells) > len(header):
                yield line, BadRow("more cells than the header")
            else:
                yield line, {name: cells[i] for name, i in where.items()}


def json_records(path: Path) -> Iterator[tuple[int, Record | BadRow]]:
    """(line, object) for each line of JSON lines; blank lines are no rows. Numbers stay exact.

    Raises:
        InputError: as `reading`; a JSON array.
    """
    with reading(path) as text:
        first = True
        for number, line in enumerate(lines(text, path), start=1):
            if not line.strip():
                continue
            if first and _JSON_ARRAY.match(line):
                allowed = "JSON lines, one object a line (this is a JSON array)"
                raise InputError("source", str(path), allowed)
            first = False
            yield number, json_object(line)


def _column_indices(path: Path, header: list[str], form: Format) -> dict[str, int]:
    names = [folded(name) for name in header]
    where = {}
    for name in form.required + form.optional:
        times = names.count(folded(name))
        if times > 1:
            raise InputError("source", str(path), f"one column {name!r} (it stands {times} times)")
        if times == 1:
            where[name] = names.index(folded(name))
        elif name in form.required:
            raise wrong_columns(path, header, f"{form.name} columns", form.required)
    return where


def wrong_columns(path: Path, found: Iterable[str], what: str, wanted: Iterable[str]) -> InputError:
    """The error for a file whose columns or keys are not those of a format."""
    allowed = f"{what} {', '.join(wanted)} (found: {listed(found)})"
    return InputError("source", str(path), allowed)


def json_object(line: str) -> Record | BadRow:
    """The JSON object that a text is, its numbers exact; or why it is none."""
    try:
        record = json.loads(
            line, parse_float=Decimal, parse_constant=Decimal, object_pairs_hook=_object
        )
    except BadRow as bad:
        return bad
    except (ValueError, ArithmeticError, RecursionError):
        # Broken or cut off; or a number of thousands of digits, or a nesting without end.
        return BadRow("not valid JSON")
    return record if isinstance(record, dict) else BadRow("not a JSON object")


def _object(pairs: list[tuple[str, object]]) -> Record:
    record = dict(pairs)
    if len(record) < len(pairs):
        raise BadRow("a key stands twice")
    return record
