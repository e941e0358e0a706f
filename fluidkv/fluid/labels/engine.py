"""Trajectories of many systems, by what completes and what is used up: `advance`.

Each trajectory names its system, so that a batch may hold 100,000 different ones: each does its own
work and none waits for another. Groups of trajectories go to threads; what a trajectory does
depends neither on its group nor on what is recorded of it.
"""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from fluidkv.fluid.labels.lane import (
    COMPLETED,
    COUNTS,
    ENDED,
    EVICTED,
    EVICTIONS,
    EVICTIONS_THEN,
    FIRST_EVICTION,
    LAST_FULL,
    MARKED,
    NOW,
    Looks,
    Windows,
    new_lanes,
)
from fluidkv.fluid.labels.processors import CPU, PYTHON, Call, Group, Processor
from fluidkv.fluid.labels.tables import Tables
from fluidkv.processes import cores
from fluidkv.runs.batch import Reached, Watch, go_on, in_groups
from fluidkv.runs.devices import kernels_on_gpu
from fluidkv.runs.interpreted import as_python

RECORDS = ("admitted", "completed", "evicted", "in_flight", "memory", "empty_stages", "state")

_LAID_OUT = (
    "C",
    "W",
)  # arrays of the kernel: another layout, or one to be read only, compiles anew
_PASSES = 2000  # iterations within which a trajectory has ended mostly, where looks can end it


class Advanced(NamedTuple):
    """What `advance` found.

    Fields:
        state: masses after the last iteration.
        records: by name, of each window: admitted, completed, evicted and in_flight (lane, window,
            row), memory and empty_stages (lane, window), state (lane, window, row, stage).
        ended: what ended it, of `lane`: GOES_ON where it made all iterations.
        iterations: how many it made.
        marked: iterations up to the mark of its looks.
        evictions: how many iterations evicted; and how many of them before the latest level.
        first_eviction: the first that did, -1 if none.
        last_full: the last one after whose execution memory was full, so that nothing was admitted
            (an eviction, or an exact tie); 0 if none.
        completed, evicted: requests, in all iterations, where nothing is recorded.
    """

    state: Float[np.ndarray, "lane row stage"]
    records: dict[str, np.ndarray]
    ended: Int[np.ndarray, " lane"]
    iterations: Int[np.ndarray, " lane"]
    marked: Int[np.ndarray, " lane"]
    evictions: Int[np.ndarray, " lane"]
    evictions_then: Int[np.ndarray, " lane"]
    first_eviction: Int[np.ndarray, " lane"]
    last_full: Int[np.ndarray, " lane"]
    completed: Float[np.ndarray, " lane"]
    evicted: Float[np.ndarray, " lane"]


