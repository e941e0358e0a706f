"""`fluidkv oracle`: replay what real schedulers did."""

import json
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from fluidkv.errors import InputError

if TYPE_CHECKING:
    from rich.status import Status

    from fluidkv.serving.records.replay import Replay, VidurCounts, VllmRecord

_ABSENT = "no such field"  # as the reader of records has it
_NAME = 32  # columns of a file's name


def oracle(
    files: Annotated[
        list[str], typer.Argument(metavar="FILE", help="Record files, or folders of them.")
    ],
    json_: Annotated[
        bool, typer.Option("--json", help="Print only JSON on standard output.")
    ] = False,
) -> int:
    """Replay record files of real schedulers, and say whether every row is equal.

    Takes per-step records of vLLM's scheduler and run counts of Vidur's. Exits
    with 1 if one differs, and shows the first row that does.

    [bold]fluidkv oracle records/[/bold]
    """
    from fluidkv.cli.app import DIFFERS
    from fluidkv.serving.records.replay import replay

    records = [record for file in files for record in _read(file)]  # all, before any runs
    answers, equal = [], True
    with _status(quiet=json_) as status:
        for record, name in zip(records, _names(records), strict=True):
            show = None if status is None else _shower(status, name)
            result = replay(record, on_progress=show)
            equal = equal and result.equal
            if json_:
                answers.append(as_dict(record, result))
            else:
                print("\n".join(_lines(name, record, result)), flush=True)
    if json_:
        print(json.dumps(answers, indent=2, allow_nan=False))
    return 0 if equal else DIFFERS


def _read(file: str) -> "list[VllmRecord | VidurCounts]":
    from fluidkv.serving.records.replay import read_records

    try:
        return read_records(file)
    except InputError as error:
        if error.value != _ABSENT:
            raise
        where, _, name = error.argument.rpartition(": ")
        allowed = f"a record of vLLM's or Vidur's scheduler; this has no field {name!r}"
        raise InputError("FILE", where or file, allowed) from None


def as_dict(record: "VllmRecord | VidurCounts", result: "Replay") -> dict[str, Any]:
    """One answer, of JSON values; the keys are explained in docs/engines.md."""
    difference = result.difference
    return {
        "file": record.source,
        "engine": _engine(record),
        "version": record.version,
        "equal": result.equal,
        "rows": result.rows,
        "evictions": result.evictions,
        "iterations": result.iterations,
        "difference": difference
        and {
            "row": difference.row,
            "columns": [
                {"name": name, "recorded": recorded, "replayed": replayed}
                for name, recorded, replayed in difference.values
            ],
        },
        "notes": list(record.notes),
    }


def _names(records: "list[VllmRecord | VidurCounts]") -> list[str]:
    """File names; whole paths where two files have one name."""
    names = [Path(record.source).name for record in records]
    if len(set(names)) == len(names):
        return names
    return [record.source for record in records]


def _lines(name: str, record: "VllmRecord | VidurCounts", result: "Replay") -> list[str]:
    """The answer in words; what differs and what is to be noted below it."""
    head = f"{name:<{_NAME}} {_engine(record)} {record.version}: "
    if result.difference is None:
        lines = [head + "equal, " + _counted(record, result)]
    else:
        lines = [head + f"DIFFERS at {result.difference.where}"]
        lines += [
            f"  {column:<{_NAME - 2}} recorded {recorded:,}, replayed {replayed:,}"
            for column, recorded, replayed in result.difference.values
        ]
    return lines + [f"  note: {note}" for note in record.notes]


def _counted(record: "VllmRecord | VidurCounts", result: "Replay") -> str:
    if _engine(record) == "vllm":
        return f"{result.rows:,} rows"
    numbers = f"{result.evictions:,} evictions, {result.iterations:,} iterations"
    return f"{result.rows:,} {'run' if result.rows == 1 else 'runs'}, {numbers}"


def _engine(record: "VllmRecord | VidurCounts") -> str:
    from fluidkv.serving.records.replay import VllmRecord

    return "vllm" if isinstance(record, VllmRecord) else "vidur"


def _status(*, quiet: bool) -> "AbstractContextManager[Status | None]":
    """A line that moves while a replay goes on; nothing where no person watches."""
    console = Console(stderr=True, highlight=False)
    if quiet or not console.is_terminal:
        return nullcontext()
    return console.status("replaying (Ctrl-C stops)")


def _shower(status: "Status", name: str) -> Callable[[str], None]:
    return lambda where: status.update(escape(f"{name}: {where} (Ctrl-C stops)"))
