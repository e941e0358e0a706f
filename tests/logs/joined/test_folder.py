"""A folder with whatever files people have is one log, or is refused in one line."""

import gzip
import json
import os
import re
import shutil

import numpy as np
import pytest

from fluidkv.errors import InputError
from fluidkv.logs import read_log
from fluidkv.logs.joined import kinds
from fluidkv.traces import read_trace
from tests.logs.columns import ticks_of, times
from tests.logs.stdout.test_vllm_stdout import START, v1
from tests.traces.results.written import Asked, sglang, vllm

# A server with 3 slots and steps of 0.1 s: requests that come, wait, run and go.
ASKED = tuple(
    Asked(
        start=1000.0 + 0.7 * i,
        inputs=10 + i,
        ttft=max(0.1, 0.9 * i),
        gaps=(0.1,) * (20 + i),
    )
    for i in range(40)
)


def stdout_of(asked, *, behind=12.3, every=5):
    """What a server that served these would have printed: its clock is another one."""
    start = asked[0].start
    end = max(a.start + a.latency for a in asked) - start
    lines = [START]
    for tick in range(1, int((end + behind) / every) + 2):
        at = every * tick - behind + start
        inside = [a for a in asked if a.start <= at < a.start + a.latency]
        running = sum(a.start + a.ttft <= at for a in inside)
        tokens = sum(
            1
            for a in asked
            for k in range(a.outputs)
            if at - every < a.start + a.ttft + sum(a.gaps[:k]) <= at
        )
        minutes, seconds = divmod(every * tick, 60)
        clock = f"13:{10 + minutes:02d}:{seconds:02d}"
        lines.append(v1(clock, 0.0, round(tokens / every, 1), running, len(inside) - running, 50))
    return "".join(lines)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "bench.json").write_text(json.dumps(vllm(ASKED)))
    (tmp_path / "server.log").write_text(stdout_of(ASKED))
    return tmp_path


def test_a_benchmark_and_a_server_s_output_are_one_log(folder) -> None:
    log = read_log(folder)
    assert [(file.name, file.kind) for file in log.files] == [
        ("bench.json", "requests of a trace or benchmark"),
        ("server.log", "what a vLLM server printed"),
    ]
    assert log.files[0].gave == "40 requests"
    assert (log.engine, log.version, log.capacity) == ("vllm", "0.11.0", 41_408)
    assert log.requests is not None
    assert log.ticks is not None
    assert [each.what for each in log.missing] == ["preemptions", "when requests were scheduled"]


def test_clocks_are_laid_by_who_is_in_the_system(folder) -> None:
    """The server prints every 5 s from 12.3 s before the first request on, so 2.7 s after it."""
    log = read_log(folder)
    assert log.offset_s is not None
    low, high = log.offset_s
    assert low <= 15 - 12.3 - ticks_of(log).ends_s[0] <= high
    assert high - low < 2.0  # seconds are whole in the output
    assert 0 <= times(log, "arrival_s")[0] < 1.0  # moment 0 is the second of the first request


def test_other_requests_are_not_laid(folder) -> None:
    others = tuple(Asked(a.start * 3, a.inputs, a.ttft, a.gaps) for a in ASKED)
    (folder / "bench.json").write_text(json.dumps(vllm(others)))
    log = read_log(folder)
    assert log.offset_s is None
    assert any("are apart: at best" in note for note in log.notes)


def test_the_recorded_files_stand_for_their_folder(traces_dir, sglang_dir) -> None:
    for folder, names in (
        (traces_dir / "vllm_rtx4090_llama31_8b", ("requests.jsonl", "timeseries.csv")),
        (sglang_dir, ("requests.jsonl", "decode_log.csv", "events.jsonl")),
    ):
        whole = read_log(folder)
        for name in names:
            one = read_log(folder / name)
            assert one.files == whole.files
            assert one.settings == whole.settings
            assert len(ticks_of(one)) == len(ticks_of(whole))
    assert read_log("sample:vllm-rtx4090").settings.capacity == 41_408


def test_a_file_that_is_no_file_of_a_log_is_passed_over_and_named(folder) -> None:
    (folder / "notes.txt").write_text("nothing of ours\n")
    (folder / "plot.png").write_bytes(b"\x89PNG\0\0")
    (folder / ".hidden").write_text("x")
    log = read_log(folder)
    assert len(log.files) == 2
    assert "not read: notes.txt, plot.png" in log.notes


