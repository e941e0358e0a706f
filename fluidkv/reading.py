"""Files from outside: whatever is not readable text, or not the JSON object it should be, is an
InputError. Pipes and devices, which may never end, are refused.
"""

import csv
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from fluidkv.errors import InputError

PLAIN = "an uncompressed UTF-8 text file"

BROKEN = "broken quotes"
"""What is wrong with a row of CSV that has no cells; a cell of more than 131,072 characters too."""

_MAGIC = {
    b"\x1f\x8b": "gzip",
    b"PK\x03\x04": "zip",
    b"BZh": "bzip2",
    b"\xfd7zXZ": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
}


@contextmanager
def reading(path: Path, argument: str = "source") -> Iterator[TextIO]:
    """The file as UTF-8 text, a byte order mark left out, line ends as they are.

    Args:
        argument: what the caller's user calls the file.

    Raises:
        InputError: missing, not a regular file, not permitted, compressed, or not UTF-8.
    """
    try:
        if not path.exists():
            raise InputError(argument, str(path), "a file that exists (there is no such file)")
        if not path.is_file():
            found = "this is a folder" if path.is_dir() else "this is not a regular file"
            raise InputError(argument, str(path), f"{PLAIN} ({found})")
        with path.open("rb") as file:
            start = file.read(8)
        for magic, kind in _MAGIC.items():
            if start.startswith(magic):
                allowed = f"{PLAIN} (this is {kind}: unpack it first)"
                raise InputError(argument, str(path), allowed)
        with path.open(encoding="utf-8-sig", newline="") as text:
            yield text
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise InputError(argument, str(path), f"a file that can be read ({reason})") from None
    except UnicodeDecodeError:
        raise InputError(argument, str(path), f"{PLAIN} (this is not UTF-8 text)") from None


def lines(text: TextIO, path: Path, argument: str = "source") -> Iterator[str]:
    """The lines of a text, their ends kept.

    Raises:
        InputError: a null byte, which no text has.
    """
    for line in text:
        if "\0" in line:
            raise InputError(argument, str(path), f"{PLAIN} (this is a binary file)")
        yield line


def csv_rows(
    text: TextIO, path: Path, argument: str = "source"
) -> Iterator[tuple[int, list[str] | None]]:
    """(line where it begins, cells) of each row, header first; None where a row is `BROKEN`.

    Blank lines are no rows. A quoted cell may run over several lines.

    Raises:
        InputError: as `lines`; a quote that never closes.
    """
    reader = csv.reader(lines(text, path, argument), strict=True)
    while True:
        before = reader.line_num
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            if reader.line_num - before > 1:
                # The rest of the file may be inside this cell: nobody knows how many rows it ate.
                allowed = f"cells whose quotes close (line {before + 1}: {error})"
                raise InputError(argument, str(path), allowed) from None
            cells = None
        if cells is None or len(cells) > 1 or "".join(cells).strip():
            yield before + 1, cells


def json_object(path: Path, allowed: str, argument: str = "source") -> dict[str, Any]:
    """The one JSON object that a file holds.

    Args:
        allowed: what the file has to be, for the error.

    Raises:
        InputError: as `reading`; broken JSON, a number of thousands of digits, a nesting without
            end; another value than an object.
    """
    with reading(path, argument) as text:
        try:
            value = json.load(text)
        except UnicodeDecodeError:
            raise
        except (ValueError, RecursionError) as error:
            said = " ".join(str(error).split())[:60]
            raise InputError(argument, str(path), f"{allowed} ({said})") from None
    if not isinstance(value, dict):
        raise InputError(argument, str(path), f"{allowed} (this is a {type(value).__name__})")
    return value
