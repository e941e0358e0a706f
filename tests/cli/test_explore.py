"""`fluidkv explore`: what it writes and serves, and one line for what it does not."""

import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import urllib.request

import pytest

from fluidkv.cli import main
from fluidkv.exact.linear_stability import stability
from fluidkv.explore.loads import state_of
from fluidkv.explore.presets import NAMED, PRESETS, WITHOUT
from fluidkv.explore.server import HOST, next_free
from fluidkv.explore.state import Lengths, PageState
from fluidkv.traces.presets import preset_names
from tests.processes import command_line, fluidkv


def said(capsys, *argv: str) -> str:
    """The one line that bad input gets."""
    assert main(["explore", *argv]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    return captured.err


def test_the_page_is_written_with_its_state(tmp_path):
    path = tmp_path / "page.html"
    assert main(["explore", "--preset", "figure-16b", "--out", str(path)]) == 0
    text = path.read_text(encoding="utf-8")
    link = NAMED["figure-16b"].state.link
    assert f'"opens": "{link}"' in text
    assert main(["explore", "--out", str(path)]) == 0  # over its own page
    assert f'"opens": "{link}"' not in path.read_text(encoding="utf-8")


def test_a_system_of_the_users_is_what_it_opens_with(tmp_path, capsys):
    path = tmp_path / "page.html"
    system = "--class 50:3:1/3 --class 50:8:2/3 --capacity 2k"
    assert main(["explore", *shlex.split(system), "--out", str(path)]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[0] == path.as_uri()
    text = path.read_text(encoding="utf-8")
    state = PageState(Lengths((50,), ((3, 1), (8, 2))), 2000)
    assert f'"opens": "{state.link}"' in text
    assert f'"{state.key}": {{"verdict": "{stability(state.system()).verdict}"' in text


def opened_with(path) -> str:
    """The link that a page opens with."""
    (link,) = re.findall('"opens": "([^"]*)"', path.read_text(encoding="utf-8"))
    return link


def test_it_opens_on_the_load_of_an_operator(tmp_path, capsys):
    path = tmp_path / "page.html"
    assert main(["explore", "--out", str(path)]) == 0
    assert opened_with(path) == state_of("sharegpt").link
    assert main(["explore", "--preset", "alpaca", "--capacity", "9k", "--out", str(path)]) == 0
    assert opened_with(path) == "load=alpaca&kv=9000&start=over:25&n=200"


def test_a_trace_is_read_as_study_reads_it(tmp_path, capsys):
    trace, path = tmp_path / "log.csv", tmp_path / "page.html"
    trace.write_text("input_tokens,output_tokens\n50,3\n50,3\n80,2000\n", encoding="utf-8")
    words = ["explore", str(trace), "--scale-input", "2", "--capacity", "9k", "--out", str(path)]
    assert main(words) == 0
    assert opened_with(path) == "load=yours&kv=9000&start=over:25&n=200"
    (loads,) = re.findall('"yours": ({.*?})', path.read_text(encoding="utf-8"))
    assert json.loads(loads) == {
        "words": f"{trace} --scale-input 2",
        "classes": [[100, 3, 2], [160, 2000, 1]],
    }


def test_the_capacity_of_a_log_is_taken_from_it(tmp_path, capsys):
    path = tmp_path / "page.html"
    assert main(["explore", "sample:vllm-rtx4090", "--out", str(path)]) == 0
    assert opened_with(path).startswith("load=yours&kv=41408&")


def test_more_classes_than_there_are_sliders_are_a_load(tmp_path, capsys):
    path = tmp_path / "page.html"
    classes = [word for n in range(1, 7) for word in ("--class", f"5:{n}:1/6")]
    assert main(["explore", *classes, "--capacity", "9k", "--out", str(path)]) == 0
    assert opened_with(path) == "load=yours&kv=9000&start=over:25&n=200"


def test_the_list_has_every_preset_and_every_reason(capsys):
    assert main(["explore", "--list"]) == 0
    shown = capsys.readouterr().out
    named = [*preset_names(), *(each.name for each in PRESETS)]
    assert [name for name in named if f"{name} " not in shown] == []
    assert [number for number in WITHOUT if f"Figure {number} " not in shown] == []


@pytest.mark.parametrize("name", ["", "none/page.html", "page.txt", "mine.html"])
def test_a_file_that_is_not_ours_to_write_is_refused(name, tmp_path, capsys):
    mine = tmp_path / "mine.html"
    mine.write_text("mine", encoding="utf-8")
    line = said(capsys, "--out", str(tmp_path / name))
    assert line.startswith("fluidkv: --out: got '")
    assert mine.read_text(encoding="utf-8") == "mine"
    assert [path.name for path in tmp_path.iterdir()] == ["mine.html"]


def test_a_port_in_use_names_the_next_free_one(capsys):
    with socket.socket() as taken:
        taken.bind((HOST, 0))
        taken.listen()
        port = taken.getsockname()[1]
        line = said(capsys, "--port", str(port))
        assert (
            f"--port: got {port}; allowed: a port that is free, such as {next_free(port)}" in line
        )


@pytest.mark.parametrize("where", [{"PATH": "", "DISPLAY": ""}, {"BROWSER": "no-such-browser"}])
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a system has a browser")
def test_a_missing_browser_is_said_with_how_to_get_one(where, tmp_path):
    """In a process of its own: Python looks for browsers once."""
    out = tmp_path / "page.html"
    environment = os.environ | {"BROWSER": ""} | where
    done = fluidkv("explore", "--open", "--out", str(out), env=environment)
    assert done.returncode == 2
    assert done.stderr.startswith("fluidkv: --open: got 'no")
    assert "install firefox or chromium" in done.stderr
    assert done.stderr.count("\n") == 1
    assert not out.exists()


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_it_serves_until_ctrl_c_which_is_one_line():
    with socket.socket() as free:
        free.bind((HOST, 0))
        port = free.getsockname()[1]
    with subprocess.Popen(
        command_line("explore", "--port", str(port)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as serving:
        assert serving.stdout is not None
        try:
            assert serving.stdout.readline() == f"http://{HOST}:{port}/\n"
            with urllib.request.urlopen(f"http://{HOST}:{port}/") as answer:
                assert b"What does a full KV cache do?" in answer.read()
            serving.send_signal(signal.SIGINT)
            _, error = serving.communicate()
        finally:
            serving.kill()
    assert serving.returncode == 130
    assert error == "fluidkv: interrupted; nothing was left half-written\n"
    with socket.socket() as again:
        again.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        again.bind((HOST, port))
