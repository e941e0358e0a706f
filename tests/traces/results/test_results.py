"""Benchmark results of each tool: lengths, arrivals, and what each request's client measured."""

import json
import math
from pathlib import Path

import pytest

from fluidkv.traces import read_run, read_trace
from fluidkv.traces.times import LoadedRun
from tests.traces.results.written import (
    TWO,
    WRITTEN,
    Asked,
    aiperf,
    genai_perf,
    guidellm,
    lines,
    sglang,
    vllm,
)

TIMED = sorted(set(WRITTEN) - {"sglang-bench-serving"})


def load(tmp_path: Path, text: str, **options) -> LoadedRun:
    path = tmp_path / "result.dat"
    path.write_text(text, encoding="utf-8")
    return read_run(path, **options)


@pytest.mark.parametrize("name", TIMED)
def test_times_of_each_request_are_those_of_its_client(tmp_path: Path, name: str) -> None:
    trace, report, times, facts = load(tmp_path, WRITTEN[name])
    assert times is not None
    assert times.arrival_s == trace.arrival_times_s == (0.0, 0.5)
    # Values are binary fractions; nanoseconds and milliseconds hold them exactly.
    assert times.ttft_s == tuple(a.ttft for a in TWO)
    assert times.latency_s == tuple(a.latency for a in TWO)
    assert times.first_token_s == (0.25, 1.0)
    assert times.last_token_s == (1.0, 1.5)
    if name == "guidellm":  # it writes the mean between the first and the last
        assert times.gaps_s == ((), ())
    else:
        assert times.gaps_s == tuple(a.gaps for a in TWO)
    assert (facts is None) == (name == "aiperf")
    assert (report.flagged_because, report.notes) == ((), ())


def test_read_trace_is_the_first_half_of_it(tmp_path: Path) -> None:
    whole = load(tmp_path, WRITTEN["vllm-bench-serve"])
    assert read_trace(tmp_path / "result.dat") == whole[:2]


def test_without_start_times_there_are_durations_and_no_arrivals(tmp_path: Path) -> None:
    for text in (WRITTEN["sglang-bench-serving"], json.dumps(vllm(start_times=None))):
        trace, report, times, _ = load(tmp_path, text)
        assert trace.arrival_times_s is None
        assert times is not None
        assert all(map(math.isnan, times.arrival_s + times.first_token_s + times.last_token_s))
        assert times.ttft_s == tuple(a.ttft for a in TWO)
        assert times.gaps_s == tuple(a.gaps for a in TWO)
        assert "lengths without arrivals" in report.summary()


def test_facts_of_a_run(tmp_path: Path) -> None:
    _, _, _, facts = load(tmp_path, json.dumps(vllm(request_rate=4.5)))
    assert facts is not None
    assert (facts.tool, facts.request_rate, facts.max_concurrency) == (
        "vllm-bench-serve",
        4.5,
        None,
    )
    assert (facts.model, facts.duration_s, facts.server) == ("meta-llama/Llama-3.1-8B", 1.5, None)
    _, _, _, facts = load(tmp_path, lines([sglang()]))
    assert facts is not None
    assert (facts.request_rate, facts.max_concurrency) == (math.inf, 16)
    assert (facts.model, facts.server) == ("Qwen/Qwen3-4B", sglang()["server_info"])
    _, _, _, facts = load(tmp_path, json.dumps(guidellm()))
    assert facts is not None
    assert (facts.request_rate, facts.duration_s) == (2.0, 4.0)
    _, _, _, facts = load(tmp_path, json.dumps(genai_perf()))
    assert facts is not None
    assert facts.request_rate == 2.0


@pytest.mark.parametrize("version", ["0.3", "between", "0.4", "0.5"])
def test_guidellm_of_each_version(tmp_path: Path, version: str) -> None:
    trace, report, times, _ = load(tmp_path, json.dumps(guidellm(version=version)))
    assert (trace.input_lengths, trace.decode_lengths) == ((12, 13), (3, 4))
    assert trace.arrival_times_s == (0.0, 0.5)
    assert times is not None
    assert times.ttft_s == tuple(a.ttft for a in TWO)
    assert report.format == "guidellm"


def test_a_sample_of_the_requests_has_no_arrivals(tmp_path: Path) -> None:
    report = guidellm()
    report["benchmarks"][0]["metrics"]["request_totals"]["successful"] = 7
    trace, read, times, _ = load(tmp_path, json.dumps(report))
    assert trace.arrival_times_s is None
    assert times is not None
    assert times.ttft_s == tuple(a.ttft for a in TWO)
    assert read.notes[0].startswith("a sample: 2 of 7 successful requests")


@pytest.mark.parametrize("name", ["guidellm", "genai-perf", "aiperf", "vllm-bench-serve"])
def test_requests_are_read_in_order_of_arrival(tmp_path: Path, name: str) -> None:
    swapped = TWO[::-1]
    text = {
        "guidellm": json.dumps(guidellm(swapped)),
        "genai-perf": json.dumps(genai_perf(swapped)),
        "aiperf": lines(aiperf(swapped)),
        "vllm-bench-serve": json.dumps(vllm(swapped)),
    }[name]
    trace, report, times, _ = load(tmp_path, text)
    assert (trace.input_lengths, trace.arrival_times_s) == ((12, 13), (0.0, 0.5))
    assert times is not None
    assert times.ttft_s == tuple(a.ttft for a in TWO)
    assert "order of arrival" in report.notes[-1]


