"""Tables 1, 2, 3, 6 and 7 of Congestion: the printed numbers beside those of our two engines.

The paper's come from Vidur and from a GPU, whose settings are printed in part only: the columns
stand side by side and are not meant to be equal. A row is one device with all requests, which is
what the printed latencies and throughputs fit (`congestion.tables.one-device-a-row`); "mixed" is
one of the two devices of the pool.
"""

from collections.abc import Mapping, Sequence
from functools import cache

from fluidkv import runs, serving
from fluidkv.ledger import Column, Row, Table
from fluidkv_papers.congestion.experiments import printed_tables as tables
from fluidkv_papers.congestion.experiments.a100 import ENGINES, INPUT, Totals, totals, workload

GPU_CAPACITY, GPU_INPUT, GPU_REQUESTS = 250_000, 300, 60_000
"""Table 2. Its capacity is not printed: this one is ours, some 815 requests at once."""
GPU_ENGINES = (*ENGINES, "sglang")

_SHORT = {"restart": "restart", "vidur-sarathi": "vidur", "sglang": "sglang"}
_SECONDS = (
    "Our seconds: 9.93 ms + 1.656e-4 ms a KV token, fitted to Vidur's decode batches of up to 512 "
    "requests; prefill costs nothing in it. They compare our rows with one another only."
)
_SETTING = (
    "One A100 with Llama-3-8B: 30,208 blocks of 16 tokens, watermark 1 %, at most 4096 requests, "
    "no prefill budget; all 20,000 requests wait at the start, classes in turn. restart: the "
    "paper's model in whole requests, with the same tokens and neither blocks nor watermark."
)
_KEEPS = (
    "vidur: an evicted request keeps its tokens and computes their cache again; restart: it loses "
    "them. The theory of the paper is about restart."
)


def routed_rows(case: tables.Routed) -> list[Row]:
    """Nodes, their average, the pool, and what mixing changes."""
    runs = {engine: [totals(lengths, engine) for lengths in case.lengths] for engine in ENGINES}
    of_engines = {
        f"{name}_{engine}": [getattr(run, field) for run in of]
        for engine, of in runs.items()
        for name, field in _FIELDS
    }
    return _routed(case, of_engines)


def rate_limit_rows() -> list[Row]:
    """Greedy, and every integer cap on the admissions of an iteration."""
    greedy, capped = (_printed(row) for row in tables.TABLE_3)
    rows = [Row("greedy", greedy | _limited(None))]
    for cap in tables.TABLE_3_CAPS:
        paper = capped if cap == tables.TABLE_3_CAP else dict.fromkeys(capped)
        rows.append(Row(f"at most {cap}", paper | _limited(cap)))
    changes = dict(zip(_PAPER, _PRINTED_CHANGES, strict=True)) | _changes(
        rows[0], rows[tables.TABLE_3_CAP]
    )
    return [*rows, Row(f"{tables.TABLE_3_CAP}: change, %", changes, percent=True)]


@cache
def gpu_run(lengths: tables.Lengths, engine: str) -> tuple[int, float]:
    """Evictions, and requests completed per iteration, of 60,000 requests of Table 2."""
    requests = runs.saturated(workload(lengths, GPU_INPUT), GPU_REQUESTS, in_turn=True)
    found = serving.serve(
        requests, serving.Server(engine, serving.Limits(GPU_CAPACITY)), keep_requests=False
    )
    told = runs.metrics(found)
    return int(told.preemptions.item()), float(told.throughput.item())


def gpu_rows() -> list[Row]:
    """As `routed_rows`; throughputs of ours are per iteration."""
    runs = {
        engine: [gpu_run(lengths, engine) for lengths in tables.TABLE_2.lengths]
        for engine in GPU_ENGINES
    }
    of_engines = {f"evictions_{engine}": [e for e, _ in of] for engine, of in runs.items()}
    of_engines |= {f"rate_{engine}": [rate for _, rate in of] for engine, of in runs.items()}
    return _routed(tables.TABLE_2, of_engines)


_FIELDS = (
    ("evictions", "evictions"),
    ("latency", "latency_s"),
    ("throughput", "per_s"),
    ("iterations", "iterations"),
    ("tax", "tax"),
)
_PAPER = ("evictions_paper", "latency_paper", "throughput_paper")
# The paper prints a latency that falls as a gain.
_PRINTED_CHANGES = [
    float(tables.TABLE_3_CHANGES[0]),
    -float(tables.TABLE_3_CHANGES[1]),
    float(tables.TABLE_3_CHANGES[2]),
]


