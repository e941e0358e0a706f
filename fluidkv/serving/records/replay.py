"""What real schedulers and caches did, read from record files and replayed here, row by row.

`KINDS` lists the formats, which `docs/replayed.md` describes; a new one is a line there and a file.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fluidkv.errors import InputError
from fluidkv.serving.records.comparison import Difference, Progress, Record, Replay
from fluidkv.serving.records.fields import Fields, read_object
from fluidkv.serving.records.sglang_radix import RadixRecord, radix_record
from fluidkv.serving.records.sglang_steps import SglangRecord, sglang_record
from fluidkv.serving.records.vidur import VidurCounts, VidurRun, vidur_counts
from fluidkv.serving.records.vllm import VllmRecord, vllm_record

__all__ = [
    "Difference",
    "RadixRecord",
    "Record",
    "Replay",
    "SglangRecord",
    "VidurCounts",
    "VidurRun",
    "VllmRecord",
    "read_records",
    "replay",
]


@dataclass(frozen=True)
class Kind:
    """A format.

    Args:
        engine: what field `engine` says.
        read: from the fields to the record.
        mark: the field that tells it from the engine's other kinds; "": it is the only one.
    """

    engine: str
    read: Callable[[Fields], Record]
    mark: str = ""


KINDS = (
    Kind("vllm", vllm_record),
    Kind("vidur", vidur_counts),
    Kind("sglang", radix_record, mark="ops"),
    Kind("sglang", sglang_record, mark="requests"),
)


def read_records(path: str | Path) -> list[Record]:
    """The record in a file; or all in a folder, by name.

    Raises:
        InputError: naming file and field: no file, not JSON, fields missing or not fitting
            together, an engine or a setting that is not modelled.

    Examples:
        >>> import json
        >>> from pathlib import Path
        >>> from fluidkv.serving.records.replay import read_records, replay
        >>> said = {"engine": "vllm", "version": "0.33.0", "prefix_caching": False}
        >>> said |= {"async_scheduling": False, "reserve_full_isl": True, "watermark": 0.0}
        >>> said |= {"block_size": 1, "usable_blocks": 100, "capacity_tokens": 100}
        >>> said |= {"max_num_seqs": 8, "max_num_batched_tokens": 64}
        >>> said |= {"input_length": 10, "output_lengths": [2], "arrived_by_step": [1, 1]}
        >>> said |= {"columns": ["step", "tokens"], "records": [[0, 10], [1, 1]]}
        >>> _ = Path("record.json").write_text(json.dumps(said))
        >>> [record] = read_records("record.json")
        >>> record.version, len(record.rows), replay(record).equal
        ('0.33.0', 2, True)
    """
    path = Path(path)
    if not os.path.isdir(path):  # a name too long is none either
        return [_record(path)]
    files = sorted(path.glob("*.json"))
    if not files:
        raise InputError("FILE", str(path), "a folder with .json files")
    return [_record(file) for file in files]


def _record(path: Path) -> Record:
    fields = read_object(path)
    engine = fields.text("engine")
    kinds = [kind for kind in KINDS if kind.engine == engine]
    if not kinds:
        known = [repr(name) for name in dict.fromkeys(kind.engine for kind in KINDS)]
        raise fields.wrong("engine", engine, f"{', '.join(known[:-1])} or {known[-1]}")
    marked = [kind for kind in kinds if not kind.mark or kind.mark in fields.values]
    if not marked:
        marks = " or ".join(f"{kind.mark!r}" for kind in kinds)
        raise fields.wrong("engine", engine, f"a file with field {marks}")
    return marked[0].read(fields)


def replay(record: Record, *, on_progress: Progress | None = None) -> Replay:
    """Run what the record says was run, and compare. It stops at the first row that differs.

    Args:
        on_progress: called now and then with where the replay is.

    Raises:
        InputError: a run that would never end, a call that cannot be made.

    Examples:
        >>> from fluidkv.serving.records.replay import replay
        >>> from fluidkv.serving.records.vllm import VllmRecord
        >>> from fluidkv.serving.records.arrivals import Arrivals
        >>> arrivals, columns = Arrivals(fk.Requests([4, 4], [8, 8])), ("running", "preempt")
        >>> steps = (arrivals, columns, [[2, 0]] * 5 + [[1, 1]])
        >>> limits = fk.Limits(16)
        >>> record = VllmRecord("by hand", "0.33.0", (), *steps, fk.engine("vllm"), limits)
        >>> replayed = replay(record)
        >>> replayed.equal, replayed.rows, replayed.evictions
        (True, 6, 1)
    """
    return record.replay(on_progress or (lambda _: None))
