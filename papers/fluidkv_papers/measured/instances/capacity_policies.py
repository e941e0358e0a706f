"""Long prompts on an H200 under two capacity policies: measured, and ours.

Llama-3.3-70B in 8 bits on one H200, TensorRT-LLM 1.2.1: 128 requests of 16,384 + 512 tokens that
ignore the end of text, 32 clients, two repeats. Measured by Smallfu666, NVIDIA/TensorRT-LLM issue
16827. What we have of it does not say how large the pool was, nor how many tokens a step takes. The
pool here is the one whose p99 time per token under no-evict is as measured, to the nearest 10,000
tokens; the budget is the server's default; the clock comes from data sheets.
"""

from dataclasses import dataclass
from functools import cache

from fluidkv.runs.measuring import metrics
from fluidkv.runs.requests import Requests
from fluidkv.serving.engines import TRTLLM_MAX_UTILIZATION, TRTLLM_NO_EVICT
from fluidkv.serving.limits import Limits
from fluidkv.serving.machines.gpus import gpu_named
from fluidkv.serving.machines.models import model_named
from fluidkv.serving.machines.roofline import modelled_clock
from fluidkv.serving.rules import EngineRules
from fluidkv.serving.run import serve
from fluidkv.serving.server import Server

REQUESTS, INPUT, OUTPUT, CLIENTS = 128, 16_384, 512, 32
POOL, BLOCK, BUDGET = 370_000, 32, 8192
MODEL, GPU = "llama-3.3-70b-fp8", "h200"


@dataclass(frozen=True)
class Row:
    """One policy. Throughput in output tokens a second, times in seconds."""

    throughput: float
    tpot_p99: float
    latency_p99: float
    ttft_p50: float


NO_EVICT = Row(161.0, 0.122, 150.0, 35.8)
MAX_UTILIZATION = Row(95.7, 1.111, 563.0, 27.1)
"""Measured."""


@cache
def ours(rules: EngineRules) -> Row:
    """The same, simulated."""
    table = Requests([INPUT] * REQUESTS, [OUTPUT] * REQUESTS)
    limits = Limits(POOL, BLOCK, max_num_batched_tokens=BUDGET)
    clock = modelled_clock(model_named(MODEL), gpu_named(GPU))
    run = serve(table, Server(rules, limits, clock=clock, backend="reference"), clients=CLIENTS)
    found = metrics(run).isel(run=0)
    return Row(
        float(found.output_throughput_per_time),
        float(found.tpot_p99),
        float(found.latency_p99),
        float(found.ttft_p50),
    )


def reserving() -> Row:
    """GUARANTEED_NO_EVICT."""
    return ours(TRTLLM_NO_EVICT)


def evicting() -> Row:
    """MAX_UTILIZATION."""
    return ours(TRTLLM_MAX_UTILIZATION)
