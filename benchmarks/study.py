"""The main command on a measured log, cold start included, and what an import costs.

    python -m benchmarks.study

Every time here is of a whole process, from its start to its end, with files in the page cache.
Peers: an interpreter that does nothing, and the smallest program that computes anything in JAX.
"""

import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass

from benchmarks.inputs import ROOT, SkippedError, trace_path
from benchmarks.report import against, load
from fluidkv.suite.tables import markdown_table as table
from fluidkv.suite.tables import seconds
from fluidkv.suite.timing import Times, times

LOG = "vllm_rtx4090_llama31_8b"
STUDY_TARGET_S = 15.0
START_TARGET_S = 1.0

_NOTHING = ("python -c pass", ["-c", "pass"])
_JAX = (
    "jax, one jitted sum",
    ["-c", "import jax; jax.jit(sum)([1.0, 2.0]).block_until_ready()"],
)
_IMPORT = ("import fluidkv", ["-c", "import fluidkv"])
_HELP = ("fluidkv --help", ["-m", "fluidkv", "--help"])

# The same study twice in one process, to tell the work from start and compilation.
_TWICE = """
import json, sys, time
from fractions import Fraction
start = time.perf_counter()
import fluidkv
fluidkv.study_system, fluidkv.read_trace
imported = time.perf_counter()
trace = fluidkv.read_trace(sys.argv[1]).trace
system = fluidkv.System(trace.workload(), Fraction(41408))
marks = [time.perf_counter()]
for _ in range(2):
    fluidkv.study_system(system)
    marks.append(time.perf_counter())
print(json.dumps([imported - start, marks[1] - marks[0], marks[2] - marks[1]]))
"""


@dataclass(frozen=True)
class ProcessTiming:
    """Times of one kind of process.

    Fields:
        name: shown.
        times: start to end.
        target_s: what it should stay below, seconds; None for a peer.
    """

    name: str
    times: Times
    target_s: float | None


def run() -> list[ProcessTiming]:
    """Peers first, then what `import fluidkv`, help and the study take."""
    found = [
        _time(_NOTHING, None, calls=11),
        _time(_JAX, None, calls=5),
        _time(_IMPORT, START_TARGET_S, calls=11),
        _time(_HELP, START_TARGET_S, calls=11),
    ]
    try:
        log = trace_path(LOG)
    except SkippedError:
        return found
    arguments = ["-m", "fluidkv", "study", str(log), "--capacity", "41408"]
    arguments += ["--measured", str(log / "timeseries.csv")]
    with tempfile.TemporaryDirectory() as folder:
        printed = ("fluidkv study --json", [*arguments, "--json"])
        drawn = ("fluidkv study --out, with figures", [*arguments, "--out", f"{folder}/study"])
        found.append(_time(printed, STUDY_TARGET_S, calls=3))
        found.append(_time(drawn, STUDY_TARGET_S, calls=3))
    return found


def parts() -> tuple[float, float, float]:
    """Seconds for: imports, the first study in a process, a second one."""
    imports, first, second = json.loads(_run(["-c", _TWICE, str(trace_path(LOG))]))
    return imports, first, second


def _time(process: tuple[str, list[str]], target_s: float | None, *, calls: int) -> ProcessTiming:
    name, arguments = process
    return ProcessTiming(name, times(lambda: _run(arguments), calls=calls), target_s)


def _run(arguments: list[str]) -> str:
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, cwd=ROOT)
    if done.returncode:
        raise RuntimeError(f"{' '.join(arguments)} ended with {done.returncode}:\n{done.stderr}")
    return done.stdout


def report() -> str:
    """The table in Markdown."""
    timings = run()
    nothing, jax = (t.times.best for t in timings[:2])
    rows = [
        [
            t.name,
            seconds(t.times.best),
            seconds(t.times.median),
            f"{t.times.best / nothing:.1f}",
            f"{t.times.best / jax:.2f}",
            "" if t.target_s is None else _target(t, t.target_s),
        ]
        for t in timings
    ]
    header = ["process", "best", "median", "of an empty one", "of JAX's smallest", "target"]
    lines = ["## Cold starts", "", table(header, rows), ""]
    try:
        imports, first, second = parts()
    except SkippedError as reason:
        lines.append(f"Skipped: {reason}.")
    else:
        lines.append(
            f"Of the study: imports {seconds(imports)}, the first study in a process"
            f" {seconds(first)}, a second one {seconds(second)} (certificate, boundary and"
            " simulation; what it lacks is compilation)."
        )
    return "\n".join([*lines, "", f"Load at the end: {load()}."])


def _target(timing: ProcessTiming, target_s: float) -> str:
    return against(f"under {target_s:g} s", timing.times.median < target_s)


if __name__ == "__main__":
    print(report())
