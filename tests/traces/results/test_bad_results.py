"""Results that contradict themselves: a row is dropped with its reason, a file is refused."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fluidkv.errors import InputError
from fluidkv.traces import read_run, read_trace
from fluidkv.traces.known import format_names
from fluidkv.traces.report import LoadReport
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
    without_details,
)

FIRST, SECOND = TWO
AT_LINE, AT_REQUEST = "first in line 2", "first at request 2"


def load(tmp_path: Path, text: str, **options) -> LoadedRun:
    path = tmp_path / "result.dat"
    path.write_text(text, encoding="utf-8")
    return read_run(path, **options)


def refusal(tmp_path: Path, text: str, **options) -> str:
    with pytest.raises(InputError) as caught:
        load(tmp_path, text, **options)
    return str(caught.value)


def second(run: dict[str, Any], **changed: Any) -> str:
    """The run with other values in the lists' second place; totals go, which they would not fit."""
    lists = {name: [run[name][0], value] for name, value in changed.items()}
    return json.dumps({k: v for k, v in (run | lists).items() if not k.startswith("total_")})


def only_drop(report: LoadReport) -> str:
    assert (report.read, report.kept, report.dropped) == (2, 1, 1)
    (reason,) = report.dropped_because
    return str(reason)


# ---------------------------------------------------------------------- rows, lists of vLLM, SGLang


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"errors": "Traceback ...", "output_lens": 0, "ttfts": 0.0}, "errors: a failed request"),
        ({"output_lens": 0, "ttfts": 0.0, "itls": []}, "output_lens: 0, a failed request"),
        ({"output_lens": -4}, "output_lens: zero or negative"),
        ({"input_lens": None}, "input_lens: empty"),
        ({"input_lens": 12.5}, "input_lens: not a whole number"),
        ({"ttfts": -0.5}, "ttfts: below 0, a first token before the request"),
        ({"ttfts": float("nan")}, "ttfts: not a finite number"),
        ({"ttfts": "soon"}, "ttfts: not a number"),
        ({"itls": [0.1, -0.1, 0.1]}, "itls: below 0, a piece before the one above it"),
        ({"itls": [0.1, float("nan"), 0.1]}, "itls: not a finite number"),
        ({"itls": 0.1}, "itls: not a list"),
        ({"itls": [0.1] * 6}, "itls: more pieces than the output has tokens"),
        ({"output_lens": 1, "itls": [0.1] * 3}, "itls: more pieces than the output has tokens"),
        ({"start_times": float("inf")}, "start_times: not a finite number"),
        ({"start_times": None}, "start_times: empty"),
    ],
)
def test_a_row_that_cannot_be_is_dropped(tmp_path: Path, changed: dict, why: str) -> None:
    for run in (vllm(), sglang(start_times=vllm()["start_times"])):
        trace, report, times, _ = load(tmp_path, second(run, **changed))
        assert only_drop(report) == f"1 × {why} ({AT_REQUEST})"
        assert (trace.input_lengths, trace.decode_lengths) == ((FIRST.inputs,), (FIRST.outputs,))
        assert times is not None
        assert times.latency_s == (FIRST.latency,)


@pytest.mark.parametrize(
    ("latency", "why"),
    [
        (0.25, "latencies: less than ttfts, a last token before the first"),
        (0.75, "latencies: less than ttfts and itls together"),
        (-1.0, "latencies: below 0, a last token before the request"),
    ],
)
def test_a_latency_below_its_parts_is_dropped(tmp_path: Path, latency: float, why: str) -> None:
    run = vllm() | {"latencies": [FIRST.latency, SECOND.latency]}
    assert load(tmp_path, json.dumps(run))[1].dropped == 0
    assert why in only_drop(load(tmp_path, second(run, latencies=latency))[1])


def test_two_pieces_more_than_tokens_are_what_a_chat_server_sends(tmp_path: Path) -> None:
    for extra in (1, 2):
        gaps = [0.125] * (SECOND.outputs - 1 + extra)
        _, report, _, _ = load(tmp_path, second(vllm(), itls=gaps))
        assert report.kept == 2
        (reason,) = report.flagged_because
        assert str(reason).startswith("1 × itls: more pieces than tokens")


def test_an_answer_in_one_piece_is_flagged(tmp_path: Path) -> None:
    _, report, times, _ = load(tmp_path, second(vllm(), itls=[]))
    assert report.flagged_because[0].what.startswith("itls: none, so all tokens came at once")
    assert times is not None
    assert times.latency_s == (FIRST.latency, SECOND.ttft)


def test_no_time_at_all_is_read_as_not_said(tmp_path: Path) -> None:
    _, report, times, _ = load(tmp_path, second(vllm(), ttfts=0.0, itls=[]))
    assert (report.kept, report.changed) == (2, 1)
    assert times is not None
    assert str(times.ttft_s) == f"({FIRST.ttft}, nan)"


# --------------------------------------------------------------------------------- rows, the others


