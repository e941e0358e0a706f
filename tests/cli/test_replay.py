"""`fluidkv replay`: what the page prints, files together, one line for bad input."""

import csv
import json
from pathlib import Path

import pytest
import xarray as xr

from fluidkv.cli import main
from fluidkv.serving.limits import Limits
from tests.answers.replay.logs import write_log
from tests.cli.answered import answer_in


@pytest.fixture
def log(tmp_path) -> Path:
    write_log(tmp_path, caching=True)
    return tmp_path


def one_line(capsys, argv: list[str]) -> str:
    assert main(argv) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    return captured.err


def test_a_folder_as_client_and_server_wrote_it(traces_dir, capsys):
    """Polled each second: what is taken to be computed again is said beside the clock."""
    folder = traces_dir / "vllm_cpu_tiny"
    if not folder.is_dir():
        pytest.skip("no folder of a real client and server")
    assert main(["replay", str(folder)]) == 0
    words = " ".join(capsys.readouterr().out.split())
    assert "a request that came back is taken to compute a mean prompt again" in words
    assert "delay 0.19 s from the client to the scheduler" in words


@pytest.mark.parametrize("name", ["vllm_rtx4090_llama31_8b", "sglang_rtx4090_qwen3_4b"])
def test_the_measured_log_as_docs_print_it(traces_dir, capsys, monkeypatch, name):
    monkeypatch.setenv("NO_COLOR", "1")
    assert main(["replay", str(traces_dir / name)]) == 0
    out = capsys.readouterr().out
    page = (Path(__file__).parents[2] / "docs" / "replay.md").read_text(encoding="utf-8")
    assert max(len(line) for line in out.splitlines()) <= 80
    assert out in page


def test_files_are_written_together(log, tmp_path, capsys):
    out = tmp_path / "answer"
    assert main(["replay", str(log), "--out", str(out), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    names = {path.name for path in out.iterdir()}
    assert names == {
        *("replay.json", "ticks.csv", "requests.csv", "replay.nc"),
        *("replay.png", "replay.svg", "replay.npz", "manifest.json"),
    }
    assert json.loads((out / "replay.json").read_text()) == answer
    with (out / "ticks.csv").open() as text:
        rows = list(csv.DictReader(text))
    data = xr.load_dataset(out / "replay.nc", engine="scipy")
    assert [float(row["running_vllm+cache"]) for row in rows] == data.running.sel(
        account="vllm+cache"
    ).values.tolist()


def test_a_file_of_the_folder_names_the_folder(log, capsys):
    said = []
    for source in (log, log / "requests.jsonl", log / "timeseries.csv"):
        assert main(["replay", str(source), "--json"]) == 0
        said.append(answer_in(capsys.readouterr().out))
    assert said[0] == said[1] == said[2]


def test_bad_input_gets_one_line(log, tmp_path, capsys):
    argv = ["replay", str(log)]
    assert "--block-size" in one_line(capsys, [*argv, "--block-size", "4000"])
    assert "--engine" in one_line(capsys, [*argv, "--engine", "fcfs-new-first"])  # it need not end
    assert "allowed: memory for request 55" in one_line(capsys, [*argv, "--capacity", "160"])
    assert "no such file" in one_line(capsys, ["replay", str(tmp_path / "nowhere")])
    (log / "meta.json").unlink()
    assert "--block-size" in one_line(capsys, argv)
    assert "--capacity" in one_line(capsys, [*argv, "--block-size", "16"])
    assert main([*argv, "--capacity", "2560"]) == 0


def test_a_log_in_which_nobody_is_preempted_says_so(tmp_path, capsys):
    write_log(tmp_path, limits=Limits(5000 * 16, 16, 64, 512))
    assert main(["replay", str(tmp_path)]) == 0
    assert "none seen" in capsys.readouterr().out


def test_times_that_go_backwards_are_refused(log, capsys):
    path = log / "requests.jsonl"
    rows = path.read_text().splitlines()
    path.write_text("\n".join([rows[1], rows[0], *rows[2:]]) + "\n")
    assert "arrival" in one_line(capsys, ["replay", str(log)])
    path.write_text("\n".join(rows) + "\n")
    ticks = (log / "timeseries.csv").read_text().splitlines()
    (log / "timeseries.csv").write_text("\n".join([*ticks[:3], ticks[5], *ticks[3:]]) + "\n")
    assert "t that increases" in one_line(capsys, ["replay", str(log)])
