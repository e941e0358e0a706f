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
from fluidkv.serving.records.vllm_prefix import VllmPrefixRecord, vllm_prefix_record

__all__ = [
    "Difference",
    "RadixRecord",
    "Record",
    "Replay",
    "SglangRecord",
    "VidurCounts",
    "VidurRun",
    "VllmPrefixRecord",
    "VllmRecord",
    "read_records",
    "replay",
]


@dataclass(frozen=True)
class Kind:
    """A format.

    Args:
        engine: what field `engine` says.
        mark: the field that tells it from the engine's other kinds, by being there and not false;
            None: what has no other mark.
        read: from the fields to the record.
    """

    engine: str
    mark: str | None
    read: Callable[[Fields], Record]


KINDS = (
    Kind("vllm", "prefix_caching", vllm_prefix_record),
    Kind("vllm", None, vllm_record),
    Kind("vidur", None, vidur_counts),
    Kind("sglang", "ops", radix_record),
    Kind("sglang", "requests", sglang_record),
)


def read_records(path: str | Path) -> list[Record]:
    """The record in a file; or all in a folder, by name.

    Raises:
        InputError: naming file and field: no file, not JSON, fields missing or not fitting
            together, an engine or a setting that is not modelled.

    Examples:
        >>> import json
        >>> from pathlib import Path
        >>> from fluidkv.serving import read_records, replay
        >>> said = {"engine": "vllm", "version": "0.33.0", "prefix_caching": False}
        >>> said |= {"async_scheduling": False, "reserve_full_isl": True, "watermark": 0.0}
        >>> said |= {"block_size": 1, "usable_blocks": 100, "capacity_tokens": 100}
        >>> said |= {"max_num_seqs": 8, "max_num_batched_tokens": 64}
        >>> said |= {"input_length": 10, "output_lengths": [2], "arrived_by_step": [1, 1]}
        >>> said |= {"columns": ["step", "tokens"], "records": [[0, 10], [1, 1]]}
        >>> _ = Path("record.json").write_text(json.dumps(said))
        >>> [record] = read_records("record.json")
        >>> record.version, len(record.requests), replay(record).equal
        ('0.33.0', 1, True)
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
    marked = [kind for kind in kinds if kind.mark and _says(fields, kind.mark)]
    plain = [kind for kind in kinds if kind.mark is None]
    if not marked + plain:
        marks = " or ".join(f"{kind.mark!r}" for kind in kinds)
        raise fields.wrong("engine", engine, f"a file with field {marks}")
    return (marked + plain)[0].read(fields)


def _says(fields: Fields, mark: str) -> bool:
    return fields.values.get(mark, False) is not False


def replay(record: Record, *, on_progress: Progress | None = None) -> Replay:
    """Run what the record says was run, and compare. It stops at the first row that differs.

    Args:
        on_progress: called now and then with where the replay is.

    Raises:
        InputError: a run that would never end, a call that cannot be made.

    Examples:
        >>> from fluidkv.serving import VllmRecord, replay
        >>> given = (fk.engine("vllm"), fk.Limits(16), fk.Requests([4, 4], [8, 8]))
        >>> rows = np.array([[2, 0]] * 5 + [[1, 1]])
        >>> record = VllmRecord("by hand", "0.33.0", (), *given, ("running", "preempt"), rows)
        >>> found = replay(record)
        >>> found.equal, found.rows, found.evictions
        (True, 6, 1)
    """
    return record.replay(on_progress or (lambda _: None))
