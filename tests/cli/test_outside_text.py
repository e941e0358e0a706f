"""Names and cells of others are shown as letters; where and how it is shown changes nothing."""

import json
import os
import shutil
from pathlib import Path

import pytest

from fluidkv.cli import main
from tests.processes import fluidkv

TRACE = "timestamp,input_tokens,output_tokens\n0,5,3\n1,7,4\n2,x,1\n3,5,3\n"
STUDY = ["--capacity", "200", "--iterations", "20"]
# Each is a tag or an emoji to rich, or drives a terminal.
NAMES = ["[bold]a[", "a[red]", ":smile:[link=x]", "a\x1b]0;t\x07b", "\u202ea\x9b2J", "\udcffa\\"]


def shown(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    """What a command prints; it ends well."""
    assert main(list(argv)) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert "\x1b" not in captured.out
    assert all(line.isprintable() for line in captured.out.split("\n"))
    return captured.out


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_shown_as_it_is_or_spelled_out(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str
) -> None:
    path = tmp_path / f"{name}.csv"
    path.write_text(TRACE)
    spelled = repr(name)[1:-1].replace("\\\\", "\\")
    assert spelled in shown(capsys, "study", str(path), *STUDY)
    wait = ["--capacity", "2000", "--clock", "vidur-llama3-8b-a100", "--no-simulate"]
    assert spelled in shown(capsys, "wait", str(path), "--rate", "0.1", *wait)


@pytest.mark.thorough
def test_a_folder_is_shown_as_it_is_or_spelled_out(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    out = tmp_path / "[" / "x]\x1b]0;t\x07"
    said = shown(capsys, "study", "--class", "5:3", *STUDY, "--out", str(out))
    assert "[/x]\\x1b]0;t\\x07:" in said
    assert (out / "study.json").is_file()


def test_what_a_log_says_of_its_server_is_no_markup(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, traces_dir: Path
) -> None:
    text, log = "0.19[/x]\x1b]0;t\x07\ud800", tmp_path / "log"
    shutil.copytree(traces_dir / "vllm_rtx4090_llama31_8b", log)
    meta = json.loads((log / "meta.json").read_text())
    meta |= {"vllm_version": text, "hardware": {"device_name": text}}
    (log / "meta.json").write_text(json.dumps(meta))
    assert r"vLLM 0.19[/x]\x1b]0;t\x07\ud800" in shown(capsys, "replay", str(log))


@pytest.mark.parametrize("argv", [["--x\x1b[2J"], ["study", "\x9b"], ["verify", "\ud800\u202e"]])
def test_words_of_the_command_line_are_spelled_out(
    capsys: pytest.CaptureFixture[str], argv: list[str]
) -> None:
    assert main(argv) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert said.rstrip("\n").isprintable()


SETTINGS = {
    "JAX_DEBUG_NANS": "1",
    "JAX_DEBUG_INFS": "1",
    "JAX_DEFAULT_PRNG_IMPL": "rbg",
    "JAX_THREEFRY_PARTITIONABLE": "0",
    "JAX_ENABLE_X64": "1",
    "PYTHONIOENCODING": "ascii",
    "LC_ALL": "C",
    "NO_COLOR": "1",
    "COLUMNS": "0",
}


@pytest.mark.thorough
@pytest.mark.parametrize(
    "argv",
    [
        ["study", "--class", "5:3", "--class", "7:4", *STUDY, "--json"],
        [
            *["wait", "--type", "0.5:3:4", "--d0", "0.01", "--d1", "1e-6", "--capacity", "100"],
            *["--seeds", "1", "--run-time", "2", "--json"],
        ],
    ],
    ids=["study", "wait"],
)
def test_numbers_do_not_depend_on_settings_of_others(
    capsys: pytest.CaptureFixture[str], argv: list[str]
) -> None:
    done = fluidkv(*argv, env=os.environ | SETTINGS)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == json.loads(shown(capsys, *argv))


@pytest.mark.thorough
def test_a_page_is_spelled_in_the_encoding_of_its_reader(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(TRACE)
    done = fluidkv("study", str(tmp_path / "t.csv"), *STUDY, env=os.environ | SETTINGS)
    assert (done.returncode, done.stderr) == (0, "")
    assert "1 \\xd7 input_tokens: not a number" in done.stdout


@pytest.mark.thorough
@pytest.mark.parametrize("width", ["0", "wide", "\u00b2"])
def test_a_width_that_is_none_is_left_aside(width: str) -> None:
    widths = dict.fromkeys(["COLUMNS", "LINES", "TERMINAL_WIDTH"], width)
    done = fluidkv("mix", "--help", env=os.environ | widths)
    assert (done.returncode, done.stderr) == (0, "")
    assert max(map(len, done.stdout.splitlines())) == 80
