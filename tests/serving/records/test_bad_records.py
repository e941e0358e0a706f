"""Record files that cannot be replayed: one line, which names file and field."""

import os
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from fluidkv.errors import InputError
from fluidkv.serving.records.replay import read_records
from tests.serving.records.record_copies import (
    CACHED,
    CALLS,
    COUNTS,
    MISSING,
    calls_with,
    changed_cached,
    changed_calls,
    changed_counts,
    changed_record,
    changed_steps,
    content,
    row_with,
    run_with,
)

Bad = tuple[dict[str, Any], str]
"""Fields of a copy that are wrong, and how the line about them begins."""


def missing(names: Iterable[str], *, but: Sequence[str] = (), where: str = "") -> list[Bad]:
    """A copy without each of these fields."""
    needed = sorted(name for name in names if name not in but)
    return [({name: MISSING}, f"{where}{name}: got 'no such field'") for name in needed]


def first_row(**cells: Any) -> list[list[Any]]:
    first, *others = content()["records"]
    return [row_with(first, content()["columns"], **cells), *others]


BAD: dict[Callable[..., Path], list[Bad]] = {
    changed_record: [
        *missing(content()),
        ({"engine": "tgi"}, "engine: got 'tgi'; allowed: 'vllm', 'vidur' or 'sglang'"),
        ({"version": 33}, "version: got 33"),
        ({"prefix_caching": True}, "requests: got 'no such field'; allowed: a record has it"),
        ({"async_scheduling": True}, "async_scheduling: got True; allowed: false"),
        ({"policy": "edf"}, "policy: got 'edf'; allowed: 'fcfs' or 'priority'"),
        ({"preemption_victim": "lru"}, "preemption_victim: got 'lru'; allowed: 'fcfs' or 'l"),
        ({"policy": ["fcfs"]}, "policy: got ['fcfs']; allowed: 'fcfs' or 'priority'"),
        ({"priorities": [1, 2]}, "priorities: got '2 of them'; allowed: 20, one a"),
        ({"priorities": [0.5] * 20}, "priorities[0]: got 0.5; allowed: a whole number"),
        ({"reserve_full_isl": 1}, "reserve_full_isl: got 1; allowed: true or false"),
        ({"watermark": 1.0}, "watermark: got 1.0"),
        ({"watermark": float("nan")}, "watermark: got nan"),
        ({"block_size": 0}, "block_size: got 0"),
        ({"usable_blocks": 0}, "usable_blocks: got 0"),
        ({"usable_blocks": 10**12}, "capacity: got 1073741824; allowed: fewer"),
        ({"max_num_seqs": 2.0}, "max_num_seqs: got 2.0"),
        ({"max_num_batched_tokens": True}, "max_num_batched_tokens: got True"),
        ({"output_lengths": []}, "output_lengths: got []"),
        ({"output_lengths": [3, 0]}, "output_lengths[1]: got 0"),
        ({"input_length": [2, 2]}, "input_length: got '2 lengths'; allowed: one, or 20"),
        ({"input_lengths": 2}, "input_lengths: got 'beside input_length'"),
        (
            {"input_length": 33},
            "output_lengths[8]: got '33 + 29 tokens'; allowed: a request that fits",
        ),
        ({"arrived_by_step": [20]}, "arrived_by_step: got '1 steps'; allowed: the 55 of"),
        ({"arrived_by_step": [5, 4] + [20] * 53}, "arrived_by_step[1]: got 4"),
        ({"arrived_by_step": [21] * 55}, "arrived_by_step[0]: got 21; allowed: from 0"),
        ({"columns": ["step", "walking"]}, "columns[1]: got 'walking'; allowed: one of step"),
        ({"columns": ["step", "step"]}, "columns[1]: got 'step twice'"),
        ({"columns": ["step"]}, "columns: got ['step']"),
        ({"columns": [["step"]]}, "columns[0]: got ['step']"),
        ({"records": []}, "records: got []"),
        ({"records": [[0, 0]]}, "records[0]: got [0, 0]; allowed: a row of 11 cells"),
        ({"records": {"a": 1}}, "records: got {'a': 1}"),
        ({"records": first_row(tokens=1.5)}, "records[0], tokens: got 1.5"),
        ({"records": first_row(tokens="1")}, "records[0], tokens: got '1'"),
        ({"records": first_row(tokens=10**30)}, "records[0], tokens: got 1000"),
        ({"records": first_row(step=1)}, "records[0], step: got 1; allowed: 0: steps count"),
    ],
    changed_cached: [
        *missing(CACHED, but=("engine", "what", "prefix_caching", "chunked_prefill")),
        ({"prefix_caching": 1}, "prefix_caching: got 1; allowed: true or false"),
        ({"async_scheduling": True}, "async_scheduling: got True; allowed: false"),
        ({"chunked_prefill": False}, "chunked_prefill: got False; allowed: true; not modelled"),
        ({"requests": [[0, [[1, 8]]]]}, "requests[0]: got [0, [[1, 8]]]; allowed: a row of 3"),
        ({"requests": [[-1, [[1, 8]], [2, 1]]]}, "requests[0], step: got -1"),
        ({"requests": [[0, [], [2, 1]]]}, "requests[0], prompt: got []"),
        ({"requests": [[0, [[1, 0]], [2, 1]]]}, "requests[0], prompt: got [1, 0]"),
        ({"requests": [[0, [[1]], [2, 1]]]}, "requests[0], prompt: got [1]"),
        ({"requests": [[0, [[1, 2**40]], [2, 1]]]}, "requests[0], prompt: got [1, 1099"),
        ({"requests": [[0, [[1, 8]], 3]]}, "requests[0], output: got 3"),
        (
            {"requests": [[9, [[1, 8]], [2, 1]], [0, [[1, 20]], [2, 2]]]},
            "requests[1]: got '20 + 2 tokens'; allowed: a request that fits: it comes to 6 blocks,",
        ),
        ({"columns": ["preempt"]}, "columns[0]: got 'preempt'; allowed: one of step, arrived"),
        (
            {"columns": ["admissions"], "records": [[[[1, 2]]]]},
            "records[0], admissions: got [[1, 2]]; allowed: a list of rows of 3 whole numbers",
        ),
        ({"columns": ["finished_ids"], "records": [[0]]}, "records[0], finished_ids: got 0"),
    ],
    changed_counts: [
        *missing({"commit", "runs"}),
        *missing(COUNTS, but=("engine", "commit", "runs"), where="runs[0]: "),
        ({"scheduler": "vllm"}, "runs[0]: scheduler: got 'vllm'; allowed: \"sarathi\""),
        ({"prefill_budget": 512}, 'runs[0]: prefill_budget: got 512; allowed: "unlimited"'),
        ({"arrivals": "poisson"}, "runs[0]: arrivals: got 'poisson'"),
        ({"order": "shuffled"}, "runs[0]: order: got 'shuffled'; allowed: 'classes in turn'"),
        ({"order": [0, 1]}, "runs[0]: order: got '2 places'; allowed: one for each of 4"),
        ({"order": [0, 1, 2, 0]}, "runs[0]: order[2]: got 2; allowed: the place of one of 2"),
        ({"order": "as listed"}, "runs[0]: output_lengths: got '2 lengths'; allowed: the 4"),
        ({"input_length": [2, 2, 2]}, "runs[0]: input_length: got '3 lengths'; allowed: one, or"),
        ({"watermark_blocks": 4}, "runs[0]: watermark_blocks: got 4; allowed: fewer than num"),
        ({"watermark_blocks": 0.01}, "runs[0]: watermark_blocks: got 0.01"),
        ({"num_blocks": 2**30}, "runs[0]: num_blocks: got 1073741824; allowed: fewer than"),
        ({"num_blocks": 2}, "runs[0]: num_blocks: got 2; allowed: at least 3, for request 1"),
        ({"input_length": [8, 1]}, "runs[0]: num_blocks: got 4; allowed: at least 5"),
        ({"runs": []}, "runs: got []"),
        ({"runs": [3]}, "runs[0]: got 3; allowed: an object"),
        ({"runs": run_with(output_lengths=3)}, "runs[0]: output_lengths: got 3"),
        ({"runs": run_with(evictions=-1)}, "runs[0]: evictions: got -1"),
        ({"runs": run_with(iterations=0)}, "runs[0]: iterations: got 0"),
    ],
    changed_calls: [
        *missing(CALLS, but=("engine", "what", "ops")),
        ({"ops": MISSING}, "engine: got 'sglang'; allowed: a file with field"),
        ({"ops": []}, "ops: got []"),
        ({"ops": [["X", 1]]}, "ops[0]: got ['X', 1]; allowed: a list that begins with one of M"),
        ({"ops": [[["M"], 1]]}, "ops[0]: got [['M'], 1]; allowed: a list that begins"),
        ({"ops": [["M", 1]]}, "ops[0]: got ['M', 1]; allowed: ['M', request, sequence]"),
        ({"ops": [["M", -1, []]]}, "ops[0]: got ['M', -1, []]; allowed: ['M', request"),
        ({"ops": [["M", 1, [[1, 0]]]]}, "ops[0]: got ['M', 1, [[1, 0]]]; allowed: ['M'"),
        ({"ops": [["M", 1, [7]]]}, "ops[0]: got ['M', 1, [7]]; allowed: ['M', request, s"),
        ({"ops": [["E", True]]}, "ops[0]: got ['E', True]; allowed: ['E', tokens]"),
        ({"policy": "opt"}, "policy: got 'opt'; allowed: lru, mru, fifo, filo, lfu, priority"),
        ({"page_size": 0}, "page_size: got 0"),
        ({"capacity_tokens": 1.5}, "capacity_tokens: got 1.5"),
        ({"columns": ["op", "speed"]}, "columns[1]: got 'speed'; allowed: one of op, result"),
        ({"columns": ["evicted_list", "op"]}, "columns: got 'evicted_list'; allowed: at the end"),
        ({"rows": CALLS["rows"][:2]}, "rows: got '2 rows'; allowed: 6, one for each of ops"),
        (calls_with(2, total="4"), "rows[2], total: got '4'; allowed: a whole number"),
        (calls_with(5, evicted_list=[[1, 2]]), "rows[5], evicted_list: got [[1, 2]]; allowed: a l"),
        ({"unified_tree": "close"}, "unified_tree: got 'close'; allowed: 'equal' or 'differs'"),
        ({"rows_unified": [[6, []]]}, "rows_unified[0]: got [6, []]; allowed: [which of 6 ops"),
        ({"rows_unified": [[0, []]]}, "rows_unified[0]: got []; allowed: a row of 11 cells"),
    ],
    changed_steps: [
        ({"policy": "lpm"}, "policy: got 'lpm'; allowed: \"fcfs\"; not modelled"),
        ({"overlap": 1}, "overlap: got 1; allowed: true or false"),
        ({"conservativeness": -1}, "conservativeness: got -1"),
        ({"conservativeness": "1"}, "conservativeness: got '1'"),
        ({"page_size": 0}, "page_size: got 0"),
        ({"page_size": 31}, "page_size: got 31; allowed: at most the capacity, 30"),
        ({"eviction": "rlt"}, "eviction: got 'rlt'"),
        ({"capacity_tokens": 9}, "requests[0]: got '4 + 5 tokens'; allowed: a request that fits"),
        ({"ignore_eos": True}, "requests[0]: got '3 outputs'; allowed: all 5, with ignore_eos"),
        ({"requests": [[0, [[1, 4]], [9, 3]]]}, "requests[0]: got [0, [[1, 4]], [9, 3]]"),
        ({"columns": ["moon"]}, "columns[0]: got 'moon'"),
        ({"records": [[0]]}, "records[0]: got [0]; allowed: a row of 22 cells"),
    ],
}
ROWS = [(copy, fields, text) for copy, rows in BAD.items() for fields, text in rows]


