"""The folder that a benchmark's client and a poll of /metrics would have written of our engine."""

import json
from pathlib import Path

import numpy as np

from fluidkv.runs.requests import Requests
from fluidkv.serving.run import serve
from fluidkv.serving.server import Server
from tests.answers.replay.logs import CLOCK, LIMITS, requests
from tests.traces.results.written import Asked, vllm

SINCE_1970 = 1.79e9


def write_polled(
    folder: Path,
    *,
    delay_s: float = 0.0,
    before_s: float = 0.0,
    answer_s: float = 0.0,
    counts_iterations: bool = True,
) -> Requests:
    """`bench.json` and `metrics.txt`, the first poll some seconds before the first request.

    Args:
        delay_s: that each request takes to reach the scheduler.
        before_s: from the first poll to the first request.
        answer_s: the longest that a page is waited for; polls begin a second after the last answer.
    """
    table = requests()
    run = serve(table, Server("vllm+cache", LIMITS, clock=CLOCK)).isel(run=0)
    asked = [
        Asked(5000 + sent - delay_s, int(inputs), first - sent + delay_s, tuple(gaps))
        for sent, inputs, first, last, outputs in zip(
            table.arrival,
            table.input_length.tolist(),
            run.first_token.values.tolist(),
            run.last_token.values.tolist(),
            table.output_length.tolist(),
            strict=True,
        )
        for gaps in [[(last - first) / (outputs - 1)] * (outputs - 1)]
    ]
    (folder / "bench.json").write_text(json.dumps(vllm(asked)))
    (folder / "metrics.txt").write_text(_pages(run, before_s, delay_s, answer_s, counts_iterations))
    return table


def _pages(run, before_s: float, delay_s: float, answer_s: float, counts_iterations: bool) -> str:
    rng, asked_s, text = np.random.default_rng(1), -before_s - delay_s, ""
    iteration_ends, blocks = run.time.values, np.append(run.used_blocks.values[:-1], 0)
    labels = (
        f'num_gpu_blocks="{LIMITS.blocks + 1}",block_size="{LIMITS.block_size}",'
        'enable_prefix_caching="True"'
    )
    while asked_s < iteration_ends[-1] + 3:
        made_s = asked_s + answer_s * rng.random()
        so_far = int(np.searchsorted(iteration_ends, made_s, side="right"))
        last = so_far - 1
        gauges = {
            "num_requests_running": run.running.values[last] - run.completed.values[last],
            "num_requests_waiting": run.waiting.values[last],
            "kv_cache_usage_perc": blocks[last] / LIMITS.blocks,
        }
        counters = {
            "num_preemptions_total": run.preempt.values[:so_far].sum(),
            "generation_tokens_total": run.new_outputs.values[:so_far].sum(),
        }
        if counts_iterations:
            counters["iteration_tokens_total_count"] = so_far
        text += f"{SINCE_1970 + asked_s:.6f}\nvllm:cache_config_info{{{labels}}} 1.0\n"
        for name, value in (gauges | counters).items():
            text += f"vllm:{name} {float(value) if so_far else 0.0}\n"
        asked_s = made_s + 1.0
    return text
