"""Engines with prefix caches: the compiled ones against the literal ones, on Mooncake's trace.

    python -m benchmarks.caching

The conversation trace, 12,031 requests of 12,035 input and 343 output tokens on average at
their own times, in 500,000 tokens of memory and at most 8,192 tokens an iteration. The literal
engine gets the first requests alone; before they are timed, both are compared in all that a
dataset says.
"""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import xarray as xr

from benchmarks.inputs import SkippedError, trace_path
from benchmarks.report import against, load
from fluidkv.answers.prompted import Prompted, prompted_trace
from fluidkv.prefix.prompts import Prompts
from fluidkv.runs.requests import Requests
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.limits import Limits
from fluidkv.serving.run import serve
from fluidkv.serving.server import Server
from fluidkv.suite.tables import markdown_table as table
from fluidkv.suite.tables import seconds
from fluidkv.suite.timing import times
from fluidkv.traces import read_trace

CAPACITY, BUDGET = 500_000, 8192
CLOCK = IterationClock(9.93e-3, 1.656e-7, 2e-5)
FIRST = {("vllm+cache", 512): 400, ("vllm+cache", 16): 60, ("sglang+cache", 16): 400}
"""Engine and block size -> requests for the literal engine."""
GOAL_S = 120


@dataclass(frozen=True)
class CachingTiming:
    """Seconds for the same requests.

    Fields:
        engine, block: as `serve` takes it; tokens of a block.
        requests, iterations, hits: of the whole trace; hits as a share of the prompts' tokens.
        fast_s: the whole trace by the fast engine, once.
        first, first_fast_s, first_literal_s: so many requests, by both.
    """

    engine: str
    block: int
    requests: int
    iterations: int
    hits: float
    fast_s: float
    first: int
    first_fast_s: float
    first_literal_s: float


def run_trace(found: Prompted, engine: str, block: int) -> CachingTiming:
    """Compare on the first requests, then time."""
    limits = Limits(CAPACITY, block, max_num_batched_tokens=BUDGET)
    requests, prompts = _first(found, FIRST[engine, block])
    server = Server(engine, limits, CLOCK, prompts)
    fast = partial(serve, requests, server)
    literal = partial(serve, requests, replace(server, backend="reference"))
    if not fast().identical(literal()):
        raise AssertionError(f"{engine}: the compiled engine is not the literal one")
    whole: list[xr.Dataset] = []
    taken = times(
        lambda: whole.append(serve(found.requests, replace(server, prompts=found.prompts))),
        calls=1,
        warm_up=0,
    )
    run = whole[0]
    return CachingTiming(
        engine=engine,
        block=block,
        requests=len(found.requests),
        iterations=int(run.iterations.item()),
        hits=float(run.first_hit_tokens.sum()) / float(np.sum(found.requests.input_length)),
        fast_s=taken.best,
        first=FIRST[engine, block],
        first_fast_s=times(fast, calls=3, warm_up=0).best,
        first_literal_s=times(literal, calls=1, warm_up=0).best,
    )


def _first(found: Prompted, count: int) -> tuple[Requests, Prompts]:
    table, said = found.requests, found.prompts
    requests = Requests(
        table.input_length[:count], table.output_length[:count], arrival=table.arrival[:count]
    )
    return requests, Prompts(said.prompts[:count], said.outputs[:count])


def report() -> str:
    """The table in Markdown."""
    title = "## Engines with their prefix caches\n"
    try:
        trace, read = read_trace(trace_path("mooncake_conversation.jsonl"))
    except SkippedError as missing:
        return f"{title}\nSkipped: {missing}."
    found = prompted_trace(trace, read)
    timings = [run_trace(found, *each) for each in FIRST]
    rows = [
        [
            f"`{t.engine}`, blocks of {t.block}",
            seconds(t.fast_s),
            f"{t.requests / t.fast_s:,.0f}",
            f"{t.iterations:,}",
            f"{100 * t.hits:.1f} %",
            f"{t.first}",
            f"{t.first_literal_s / t.first_fast_s:.0f}",
        ]
        for t in timings
    ]
    header = [
        "",
        "compiled",
        "requests/s",
        "iterations",
        "hits",
        "of the first",
        "times the literal",
    ]
    within = all(t.fast_s <= GOAL_S for t in timings)
    return "\n".join(
        [
            title,
            f"Mooncake's conversation trace, {timings[0].requests:,} requests, in {CAPACITY:,} "
            "tokens, one core; equal to the literal engine on the first requests.",
            "",
            table(header, rows),
            "",
            "- " + against(f"the whole trace within {GOAL_S} s", within),
            "",
            f"Load at the end: {load()}.",
        ]
    )


if __name__ == "__main__":
    print(report())
