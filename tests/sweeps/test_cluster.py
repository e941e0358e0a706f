"""Sweeps on a Dask cluster: workers and clients that are killed, workers that are refused."""

import json
import os
import pickle
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from dask.config import set as dask_settings
from distributed import KilledWorker

import fluidkv as fk
from fluidkv.errors import InputError
from fluidkv.sweeps.cluster import Refused, check_versions, connected, found_of, here, task_of
from fluidkv.sweeps.execution import Job
from fluidkv.sweeps.planning import plan
from fluidkv.sweeps.running import run
from fluidkv.sweeps.store.chunks import missing
from fluidkv.sweeps.store.folder import opened
from tests.sweeps.conftest import MAP, tree

ROOT = Path(__file__).parents[2]
PATIENCE_S = 600

THRESHOLDS: dict[str, Any] = {
    "analysis": "threshold",
    "chunk": 2,
    "settings": {"decode_length": [20, 33]},
    "grid": {"share": [f"{k}/61" for k in range(1, 61)]},
}
"""30 chunks of some hundredths of a second each, and as long to write."""

# What makes a worker one of another version: Python runs it before anything else.
OTHER_VERSION = """
import importlib.metadata as installed

real = installed.version
installed.version = lambda name: "0.0.9" if name == "fluidkv" else real(name)
import fluidkv

fluidkv.__version__ = "0.0.9"
"""

CLIENT = """
import json, sys
import fluidkv as fk

fk.sweep(json.loads(sys.argv[1]), sys.argv[2], scheduler=sys.argv[3])
"""


