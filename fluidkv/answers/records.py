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
        >>> given = (fk.engine("vllm"), fk.Limits(100), fk.Requests([10], [2]))
        >>> rows = np.array([[1, 10], [1, 2]])  # the second step computes one token, not two
        >>> record = VllmRecord("by hand", "0.33.0", (), *given, ("running", "tokens"), rows)
        >>> [answer] = replay_records([record])
        >>> answer.result.equal, answer.to_dict()["difference"]["row"]
        (False, 1)
    """

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

    Examples:
        >>> import json
        >>> from pathlib import Path
        >>> from fluidkv.answers import read_files
        >>> said = {"engine": "vllm", "version": "0.33.0", "prefix_caching": False}
        >>> said |= {"async_scheduling": False, "reserve_full_isl": True, "watermark": 0.0}
        >>> said |= {"block_size": 1, "usable_blocks": 100, "capacity_tokens": 100}
        >>> said |= {"max_num_seqs": 8, "max_num_batched_tokens": 64}
        >>> said |= {"input_length": 10, "output_lengths": [2], "arrived_by_step": [1, 1]}
        >>> said |= {"columns": ["step", "tokens"], "records": [[0, 10], [1, 1]]}
        >>> _ = Path("record.json").write_text(json.dumps(said))
        >>> [(record.source, record.engine) for record in read_files(["record.json", "."])]
        [('record.json', 'vllm'), ('record.json', 'vllm')]
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
        >>> given = (fk.engine("vllm"), fk.Limits(16), fk.Requests([4, 4], [8, 8]))
        >>> rows = np.array([[2, 0]] * 5 + [[1, 1]])  # the sixth iteration evicts one of the two
        >>> record = VllmRecord("by hand", "0.33.0", (), *given, ("running", "preempt"), rows)
        >>> for answer in replay_records([record]):
        ...     print(answer.record.source, answer.result.equal, answer.result.evictions)
        by hand True 1
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
