"""`fluidkv log`: what the files of a run say and lack, in 80 columns and as JSON."""

import json
from pathlib import Path

import pytest

from fluidkv.answers.served.logged import read_server
from fluidkv.cli import main
from tests.answers.replay.logs import write_log
from tests.cli.answered import refusal
from tests.logs.stdout.test_vllm_stdout import START, v1


def said(capsys, *argv: str) -> str:
    assert main(["log", *argv]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return captured.out


def test_the_sample_is_shown_with_the_numbers_that_were_measured(capsys) -> None:
    page = said(capsys, "sample:vllm-rtx4090")
    assert page.startswith("vLLM 0.19.0, meta-llama/Llama-3.1-8B, NVIDIA GeForce RTX 4090\n")
    assert "measured      1,066 output tokens/s, p99 TTFT 137.4 s, p99 latency 153.6 s" in page
    assert "What they lack\npreemptions, for measured preemptions\n" in page
    assert max(map(len, page.splitlines())) <= 80


def test_a_clock_is_not_missed_where_one_is_fitted_to_decode_steps(capsys, sglang_dir) -> None:
    page = said(capsys, str(sglang_dir))
    assert "per-request times, for measured latencies\n" in page
    assert "fitted clock" not in page


def test_a_server_s_output_alone_says_what_else_to_record(capsys, tmp_path) -> None:
    path = tmp_path / "server.log"
    path.write_text(START + v1("13:08:10", 1, 2, 3, 1, 40) + v1("13:08:20", 1, 2, 3, 1, 40))
    page = said(capsys, str(path))
    assert "2 ticks over 10 s, 10 settings" in page
    assert "requests (lengths and arrivals), for every answer about settings\n" in page
    assert "  vllm bench serve --save-result --save-detailed\n" in page


def test_json_has_what_the_page_says(capsys, sglang_dir) -> None:
    found = json.loads(said(capsys, str(sglang_dir), "--json"))
    assert (found["command"], found["engine"], found["retractions"]) == ("log", "sglang", 20)
    assert found["server"]["capacity"] == found["server"]["usable_capacity"] == 87_552
    assert found["requests"]["output_tokens"] == 337_433
    assert (found["ticks"]["running_peak"], found["ticks"]["preemptions"]) == (68, 20)
    assert [each["what"] for each in found["missing"]] == ["per-request times"]
    low, high = found["offset_s"]
    assert 0 < high - low < 1.5


@pytest.mark.parametrize("source", ["nowhere", "sample:other"])
def test_bad_input_gets_one_line(capsys, tmp_path, monkeypatch, source) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["log", source]) == 2
    assert capsys.readouterr().err.startswith(f"fluidkv: SOURCE: got '{source}'")


@pytest.mark.parametrize("name", ["requests.jsonl", "timeseries.csv"])
def test_a_recorded_file_takes_what_lies_beside_it(capsys, traces_dir, name) -> None:
    folder = traces_dir / "vllm_rtx4090_llama31_8b"
    assert said(capsys, str(folder / name)) == said(capsys, str(folder))


@pytest.mark.parametrize("command", ["study", "recommend"])
def test_a_file_of_a_log_without_requests_is_named_for_what_it_is(
    capsys, tmp_path, command
) -> None:
    path = tmp_path / "server.log"
    path.write_text(START + v1("13:08:10", 1, 2, 3, 1, 40) + v1("13:08:20", 1, 2, 3, 1, 40))
    line = refusal(capsys, command, str(path))
    assert "requests (server.log is what a vLLM server printed); vllm bench serve" in line


@pytest.mark.thorough
def test_a_trace_beside_a_server_s_output_takes_its_capacity(capsys, tmp_path) -> None:
    (tmp_path / "server.log").write_text(START)
    (tmp_path / "trace.csv").write_text("input_tokens,output_tokens\n5,3\n6,3\n")
    assert main(["study", str(tmp_path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["capacity"] == 41_408


def test_the_file_of_requests_is_a_log_as_its_folder_is(traces_dir) -> None:
    folder = traces_dir / "vllm_rtx4090_llama31_8b"
    whole, file = read_server(str(folder)), read_server(str(folder / "requests.jsonl"))
    assert whole.clock is not None
    assert (file.clock, file.fit, file.settings) == (whole.clock, whole.fit, whole.settings)


def test_a_file_that_is_no_log_is_refused_for_what_it_has(capsys, tmp_path) -> None:
    path = tmp_path / "requests.csv"
    path.write_text("arrival,prompt,answer\n0,1,2\n")
    assert "allowed: a log: requests of a benchmark" in refusal(capsys, "replay", str(path))


def test_a_replay_takes_the_file_of_requests(capsys, tmp_path) -> None:
    write_log(tmp_path)
    assert main(["replay", str(tmp_path / "requests.jsonl"), "--json"]) == 0
    one = json.loads(capsys.readouterr().out)
    assert main(["replay", str(tmp_path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["predictions"] == one["predictions"]


def test_study_measures_what_a_server_printed(capsys, tmp_path) -> None:
    path = tmp_path / "server.log"
    rows = [v1(f"13:{m:02d}:{s}0", 1, 90.0, 3, 1, 40) for m in range(4) for s in range(6)]
    path.write_text("".join(rows))
    assert main(["study", "--class", "5:3", "--capacity", "100", "--measured", str(path)]) == 0
    assert "requests running (mean)" in capsys.readouterr().out


def test_the_page_on_logs_runs(capsys) -> None:
    page = (Path(__file__).parents[2] / "docs" / "logs.md").read_text(encoding="utf-8")
    code = page.split("```python\n")[1].split("```")[0]
    exec(compile(code, "docs/logs.md", "exec"), {})
    assert capsys.readouterr().out.startswith("vllm 0.19.0 41408 300 184\npreemptions, ")
