"""What `test_gpu` asks of a process in which Numba plays a GPU; prints what was found as JSON.

Run as a module: Numba reads its settings when it is loaded. Threads of such a GPU are threads of
Python and nothing is compiled, so both processors do the same operations.
"""

import json

import numpy as np

from fluidkv.fluid.labels.engine import RECORDS, advance
from fluidkv.fluid.labels.gpu import GPU
from fluidkv.fluid.labels.group import CPU, Processor
from fluidkv.fluid.labels.tables import pack

ONE = [[(5, 6)]]
SEVERAL = [[(5, 6), (3, 4), (9, 2)], [(2, 3), (4, 3), (1, 5)]]
LANES, ROWS, STAGES = 5, 3, 6


def found() -> dict[str, bool]:
    pairs = GPU._replace(size=lambda labels, lane: 2)  # a memory for two trajectories
    return {
        "one class": same(ONE, True, GPU),
        "several classes by class": same(SEVERAL, True, GPU),
        "several classes by cohort": same(SEVERAL, False, GPU),
        "groups of two": same(SEVERAL, True, pairs),
        "calls of a few iterations": same(SEVERAL, True, GPU._replace(call=4 * LANES)),
        "nothing recorded": same(SEVERAL, True, GPU, record=()),
    }


def same(
    lengths: list[list[tuple[int, int]]],
    by_class: bool,
    processor: Processor,
    record: tuple[str, ...] = RECORDS,
) -> bool:
    """Whether all that is found is the same bits as on the CPU; that something evicts, too."""
    pairs = np.array(lengths)
    tables = pack(pairs, np.full(pairs.shape[:2], 1 / pairs.shape[1]), by_class=by_class)
    system = np.arange(LANES) % len(pairs)
    rows = pairs.shape[1] if by_class else 1
    start = np.random.default_rng(0).random((LANES, rows, STAGES))
    ends = pairs[system, :, 1] if by_class else pairs[system, :, 1].max(axis=1)[:, None]
    start[np.arange(STAGES) >= ends[:, :, None]] = 0.0
    here, there = (
        advance(
            *(tables, system, start, np.full(LANES, 500.0)),
            iterations=24,
            record=record,
            every=3,
            processor=each,
        )
        for each in (CPU, processor)
    )
    equal = [np.array_equal(here.records[name], there.records[name]) for name in record]
    fields = ("state", "evictions", "first_eviction", "last_full", "live")
    equal += [np.array_equal(getattr(here, name), getattr(there, name)) for name in fields]
    return all(equal) and bool(here.evictions.any())


if __name__ == "__main__":
    print(json.dumps(found()))
