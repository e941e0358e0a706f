"""What the kernel of labels buys beside the plain map, and beside its step without the jump.

    python -m benchmarks.labels

One class with l0 = 20 and decode length L, memory for 50 of the largest requests, 4,096 uniform
starts, 1,000 iterations; then mixes of several ends in the cohort model. Rates are per second of
the processor's time (all threads together), so that what else the machine does counts less. Final
states are compared before anything is timed.
"""

import time
from collections.abc import Callable
from fractions import Fraction

import jax
import numpy as np

from benchmarks.report import load
from fluidkv.fluid import (
    MassModel,
    class_model,
    cohort_model,
    perturbed_starts,
    simulate,
    uniform_starts,
)
from fluidkv.fluid.labels.engine import advance
from fluidkv.fluid.labels.tables import of_model
from fluidkv.runs.kernels import kernel
from fluidkv.suite.tables import markdown_table as table
from fluidkv.workload import RequestClass, System, Workload

INPUT, LENGTHS = 20, (8, 40, 200)
BATCH, ITERATIONS, SOME, REPEATS = 4096, 1000, 256, 3
FLOWS = ("admitted", "completed", "evicted", "memory")
ENDS = ((40, 2), (40, 8), (40, 40), (256, 2), (256, 32), (256, 64), (256, 128), (256, 256))


def ways(length: int) -> dict[str, float]:
    """Trajectory-iterations a second of processor time, by what is done; and what was seen."""
    system = System(Workload((RequestClass(INPUT, length),)), Fraction(50 * (INPUT + length)))
    starts = uniform_starts(jax.random.key(0), system, count=BATCH)
    few, capacity = starts[:SOME], float(system.capacity)
    model = class_model(system)
    tables = of_model(model)
    assert tables is not None

    def labels(count: int, **options):
        lanes = np.zeros(count, np.int64), starts[:count, None], np.full(count, capacity)
        return advance(tables, *lanes, iterations=ITERATIONS, **options)

    def plain():
        return simulate(model, few[:, None], iterations=ITERATIONS, record=(), engine="plain")

    stepped = np.empty_like(starts)
    found = labels(BATCH, threads=1)
    _each_iteration(INPUT, length, capacity, starts, stepped, ITERATIONS)
    for other in (stepped, plain().final_state.values[:, 0]):
        # Roundings grow by the unstable modes; none of these starts has lost a label by them.
        np.testing.assert_allclose(other, found.state[: len(other), 0], rtol=0, atol=1e-7)
    one = {"threads": 1, "record": FLOWS}
    return {
        "plain map in JAX": _rate(plain, SOME),
        "labels, iteration by iteration": _rate(
            lambda: _each_iteration(INPUT, length, capacity, starts, stepped, ITERATIONS), BATCH
        ),
        "labels, from change to change": _rate(lambda: labels(BATCH, threads=1), BATCH),
        "the same, with 4 records of each iteration": _rate(lambda: labels(BATCH, **one), BATCH),
        "the same, with 4 records of each 100": _rate(
            lambda: labels(BATCH, every=100, **one), BATCH
        ),
        "first eviction, mean iteration": float(found.first_eviction.mean()),
    }


def ends(stages: int, count: int) -> tuple[float, float]:
    """Nanoseconds of a trajectory-iteration: the plain map, labels."""
    model = mixed(stages, count)
    starts = perturbed_starts(jax.random.key(0), model, count=SOME, size=1.0)

    def run(engine: str) -> float:
        call = {"iterations": ITERATIONS, "record": (), "engine": engine}
        return 1e9 / _rate(lambda: simulate(model, starts, **call), SOME)

    return run("plain"), run("labels")


def mixed(stages: int, count: int) -> MassModel:
    """Cohorts of so many lengths, the longest one `stages`."""
    rng = np.random.default_rng(0)
    chosen = [*rng.choice(np.arange(1, stages), count - 1, replace=False).tolist(), stages]
    classes = tuple(RequestClass(INPUT, d, Fraction(1, count)) for d in chosen)
    return cohort_model(System(Workload(classes), Fraction(50 * (INPUT + stages))))


@kernel
def _each_iteration(inputs, stages, capacity, starts, states, iterations):
    """The O(1) step alone: deque, running sum and its rebuild, every iteration made."""
    ring = 1
    while ring < stages + 1:
        ring *= 2
    births, units = np.empty(ring, np.int64), np.empty(ring)
    for lane in range(starts.shape[0]):
        head, tail, requests = 0, 0, 0.0
        for stage in range(stages - 1, -1, -1):
            if starts[lane, stage] > 0:
                births[tail], units[tail] = -stage, starts[lane, stage]
                tail += 1
        turn = tail
        for now in range(1, iterations + 1):
            excess = requests
            if head < tail and births[head & (ring - 1)] + stages == now:
                requests -= units[head & (ring - 1)]
                excess = requests - (inputs + stages) * units[head & (ring - 1)]
                head += 1
            turn += 1
            if turn > stages:
                turn, requests, excess = 0, 0.0, -capacity
                for label in range(head, tail):
                    at = label & (ring - 1)
                    requests += units[at]
                    excess += units[at] * (inputs + 1 + now - births[at])
            if excess < 0:
                at = tail & (ring - 1)
                births[at], units[at] = now, -excess / (inputs + 1)
                requests += units[at]
                tail += 1
            while excess > 0:
                at = (tail - 1) & (ring - 1)
                tokens = inputs + 1 + now - births[at]
                needed = units[at] * tokens
                cut = excess / tokens if needed > excess else units[at]
                units[at] -= cut
                requests -= cut
                if needed <= excess:
                    tail -= 1
                excess = max(excess - needed, 0.0)
        for stage in range(stages):
            states[lane, stage] = 0.0
        for label in range(head, tail):
            states[lane, iterations - births[label & (ring - 1)]] = units[label & (ring - 1)]


def _rate(call: Callable[[], object], trajectories: int) -> float:
    call()
    best = np.inf
    for _ in range(REPEATS):
        before = time.process_time()
        call()
        best = min(best, time.process_time() - before)
    return trajectories * ITERATIONS / best


def report() -> str:
    """The tables in Markdown."""
    by_length = [ways(length) for length in LENGTHS]
    rows = [
        [way, *(f"{each[way] / 1e6:,.1f}" for each in by_length)]
        for way in by_length[0]
        if not way.startswith("first")
    ]
    first = ", ".join(f"{each['first eviction, mean iteration']:.1f}" for each in by_length)
    taken = [(stages, count, *ends(stages, count)) for stages, count in ENDS]
    return "\n".join(
        [
            "## Labels against the plain map",
            "",
            "Million trajectory-iterations a second of processor time, one class.",
            "",
            table(["way", *(f"L = {length}" for length in LENGTHS)], rows),
            "",
            f"The first eviction comes, on average, in iteration {first}.",
            "",
            "Nanoseconds of processor time for an iteration of the cohort model:",
            "",
            table(
                ["ages", "ends", "plain map", "labels"],
                [[f"{s}", f"{e}", *(f"{each:.0f}" for each in took)] for s, e, *took in taken],
            ),
            "",
            f"Load at the end: {load()}.",
        ]
    )


if __name__ == "__main__":
    print(report())
