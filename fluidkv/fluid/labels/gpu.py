"""The kernel on an NVIDIA GPU: `GPU`, a processor for `engine.advance`. `runs.gpu` says how."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from fluidkv.fluid.labels.group import Call, Lanes, Processor
from fluidkv.fluid.labels.kernel import advance_lanes
from fluidkv.fluid.labels.tables import Tables
from fluidkv.runs.gpu import cuda, free_bytes, launch, room, thread, to_gpu

_FILLED = 0.8  # of what is free in the memory of the GPU
_LANES = 2**20  # of a launch at most: an H100 has 270,000 threads
_CALL = 2**33  # trajectory-iterations of a launch at most, about a second: then an interrupt counts


@thread
def advance_lane(
    sizes, unit, segment, end, freed, classes, amounts,
    system, start, capacity, numbers, counts, mass, link, after, begun, flows,
    wanted, levels, empty, states, final, until, every,
):  # fmt: skip
    """What a thread does: `advance_lanes` of its lane alone."""
    i = cuda.grid(1)  # pyright: ignore[reportCallIssue]
    if i < system.size:
        at = slice(i, i + 1)
        advance_lanes(
            sizes, unit, segment, end, freed, classes, amounts,
            system[at], start[at], capacity[at], numbers[at], counts[at], mass[at], link[at],
            after[at], begun[at], flows[at],
            wanted, levels[:, at], empty[at], states[at], final[at], until, every,
        )  # fmt: skip


@contextmanager
def _on_gpu(
    tables: Tables, own: Sequence[np.ndarray], group: Lanes, out: Sequence[np.ndarray]
) -> Iterator[Call]:
    """A group on the GPU, to be advanced there; then `group.counts` and `out` are filled in."""
    wanted, *results = out
    shared = [to_gpu(array, by_lane=False) for array in (*tables, wanted)]
    lanes = [to_gpu(array, by_lane=True) for array in (*own, *group)]
    filled = [room(array.shape) for array in results]
    arguments = (*shared[:-1], *lanes, shared[-1], *filled)

    def call(until: int, every: int) -> None:
        launch(advance_lane, len(group.counts), (*arguments, until, every))

    yield call
    counts = lanes[len(own) + Lanes._fields.index("counts")]
    for array, copied in zip((group.counts, *results), (counts, *filled), strict=True):
        array[...] = copied.copy_to_host()


def _size(labels: int, lane: int) -> int:
    return int(min(_FILLED * free_bytes() / lane, _LANES))


GPU = Processor(_on_gpu, _size, _CALL, threads=1)
