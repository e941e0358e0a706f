"""`fluidkv oracle`: replay what real schedulers did."""

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fluidkv.cli.codes import DIFFERS
from fluidkv.cli.options import Json
from fluidkv.cli.page.numbers import counted
from fluidkv.cli.page.page import Page
from fluidkv.cli.progress import progress

if TYPE_CHECKING:
    from fluidkv.answers.records import RecordAnswer

_NAME = 32  # columns of a file's name


def oracle(
    files: Annotated[
        list[str], typer.Argument(metavar="FILE", help="Record files, or folders of them.")
    ],
    json_: Json = False,
) -> int:
    """Replay record files of real schedulers, and say whether every row is equal.

    Takes per-step records of vLLM's scheduler and run counts of Vidur's. Exits
    with 1 if one differs, and shows the first row that does.

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
        print(json.dumps([each.as_dict() for each in answers], indent=2, allow_nan=False))
    return 0 if all(each.result.equal for each in answers) else DIFFERS


def _say(page: Page, name: str, answer: "RecordAnswer") -> None:
    """The answer in words; what differs and what is to be noted below it."""
    difference = answer.result.difference
    said = f"equal, {_counted(answer)}"
    if difference is not None:
        said = f"DIFFERS at {difference.where}"
    page.line(f"{name:<{_NAME}} {answer.engine} {answer.record.version}: {said}")
    for column, recorded, replayed in difference.values if difference else ():
        page.line(f"  {column:<{_NAME - 2}} recorded {recorded:,}, replayed {replayed:,}")
    for note in answer.record.notes:
        page.line(f"  note: {note}")


def _counted(answer: "RecordAnswer") -> str:
    result = answer.result
    if answer.engine == "vllm":
        return counted(result.rows, "row")
    numbers = f"{result.evictions:,} evictions, {result.iterations:,} iterations"
    return f"{counted(result.rows, 'run')}, {numbers}"