@pytest.mark.parametrize(
    ("copy", "fields", "text"), ROWS, ids=[f"{copy.__name__}: {text}" for copy, _, text in ROWS]
)
def test_a_bad_record_gets_one_line_with_file_and_field(copy, fields, text, tmp_path):
    path = copy(tmp_path, **fields)
    with pytest.raises(InputError) as caught:
        read_records(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: {text}")
    assert "\n" not in message


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "(Expecting value"),
        ("[1]", "(this is a list)"),
        ('{"engine": ', "a JSON file"),
        ("[" * 100_000, "a JSON file"),
        ('{"n": ' + "1" * 5000 + "}", "a JSON file"),
        ("\xff", "not UTF-8 text"),
    ],
    ids=["empty", "list", "cut", "deep", "long number", "bytes"],
)
def test_what_is_not_json_gets_one_line(text, said, tmp_path):
    path = tmp_path / "record.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(InputError, match=re.escape(said)):
        read_records(path)


@pytest.mark.skipif(os.name != "posix", reason="pipes and devices with names")
def test_a_pipe_or_an_endless_device_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe.json")
    os.symlink("/dev/zero", tmp_path / "zero.json")
    for name in ("pipe.json", "zero.json", "."):
        with pytest.raises(InputError, match="not a regular file"):
            read_records(tmp_path / name)


