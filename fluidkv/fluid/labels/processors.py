"""What the kernel runs on, a group of trajectories at a time: `CPU`, `PYTHON`; `gpu.GPU`."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import NamedTuple

import numpy as np

from fluidkv.fluid.labels.lane import Lanes, Looks, Windows
from fluidkv.fluid.labels.tables import Tables
from fluidkv.runs.interpreted import interpreted

_CACHE = 2**20  # bytes of a group's labels, about what a core's own cache holds beside the rest
_LANES = 1024  # of a group at most: there are to be some for each thread
_CALL = 2**25  # iterations of a call at most, a second or so: then an interrupt counts


class Group(NamedTuple):
    """Trajectories that are advanced together: arguments of the kernel."""

    tables: Tables
    lanes: Lanes
    windows: Windows
    looks: Looks


Call = Callable[[int, int], None]
"""Advances a group of lanes: until, every."""


class Processor(NamedTuple):
    """What lanes are computed on.

    Fields:
        opened: takes a group, and gives a block in which to call what advances it.
        size: lanes of a group, from the bytes of the labels of a lane, and of all that it has.
        call: trajectory-iterations of a call at most.
        threads: that share the groups; None: one for each core.
    """

    opened: Callable[[Group], AbstractContextManager[Call]]
    size: Callable[[int, int], int]
    call: int
    threads: int | None = None


@contextmanager
def _here(group: Group) -> Iterator[Call]:
    from fluidkv.fluid.labels.kernel import advance_lanes  # Numba is loaded here

    yield partial(advance_lanes, *group)


@contextmanager
def _in_python(group: Group) -> Iterator[Call]:
    kernel = interpreted("fluidkv.fluid.labels.kernel")
    with np.errstate(all="ignore"):
        yield partial(kernel.advance_lanes, *group)


CPU = Processor(_here, lambda labels, lane: min(_CACHE // labels, _LANES), _CALL)

PYTHON = Processor(_in_python, lambda labels, lane: _LANES, _CALL >> 12, threads=1)
"""The kernel as it is written, for little work where it is not compiled yet: the same bits."""
