"""Run a sweep: from a spec to a store, chunk by chunk, whatever has been done before."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fluidkv.errors import InputError
from fluidkv.processes import cores
from fluidkv.questions.kinds import Whole
from fluidkv.sweeps.cluster import connected
from fluidkv.sweeps.execution import Executor, Job, processes, serial
from fluidkv.sweeps.planning import Plan, check_some, plan
from fluidkv.sweeps.spec.spec import Spec
from fluidkv.sweeps.store.chunks import missing
from fluidkv.sweeps.store.folder import check_readable, opened

if TYPE_CHECKING:
    import xarray as xr

MOST_WORKERS = 1024
Progress = Callable[[int, int], None]
"""Told of points that are done, and of all."""


@dataclass(frozen=True)
class Ran:
    """What a run of a sweep did.

    Fields:
        plan: of the whole sweep.
        store: where it is.
        before: points that had been computed before it began.
        computed: points that it has computed.
        refused: of these, points that have no answer.
        seconds: that it took.
    """

    plan: Plan
    store: Path
    before: int
    computed: int
    refused: int
    seconds: float


def run(
    plan: Plan,
    store: Path,
    executor: Executor = serial,
    *,
    on_progress: Progress | None = None,
) -> Ran:
    """Compute what is missing in a store, which is made if it is not there.

    Args:
        executor: who works on the chunks.
        on_progress: told after each chunk.

    Raises:
        InputError: a store of another sweep or version, one that another sweep is filling, a folder
            that takes no files, a full disk. What has been written stays, and running again goes
            on from there.

    Examples:
        >>> from pathlib import Path
        >>> from fluidkv.sweeps.planning import plan
        >>> from fluidkv.sweeps.running import run
        >>> asked = {"analysis": "stability", "settings": {"decode_length": [2, 3], "capacity": 8}}
        >>> asked |= {"grid": {"input_length": [1, 4, 8]}, "chunk": 2}
        >>> run(plan(asked), Path("store")).computed, run(plan(asked), Path("store")).computed
        (3, 0)
    """
    began = time.monotonic()
    if not store.exists():
        check_some(plan)
    with opened(store, plan) as held:
        left = missing(held, plan)
        before = plan.points - sum(plan.size(chunk) for chunk in left)
        computed = refused = 0
        if on_progress is not None:
            on_progress(before, plan.points)
        for done in executor(Job(plan, held), left):
            computed += done.points
            refused += done.refused
            if on_progress is not None:
                on_progress(before + computed, plan.points)
    return Ran(plan, store, before, computed, refused, time.monotonic() - began)


def sweep(
    spec: Mapping[str, Any] | Path | str | Spec,
    out: Path | str,
    *,
    workers: int | None = None,
    scheduler: str | None = None,
    on_progress: Progress | None = None,
) -> "xr.Dataset":
    """Run an analysis over a grid, a list or a sample of settings, into a Zarr store.

    A sweep that was cut off goes on where it was when it is called again; one that is complete is
    opened.

    Args:
        spec: a TOML file, by its path, or a mapping with the same keys; see the page on sweeps.
        out: the folder of the store; a new one, or that of the same sweep.
        workers: processes, at most: they start where that saves time. None: as many as there are
            cores, or one where the analysis keeps them all busy by itself.
        scheduler: address of a Dask scheduler, whose workers compute and write the chunks; not
            together with `workers`.
        on_progress: told of the points that are done and of all, after each chunk.

    Returns:
        The dataset, read from the store as it is used: a dimension for each axis of the grid, `row`
        for a list, `sample` for a sample. `status` says where there is no answer. Attributes: the
        spec, its digest, versions, seed.

    Raises:
        InputError: a spec or a store that is refused; a full disk; a scheduler or a worker of it
            that is refused, as `connected` has it.

    Examples:
        >>> asked = {"analysis": "stability", "settings": {"decode_length": [2, 3], "capacity": 8}}
        >>> asked |= {"grid": {"input_length": [1, 4, 8]}, "chunk": 2}
        >>> found = fk.sweep(asked, "store", workers=1)
        >>> found.status.values.tolist(), found.in_flight.values.round(2).tolist()
        ([1, 1, 2], [2.86, 1.38, nan])
    """
    if not isinstance(out, Path | str) or "\0" in str(out):
        raise InputError("out", out, "the path of a folder")
    asked = plan(spec)
    with executor_of(asked, workers, scheduler) as executor:
        run(asked, Path(out), executor, on_progress=on_progress)
    return open_sweep(out)


def open_sweep(store: Path | str) -> "xr.Dataset":
    """The dataset of a store, complete or not, read as it is used.

    Raises:
        InputError: not the store of a sweep; metadata or coordinates that are lost or damaged.

    Examples:
        >>> from fluidkv.sweeps import open_sweep
        >>> asked = {"analysis": "stability", "settings": {"decode_length": [2, 3], "capacity": 8}}
        >>> asked |= {"grid": {"input_length": [1, 4, 8]}, "chunk": 2}
        >>> made = fk.sweep(asked, "store", workers=1)
        >>> open_sweep("store").equals(made)
        True
    """
    import xarray as xr

    check_readable(Path(store))
    return xr.open_zarr(store, chunks=None)


@contextmanager
def executor_of(
    asked: Plan, workers: int | None = None, scheduler: str | None = None
) -> Iterator[Executor]:
    """This process, that many, or the workers of a scheduler, for as long as the block takes.

    Raises:
        InputError: a number of processes that is none, or beside a scheduler; what `connected`
            refuses.
    """
    if scheduler is not None:
        if workers is not None:
            raise InputError("workers", workers, "none beside a scheduler: its workers compute")
        with connected(scheduler) as executor:
            yield executor
        return
    if workers is None:
        workers = 1 if asked.spec.analysis.alone else cores()
    number = Whole(1, MOST_WORKERS).read("workers", workers)
    yield serial if number == 1 else processes(number)
