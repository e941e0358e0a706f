"""What the first call of a process takes, without kept compiled code and with it.

`python -m benchmarks.first_call`: each call in two processes of its own, of which the first finds
an empty folder of compiled code. Seconds of processor time, all threads, imports apart.
"""

import os
import subprocess
import sys
import tempfile

from benchmarks.report import load
from fluidkv.suite.tables import markdown_table as table

SETUP = """
import sys, time
import jax
import fluidkv as fk
from fluidkv.fluid import uniform_starts
system = fk.System(fk.Workload((fk.RequestClass(20, 40),)), 3000)
requests = fk.saturated(system.workload, 20_000)
rules, limits = fk.engine("vllm-0.11"), fk.Limits(3000)
starts = uniform_starts(jax.random.key(0), system, count=64)
began = time.process_time()
"""
CALLS = {
    "`serve` of 20,000 requests": "fk.serve(requests, fk.Server(rules, limits))",
    "`simulate` of one class": "fk.simulate(system, starts, iterations=1_000)",
    "its plain map": "fk.simulate(system, starts, iterations=1_000, engine='plain')",
}


def seconds(call: str, folder: str) -> float:
    """Of a fresh process that keeps its code in this folder."""
    script = f"{SETUP}{call}\nprint(time.process_time() - began)"
    environment = os.environ | {"FLUIDKV_CACHE": folder}
    run = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    return float(run.stdout)


def report() -> str:
    """A table: without kept code, with it."""
    rows = []
    for name, call in CALLS.items():
        with tempfile.TemporaryDirectory() as folder:
            rows.append([name, *(f"{seconds(call, folder):.2f}" for _ in range(2))])
    return "\n".join(
        [
            "## The first call of a process",
            "",
            "Seconds of processor time, imports apart.",
            "",
            table(["call", "without kept code", "with it"], rows),
            "",
            f"Load at the end: {load()}.",
        ]
    )


if __name__ == "__main__":
    print(report())
