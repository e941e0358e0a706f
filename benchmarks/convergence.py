"""Ten thousand starts for five thousand iterations of a (20, 21) mix, against plain code.

python -m benchmarks.convergence

Decode lengths 20 and 21 in equal shares at l0 = 512: coprime, and yet two modes grow, so that
trajectories evict to the end and none may stop early. The same starts run in four ways: the
engine of `convergence` with everything that it watches, the mass engine of `simulate` with nothing
recorded, vectorised NumPy and a loop in plain Python, each compared with the first before it is
timed. The literal model in rationals stands beside them for a few iterations.

What bounds the engine: an iteration must read and write the state once, 16 bytes for each age of a
trajectory. `limit` is the time that this takes at the speed of a NumPy copy of the state of a few
trajectories, on all cores. The state stays in cache; what is left is arithmetic, a product, a
minimum and a difference for each age.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import islice

import jax
import numpy as np

from benchmarks.report import load
from fluidkv.exact.mass import iterates
from fluidkv.exact.mixed.mix import two_lengths
from fluidkv.fluid import cohort_model, scan_trajectory, uniform_starts
from fluidkv.fluid.cohorts import parts
from fluidkv.fluid.cohorts.convergence import NOT_SETTLED, convergence
from fluidkv.suite.mass.plain import numpy_step, python_step
from fluidkv.suite.tables import markdown_table as table
from fluidkv.suite.tables import seconds
from fluidkv.suite.timing import times
from fluidkv.workload import System

LENGTHS = (20, 21)
INPUT_LENGTH = 512
STARTS = 10_000
ITERATIONS = 5040  # 5,000, rounded up to a multiple of 60
CAPACITY = 30_000
FEW, NUMPY_ITERATIONS, PYTHON_ITERATIONS, EXACT_ITERATIONS = 120, 100, 2000, 10
REPEATS = 3
LANES = 4096  # of the plain engines


@dataclass(frozen=True)
class ConvergenceTiming:
    """Seconds of one trajectory and one iteration, and of all.

    Fields:
        first_s: first call in the process, all starts, compilation included.
        all_s: a later call, best of `REPEATS`.
        one_thread_s: the same on one core.
        engine, mass_engine, numpy, python, exact: one trajectory, one iteration.
        limit: the same, state read and written once at copy speed.
        not_settled: starts that neither returned nor repeat themselves.
        difference: largest between engine, NumPy and Python after `FEW` iterations, of capacity.
    """

    first_s: float
    all_s: float
    one_thread_s: float
    engine: float
    mass_engine: float
    numpy: float
    python: float
    exact: float
    limit: float
    not_settled: int
    difference: float


def run(*, starts: int = STARTS, iterations: int = ITERATIONS) -> ConvergenceTiming:
    """Compare, then time."""
    workload = two_lengths(*LENGTHS, Fraction(1, 2)).workload(INPUT_LENGTH)
    system = System(workload, Fraction(CAPACITY))
    model = cohort_model(system)
    masses = uniform_starts(jax.random.key(0), system, count=starts)
    difference = _difference(system, masses[:64])
    found = []

    def engine() -> None:
        # The radius is one that no start comes within: that of the rule would be looked for first.
        found[:] = [convergence(system, masses, iterations=iterations, radius=1e-12)]

    first = times(engine, calls=1, warm_up=0).best
    later = times(engine, calls=REPEATS, warm_up=0).best
    cores, parts.cores = parts.cores, lambda: 1
    try:
        one_thread = times(engine, calls=1, warm_up=0).best
    finally:
        parts.cores = cores
    made = starts * iterations

    pool = np.ascontiguousarray(masses[:LANES].T)
    with jax.enable_x64(True):
        plain = jax.jit(partial(scan_trajectory, iterations=NUMPY_ITERATIONS))
        start = jax.device_put(pool[:, None])
        mass_s = times(lambda: jax.block_until_ready(plain(model, start)), calls=REPEATS).best
    numpy_s = times(lambda: _numpy(model, pool, NUMPY_ITERATIONS), calls=REPEATS).best
    python_s = times(lambda: _python(model, pool[:, 0], PYTHON_ITERATIONS), calls=REPEATS).best
    exact_s = times(lambda: _exact(system, masses[0]), calls=1, warm_up=0).best
    each = pool.shape[1] * NUMPY_ITERATIONS
    return ConvergenceTiming(
        first_s=first,
        all_s=later,
        one_thread_s=one_thread,
        engine=later / made,
        mass_engine=mass_s / each,
        numpy=numpy_s / each,
        python=python_s / PYTHON_ITERATIONS,
        exact=exact_s / EXACT_ITERATIONS,
        limit=_copy_seconds(pool, cores()) / pool.shape[1],
        not_settled=int((found[0].outcome == NOT_SETTLED).sum()),
        difference=difference,
    )


def _difference(system: System, masses: np.ndarray) -> float:
    """In memory shares; raises if it is no rounding.

    The fastest mode grows by a ten-thousandth in an iteration, so that 120 iterations hardly
    enlarge a rounding of 1e-16; evictions of nearly empty cohorts may. 1e-11 is still no difference
    that a wrong engine would show.
    """
    model = cohort_model(system)
    ours = convergence(system, masses, iterations=FEW, radius=1e-12).final_state.values
    numpy = _numpy(model, np.ascontiguousarray(masses.T), FEW).T
    python = np.array([_python(model, start, FEW) for start in masses])
    weights = model.weights[0] / float(model.capacity)
    difference = float(max(np.abs((ours - x) * weights).max() for x in (numpy, python)))
    if not difference <= 1e-11:
        raise AssertionError(f"the engines differ by {difference} of capacity")
    return difference


def _numpy(model, start: np.ndarray, iterations: int) -> np.ndarray:
    weights, capacity = model.weights[0], float(model.capacity)
    state, after, memory = start.copy(), np.empty_like(start), np.empty_like(start)
    for _ in range(iterations):
        state, after = numpy_step(weights, capacity, state, after, memory), state
    return state


def _python(model, start: np.ndarray, iterations: int) -> list[float]:
    weights, capacity, state = model.weights[0].tolist(), float(model.capacity), start.tolist()
    for _ in range(iterations):
        state = python_step(weights, capacity, state)
    return state


def _exact(system: System, start: np.ndarray) -> None:
    cohorts = [Fraction(float(y)) * (1 - Fraction(1, 10**9)) for y in start]  # below capacity
    state = [[c.share * y for y in cohorts[: c.decode_length]] for c in system.workload.classes]
    list(islice(iterates(system, state), EXACT_ITERATIONS + 1))


def _copy_seconds(array: np.ndarray, threads: int, *, copies: int = 200) -> float:
    """One copy, where each thread copies an array of its own."""
    pairs = [(array.copy(), np.empty_like(array)) for _ in range(threads)]

    def often(pair: tuple[np.ndarray, np.ndarray]) -> None:
        for _ in range(copies):
            np.copyto(pair[1], pair[0])

    with ThreadPoolExecutor(threads) as pool:
        return times(lambda: list(pool.map(often, pairs)), calls=REPEATS).best / copies / threads


def report() -> str:
    """The table in Markdown."""
    t = run()
    rows = [
        [name, seconds(each), f"{1 / each / 1e6:.3g} M", f"{each / t.engine:.3g}"]
        for name, each in (
            ("convergence", t.engine),
            ("convergence, one core", t.one_thread_s / STARTS / ITERATIONS),
            ("mass engine", t.mass_engine),
            ("NumPy", t.numpy),
            ("Python loop", t.python),
            ("literal model, rationals", t.exact),
        )
    ]
    header = ["engine", "trajectory-iteration", "a second", "times convergence"]
    return "\n".join(
        [
            "## Return to the equilibrium: 10,000 starts of a (20, 21) mix",
            "",
            f"{STARTS:,} uniform starts, {ITERATIONS:,} iterations each, equal shares, l0 = "
            f"{INPUT_LENGTH}, where two modes grow and all starts evict to the end: "
            f"{seconds(t.all_s)} in all, {seconds(t.first_s)} in the first call with compilation. "
            f"{t.not_settled:,} starts are on no short cycle in the end.",
            "",
            table(header, rows),
            "",
            f"State read and written once at copy speed: {seconds(t.limit)}, "
            f"{t.limit / t.engine:.0%} of what the engine takes; the rest is arithmetic in cache, "
            f"three operations for each of {LENGTHS[1]} ages. Engines differ by at most "
            f"{t.difference:.0e} of capacity after {FEW} iterations.",
            "",
            f"Load at the end: {load()}.",
        ]
    )


if __name__ == "__main__":
    print(report())
