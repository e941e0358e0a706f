"""Each real trace, against a second parse that shares no code with the readers."""

import json
from datetime import datetime
from pathlib import Path

import pytest

from fluidkv.traces import read_trace, write_mooncake, write_vidur

BENCH = "vllm_rtx4090_llama31_8b"


@pytest.mark.parametrize(
    ("file", "requests"),  # row counts: README.md beside the traces
    [("azure_llm_2023_conv.csv", 19_366), ("azure_llm_2023_code.csv", 8_819)],
)
def test_azure_equals_a_plain_split_of_each_line(
    traces_dir: Path, file: str, requests: int
) -> None:
    trace, report = read_trace(traces_dir / file)
    rows = [line.split(",") for line in (traces_dir / file).read_text().split("\n")[1:]]
    assert len(trace) == len(rows) == requests
    assert trace.input_lengths == tuple(int(row[1]) for row in rows)
    assert trace.decode_lengths == tuple(int(row[2]) for row in rows)
    assert trace.arrival_times_s is not None
    # datetime keeps 6 of the 7 decimals, at both ends: 2e-6 s at most.
    start = datetime.fromisoformat(rows[0][0])
    for (stamp, *_), time in zip(rows, trace.arrival_times_s, strict=True):
        assert time == pytest.approx(
            (datetime.fromisoformat(stamp) - start).total_seconds(), rel=0, abs=2e-6
        )
    assert (report.format, report.read, report.kept, report.dropped, report.changed) == (
        *("azure", requests, requests),
        *(0, 0),
    )
    assert report.flagged_because == ()


@pytest.mark.parametrize(
    ("file", "requests"),
    [("mooncake_conversation.jsonl", 12_031), ("mooncake_synthetic.jsonl", 3_993)],
)
def test_mooncake_is_read_whole_and_written_back_byte_by_byte(
    traces_dir: Path, tmp_path: Path, file: str, requests: int
) -> None:
    trace, report = read_trace(traces_dir / file)
    rows = [json.loads(line) for line in (traces_dir / file).read_text().splitlines()]
    assert len(trace) == len(rows) == requests
    assert trace.input_lengths == tuple(row["input_length"] for row in rows)
    assert trace.decode_lengths == tuple(row["output_length"] for row in rows)
    assert trace.arrival_times_s == tuple(row["timestamp"] / 1000 for row in rows)
    assert trace.prefix_blocks == tuple(tuple(row["hash_ids"]) for row in rows)
    assert (report.format, report.kept, report.changed) == ("mooncake", requests, 0)
    write_mooncake(trace, tmp_path / "copy")
    written = (tmp_path / "copy").read_bytes()
    assert written.rstrip(b"\n") == (traces_dir / file).read_bytes().rstrip(b"\n")


@pytest.mark.parametrize("source", [BENCH, f"{BENCH}/requests.jsonl"])
def test_vllm_bench_log_reads_from_folder_and_file(traces_dir: Path, source: str) -> None:
    trace, report = read_trace(traces_dir / source)
    rows = [
        json.loads(line)
        for line in (traces_dir / BENCH / "requests.jsonl").read_text().splitlines()
    ]
    assert len(trace) == len(rows) == report.kept == 300
    assert report.format == "vllm-bench"
    assert trace.input_lengths == tuple(row["input_toks"] for row in rows)
    assert trace.decode_lengths == tuple(row["output_toks"] for row in rows)
    assert trace.arrival_times_s is not None
    start = rows[0]["arrival_time"]
    for row, time in zip(rows, trace.arrival_times_s, strict=True):
        # A double of 1.8e9 is good to 2.4e-7; this parse subtracts two of them.
        assert time == pytest.approx(row["arrival_time"] - start, rel=0, abs=5e-7)


def test_azure_trace_survives_vidur(traces_dir: Path, tmp_path: Path) -> None:
    trace, _ = read_trace(traces_dir / "azure_llm_2023_conv.csv")
    write_vidur(trace, tmp_path / "v.csv")
    assert read_trace(tmp_path / "v.csv").trace == trace
