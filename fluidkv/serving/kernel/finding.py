"""A prefix cache where no request begins like another: one that was preempted finds itself again.

Free blocks stand in a line, as in `kernel.pool`: first those that say nothing, then those that are
full, in the order in which they were set free, and of a request the last one first. So what is left
of a request in the line are its leading blocks, and the line is a list of requests.
"""

import numpy as np

from fluidkv.runs.inlined import inlined
from fluidkv.serving.kernel.layout import Record, Space
from fluidkv.serving.kernel.linked import append, remove


@inlined
def into_line(run: Record, request: Record, space: Space, r: int) -> None:
    """Its full blocks go to the end of the line; one that is not full, to the front."""
    full = request.computed // run.block_size
    run.blank += request.blocks - full
    if full == 0:
        return
    space.aside[r].line = full
    append(run, space.aside, r)


@inlined
def from_line(run: Record, space: Space, blocks: int) -> None:
    """So many blocks from the front of the line; what they said is forgotten."""
    left = blocks - min(run.blank, blocks)
    run.blank -= blocks - left
    run.forgotten += left
    run.known -= left
    while left > 0:
        r = run.oldest
        gone = min(space.aside[r].line, left)
        space.aside[r].line -= gone
        left -= gone
        if space.aside[r].line == 0:
            remove(run, space.aside, r)


@inlined
def find_itself(run: Record, space: Space, r: int) -> None:
    """It is admitted, and holds what is left of it in the line."""
    tokens = space.aside[r].line * run.block_size
    if tokens > 0:
        space.aside[r].line = 0
        remove(run, space.aside, r)
        space.aside[r].hit_tokens += tokens
        run.found += tokens


@inlined
def count_cache(run: Record, counts: np.ndarray) -> None:
    """At the end of an iteration, as `WITH_CACHE`."""
    counts[14] += run.known
    counts[15] += run.distinct
    counts[16] += run.forgotten
    counts[17] += run.found
    run.forgotten = run.found = 0
