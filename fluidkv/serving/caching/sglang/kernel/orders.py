"""Which of some requests comes first; equal ones stay in their order."""

import numpy as np

from fluidkv.runs.kernels import routine
from fluidkv.serving.caching.sglang.kernel.layout import SCRATCH, Number, Records, Space

URGENT, STAYS, STAYS_BY_PRIORITY, SOON_DONE = np.arange(4)
"""The queue by priority; who decodes, in the order of retraction from its end; who may emit the
fewest outputs yet."""


@routine
def sort(order: Number, space: Space, row: Number, size: int) -> None:
    """The first of a list, by merging; what is in order already is left as it is."""
    requests, ids = space.requests, space.places
    width = 1
    while width < size:
        for start in range(0, size, 2 * width):
            middle, end = start + width, min(start + 2 * width, size)
            if middle < end and _before(order, requests, ids[row, middle], ids[row, middle - 1]):
                _merge(order, space, row, start, middle, end)
        width *= 2


@routine
def _merge(
    order: Number,
    space: Space,
    row: Number,
    start: int,
    middle: int,
    end: int,
) -> None:
    requests, ids = space.requests, space.places
    for place in range(start, middle):
        ids[SCRATCH, place] = ids[row, place]
    left, right, to = start, middle, start
    while left < middle:
        if right < end and _before(order, requests, ids[row, right], ids[SCRATCH, left]):
            ids[row, to] = ids[row, right]
            right += 1
        else:
            ids[row, to] = ids[SCRATCH, left]
            left += 1
        to += 1


@routine
def _before(order: Number, requests: Records, a: int, b: int) -> bool:
    one, other = requests[a], requests[b]
    if order == SOON_DONE:
        return one.most - one.outputs < other.most - other.outputs
    if order != STAYS and one.priority != other.priority:
        return one.priority < other.priority
    if order == URGENT:
        return False
    if one.outputs != other.outputs:
        return one.outputs > other.outputs
    return one.input < other.input
