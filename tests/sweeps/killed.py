"""Kill a sweep at one file operation after the other, take it up again, and compare the stores.

A process of its own, which loads all that a sweep needs once and then forks: a child runs the sweep
and dies by SIGKILL as it is about to do its n-th operation, or with half of a file written; another
takes the store up again. `python -m tests.sweeps.killed FOLDER EVERY` prints how many kills there
were, and fails at the first store that differs.
"""

import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import numpy
import zarr
import zarr.storage

import fluidkv.exact.linear_stability
import fluidkv.sweeps.store.skeleton
from fluidkv.sweeps.planning import plan
from fluidkv.sweeps.running import run
from tests.sweeps.conftest import MAP, tree

_ = fluidkv.exact.linear_stability, fluidkv.sweeps.store.skeleton, numpy, zarr.storage
WATCHED = {"open", "os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.listdir", "os.scandir"}


class Killer:
    """Counts the operations on a folder, and ends the process before one of them."""

    def __init__(self, folder: Path, at: int) -> None:
        self.folder, self.left = str(folder), at
        sys.addaudithook(self.see)
        sync = os.fsync

        def half(descriptor: int) -> None:
            name = os.readlink(f"/proc/self/fd/{descriptor}")
            if name.startswith(self.folder) and os.path.isfile(name):
                if self.left == 1:  # a disk that has half of it
                    os.ftruncate(descriptor, os.fstat(descriptor).st_size // 2)
                self.count()
            sync(descriptor)

        os.fsync = half

    def see(self, event: str, arguments: tuple[object, ...]) -> None:
        if event in WATCHED and str(arguments[0]).startswith(self.folder):
            self.count()

    def count(self) -> None:
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)


def forked(work: Callable[[], object]) -> int:
    """The exit status of a child that does some work."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    return os.waitpid(child, 0)[1]


def main(folder: Path, every: int) -> None:
    asked = plan(MAP)
    assert forked(lambda: run(asked, folder / "whole")) == 0
    expected = tree(folder / "whole")
    kills, at = 0, 1
    while True:
        store = folder / "cut"

        def cut_off(at: int = at, store: Path = store) -> None:
            Killer(store, at)
            run(asked, store)

        status = forked(cut_off)
        if status == 0:  # it ran through before its n-th operation came
            break
        assert os.WIFSIGNALED(status), f"{at}: {status}"
        kills += 1
        assert forked(lambda store=store: run(asked, store)) == 0, f"{at}: not taken up again"
        found = tree(store)
        differ = [name for name in {**found, **expected} if found.get(name) != expected.get(name)]
        assert not differ, f"{at}: {differ}"
        shutil.rmtree(store)
        at += every
    print(kills, at)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
