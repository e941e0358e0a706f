"""Figures 12 and 13: whole servers, over the length of outputs and the requests at once."""

from collections.abc import Sequence
from functools import partial

from fluidkv.figures.figure import Data, Figure
from fluidkv_papers.bands import listed, ratio
from fluidkv_papers.routing.figures import sweeps
from fluidkv_papers.routing.figures.sweeps import Point
from fluidkv_papers.routing.instances.setting import (
    CHUNK,
    SERVER_CLOCK,
    SERVER_REQUESTS,
    Setting,
)

SEEDS = (0, 1, 2, 3)
OUTPUTS = (4, 16, 64, 128)
AT_ONCE = (1, 4, 16, 64)
NAMES = ("cache-aware+lru", "cache-aware-0.3+lru", "cache-aware+rlt", "lbgr+lru", "lbgr+rlt")

POINTS: dict[int, list[Point]] = {
    12: [(n, Setting(options=(("output_length", n),), server=SERVER_REQUESTS)) for n in OUTPUTS],
    13: [(n, Setting(server=n)) for n in AT_ONCE],
}


def data(number: int, points: Sequence[Point] | None = None, seeds: Sequence[int] = SEEDS) -> Data:
    """As `sweeps.sweep`."""
    return sweeps.sweep(points or POINTS[number], seeds=seeds, names=NAMES)


def _caption(data: Data, *, about: str, x: str, paper: str) -> str:
    low, high = (
        listed(ratio(data, f"latency_{of}", "cache-aware+lru", "lbgr+rlt")) for of in ("p50", "p95")
    )
    gains = listed(ratio(data, "latency_p50", "cache-aware+lru", "cache-aware+rlt"), ".2f")
    pass_s, cached, computed = SERVER_CLOCK
    return (
        f"{about} Each worker is SGLang's scheduler with its own prefix tree, version 0.5.23, "
        f"prompts in chunks of {CHUNK} tokens; RLT draws whole nodes of that tree. A pass takes "
        f"{1e3 * pass_s:.0f} ms, {1e6 * cached:.2f} us for each token in its cache and "
        f"{1e3 * computed:.2f} ms for each of a prompt. 128 groups of 32 requests "
        f"that share half of a prompt, 4 workers of 200,000 tokens, 12 requests/s; "
        f"{len(SEEDS)} draws, bands the range. "
        f"At {x} {listed(data['x'], 'g')}, Cache-Aware + LRU has {low} times the median "
        f"latency of LBGR + RLT, {high} times its P95, and {gains} times the median of Cache-Aware "
        f"+ RLT. {paper}"
    )


def _figure(number: int, title: str, axis: str, *, about: str, x: str, paper: str) -> Figure:
    return Figure(
        id=f"routing_figure_{number}",
        title=title,
        source=f"Routing, Figure {number}",
        parameters={
            **sweeps.parameters(POINTS[number]),
            "seeds": list(SEEDS),
            "clock": list(SERVER_CLOCK),
            "chunk": CHUNK,
        },
        size=(8.5, 6.2),
        data=partial(data, number),
        draw=sweeps.drawn(axis, log=True),
        caption=partial(_caption, about=about, x=x, paper=paper),
    )


FIGURES = (
    _figure(
        12,
        "Whole servers: a lead that longer outputs make smaller, and turn in throughput",
        "output tokens of each request",
        about="Answers from 4 to 128 tokens.",
        x="lengths",
        paper="The paper: LBGR + RLT is ahead in all metrics at all lengths.",
    ),
    _figure(
        13,
        "Whole servers: a lead over the rule that sees no cache; with one at once not in P95",
        "requests at once on a worker, at most",
        about="A limit on the requests that run at once.",
        x="limits",
        paper="The paper: LBGR + RLT is ahead at all limits, and Cache-Aware + RLT of Cache-Aware "
        "+ LRU.",
    ),
)
