"""Saturated runs of vLLM 0.10.1 with requests of one length each: as published, and ours.

Published by dennislee22/vLLM-benchmarking, README.md and log/ at commit b474d1e (no licence is
stated: numbers only). A100 GPUs, blocks of 16 tokens, at most 256 running, 2,048 tokens a step,
prefix caching on; all requests of a run come at once.

Which log is whose follows from the memory that both say: bytes of a token are those of the model,
and 5.01 GiB at 56 KiB a token are 93,872 tokens to within the digits. Tests 6 to 8 have no log of
their start, and their capacity is reckoned so; tests 1, 2, 6 and 8 share a model between two GPUs
(`--tensor-parallel-size 2`), which is one engine with one queue. Test 3 has no saturated run.

Nobody says how long each answer was; a run's answers are all as long as their mean. A clock comes
from the earliest run of each test, out of its duration and its median gap between tokens; that of
the cache is to that of the weights as their bytes are.
"""

from dataclasses import astuple, dataclass, fields
from functools import cache
from typing import get_type_hints

import numpy as np
import xarray as xr

from fluidkv.runs.requests import Requests
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.limits import Limits
from fluidkv.serving.run import serve
from fluidkv.serving.server import Server
from fluidkv_papers.records import Table

_PUBLISHED, _TABLE = Table(__file__, "fixed_lengths_published"), Table(__file__)
_GIB = 2**30
BLOCK_SIZE, SEQUENCES, BUDGET = 16, 256, 2048
ENGINE = "vllm-0.11+cache"
"""Version 0.10.1 admits as 0.11 does: by the first chunk, without a watermark."""


@dataclass(frozen=True)
class Machine:
    """The server of one test.

    Args:
        model: and on how many GPUs.
        token_bytes, weight_bytes: of a token in the cache, and of the model.
        memory_gib: for the cache, on each of `gpus`.
        logged: KV tokens, by its log; None where there is none.
        gpus: that share the model.
    """

    model: str
    token_bytes: int
    weight_bytes: float
    memory_gib: float
    logged: int | None = None
    gpus: int = 1

    @property
    def reckoned(self) -> int:
        """KV tokens by the memory, in whole blocks."""
        tokens = int(self.memory_gib * self.gpus * _GIB / self.token_bytes)
        return tokens // BLOCK_SIZE * BLOCK_SIZE

    @property
    def capacity(self) -> int:
        """KV tokens that requests can hold: a block is set aside."""
        return (self.logged or self.reckoned) - BLOCK_SIZE


_7B = (2 * 28 * 4 * 128 * 2, 15.23e9)
_32B = (2 * 64 * 8 * 128 * 2, 65.5e9)
_72B = (2 * 80 * 8 * 128 * 2, 145.4e9)
SERVERS = {
    1: Machine("Qwen2-7B, 2 nodes", *_7B, 11.03, 412_944, 2),
    2: Machine("Qwen2-7B, 2 GPUs", *_7B, 12.02, 450_192, 2),
    4: Machine("Qwen2-7B, 1 GPU", *_7B, 5.01, 93_872),
    5: Machine("Qwen2-7B, 1 GPU", *_7B, 24.83, 464_848),
    6: Machine("Qwen2.5-32B, 2 GPUs", *_32B, 8.22, gpus=2),
    7: Machine("Qwen2.5-32B, 1 GPU", *_32B, 9.70),
    8: Machine("Qwen2-72B, 2 GPUs", *_72B, 6.77, gpus=2),
}
"""Keys and values, layers, KV heads, head size, bytes of a number; weights in bfloat16."""


@dataclass(frozen=True)
class Row:
    """One published run; times in seconds.

    Args:
        test: its number.
        at: of the first line of its log, month-day and time of day: which run came first.
        prompts, input_length, max_output: how many, and how long.
        duration_s, output_per_s: of the run.
        ttft_mean, ttft_p99, tpot_mean, gap_p50: over requests, and over gaps between tokens.
        full: lines of its log with requests waiting and at least 95 % of the KV in use: requests
            running, and the per cent.
    """

    test: int
    at: str
    prompts: int
    input_length: int
    max_output: int
    duration_s: float
    output_per_s: float
    ttft_mean: float
    ttft_p99: float
    tpot_mean: float
    gap_p50: float
    full: tuple[tuple[int, float], ...]

    @property
    def output_length(self) -> int:
        """Mean of its answers, whole: some end before they are cut off."""
        return round(self.output_per_s * self.duration_s / self.prompts)

    @property
    def shape(self) -> tuple[int, int]:
        """What its requests ask for."""
        return self.input_length, self.max_output


