"""Who works on the chunks: this process, or several; other machines have the same form.

An executor takes a job and the chunks that are left, and says of each what came of it, as they end.
"""

import time
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
    """Compute a chunk and write it; it pickles, and may be done anywhere that sees the store.

    Examples:
        >>> from fluidkv.sweeps.execution import Job
        >>> from fluidkv.sweeps.store.folder import opened
        >>> from fluidkv.sweeps.planning import plan
        >>> asked = {"analysis": "stability", "settings": {"decode_length": [2, 3], "capacity": 8}}
        >>> asked |= {"grid": {"input_length": [1, 4, 8]}, "chunk": 2}
        >>> from pathlib import Path
        >>> with opened(Path("store"), plan(asked)) as store:
        ...     Job(plan(asked), store)(1)
        Done(chunk=1, points=1, refused=1)

        That point has an input as long as the memory, and no answer.
    """

    plan: Plan
    store: Store

    def __call__(self, chunk: int) -> Done:
        arrays = compute(self.plan, chunk)
        write(self.store, self.plan, chunk, arrays)
        status = arrays[STATUS.name]
        return Done(chunk, status.size, int((status == REFUSED).sum()))


Executor = Callable[[Callable[[int], Done], Sequence[int]], Iterator[Done]]
"""Takes a job and the chunks that are left, and says of each what came of it, as they end."""


def serial(job: Callable[[int], Done], chunks: Sequence[int]) -> Iterator[Done]:
    """One chunk after the other, in this process.

    Examples:
        >>> from fluidkv.sweeps.execution import Done, serial
        >>> list(serial(lambda chunk: Done(chunk, 2, 0), [0, 5]))
        [Done(chunk=0, points=2, refused=0), Done(chunk=5, points=2, refused=0)]
    """
    return (job(chunk) for chunk in chunks)


_START_S = 2.0
"""What a process takes before its first chunk: it loads Python, NumPy, Numba and the analysis."""


def processes(workers: int) -> Executor:
    """So many processes, each with a chunk at a time; they start only where that saves time.

    This one begins by itself. The others start once what is left, at the pace of the chunks so far,
    takes longer here than they need to load.
    """

    def share(job: Callable[[int], Done], chunks: Sequence[int]) -> Iterator[Done]:
        took: list[float] = []
        for place, chunk in enumerate(chunks):
            left = len(chunks) - place
            if _pays(took, left - left / workers):
                others = shared_out(job, chunks[place:], workers, argument="workers")
                yield from (done for _, done in others)
                return
            began = time.monotonic()
            done = job(chunk)
            took.append(time.monotonic() - began)
            yield done

    return share


def _pays(took: Sequence[float], spared: float) -> bool:
    """Whether to start processes that would spare this one so many chunks.

    Args:
        took: seconds of each chunk so far. The first one also loaded what it needs, which says
            nothing of the others unless it took much longer than that.
    """
    if len(took) < 2 and sum(took) <= 2 * _START_S:
        return False
    later = took[1:] or took
    return spared * sum(later) / len(later) > _START_S
