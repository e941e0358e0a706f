"""`fluidkv oracle`: record files of real schedulers, replayed; the first row that is not equal.

for answer in replay_records(read_files(["records/"])):
    print(answer.record.source, answer.result.equal)
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from fluidkv.errors import InputError
from fluidkv.keys import Key, Keyed
from fluidkv.questions.kinds import Text
from fluidkv.questions.options import Option
from fluidkv.questions.question import Question
from fluidkv.report.numbers import counted
from fluidkv.report.page import Page
from fluidkv.report.terminal import WIDTH

if TYPE_CHECKING:
    from fluidkv.serving.records.comparison import Difference
    from fluidkv.serving.records.replay import Record, Replay

_NAME = 32  # columns of a file's name
_CELL = 38  # what of a cell stands beside it, in 80 columns
_NOTHING = "nothing"
_FILES = Option("FILE", Text(), "Record files, or folders of them.", many=True, json_key="files")
_ABSENT = "no such field"  # as the reader of records has it


@dataclass(frozen=True)
class RecordAnswer(Keyed):
    """A record and its replay.

    Examples:
        >>> from fluidkv.answers.records import replay_records
        >>> from fluidkv.serving.records.vllm import VllmRecord
        >>> from fluidkv.serving.records.arrivals import Arrivals
        >>> steps = (Arrivals(fk.Requests([4, 4], [8, 8])), ("running",), [[2], [2], [1]])
        >>> server = (fk.engine("vllm"), fk.Limits(16))
        >>> record = VllmRecord("by hand", "0.33.0", (), *steps, *server)
        >>> [answer] = replay_records([record])
        >>> answer.result.equal, answer.to_dict()["difference"]["row"]
        (False, 2)
        >>> answer.to_dict()["difference"]["columns"]
        [{'name': 'running', 'recorded': 1, 'replayed': 2}]
    """

    record: "Record"
    result: "Replay"

    KEYS = (
        Key("file", "text", "of the record", "record.source"),
        Key("engine", "text", "that it is of", "record.engine"),
        Key("version", "text", "of the engine", "record.version"),
        Key("equal", "yes/no", "whether each row is", "result.equal"),
        Key("rows", "count", "equal rows, from the first on", "result.rows"),
        Key("evictions", "count", "of the replay", "result.evictions"),
        Key("iterations", "count", "of the replay", "result.iterations"),
        Key(
            "difference",
            what="if a row differs; else null",
            of=lambda answer: answer.result.difference and _difference(answer.result.difference),
            below=(
                ("row", "from 0", "the first that is not equal"),
                ("columns[].name", "text", "of a cell that differs"),
                ("columns[].recorded", "", "its value in the record"),
                ("columns[].replayed", "", "its value in the replay"),
            ),
        ),
        Key("notes[]", "text", "of the record", "record.notes"),
    )


def _difference(difference: "Difference") -> dict[str, Any]:
    cells = ("name", "recorded", "replayed")
    columns = [dict(zip(cells, values, strict=True)) for values in difference.values]
    return {"row": difference.row, "columns": columns}


def read_files(files: Iterable[str]) -> "list[Record]":
    """Every record in these files and folders, in their order.

    Raises:
        InputError: a file that is no record, or that asks for what is not modelled.

    Examples:
        >>> import json
        >>> from pathlib import Path
        >>> from fluidkv.answers.records import read_files
        >>> record = {"engine": "vidur", "commit": "7d47513", "scheduler": "sarathi", "requests": 4}
        >>> record |= {"arrivals": "all before iteration 0", "order": "classes in turn"}
        >>> record |= {"input_length": 2, "block_size": 2, "num_blocks": 4, "watermark_blocks": 1}
        >>> record |= {"batch_size_cap": 4096, "prefill_budget": "unlimited"}
        >>> record |= {"runs": [{"output_lengths": [3, 5], "evictions": 2, "iterations": 11}]}
        >>> _ = Path("counts.json").write_text(json.dumps(record))
        >>> [record] = read_files(["counts.json"])
        >>> record.engine, record.version
        ('vidur', '7d47513')
    """
    return [record for file in files for record in _read(file)]


def replay_records(
    records: "Iterable[Record]",
    *,
    on_progress: Callable[[str], None] | None = None,
) -> Iterator[RecordAnswer]:
    """Each record beside its replay, as soon as that is done.

    Args:
        on_progress: told now and then which file is replayed, and where in it the replay is.

    Examples:
        >>> from fluidkv.answers.records import replay_records
        >>> from fluidkv.serving.records.vllm import VllmRecord
        >>> from fluidkv.serving.records.arrivals import Arrivals
        >>> arrivals, columns = Arrivals(fk.Requests([4, 4], [8, 8])), ("running", "preempt")
        >>> steps = (arrivals, columns, [[2, 0]] * 5 + [[1, 1]])
        >>> server = (fk.engine("vllm"), fk.Limits(16))
        >>> record = VllmRecord("by hand", "0.33.0", (), *steps, *server)
        >>> [(answer.result.equal, answer.result.rows) for answer in replay_records([record])]
        [(True, 6)]
    """
    from fluidkv.serving.records.replay import replay

    for record in records:

        def show(where: str, source: str = record.source) -> None:
            if on_progress is not None:
                on_progress(f"{source}: {where}")

        yield RecordAnswer(record, replay(record, on_progress=show))


def _read(file: str) -> "list[Record]":
    from fluidkv.serving.records.replay import read_records

    try:
        return read_records(file)
    except InputError as error:
        if error.value != _ABSENT:
            raise
        where, _, name = error.argument.rpartition(": ")
        allowed = f"a record of vLLM, SGLang or Vidur; this has no field {name!r}"
        raise InputError("FILE", where or file, allowed) from None


@dataclass(frozen=True)
class RecordAnswers(Keyed):
    """All of them, in the order of the files.

    Examples:
        >>> from fluidkv.answers.records import RecordAnswers
        >>> RecordAnswers(()).equal
        True
    """

    records: tuple[RecordAnswer, ...]

    KEYS = (Key("records[]", below=RecordAnswer),)

    @property
    def equal(self) -> bool:
        """Whether every row of each is."""
        return all(each.result.equal for each in self.records)


def ask_oracle(
    files: Annotated[Sequence[str], _FILES],
    on_step: Callable[[str], None] | None = None,
) -> RecordAnswers:
    """Replay record files of real schedulers, and say whether every row is equal.

    Takes per-step records of vLLM's and SGLang's schedulers, calls on SGLang's
    prefix tree, and run counts of Vidur's scheduler. Exits with 1 if one differs,
    and shows the first row that does.
    """
    return RecordAnswers(tuple(replay_records(read_files(files), on_progress=on_step)))


def say_oracle(page: Page, answer: RecordAnswers) -> None:
    """A line for each record, by its file's name; by its path where two files have one name."""
    sources = [each.record.source for each in answer.records]
    names = [Path(source).name for source in sources]
    if max(Counter(names).values(), default=0) > 1:
        names = sources
    for name, each in zip(names, answer.records, strict=True):
        _say_one(page, name, each)


def _say_one(page: Page, name: str, answer: RecordAnswer) -> None:
    """The answer in words; what differs and what is to be noted below it."""
    record, difference = answer.record, answer.result.difference
    lines = [f"{name:<{_NAME}} {record.engine} {record.version}: "]
    outcome = f"DIFFERS at {difference.where}" if difference else f"equal, {_counted(answer)}"
    if len(name) <= _NAME and len(lines[0] + outcome) > WIDTH:
        lines.append(f"  {outcome}")
    else:
        lines[0] += outcome
    for line in lines:
        page.line(line)
    for column, recorded, replayed in difference.values if difference else ():
        for line in _both(column, recorded, replayed):
            page.line(line)
    for note in record.notes:
        page.line(f"  note: {note}")


def _counted(answer: RecordAnswer) -> str:
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


ORACLE = Question(
    name="oracle",
    ask=ask_oracle,
    say=say_oracle,
    doing="replaying",
    examples=("fluidkv oracle records/",),
    fails=lambda answer: not answer.equal,
    sweep=None,
)
