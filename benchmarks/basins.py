"""A hundred thousand starts until each has settled, against one trajectory in plain Python.

python -m benchmarks.basins

Both run the same starts to the same end: one occupied stage, or the horizon. The Python loop is
that of `fluidkv.suite.mass.plain`, one trajectory, one stage after the other, and is timed on some
of the starts; it also says how many iterations they take, which the engine must agree with. The
plain map in JAX is the mass engine on the same starts for some iterations, which does nothing but
iterate, all stages of all trajectories at once.

A trajectory-iteration counts for as long as the trajectory has not settled. What is done besides
is loss: checking starts, counting events, the turn in which throughput is measured, the dataset.
"""

from dataclasses import dataclass
from fractions import Fraction

import jax
import numpy as np

from benchmarks.report import load
from fluidkv.fluid import cohort_model, rollout
from fluidkv.fluid.labels import engine as labels
from fluidkv.fluid.model import class_model
from fluidkv.fluid.outcomes.basins import MAXIMAL, NOT_SETTLED, basins
from fluidkv.fluid.starts import uniform_starts
from fluidkv.suite.mass.plain import python_step
from fluidkv.suite.tables import markdown_table as table
from fluidkv.suite.tables import seconds
from fluidkv.suite.timing import times
from fluidkv.systems import Systems
from fluidkv.workload import RequestClass, System, Workload

INPUT_LENGTH = 20
DECODE_LENGTH = 40
CAPACITY = 3000
STARTS = 100_000
HORIZON = 5000
PYTHON_STARTS = 100
LANES, ITERATIONS = 4096, 200  # of the plain map
BATCHES = (1_024, 16_384, 1_000_000)
SYSTEM_STARTS = 16
REPEATS = 3


@dataclass(frozen=True)
class BasinTiming:
    """Times of one set of starts.

    Fields:
        starts: how many.
        first_s: first call in the process, compilation included, seconds.
        later_s: a later call, best of `REPEATS`.
        iterations: trajectory-iterations until settled or cut off, all starts together.
        longest: iterations of the last trajectory to settle.
        not_settled: starts that did not settle.
        python_s: the Python loop, scaled to the same trajectory-iterations.
        over_python: how many times faster the engine is.
        one_thread_s: the same on one core.
        plain: trajectory-iterations a second of the plain map in JAX.
        batches: for each of `BATCHES`, seconds of a call.
        systems: systems of one call, with `SYSTEM_STARTS` starts each, its seconds and its
            trajectory-iterations.
    """

    starts: int
    first_s: float
    later_s: float
    iterations: int
    longest: int
    not_settled: int
    python_s: float
    over_python: float
    one_thread_s: float
    plain: float
    batches: tuple[float, ...]
    systems: tuple[int, float, int]


def run(*, starts: int = STARTS) -> BasinTiming:
    """Run, compare with the loop, and time."""
    system = System(Workload((RequestClass(INPUT_LENGTH, DECODE_LENGTH),)), Fraction(CAPACITY))
    masses = uniform_starts(jax.random.key(0), system, count=starts)
    found = []

    def engine() -> None:
        found[:] = [basins(system, masses, iterations=HORIZON)]

    first = times(engine, calls=1, warm_up=0).best
    later = times(engine, calls=REPEATS, warm_up=0).best
    result = found[0]
    settled = result.settled.values
    iterations = int(np.where(settled < 0, HORIZON, settled).sum())
    cores, labels.cores = labels.cores, lambda: 1
    try:
        one_thread = times(engine, calls=REPEATS, warm_up=0).best
    finally:
        labels.cores = cores

    model = class_model(system)
    weights, capacity = model.weights[0].tolist(), float(model.capacity)
    some = masses[:PYTHON_STARTS].tolist()
    counts: list[int] = []

    def loop() -> None:
        counts[:] = [_python_settles(weights, capacity, x) for x in some]

    python = times(loop, calls=REPEATS, warm_up=0).best / sum(counts)
    _check(counts, settled[:PYTHON_STARTS], result.attractor.values)
    return BasinTiming(
        starts=starts,
        first_s=first,
        later_s=later,
        iterations=iterations,
        longest=int(settled.max()),
        not_settled=int((result.attractor == NOT_SETTLED).sum()),
        python_s=python * iterations,
        over_python=python * iterations / later,
        one_thread_s=one_thread,
        plain=_plain(system, masses[:LANES]),
        batches=tuple(_batch(system, masses, size) for size in BATCHES),
        systems=_systems(),
    )


