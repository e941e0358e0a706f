"""Chunks handed out to the workers of a Dask cluster, which compute and write them.

The scheduler is Dask's, and so are retries, what happens to the chunks of a worker that is gone,
and the dashboard. Workers see the folder of the store under the same path, and have the versions
of this process: one that has not is refused by name, when the sweep begins or when it joins later.
A chunk that two workers compute at once is written twice, with the same bytes.
"""

import json
import logging
import platform
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import islice
from pathlib import Path
from typing import Any
from uuid import uuid4

from fluidkv.errors import InputError
from fluidkv.sweeps.computed_by import LIBRARIES, differing, versions
from fluidkv.sweeps.execution import Done, Executor, Job
from fluidkv.sweeps.planning import Plan, plan
from fluidkv.sweeps.store.chunks import Store
from fluidkv.sweeps.store.folder import attributes_of

SCHEDULER = "scheduler"
_AHEAD = 4096  # chunks that the scheduler knows of; it slows down with hundreds of thousands
_RETRIES = 2  # of a chunk that failed, as on a disk that was away; a worker's death is not counted
_ANSWER_S = 10  # of patience with a scheduler, unless Dask is told to have less
_ADDRESS = "the address of a Dask scheduler that answers, such as tcp://10.0.0.1:8786"


@contextmanager
def connected(address: str) -> Iterator[Executor]:
    """Who works on chunks, for as long as the block takes: all workers of a scheduler.

    Args:
        address: of a scheduler, as in "tcp://10.0.0.1:8786".

    Raises:
        InputError: no package `distributed`; no scheduler that answers; a worker that has other
            versions or does not see the store; a scheduler that goes away; a chunk that ended
            several workers.

    Examples:
        >>> from fluidkv.sweeps.cluster import connected
        >>> with connected("10.0.0.1:port") as executor:
        ...     pass
        Traceback (most recent call last):
        ...
        fluidkv.errors.InputError: scheduler: got '10.0.0.1:port'; allowed: the address of a ...
    """
    _checked(address)
    with _no_logs():
        client = _client(address)
        try:
            check_versions(client, address)
            yield partial(_hand_out, client, address)
        finally:
            client.close()


@dataclass(frozen=True)
class Refused:
    """Why a worker did not compute a chunk."""

    allowed: str


@dataclass(frozen=True)
class Task:
    """A job as workers get it: small, as the spec is read from the store that they all see.

    Fields:
        store: with absolute paths.
        digest: of the spec.
        versions: of the process that hands it out.
    """

    store: Store
    digest: str
    versions: dict[str, str]

    def __call__(self, chunk: int) -> Done | Refused:
        from distributed import get_worker

        differ = differing(here(), self.versions)
        if differ:
            return Refused(_other_versions(get_worker().address, differ))
        if not self.store.parts.is_dir():
            return Refused(f"workers that see {self.store.path}; {get_worker().address} does not")
        return Job(_stored_plan(self.store.path, self.digest), self.store)(chunk)


def task_of(job: Job) -> Task:
    """That of a job, to be done by any worker with the versions of this process."""
    store = Store(job.store.path.absolute(), job.store.parts.absolute())
    return Task(store, job.plan.spec.digest, here())


@lru_cache(maxsize=8)
def _stored_plan(store: Path, digest: str) -> Plan:
    """The plan that a store is filled by, read once a process."""
    return plan(json.loads(attributes_of(store)["spec"]))


def here() -> dict[str, str]:
    """The versions of this process, Python's among them."""
    return {"python": _feature(platform.python_version()), **versions()}


def _checked(address: Any) -> None:
    try:
        from distributed.comm.addressing import get_address_host_port
    except ImportError:
        allowed = 'nothing without the package distributed; pip install "fluidkv[cluster]"'
        raise InputError(SCHEDULER, address, allowed) from None
    try:
        get_address_host_port(address)
    except (ValueError, TypeError):
        raise InputError(SCHEDULER, address, _ADDRESS) from None


def _client(address: str) -> Any:
    from dask.config import get
    from dask.utils import parse_timedelta
    from distributed import Client

    answer_s = min(_ANSWER_S, parse_timedelta(get("distributed.comm.timeouts.connect")))
    try:
        return Client(address, timeout=answer_s, set_as_default=False, name="fluidkv")
    except Exception:  # nobody is there, or somebody who speaks of something else
        raise InputError(SCHEDULER, address, _ADDRESS) from None


@contextmanager
def _no_logs() -> Iterator[None]:
    """Dask logs a scheduler that is gone with the stack of each try; here it is one line."""
    names = [name for name in logging.root.manager.loggerDict if name.startswith("distributed")]
    loggers = [logging.getLogger(name) for name in ("distributed", *names)]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)


def _hand_out(
    client: Any, address: str, job: Callable[[int], Done], chunks: Sequence[int]
) -> Iterator[Done]:
    """Chunks in their order, a number of them at a time; what came of each, as they end."""
    from distributed import as_completed

    assert isinstance(job, Job)
    task, name = task_of(job), f"{job.plan.spec.analysis.name}-{uuid4().hex}"
    left = iter(chunks)

    def submitted(most: int) -> list[Any]:
        # the key is new in each run: what an earlier one left with the scheduler is not taken up
        return [
            client.submit(task, chunk, key=(name, chunk), retries=_RETRIES)
            for chunk in islice(left, most)
        ]

    pending = as_completed(submitted(_AHEAD), loop=client.loop)
    for future in pending:
        found = found_of(client, address, future)
        future.release()
        for more in submitted(1):
            pending.add(more)
        yield found


def found_of(client: Any, address: str, future: Any) -> Done:
    from distributed import KilledWorker
    from distributed.client import FutureCancelledError

    try:
        found = future.result()
    except FutureCancelledError:
        allowed = "a scheduler that stays; whole chunks are kept, run it again"
        raise InputError(SCHEDULER, address, allowed) from None
    except KilledWorker as error:
        chunk, last = future.key[1], error.last_worker.address
        allowed = f"workers that last; chunk {chunk} ended several, of them {last}: its memory?"
        raise InputError(SCHEDULER, address, allowed) from None
    except Exception:  # whatever it is: it may come of a version that cannot read the task
        check_versions(client, address)
        raise
    if isinstance(found, Refused):
        raise InputError(SCHEDULER, address, found.allowed)
    return found


def check_versions(client: Any, address: str) -> None:
    found = client.get_versions(packages=["fluidkv", *LIBRARIES])
    mine = _listed(found["client"])
    for worker, its in sorted(found["workers"].items()):
        differ = differing(_listed(its), mine)
        if differ:
            raise InputError(SCHEDULER, address, _other_versions(worker, differ))


def _listed(said: dict[str, Any]) -> dict[str, str]:
    """What matters of what Dask says of a process."""
    packages = said["packages"]
    kept = {name: packages.get(name) or "none" for name in ("fluidkv", *LIBRARIES)}
    return {"python": _feature(said["host"]["python"]), **kept}


def _feature(version: str) -> str:
    """3.11 of 3.11.9: the rest changes no number."""
    return ".".join(version.split(".")[:2])


def _other_versions(worker: str, differ: list[str]) -> str:
    return f"workers of one version; {worker} has {', '.join(differ)} here"