def test_nothing_of_a_record_is_shown_raw(tmp_path):
    odd: dict[str, Any] = {"a\u202e\ud800": 1}
    path = changed_record(tmp_path, version="0.19\x1b]0;t\x07", **odd)
    path = path.rename(tmp_path / "r\x9b[x].json")
    [record] = read_records(path)
    shown = [record.source, record.version, *record.notes]
    assert all(text.isprintable() for text in shown)
    assert any(note.startswith("a\\u202e\\ud800") for note in record.notes)
    with pytest.raises(InputError) as caught:
        read_records(changed_record(tmp_path, engine="\x1b[2J"))
    assert str(caught.value).isprintable()


def test_more_requests_than_memory_has_room_for_are_refused(tmp_path):
    with pytest.raises(InputError, match="requests: got 1000000000; allowed: at most 10,000,000"):
        read_records(changed_counts(tmp_path, requests=10**9))


def test_no_file_and_an_empty_folder_are_named(tmp_path):
    with pytest.raises(InputError, match=r"no-such\.json.*no such file"):
        read_records(tmp_path / "no-such.json")
    with pytest.raises(InputError, match="File name too long"):
        read_records(tmp_path / ("9" * 400))
    with pytest.raises(InputError, match=r"a folder with \.json files"):
        read_records(tmp_path)


def test_a_prompt_that_the_watermark_never_lets_in_is_refused(tmp_path):
    with pytest.raises(InputError, match="at least 5: the prompt of request 0 and the watermark"):
        read_records(changed_counts(tmp_path, input_length=3, watermark_blocks=3))
