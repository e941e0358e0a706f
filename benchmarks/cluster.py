"""What a sweep of 10^9 trajectories costs on one core, on a node and on many, from measured rates.

    python -m benchmarks.cluster

Writes the block of docs/cluster.md between its two marks, so that no number there is typed.
Measured here: trajectory-iterations in a second of one core (of the processor's time, so that other
work on the machine counts little), what a chunk costs to write, and what Dask costs for each chunk.
All else is multiplied on paper, as if cores and nodes added up. A GPU is not measured: there is a
bound, from the bandwidth of its data sheet, for a map whose states pass through its memory.
"""

import os
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from benchmarks.report import load
from fluidkv.fluid import simulate, uniform_starts
from fluidkv.runs.precision import random_key
from fluidkv.serving.machines.gpus import gpu_named
from fluidkv.suite.machine import this_machine
from fluidkv.suite.tables import markdown_table
from fluidkv.sweeps.planning import compute, plan
from fluidkv.sweeps.store.chunks import write
from fluidkv.sweeps.store.folder import opened
from fluidkv.workload import RequestClass, System, Workload

PAGE = Path(__file__).parent.parent / "docs" / "cluster.md"
BEGIN, END = "<!-- costs, by python -m benchmarks.cluster -->", "<!-- end of costs -->"
TRAJECTORIES, ITERATIONS = 10**9, 1000
LENGTHS = (8, 40, 200)
LANES, CALLS = 1024, 5
NODES = (1, 8, 64)
CORES_OF_A_NODE, GPUS_OF_A_NODE, GPU = 64, 8, "h100"
TASKS = 500


def main() -> None:
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    PAGE.write_text(f"{before}{BEGIN}\n{report()}\n{END}{after}", encoding="utf-8")


def report() -> str:
    """The block, whole."""
    machine = this_machine()
    rates = {length: rate_of_a_core(length) for length in LENGTHS}
    chunk_s, point_bytes = cost_of_a_chunk()
    task_s = cost_of_a_task()
    versions = ", ".join(f"{name} {of}" for name, of in machine.versions.items())
    return "\n".join(
        [
            f"Measured on one core of {machine.processor}, {datetime.now(UTC):%Y-%m-%d}, load "
            f"{load()}; {versions}. One class, inputs of 512 tokens, outputs of L, "
            f"{LANES:,} uniform starts, {ITERATIONS:,} iterations, nothing recorded; the best of "
            f"{CALLS} calls, in time of the processor.",
            "",
            *_measured(rates, chunk_s, point_bytes, task_s),
            "",
            f"On paper, 10⁹ trajectories of {ITERATIONS:,} iterations, if cores and "
            f"nodes add up; a node has {CORES_OF_A_NODE} cores or {GPUS_OF_A_NODE} GPUs:",
            "",
            *_paper(rates),
            "",
            f"The GPU has {gpu_named(GPU).bandwidth / 1e12:.2f} TB/s by its data sheet. The bound "
            "is for the plain map, 16 L bytes an iteration (each stage read once and written once, "
            "in doubles), if the states pass through that memory; what a GPU takes is not "
            "measured.",
        ]
    )


def _measured(
    rates: dict[int, float], chunk_s: float, point_bytes: float, task_s: float
) -> list[str]:
    words = "million trajectory-iterations/s"
    rows = [[f"L = {n}", f"{of / 1e6:.1f} {words}"] for n, of in rates.items()]
    rows += [
        ["a chunk, to write", f"{1000 * chunk_s:.0f} ms, {point_bytes:.1f} bytes a point"],
        ["a chunk, through Dask", f"{1000 * task_s:.1f} ms"],
    ]
    return [markdown_table(["one core", ""], rows)]


def _paper(rates: dict[int, float]) -> list[str]:
    rows = []
    for length, rate in rates.items():
        core_s = TRAJECTORIES * ITERATIONS / rate
        nodes = [_said(core_s / CORES_OF_A_NODE / n) for n in NODES]
        bound = gpu_named(GPU).bandwidth / (16 * length)
        gpu_s = TRAJECTORIES * ITERATIONS / bound
        gpus = [f"at least {_said(gpu_s)}", f"at least {_said(gpu_s / GPUS_OF_A_NODE)}"]
        rows.append([f"L = {length}", f"{core_s / 3600:.2g}", *nodes, *gpus])
    head = ["", "core-hours", *(f"{n} node{'s' * (n > 1)}" for n in NODES)]
    return [markdown_table([*head, f"1 {GPU.upper()}, bound", f"{GPUS_OF_A_NODE}, bound"], rows)]


def _said(seconds: float) -> str:
    for unit, size in (("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.3g} s"


def rate_of_a_core(length: int) -> float:
    """Trajectory-iterations in a second of one core, by what `simulate` takes by itself."""
    system = System(Workload((RequestClass(512, length),)), 50 * (512 + length))
    starts = uniform_starts(random_key(0), system, count=LANES)
    spent = best_of(
        CALLS, lambda: simulate(system, starts, iterations=ITERATIONS, record=()), warm=True
    )
    return LANES * ITERATIONS / spent


def cost_of_a_chunk() -> tuple[float, float]:
    """Seconds to write one, and bytes of a point on the disk."""
    asked = plan(
        {
            "analysis": "stability_map",
            "chunk": 8192,
            "settings": {"decode_length": [20, 33], "capacity": 10**6},
            "grid": {
                "share": [f"{k}/9" for k in range(1, 9)],
                "input_length": {"from": 1, "to": 1024},
            },
        }
    )
    found = compute(asked, 0)
    with tempfile.TemporaryDirectory() as folder, opened(Path(folder) / "store", asked) as store:
        spent = best_of(CALLS, lambda: write(store, asked, 0, found), warm=True)
        names = [*(each.name for each in asked.variables), "status"]
        size = sum(next((store.path / name).glob("c.*")).stat().st_size for name in names)
    return spent, size / asked.points


def cost_of_a_task() -> float:
    """Seconds that a scheduler on this machine takes for a task that does nothing."""
    from distributed import Client, LocalCluster, as_completed

    with (
        LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        list(as_completed(client.map(int, range(TASKS), pure=False)))
        began = time.perf_counter()
        list(as_completed(client.map(int, range(TASKS), pure=False)))
        return (time.perf_counter() - began) / TASKS


def best_of(calls: int, call: Callable[[], object], *, warm: bool) -> float:
    """Seconds of the processor that a call takes, at best."""
    if warm:
        call()
    spent = []
    for _ in range(calls):
        began = time.process_time()
        call()
        spent.append(time.process_time() - began)
    return float(np.min(spent))


if __name__ == "__main__":
    if hasattr(os, "sched_setaffinity"):  # one core: as many threads as it has, which is one
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    main()
