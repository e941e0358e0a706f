"""Record files of real schedulers, replayed: whether every row is equal, and the first that is not.

for answer in replay_records(read_files(["records/"])):
    print(answer.record.source, answer.result.equal)
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from fluidkv.errors import InputError
from fluidkv.record import Record as Result
from fluidkv.serving.records.replay import Record, Replay, read_records, replay

_ABSENT = "no such field"  # as the reader of records has it


@dataclass(frozen=True)
class RecordAnswer(Result):
    """A record and its replay."""

    record: Record
    result: Replay

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; the keys are explained in docs/engines.md."""
        record, result, difference = self.record, self.result, self.result.difference
        return {
            "file": record.source,
            "engine": record.engine,
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


def read_files(files: Iterable[str]) -> list[Record]:
    """Every record in these files and folders, in their order.

    Raises:
        InputError: a file that is no record, or that asks for what is not modelled.
    """
    return [record for file in files for record in _read(file)]


def replay_records(
    records: Iterable[Record],
    *,
    on_progress: Callable[[str], None] | None = None,
) -> Iterator[RecordAnswer]:
    """Each record beside its replay, as soon as that is done.

    Args:
        on_progress: told now and then which file is replayed, and where in it the replay is.
    """
    for record in records:

        def show(where: str, source: str = record.source) -> None:
            if on_progress is not None:
                on_progress(f"{source}: {where}")

        yield RecordAnswer(record, replay(record, on_progress=show))


def _read(file: str) -> list[Record]:
    try:
        return read_records(file)
    except InputError as error:
        if error.value != _ABSENT:
            raise
        where, _, name = error.argument.rpartition(": ")
        allowed = f"a record of vLLM, SGLang or Vidur; this has no field {name!r}"
        raise InputError("FILE", where or file, allowed) from None
