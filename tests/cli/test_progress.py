"""What long work says of itself: on standard error alone, whatever standard output is."""

import os
import pty
import re
import subprocess
import sys
from collections.abc import Iterator
from queue import SimpleQueue

import pytest

from fluidkv.cli import progress
from fluidkv.cli.progress import Progress

_WORK = """
import sys
from fluidkv.cli.progress import progress
with progress("counting [/x]") as line:
    sys.stdin.readline()
    line.show("counted")
    sys.stdin.readline()
    with line.aside():
        print("answer")
"""


@pytest.fixture
def _soon(monkeypatch):
    monkeypatch.setattr(progress, "FIRST_S", 0.01)
    monkeypatch.setattr(progress, "EVERY_S", 0.01)


@pytest.fixture
def written(_soon, monkeypatch) -> Iterator[str]:
    """What is written, which is waited for."""
    lines: SimpleQueue[str] = SimpleQueue()
    monkeypatch.setattr(progress, "_write", lines.put)
    return iter(lines.get, None)


def test_elsewhere_a_line_comes_and_then_others(written):
    with progress.progress("counting") as line:
        assert re.fullmatch(r"fluidkv: counting: \d+ s\n", next(written))
        line.show("counted")
        assert any(re.fullmatch(r"fluidkv: counted: \d+ s\n", each) for each in written)


def test_short_work_says_nothing(capsys):
    with progress.progress("counting"):
        pass
    assert capsys.readouterr().err == ""


def test_it_ends_with_what_it_is_about():
    with pytest.raises(ValueError, match="bad"), progress.progress("counting") as line:
        raise ValueError("bad")
    assert not line._thread.is_alive()


@pytest.mark.usefixtures("_soon")
def test_nobody_to_tell_is_no_error(monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    with progress.progress("counting") as line:
        line._thread.join(0.1)  # time for some lines
        assert line._thread.is_alive()


@pytest.mark.skipif(os.name != "posix", reason="terminals")
def test_a_terminal_gets_a_live_line_also_where_the_answer_is_piped():
    ours, theirs = pty.openpty()
    shown = ""

    def until(line: str) -> str:
        text = shown
        while line not in text:
            text += os.read(ours, 10_000).decode()
        return text

    with subprocess.Popen(
        [sys.executable, "-c", _WORK],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=theirs,
        text=True,
        env=os.environ | {"TERM": "xterm"},
    ) as run:
        os.close(theirs)
        assert run.stdin is not None
        for line in ("counting [/x]: ", "counted: "):
            shown = until(line)
            run.stdin.write("\n")
            run.stdin.flush()
        answer, _ = run.communicate()
    shown += os.read(ours, 10_000).decode()
    os.close(ours)
    assert answer == "answer\n"
    assert "(Ctrl-C stops)" in shown
    assert shown.endswith("\r\x1b[2K")


def test_a_terminal_without_cursor_gets_plain_lines(monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "dumb")
    assert not Progress("counting")._live


def _at(monkeypatch, *seconds: float) -> None:
    """Let the clock say these, one after the other."""
    times = iter(seconds)
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(times))


@pytest.mark.parametrize(
    ("first", "done", "passed", "left"),
    [
        (0, 1, 3.0, "about 9 s left"),  # 3 of 4 to go, at 3 s each
        (2, 3, 40.0, "about 40 s left"),  # what was done before counting began took no time
        (0, 1, 100.0, "about 5 min left"),
        (0, 1, 3600.0, "about 3 h left"),
    ],
)
def test_time_left_follows_from_the_rate_so_far(monkeypatch, first, done, passed, left):
    _at(monkeypatch, 0.0, 10.0, 10.0 + passed)
    line = Progress("routing")
    line.count(first, 4, "runs")
    line.count(done, 4, "runs")
    assert line._said(10.0 + passed) == f"routing, {done} of 4 runs: {10 + passed:,.0f} s, {left}"


@pytest.mark.parametrize(("done", "passed"), [(0, 60.0), (1, 0.5), (4, 60.0)])
def test_nothing_is_guessed_without_a_rate_or_a_rest(monkeypatch, done, passed):
    _at(monkeypatch, 0.0, 0.0, passed)
    line = Progress("routing")
    line.count(0, 4)
    line.count(done, 4)
    assert line._said(passed) == f"routing, {done} of 4: {passed:,.0f} s"


def test_another_total_is_counted_from_its_own_beginning(monkeypatch):
    _at(monkeypatch, 0.0, 0.0, 100.0, 104.0)
    line = Progress("running")
    line.count(0, 1000)
    line.count(10, 20)  # finer settings after the coarse ones
    line.count(12, 20)
    assert line._said(104.0).endswith("about 20 s left")
    line.show("drawing")
    assert line._said(104.0) == "drawing: 104 s"
