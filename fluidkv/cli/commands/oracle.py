"""`fluidkv oracle`: replay what real schedulers did."""

import json
from collections import Counter
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fluidkv.cli.codes import DIFFERS
from fluidkv.cli.options import Json
from fluidkv.cli.output import json_text
from fluidkv.cli.progress import progress
from fluidkv.report.numbers import counted
from fluidkv.report.page import Page
from fluidkv.report.terminal import WIDTH

if TYPE_CHECKING:
    from fluidkv.answers.records import RecordAnswer

_NAME = 32  # columns of a file's name
_CELL = 38  # what of a cell stands beside it, in 80 columns
_NOTHING = "nothing"


def oracle(
    files: Annotated[
        list[str], typer.Argument(metavar="FILE", help="Record files, or folders of them.")
    ],
    json_: Json = False,
) -> int:
    """Replay record files of real schedulers, and say whether every row is equal.

    Takes per-step records of vLLM's and SGLang's schedulers, calls on SGLang's
    prefix tree, and run counts of Vidur's scheduler. Exits with 1 if one differs,
    and shows the first row that does.

    [bold]fluidkv oracle records/[/bold]
    """
    from fluidkv.answers.records import read_files, replay_records

    records = read_files(files)
    # File names; whole paths where two files have one name.
    names = [Path(record.source).name for record in records]
    if max(Counter(names).values(), default=0) > 1:
        names = [record.source for record in records]
    page, answers = Page(), []
    with progress("replaying") as line:
        for name, answer in zip(names, replay_records(records, on_progress=line.show), strict=True):
            answers.append(answer)
            if not json_:
                with line.aside():
                    _say(page, name, answer)
    if json_:
        print(json_text({"records": [each.to_dict() for each in answers]}))
    return 0 if all(each.result.equal for each in answers) else DIFFERS


def _say(page: Page, name: str, answer: "RecordAnswer") -> None:
    """The answer in words; what differs and what is to be noted below it."""
    record, difference = answer.record, answer.result.difference
    lines = [f"{name:<{_NAME}} {record.engine} {record.version}: "]
    said = f"DIFFERS at {difference.where}" if difference else f"equal, {_counted(answer)}"
    if difference and len(name) <= _NAME and len(lines[0] + said) > WIDTH:
        lines.append(f"  {said}")
    else:
        lines[0] += said
    for line in lines:
        page.line(line)
    for column, recorded, replayed in difference.values if difference else ():
        for line in _both(column, recorded, replayed):
            page.line(line)
    for note in record.notes:
        page.line(f"  note: {note}")


def _counted(answer: "RecordAnswer") -> str:
    result, unit = answer.result, answer.record.unit
    if unit != "run":
        return counted(result.rows, unit)
    numbers = f"{result.evictions:,} evictions, {result.iterations:,} iterations"
    return f"{counted(result.rows, unit)}, {numbers}"


def _both(column: str, recorded: Any, replayed: Any) -> list[str]:
    """What a column says in both: in one line, or in two where one is too short.

    Of two lists, the first places that differ.
    """
    if isinstance(recorded, list) and isinstance(replayed, list):
        pairs = enumerate(zip_longest(recorded, replayed, fillvalue=_NOTHING))
        place, (recorded, replayed) = next((i, both) for i, both in pairs if both[0] != both[1])
        column = f"{column}[{place}]"
    one, other = (f"recorded {_cell(recorded)}", f"replayed {_cell(replayed)}")
    start = f"  {column:<{_NAME - 2}} "
    line = f"{start}{one}, {other}"
    return [line] if len(line) <= WIDTH else [start + one, " " * len(start) + other]


def _cell(value: Any) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    text = value if value is _NOTHING else json.dumps(value)
    return text if len(text) <= _CELL else f"{text[: _CELL - 3]}..."
