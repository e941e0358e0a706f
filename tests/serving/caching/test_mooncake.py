"""A real trace with prefixes: hits against a plain count, the fast engine against the literal."""

from dataclasses import replace

import numpy as np
import pytest

from fluidkv.prefix.prompts import Prompts, prompts_of_blocks
from fluidkv.runs.requests import Requests
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.limits import Limits
from fluidkv.serving.run import serve
from fluidkv.serving.server import Server
from fluidkv.traces import Trace, read_trace

SIZE = 512
CLOCK = IterationClock(0.01, 1.656e-7, 2e-5)


@pytest.fixture(scope="module")
def trace(traces_dir) -> Trace:
    path = traces_dir / "mooncake_conversation.jsonl"
    if not path.is_file():
        pytest.skip("no trace of Mooncake's")
    return read_trace(path)[0]


def first(trace: Trace, count: int) -> tuple[Requests, Prompts, list[tuple[int, ...]]]:
    lengths = trace.input_lengths[:count], trace.decode_lengths[:count]
    assert trace.prefix_blocks is not None
    assert trace.arrival_times_s is not None
    blocks = [tuple(row) for row in trace.prefix_blocks[:count]]
    requests = Requests(*lengths, arrival=[float(time) for time in trace.arrival_times_s[:count]])
    return requests, prompts_of_blocks(blocks, SIZE, *lengths), blocks


def test_in_ample_memory_every_known_block_is_found(trace) -> None:
    """Counted from the ids alone: full blocks of earlier prompts, one token left to compute."""
    requests, prompts, blocks = first(trace, 1500)
    known: set[int] = set()
    expected = []
    for ids, length in zip(blocks, requests.input_length.tolist(), strict=True):
        findable = ids[: (length - 1) // SIZE]
        missing = [place for place, block in enumerate(findable) if block not in known]
        expected.append(SIZE * (missing[0] if missing else len(findable)))
        known.update(ids[: length // SIZE])
    run = serve(
        requests, Server("vllm+cache", Limits(30_000_000, SIZE), clock=CLOCK, prompts=prompts)
    )
    assert run.hit_tokens.values[0].tolist() == expected
    assert run.evicted_blocks.sum() == 0
    assert np.sum(expected) > 0.2 * requests.input_length.sum()


def test_the_fast_engine_is_literal_on_a_real_trace(trace) -> None:
    requests, prompts, _ = first(trace, 60)
    server = Server("vllm+cache", Limits(200_000, SIZE, None, 8192), CLOCK, prompts)
    fast, literal = (
        serve(requests, replace(server, backend=backend)) for backend in ("kernel", "reference")
    )
    assert fast.identical(literal)
    assert fast.evicted_blocks.sum() > 0
