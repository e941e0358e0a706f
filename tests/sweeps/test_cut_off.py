"""A sweep that is cut off, wherever, and started again ends with the same bytes."""

import errno
import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fluidkv.errors import InputError
from fluidkv.sweeps import open_sweep
from fluidkv.sweeps.planning import compute, plan
from fluidkv.sweeps.running import run
from fluidkv.sweeps.store.chunks import missing, write
from fluidkv.sweeps.store.folder import opened
from tests.sweeps.conftest import MAP, tree

ROOT = Path(__file__).parents[2]


def _killed(folder: Path, every: int) -> int:
    """How many kills there were, every so many operations on files."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.sweeps.killed", str(folder), str(every)],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return int(done.stdout.split()[0])


def test_killed_at_some_operations_on_files_it_ends_with_the_same_bytes(tmp_path: Path) -> None:
    assert _killed(tmp_path, 37) >= 4


@pytest.mark.thorough
def test_killed_at_each_operation_on_files_it_ends_with_the_same_bytes(tmp_path: Path) -> None:
    assert _killed(tmp_path, 1) >= 150


@pytest.mark.thorough
def test_killed_at_any_time_with_two_processes(tmp_path: Path, map_tree: dict[str, str]) -> None:
    """What it leaves behind may still be computing when it is started again at once."""
    spec = tmp_path / "spec.json"
    spec.write_text(json.dumps(MAP | {"chunk": 1}))
    code = (
        "import json, sys; from fluidkv.sweeps.planning import plan\n"
        "from fluidkv.sweeps.execution import processes\n"
        "from fluidkv.sweeps.running import run\n"
        "from pathlib import Path\n"
        "from fluidkv.sweeps import execution\n"
        "execution._START_S = 0\n"
        "if __name__ == '__main__':\n"
        "    asked = plan(json.loads(Path(sys.argv[1]).read_text()))\n"
        "    run(asked, Path(sys.argv[2]), processes(2))\n"
    )
    script = tmp_path / "run.py"
    script.write_text(code)
    run(plan(MAP | {"chunk": 1}), tmp_path / "whole")
    words = [sys.executable, str(script), str(spec), str(tmp_path / "cut")]
    began = time.monotonic()
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    subprocess.run([*words[:-1], str(tmp_path / "timed")], check=True, env=environment)
    takes = time.monotonic() - began
    draw = random.Random(0)
    for _ in range(8):
        working = subprocess.Popen(words, env=environment)
        time.sleep(draw.uniform(0.3, 1) * takes)
        working.send_signal(signal.SIGKILL)
        working.wait()
    subprocess.run(words, check=True, env=environment)
    time.sleep(0.5)  # whoever was left behind has ended
    assert tree(tmp_path / "cut") == tree(tmp_path / "whole")


@pytest.mark.parametrize("at", [1, 16, 20, 25, 30])
def test_a_full_disk_loses_the_chunk_and_nothing_else(
    at: int, tmp_path: Path, map_tree: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The write of some file fails: of the skeleton, of the first chunk, or of the second."""
    left, sync = at, os.fsync

    def full(descriptor: int) -> None:
        nonlocal left
        if Path(f"/proc/self/fd/{descriptor}").is_file():
            left -= 1
            if left == 0:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        sync(descriptor)

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(InputError, match=r"out: .*No space left on device"):
            run(plan(MAP), tmp_path / "map")
    assert left == 0
    run(plan(MAP), tmp_path / "map")
    assert tree(tmp_path / "map") == map_tree


def test_a_file_that_may_not_grow_is_a_full_disk(tmp_path: Path) -> None:
    """A limit of the system on the size of files stops the write in its middle."""
    asked = plan(MAP)
    arrays, before = compute(asked, 0), resource.getrlimit(resource.RLIMIT_FSIZE)

    def limited() -> None:
        with opened(tmp_path / "map", asked) as store:
            resource.setrlimit(resource.RLIMIT_FSIZE, (16, before[1]))
            try:
                write(store, asked, 0, arrays)
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, before)

    with pytest.raises(InputError, match=r"out: .*File too large"):
        limited()
    assert missing(tmp_path / "map", asked) == [0, 1]
    assert (open_sweep(tmp_path / "map").status == 0).all()


@pytest.mark.thorough
def test_a_disk_that_is_full_indeed(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    options = ["-t", "tmpfs", "-o", "size=96k", "none", str(disk)]
    if subprocess.run(["mount", *options], capture_output=True).returncode:
        pytest.skip("no file system can be mounted here")
    try:
        with pytest.raises(InputError, match="No space left on device"):
            run(plan(MAP), disk / "map")
        subprocess.run(["mount", "-o", "remount,size=4m", str(disk)], check=True)
        run(plan(MAP), disk / "map")
        run(plan(MAP), tmp_path / "whole")
        assert tree(disk / "map") == tree(tmp_path / "whole")
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_two_sweeps_do_not_fill_one_store(tmp_path: Path, map_tree: dict[str, str]) -> None:
    asked = plan(MAP)
    with opened(tmp_path / "map", asked) as store:
        write(store, asked, 0, compute(asked, 0))
        with pytest.raises(InputError, match="that no other sweep is filling now"):
            run(asked, tmp_path / "map")
        write(store, asked, 1, compute(asked, 1))
    assert tree(tmp_path / "map") == map_tree