def test_a_table_that_is_not_read_says_what_it_needs(folder) -> None:
    (folder / "requests.csv").write_text("prompt,answer\n10,20\n")
    (folder / "notes.txt").write_text("nothing of ours\n")
    notes = read_log(folder).notes
    assert "not read: notes.txt" in notes
    [said] = [note for note in notes if "requests.csv" in note]
    assert said.startswith("not read: requests.csv, which needs columns of azure")
    assert said.endswith("(found: prompt, answer)")


def test_requests_under_another_name_than_the_folder_s_stand_alone(tmp_path) -> None:
    for number, inputs in ((1, 100), (2, 200)):
        row = json.dumps({"input": inputs, "output": 50, "arrival_s": 0})
        (tmp_path / f"q{number}.jsonl").write_text(row + "\n")
    log = read_log(tmp_path / "q1.jsonl")
    assert [file.name for file in log.files] == ["q1.jsonl"]


def test_a_line_without_end_is_not_cut_into_cells(tmp_path, monkeypatch) -> None:
    """50 MB of it took a minute and more than a gigabyte."""

    def never(_: object) -> None:
        raise AssertionError("its cells are looked at")

    monkeypatch.setattr(kinds, "csv_header", never)
    path = tmp_path / "numbers.json"
    path.write_text("[" + ", ".join(["0.25"] * 20_000) + "]")
    with pytest.raises(InputError, match="this file is none of these"):
        read_log(path)


@pytest.mark.parametrize("read", [read_log, read_trace])
def test_a_source_that_is_not_there_or_never_ends_is_said_to_be_so(tmp_path, read) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="this is not a regular file"):
        read(tmp_path / "pipe")
    with pytest.raises(InputError, match=r"that exists.*there is no such file") as caught:
        read(tmp_path / "nowhere")
    assert "UTF-8" not in str(caught.value)


def test_a_server_s_output_alone_is_a_log(folder) -> None:
    log = read_log(folder / "server.log")
    assert [file.name for file in log.files] == ["server.log"]
    assert log.requests is None
    assert log.missing[0].what == "requests (lengths and arrivals)"
    assert "vllm bench serve" in log.missing[0].command


def changed(folder, name, change):
    path = folder / name
    path.write_text(change(path.read_text()))
    return folder


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        (
            "meta.json",
            '{"kv_cache": {"num_kv_tokens": 40000}}',
            "one capacity (meta.json says 40,000, server.log 41,408)",
        ),
        (
            "meta.json",
            '{"vllm_version": "0.11.1"}',
            "one version (meta.json says 0.11.1, server.log 0.11.0)",
        ),
        ("meta.json", '{"engine": "SGLang"}', "(meta.json is of sglang, server.log of vllm)"),
        (
            "other.json",
            json.dumps(vllm(ASKED[:30])),
            "(bench.json: 40 requests, 1,620 output tokens; other.json: 30 requests, 1,065 output",
        ),
    ],
)
def test_files_that_contradict_each_other_are_named(folder, name, content, said) -> None:
    (folder / name).write_text(content)
    with pytest.raises(InputError, match=re.escape(said)):
        read_log(folder)


def test_the_same_version_with_a_commit_is_no_contradiction(folder) -> None:
    (folder / "meta.json").write_text('{"vllm_version": "0.11.0 (71de97b)"}')
    assert read_log(folder).version == "0.11.0 (71de97b)"


def test_more_requests_in_the_system_than_came_are_refused_with_the_tick(folder) -> None:
    (folder / "bench.json").write_text(json.dumps(vllm(ASKED[:5])))
    with pytest.raises(InputError, match=r"run or wait at tick \d.*5 requests came in all"):
        read_log(folder)


def test_tokens_that_nobody_got_are_refused_with_the_tick(folder) -> None:
    changed(
        folder,
        "server.log",
        lambda text: text.replace("Avg generation throughput: ", "Avg generation throughput: 9"),
    )
    with pytest.raises(InputError, match=r"generated until tick \d+, and the requests have 1,620"):
        read_log(folder)


