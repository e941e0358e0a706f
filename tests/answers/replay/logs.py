"""The log that a vLLM server would have written, had it been our literal engine."""

import json
from pathlib import Path

import numpy as np

from fluidkv.runs.requests import Requests
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.limits import Limits
from fluidkv.serving.run import serve
from fluidkv.serving.server import Server

CLOCK = IterationClock(0.02, 2e-6, 1e-4)
LIMITS = Limits(160 * 16, 16, 64, 512)
_STARTED, _BOOTED = 1.7e9, 5000.0  # a server's two clocks


def requests(count: int = 60, *, seed: int = 0) -> Requests:
    """Faster than memory can carry, so that they wait and are evicted; all in sight of the end."""
    rng = np.random.default_rng(seed)
    return Requests(
        rng.integers(20, 200, count),
        rng.integers(100, 300, count),
        arrival=np.cumsum(rng.exponential(0.35, count)),
    )


def write_log(
    folder: Path,
    *,
    caching: bool = False,
    table: Requests | None = None,
    tick_s: float = 1.0,
    limits: Limits = LIMITS,
) -> Requests:
    """`requests.jsonl`, `timeseries.csv` and `meta.json` of one run by `CLOCK` and `limits`."""
    table = requests() if table is None else table
    run = (
        serve(table, Server("vllm+cache", limits, clock=CLOCK))
        if caching
        else serve(table, Server("vllm", limits, clock=CLOCK, backend="reference"))
    ).isel(run=0)
    rows = [
        {
            "request_id": f"bench-{i}",
            "input_toks": int(table.input_length[i]),
            "output_toks": int(table.output_length[i]),
            "arrival_time": _STARTED + table.arrival[i],
            "queued_ts": _BOOTED + table.arrival[i],
            "scheduled_ts": _BOOTED + float(run.admitted[i]),
            "first_token_ts": _BOOTED + float(run.first_token[i]),
            "last_token_ts": _BOOTED + float(run.last_token[i]),
        }
        for i in range(len(table))
    ]
    (folder / "requests.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n")
    (folder / "timeseries.csv").write_text(_ticks(run, table, tick_s, limits.blocks))
    meta = {
        "vllm_version": "0.19.0",
        "engine_kwargs": {
            "max_num_seqs": limits.max_num_seqs,
            "max_num_batched_tokens": limits.max_num_batched_tokens,
        },
        "kv_cache": {
            "num_gpu_blocks": limits.blocks + 1,
            "block_size": limits.block_size,
            "enable_prefix_caching": caching,
            "num_kv_tokens": (limits.blocks + 1) * limits.block_size,
        },
    }
    (folder / "meta.json").write_text(json.dumps(meta))
    return table


def _ticks(run, table: Requests, tick_s: float, blocks: int) -> str:
    ends = np.arange(1, int(float(run.time.max()) / tick_s) + 2) * tick_s
    left = np.searchsorted(run.time.values, ends, side="right")

    def after(values) -> np.ndarray:
        return np.concatenate(([0], values))[left]

    used = np.append(run.used_blocks.values[:-1], 0)
    first = np.sort(run.first_token.values)
    order = np.argsort(run.first_token.values, kind="stable")
    prompts = np.concatenate(([0], np.cumsum(table.input_length[order])))
    columns = {
        "t": ends,
        "prompt_throughput": np.diff(prompts[np.searchsorted(first, ends, side="right")], prepend=0)
        / tick_s,
        "gen_throughput": np.diff(after(np.cumsum(run.new_outputs.values)), prepend=0) / tick_s,
        "running": after(run.running.values - run.completed.values),
        "waiting": after(run.waiting.values),
        "kv_cache_pct": np.round(100 * after(used) / blocks, 2),
    }
    lines = [",".join(columns)]
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    lines += [",".join(map(repr, row)) for row in rows]
    return "\n".join(lines) + "\n"
