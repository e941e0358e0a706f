"""Ten thousand starts for five thousand iterations of a (20, 21) mix, against plain code.

python -m benchmarks.convergence

Decode lengths 20 and 21 in equal shares at l0 = 512: coprime, and yet two modes grow, so that
trajectories evict to the end and none may stop early. The same starts run in four ways: the
engine of `convergence` with everything that it watches, `simulate` on cohorts with nothing
recorded, vectorised NumPy and a loop in plain Python, each compared with the first before it is
timed. The literal model in rationals stands beside them for a few iterations.
"""

from dataclasses import dataclass
from fractions import Fraction
from itertools import islice

import numpy as np

from benchmarks.report import load
from fluidkv.exact.mass import iterates
from fluidkv.exact.mixed.mix import two_lengths
from fluidkv.fluid import cohort_model, simulate, uniform_starts
from fluidkv.fluid.outcomes import convergence as module
from fluidkv.fluid.outcomes.convergence import convergence
from fluidkv.runs.precision import random_key
from fluidkv.suite.mass.plain import run_numpy, run_python
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
POOL = 1024  # trajectories of NumPy
REPEATS = 3


@dataclass(frozen=True)
class ConvergenceTiming:
    """Seconds of one trajectory and one iteration, and of all.

    Fields:
        first_s: first call in the process, all starts, compilation included.
        all_s: a later call, best of `REPEATS`.
        engine, mass_engine, numpy, python, exact: one trajectory, one iteration.
        not_settled: starts that neither returned nor repeat themselves.
        difference: largest between engine, NumPy and Python after `FEW` iterations, of capacity.
    """

    first_s: float
    all_s: float
    engine: float
    mass_engine: float
    numpy: float
    python: float
    exact: float
    not_settled: int
    difference: float


def run(*, starts: int = STARTS, iterations: int = ITERATIONS) -> ConvergenceTiming:
    """Compare, then time."""
    workload = two_lengths(*LENGTHS, Fraction(1, 2)).workload(INPUT_LENGTH)
    system = System(workload, Fraction(CAPACITY))
    model = cohort_model(system)
    masses = uniform_starts(random_key(0), system, count=starts)
    difference = _difference(system, masses[:64])
    found = []

    def engine() -> None:
        # The radius is one that no start comes within: that of the rule would be looked for first.
        found[:] = [convergence(system, masses, iterations=iterations, radius=1e-12)]

    first = times(engine, calls=1, warm_up=0).best
    later = times(engine, calls=REPEATS, warm_up=0).best
    made = starts * iterations

    pool = np.ascontiguousarray(masses[:POOL].T)
    weights, capacity = model.weights[0], float(model.capacity)
    mass_s, numpy_s, python_s = (
        times(call, calls=REPEATS).best
        for call in (
            lambda: simulate(model, masses[:, None], iterations=iterations, record=()),
            lambda: run_numpy(weights, capacity, pool, NUMPY_ITERATIONS),
            lambda: run_python(weights, capacity, pool[:, 0], PYTHON_ITERATIONS),
        )
    )
    exact_s = times(lambda: _exact(system, masses[0]), calls=1, warm_up=0).best
    return ConvergenceTiming(
        first_s=first,
        all_s=later,
        engine=later / made,
        mass_engine=mass_s / made,
        numpy=numpy_s / pool.shape[1] / NUMPY_ITERATIONS,
        python=python_s / PYTHON_ITERATIONS,
        exact=exact_s / EXACT_ITERATIONS,
        not_settled=int((found[0].outcome == module.NOT_SETTLED).sum()),
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
    weights, capacity = model.weights[0], float(model.capacity)
    numpy = run_numpy(weights, capacity, np.ascontiguousarray(masses.T), FEW).T
    python = np.array([run_python(weights, capacity, start, FEW) for start in masses])
    shares = weights / capacity
    difference = float(max(np.abs((ours - x) * shares).max() for x in (numpy, python)))
    if not difference <= 1e-11:
        raise AssertionError(f"the engines differ by {difference} of capacity")
    return difference


def _exact(system: System, start: np.ndarray) -> None:
    cohorts = [Fraction(float(y)) * (1 - Fraction(1, 10**9)) for y in start]  # below capacity
    state = [[c.share * y for y in cohorts[: c.decode_length]] for c in system.workload.classes]
    list(islice(iterates(system, state), EXACT_ITERATIONS + 1))


def report() -> str:
    """The table in Markdown."""
    t = run()
    rows = [
        [name, seconds(each), f"{1 / each / 1e6:.3g} M", f"{each / t.engine:.3g}"]
        for name, each in (
            ("convergence", t.engine),
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
            f"Engines differ by at most {t.difference:.0e} of capacity after {FEW} iterations.",
            "",
            f"Load at the end: {load()}.",
        ]
    )


if __name__ == "__main__":
    print(report())
