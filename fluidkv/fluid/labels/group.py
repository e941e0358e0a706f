"""A group of trajectories as the kernel takes it, and what it is computed on."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from fluidkv.fluid.labels.lane import COUNTS, FIRST_EVICTION, FLOWS, NEVER, NOW, NUMBERS
from fluidkv.fluid.labels.tables import CLASSES, Tables
from fluidkv.runs.batch import power_of_two
from fluidkv.runs.interpreted import interpreted

_CACHE = 2**20  # bytes of a group's labels, about what a core's own cache holds beside the rest
_LANES = 1024  # of a group at most: there are to be some for each thread
_CALL = 2**25  # iterations of a call at most, a second or so: then an interrupt counts


class Lanes(NamedTuple):
    """Trajectories where they are.

    Fields:
        numbers, counts: columns of `lane`.
        mass, link, after: units of the label that entered in iteration b, and the births of those
            before and after it that are left, at b modulo the size of the ring.
        begun, flows: see `by_class` and `lane`.
    """

    numbers: Float[np.ndarray, "lane number"]
    counts: Int[np.ndarray, "lane count"]
    mass: Float[np.ndarray, "lane label"]
    link: Int[np.ndarray, "lane label"]
    after: Int[np.ndarray, "lane label"]
    begun: Float[np.ndarray, "lane stage"]
    flows: Float[np.ndarray, "lane 4 end|row"]


class Windows(NamedTuple):
    """What is read at the end of each window.

    Fields:
        wanted: of each of `REQUESTS`, which of the levels it is; NEVER where it is not wanted.
        levels: requests, summed over the window or at its end.
        empty, states: stages without mass; masses. No windows where they are not wanted.
    """

    wanted: Int[np.ndarray, " 4"]
    levels: Float[np.ndarray, "wanted lane window row"]
    empty: Float[np.ndarray, "lane window"]
    states: Float[np.ndarray, "lane window row stage"]


Call = Callable[[int, int], None]
"""Advances a group of lanes: until, every."""


class Processor(NamedTuple):
    """What lanes are computed on.

    Fields:
        opened: takes the arrays of a group (tables; system, start, capacity; lanes; what is to be
            filled in), and gives a block in which to call what advances it.
        size: lanes of a group, from the bytes of the labels of a lane, and of all that it has.
        call: trajectory-iterations of a call at most.
        threads: that share the groups; None: one for each core.
    """

    opened: Callable[..., AbstractContextManager[Call]]
    size: Callable[[int, int], int]
    call: int
    threads: int | None = None


@contextmanager
def _here(
    tables: Tables, own: Sequence[np.ndarray], group: Lanes, out: Sequence[np.ndarray]
) -> Iterator[Call]:
    from fluidkv.fluid.labels.kernel import advance_lanes  # Numba is loaded here

    yield partial(advance_lanes, *tables, *own, *group, *out)


@contextmanager
def _in_python(
    tables: Tables, own: Sequence[np.ndarray], group: Lanes, out: Sequence[np.ndarray]
) -> Iterator[Call]:
    kernel = interpreted("fluidkv.fluid.labels.kernel")
    with np.errstate(all="ignore"):
        yield partial(kernel.advance_lanes, *tables, *own, *group, *out)


CPU = Processor(_here, lambda labels, lane: min(_CACHE // labels, _LANES), _CALL)

PYTHON = Processor(_in_python, lambda labels, lane: _LANES, _CALL >> 12, threads=1)
"""The kernel as it is written, for little work where it is not compiled yet: the same bits."""


def new_lanes(tables: Tables, count: int, rows: int) -> Lanes:
    """Room for lanes that have not begun."""
    (_, stages), ends = tables.segment.shape, tables.end.shape[1]
    ring, by_class = power_of_two(stages), bool(np.any(tables.sizes[:, CLASSES]))
    counts = np.zeros((count, COUNTS), np.int64)
    counts[:, [NOW, FIRST_EVICTION]] = NEVER
    return Lanes(
        numbers=np.empty((count, NUMBERS)),
        counts=counts,
        mass=np.zeros((count, ring)),
        link=np.empty((count, ring), np.int64),
        after=np.zeros((count, ring), np.int64),
        begun=np.ones((count, by_class * stages)),
        flows=np.zeros((count, FLOWS, by_class * max(ends, rows))),
    )
