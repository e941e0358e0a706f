"""Trajectories of many systems, by what completes and what is used up: `advance`.

Each trajectory names its system, so that a batch may hold 100,000 different ones: each does its own
work and none waits for another. Groups of trajectories go to threads; what a trajectory does
depends neither on its group nor on what is recorded of it.

`reference` says what is computed, `kernel` computes it, `tables` packs systems.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from fluidkv.fluid.labels.group import CPU, PYTHON, Processor, Windows, new_lanes
from fluidkv.fluid.labels.lane import COUNTS, EVICTIONS, FIRST_EVICTION, LAST_FULL, LIVE, NEVER
from fluidkv.fluid.labels.tables import Tables
from fluidkv.processes import cores
from fluidkv.runs.batch import Progress, Reached, Watch, go_on, in_groups
from fluidkv.runs.devices import kernels_on_gpu
from fluidkv.runs.interpreted import as_python

REQUESTS = ("admitted", "completed", "evicted", "in_flight")  # in the order of the kernel's names
RECORDS = (*REQUESTS, "memory", "empty_stages", "state")


class Advanced(NamedTuple):
    """What `advance` found.

    Fields:
        state: masses after the last iteration.
        records: by name, of each window: admitted, completed, evicted and in_flight (lane, window,
            row), memory and empty_stages (lane, window), state (lane, window, row, stage).
        evictions: how many iterations evicted.
        first_eviction: the first that did, -1 if none.
        last_full: the last one after whose execution memory was full, so that nothing was admitted
            (an eviction, or an exact tie); 0 if none.
        live: stages with mass at the end.
    """

    state: Float[np.ndarray, "lane row stage"]
    records: dict[str, np.ndarray]
    evictions: Int[np.ndarray, " lane"]
    first_eviction: Int[np.ndarray, " lane"]
    last_full: Int[np.ndarray, " lane"]
    live: Int[np.ndarray, " lane"]


def advance(
    tables: Tables,
    system: Int[np.ndarray, " lane"],
    start: Float[np.ndarray, "lane row stage"],
    capacity: Float[np.ndarray, " lane"],
    *,
    iterations: int,
    record: Sequence[str] = (),
    every: int = 1,
    threads: int | None = None,
    progress: Progress | None = None,
    processor: Processor | None = None,
) -> Advanced:
    """Iterate each trajectory in its own system. Checks nothing.

    Args:
        tables: systems, from `tables.pack`, `of_systems` or `of_model`.
        system: of each trajectory, its place in the tables.
        start: masses with memory at or below capacity. A row is a class where the system's table
            is by class, in the system's order; else the first row alone is read, cohort masses
            (units of admission). Rows and stages that a system does not have are 0.
        capacity: M of each trajectory, tokens.
        iterations: how many.
        record: names out of `RECORDS`.
        every: length of a window; `iterations` is a multiple of it where anything is recorded.
        threads: by default one for each core.
        progress: told now and then, maybe from another thread: iterations, trajectories done.
        processor: `group.CPU`, `group.PYTHON` or `gpu.GPU`; by default as `default_processor` says.

    Returns:
        See `Advanced`. The same bits for any number of threads, any group, and any record; on a GPU
        the same up to rounding. `memory` is the capacity, which each iteration fills: it cannot be
        written to.
    """
    lanes, rows, _ = start.shape
    every = every if record else max(1, iterations)
    windows = iterations // every
    system = np.ascontiguousarray(system, dtype=np.int64)
    start = np.ascontiguousarray(start, dtype=np.float64)
    capacity = np.ascontiguousarray(capacity, dtype=np.float64)
    read = _windows(record, windows, start.shape)
    final, counts = np.empty(start.shape), np.empty((lanes, COUNTS), np.int64)
    one = new_lanes(tables, 1, rows)
    if processor is None:
        passes = lanes * iterations * (1 + tables.end.shape[1])
        out = read.wanted, read.levels[:, :1], read.empty[:1], read.states[:1], final[:1]
        example = *tables, system[:1], start[:1], capacity[:1], *one, *out, iterations, every
        processor = default_processor(passes, example)
    labels = sum(field.nbytes for field in one)
    own_bytes = sum(array.nbytes for array in (start, *read, final)) // max(1, lanes)
    size = max(1, processor.size(labels, labels + own_bytes))
    block = max(1, processor.call // max(1, min(size, lanes)))
    block = every * max(1, block // every) if record else block
    watch = Watch(progress)

    def run(members: np.ndarray) -> None:
        at, count = slice(members[0], members[-1] + 1), len(members)
        group = new_lanes(tables, count, rows)
        own = system[at], start[at], capacity[at]
        out = read.wanted, read.levels[:, at], read.empty[at], read.states[at], final[at]
        with processor.opened(tables, own, group, out) as advance_group:

            def on(now: int) -> Reached:
                until = min(now + block, iterations)
                advance_group(until, every)
                done = count if until == iterations else 0
                return Reached(until, until * count, done, until < iterations)

            go_on(on, iterations, watch)
        counts[at] = group.counts

    threads = threads or processor.threads or cores()
    in_groups(run, lanes, size, min(threads, -(-lanes // size)), watch)
    found = (counts[:, column] for column in (EVICTIONS, FIRST_EVICTION, LAST_FULL, LIVE))
    return Advanced(final, _records(record, read, capacity), *found)


def default_processor(passes: int, example: tuple) -> Processor:
    """A GPU, where JAX computes on one and the kernel can; the CPU; Python, for little work where
    the kernel is not compiled.

    Args:
        passes: of its loops, about.
        example: arguments of the kernel as it will be called.
    """
    if kernels_on_gpu():
        from fluidkv.fluid.labels.gpu import GPU

        return GPU

    def compiled() -> bool:
        from fluidkv.fluid.labels.kernel import advance_lanes  # Numba is loaded here
        from fluidkv.runs.kernels import is_compiled

        return is_compiled(advance_lanes, example)

    return PYTHON if as_python(passes, compiled) else CPU


def _windows(record: Sequence[str], windows: int, shape: tuple[int, ...]) -> Windows:
    """Room for what is recorded of so many windows of states of this shape."""
    lanes, rows, stages = shape
    names = [name for name in REQUESTS if name in record]
    return Windows(
        wanted=np.array([names.index(name) if name in names else NEVER for name in REQUESTS]),
        levels=np.empty((len(names), lanes, windows, rows)),
        empty=np.empty((lanes, windows if "empty_stages" in record else 0)),
        states=np.empty((lanes, windows if "state" in record else 0, rows, stages)),
    )


def _records(
    record: Sequence[str], read: Windows, capacity: Float[np.ndarray, " lane"]
) -> dict[str, np.ndarray]:
    """What was recorded, by name, in the order of `RECORDS`."""
    lanes, windows = read.levels.shape[1:3]
    values = dict(zip((name for name in REQUESTS if name in record), read.levels, strict=True))
    values["memory"] = np.broadcast_to(capacity[:, None], (lanes, windows))
    values |= {"empty_stages": read.empty, "state": read.states}
    return {name: values[name] for name in RECORDS if name in record}
