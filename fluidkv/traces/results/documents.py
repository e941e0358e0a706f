"""The JSON objects of a file of benchmark results, and the one run of it that is meant.

A file with several runs is read with the number of the run behind its name: `results.jsonl#2`.
"""

import re
from collections.abc import Sequence
from pathlib import Path

from fluidkv.errors import InputError
from fluidkv.reading import reading
from fluidkv.traces.format import BadRow, Record
from fluidkv.traces.results.run import BadRun, RunFormat, RunRows
from fluidkv.traces.source import json_object, json_records

_NUMBERED = re.compile(r"(.+)#(\d{1,9})", re.DOTALL)
_LABELS = 6
"""Runs that an error lists by name."""


def numbered(path: Path) -> tuple[Path, int | None]:
    """A file and the number of a run in it, of `FILE#N`; the number is None where none stands.

    A file that is really called so is meant first.
    """
    match = _NUMBERED.fullmatch(str(path))
    if match is None or path.exists() or not Path(match[1]).is_file():
        return path, None
    return Path(match[1]), int(match[2])


def documents(path: Path) -> list[Record | BadRow]:
    """Each JSON object of a file: the one that it is as a whole, or one a line.

    Raises:
        InputError: as `reading`.
    """
    _, first = next(json_records(path), (0, BadRow("empty")))
    whole = whole_object(path) if isinstance(first, BadRow) else None
    return [record for _, record in json_records(path)] if whole is None else [whole]


def whole_object(path: Path) -> Record | None:
    """The one JSON object that a file is, over however many lines; None where it is not."""
    with reading(path) as text:
        record = json_object(text.read())
    return None if isinstance(record, BadRow) else record


def rows_of_run(
    path: Path,
    form: RunFormat,
    number: int | None,
    objects: Sequence[Record | BadRow] | None = None,
) -> RunRows:
    """The requests of the one run that is meant.

    Args:
        number: which run of the file, from 1; None where there is one.
        objects: what `documents` gives, where it is at hand.

    Raises:
        InputError: another format, several runs and no number, no run of that number, or a run that
            cannot be read.
    """
    runs: list[Record] = []
    for record in documents(path) if objects is None else objects:
        if isinstance(record, BadRow):
            raise InputError("source", str(path), f"runs of {form.name} ({record.what})")
        runs += form.runs(record)
    if not runs:
        raise InputError("source", str(path), f"a run of {form.name}, as `{form.wrote}` writes it")
    if number is None and len(runs) > 1:
        allowed = f"one run, such as {path.name}#1 (there are {len(runs)}: {_listed(form, runs)})"
        raise InputError("source", str(path), allowed)
    if number is not None and not 1 <= number <= len(runs):
        allowed = f"a run from {path.name}#1 to {path.name}#{len(runs)}"
        raise InputError("source", f"{path.name}#{number}", allowed)
    try:
        return form.read(runs[(number or 1) - 1])
    except BadRun as bad:
        raise InputError("source", str(path), bad.allowed) from None


def _listed(form: RunFormat, runs: Sequence[Record]) -> str:
    names = [f"#{at} {form.label(run)}".strip() for at, run in enumerate(runs[:_LABELS], start=1)]
    return "; ".join(names) + ("; ..." if len(runs) > _LABELS else "")
