"""What `test_gpu` asks of a process in which Numba plays a GPU; prints what was found as JSON.

Run as a module: Numba reads its settings when it is loaded. Threads of such a GPU are threads of
Python and nothing is compiled, so both processors do the same operations.
"""

import json

import numpy as np

from fluidkv.fluid import class_model, cohort_model
from fluidkv.fluid.labels.engine import RECORDS, Advanced, advance, looks_of
from fluidkv.fluid.labels.gpu import GPU
from fluidkv.fluid.labels.lane import Looks
from fluidkv.fluid.labels.processors import CPU, Processor
from fluidkv.fluid.labels.tables import of_model
from fluidkv.systems import Systems
from fluidkv.workload import System, Workload

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
        "what looks end": same([[(5, 6)], [(3, 4)]], False, GPU, record=(), often=4),
    }


def same(
    lengths: list[list[tuple[int, int]]],
    by_class: bool,
    processor: Processor,
    record: tuple[str, ...] = RECORDS,
    often: int = 0,
) -> bool:
    """Whether all that is found is the same bits as on the CPU; that something evicts, too."""
    pairs = np.array(lengths)
    systems = Systems.of([System(Workload.from_lengths(each), 500) for each in lengths])
    tables = of_model((class_model if by_class else cohort_model)(systems))
    assert tables is not None
    system = np.arange(LANES) % len(pairs)
    rows = pairs.shape[1] if by_class else 1
    start = np.random.default_rng(0).random((LANES, rows, STAGES))
    ends = pairs[system, :, 1] if by_class else pairs[system, :, 1].max(axis=1)[:, None]
    start[np.arange(STAGES) >= ends[:, :, None]] = 0.0

    def run(on: Processor) -> tuple[Advanced, Looks]:
        looks = looks_of(
            tables,
            LANES,
            every=np.full(len(pairs), often),
            within=np.full((len(pairs), STAGES), 2.0),
            mark=start[:, 0].copy(),
            reached=np.zeros((LANES, STAGES * (often > 0)), np.int64),
        )
        plan = {"record": record, "every": 3, "looks": looks, "processor": on}
        return advance(tables, system, start, np.full(LANES, 500.0), iterations=24, **plan), looks

    (here, marked), (there, other) = (run(each) for each in (CPU, processor))
    equal = [np.array_equal(here.records[name], there.records[name]) for name in record]
    fields = ("state", "iterations", "ended", "evictions", "first_eviction", "last_full", "evicted")
    equal += [np.array_equal(getattr(here, name), getattr(there, name)) for name in fields]
    equal += [np.array_equal(getattr(marked, x), getattr(other, x)) for x in ("mark", "reached")]
    equal += [bool(here.evictions.any()), bool(here.ended.any()) == (often > 0)]
    return all(equal)


if __name__ == "__main__":
    print(json.dumps(found()))
