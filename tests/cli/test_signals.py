"""A signal ends any command at once, with one line, and leaves nothing half-written."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals")

SAID = {
    signal.SIGINT: (130, "fluidkv: interrupted; nothing was left half-written\n"),
    signal.SIGTERM: (143, "fluidkv: terminated; nothing was left half-written\n"),
    signal.SIGHUP: (129, "fluidkv: hung up; nothing was left half-written\n"),
}
# Two seconds are promised. A machine with other work may take as long again to start a thread.
PATIENCE_S = 4

_MAIN = """
import os, signal, sys, time
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
import fluidkv.answers.study
def swallow(*_, **__):
    print("running", flush=True)
    while True:
        try:
            time.sleep(60)
        except BaseException:
            pass
fluidkv.answers.study.study_system = swallow
run("study", "--class", "5:3", "--capacity", "100")
"""
_COMPILED = """
import fluidkv.answers.study, jax
def endless(*_, **__):
    print("running", flush=True)
    loop = jax.jit(lambda: jax.lax.while_loop(lambda i: i >= 0, lambda i: i // 2, 1))
    jax.block_until_ready(loop())
fluidkv.answers.study.study_system = endless
run("study", "--class", "5:3", "--capacity", "100")
"""


def ended(code: str, *arguments: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-c", _MAIN + code, *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("module", ["fluidkv.cli.app", "jax"])
def test_ctrl_c_while_importing_is_one_line(module: str) -> None:
    code, _, said = ended(_IMPORTING, module)
    assert (code, said) == SAID[signal.SIGINT]


@pytest.mark.parametrize("number", SAID)
def test_a_signal_while_files_are_written_leaves_none(
    tmp_path: Path, number: signal.Signals
) -> None:
    code, out, said = ended(_WRITING, str(tmp_path / "new" / "out"), str(int(number)))
    assert (code, said) == SAID[number]
    assert out == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("code", [_SWALLOWING, _COMPILED], ids=["swallowed", "compiled"])
def test_ctrl_c_ends_what_would_not_hear_it(code: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _MAIN + code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as run:
        assert run.stdout is not None
        assert run.stdout.readline() == "running\n"
        time.sleep(0.5)  # to be in the loop
        begun = time.monotonic()
        run.send_signal(signal.SIGINT)
        try:
            _, said = run.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            run.kill()
            raise
    assert time.monotonic() - begun < PATIENCE_S
    assert (run.returncode, said) == SAID[signal.SIGINT]


@pytest.mark.parametrize(
    "argv", [["atlas", "--out", ".", "--workers", "2"], ["verify", "--jobs", "2"]]
)
def test_the_processes_of_a_command_end_with_it(tmp_path: Path, argv: list[str]) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "fluidkv", *argv],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as run:
        time.sleep(2)  # in time or too early, it ends alike
        os.killpg(run.pid, signal.SIGINT)  # as a terminal does
        out, said = run.communicate(timeout=20)  # the pipes close when all processes are gone
    assert (run.returncode, said) == SAID[signal.SIGINT]
    assert out == ""
    assert list(tmp_path.iterdir()) == []


def test_a_signal_that_is_ignored_stays_so() -> None:
    ignored = "signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
    taken = "from fluidkv.cli.signals import end_at_once\nend_at_once()\n"
    assert ended(f"{ignored}{taken}stop(signal.SIGHUP)\nsys.exit(7)")[0] == 7
    assert ended(f"{taken}stop(signal.SIGHUP)\nsys.exit(7)")[0] == 129
