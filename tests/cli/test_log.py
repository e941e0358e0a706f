"""`fluidkv log`: what the files of a run say and lack, in 80 columns and as JSON."""

import json

import pytest

from fluidkv.cli import main
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
