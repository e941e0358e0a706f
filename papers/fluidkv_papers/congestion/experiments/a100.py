"""Llama-3-8B on one A100 as Vidur has it: memory, a clock, and runs of the paper's workloads.

Memory, block size, watermark and batch cap are those of the scheduler records of Vidur that
`tests/serving/records/test_replay.py` replays; the prefill budget is unlimited there, and so it
is here.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING

from fluidkv import runs, serving
from fluidkv.workload import RequestClass, System, Workload

if TYPE_CHECKING:
    import xarray as xr

Lengths = tuple[int, ...]

BLOCKS, BLOCK_SIZE, WATERMARK, BATCH_CAP = 30_208, 16, 0.01, 4096
CAPACITY = BLOCKS * BLOCK_SIZE
INPUT, REQUESTS = 512, 20_000
ENGINES = ("restart", "vidur-sarathi")

BASE_S, PER_KV_TOKEN_S = 9.93e-3, 1.656e-7
"""A straight line through the decode batches that Vidur's profile has, up to 512 requests (R^2
0.98). It knows nothing of prefills, and batches here are larger: seconds are for comparing our
rows with one another."""

PEAK_FLOPS = 312 * 10**12
"""Of an A100 or A800: dense BF16, its data sheet."""


def _weights(layers: int, width: int, kv_width: int, inner: int) -> int:
    """What each prompt token is multiplied with: all but the embedding and the output layer."""
    return layers * (2 * width**2 + 2 * width * kv_width + 3 * width * inner)


LLAMA_3_8B = _weights(32, 4096, 1024, 14_336)
QWEN_2_5_1_5B = _weights(28, 1536, 256, 8960)


@dataclass(frozen=True)
class Totals:
    """One run to its end.

    Fields:
        evictions, iterations: counts.
        prefill_tokens, kv_token_iterations: sums over the iterations, the second of tokens held.
        evicting: iterations that evict, as a share.
        latency_s, per_s: mean latency and requests completed a second, by the clock above.
        tax: share of the computed tokens that were computed before.
    """

    evictions: int
    iterations: int
    prefill_tokens: int
    kv_token_iterations: int
    evicting: float
    latency_s: float
    per_s: float
    tax: float


def workload(lengths: Lengths, input_length: int = INPUT) -> Workload:
    """Equal shares, one input length."""
    share = Fraction(1, len(lengths))
    return Workload(tuple(RequestClass(input_length, n, share) for n in lengths))


def system(lengths: Lengths, input_length: int = INPUT) -> System:
    """One device."""
    return System(workload(lengths, input_length), CAPACITY)


def limits(engine: str, cap: Fraction | int | None = None) -> "serving.Limits":
    """Of one device. The paper's model has neither blocks nor a watermark."""
    if engine == "restart":
        return serving.Limits(CAPACITY, admission_rate=cap)
    return serving.Limits(
        CAPACITY,
        BLOCK_SIZE,
        max_num_seqs=BATCH_CAP,
        watermark=WATERMARK,
        admission_rate=cap,
    )


def clock() -> "serving.IterationClock":
    return serving.IterationClock(BASE_S, PER_KV_TOKEN_S)


def run(
    lengths: Lengths,
    engine: str,
    *,
    cap: Fraction | int | None = None,
    rate_per_s: float | None = None,
    iterations: int | None = None,
) -> "xr.Dataset":
    """20,000 requests through one device.

    Args:
        lengths: outputs; classes take turns, or are drawn if requests arrive over time.
        engine: "restart" or "vidur-sarathi".
        cap: most admissions per iteration.
        rate_per_s: Poisson arrivals of seed 0; None: all wait at the start.
        iterations: horizon; None: to the end.
    """
    classes = workload(lengths)
    if rate_per_s is None:
        requests = runs.saturated(classes, REQUESTS, in_turn=True)
    else:
        requests = runs.poisson(classes, rate_per_s, REQUESTS, rng=0, per_iteration=False)
    return serving.serve(
        requests, serving.Server(engine, limits(engine, cap), clock=clock()), iterations=iterations
    )


@cache
def totals(
    lengths: Lengths,
    engine: str,
    *,
    cap: Fraction | int | None = None,
    rate_per_s: float | None = None,
) -> Totals:
    """`run` to its end, in numbers."""
    found = run(lengths, engine, cap=cap, rate_per_s=rate_per_s)
    told = runs.metrics(found)
    return Totals(
        evictions=int(told.preemptions.item()),
        iterations=int(found.iterations.item()),
        prefill_tokens=int(found.prefill_tokens.sum().item()),
        kv_token_iterations=int(found.kv_tokens.sum().item()),
        evicting=float((found.preempt > 0).mean().item()),
        latency_s=float(told.latency_mean.item()),
        per_s=float(told.throughput_per_time.item()),
        tax=float(told.recompute_tax.item()),
    )