class Cluster:
    """A scheduler on loopback and what else is started, each a process, all ended at last."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._said = folder, folder / "scheduler.json"
        self.processes: list[subprocess.Popen[bytes]] = []
        port = ("--host", "127.0.0.1", "--port", "0", "--no-dashboard")
        self.start("-m", "dask", "scheduler", *port, "--scheduler-file", str(self._said))

    @property
    def address(self) -> str:
        """As the scheduler says when it is there."""
        until(lambda: self._said.is_file() and self._said.read_text().endswith("}"))
        return json.loads(self._said.read_text())["address"]

    def worker(self, **environment: str) -> subprocess.Popen[bytes]:
        plain = ("--nthreads", "1", "--no-nanny", "--no-dashboard", "--host", "127.0.0.1")
        return self.start("-m", "dask", "worker", self.address, *plain, **environment)

    def client(self, spec: dict[str, Any], out: Path) -> subprocess.Popen[bytes]:
        return self.start("-c", CLIENT, json.dumps(spec), str(out), self.address)

    def start(self, *arguments: str, **environment: str) -> subprocess.Popen[bytes]:
        with (self.folder / "log").open("ab") as log:
            started = subprocess.Popen(
                [sys.executable, *arguments],
                env=os.environ | {"PYTHONPATH": str(ROOT)} | environment,
                cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            )  # fmt: skip
        self.processes.append(started)
        return started

    def close(self) -> None:
        for each in self.processes:
            each.kill()
            each.wait()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    with closing(Cluster(tmp_path)) as made:
        yield made


def until(there: Callable[[], bool]) -> None:
    """Wait, but not for ever."""
    end = time.monotonic() + PATIENCE_S
    while not there():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.thorough
def test_killed_workers_and_clients_leave_the_store_as_a_serial_run_does(
    cluster: Cluster, tmp_path: Path
) -> None:
    """SIGKILL to one of two workers, which is replaced; then to the client, started again."""
    asked, out = plan(THRESHOLDS), tmp_path / "store"
    workers = [cluster.worker(), cluster.worker()]
    client = cluster.client(THRESHOLDS, out)

    def written() -> int:
        there = (out / "zarr.json").is_file()
        return asked.chunks - len(missing(out, asked)) if there else 0

    until(lambda: written() >= 2)
    workers[0].kill()
    cluster.worker()
    until(lambda: written() >= 6)
    client.kill()
    client.wait()
    before = written()
    assert before < asked.chunks

    with connected(cluster.address) as executor:
        again = run(asked, out, executor)
    assert again.before >= 2 * before  # what a worker had begun may have been written meanwhile
    assert again.before + again.computed == asked.points
    run(asked, tmp_path / "serial")
    assert tree(out) == tree(tmp_path / "serial")


@pytest.mark.thorough
def test_a_worker_of_another_version_is_refused_by_name(cluster: Cluster, tmp_path: Path) -> None:
    """One that joins while a sweep is running; then, as it is there already, before it begins."""
    (tmp_path / "sitecustomize.py").write_text(OTHER_VERSION)
    cluster.worker()
    named = rf"tcp://127.0.0.1:\d+ has fluidkv 0.0.9 and {fk.__version__} here"
    spec = THRESHOLDS | {"grid": {"share": [f"{k}/2001" for k in range(1, 2001)]}}

    def join(done: int, of: int) -> None:
        if len(cluster.processes) == 2:
            cluster.worker(PYTHONPATH=os.pathsep.join([str(tmp_path), str(ROOT)]))

    with pytest.raises(InputError, match=named), connected(cluster.address) as executor:
        run(plan(spec), tmp_path / "store", executor, on_progress=join)
    with pytest.raises(InputError, match=named):
        fk.sweep(MAP, tmp_path / "other", scheduler=cluster.address)
    assert not (tmp_path / "other").exists()


@pytest.mark.thorough
def test_a_scheduler_that_is_gone_is_one_line_and_whole_chunks_stay(
    cluster: Cluster, tmp_path: Path
) -> None:
    cluster.worker()

    def end(done: int, of: int) -> None:
        if done:
            cluster.processes[0].kill()

    asked = plan(THRESHOLDS)
    with pytest.raises(InputError, match="a scheduler that stays"), connected(cluster.address) as e:
        run(asked, tmp_path / "store", e, on_progress=end)
    assert len(missing(tmp_path / "store", asked)) < asked.chunks
    run(asked, tmp_path / "store")
    run(asked, tmp_path / "serial")
    assert tree(tmp_path / "store") == tree(tmp_path / "serial")


@pytest.mark.parametrize("address", ["nonsense", "", "foo://10.0.0.1:8786", "tcp://127.0.0.1:1"])
def test_no_scheduler_is_one_line_and_nothing_is_written(address: str, tmp_path: Path) -> None:
    soon = dask_settings({"distributed.comm.timeouts.connect": "100ms"})
    with soon, pytest.raises(InputError, match=r"^scheduler: .* a Dask scheduler that answers"):
        fk.sweep(MAP, tmp_path / "store", scheduler=address)
    assert not (tmp_path / "store").exists()


def test_without_the_package_distributed_it_is_said_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "distributed.comm.addressing", None)
    with pytest.raises(InputError, match=r'pip install "fluidkv\[cluster\]"'):
        fk.sweep(MAP, tmp_path / "store", scheduler="tcp://127.0.0.1:8786")


def test_workers_beside_a_scheduler_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="workers"):
        fk.sweep(MAP, tmp_path / "store", workers=2, scheduler="tcp://127.0.0.1:8786")


class Worker:
    address = "tcp://10.0.0.7:41233"


def test_a_task_says_why_its_worker_does_not_do_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("distributed.get_worker", Worker)
    asked = plan(MAP)
    with opened(tmp_path / "map", asked) as store:
        job = Job(asked, store)
        task = task_of(job)
        assert task(0) == job(0)
        assert len(pickle.dumps(task)) < 1000
        other = replace(task, versions=here() | {"fluidkv": "9.1", "python": "3.99"})(0)
    gone = task(1)
    assert isinstance(other, Refused)
    assert isinstance(gone, Refused)
    assert "tcp://10.0.0.7:41233 has python" in other.allowed
    assert f"and 3.99, fluidkv {fk.__version__} and 9.1 here" in other.allowed
    assert gone.allowed == f"workers that see {tmp_path / 'map'}; tcp://10.0.0.7:41233 does not"


class Said:
    """In place of a client: what Dask says of versions."""

    def __init__(self, **its: str | None) -> None:
        mine = {"fluidkv": "0.1.0", "jax": "0.10.2"}
        self.said = {
            "client": {"host": {"python": "3.11.9.final.0"}, "packages": mine},
            "workers": {
                "tcp://10.0.0.5:1": {"host": {"python": "3.11.2.final.0"}, "packages": mine},
                "tcp://10.0.0.7:2": {
                    "host": {"python": "3.11.9.final.0"},
                    "packages": mine | its,
                },
            },
        }

    def get_versions(self, packages: list[str]) -> dict[str, Any]:
        assert {"fluidkv", "jax", "numpy", "zarr"} <= set(packages)
        return self.said


class Future:
    key = ("threshold-0", 7)

    def __init__(self, error: Exception) -> None:
        self.error = error

    def result(self) -> None:
        raise self.error


def test_a_worker_with_another_package_is_named() -> None:
    check_versions(Said(), "tcp://x:1")
    with pytest.raises(InputError, match=r"10.0.0.7:2 has jax 0.10.1 and 0.10.2 here"):
        check_versions(Said(jax="0.10.1"), "tcp://x:1")
    with pytest.raises(InputError, match=r"10.0.0.7:2 has fluidkv none and 0.1.0 here"):
        check_versions(Said(fluidkv=None), "tcp://x:1")


def test_what_a_worker_did_not_understand_is_a_matter_of_its_version() -> None:
    broken = Future(AttributeError("no such thing"))
    with pytest.raises(InputError, match=r"10.0.0.7:2 has fluidkv 0.2 and 0.1.0 here"):
        found_of(Said(fluidkv="0.2"), "tcp://x:1", broken)
    with pytest.raises(AttributeError):
        found_of(Said(), "tcp://x:1", broken)


def test_a_chunk_that_ended_its_workers_is_named() -> None:
    killed = Future(KilledWorker(("threshold-0", 7), cast(Any, Worker), 3))
    with pytest.raises(InputError, match=r"chunk 7 ended several, of them tcp://10.0.0.7:41233"):
        found_of(Said(), "tcp://x:1", killed)
