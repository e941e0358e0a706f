"""The mass engine against plain code: a per-stage Python loop, and vectorised NumPy.

    python -m benchmarks.engine

One class with l0 = 20, decode length L = 8 and 40, memory for 50 of the largest requests, 4,096
random starts on the memory boundary; and the cohort model of a measured log, about a thousand
stages, as a study runs it, from 256 starts. All three run the same starts and are compared before
they are timed. The engine is timed as its users call it, inside jit, with nothing recorded, warmed
up and waited for; compile time stands apart.

What bounds the engine: a step must at least read and write the state once, 16 bytes for a stage of
a trajectory. `limit` is the time that this takes at the speed of a NumPy copy of an array of the
same size, measured in the same run. States of this size stay in cache, so that
the arithmetic of a stage (a product, a quotient, two selections) counts for more than its bytes.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import jax
import numpy as np

from benchmarks.report import load, seconds, table
from benchmarks.timing import SkippedError, times, trace_workload
from fluidkv.fluid import (
    MassModel,
    class_model,
    cohort_model,
    perturbed_starts,
    scan_trajectory,
)
from fluidkv.workload import RequestClass, System, Workload

INPUT_LENGTH = 20
CONCURRENCY = 50  # capacity in units of the largest request
BATCH = 4096
ITERATIONS = 1000  # of the engine; NumPy runs a tenth, and all are reported per iteration
LOG = "vllm_rtx4090_llama31_8b"
LOG_CAPACITY = 41408
LOG_BATCH = 256
LOG_ITERATIONS = 100
REPEATS = 5


@dataclass(frozen=True)
class EngineTiming:
    """Times of one model.

    Fields:
        name: of the model.
        stages: decode length, or the number of cohort ages.
        batch: trajectories.
        compile_s: first call of the engine minus a later one, seconds.
        engine_ns, numpy_ns, python_ns: one trajectory, one iteration, nanoseconds (best of
            `REPEATS`). The Python loop runs one trajectory.
        over_numpy, over_python: how many times faster the engine is.
        limit_ns: the same unit, state read and written once at copy speed.
        copy_gb_s: speed of that copy, bytes read plus bytes written.
        difference: largest difference between the three, requests.
    """

    name: str
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


def run_classes(*, stages: int, batch: int = BATCH, iterations: int = ITERATIONS) -> EngineTiming:
    """Compare, then time, one class with the given decode length."""
    workload = Workload((RequestClass(INPUT_LENGTH, stages),))
    capacity = CONCURRENCY * (INPUT_LENGTH + stages)
    model = class_model(System(workload, Fraction(capacity)))
    return _time(f"one class, L = {stages}", model, batch, iterations)


def run_cohorts(*, batch: int = LOG_BATCH, iterations: int = LOG_ITERATIONS) -> EngineTiming:
    """Compare, then time, the cohort model of the measured log."""
    model = cohort_model(System(trace_workload(LOG), Fraction(LOG_CAPACITY)))
    return _time("cohorts of the measured log", model, batch, iterations)


def python_step(weights: list[float], capacity: float, state: list[float]) -> list[float]:
    """One trajectory, one stage after the other, as one would write it down."""
    executed = [0.0, *state[:-1]]
    excess = sum(w * x for w, x in zip(weights, executed, strict=True)) - capacity
    if excess <= 0:
        executed[0] = -excess / weights[0]
        return executed
    for s, weight in enumerate(weights):
        memory = weight * executed[s]
        if memory >= excess:
            executed[s] -= excess / weight
            break
        executed[s] = 0.0
        excess -= memory
    return executed


def numpy_step(
    weights: np.ndarray,
    capacity: float,
    state: np.ndarray,
    after: np.ndarray,
    memory: np.ndarray,
) -> np.ndarray:
    """All trajectories, no loop, no array made for each stage; (stage, batch), two buffers.

    Stage first is the faster order for NumPy too: its cumulative sum then adds long rows.
    """
    after[0] = 0.0
    after[1:] = state[:-1]
    np.multiply(after, weights[:, None], out=memory)
    below = np.cumsum(memory, axis=0)
    excess = below[-1] - capacity
    # Tokens that each stage loses: what of the excess the stages below it leave, up to all it has.
    lost = np.subtract(memory, below, out=below)
    lost += np.maximum(excess, 0.0)
    np.clip(lost, 0.0, memory, out=lost)
    lost /= weights[:, None]
    after -= lost
    after[0] = np.maximum(-excess, 0.0) / weights[0]
    return after


def _time(name: str, model: MassModel, batch: int, iterations: int) -> EngineTiming:
    starts = perturbed_starts(jax.random.key(0), model, count=batch, size=1.0)
    difference = _difference(model, starts)

    flat = np.ascontiguousarray(starts[:, 0].T)
    with jax.enable_x64(True):
        engine = jax.jit(partial(scan_trajectory, iterations=iterations))
        start = jax.device_put(np.ascontiguousarray(starts.transpose(2, 1, 0)))
        first = times(lambda: jax.block_until_ready(engine(model, start)), calls=1, warm_up=0).best
        later = times(lambda: jax.block_until_ready(engine(model, start)), calls=REPEATS).best
    numpy_iterations = max(1, iterations // 10)
    numpy_s = times(lambda: _run_numpy(model, flat, numpy_iterations), calls=REPEATS).best
    python_s = times(lambda: _run_python(model, starts[0, 0], iterations), calls=REPEATS).best
    copy_s = _copy_seconds(flat)

    engine_ns = later / iterations / batch * 1e9
    numpy_ns = numpy_s / numpy_iterations / batch * 1e9
    python_ns = python_s / iterations * 1e9
    return EngineTiming(
        name=name,
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


def _difference(model, starts: np.ndarray, *, iterations: int = 20) -> float:
    """Largest difference between the three after some iterations; raises if it is no rounding.

    The dynamics are unstable, so that roundings grow: for one class by less than
    beta = (l0 + L) / (l0 + 1) in an iteration (Congestion, equation (3)), and far less in the 20
    iterations compared here, where evictions are frequent. 1e-9 of capacity is a million roundings.
    """
    flat = np.ascontiguousarray(starts[:, 0].T)
    with jax.enable_x64(True):
        engine = jax.jit(partial(scan_trajectory, iterations=iterations))
        by_engine = np.asarray(engine(model, starts.transpose(2, 1, 0))[0])[:, 0]
    by_numpy = _run_numpy(model, flat, iterations)
    some = range(0, flat.shape[1], max(1, flat.shape[1] // 64))
    by_python = np.array([_run_python(model, flat[:, b], iterations) for b in some]).T
    difference = max(
        float(np.abs(by_engine - by_numpy).max()),
        float(np.abs(by_engine[:, list(some)] - by_python).max()),
    )
    if not difference <= 1e-9 * float(model.capacity):
        raise AssertionError(f"the three engines differ by {difference} requests")
    return difference


def _run_numpy(model, start: np.ndarray, iterations: int) -> np.ndarray:
    weights, capacity = model.weights[0], float(model.capacity)
    state, after, memory = start.copy(), np.empty_like(start), np.empty_like(start)
    for _ in range(iterations):
        state, after = numpy_step(weights, capacity, state, after, memory), state
    return state


def _run_python(model, start: np.ndarray, iterations: int) -> list[float]:
    weights, capacity, state = model.weights[0].tolist(), float(model.capacity), start.tolist()
    for _ in range(iterations):
        state = python_step(weights, capacity, state)
    return state


def _copy_seconds(array: np.ndarray, *, copies: int = 200) -> float:
    target = np.empty_like(array)

    def copy_often() -> None:
        for _ in range(copies):
            np.copyto(target, array)

    return times(copy_often, calls=REPEATS).best / copies


def report() -> str:
    """The table in Markdown."""
    timings, skipped = [run_classes(stages=8), run_classes(stages=40)], []
    try:
        timings.append(run_cohorts())
    except SkippedError as reason:
        skipped.append(f"Skipped: {reason}.\n")
    rows = [
        [
            t.name,
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
        for t in timings
    ]
    header = ["model", "stages", "batch", "compile", "engine", "NumPy", "Python"]
    header += ["vs NumPy", "vs Python", "limit", "of limit"]
    return "\n".join(
        [
            "## Mass engine against plain code",
            "",
            "Best times, of one trajectory and one iteration; compile time apart. The Python loop"
            " runs one trajectory. The limit is the state read and written once at copy speed.",
            "",
            table(header, rows),
            "",
            *skipped,
            f"Load at the end: {load()}.",
        ]
    )


if __name__ == "__main__":
    print(report())
