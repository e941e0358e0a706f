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
    """A record and its replay.

    Examples:
        >>> from fluidkv.answers import replay_records
        >>> from fluidkv.serving import VllmRecord
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

    record: Record
    result: Replay

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; the keys are explained in docs/json.md."""
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

    Examples:
        >>> import json
        >>> from pathlib import Path
        >>> from fluidkv.answers import read_files
        >>> said = {"engine": "vidur", "commit": "7d47513", "scheduler": "sarathi", "requests": 4}
        >>> said |= {"arrivals": "all before iteration 0", "order": "classes in turn"}
        >>> said |= {"input_length": 2, "block_size": 2, "num_blocks": 4, "watermark_blocks": 1}
        >>> said |= {"batch_size_cap": 4096, "prefill_budget": "unlimited"}
        >>> said |= {"runs": [{"output_lengths": [3, 5], "evictions": 2, "iterations": 11}]}
        >>> _ = Path("counts.json").write_text(json.dumps(said))
        >>> [record] = read_files(["counts.json"])
        >>> record.engine, record.version
        ('vidur', '7d47513')
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

    Examples:
        >>> from fluidkv.answers import replay_records
        >>> from fluidkv.serving import VllmRecord
        >>> from fluidkv.serving.records.arrivals import Arrivals
        >>> arrivals, columns = Arrivals(fk.Requests([4, 4], [8, 8])), ("running", "preempt")
        >>> steps = (arrivals, columns, [[2, 0]] * 5 + [[1, 1]])
        >>> server = (fk.engine("vllm"), fk.Limits(16))
        >>> record = VllmRecord("by hand", "0.33.0", (), *steps, *server)
        >>> [(answer.result.equal, answer.result.rows) for answer in replay_records([record])]
        [(True, 6)]
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
