"""Record files that cannot be replayed: one line, which names file and field."""

import copy
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from fluidkv.errors import InputError
from fluidkv.serving.records.replay import read_records
from tests.serving.records.record_copies import (
    COUNTS,
    MISSING,
    changed_counts,
    changed_record,
    content,
    run_with,
)


@pytest.fixture
def changed(tmp_path) -> Callable[..., Path]:
    return partial(changed_record, tmp_path)


@pytest.fixture
def counts(tmp_path) -> Callable[..., Path]:
    return partial(changed_counts, tmp_path)


def first_row(**cells: Any) -> list[list[Any]]:
    rows = copy.deepcopy(content()["records"])
    for name, value in cells.items():
        rows[0][content()["columns"].index(name)] = value
    return rows


BAD: list[tuple[str, dict[str, Any], str]] = [
    *((name, {name: MISSING}, f"{name}: got 'no such field'") for name in content()),
    ("engine", {"engine": "tgi"}, "engine: got 'tgi'; allowed: 'vllm', 'vidur' or 'sglang'"),
    ("version type", {"version": 33}, "version: got 33"),
    ("prefix", {"prefix_caching": True}, "requests: got 'no such field'; allowed: a record has it"),
    ("async", {"async_scheduling": True}, "async_scheduling: got True; allowed: false"),
    ("policy", {"policy": "edf"}, "policy: got 'edf'; allowed: 'fcfs' or 'priority'"),
    ("victim", {"preemption_victim": "lru"}, "preemption_victim: got 'lru'; allowed: 'fcfs' or 'l"),
    ("policy type", {"policy": ["fcfs"]}, "policy: got ['fcfs']; allowed: 'fcfs' or 'priority'"),
    ("priorities", {"priorities": [1, 2]}, "priorities: got '2 of them'; allowed: 20, one a"),
    ("priority", {"priorities": [0.5] * 20}, "priorities[0]: got 0.5; allowed: a whole number"),
    ("gate type", {"reserve_full_isl": 1}, "reserve_full_isl: got 1; allowed: true or false"),
    ("watermark", {"watermark": 1.0}, "watermark: got 1.0"),
    ("watermark nan", {"watermark": float("nan")}, "watermark: got nan"),
    ("block size", {"block_size": 0}, "block_size: got 0"),
    ("blocks", {"usable_blocks": 0}, "usable_blocks: got 0"),
    ("blocks too many", {"usable_blocks": 10**12}, "capacity: got 1073741824; allowed: fewer"),
    ("seqs", {"max_num_seqs": 2.0}, "max_num_seqs: got 2.0"),
    ("budget", {"max_num_batched_tokens": True}, "max_num_batched_tokens: got True"),
    ("no outputs", {"output_lengths": []}, "output_lengths: got []"),
    ("output", {"output_lengths": [3, 0]}, "output_lengths[1]: got 0"),
    ("inputs", {"input_length": [2, 2]}, "input_length: got '2 lengths'; allowed: one, or 20"),
    ("both inputs", {"input_lengths": 2}, "input_lengths: got 'beside input_length'"),
    ("too large", {"input_length": 33}, "output_lengths[8]: got 29; allowed: a request that fits"),
    ("steps", {"arrived_by_step": [20]}, "arrived_by_step: got '1 steps'; allowed: the 55 of"),
    ("falling", {"arrived_by_step": [5, 4] + [20] * 53}, "arrived_by_step[1]: got 4"),
    ("too many", {"arrived_by_step": [21] * 55}, "arrived_by_step[0]: got 21; allowed: from 0"),
    ("column", {"columns": ["step", "walking"]}, "columns[1]: got 'walking'; allowed: one of step"),
    ("columns twice", {"columns": ["step", "step"]}, "columns[1]: got 'step twice'"),
    ("only step", {"columns": ["step"]}, "columns: got ['step']"),
    ("unhashable", {"columns": [["step"]]}, "columns[0]: got ['step']"),
    ("no rows", {"records": []}, "records: got []"),
    ("short row", {"records": [[0, 0]]}, "records[0]: got [0, 0]; allowed: a row of 11 cells"),
    ("no row", {"records": {"a": 1}}, "records: got {'a': 1}"),
    ("cell", {"records": first_row(tokens=1.5)}, "records[0], tokens: got 1.5"),
    ("cell text", {"records": first_row(tokens="1")}, "records[0], tokens: got '1'"),
    ("cell huge", {"records": first_row(tokens=10**30)}, "records[0], tokens: got 1000"),
    ("step", {"records": first_row(step=1)}, "records[0], step: got 1; allowed: 0: steps count"),
]


@pytest.mark.parametrize(("fields", "said"), [row[1:] for row in BAD], ids=[row[0] for row in BAD])
def test_a_bad_record_gets_one_line_with_file_and_field(fields, said, changed):
    path = changed(**fields)
    with pytest.raises(InputError) as caught:
        read_records(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: {said}")
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
    with pytest.raises(InputError) as caught:
        read_records(path)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


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


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        *(({name: MISSING}, f"{name}: got 'no such field'") for name in ("commit", "runs")),
        *(
            ({name: MISSING}, f"runs[0]: {name}: got 'no such field'")
            for name in COUNTS
            if name not in ("engine", "commit", "runs")
        ),
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
    ids=lambda value: None if isinstance(value, str) else str(list(value)),
)
def test_bad_counts_get_one_line_with_file_and_field(fields, said, counts):
    path = counts(**fields)
    with pytest.raises(InputError) as caught:
        read_records(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: {said}")
    assert "\n" not in message


def test_a_prompt_that_the_watermark_never_lets_in_is_refused(counts):
    with pytest.raises(InputError, match="at least 5: the prompt of request 0 and the watermark"):
        read_records(counts(input_length=3, watermark_blocks=3))
