"""Tables 2 and 3 of Routing: the printed numbers beside those of two simulations.

The paper's come from GPUs, whose service times are not printed: ours are set so that one row of
Table 2 is about as fast (`instances/setting.py`). Rows stand below each other and are not meant to
be equal.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from fluidkv.ledger import Column, Row, Table
from fluidkv.processes import cores, shared_out
from fluidkv_papers.routing.instances import one_worker, setting
from fluidkv_papers.routing.instances.printed import TABLE_2, TABLE_3
from fluidkv_papers.routing.instances.setting import SERVER_REQUESTS, Setting, methods

SEEDS = (0, 1, 2, 3)
SIZES = (one_worker.THERE, 195_000, 200_000)
"""KV tokens of one worker: where L-LRU has the printed hit rate, above it, and as printed."""

_KEYS: tuple[str, ...] = (
    "latency_p50",
    "latency_p95",
    "ttft_p50",
    "ttft_p95",
    "hit_rate",
    "throughput",
)
_HITS = _KEYS.index("hit_rate")
_WITH_OTHER = (*TABLE_2, "cache-aware-0.3+lru")
Job = tuple[Setting, str, int]


KINDS = {"plain": Setting(), "SGLang": Setting(server=SERVER_REQUESTS)}


def table_2_rows(kinds: Mapping[str, Setting] = KINDS, seeds: Sequence[int] = SEEDS) -> list[Row]:
    """Each method as printed, with plain workers, and with SGLang's servers."""
    jobs = [(of, name, seed) for of in kinds.values() for name in _WITH_OTHER for seed in seeds]
    found = _means(jobs, len(seeds))
    rows = []
    for place, name in enumerate(_WITH_OTHER):
        if name in TABLE_2:
            rows.append(Row(methods()[name].label, _printed_2(name)))
        else:
            rows.append(Row(methods()[name].label, dict.fromkeys(_KEYS)))
        for at, kind in enumerate(kinds):
            values: dict[str, float | None] = dict(
                zip(_KEYS, found[at * len(_WITH_OTHER) + place], strict=True)
            )
            values["hit_rate"] = 100 * found[at * len(_WITH_OTHER) + place][_HITS]
            if kind == "plain":  # outputs cost nothing there
                values |= {"ttft_p50": None, "ttft_p95": None}
            rows.append(Row(f"  ours, {kind}", values))
    return rows


def table_3_rows(sizes: Sequence[int] = SIZES, seeds: Sequence[int] = (0,)) -> list[Row]:
    """L-LRU and RLT as printed, and for several cache sizes: all but hit rates over the larger."""
    names = {"lru": "round-robin+lru", "rlt": "round-robin+rlt"}
    rows = [
        Row(f"{label}, paper", {key: float(getattr(TABLE_3[name], field)) for key, field in _3})
        for name, label in _LABELS.items()
    ]
    jobs = [
        (one_worker.setting(size), method, seed)
        for size in sizes
        for method in names.values()
        for seed in seeds
    ]
    found = _means(jobs, len(seeds))
    for place, size in enumerate(sizes):
        pair = found[2 * place : 2 * place + 2]
        most = pair.max(axis=0)
        for values, label in zip(pair, _LABELS.values(), strict=True):
            shown = dict(zip(_KEYS, values / most, strict=True))
            shown["hit_rate"] = 100 * values[_HITS]
            rows.append(Row(f"{label}, {size:,} tokens", shown))
    return rows


def _means(jobs: Sequence[Job], seeds: int) -> np.ndarray:
    """(setting and method, key), over the seeds, which come last in the jobs."""
    runs = dict(shared_out(_run, jobs, cores(), argument="cores"))
    found = np.array([[runs[place][key] for key in _KEYS] for place in range(len(jobs))])
    return found.reshape(-1, seeds, len(_KEYS)).mean(axis=1)


def _run(job: Job) -> dict[str, float]:
    return setting.measured(*job)


def _printed_2(name: str) -> dict[str, float]:
    row = TABLE_2[name]
    times = (row.latency, row.latency_p95, row.ttft, row.ttft_p95)
    numbers = [*(float(ms) / 1000 for ms in times), float(row.hit_rate), float(row.throughput)]
    return dict(zip(_KEYS, numbers, strict=True))


_LABELS = {"lru": "L-LRU", "rlt": "RLT"}
_3 = (
    ("latency_p50", "latency"),
    ("latency_p95", "latency_p95"),
    ("hit_rate", "hit_rate"),
    ("throughput", "throughput"),
)
_COLUMNS = (
    Column("latency_p50", "latency, s", "P50", 2),
    Column("latency_p95", "latency, s", "P95", 2),
    Column("ttft_p50", "TTFT, s", "P50", 2),
    Column("ttft_p95", "TTFT, s", "P95", 2),
    Column("hit_rate", "hits", "%", 2),
    Column("throughput", "requests", "/s", 2),
)
_RELATIVE = (
    Column("latency_p50", "latency", "P50", 2),
    Column("latency_p95", "latency", "P95", 2),
    Column("hit_rate", "hits", "%", 2),
    Column("throughput", "throughput", "", 2),
)

TABLES: Sequence[Table] = (
    Table(
        "routing.2",
        "Eviction and routing on generated prefixes",
        "Routing, Table 2",
        _COLUMNS,
        (
            "128 groups of 32 requests, 12 Poisson arrivals a second, 4 workers of 200,000 tokens. "
            f"Ours are means of {len(SEEDS)} draws.",
            f"plain: a worker serves one request at a time, {setting.SECONDS_PER_1000} s for 1,000 "
            "uncached tokens; single tokens are evicted. A first token comes with the last.",
            "SGLang: version 0.5.23's scheduler and tree, which evicts whole nodes; a pass takes "
            f"{1e3 * setting.SERVER_CLOCK[0]:.0f} ms and {1e3 * setting.SERVER_CLOCK[2]:.2f} ms a "
            "prompt token.",
            "Both clocks are set by the first row: the plain one from its numbers, SGLang's so "
            "that its throughput comes out, nearly. All else is found.",
            "Cache-Aware follows a match of more than half a prompt, SGLang's default then: none "
            "is longer. (0.3) is its later default, which the paper does not have.",
        ),
        table_2_rows,
    ),
    Table(
        "routing.3",
        "L-LRU and RLT on one worker, round-robin order",
        "Routing, Table 3",
        _RELATIVE,
        (
            "64 groups of 32 requests, 12 a second, plain service as in routing.2. Latencies and "
            "throughput are over the larger of both policies.",
            "A round of all groups is 198,400 tokens: below 190,200 L-LRU finds nothing, and all "
            "that there is from 198,400 on. `fluidkv figure gsp-one-worker` draws it.",
        ),
        table_3_rows,
    ),
)
