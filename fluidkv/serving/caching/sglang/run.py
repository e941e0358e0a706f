"""Servers whose requests come by their table: compiled, or as plain Python."""

import sys
from collections.abc import Sequence

import numpy as np
from jaxtyping import Int

from fluidkv.runs.batch import Progress
from fluidkv.runs.records import RunRecords
from fluidkv.serving.caching.sglang.kernel.engine import LOOP, SglangServer, run_sglang
from fluidkv.serving.caching.sglang.table import check_table

LITERAL_STEPS = 10_000
"""Tokens, chunks and ticks, in all runs, up to which "auto" takes plain Python in a new process: it
does 25,000 to 200,000 a second, and the kernel takes about half a second to load."""


def run_servers(
    servers: Sequence[SglangServer],
    backend: str,
    *,
    iterations: int,
    every: int,
    keep_requests: bool,
    on_progress: Progress | None,
) -> tuple[RunRecords, Int[np.ndarray, "run kind request"] | None]:
    """All runs, compiled or literally, which is the same; as `run_sglang`.

    Raises:
        InputError: as `check_table`, before the first one runs.
    """
    for each in servers:
        check_table(each.requests, each.settings)
    return run_sglang(
        servers,
        literally=backend == "reference" or (backend == "auto" and _is_little(servers, iterations)),
        iterations=iterations,
        every=every,
        keep_requests=keep_requests,
        on_progress=on_progress,
    )


def _is_little(servers: Sequence[SglangServer], iterations: int) -> bool:
    """Whether plain Python is done before the kernel, which is not there, is loaded."""
    if LOOP in sys.modules:
        return False
    steps = 0
    for each in servers:
        idle = 0 if each.clock.jumps else each.requests.arrival.max() / each.clock.base
        chunks = each.requests.input_length / float(each.settings.chunked_prefill_size or np.inf)
        passes = int(each.requests.output_length.sum() + chunks.sum() + idle)
        steps += min(passes, len(each.requests) * iterations)
    return steps <= LITERAL_STEPS
