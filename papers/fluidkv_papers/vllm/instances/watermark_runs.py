"""The watermark benchmark of vLLM's pull request 44594, run again in the `vllm` preset.

Published: Qwen2.5-7B-Instruct on one GB200, 299,584 KV tokens, max_num_seqs 256, no prefix cache;
450 prompts of the `random` dataset, inputs about 1,000 and outputs about 5,000 with range ratio
0.2, 128 clients. Not published, and taken here: the seed (0, the tool's default), 16 tokens a block
and 8,192 tokens a step (vLLM's defaults for a server on such a device).

In a closed population nothing depends on the clock but the times: who is evicted when follows from
the lengths alone. So runs are made once, in iterations, and a clock is laid over them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import xarray as xr
from jaxtyping import Float

from fluidkv.runs.requests import Requests
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.limits import Limits
from fluidkv.serving.run import serve
from fluidkv.serving.server import Server
from fluidkv_papers.vllm.instances.bench import bench_requests

PROMPTS, INPUT, OUTPUT, RATIO, CLIENTS = 450, 1000, 5000, 0.2, 128
BLOCK_SIZE, SEQUENCES, BUDGET = 16, 256, 8192
CAPACITY = 299_584 - BLOCK_SIZE  # vLLM sets one block of its pool aside

KV_BYTES = 2 * 28 * 4 * 128 * 2  # keys and values, layers, KV heads, head size, bfloat16
WEIGHT_BYTES = 2 * 7_615_616_512  # parameters of Qwen2.5-7B, bfloat16
"""57,344 bytes a token; 16 GiB of them are the 299,584 published tokens, in whole blocks."""


@dataclass(frozen=True)
class Row:
    """One row of the table; times in seconds. None: not at hand."""

    watermark: float
    preemptions: int
    output_per_s: float
    requests_per_s: float
    ttft_p50: float | None = None
    ttft_p99: float | None = None
    itl_p99: float | None = None
    latency_p50: float | None = None


PUBLISHED = (
    Row(0.0, 1065, 11582, 2.306, 6.56, 25.51, 0.04062, 51.6),
    Row(0.02, 400, 12134, 2.416, 11.80, 26.49, 0.01880, 48.4),
    Row(0.05, 187, 12167, 2.423, 11.20, 28.94, 0.01770, 47.9),
    Row(0.10, 168, 11835, 2.356, 8.96, 31.02, 0.01757, 48.6),
    Row(0.15, 168, 11635, 2.317),
)
WATERMARKS = tuple(row.watermark for row in PUBLISHED)


def drawn(seed: int = 0) -> Requests:
    """The benchmark's requests, in the order in which its client sends them."""
    return bench_requests(PROMPTS, INPUT, OUTPUT, range_ratio=RATIO, seed=seed)


def arrived(order: int, *, within: int | None = None) -> Requests:
    """The same in an order in which they may reach the scheduler; 0 is the client's.

    The client sends the first 128 at once, and the server reads, tokenizes and hands on each by
    itself: in `shared/traces/vllm_cpu_tiny` 74 of 250 requests reach vLLM's scheduler in another
    place than they were sent in, up to 11 places away. How far it goes here is not known.

    Args:
        within: places by which a request may be moved, fewer than so many; None: any order of the
            128, the widest choice.
    """
    requests = drawn()
    if not order:
        return requests
    rng = np.random.default_rng(order)
    first = rng.permutation(CLIENTS)
    if within is not None:
        first = np.argsort(np.arange(CLIENTS) + rng.uniform(0, within, CLIENTS))
    places = np.concatenate([first, np.arange(CLIENTS, PROMPTS)])
    return Requests(requests.input_length[places], requests.output_length[places])


def limits(watermark: float = 0.0, **caps: Any) -> Limits:
    """The benchmark's server, with one setting changed."""
    settings: dict[str, Any] = {
        "max_num_seqs": SEQUENCES,
        "max_num_batched_tokens": BUDGET,
        **caps,
    }
    return Limits(CAPACITY, BLOCK_SIZE, watermark=watermark, **settings)


@dataclass(frozen=True, eq=False)
class Totals:
    """What runs add up to; shapes (run,). Enough for the duration by any clock."""

    preemptions: Float[np.ndarray, " run"]
    outputs: Float[np.ndarray, " run"]
    iterations: Float[np.ndarray, " run"]
    kv_tokens: Float[np.ndarray, " run"]
    prefill_tokens: Float[np.ndarray, " run"]

    def output_per_s(self, clock: IterationClock) -> Float[np.ndarray, " run"]:
        duration = (
            clock.base * self.iterations
            + clock.per_kv_token * self.kv_tokens
            + clock.per_prefill_token * self.prefill_tokens
        )
        return self.outputs / duration


