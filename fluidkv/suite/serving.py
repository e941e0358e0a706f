"""The request engine beside a plain Python loop of the same rule.

Requests of 512 input and 20 or 21 output tokens in turn, all there at the start, in memory of
30,208 blocks of 16 under Vidur's rule, until all are done: one run, and one for each of many seeds,
which shuffle the order. The plain loop knows nothing but this rule and records nothing; what a user
calls records every request's times and labels them. All are compared before they are timed.
"""

import tracemalloc
from functools import partial

import numpy as np

from fluidkv.runs.requests import Requests
from fluidkv.serving.limits import Limits
from fluidkv.serving.run import serve
from fluidkv.serving.server import Server
from fluidkv.suite.profiling import where_time_goes
from fluidkv.suite.report import Section, against, rate
from fluidkv.suite.settings import Effort, Told
from fluidkv.suite.timing import alternating, times

NAME = "requests"
INPUT, OUTPUTS = 512, (20, 21)
BLOCKS, BLOCK = 30_208, 16
LIMITS = Limits(BLOCKS * BLOCK, block_size=BLOCK, max_num_seqs=4096, watermark=0.01)
RULE = "vidur-sarathi"
SERVER = Server(RULE, LIMITS)
_ONE_AIM, _MANY_AIM = 10.0, 100.0


def measure(effort: Effort, tell: Told) -> Section:
    """One run, and many at once."""
    tell(f"{effort.requests:,} requests")
    one = Requests(INPUT, np.resize(OUTPUTS, effort.requests))
    many = [
        Requests(INPUT, np.random.default_rng(seed).permutation(one.output_length))
        for seed in range(effort.seeds)
    ]
    run = partial(serve, server=SERVER)
    outputs = one.output_length.tolist()
    counts = plain_loop(outputs)
    found = run(one)
    if counts != (int(found.preempt.sum()), int(found.iterations.item())):
        raise AssertionError(f"the plain loop finds {counts} evictions and iterations, not so")
    taken = alternating(
        {"plain": lambda: plain_loop(outputs), "one": lambda: run(one)}, calls=effort.calls
    )
    tell(f"{effort.seeds} runs of {effort.requests:,} requests")
    taken["many"] = times(lambda: run(many), calls=effort.calls)
    case = f"{effort.requests:,} requests"
    plain = rate(case, "plain Python loop", len(one), taken["plain"])
    alone = rate(case, "one run", len(one), taken["one"])
    batched = rate(case, f"{len(many)} runs at once", len(many) * len(one), taken["many"])
    tell("memory of a run")
    kept, counted = (_bytes_of_a_run(many, keep_requests=keep) for keep in (True, False))
    return Section(
        NAME,
        "Request engine",
        f"Requests of {INPUT} input and {OUTPUTS[0]} or {OUTPUTS[1]} output tokens in {BLOCKS:,} "
        f"blocks of {BLOCK}, Vidur's rule: {counts[1]:,} iterations, {counts[0]:,} evictions by "
        "the engine and by the loop, which records nothing; the engine records the times of every "
        "request.",
        "requests",
        (plain, alone, batched),
        (
            against(case, alone, plain, at_least=_ONE_AIM),
            against(case, batched, plain, at_least=_MANY_AIM),
        ),
        (
            f"Own time in one run, profiled: {where_time_goes(lambda: run(one))}.",
            f"Own time in {len(many)} runs: {where_time_goes(lambda: run(many))}.",
            f"A run takes {kept / 1e6:.2f} MB with the times of every request, and "
            f"{counted / 1e6:.2f} MB without (`keep_requests=False`): {_room(kept)} or "
            f"{_room(counted)} runs in a gigabyte. `batch_size` bounds what is computed together, "
            "not what is returned.",
        ),
    )


def _bytes_of_a_run(many: list[Requests], *, keep_requests: bool) -> float:
    """At the peak, result included: what NumPy takes for all runs more than for half of them."""
    peaks = []
    for runs in (many[: len(many) // 2], many):
        call = partial(serve, runs, SERVER, keep_requests=keep_requests)
        call()  # to compile takes memory too
        tracemalloc.start()
        try:
            call()
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
    return max(1.0, (peaks[1] - peaks[0]) / (len(many) - len(many) // 2))


def _room(size: float) -> str:
    return f"{int(1e9 / size):,}"


def plain_loop(outputs: list[int]) -> tuple[int, int]:
    """Evictions and iterations of Vidur's rule, as one would write it for nothing else.

    A running request is [cached tokens, blocks, cached tokens at its end]; a waiting one is
    (tokens that it needs at once, cached tokens at its end).
    """
    waiting = [(INPUT, INPUT + length - 1) for length in reversed(outputs)]
    running: list[list[int]] = []
    free, evictions, iterations = BLOCKS, 0, 0
    watermark, most = LIMITS.watermark_blocks, LIMITS.sequences
    while waiting or running:
        decoding = 0
        while decoding < len(running):
            if free < 1:
                cached, blocks, end = running.pop()
                free += blocks
                waiting.append((cached + 1, end))
                evictions += 1
                continue
            request = running[decoding]
            request[0] += 1
            if request[0] > BLOCK * request[1]:
                request[1] += 1
                free -= 1
            decoding += 1
        while waiting and len(running) < most:
            tokens, end = waiting[-1]
            blocks = -(-tokens // BLOCK)
            if free - blocks < watermark:
                break
            waiting.pop()
            free -= blocks
            running.append([tokens, blocks, end])
        free += sum(blocks for cached, blocks, end in running if cached == end)
        running = [request for request in running if request[0] != request[2]]
        iterations += 1
    return evictions, iterations
