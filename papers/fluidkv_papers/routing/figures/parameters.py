"""Figures 5 to 7, 10 and 11: generated prefixes, over one parameter of servers or requests."""

from collections.abc import Sequence
from functools import partial

from fluidkv.figures.figure import Data, Figure
from fluidkv_papers.bands import listed, ratio
from fluidkv_papers.routing.figures import sweeps
from fluidkv_papers.routing.figures.sweeps import Point
from fluidkv_papers.routing.instances.setting import half

RATES = (4, 8, 12, 16, 20)
WORKERS = (2, 4, 6, 8, 10)
CAPACITIES = {50: 61_739, 60: 98_593, 70: 135_448, 80: 172_302, 90: 209_157}
"""Per cent of an L40's memory with the weights -> KV tokens (`routing.figure-7.percentage`)."""
RATIOS = (0.3, 0.5, 0.7, 0.9)
QUERIES = (4, 8, 16, 32, 64)

POINTS: dict[int, list[Point]] = {
    5: [(rate, half(rate=rate)) for rate in RATES],
    6: [(workers, half(workers=workers)) for workers in WORKERS],
    7: [(share, half(capacity=tokens // 2)) for share, tokens in CAPACITIES.items()],
    10: [(ratio, half(ratio=ratio)) for ratio in RATIOS],
    11: [(queries, half(queries=queries)) for queries in QUERIES],
}


def data(number: int, points: Sequence[Point] | None = None, seeds: Sequence[int] = sweeps.SEEDS):
    """As `sweeps.sweep`."""
    return sweeps.sweep(points or POINTS[number], seeds=seeds)


def _caption(data: Data, *, about: str, x: str, paper: str) -> str:
    low, high = (
        listed(ratio(data, f"latency_{of}", "cache-aware+lru", "lbgr+rlt")) for of in ("p50", "p95")
    )
    return (
        f"{about} Half of the experiment: 64 groups of 32 requests that share half of a prompt of "
        "512 to 8,192 tokens, random order, 12 Poisson arrivals a second, 4 workers of 100,000 "
        f"tokens, but for what changes. {sweeps.told()} At {x} {listed(data['x'], 'g')}, "
        f"Cache-Aware + LRU has {low} times the median latency of LBGR + RLT, and {high} times "
        f"its P95; hit rates of LBGR + RLT: {listed(100 * data['lbgr+rlt.hit_rate'])} %, of "
        "Cache-Aware + LRU: "
        f"{listed(100 * data['cache-aware+lru.hit_rate'])} %. {paper}"
    )


def _figure(
    number: int, title: str, axis: str, *, about: str, x: str, paper: str, log: bool = False
) -> Figure:
    return Figure(
        id=f"routing_figure_{number}",
        title=title,
        source=f"Routing, Figure {number}",
        parameters=sweeps.parameters(POINTS[number]),
        size=(8.5, 6.2),
        data=partial(data, number),
        draw=sweeps.drawn(axis, log=log),
        caption=partial(_caption, about=about, x=x, paper=paper),
    )


FIGURES = (
    _figure(
        5,
        "The lead is largest at the rate that LBGR + RLT serves and the others do not",
        "requests/s",
        about="Rates from what every method serves to what none does.",
        x="rates",
        paper="The paper: LBGR + RLT has the lowest latencies at all five rates.",
    ),
    _figure(
        6,
        "A lead where 4 workers are enough for LBGR + RLT and not for the others",
        "workers",
        about="Workers, each with a cache of its own.",
        x="workers",
        paper="The paper: LBGR + RLT is ahead from 2 workers on, and from 6 on all have the same "
        "throughput.",
    ),
    _figure(
        7,
        "Larger caches, a larger lead over a rule that sees none; with a threshold of 0.3 it does",
        "memory used, % of an L40",
        about="KV tokens of a worker: what is left beside the weights of an 8B model.",
        x="per cent",
        paper="The paper: the larger the cache, the larger is the lead of LBGR + RLT.",
    ),
    _figure(
        10,
        "Where more than half is shared, SGLang's rule sees the caches too, and nobody leads",
        "shared part of a prompt",
        about="The part of a prompt that its group has in common.",
        x="ratios",
        paper="The paper: LBGR + RLT is ahead at all four.",
    ),
    _figure(
        11,
        "The more requests, the longer the queue of a saturated server: the lead grows with them",
        "requests of each group",
        about="From 256 to 4,096 requests in all; the paper goes to 128 of a group.",
        x="group sizes",
        paper="The paper: LBGR + RLT is ahead at almost all sizes, and ever further.",
        log=True,
    ),
)
