"""What long work says of itself: on standard error alone, whatever standard output is."""

import os
import pty
import subprocess
import sys
import time

import pytest

from fluidkv.cli import progress
from fluidkv.cli.progress import Progress

_WORK = """
import time
from fluidkv.cli.progress import progress
with progress("counting [/x]") as line:
    time.sleep(0.8)
    line.show("counted")
    time.sleep(0.8)
    with line.aside():
        print("answer")
"""


@pytest.fixture
def _soon(monkeypatch):
    monkeypatch.setattr(progress, "FIRST_S", 0.05)
    monkeypatch.setattr(progress, "EVERY_S", 0.2)


@pytest.mark.usefixtures("_soon")
def test_elsewhere_a_line_comes_late_and_then_seldom(capsys):
    with progress.progress("counting") as line:
        time.sleep(0.15)
        line.show("counted")
        time.sleep(0.3)
    first, second, *_ = capsys.readouterr().err.splitlines()
    assert first == "fluidkv: counting: 0 s"
    assert second == "fluidkv: counted: 0 s"


def test_short_work_says_nothing(capsys):
    with progress.progress("counting"):
        pass
    assert capsys.readouterr().err == ""


@pytest.mark.usefixtures("_soon")
def test_it_ends_with_what_it_is_about(capsys):
    with pytest.raises(ValueError, match="bad"), progress.progress("counting"):
        raise ValueError("bad")
    time.sleep(0.1)
    assert capsys.readouterr().err == ""


@pytest.mark.usefixtures("_soon")
def test_nobody_to_tell_is_no_error(monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    with progress.progress("counting"):
        time.sleep(0.1)


@pytest.mark.skipif(os.name != "posix", reason="terminals")
def test_a_terminal_gets_a_live_line_also_where_the_answer_is_piped():
    ours, theirs = pty.openpty()
    environment = os.environ | {"TERM": "xterm"}
    done = subprocess.run(
        [sys.executable, "-c", _WORK],
        stdout=subprocess.PIPE,
        stderr=theirs,
        text=True,
        check=True,
        env=environment,
    )
    os.close(theirs)
    shown = os.read(ours, 10_000).decode()
    os.close(ours)
    assert done.stdout == "answer\n"
    assert "counting [/x]: " in shown
    assert "counted: " in shown
    assert "(Ctrl-C stops)" in shown
    assert shown.endswith("\r\x1b[2K")


def test_a_terminal_without_cursor_gets_plain_lines(monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "dumb")
    assert not Progress("counting")._live