@pytest.mark.parametrize(
    ("key", "value", "why"),
    [
        ("prompt_tokens", 0, "prompt_tokens: zero or negative"),
        ("output_tokens", None, "output_tokens: empty"),
        ("start_time", None, "request_start: missing"),
        ("first_token_time", 100.0, "first token: below 0, a first token before the request"),
        ("last_token_time", 101.25, "last token: less than first token, a last token before the"),
        ("first_token_time", "soon", "first_token_time: not a number"),
    ],
)
def test_a_row_of_guidellm_is_dropped(tmp_path: Path, key: str, value: object, why: str) -> None:
    report = guidellm(version="0.3")
    report["benchmarks"][0]["requests"]["successful"][1][key] = value
    said = only_drop(load(tmp_path, json.dumps(report))[1])
    assert said.startswith(f"1 × {why}")
    assert said.endswith(f"({AT_REQUEST})")


def test_requests_that_guidellm_cut_off_are_counted(tmp_path: Path) -> None:
    report = guidellm()
    requests = report["benchmarks"][0]["requests"]
    requests |= {"incomplete": requests["successful"][:1], "errored": [{}, {}]}
    trace, read, _, _ = load(tmp_path, json.dumps(report))
    assert (len(trace), read.read, read.dropped) == (2, 5, 3)
    assert [r.what for r in read.dropped_because] == [
        "requests.errored: no whole answer",
        "requests.incomplete: no whole answer",
    ]


@pytest.mark.parametrize(
    ("part", "key", "value", "why"),
    [
        (None, "error", {"code": 500}, "error: a failed request"),
        (None, "metrics", None, "metrics: not a JSON object"),
        ("metadata", "was_cancelled", True, "was_cancelled: true, no whole answer"),
        ("metadata", "benchmark_phase", "warmup", "benchmark_phase: not the one that was measured"),
        ("metadata", "request_start_ns", None, "request_start_ns: empty"),
        ("metrics", "output_sequence_length", {"value": 0}, "output_sequence_length: zero or neg"),
        ("metrics", "input_sequence_length", 7, "input_sequence_length: empty"),
        ("metrics", "time_to_first_token", {"value": 1, "unit": "h"}, "time_to_first_token: in no"),
        ("metrics", "request_latency", {"value": 1, "unit": "ms"}, "request_latency: less than"),
    ],
)
def test_a_row_of_aiperf_is_dropped(
    tmp_path: Path, part: str | None, key: str, value: object, why: str
) -> None:
    records = aiperf()
    (records[1] if part is None else records[1][part])[key] = value
    said = only_drop(load(tmp_path, lines(records))[1])
    assert said.startswith(f"1 × {why}")
    assert said.endswith(f"({AT_LINE})")


def test_units_of_aiperf_are_read(tmp_path: Path) -> None:
    records = aiperf()
    records[0]["metrics"]["time_to_first_token"] = {"value": 250_000, "unit": "us"}
    records[1]["metrics"]["request_latency"] = {"value": 1, "unit": "sec"}
    _, _, times, _ = load(tmp_path, lines(records))
    assert times is not None
    assert times.ttft_s == (0.25, 0.5)


def test_texts_without_counts_are_told_what_would_count(tmp_path: Path) -> None:
    said = refusal(tmp_path, json.dumps(genai_perf(usage=False)))
    assert "2 × usage: missing" in said
    assert "include_usage" in said


def test_answers_of_genai_perf_in_pieces_that_do_not_fit(tmp_path: Path) -> None:
    run = genai_perf()
    run["experiments"][0]["requests"][1]["response_timestamps"].pop()
    said = only_drop(load(tmp_path, json.dumps(run))[1])
    assert "response_timestamps: not one for each of response_outputs" in said
    run = genai_perf()
    run["experiments"][0]["requests"][1]["timestamp"] += 10**10
    said = only_drop(load(tmp_path, json.dumps(run))[1])
    assert "response_timestamps: below 0, a first token before the request" in said


# -------------------------------------------------------------------------------------- whole files


