"""Who works on the chunks: this process, or several; other machines have the same form.

An executor takes a job and the chunks that are left, and says of each what came of it, as they end.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from fluidkv.processes import shared_out
from fluidkv.sweeps.analysis import REFUSED, STATUS
from fluidkv.sweeps.planning import Plan, compute
from fluidkv.sweeps.store.chunks import Store, write


class Done(NamedTuple):
    """What came of a chunk: its number, its points, and how many of them have no answer."""

    chunk: int
    points: int
    refused: int


@dataclass(frozen=True)
class Job:
    """Compute a chunk and write it; it pickles, and may be done anywhere that sees the store."""

    plan: Plan
    store: Store

    def __call__(self, chunk: int) -> Done:
        arrays = compute(self.plan, chunk)
        write(self.store, self.plan, chunk, arrays)
        status = arrays[STATUS]
        return Done(chunk, status.size, int((status == REFUSED).sum()))


Executor = Callable[[Callable[[int], Done], Sequence[int]], Iterator[Done]]


def serial(job: Callable[[int], Done], chunks: Sequence[int]) -> Iterator[Done]:
    """One chunk after the other, in this process."""
    return (job(chunk) for chunk in chunks)


def processes(workers: int) -> Executor:
    """So many processes, each with a chunk at a time."""

    def share(job: Callable[[int], Done], chunks: Sequence[int]) -> Iterator[Done]:
        return (done for _, done in shared_out(job, chunks, workers, argument="workers"))

    return share
