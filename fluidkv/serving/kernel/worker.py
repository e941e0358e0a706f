"""One server that does some iterations at a call, and may be handed its requests."""

import numpy as np

from fluidkv.serving.kernel.admit import is_stuck
from fluidkv.serving.kernel.layout import Blocks, Records, Space, Tables
from fluidkv.serving.kernel.loop import begin, iterate
from fluidkv.serving.kernel.loop import start as start_with
from fluidkv.serving.kernel.pool import clear, look_up
from fluidkv.serving.kernel.requeue import come


def start(
    runs: Records,
    space: Space,
    tables: Tables,
    passes: Records | None,
    blocks: Blocks | None,
    offered: bool,
) -> None:
    """Before the first iteration; nobody comes by itself, if all are offered.

    Args:
        runs: the one record.
        passes, blocks: as of `loop.advance`, without a calendar.
    """
    run = runs[0]
    begin(run, space, tables)
    start_with(run, space, passes, tables)
    if blocks is not None:
        clear(run, blocks)
    if offered:
        run.arrived = run.requests


def join(runs: Records, space: Space, r: int) -> None:
    """A request is at the tail of the queue, or where its priority puts it."""
    come(runs[0], space, r)


def stuck(runs: Records, space: Space) -> bool:
    """Whether whoever waits first can never be admitted."""
    return is_stuck(runs[0], space)


def found_tokens(runs: Records, space: Space, blocks: Blocks, r: int) -> int:
    """Tokens of a request that are in the cache."""
    run = runs[0]
    return look_up(run, space.requests[r], blocks, r)[0] * run.block_size


def go_on(
    runs: Records,
    space: Space,
    passes: Records | None,
    blocks: Blocks | None,
    counts: np.ndarray,
    until: float,
    most: int,
) -> None:
    """One iteration and more, until the clock is there, the server is idle, or `most` work."""
    run = runs[0]
    run.cost = 0
    while True:
        iterate(run, space, passes, counts, blocks)
        idle = run.running == 0 and run.waiting == 0
        if run.now >= until or idle or run.cost > most:
            return