@pytest.mark.parametrize(("run", "flag"), [(vllm, "--save-detailed"), (sglang, "--output-details")])
def test_totals_alone_are_refused_with_the_flag(tmp_path: Path, run, flag: str) -> None:
    said = refusal(tmp_path, json.dumps(without_details(run())))
    assert flag in said
    assert "this file has totals only" in said


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"ttfts": [0.25]}, "lists of one length (input_lens has 2, ttfts has 1)"),
        ({"itls": {}}, "lists of one length (input_lens has 2, itls is no list)"),
        ({"output_lens": [3, 4, 5]}, "lists of one length (input_lens has 2, output_lens has 3)"),
        ({"start_times": []}, "lists of one length (input_lens has 2, start_times has 0)"),
        ({"completed": 3}, "a row for each request (completed is 3, there are 2 rows)"),
        ({"total_output_tokens": 8}, "total_output_tokens is 8, output_lens give 7"),
        ({"start_times": [0, 9.0]}, "duration is 1.5 s, request 2 came 9.0 s after request 1"),
    ],
)
def test_a_file_that_contradicts_itself_is_refused(tmp_path: Path, changed: dict, why: str) -> None:
    assert why in refusal(tmp_path, json.dumps(vllm(**changed)))


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ({"input_config": {}, "request_throughput": {"unit": "requests/sec"}}, "totals only"),
        ({"data": [{"session_id": "1", "payloads": []}]}, "prompts before they were sent"),
        ({"benchmarks": [{"requests": {"successful": []}}]}, "successful requests (none)"),
        (
            {"benchmarks": [{"requests": {"successful": []}, "total_count": {"successful": 9}}]},
            "the file keeps none of them: --sample-requests",
        ),
        ({"benchmarks": []}, "found: benchmarks"),
        ({"experiments": [{"requests": []}]}, "found: experiments"),
    ],
)
def test_files_that_lie_beside_a_result_are_named(tmp_path: Path, content: dict, why: str) -> None:
    for indent in (None, 2):
        assert why in refusal(tmp_path, json.dumps(content, indent=indent))


@pytest.mark.parametrize("name", WRITTEN)
def test_another_format_than_the_named_one_is_refused(tmp_path: Path, name: str) -> None:
    lists = {"vllm-bench-serve", "sglang-bench-serving"}
    for other in sorted(set(WRITTEN) - {name} - (lists if name in lists else set())):
        refusal(tmp_path, WRITTEN[name], format=other)


# -------------------------------------------------------------------------------------- drawn files

times = st.floats(0, 100) | st.integers(0, 100)
asked = st.builds(
    Asked,
    start=times,
    inputs=st.integers(1, 5000),
    ttft=st.floats(0.001, 100),
    gaps=st.lists(st.floats(0, 10), max_size=5).map(tuple),
)
many = st.lists(asked, min_size=1, max_size=5)
ONE_FOLDER = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
broken = st.sampled_from(
    [None, float("nan"), float("inf"), -1, -0.5, 0, "", "x", [], {}, True, 10**30, [[1]], [None]]
)


@given(many)
@ONE_FOLDER
def test_whatever_a_client_saw_is_read_back(tmp_path: Path, requests: list[Asked]) -> None:
    order = sorted(requests, key=lambda a: a.start)
    trace, report, seen, _ = load(tmp_path, json.dumps(vllm(requests, total_output_tokens=None)))
    assert (report.dropped, report.changed) == (0, 0)
    assert seen is not None
    assert trace.input_lengths == tuple(a.inputs for a in order)
    assert trace.decode_lengths == tuple(a.outputs for a in order)
    assert seen.ttft_s == tuple(a.ttft for a in order)
    assert seen.gaps_s == tuple(a.gaps for a in order)
    # In seconds that differ by what a sum of six doubles loses.
    assert seen.latency_s == pytest.approx([a.latency for a in order], abs=1e-9)
    assert seen.arrival_s == pytest.approx([a.start - order[0].start for a in order], abs=1e-9)


@given(
    st.sampled_from(["input_lens", "output_lens", "ttfts", "itls", "errors", "start_times"]),
    st.integers(0, 2),
    broken,
)
@ONE_FOLDER
def test_a_broken_value_costs_its_own_row_at_most(
    tmp_path: Path, name: str, at: int, value: object
) -> None:
    run = vllm((*TWO, Asked(102.0, 14, 0.25, (0.5,))), total_output_tokens=None, duration=None)
    run[name][at] = value
    trace, report, seen, _ = load(tmp_path, json.dumps(run))
    assert report.read == 3
    assert report.dropped == len(report.dropped_because) <= 1
    assert all(reason.first == at + 1 for reason in report.dropped_because)
    assert seen is not None
    assert len(trace) == len(seen.ttft_s) == len(seen.gaps_s) == report.kept >= 2
    assert all(each >= 0 for each in seen.ttft_s if each == each)
    ends = zip(seen.ttft_s, seen.latency_s, strict=True)
    assert not any(last < first for first, last in ends)  # NaN where one is not said


@given(st.sampled_from(sorted(WRITTEN)), st.data())
@ONE_FOLDER
def test_a_file_cut_off_is_refused_or_loses_its_last_row(
    tmp_path: Path, name: str, data: st.DataObject
) -> None:
    text = WRITTEN[name].rstrip()
    cut = text[: data.draw(st.integers(1, len(text) - 1))]
    path = tmp_path / "cut"
    path.write_text(cut)
    for form in (None, *format_names()):
        read = report_or_refusal(path, form)
        if isinstance(read, LoadReport):  # a line a request: whole lines are left
            assert (name, read.format, read.kept) == ("aiperf", "aiperf", 1)
        else:
            assert "\n" not in read


def report_or_refusal(path: Path, form: str | None) -> LoadReport | str:
    try:
        return read_trace(path, format=form).report
    except InputError as error:
        return str(error)
