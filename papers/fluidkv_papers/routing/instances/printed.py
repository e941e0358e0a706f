"""Tables 2 and 3 of Routing as printed: numbers are text, so that digits stay."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Measured:
    """One row of Table 2.

    Fields:
        latency, latency_p95, ttft, ttft_p95: milliseconds; the first of each pair is the median.
        hit_rate: per cent.
        throughput: requests a second.
        eviction, routing: mean times in milliseconds.
    """

    latency: str
    latency_p95: str
    ttft: str
    ttft_p95: str
    hit_rate: str
    throughput: str
    eviction: str
    routing: str


TABLE_2: dict[str, Measured] = {
    "cache-aware+lru": Measured(
        "26680.55", "46766.77", "25022.76", "46139.36", "23.89", "10.73", "0.13", "0.47"
    ),
    "cache-aware+rlt": Measured(
        "19191.25", "38917.27", "14332.81", "37504.69", "26.36", "11.05", "0.71", "0.51"
    ),
    "lbgr+lru": Measured(
        "6025.11", "24561.47", "2958.01", "21073.78", "33.33", "11.80", "0.09", "1.03"
    ),
    "lbgr+rlt": Measured(
        "2263.61", "15334.89", "1088.57", "11495.05", "37.31", "11.92", "1.05", "1.45"
    ),
}
"""Four methods on the generated prefixes, by router and eviction policy."""


@dataclass(frozen=True)
class Relative:
    """One row of Table 3: all but the hit rate over the larger of both rows."""

    latency: str
    latency_p95: str
    ttft: str
    ttft_p95: str
    hit_rate: str
    throughput: str


TABLE_3: dict[str, Relative] = {
    "lru": Relative("1.0", "1.0", "1.0", "1.0", "6.06", "0.62"),
    "rlt": Relative("0.55", "0.53", "0.55", "0.54", "41.93", "1.0"),
}
"""L-LRU and RLT on one worker, 64 groups of 32 requests in round-robin order."""

GROUPS, REQUESTS_A_GROUP = 128, 32
LENGTHS = (512, 1024, 2048, 4096, 8192)
"""Appendix A: lengths of prompts, one a group, in a cycle over the groups."""
SHARED = "0.5"
RATE = 12
"""Requests a second."""
WORKERS, CAPACITY = 4, 200_000
"""KV tokens of each worker: "approximately"."""
ONE_WORKER_GROUPS = 64
"""Appendix B, Table 3."""
