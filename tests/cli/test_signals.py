"""A signal ends any command at once, with one line, and leaves nothing half-written."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import children_hear_signals
from tests.processes import SILENT, python

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals")

SAID = {
    signal.SIGINT: (130, "fluidkv: interrupted; nothing was left half-written\n"),
    signal.SIGTERM: (143, "fluidkv: terminated; nothing was left half-written\n"),
    signal.SIGHUP: (129, "fluidkv: hung up; nothing was left half-written\n"),
}

_MAIN = f"""
{SILENT}import os, signal, sys, time
given = sys.argv[1:]
def stop(number=signal.SIGINT): os.kill(os.getpid(), number)
def run(*argv):
    sys.argv = ["fluidkv", *argv]
    from fluidkv.cli import main
    sys.exit(main())
"""
_IMPORTING = """
class Stop:
    def find_spec(self, name, *_):
        if name == given[0]:
            stop()
sys.meta_path.insert(0, Stop())
run("study", "--class", "5:3", "--capacity", "100")
"""
_WRITING = """
import importlib
render = importlib.import_module("fluidkv.figures.render")
render.draw = lambda *_: b""
render._manifest = lambda _: stop(int(given[1])) or time.sleep(60)
run("figure", "congestion_figure_2", "--out", given[0])
"""
_SWALLOWING = """
import fluidkv.answers.study.study
def swallow(*_, **__):
    print("running", flush=True)
    while True:
        try:
            time.sleep(60)
        except BaseException:
            pass
fluidkv.answers.study.study.study_system = swallow
run("study", "--class", "5:3", "--capacity", "100", "--out", "new")
"""
_COMPILED = """
import fluidkv.answers.study.study, jax
def endless(*_, **__):
    print("running", flush=True)
    loop = jax.jit(lambda: jax.lax.while_loop(lambda i: i >= 0, lambda i: i // 2, 1))
    jax.block_until_ready(loop())
fluidkv.answers.study.study.study_system = endless
run("study", "--class", "5:3", "--capacity", "100", "--out", "new")
"""
_SHARING = """
from multiprocessing import util
spawn = util.spawnv_passfds
def spawned(*words):
    begun = spawn(*words)
    if "spawn_main" in str(words):
        print("running", flush=True)
        time.sleep(0.5)  # the signal comes before the process is told what it is for, or later
    return begun
util.spawnv_passfds = spawned
run(*given)
"""


def ended(code: str, *arguments: str) -> tuple[int, str, str]:
    done = python(_MAIN + code, *arguments)
    return done.returncode, done.stdout, done.stderr


def stopped(folder: Path, code: str, *arguments: str, whole_group: bool = False) -> tuple[int, str]:
    """How code ends, and what it says, that hears Ctrl-C once it prints that it is running."""
    with subprocess.Popen(
        [sys.executable, "-c", _MAIN + code, *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as run:
        assert run.stdout is not None
        assert run.stdout.readline() == "running\n"
        (os.killpg if whole_group else os.kill)(run.pid, signal.SIGINT)
        out, said = run.communicate()  # the pipes close when all processes are gone
    assert set(out.splitlines()) <= {"running"}
    return run.returncode, said


@pytest.mark.parametrize("module", ["fluidkv.cli.app", "jax"])
def test_ctrl_c_while_importing_is_one_line(module: str) -> None:
    code, _, said = ended(_IMPORTING, module)
    assert (code, said) == SAID[signal.SIGINT]


@pytest.mark.daily(1)
@pytest.mark.parametrize("number", SAID)
def test_a_signal_while_files_are_written_leaves_none(
    tmp_path: Path, number: signal.Signals
) -> None:
    code, out, said = ended(_WRITING, str(tmp_path / "new" / "out"), str(int(number)))
    assert (code, said) == SAID[number]
    assert out == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.daily(1)
@pytest.mark.parametrize("code", [_SWALLOWING, _COMPILED], ids=["swallowed", "compiled"])
def test_ctrl_c_ends_what_would_not_hear_it(tmp_path: Path, code: str) -> None:
    assert stopped(tmp_path, code) == SAID[signal.SIGINT]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "argv", [["atlas", "--out", ".", "--workers", "2"], ["verify", "--jobs", "2"]]
)
def test_the_processes_of_a_command_end_with_it(tmp_path: Path, argv: list[str]) -> None:
    """A terminal sends Ctrl-C to all of them."""
    assert stopped(tmp_path, _SHARING, *argv, whole_group=True) == SAID[signal.SIGINT]
    assert list(tmp_path.iterdir()) == []


def test_a_signal_that_is_ignored_stays_so() -> None:
    ignored = "signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
    taken = "from fluidkv.cli.signals import end_at_once\nend_at_once()\n"
    assert ended(f"{ignored}{taken}stop(signal.SIGHUP)\nsys.exit(7)")[0] == 7
    assert ended(f"{taken}stop(signal.SIGHUP)\nsys.exit(7)")[0] == 129


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_whoever_starts_the_tests_their_children_hear_signals(number: signal.Signals) -> None:
    """A script that runs them in the background has them ignore Ctrl-C, and `nohup` a hangup."""
    before = signal.signal(number, signal.SIG_IGN)
    try:
        children_hear_signals()
        assert ended(f"stop({number})")[0] == -number
    finally:
        signal.signal(number, before)