def advance(
    tables: Tables,
    system: Int[np.ndarray, " lane"],
    start: Float[np.ndarray, "lane row stage"],
    capacity: Float[np.ndarray, " lane"],
    *,
    iterations: int | Int[np.ndarray, " lane"],
    record: Sequence[str] = (),
    every: int = 1,
    looks: Looks | None = None,
    threads: int | None = None,
    processor: Processor | None = None,
) -> Advanced:
    """Iterate each trajectory in its own system. Checks nothing.

    Args:
        tables: systems, from `tables.of_model`.
        system: of each trajectory, its place in the tables.
        start: masses with memory at or below capacity. A row is a class where the system's table
            is by class, in the system's order; else the first row alone is read, cohort masses
            (units of admission). Rows and stages that a system does not have are 0.
        capacity: M of each trajectory, tokens.
        iterations: how many at most, of all or of each.
        record: names out of `RECORDS`.
        every: length of a window; `iterations` is one number, a multiple of it, where anything is
            recorded.
        looks: what ends a trajectory before, from `looks_of`; `mark` and `reached` are filled in.
        threads: by default one for each core.
        processor: `CPU`, `PYTHON` or `gpu.GPU`; by default as `default_processor` says.

    Returns:
        See `Advanced`. The same bits for any number of threads, any group, and any record; on a GPU
        the same up to rounding. `memory` is the capacity, which each iteration fills: it cannot be
        written to.
    """
    most = int(np.max(iterations, initial=0))
    every = every if record else most + 1
    until = np.broadcast_to(iterations, len(start))
    kinds = np.int64, np.float64, np.float64, np.int64
    own = tuple(
        np.require(values, kind, _LAID_OUT)
        for values, kind in zip((system, start, capacity, until), kinds, strict=True)
    )
    windows = _windows(record, most // every, start.shape, tables)
    watched = looks_of(tables, len(start)) if looks is None else looks
    counts, sums = np.empty((len(start), COUNTS), np.int64), np.empty((len(start), 2))

    def group(at: slice) -> Group:
        return Group(
            tables,
            new_lanes(tables, *(values[at] for values in own)),
            Windows(*(values[at] for values in windows)),
            watched._replace(mark=watched.mark[at], reached=watched.reached[at]),
        )

    example = group(slice(0, 1))
    if processor is None:
        passes = len(start) * (most if looks is None else min(most, _PASSES))
        processor = default_processor(passes * tables.decode.shape[1], (*example, most, every))
    size = _lanes_of_a_group(
        processor, example, sum(x.nbytes for x in (*own, *windows)), len(start)
    )
    block = max(1, processor.call // max(1, min(size, len(start))))
    block = every * max(1, block // every) if record else block
    watch = Watch()

    def run(members: np.ndarray) -> None:
        at = slice(members[0], members[-1] + 1)
        these = group(at)
        with processor.opened(these) as call:
            go_on(partial(_next_call, call, block, most, every), most, watch)
        counts[at], sums[at] = these.lanes.counts, these.lanes.numbers[:, [COMPLETED, EVICTED]]

    threads = threads or processor.threads or cores()
    in_groups(run, len(start), size, max(1, min(threads, -(-len(start) // size))), watch)
    memory = np.broadcast_to(own[2][:, None], (len(start), most // every))
    return _advanced(windows, counts, sums, record, memory)


def _advanced(
    windows: Windows,
    counts: Int[np.ndarray, "lane count"],
    sums: Float[np.ndarray, "lane 2"],
    record: Sequence[str],
    memory: Float[np.ndarray, "lane window"],
) -> Advanced:
    columns = ENDED, NOW, MARKED, EVICTIONS, EVICTIONS_THEN, FIRST_EVICTION, LAST_FULL
    records = windows._asdict() | {"memory": memory}
    return Advanced(
        windows.final,
        {name: records[name] for name in RECORDS if name in record},
        *(counts[:, at] for at in columns),
        *sums.T,
    )


def _lanes_of_a_group(processor: Processor, example: Group, results: int, lanes: int) -> int:
    """At least one.

    Args:
        example: of one lane, whose labels are its own.
        results: bytes of what all lanes start from, and of what is found.
    """
    labels = max(1, sum(field.nbytes for field in example.lanes[4:]))
    return max(1, processor.size(labels, labels + results // max(1, lanes)))


def _next_call(call: Call, block: int, most: int, every: int, now: int) -> Reached:
    """From iteration `now` on, so many more, or to the end."""
    until = min(now + block, most)
    call(until, every)
    return Reached(until, 0, 0, until < most)


def looks_of(tables: Tables, lanes: int, **fields: np.ndarray) -> Looks:
    """Looks by their fields; without `every` there are none."""
    systems, stages, _ = tables.unit.shape
    none = Looks(
        every=np.zeros(systems, np.int64),
        moves=np.zeros(1, np.int64),
        within=np.full((systems, stages), -1.0),
        best=np.ones(systems),
        rule=np.zeros(systems, np.int64),
        terms=np.zeros(1, np.int64),
        limit=np.full(1, np.nan),
        modes=np.empty((1, 0, 2, stages)),
        mark=np.empty((lanes, 0)),
        reached=np.empty((lanes, 0), np.int64),
    )
    laid_out = {name: np.require(values, None, _LAID_OUT) for name, values in fields.items()}
    return none._replace(**laid_out)


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


def _windows(
    record: Sequence[str], windows: int, shape: tuple[int, ...], tables: Tables
) -> Windows:
    """Room for what is recorded of so many windows of states of this shape."""
    (lanes, rows, _), names = shape, [name for name in Windows._fields[:4] if name in record]
    requests = dict(zip(names, np.empty((len(names), lanes, windows, rows)), strict=True))
    room = Windows(
        *(requests.get(name, np.empty((lanes, 0, rows))) for name in Windows._fields[:4]),
        empty_stages=np.empty((lanes, windows if "empty_stages" in record else 0)),
        state=np.empty((lanes, windows if "state" in record else 0, *shape[1:])),
        final=np.empty(shape),
    )
    if np.any(tables.rows < rows):  # the kernel fills in what a system has
        for array in room:
            array.fill(0.0)
    return room
