"""Work shared out over fresh processes: they end with this one, and none outlives its caller."""

import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from itertools import islice
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar, cast

from fluidkv.errors import InputError
from fluidkv.files import undisturbed

Job = TypeVar("Job")
Found = TypeVar("Found")
_ENDING_S = 5  # until a process has ended that has closed its pipe


def cores() -> int:
    """That this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def free_memory() -> int | None:
    """Bytes that this machine could still give to a process; None where nobody says."""
    with suppress(OSError, ValueError):
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    with suppress(AttributeError, ValueError, OSError):  # all that there is
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return None


def shared_out(
    function: Callable[[Job], Found], jobs: Sequence[Job], workers: int, *, argument: str
) -> Iterator[tuple[int, Found]]:
    """The place of each job and what the function finds of it, as they come.

    Args:
        function: with what it takes and finds, something that another process can be sent.
        jobs: handed out in their order.
        workers: processes, each with a job at a time; with 1, or a single job, this process works.
        argument: what the caller's user calls `workers`.

    Raises:
        InputError: a process was ended from outside; it could not run the script that defines what
            it is sent.
        Exception: what the function raises.
    """
    workers = min(workers, len(jobs))
    if workers <= 1:
        yield from ((place, function(job)) for place, job in enumerate(jobs))
        return
    spawn, todo = get_context("spawn"), enumerate(jobs)  # fresh ones: the caller may run threads
    of_script = b"__main__" in bytes(ForkingPickler.dumps((function, jobs)))
    open_ends: list[Any] = []
    processes = []
    try:
        for job in islice(todo, workers):
            ours, theirs = spawn.Pipe()
            process = spawn.Process(target=_work, args=(function, theirs), daemon=True)
            script = nullcontext() if of_script else _no_script()
            with undisturbed(), _no_interrupts(), script:  # one half begun says so when this ends
                process.start()
            processes.append(process)
            theirs.close()
            ours.send(job)
            open_ends.append(ours)
        while open_ends:
            for end in cast(list[Connection], wait(open_ends)):
                place, found, error = end.recv()
                if error is not None:
                    raise error
                yield place, found
                for job in islice(todo, 1):
                    end.send(job)
                    break
                else:
                    open_ends.remove(end)
    except (EOFError, ConnectionError):
        for process in processes:
            process.join(_ENDING_S)
        allowed = "fewer: a process was ended from outside, as happens where memory runs out"
        if of_script and any((process.exitcode or 0) > 0 for process in processes):
            allowed = (
                "1 for what a script defines, unless it works under if __name__ == '__main__':"
            )
        raise InputError(argument, workers, allowed) from None
    finally:
        for process in processes:
            process.kill()
            process.join()


def _work(function: Callable[[Any], Any], end: Connection) -> None:
    """Job by job, until who asks is gone."""
    with suppress(EOFError, ConnectionError):
        while True:
            place, job = end.recv()
            found, failed = None, None
            try:
                found = function(job)
            except Exception as error:  # for who asked to raise
                failed = error
            end.send((place, found, failed))


@contextmanager
def _no_script() -> Iterator[None]:
    """A process begun here does not run the user's script again, as it would to find its names."""
    script = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = script


@contextmanager
def _no_interrupts() -> Iterator[None]:
    """Ctrl-C reaches all processes of a terminal; those begun here never see it: the first one
    ends them.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    from multiprocessing import resource_tracker

    # The first start of a process starts Python's tracker of resources, which lets signals in.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
