"""The kernel on an NVIDIA GPU: `GPU`, a processor for `engine.advance`. `runs.gpu` says how."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from fluidkv.fluid.labels.kernel import advance_lanes
from fluidkv.fluid.labels.lane import Lanes, Looks, Windows
from fluidkv.fluid.labels.processors import Call, Group, Processor
from fluidkv.fluid.labels.tables import Tables
from fluidkv.runs.gpu import cuda, free_bytes, launch, room, thread, to_gpu

_FILLED = 0.8  # of what is free in the memory of the GPU
_LANES = 2**20  # of a launch at most: an H100 has 270,000 threads
_CALL = 2**33  # trajectory-iterations of a launch at most, about a second: then an interrupt counts

_FILLED_IN = ("counts", "numbers", "mark", "reached", *Windows._fields)
"""What is copied back."""


@thread
def advance_lane(
    sizes, unit, decode, parts,
    system, start, capacity, until, numbers, counts, mass, link, after, begun, flows,
    admitted, completed, evicted, in_flight, empty_stages, state, final,
    often, moves, within, best, rule, terms, limit, modes, mark, reached, end, every,
):  # fmt: skip
    """What a thread does: `advance_lanes` of its lane alone."""
    i = cuda.grid(1)  # pyright: ignore[reportCallIssue]
    if i < system.size:
        at = slice(i, i + 1)
        advance_lanes(
            Tables(sizes, unit, decode, parts),
            Lanes(
                system[at], start[at], capacity[at], until[at], numbers[at], counts[at], mass[at],
                link[at], after[at], begun[at], flows[at],
            ),
            Windows(
                admitted[at], completed[at], evicted[at], in_flight[at], empty_stages[at],
                state[at], final[at],
            ),
            Looks(often, moves, within, best, rule, terms, limit, modes, mark[at], reached[at]),
            end, every,
        )  # fmt: skip


@contextmanager
def _on_gpu(group: Group) -> Iterator[Call]:
    """A group on the GPU, to be advanced there; then its arrays are filled in."""
    of_system = (*Tables._fields, *Looks._fields[:-2])
    whole = bool(np.all(group.tables.rows == group.lanes.start.shape[1]))
    here = {name: array for fields in group for name, array in fields._asdict().items()}
    there = {
        name: room(array.shape)
        if whole and name in Windows._fields
        else to_gpu(array, by_lane=name not in of_system)
        for name, array in here.items()
    }

    def call(until: int, every: int) -> None:
        launch(advance_lane, len(group.lanes.counts), (*there.values(), until, every))

    yield call
    for name in _FILLED_IN:
        here[name][...] = there[name].copy_to_host()


def _size(labels: int, lane: int) -> int:
    return int(min(_FILLED * free_bytes() / lane, _LANES))


GPU = Processor(_on_gpu, _size, _CALL, threads=1)
