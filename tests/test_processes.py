"""Work shared out over processes: what comes back, and what goes wrong."""

import os
import subprocess
import sys
from math import factorial
from multiprocessing import active_children
from pathlib import Path

import pytest

from fluidkv import processes
from fluidkv.errors import InputError
from fluidkv.processes import shared_out


def test_each_job_is_found_once_at_its_place() -> None:
    found = dict(shared_out(factorial, [3, 4, 5], 2, argument="jobs"))
    assert found == {0: 6, 1: 24, 2: 120}
    assert not active_children()


@pytest.mark.parametrize("workers", [1, 2])
def test_what_a_job_raises_is_raised_here(workers: int) -> None:
    with pytest.raises(ValueError, match="negative"):
        list(shared_out(factorial, [3, -1], workers, argument="jobs"))
    assert not active_children()


def test_a_process_that_ends_itself_is_not_blamed_on_the_script() -> None:
    with pytest.raises(InputError, match="jobs: got 2; allowed: fewer"):
        list(shared_out(os._exit, [3, 3], 2, argument="jobs"))


def test_a_process_that_cannot_be_started_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    real = processes.get_context("spawn")

    class Full:
        Pipe = staticmethod(real.Pipe)

        class Process(real.Process):
            def start(self) -> None:
                raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(processes, "get_context", lambda _: Full)
    with pytest.raises(BlockingIOError):
        list(shared_out(factorial, [3, 4], 2, argument="jobs"))


def _script(tmp_path: Path, text: str) -> subprocess.CompletedProcess[str]:
    script = tmp_path / "script.py"
    script.write_text(
        "from math import factorial\nfrom fluidkv.processes import shared_out\n" + text
    )
    environment = os.environ | {"PYTHONPATH": str(Path(processes.__file__).parents[1])}
    words = [sys.executable, str(script)]
    return subprocess.run(words, env=environment, capture_output=True, text=True)


def test_a_plain_script_needs_no_main_guard(tmp_path: Path) -> None:
    done = _script(tmp_path, "print(sorted(shared_out(factorial, [3, 4, 5], 2, argument='n')))\n")
    assert (done.stdout, done.stderr) == ("[(0, 6), (1, 24), (2, 120)]\n", "")


def test_a_script_that_sends_what_it_defines_is_told_of_its_guard(tmp_path: Path) -> None:
    own = "def own(n):\n    return factorial(n)\n"
    work = "print(sorted(shared_out(own, [3, 4], 2, argument='n')))\n"
    done = _script(tmp_path, own + work)
    assert done.stderr.splitlines()[-1].endswith("unless it works under if __name__ == '__main__':")
    done = _script(tmp_path, own + f"if __name__ == '__main__':\n    {work}")
    assert (done.stdout, done.stderr) == ("[(0, 6), (1, 24)]\n", "")
