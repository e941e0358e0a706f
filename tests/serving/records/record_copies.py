"""Records of real schedulers, ours and others, and copies of ours with some fields changed."""

import json
import os
from pathlib import Path
from typing import Any, TypeVar

import pytest

from fluidkv.serving.records.replay import Record, read_records

OURS = Path(__file__).parent / "data"
ORACLES = Path(
    os.environ.get("FLUIDKV_ORACLES") or Path(__file__).parents[4] / "shared" / "oracles"
)
Kind = TypeVar("Kind", bound=Record)


class _Missing:
    """Names tests: the same in every process."""

    def __repr__(self) -> str:
        return "missing"


MISSING = _Missing()
"""As the value of a field: the copy does not have it."""


def oracle(name: str) -> Path:
    """A record that is not in the repository; without it a test is skipped."""
    if not (ORACLES / name).is_file():
        pytest.skip(f"no oracles: FLUIDKV_ORACLES names no folder with {name}")
    return ORACLES / name


def record_of(path: Path, kind: type[Kind]) -> Kind:
    """The one record of a file."""
    [record] = read_records(path)
    assert isinstance(record, kind)
    return record


def content(name: str = "few_sequences") -> dict[str, Any]:
    """The fields of one of our records."""
    return json.loads((OURS / f"{name}.json").read_text(encoding="utf-8"))


def changed_record(folder: Path, name: str = "few_sequences", **fields: Any) -> Path:
    return _written(folder / "record.json", content(name) | fields)


def changed_counts(folder: Path, **fields: Any) -> Path:
    return _written(folder / "counts.json", COUNTS | fields)


def changed_cached(folder: Path, **fields: Any) -> Path:
    return _written(folder / "record.json", CACHED | fields)


def changed_calls(folder: Path, **fields: Any) -> Path:
    return _written(folder / "calls.json", CALLS | fields)


def changed_steps(folder: Path, **fields: Any) -> Path:
    return _written(folder / "steps.json", STEPS | fields)


def run_with(**fields: Any) -> list[dict[str, Any]]:
    """The run of `COUNTS`, changed."""
    return [COUNTS["runs"][0] | fields]


def row_with(row: list[Any], columns: list[str], **cells: Any) -> list[Any]:
    """A row with other values in the named columns."""
    return [cells.get(name, value) for name, value in zip(columns, row, strict=False)]


def calls_with(place: int, **cells: Any) -> dict[str, Any]:
    """Field `rows` of `CALLS`, one row changed."""
    rows = list(CALLS["rows"])
    rows[place] = row_with(rows[place], CALLS["columns"], **cells)
    return {"rows": rows}


def _written(path: Path, values: dict[str, Any]) -> Path:
    path.write_text(json.dumps({k: v for k, v in values.items() if v is not MISSING}))
    return path


COUNTS: dict[str, Any] = {
    "engine": "vidur",
    "commit": "7d47513",
    "scheduler": "sarathi",
    "input_length": 2,
    "requests": 4,
    "arrivals": "all before iteration 0",
    "order": "classes in turn",
    "block_size": 2,
    "num_blocks": 4,
    "watermark_blocks": 1,
    "batch_size_cap": 4096,
    "prefill_budget": "unlimited",
    "runs": [{"output_lengths": [3, 5], "evictions": 2, "iterations": 11}],
}
"""Four requests in four blocks of two, of which admission leaves one: by hand, iteration by
iteration (who runs, blocks held). Requests 0 and 2 emit 3 tokens, 1 and 3 emit 5.

     1  0,1,2 enter, one block each (the fourth must stay free)                          3 blocks
     2  0 takes the free block for its third token; 1 sees none: 2 goes, 1 takes its     4
     3  0 fits its two blocks but sees none free: 1 goes; 0 is done with token 3         2
     4  1 (length 4, two blocks) enters, emits 3; 2 (length 3) would leave none          2
     5  1 takes its third block for token 5 of length                                    3
     6  1 needs none, one is free; done with token 5                                     3
     7  2 (length 3, two blocks) enters, emits 2; 3 (one block) enters                   3
     8  2 fits, one is free, done with token 3; 3 takes the free block                   4
     9  3 fits                                                                           2
    10  3 takes its third block
    11  3 is done with token 5
"""