def _batch(system: System, masses: np.ndarray, size: int) -> float:
    starts = np.resize(masses, (size, masses.shape[1]))
    return times(lambda: basins(system, starts, iterations=HORIZON), calls=REPEATS).best


def _systems() -> tuple[int, float, int]:
    systems = Systems.grid(
        input_length=range(1, 101),
        decode_length=[2, 4, 5, 8, 10, 12, 16, 20, 25, 40],
        capacity=range(200, 2200, 20),
    )
    stages, longest = systems.longest_decode[:, None], int(systems.longest_decode.max())
    shape = (len(systems), SYSTEM_STARTS, longest)
    memory = np.random.default_rng(0).standard_exponential(shape)
    memory *= (np.arange(longest) < stages)[:, None]
    memory *= (systems.capacity.floats[:, None] / memory.sum(axis=2))[..., None]
    starts = memory / (systems.input_length[..., None] + 1 + np.arange(longest))
    found = []

    def call() -> None:
        found[:] = [basins(systems, starts, iterations=HORIZON)]

    taken = times(call, calls=1, warm_up=0).best
    settled = found[0].settled.values
    return len(systems), taken, int(np.where(settled < 0, HORIZON, settled).sum())


def _plain(system: System, masses: np.ndarray) -> float:
    model = cohort_model(system)
    with jax.enable_x64(True):
        engine = jax.jit(jax.vmap(lambda state: rollout(model, state, ITERATIONS).state))
        start = jax.device_put(masses)
        taken = times(lambda: jax.block_until_ready(engine(start)), calls=5).best
    return masses.shape[0] * ITERATIONS / taken


def _python_settles(weights: list[float], capacity: float, state: list[float]) -> int:
    """Iterations until one stage is occupied, or the horizon."""
    for n in range(HORIZON):
        if sum(x > 0 for x in state) == 1:
            return n
        state = python_step(weights, capacity, state)
    return HORIZON


def _check(counts: list[int], settled: np.ndarray, attractors: np.ndarray) -> None:
    """Both must tell the same story, up to the few that rounding decides.

    The dynamics are unstable: where a mass is nearly emptied, the two orders of summation may
    disagree, and a support loss moves by a turn. One start in 20 is far more than is seen.
    """
    same = float(np.mean(np.array(counts) == settled))
    if same < 0.95 or not set(attractors) <= {MAXIMAL, NOT_SETTLED}:
        raise AssertionError(f"engine and loop agree on {same:.0%} of the starts only")


def report() -> str:
    """The table in Markdown."""
    t = run()
    count, systems_s, systems_iterations = t.systems

    def row(name: str, taken: float, iterations: int = t.iterations) -> list[str]:
        rate = iterations / taken
        ratio = f"{rate / t.plain:.3g}"
        return [name, seconds(taken), f"{rate / 1e6:.3g} M", ratio]

    rows = [
        row("basins", t.later_s),
        row("basins, one core", t.one_thread_s),
        row("basins, first call", t.first_s),
        row("plain map in JAX (scaled)", t.iterations / t.plain),
        row("Python loop (scaled)", t.python_s),
        row(f"{count:,} systems, {SYSTEM_STARTS} starts each", systems_s, systems_iterations),
    ]
    each = [
        f"{taken / size * 1e6:.3g} µs with {size:,}"
        for size, taken in zip(BATCHES, t.batches, strict=True)
    ]
    return "\n".join(
        [
            "## Basins against a plain loop",
            "",
            f"{t.starts:,} uniform starts, l0 = {INPUT_LENGTH}, l1 = {DECODE_LENGTH}, M = "
            f"{CAPACITY:,}, until settled or {HORIZON:,} iterations: {t.iterations:,} "
            f"trajectory-iterations, the longest {t.longest:,}, not settled {t.not_settled:,}.",
            "",
            table(["engine", "all starts", "trajectory-iterations/s", "times the plain map"], rows),
            "",
            f"{t.over_python:.0f} times the Python loop, which ran {PYTHON_STARTS} of the starts; "
            f"the plain map iterated {LANES:,} of them {ITERATIONS} times. A trajectory costs "
            f"{', '.join(each)} in a call.",
            "",
            f"Load at the end: {load()}.",
        ]
    )


if __name__ == "__main__":
    print(report())
