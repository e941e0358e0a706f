"""What a step counts and shows, as `seen` has it, and how long it lasts."""

import numpy as np

from fluidkv.runs.kernels import inner
from fluidkv.serving.caching.sglang.kernel.layout import Record
from fluidkv.serving.caching.sglang.kernel.memory import free_tokens
from fluidkv.serving.kernel.budget import duration, of_batch


@inner
def begin_pass(run: Record) -> None:
    """Nothing has happened in it."""
    run.prefill = run.pairs = run.hits = run.recomputed = run.first = run.resumed = 0
    run.admitted = run.retracted = run.gone = run.finished = run.emitted = run.noted = 0


@inner
def count(run: Record, counts: np.ndarray, in_memory: int, held: int) -> None:
    counts[1] += in_memory
    counts[2] += run.tail - run.head
    counts[3] += (run.tokens - free_tokens(run)) // run.page
    counts[4] += run.retracted
    counts[5] += run.first - run.resumed
    counts[6] += run.resumed
    counts[8] += run.pass_size
    counts[9] += run.prefill + run.pass_size - run.admitted
    counts[10] += run.prefill
    counts[11] += run.recomputed
    counts[12] += held
    counts[14] += run.hits


@inner
def show(run: Record) -> None:
    """What `seen.Row` says, before the results."""
    run.seen_arrived = run.arrived
    run.seen_mode, run.seen_batch = run.pass_mode, run.pass_size
    run.seen_running = run.decoding
    run.seen_waiting = run.tail - run.head
    run.seen_available, run.seen_total = run.available, run.total
    run.seen_protected = run.protected
    run.seen_full, run.seen_chunked, run.seen_ratio = run.full, run.chunked, run.ratio


@inner
def passes(run: Record, held: int, decoding: int) -> None:
    """The clock goes on by what the pass costs."""
    run.now += duration(
        run.base, run.per_kv, held, run.per_prefill, run.prefill, run.per_pair, run.pairs
    ) + of_batch(run.per_request, decoding, run.experts, run.expert_share, run.prefill + decoding)
