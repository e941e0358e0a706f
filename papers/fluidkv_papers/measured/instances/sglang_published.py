"""One load on an SGLang server, and the same requests under other settings, as published.

SGLang 0.5.18, Qwen3-4B in bfloat16 on one RTX 4090: 120 requests of 387 tokens, of which all begin
with the same 36, and outputs of 2,812 tokens in the mean, which are asked for exactly. Numbers are
those of data/derived/w3_runs.csv, w3_det_runs.csv of "sglang-peak-kv-admission" by HwaminJung00,
commit b26ac23 (CC BY 4.0).
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Published:
    """What one run came to.

    Args:
        name: as it is published.
        retractions, recomputed: requests taken out of the batch; tokens computed again.
        running, waiting: the most at once, of what the log shows.
        wall_s: from the first request to the last token.
        ttft_p50, ttft_p99, tpot_p50, tpot_p99, latency_p99: over requests, in seconds.
    """

    name: str
    retractions: int
    recomputed: int
    running: int
    waiting: int
    wall_s: float
    ttft_p50: float
    ttft_p99: float
    tpot_p50: float
    tpot_p99: float
    latency_p99: float


REPEATS = (
    Published("default_r1", 20, 21452, 68, 59, 285.7, 0.06273, 64.123, 0.024127, 0.093456, 243.109),
    Published("default_r2", 19, 20276, 68, 59, 285.2, 0.05943, 64.341, 0.024004, 0.093173, 240.796),
    Published("default_r3", 19, 20270, 68, 59, 285.0, 0.06223, 64.248, 0.023981, 0.093075, 240.609),
    Published(
        "upstream_r1", 19, 20272, 68, 59, 285.7, 0.05860, 64.320, 0.023999, 0.093236, 241.324
    ),
)
"""Four runs with the same settings; the first is the one whose log is at hand."""


@dataclass(frozen=True)
class Setting:
    """The same requests, served otherwise.

    Args:
        measured: what it came to.
        rate: requests a second that come; the arrivals are the same, faster or slower.
        capacity, max_running: of the server.
        tree: whether it has one. Without, SGLang admits by the lengths that are asked for.
        slower: how many times as long a step lasts; from the median time per token of both runs.
    """

    measured: Published
    rate: float = 2.0
    capacity: int = 87_552
    max_running: int = 2_048
    tree: bool = True
    slower: float = 1.0


SETTINGS = (
    Setting(
        Published("reasoning", 0, 0, 26, 0, 393.2, 0.05156, 0.069, 0.016478, 0.020154, 152.033),
        rate=0.35,
    ),
    Setting(
        Published(
            "reasoning_q0.5", 0, 0, 37, 0, 329.2, 0.05318, 0.078, 0.020488, 0.021925, 181.508
        ),
        rate=0.5,
    ),
    Setting(
        Published(
            "reasoning_q1", 7, 8224, 54, 48, 282.4, 0.06065, 46.183, 0.023573, 0.036440, 203.643
        ),
        rate=1.0,
    ),
    Setting(
        Published(
            "cap65k", 22, 22344, 56, 72, 305.5, 0.07859, 114.041, 0.020751, 0.076736, 245.067
        ),
        capacity=65_536,
    ),
    Setting(
        Published("tuned_n24", 0, 0, 24, 74, 313.9, 60.864, 156.268, 0.018148, 0.020289, 262.710),
        max_running=24,
    ),
    Setting(
        Published("tuned_n32", 0, 0, 32, 64, 294.7, 39.110, 114.614, 0.021234, 0.022636, 248.054),
        max_running=32,
    ),
    Setting(
        Published("tuned_n40", 0, 0, 40, 57, 277.9, 28.869, 93.515, 0.022350, 0.024314, 232.234),
        max_running=40,
    ),
    Setting(
        Published("tuned_n48", 5, 4537, 48, 55, 274.4, 16.317, 72.933, 0.023382, 0.078432, 229.203),
        max_running=48,
    ),
    Setting(
        Published("noradix", 0, 0, 54, 60, 275.6, 16.811, 89.935, 0.023282, 0.025028, 229.938),
        tree=False,
    ),
    Setting(
        Published("det", 30, 28651, 84, 61, 564.1, 0.09537, 133.802, 0.042799, 0.188473, 480.738),
        slower=0.042799 / 0.024127,
    ),
)
"""`det` is the run in SGLang's deterministic mode, whose steps last longer. One run each."""
