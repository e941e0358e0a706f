"""`fluidkv log`: what the files of a run say and lack, in 80 columns and as JSON."""

import json
from pathlib import Path

import pytest

from fluidkv.answers.served.logged import read_server
from fluidkv.cli import main
from tests.answers.replay.logs import write_log
from tests.logs.stdout.test_vllm_stdout import START


def said(capsys, *argv: str) -> str:
    assert main(["log", *argv]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return captured.out


def test_a_clock_is_not_missed_where_one_is_fitted_to_decode_steps(capsys, sglang_dir) -> None:
    page = said(capsys, str(sglang_dir))
    assert "per-request times, for measured latencies\n" in page
    assert "fitted clock" not in page


def test_json_has_what_the_page_says(capsys, sglang_dir) -> None:
    found = json.loads(said(capsys, str(sglang_dir), "--json"))
    assert (found["command"], found["engine"], found["retractions"]) == ("log", "sglang", 20)
    assert found["server"]["capacity"] == found["server"]["usable_capacity"] == 87_552
    assert found["requests"]["output_tokens"] == 337_433
    assert (found["ticks"]["running_peak"], found["ticks"]["preemptions"]) == (68, 20)
    assert [each["what"] for each in found["missing"]] == ["per-request times"]
    low, high = found["offset_s"]
    assert 0 < high - low < 1.5


@pytest.mark.parametrize("name", ["requests.jsonl", "timeseries.csv"])
def test_a_recorded_file_takes_what_lies_beside_it(capsys, traces_dir, name) -> None:
    folder = traces_dir / "vllm_rtx4090_llama31_8b"
    assert said(capsys, str(folder / name)) == said(capsys, str(folder))


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


def test_a_replay_takes_the_file_of_requests(capsys, tmp_path) -> None:
    write_log(tmp_path)
    assert main(["replay", str(tmp_path / "requests.jsonl"), "--json"]) == 0
    one = json.loads(capsys.readouterr().out)
    assert main(["replay", str(tmp_path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["predictions"] == one["predictions"]


def test_the_page_on_logs_runs(capsys) -> None:
    page = (Path(__file__).parents[2] / "docs" / "logs.md").read_text(encoding="utf-8")
    code = page.split("```python\n")[1].split("```")[0]
    exec(compile(code, "docs/logs.md", "exec"), {})
    assert capsys.readouterr().out.startswith("vllm 0.19.0 41408 300 184\npreemptions, ")
