"""From SOURCE to requests: columns by name, lengths and times scaled, in every command alike."""

import json
from pathlib import Path

import pytest

from fluidkv.answers.served.load import FORMAT, SOURCE
from fluidkv.cli import main
from fluidkv.traces.known import format_names
from fluidkv.traces.samples.shipped import sample_names
from tests.cli.answered import refusal
from tests.traces.results.written import TWO, lines, vllm

_ODD = "when,asked,told\n0,30,8\n1,40,12\n2,30,9\n"
_COLUMNS = ["--columns", "input=asked,output=told,arrival=when"]
_SERVED = "--capacity 3200 --requests 3 --clock 0.01:0:1e-4 "
_COMMANDS = {  # each with cheap settings
    "study": "--capacity 20000 --iterations 20",
    "recommend": _SERVED + "--runs 1 --watermark 0 --max-num-seqs 4",
    "preempt": _SERVED + "--seeds 1 --victim random",
    "wait": "--capacity 20000 --d0 1 --d1 1e-4 --no-simulate --bins 2",
}


@pytest.fixture
def odd(tmp_path: Path) -> str:
    """A CSV file whose columns have no usual names."""
    path = tmp_path / "odd.csv"
    path.write_text(_ODD)
    return str(path)


def _said(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    assert main(list(argv)) in (0, 1)
    captured = capsys.readouterr()
    assert captured.err == ""
    return " ".join(captured.out.split())


@pytest.mark.thorough
def test_a_study_of_scaled_requests_is_one_of_longer_requests(capsys, odd, tmp_path):
    longer = tmp_path / "longer.csv"
    longer.write_text("input_length,decode_length\n60,12\n80,18\n60,14\n")
    given = ["--capacity", "20000", "--iterations", "20", "--json"]
    assert main(["study", str(longer), *given]) == 0
    plain = json.loads(capsys.readouterr().out)
    assert (
        main(["study", odd, *_COLUMNS, "--scale-input", "2", "--scale-output", "1.5", *given]) == 0
    )
    scaled = json.loads(capsys.readouterr().out)
    for part in ("equilibrium", "stability", "boundary", "simulation"):
        assert scaled[part] == plain[part]


def test_faster_arrivals_are_a_higher_rate(capsys, odd):
    """Three prompts in two seconds; two in each of them, as `wait` counts, and then four."""
    rates = []
    for scale in ("1", "2"):
        argv = ["wait", odd, *_COLUMNS, "--scale-rate", scale, *_COMMANDS["wait"].split(), "--json"]
        assert main(argv) == 0
        rates.append(json.loads(capsys.readouterr().out)["binning"]["rate"])
    assert rates[1] == pytest.approx(2 * rates[0])


def test_what_was_measured_is_not_of_scaled_requests(capsys, traces_dir):
    log = str(traces_dir / "vllm_rtx4090_llama31_8b")
    few = ["--runs", "1", "--requests", "300", "--watermark", "0.05", "--max-num-seqs", "256"]
    text = _said(capsys, "recommend", log, "--scale-rate", "0.5", *few)
    assert "not held against the log: scaled requests" in text
    assert "arrivals x 0.5 as fast" in text


def test_help_names_every_format_and_sample() -> None:
    for name in format_names():
        assert f" {name}," in FORMAT.help or f" {name}." in FORMAT.help
    assert all(name in SOURCE.help for name in sample_names())


@pytest.mark.thorough
def test_every_command_takes_a_benchmark_result_and_its_runs(capsys, tmp_path):
    path = tmp_path / "runs.jsonl"
    path.write_text(lines([vllm(), vllm(TWO[:1])]))
    for command, cheap in _COMMANDS.items():
        cheap = cheap.replace("--requests 3", "--requests 2")  # as many as there are
        several = refusal(capsys, command, str(path), *cheap.split())
        assert "one run, such as runs.jsonl#1" in several
        assert "runs.jsonl#1" in _said(capsys, command, f"{path}#1", *cheap.split())