@dataclass(frozen=True)
class Predicted:
    """Our run of a row.

    Fields:
        test, at: of the row.
        base, per_kv_token, per_prefill_token: the clock, seconds.
        duration_s, ttft_mean, ttft_p99, tpot_mean: as `Row`.
        least, most: requests running while others wait and at least 95 % are in use.
        preemptions: of the run.
    """

    test: int
    at: str
    base: float
    per_kv_token: float
    per_prefill_token: float
    duration_s: float
    ttft_mean: float
    ttft_p99: float
    tpot_mean: float
    least: int
    most: int
    preemptions: int


@cache
def published() -> tuple[Row, ...]:
    """All 24 runs."""
    kinds = get_type_hints(Row)
    found = []
    for line in _PUBLISHED.lines():
        full = [pair.partition("@")[::2] for pair in line.pop("full").split()]
        values = {name: kinds[name](value) for name, value in line.items()}
        found.append(Row(**values, full=tuple((int(n), float(part)) for n, part in full)))
    return tuple(found)


def of_test(test: int) -> tuple[Row, ...]:
    """Its runs, the earliest first: the one that the clock is from."""
    return tuple(sorted((row for row in published() if row.test == test), key=lambda row: row.at))


def served(row: Row, clock: IterationClock, capacity: int | None = None) -> xr.Dataset:
    """Our run of a row, or of the same with another memory."""
    many = row.prompts
    requests = Requests([row.input_length] * many, [row.output_length] * many)
    limits = Limits(capacity or SERVERS[row.test].capacity, BLOCK_SIZE, SEQUENCES, BUDGET)
    return serve(requests, Server(ENGINE, limits, clock)).isel(run=0)


def fitted(row: Row) -> IterationClock:
    """From the duration and the median gap of one run: all come at once, so that what an iteration
    computes does not hang on the clock."""
    server, run = SERVERS[row.test], served(row, IterationClock(1.0))
    kv, prefill, outputs = (
        run[name].values.astype(float) for name in ("kv_tokens", "prefill_tokens", "new_outputs")
    )
    decode = 1 + server.token_bytes / server.weight_bytes * kv  # in units of d0

    def clock(per_prefill_token: float) -> tuple[float, np.ndarray]:
        base = (row.duration_s - per_prefill_token * prefill.sum()) / decode.sum()
        return base, base * decode + per_prefill_token * prefill

    low, high = 0.0, 0.9 * row.duration_s / prefill.sum()
    for _ in range(60):  # to the last digit of a double
        middle = (low + high) / 2
        durations = clock(middle)[1]
        order = np.argsort(durations)
        reached = np.cumsum(outputs[order])
        median = durations[order][np.searchsorted(reached, reached[-1] / 2)]
        low, high = (middle, high) if median > row.gap_p50 else (low, middle)
    base, prefill_s = clock((low + high) / 2)[0], (low + high) / 2
    return IterationClock(base, base * server.token_bytes / server.weight_bytes, prefill_s)


def predicted(row: Row, clock: IterationClock) -> Predicted:
    """Our numbers of a row."""
    run = served(row, clock)
    ttft = run.first_token.values
    tpot = (run.last_token.values - ttft) / max(row.output_length - 1, 1)
    running = run.running.values - run.completed.values
    full = (run.waiting.values > 0) & (run.used_blocks.values >= 0.95 * int(run.blocks))
    return Predicted(
        row.test,
        row.at,
        *clock.durations[:3],
        duration_s=float(run.time.max()),
        ttft_mean=float(ttft.mean()),
        ttft_p99=float(np.quantile(ttft, 0.99)),
        tpot_mean=float(tpot.mean()),
        least=int(running[full].min()) if full.any() else 0,
        most=int(running[full].max()) if full.any() else 0,
        preemptions=int(run.preempt.sum()),
    )


def record() -> None:
    """Compute all rows and write them."""
    clocks = {test: fitted(of_test(test)[0]) for test in SERVERS}
    rows = (predicted(row, clock) for test, clock in clocks.items() for row in of_test(test))
    _TABLE.write([f.name for f in fields(Predicted)], (astuple(row) for row in rows))


@cache
def recorded() -> tuple[tuple[Row, Predicted], ...]:
    """Each published run and ours on record, test by test, the fitted one first."""
    rows = {(row.test, row.at): row for row in published()}
    return tuple((rows[ours.test, ours.at], ours) for ours in _TABLE.rows(Predicted))