def test_a_client_that_held_requests_back_is_said(tmp_path: Path) -> None:
    held = {
        "vllm": vllm(max_concurrency=16),
        "genai-perf": genai_perf(),
        "guidellm": guidellm(),
    }
    held["genai-perf"]["experiments"][0]["experiment"] = {"mode": "concurrency", "value": 16}
    strategy = {"type_": "concurrent", "streams": 16}
    held["guidellm"]["benchmarks"][0]["config"]["strategy"] = strategy
    for run in held.values():
        _, report, _, facts = load(tmp_path, json.dumps(run))
        assert facts is not None
        assert facts.max_concurrency == 16
        assert report.notes[0].startswith("the client held at most 16 requests in flight")


def test_an_object_over_lines_is_read_like_one_on_a_line(tmp_path: Path) -> None:
    for run in (vllm(), sglang(), guidellm(), genai_perf()):
        flat, indented = (load(tmp_path, json.dumps(run, indent=n)) for n in (None, 2))
        assert flat[:2] == indented[:2]


def test_lists_without_the_keys_of_a_tool_are_read_as_those_of_vllm(tmp_path: Path) -> None:
    run = {key: vllm()[key] for key in ("input_lens", "output_lens")}
    trace, report, times, _ = load(tmp_path, json.dumps(run))
    assert (trace.input_lengths, report.format, times) == ((12, 13), "vllm-bench-serve", None)


# ---------------------------------------------------------------------------------- several runs


def test_a_file_of_several_runs_names_them_and_takes_a_number(tmp_path: Path) -> None:
    other = (Asked(3.0, 50, 1.0, ()), Asked(4.0, 60, 1.0, ()), Asked(5.0, 70, 1.0, ()))
    path = tmp_path / "runs.jsonl"
    path.write_text(lines([sglang(), sglang(other, request_rate=2.0)]))
    with pytest.raises(
        ValueError, match=r"such as runs.jsonl#1 \(there are 2: #1 inf/s, 16 in flight; #2 2/s"
    ):
        read_trace(path)
    trace, report = read_trace(f"{path}#2")
    assert trace.input_lengths == (50, 60, 70)
    assert report.source == "runs.jsonl#2"
    assert read_trace(f"{path}#1").trace.input_lengths == (12, 13)
    for wrong in ("0", "3"):
        with pytest.raises(ValueError, match=r"a run from runs.jsonl#1 to runs.jsonl#2"):
            read_trace(f"{path}#{wrong}")


def test_runs_in_one_object_are_numbered_too(tmp_path: Path) -> None:
    report = guidellm()
    report["benchmarks"] *= 2
    path = tmp_path / "benchmarks.json"
    path.write_text(json.dumps(report))
    with pytest.raises(ValueError, match=r"there are 2: #1 constant 2; #2 constant 2\)"):
        read_trace(path)
    assert len(read_trace(f"{path}#2").trace) == 2


def test_the_only_run_may_be_numbered_and_other_formats_have_none(tmp_path: Path) -> None:
    (tmp_path / "one.json").write_text(json.dumps(vllm()))
    assert len(read_trace(tmp_path / "one.json#1").trace) == 2
    (tmp_path / "t.csv").write_text("isl,osl\n1,2\n")
    with pytest.raises(ValueError, match=r"a benchmark result where a run is named"):
        read_trace(tmp_path / "t.csv#1")


def test_a_file_that_is_really_called_so_is_meant_first(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("isl,osl\n1,2\n")
    (tmp_path / "t.csv#1").write_text("isl,osl\n1,2\n3,4\n")
    assert len(read_trace(tmp_path / "t.csv#1").trace) == 2


# ------------------------------------------------------------------------------------- in a folder


@pytest.mark.parametrize("name", WRITTEN)
def test_the_only_result_of_a_folder_is_its_requests(tmp_path: Path, name: str) -> None:
    (tmp_path / "result.json").write_text(WRITTEN[name])
    (tmp_path / "meta.json").write_text('{"vllm_version": "0.19.0"}')
    (tmp_path / "timeseries.csv").write_text("t,running\n1,2\n")
    trace, report = read_trace(tmp_path)
    assert (trace.input_lengths, report.format) == ((12, 13), name)
    assert report.source == trace.name == tmp_path.name
    (tmp_path / "again.json").write_text(WRITTEN[name])
    with pytest.raises(ValueError, match=r"one benchmark result \(there are 2: again.json, result"):
        read_trace(tmp_path)


def test_a_folder_without_requests_is_refused(tmp_path: Path) -> None:
    (tmp_path / "meta.json").write_text("{}")
    (tmp_path / "mooncake.jsonl").write_text(
        '{"timestamp": 0, "input_length": 1, "output_length": 1}'
    )
    with pytest.raises(ValueError, match=r"log folder with requests.jsonl or a benchmark result$"):
        read_trace(tmp_path)