CACHED: dict[str, Any] = {
    "engine": "vllm",
    "version": "0.33.0",
    "what": "by hand",
    "block_size": 4,
    "usable_blocks": 5,
    "prefix_caching": True,
    "async_scheduling": False,
    "max_num_batched_tokens": 64,
    "max_num_seqs": 8,
    "watermark": 0.0,
    "chunked_prefill": True,
    "reserve_full_isl": True,
    "requests": [[1, [[1, 8]], [11, 1]], [0, [[1, 9]], [10, 2]]],
    "columns": ["step", "used_blocks", "cached_blocks", "distinct_hashes", "admissions"],
    "records": [[0, 3, 2, 2, [[1, 0, 9]]], [1, 4, 3, 2, [[0, 4, 4]]]],
}
"""Blocks of four. Request 1, the first to come, computes nine tokens in three blocks, of which two
are full. Request 0 finds the first of them and computes its last block again, for a second copy."""

_TWO_LEAVES = [
    ["A", 4, 0, 0, 0, 0, 0, 16, 0, 0],
    ["I", 0, 0, 0, 4, 4, 0, 16, 1, 1],
    ["A", 2, 0, 0, 4, 4, 0, 14, 1, 1],
    ["I", 0, 0, 0, 6, 6, 0, 14, 2, 2],
    ["M", 2, 0, 0, 6, 6, 0, 14, 3, 2],
]
CALLS: dict[str, Any] = {
    "engine": "sglang",
    "version": "0.5.23",
    "what": "two leaves, of which one is split: the tail of it is the oldest, then its head or not",
    "page_size": 1,
    "policy": "fifo",
    "capacity_tokens": 20,
    "ops": [
        ["A", 0, 4],
        ["I", 0, [[1, 4]], 0, 0],
        ["A", 1, 2],
        ["I", 1, [[2, 2]], 0, 0],
        ["M", 2, [[1, 2]]],
        ["E", 3],
    ],
    "columns": [
        *("op", "result", "evicted_tokens", "evicted_nodes", "total", "evictable", "protected"),
        *("available", "nodes", "leaves", "evicted_list"),
    ],
    "rows": [
        *_TWO_LEAVES,
        ["E", 4, 4, 2, 2, 2, 0, 18, 1, 1, [[2, 2, 1, 2], [0, 2, 2, 0]]],
    ],
    "unified_tree": "differs",
    "rows_unified": [[5, ["E", 4, 4, 2, 2, 2, 0, 18, 1, 1, [[2, 2, 1, 2], [0, 2, 1, 0]]]]],
}
"""Calls on SGLang's trees, by hand. In RadixCache the head of the split leaf is born with the split
and outlives the other leaf; in the unified tree it is as old as what it was split from."""

STEPS: dict[str, Any] = {
    "engine": "sglang",
    "version": "0.5.23",
    "what": "two requests, the second begins like the first",
    "capacity_tokens": 30,
    "page_size": 1,
    "radix": True,
    "conservativeness": 1.0,
    "chunked_prefill_size": None,
    "mixed_chunk": False,
    "max_prefill_tokens": 16384,
    "max_running": 4096,
    "policy": "fcfs",
    "eviction": "lru",
    "overlap": False,
    "ignore_eos": False,
    "requests": [[0, [[1, 4]], [9, 3], 5], [1, [[1, 3], [2, 2]], [8, 2], 2]],
    "columns": [
        *("step", "arrived", "mode", "batch", "running", "waiting", "admitted", "retracted"),
        *("completed", "prefill_tokens", "hit_tokens", "used", "available", "evictable"),
        *("protected", "new_token_ratio", "batch_is_full", "chunked", "admissions"),
        *("retracted_ids", "finished_ids", "aborted_ids"),
    ],
    "records": [
        [0, 1, "prefill", 1, 0, 0, 1, 0, 0, 4, 0, 4, 26, 0, 0, 0.7, 0, -1, [[0, 0, 4]], [], [], []],
        [1, 2, "prefill", 1, 1, 0, 1, 0, 0, 2, 3, 6, 24, 0, 4, 0.7, 0, -1, [[1, 3, 2]], [], [], []],
        [2, 2, "decode", 2, 2, 0, 0, 0, 1, 0, 0, 8, 22, 0, 6, 0.6989966667, 0, -1, [], [], [1], []],
        [3, 2, "decode", 1, 1, 0, 0, 0, 1, 0, 0, 9, 21, 3, 4, 0.6979933333, 0, -1, [], [], [0], []],
        [4, 2, "idle", 0, 0, 0, 0, 0, 0, 0, 0, 9, 21, 9, 0, 0.6979933333, 0, -1, [], [], [], []],
    ],
}
"""A scheduler's steps, by hand. Request 1 finds three of its five tokens, which splits the prompt
of request 0, and computes two. It is done with its second output and leaves two tokens and one
output to the tree; request 0, which asked for five, ends with its third and leaves two outputs.
"""
