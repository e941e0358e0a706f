"""The mass engine on the cohorts of a measured log, against plain code.

    python -m benchmarks.engine

A model of about a thousand stages, as a study runs it, from 256 starts; models of one class are in
`fluidkv.suite.mass`, which has the loop and the NumPy version too. All three run the same starts
and are compared before they are timed. The engine is timed inside jit, with nothing recorded,
warmed up and waited for; compile time stands apart.

What bounds an engine that moves each stage: a step reads and writes the state once, 16 bytes for a
stage of a trajectory. `limit` is the time that this takes at the speed of a NumPy copy of an array
of the same size, measured in the same run.
"""

from dataclasses import dataclass
from fractions import Fraction

import jax
import numpy as np

from benchmarks.inputs import trace_workload
from benchmarks.report import load
from fluidkv.fluid import cohort_model, perturbed_starts, rollout
from fluidkv.runs.precision import in_float64, random_key
from fluidkv.suite.mass.plain import run_numpy, run_python
from fluidkv.suite.tables import markdown_table, seconds
from fluidkv.suite.timing import times
from fluidkv.workload import System

LOG = "vllm_rtx4090_llama31_8b"
CAPACITY = 41408
BATCH = 256
ITERATIONS = 100  # of the engine; NumPy runs a tenth, and all are reported per iteration
REPEATS = 5


@dataclass(frozen=True)
class EngineTiming:
    """Times of the model.

    Fields:
        stages: the number of cohort ages.
        batch: trajectories.
        compile_s: first call of the engine minus a later one, seconds.
        engine_ns, numpy_ns, python_ns: one trajectory, one iteration, nanoseconds (best of
            `REPEATS`). The Python loop runs one trajectory.
        over_numpy, over_python: how many times faster the engine is.
        limit_ns: the same unit, state read and written once at copy speed.
        copy_gb_s: speed of that copy, bytes read plus bytes written.
        difference: largest difference between the three, requests.
    """

    stages: int
    batch: int
    compile_s: float
    engine_ns: float
    numpy_ns: float
    python_ns: float
    over_numpy: float
    over_python: float
    limit_ns: float
    copy_gb_s: float
    difference: float


def run(*, batch: int = BATCH, iterations: int = ITERATIONS) -> EngineTiming:
    """Compare, then time."""
    model = cohort_model(System(trace_workload(LOG), Fraction(CAPACITY)))
    starts = perturbed_starts(random_key(0), model, count=batch, size=1.0)
    weights, capacity = model.weights[0], float(model.capacity)
    difference = _difference(model, starts)

    flat = np.ascontiguousarray(starts[:, 0].T)
    with in_float64():
        engine = _engine(iterations)
        start = jax.device_put(starts[:, 0])
        first = times(lambda: jax.block_until_ready(engine(model, start)), calls=1, warm_up=0).best
        later = times(lambda: jax.block_until_ready(engine(model, start)), calls=REPEATS).best
    numpy_iterations = max(1, iterations // 10)
    numpy_s = times(
        lambda: run_numpy(weights, capacity, flat, numpy_iterations), calls=REPEATS
    ).best
    python_s = times(
        lambda: run_python(weights, capacity, starts[0, 0], iterations), calls=REPEATS
    ).best
    copy_s = _copy_seconds(flat)

    engine_ns = later / iterations / batch * 1e9
    numpy_ns = numpy_s / numpy_iterations / batch * 1e9
    python_ns = python_s / iterations * 1e9
    return EngineTiming(
        stages=starts.shape[-1],
        batch=batch,
        compile_s=first - later,
        engine_ns=engine_ns,
        numpy_ns=numpy_ns,
        python_ns=python_ns,
        over_numpy=numpy_ns / engine_ns,
        over_python=python_ns / engine_ns,
        limit_ns=copy_s / batch * 1e9,
        copy_gb_s=2 * flat.nbytes / copy_s / 1e9,
        difference=difference,
    )


def _engine(iterations: int):
    def final(model, state):
        return rollout(model, state, iterations).state

    return jax.jit(jax.vmap(final, in_axes=(None, 0)))


def _difference(model, starts: np.ndarray, *, iterations: int = 20) -> float:
    """Largest difference between the three after some iterations; raises if it is no rounding.

    The dynamics are unstable, so that roundings grow: for one class by less than
    beta = (l0 + L) / (l0 + 1) in an iteration (Congestion, equation (3)), and far less in the 20
    iterations compared here, where evictions are frequent. 1e-9 of capacity is a million roundings.
    """
    flat = np.ascontiguousarray(starts[:, 0].T)
    with in_float64():
        by_engine = np.asarray(_engine(iterations)(model, starts[:, 0])).T
    weights, capacity = model.weights[0], float(model.capacity)
    by_numpy = run_numpy(weights, capacity, flat, iterations)
    some = range(0, flat.shape[1], max(1, flat.shape[1] // 64))
    by_python = np.array([run_python(weights, capacity, flat[:, b], iterations) for b in some]).T
    difference = max(
        float(np.abs(by_engine - by_numpy).max()),
        float(np.abs(by_engine[:, list(some)] - by_python).max()),
    )
    if not difference <= 1e-9 * float(model.capacity):
        raise AssertionError(f"the three engines differ by {difference} requests")
    return difference


def _copy_seconds(array: np.ndarray, *, copies: int = 200) -> float:
    target = np.empty_like(array)

    def copy_often() -> None:
        for _ in range(copies):
            np.copyto(target, array)

    return times(copy_often, calls=REPEATS).best / copies


def report() -> str:
    """The table in Markdown."""
    t = run()
    row = [
        f"{t.stages:,}",
        f"{t.batch:,}",
        seconds(t.compile_s),
        seconds(t.engine_ns * 1e-9),
        seconds(t.numpy_ns * 1e-9),
        seconds(t.python_ns * 1e-9),
        f"{t.over_numpy:.1f}",
        f"{t.over_python:.0f}",
        f"{seconds(t.limit_ns * 1e-9)} ({t.copy_gb_s:.0f} GB/s)",
        f"{t.limit_ns / t.engine_ns:.0%}",
    ]
    header = ["stages", "batch", "compile", "engine", "NumPy", "Python"]
    header += ["vs NumPy", "vs Python", "limit", "of limit"]
    return "\n".join(
        [
            "## Cohorts of the measured log",
            "",
            "Best times, of one trajectory and one iteration; compile time apart. The Python loop"
            " runs one trajectory. The limit is the state read and written once at copy speed.",
            "",
            markdown_table(header, [row]),
            "",
            f"Load at the end: {load()}.",
        ]
    )


if __name__ == "__main__":
    print(report())
