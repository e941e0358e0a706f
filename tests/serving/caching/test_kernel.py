"""Where prompts share nothing the kernel has vLLM's cache: the same dataset, bit for bit."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import xarray as xr

from fluidkv.prefix.prompts import private
from fluidkv.runs.requests import Requests
from fluidkv.serving import literal
from fluidkv.serving import run as running
from fluidkv.serving.arrays import Runs
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.engine_text import ServedEngine
from fluidkv.serving.engines import VLLM, engine
from fluidkv.serving.limits import Limits
from fluidkv.serving.rules import EngineRules, Gate, Requeue, Victim
from fluidkv.serving.run import serve
from fluidkv.serving.running.engine import finds_itself
from fluidkv.serving.server import Server


def _both(seed: int) -> tuple[xr.Dataset, xr.Dataset]:
    """A drawn server by the kernel, and by the engine with its pool of blocks."""
    rng = np.random.default_rng(seed)
    count, size = int(rng.integers(1, 40)), int(rng.choice([1, 2, 3, 4, 8, 16]))
    requests = Requests(
        rng.integers(1, 60, count),
        rng.integers(1, 40, count),
        arrival=np.sort(rng.integers(0, int(rng.choice([1, 30, 200])), count)).astype(float),
        priority=rng.integers(0, 3, count),
    )
    rules = replace(
        VLLM,
        gate=Gate.FULL_INPUT if rng.random() < 0.6 else Gate.FIRST_CHUNK,
        requeue=Requeue.HEAD if rng.random() < 0.7 else Requeue.BY_PRIORITY,
    )
    limits = Limits(
        int(rng.integers(130, 500)) + 2 * size,
        size,
        max_num_seqs=None if rng.random() < 0.6 else int(rng.integers(1, 12)),
        max_num_batched_tokens=None if rng.random() < 0.5 else int(rng.integers(12, 80)),
        watermark=float(rng.choice([0, 0, 0.05, 0.1])),
    )
    pairs = float(rng.choice([0, 1e-4]))
    clock = IterationClock(
        1.0, 1e-3, 1e-2, per_prefill_pair=pairs, per_request=pairs, experts=pairs
    )
    timed = clock if rng.random() < 0.7 else None
    how = {
        "clients": None if rng.random() < 0.7 else int(rng.integers(1, 20)),
        "every": int(rng.choice([1, 1, 3, 7])),
        "iterations": None if rng.random() < 0.8 else int(rng.integers(1, 60)),
    }
    engine = ServedEngine(rules, caching=True)
    pool = serve(requests, Server(engine, limits, timed, private(requests), "kernel"), **how)
    return serve(requests, Server(engine, limits, timed, backend="kernel"), **how), pool


@pytest.mark.parametrize(
    "seeds", [range(80), pytest.param(range(80, 2000), marks=pytest.mark.thorough)]
)
def test_the_kernel_finds_what_the_pool_has(seeds: range) -> None:
    """Block sizes, gates, queues, chunks, caps, watermarks, clients, clocks, windows, horizons."""
    preemptions = found = 0
    for seed in seeds:
        kernel, pool = _both(seed)
        assert kernel.identical(pool), seed
        preemptions += int(pool.evictions.sum())
        found += int(pool.hit_tokens.sum())
    assert preemptions > 2 * len(seeds)
    assert found > 20 * len(seeds)


def test_runs_of_a_batch_are_what_they_are_alone() -> None:
    rng = np.random.default_rng(0)
    tables = [Requests(rng.integers(1, 60, n), rng.integers(1, 40, n)) for n in (30, 7, 30)]
    limits = [Limits(200 + 40 * place, 4) for place in range(3)]
    together = serve(tables, Server("vllm+cache", limits))
    assert together.hit_tokens.sum() > 0
    for place, (table, memory) in enumerate(zip(tables, limits, strict=True)):
        alone = serve(table, Server("vllm+cache", memory))
        for name in ("hit_tokens", "last_token", "evictions"):
            there = together[name].values[place, : len(table)]
            np.testing.assert_array_equal(there, alone[name].values[0])


@pytest.mark.parametrize(
    ("rules", "alike"),
    [
        (VLLM, True),
        (engine("vllm-0.11"), True),
        (engine("vllm-priority"), False),
        (replace(VLLM, victim=Victim.LEAST_COMPUTED), False),
        (replace(VLLM, in_turn=True, asker_stays=True), False),
    ],
    ids=["vllm", "vllm-0.11", "priority", "least-computed", "asker-stays"],
)
def test_it_is_taken_where_victims_stand_behind_those_who_ask(
    monkeypatch: pytest.MonkeyPatch, rules: EngineRules, alike: bool
) -> None:
    kernel, shares = running.run_batch, []

    def noted(rules: EngineRules, batch: Runs, said: Any, **how: Any) -> object:
        shares.append(said is not None and not how["literally"])
        return kernel(rules, batch, said, **how)

    monkeypatch.setattr(running, "run_batch", noted)
    monkeypatch.setattr(literal, "is_loaded", lambda: True)  # so that few requests are its own too
    requests = Requests([4, 4], [8, 8])
    serve(requests, Server(ServedEngine(rules, caching=True), Limits(40, 2)))
    serve(
        requests,
        Server(ServedEngine(rules, caching=True), Limits(40, 2), prompts=private(requests)),
    )
    serve(requests, Server(ServedEngine(rules, caching=True), Limits(40, 2), backend="reference"))
    assert shares == [not alike, True, False]
    assert finds_itself(rules) == alike


def test_a_single_request_is_in_the_tables_that_its_rules_look_at() -> None:
    """A table of one number is no absent one: with priorities the process ended."""
    one = {"input_length": [4], "output_length": [8], "max_output": [20], "estimated_output": [3]}
    for name in ("vllm-priority", "vllm-lcf", "trtllm-no-evict", "sglang", "rlp", "s3"):
        kernel, literal = (
            serve(Requests(**one), Server(name, Limits(64, 2), backend=backend), iterations=200)
            for backend in ("kernel", "reference")
        )
        assert kernel.identical(literal), name
