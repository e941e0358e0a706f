"""The block-end map against the physical engine, per simulated iteration.

    python -m benchmarks.blocks

One class with l0 = 20, l1 = 40 and memory for 50 of the largest requests. Starts are near the
balanced cycle of a gap vector, so near that no support is lost while the clock runs. Both engines
run the same starts over the same iterations, inside jit, with the batches recorded by the block map
and nothing by the other; the masses at the last block-end are compared before anything is timed.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import accumulate

import jax
import numpy as np

from benchmarks.report import load
from fluidkv.fluid import cohort_model, rollout
from fluidkv.fluid.one_class.blocks import scan_blocks
from fluidkv.suite.tables import markdown_table as table
from fluidkv.suite.tables import seconds
from fluidkv.suite.timing import Times, times
from fluidkv.workload import RequestClass, System, Workload

INPUT, DECODE = 20, 40
BATCH, ROUNDS, REPEATS = 4096, 10, 5
PATTERNS = {
    "40 gaps of 1": (1,) * 40,
    "20 gaps of 2": (2,) * 20,
    "8 gaps of 5": (5,) * 8,
    "2 gaps, 39 and 1": (39, 1),
}


@dataclass(frozen=True)
class BlockTiming:
    """Times of one gap vector.

    Fields:
        name: of the gaps.
        live: m, live positions.
        iterations: physical iterations that both simulate, each trajectory.
        blocks: steps that the block map takes for them.
        block_map, physical: seconds for the whole batch.
        difference: largest difference of a mass at the last block-end, requests.
    """

    name: str
    live: int
    iterations: int
    blocks: int
    block_map: Times
    physical: Times
    difference: float

    @property
    def ratio(self) -> float:
        """How many times faster the block map is, best against best."""
        return self.physical.best / self.block_map.best


def run(name: str, gaps: tuple[int, ...]) -> BlockTiming:
    """Compare, then time."""
    system = System(Workload((RequestClass(INPUT, DECODE),)), Fraction(50 * (INPUT + DECODE)))
    ends = np.array(list(accumulate(gaps)))
    rng = np.random.default_rng(0)
    masses = np.array(gaps, dtype=float)[:, None] * (
        1 + 1e-6 * rng.uniform(-1, 1, (len(gaps), BATCH))
    )
    masses *= float(system.capacity) / ((INPUT + ends) @ masses)
    states = np.zeros((BATCH, DECODE))
    states[:, ends - 1] = masses.T
    blocks, iterations = ROUNDS * len(gaps), ROUNDS * DECODE
    model = cohort_model(system)
    with jax.enable_x64(True):
        by_blocks = jax.jit(partial(scan_blocks, gaps, blocks=blocks))
        physical = jax.jit(jax.vmap(lambda state: rollout(model, state, iterations).state))
        y, x = jax.device_put(masses), jax.device_put(states)
        length = np.float64(INPUT)
        block_map = times(lambda: jax.block_until_ready(by_blocks(length, masses=y)), calls=REPEATS)
        walk = times(lambda: jax.block_until_ready(physical(x)), calls=REPEATS)
        end = by_blocks(length, masses=y)[0]
        final = np.asarray(physical(x)).T[ends - 1]
    if not (np.asarray(end.lost) == -1).all():
        raise AssertionError("a support was lost: the two do not simulate the same")
    difference = float(np.abs(np.asarray(end.masses) - final).max())
    # Roundings of 1e-15 of some 100 requests, grown over ten rounds less than the disturbance of
    # 1e-6, which keeps its support: a millionth of a request is far above them.
    if not difference <= 1e-6:
        raise AssertionError(f"the two engines differ by {difference} requests")
    return BlockTiming(name, len(gaps), iterations, blocks, block_map, walk, difference)


def report() -> str:
    """The table in Markdown."""
    rows = []
    for name, gaps in PATTERNS.items():
        t = run(name, gaps)
        unit = 1 / t.iterations / BATCH
        rows.append(
            [
                t.name,
                f"{t.iterations / t.blocks:.0f}",
                seconds(t.block_map.best * unit),
                seconds(t.physical.best * unit),
                f"{t.ratio:.0f}",
                f"{t.difference:.0e}",
            ]
        )
    header = ["live positions", "iterations a block", "block map", "physical", "ratio", "differ by"]
    return "\n".join(
        [
            f"## Block-end map against the physical engine, l1 = {DECODE}, {BATCH:,} starts",
            "",
            "Best times, of one trajectory and one simulated iteration; differences in requests.",
            "",
            table(header, rows),
            "",
            f"Load at the end: {load()}.",
        ]
    )


if __name__ == "__main__":
    print(report())