def _routed(case: tables.Routed, of_engines: Mapping[str, Sequence[float]]) -> list[Row]:
    """Rows out of [node 1, node 2, pool] of each column of ours."""
    values = [{key: column[i] for key, column in of_engines.items()} for i in range(3)]
    average = {key: (column[0] + column[1]) / 2 for key, column in of_engines.items()}
    change = {
        key: None if average[key] == 0 else 100 * (column[2] / average[key] - 1)
        for key, column in of_engines.items()
    }
    printed = dict(zip(_PAPER, map(float, case.changes), strict=True))
    labels = [_braces(lengths) for lengths in case.lengths]
    return [
        Row(labels[0], _printed(case.nodes[0]) | values[0]),
        Row(labels[1], _printed(case.nodes[1]) | values[1]),
        Row("average", _printed(case.average) | average),
        Row(
            f"mixed{'' if len(labels[2]) > 12 else ' ' + labels[2]}",
            _printed(case.mixed) | values[2],
        ),
        Row("change, %", printed | change, percent=True),
    ]


def _limited(cap: int | None) -> dict[str, float]:
    found: dict[str, float] = {}
    for engine in ENGINES:
        of = _rate_limited(engine, cap)
        found |= {f"{name}_{engine}": getattr(of, field) for name, field in _FIELDS}
    return found


def _rate_limited(engine: str, cap: int | None) -> Totals:
    return totals(tables.TABLE_3_LENGTHS, engine, cap=cap, rate_per_s=tables.TABLE_3_RATE_PER_S)


def _changes(before: Row, after: Row) -> dict[str, float | None]:
    found: dict[str, float | None] = {}
    for key, value in after.values.items():
        old = before.values[key]
        if not key.endswith("_paper") and value is not None:
            found[key] = 100 * (value / old - 1) if old else None
    return found


def _printed(row: tables.PrintedRow) -> dict[str, float]:
    return {
        "evictions_paper": int(row.evictions),
        "latency_paper": float(row.latency),
        "throughput_paper": float(row.throughput),
    }


def _braces(lengths: tables.Lengths) -> str:
    return "{" + ",".join(map(str, lengths)) + "}"


def _columns() -> tuple[Column, ...]:
    groups = (
        ("evictions", "evictions", 0),
        ("latency", "latency, s", 1),
        ("throughput", "requests/s", 1),
    )
    return tuple(
        Column(f"{key}_{who}", group, _SHORT.get(who, who), digits)
        for key, group, digits in groups
        for who in ("paper", *ENGINES)
    )


_GPU_COLUMNS = (
    *(
        Column(f"evictions_{who}", "evictions", _SHORT.get(who, who))
        for who in ("paper", *GPU_ENGINES)
    ),
    Column("throughput_paper", "requests/s", "paper"),
    *(Column(f"rate_{engine}", "requests/iteration", _SHORT[engine], 1) for engine in GPU_ENGINES),
)
"""The latency is in the JSON only."""


def _routing_table(number: int, title: str, *cases: tables.Routed) -> Table:
    """A table of runs on Vidur's machine, apart and mixed."""
    return Table(
        str(number),
        f"Request mixing, {title}20,000 requests, inputs of {INPUT}",
        f"Congestion, Table {number}",
        _columns(),
        (_SETTING, _KEEPS, _SECONDS),
        lambda: [row for case in cases for row in routed_rows(case)],
    )


TABLES: Sequence[Table] = (
    _routing_table(1, "", tables.TABLE_1, tables.TABLE_1_PARTIAL),
    Table(
        "2",
        f"Request mixing on a GPU, 60,000 requests, inputs of {GPU_INPUT}",
        "Congestion, Table 2",
        _GPU_COLUMNS,
        (
            f"The paper's server is SGLang; its KV capacity is not printed. Ours: {GPU_CAPACITY:,} "
            "tokens, no caps; all requests wait at the start, classes in turn.",
            "sglang: version 0.5.23 with the outputs known to it (as when their length is fixed): "
            "it reserves most of them on admission, so it hardly evicts.",
            _KEEPS,
        ),
        gpu_rows,
    ),
    Table(
        "3",
        f"Rate-limited admission, 20,000 requests, inputs of {INPUT}",
        "Congestion, Table 3",
        _columns(),
        (
            _SETTING.replace(
                "all 20,000 requests wait at the start, classes in turn",
                "Poisson arrivals, 300 a second, seed 0",
            ),
            f"Outputs {_braces(tables.TABLE_3_LENGTHS)}. At most a: admissions per iteration. The "
            "paper prints the row that it selected, 5.",
            _KEEPS,
            _SECONDS,
        ),
        rate_limit_rows,
    ),
    _routing_table(6, "common divisor 1, ", tables.TABLE_6),
    _routing_table(7, "common divisor 25, ", tables.TABLE_7),
)
