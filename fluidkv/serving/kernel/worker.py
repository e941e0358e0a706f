"""One server with a prefix cache that is handed its requests: some iterations at a call."""

import numpy as np

from fluidkv.runs.kernels import kernel
from fluidkv.serving.kernel.caching import iterate_cached
from fluidkv.serving.kernel.layout import Batch, Blocks
from fluidkv.serving.kernel.loop import begin
from fluidkv.serving.kernel.pool import clear, look_up
from fluidkv.serving.kernel.queue import come


@kernel
def start(batch: Batch, blocks: Blocks, offered: bool) -> None:
    """Nobody has come; nobody will by itself, if all are offered."""
    run = batch.runs[0]
    begin(run, batch.space.requests, batch.space.aside, batch.found.times[0], batch.tables)
    clear(run, blocks)
    if offered:
        run.arrived = run.requests


@kernel
def join(batch: Batch, r: int) -> None:
    """A request is at the tail of the queue, or where its priority puts it."""
    come(batch.runs[0], batch.space.aside, batch.space.lists, r)


@kernel
def found_tokens(batch: Batch, blocks: Blocks, r: int) -> int:
    """Tokens of a request that are in the cache."""
    run = batch.runs[0]
    return look_up(run, batch.space.requests[r], blocks, r)[0] * run.block_size


@kernel
def go_on(batch: Batch, blocks: Blocks, counts: np.ndarray, until: float, most: int) -> None:
    """One iteration and more, until the clock is there, the server is idle, or `most` work."""
    run = batch.runs[0]
    requests, aside, lists = batch.space
    times, arrival = batch.found.times[run.row], batch.tables.arrival[run.table]
    run.cost = 0
    while True:
        iterate_cached(run, requests, aside, lists, times, arrival, counts, blocks)
        idle = run.running == 0 and run.waiting == 0
        if run.now >= until or idle or run.cost > most:
            return
