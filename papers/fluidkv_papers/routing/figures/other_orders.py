"""Figures 3 and 4: conversations on other clocks, documents in round-robin order."""

from collections.abc import Sequence
from functools import partial

from fluidkv.figures.figure import Data, Figure
from fluidkv_papers.bands import listed, ratio
from fluidkv_papers.routing.figures import sweeps
from fluidkv_papers.routing.figures.sweeps import Point
from fluidkv_papers.routing.instances import setting as served

CLOCKS = (0.5, 1, 2, 3)
"""Times the seconds of an L40 with an 8B model."""
RATES = (4, 6, 8, 12)

POINTS: dict[int, list[Point]] = {
    3: [(clock, served.half_chats(seconds=clock * served.SECONDS_PER_1000)) for clock in CLOCKS],
    4: [(rate, served.half_documents(order="round-robin", rate=rate)) for rate in RATES],
}


def data(number: int, points: Sequence[Point] | None = None, seeds: Sequence[int] = sweeps.SEEDS):
    """As `sweeps.sweep`."""
    return sweeps.sweep(points or POINTS[number], seeds=seeds)


def _lead(data: Data) -> str:
    low, high = (
        listed(ratio(data, f"latency_{of}", "cache-aware+lru", "lbgr+rlt"), ".2f")
        for of in ("p50", "p95")
    )
    return (
        f"Cache-Aware + LRU has {low} times the median latency of LBGR + RLT, and {high} times "
        "its P95"
    )


def _clocks(data: Data) -> str:
    return (
        "Conversations as appendix A describes them, without their texts: 64 clients (half), "
        "2 to 8 rounds of 1,024 tokens, 12 requests/s, 4 workers of 100,000 tokens, which hold all "
        f"of it. {sweeps.told()} The axis multiplies these seconds: other models and GPUs are "
        "other clocks, whose numbers the paper does not give. "
        f"At {listed(data['x'], 'g')} {_lead(data)}; hit rates "
        f"{listed(100 * data['lbgr+rlt.hit_rate'])} and "
        f"{listed(100 * data['cache-aware+lru.hit_rate'])} %. The paper, on ShareGPT with "
        "Llama-70B and Mixtral: 38 % less median latency than the best baseline."
    )


def _documents(data: Data) -> str:
    return (
        "Half of the experiment: 256 documents of 1,024 to 8,192 tokens, one question of each in "
        "turn, 8 turns; a question has 32 tokens. How many questions, and which document has "
        "which length, is ours. 4 workers of 100,000 tokens. "
        f"{sweeps.told()} At {listed(data['x'], 'g')} requests/s "
        f"{_lead(data)}; hit rates {listed(100 * data['lbgr+rlt.hit_rate'])} and "
        f"{listed(100 * data['cache-aware+lru.hit_rate'])} %: a quarter of the documents is more "
        "than twice what a worker holds, so that all of a cache is new in each phase, for RLT "
        "too. The paper: 22.8 times less median latency at 12 requests/s."
    )


FIGURES = (
    Figure(
        id="routing_figure_3",
        title="Conversations fit the caches: a lead where servers are overloaded",
        source="Routing, Figure 3",
        parameters=sweeps.parameters(POINTS[3]),
        size=(8.5, 6.2),
        data=partial(data, 3),
        draw=sweeps.drawn("seconds of a token, times those of an 8B model on an L40"),
        caption=_clocks,
    ),
    Figure(
        id="routing_figure_4",
        title="Documents in turn: no cache still holds what is asked for again",
        source="Routing, Figure 4",
        parameters=sweeps.parameters(POINTS[4], shuffled_lengths=True),
        size=(8.5, 6.2),
        data=partial(data, 4),
        draw=sweeps.drawn("requests/s"),
        caption=_documents,
    ),
)
