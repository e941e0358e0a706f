"""Work shared out over processes: what comes back, and what goes wrong."""

from math import factorial
from multiprocessing import active_children

import pytest

from fluidkv import processes
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
