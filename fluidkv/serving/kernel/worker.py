"""One server that does some iterations at a call, and may be handed its requests."""

import numpy as np

from fluidkv.serving.kernel.admit import is_stuck
from fluidkv.serving.kernel.layout import Batch, Blocks, Records
from fluidkv.serving.kernel.loop import begin, iterate
from fluidkv.serving.kernel.loop import start as start_with
from fluidkv.serving.kernel.pool import clear, look_up
from fluidkv.serving.kernel.requeue import come


def start(batch: Batch, passes: Records | None, blocks: Blocks | None, offered: bool) -> None:
    """Before the first iteration; nobody comes by itself, if all are offered.

    Args:
        passes, blocks: as of `loop.advance`, without a calendar.
    """
    run, times = batch.runs[0], batch.found.times[0]
    requests, aside, lists = batch.space
    begin(run, requests, aside, times, batch.tables)
    start_with(run, requests, aside, lists, passes, times, batch.tables)
    if blocks is not None:
        clear(run, blocks)
    if offered:
        run.arrived = run.requests


def join(batch: Batch, r: int) -> None:
    """A request is at the tail of the queue, or where its priority puts it."""
    come(batch.runs[0], batch.space.aside, batch.space.lists, r)


def stuck(batch: Batch) -> bool:
    """Whether whoever waits first can never be admitted."""
    return is_stuck(batch.runs[0], *batch.space)


def found_tokens(batch: Batch, blocks: Blocks, r: int) -> int:
    """Tokens of a request that are in the cache."""
    run = batch.runs[0]
    return look_up(run, batch.space.requests[r], blocks, r)[0] * run.block_size


def go_on(
    batch: Batch,
    passes: Records | None,
    blocks: Blocks | None,
    counts: np.ndarray,
    until: float,
    most: int,
) -> None:
    """One iteration and more, until the clock is there, the server is idle, or `most` work."""
    run = batch.runs[0]
    requests, aside, lists = batch.space
    times, arrival = batch.found.times[run.row], batch.tables.arrival[run.table]
    run.cost = 0
    while True:
        iterate(run, requests, aside, lists, passes, times, arrival, counts, blocks)
        idle = run.running == 0 and run.waiting == 0
        if run.now >= until or idle or run.cost > most:
            return