def totals(
    requests: Requests | Sequence[Requests],
    settings: Sequence[Limits],
    clients: int | Sequence[int] = CLIENTS,
) -> Totals:
    """Closed populations through the `vllm` preset, one run for each setting."""
    every = 256
    run = serve(
        requests, Server("vllm", settings), clients=clients, every=every, keep_requests=False
    )
    last = run.iterations - (np.ceil(run.iterations / every) - 1) * every
    lengths = xr.where(run.iteration >= run.iterations, last, every)

    def summed(name: str) -> Float[np.ndarray, " run"]:
        return run[name].sum("window").values.astype(float)

    return Totals(
        preemptions=summed("preempt"),
        outputs=summed("new_outputs"),
        iterations=run.iterations.values.astype(float),
        kv_tokens=(run.kv_tokens * lengths).sum("window").values,  # a window holds a level's mean
        prefill_tokens=summed("prefill_tokens"),
    )


@cache
def published_runs() -> xr.Dataset:
    """The published watermarks, by the requests of seed 0, in iterations: as `serve` returns it."""
    return serve(drawn(), Server("vllm", [limits(w) for w in WATERMARKS]), clients=CLIENTS)


@cache
def fitted_clock() -> IterationClock:
    """Two unknowns from two numbers of the first published row: output tokens/s and ITL p99.

    The third is the ratio of d1 to d0. A decode step reads all weights and all cached tokens, so it
    is taken as that of their bytes; the row says nothing of it, since memory is always full.
    """
    first, run = PUBLISHED[0], _run(published_runs(), 0)
    duration = run.outputs.sum() / first.output_per_s
    decode = 1 + KV_BYTES / WEIGHT_BYTES * run.kv_tokens  # of each iteration, in units of d0

    def clock(per_prefill_token: float) -> IterationClock:
        base = (duration - per_prefill_token * run.prefill_tokens.sum()) / decode.sum()
        return IterationClock(base, base * KV_BYTES / WEIGHT_BYTES, per_prefill_token)

    low, high = 0.0, 0.9 * duration / run.prefill_tokens.sum()
    for _ in range(60):  # to the last digit of a double
        middle = (low + high) / 2
        short = gap_p99(run.durations(clock(middle)), run.outputs) < (first.itl_p99 or 0)
        low, high = (middle, high) if short else (low, middle)
    return clock((low + high) / 2)


def clock_of_one_number() -> IterationClock:
    """One unknown from the output tokens/s of the first row: prefill takes no time of its own."""
    run = _run(published_runs(), 0)
    decode = 1 + KV_BYTES / WEIGHT_BYTES * run.kv_tokens
    base = run.outputs.sum() / PUBLISHED[0].output_per_s / decode.sum()
    return IterationClock(float(base), float(base) * KV_BYTES / WEIGHT_BYTES)


def predicted(clock: IterationClock) -> tuple[Row, ...]:
    """Our rows, by a clock; in the order of `PUBLISHED`."""
    return rows(published_runs(), clock)


def rows(runs: xr.Dataset, clock: IterationClock) -> tuple[Row, ...]:
    """The rows of runs at the published watermarks, in their order."""
    return tuple(_row(runs, index, clock) for index in range(len(WATERMARKS)))


def gap_p99(
    durations: Float[np.ndarray, " iteration"], outputs: Float[np.ndarray, " iteration"]
) -> float:
    """99th percentile of the time between two tokens: durations, weighted with tokens.

    Pauses of evicted requests are left out: some 1,000 of more than two million gaps, which moves
    the percentile from the 1.00 % to the 1.05 % longest.
    """
    order = np.argsort(durations)
    reached = np.cumsum(outputs[order])
    return float(durations[order][np.searchsorted(reached, 0.99 * reached[-1])])


@dataclass(frozen=True, eq=False)
class _Run:
    """One run, iteration by iteration."""

    kv_tokens: Float[np.ndarray, " iteration"]
    prefill_tokens: Float[np.ndarray, " iteration"]
    outputs: Float[np.ndarray, " iteration"]

    def durations(self, clock: IterationClock) -> Float[np.ndarray, " iteration"]:
        kv, prefill = clock.per_kv_token * self.kv_tokens, clock.per_prefill_token
        return clock.base + kv + prefill * self.prefill_tokens


def _run(runs: xr.Dataset, index: int) -> _Run:
    one = runs.isel(run=index, window=slice(int(runs.iterations[index])))
    names = ("kv_tokens", "prefill_tokens", "new_outputs")
    return _Run(*(one[name].values.astype(float) for name in names))


def _row(runs: xr.Dataset, index: int, clock: IterationClock) -> Row:
    run, one = _run(runs, index), runs.isel(run=index)
    durations = run.durations(clock)
    at = np.concatenate(([0.0], np.cumsum(durations)))  # when so many iterations have ended
    arrival, first, last = (
        at[one[name].values.astype(int)] for name in ("arrival", "first_token", "last_token")
    )
    return Row(
        watermark=WATERMARKS[index],
        preemptions=int(one.preempt.sum()),
        output_per_s=float(run.outputs.sum() / at[-1]),
        requests_per_s=float(PROMPTS / at[-1]),
        ttft_p50=float(np.quantile(first - arrival, 0.5)),
        ttft_p99=float(np.quantile(first - arrival, 0.99)),
        itl_p99=gap_p99(durations, run.outputs),
        latency_p50=float(np.quantile(last - arrival, 0.5)),
    )