def test_tokens_of_another_capacity_are_refused_with_their_line(sglang_dir, tmp_path) -> None:
    for path in sglang_dir.iterdir():
        shutil.copyfile(path, tmp_path / path.name)
    changed(tmp_path, "meta.json", lambda text: text.replace("87552", "80000"))
    with pytest.raises(InputError, match=r"line \d+: [\d,]+ tokens of 80,000, kv_usage 0\.\d+"):
        read_log(tmp_path)


def test_more_than_the_whole_cache_is_refused_with_the_tick(tmp_path) -> None:
    text = "t,num_running_reqs,num_queue_reqs,num_used_tokens,max_total_num_tokens\n"
    text += "".join(f"{100 + i},3,0,{n},400\n" for i, n in enumerate((100, 200, 900)))
    (tmp_path / "metrics.csv").write_text(text)
    with pytest.raises(InputError, match=r"225.0% of the KV capacity are in use at tick 3"):
        read_log(tmp_path)


@pytest.mark.parametrize("name", ["requests.jsonl", "timeseries.csv", "decode_log.csv"])
def test_a_recorded_file_that_is_broken_is_refused_by_name(folder, name) -> None:
    (folder / name).write_text("what is this\n")
    with pytest.raises(InputError, match=re.escape(name)):
        read_log(folder)


def test_a_folder_without_a_log_is_refused(tmp_path) -> None:
    for make in (lambda: None, lambda: (tmp_path / "meta.json").write_text("{}")):
        make()
        with pytest.raises(InputError, match="no such file in it"):
            read_log(tmp_path)
    with pytest.raises(InputError, match="no such file"):
        read_log(tmp_path / "nowhere")


def test_requests_of_two_files_are_those_with_more_times(folder, tmp_path) -> None:
    rows = [f"{a.inputs},{a.outputs}" for a in ASKED]
    (folder / "trace.csv").write_text("input_tokens,output_tokens\n" + "\n".join(rows))
    log = read_log(folder)
    assert np.isfinite(times(log, "last_token_s")).all()


def test_one_run_of_a_file_with_several_is_a_log(tmp_path) -> None:
    path = tmp_path / "runs.jsonl"
    path.write_text("\n".join(json.dumps(vllm(ASKED[:count])) for count in (40, 7)))
    log = read_log(f"{path}#2")
    assert log.requests is not None
    assert len(log.requests) == 7
    assert [file.name for file in log.files] == ["runs.jsonl#2"]
    with pytest.raises(InputError, match=r"#1 to runs.jsonl#2"):
        read_log(f"{path}#3")
    with pytest.raises(InputError, match=r"one run, such as runs.jsonl#1"):
        read_log(path)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "this file is empty"),
        (gzip.compress(b"{}"), "this is gzip: unpack it first"),
        ("INFO Engine 000: Avg".encode("utf-16"), "this is not UTF-8 text"),
        (b"hello world\n", "this file is none of these"),
    ],
    ids=["empty", "gzip", "utf-16", "prose"],
)
def test_a_file_that_is_no_log_says_why(tmp_path, content, said) -> None:
    path = tmp_path / "server.log"
    path.write_bytes(content)
    for source in (path, f"{path}#1"):
        with pytest.raises(InputError) as caught:
            read_log(source)
        assert said in str(caught.value) or (content[:5] == b"hello" and source != path)


def test_a_log_is_found_among_hundreds_of_other_files(folder) -> None:
    alone = read_log(folder)
    for number in range(300):
        (folder / f"aa{number:03d}.txt").write_text("hello world\n")
    log = read_log(folder)
    assert [file.name for file in log.files] == [file.name for file in alone.files]
    assert log.notes[-1].endswith("aa006.txt, aa007.txt and 292 more")


@pytest.mark.parametrize("write", [vllm, sglang])
def test_without_arrivals_they_are_what_is_missing_and_not_what_was_recorded(
    tmp_path, write
) -> None:
    """The command that wrote the file is no way to more than it wrote."""
    run = write(ASKED)
    run.pop("start_times", None)
    path = tmp_path / "bench.json"
    path.write_text(json.dumps(run))
    first = read_log(path).missing[0]
    assert first.what == "when requests arrived"
    assert "guidellm" in first.command
