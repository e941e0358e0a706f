"""Two traces of Mooncake through every policy: what a cache finds of real prompts, on record.

The traces are not part of the project and their curves take minutes, so both stand in two tables
beside this file; tests compute them again where the traces are. Prompts are known by hashes of
blocks of 512 tokens; outputs are not, so they are not cached.

Source: the traces of Mooncake's FAST'25 release (Apache-2.0), as `mooncake_conversation.jsonl` and
`mooncake_synthetic.jsonl` in the folder that FLUIDKV_TRACES names. Both tables were written, and
are written anew, by `python -m fluidkv_papers.routing.instances.mooncake`.
"""

import os
from collections import Counter
from collections.abc import Iterable
from functools import cache
from itertools import product
from pathlib import Path
from typing import NamedTuple

from fluidkv import answers, prefix
from fluidkv.answers.prompted import Prompted
from fluidkv.figures.figure import MissingInput
from fluidkv.traces import read_trace
from fluidkv.traces.read import LoadedTrace
from fluidkv_papers.records import Table

TRACES = ("conversation", "synthetic")
UNITS = ("blocks", "nodes")
"""Blocks of 512 tokens, one at a time, or whole nodes of a radix tree of tokens, as in SGLang."""
SEEDS = 10
"""Of the policies that draw."""
CAPACITIES = tuple(
    round(millions * 10**6)
    for millions in (0.2, 0.5, 1, 1.5, 2, 2.5, 3, 4, 5, 7, 10, 15, 20, 30, 50)
)
"""Tokens. GPU memory alone is at the left, host memory and disks are at the right."""
POLICIES = ("opt", "lru", "rlt", "random", "slru", "lfu", "fifo", "mru", "filo")

_TOTALS, _CURVES = Table(__file__, "mooncake_totals"), Table(__file__, "mooncake_curves")


class Totals(NamedTuple):
    """What an infinite cache finds.

    Fields:
        references, found: to blocks, the last of a prompt in part; those asked for before.
        tokens, found_tokens: of prompts.
        longest, whole: tokens of the longest prompt, and of all that is ever asked for, in blocks.
        reuse_s, reuse_tokens: medians over the references found, since the block was last asked
            for: seconds, and tokens in blocks that nobody had asked for before.
    """

    trace: str
    requests: int
    references: int
    found: int
    tokens: int
    found_tokens: int
    longest: int
    whole: int
    reuse_s: float
    reuse_tokens: float


class Point(NamedTuple):
    """The share of prompt tokens that a policy finds; `margin`: 95 % for the mean over seeds."""

    trace: str
    units: str
    policy: str
    capacity: int
    hit_rate: float
    margin: float


@cache
def totals() -> dict[str, Totals]:
    """By trace, as on record."""
    return {row.trace: row for row in _TOTALS.rows(Totals)}


@cache
def curves() -> dict[tuple[str, str, str], tuple[Point, ...]]:
    """By trace, units and policy, a point for each of `CAPACITIES`; as on record."""
    found: dict[tuple[str, str, str], tuple[Point, ...]] = {}
    for point in _CURVES.rows(Point):
        key = point.trace, point.units, point.policy
        found[key] = (*found.get(key, ()), point)
    return found


@cache
def prompted(trace: str) -> Prompted:
    """The trace itself.

    Raises:
        MissingInput: the file is not there.
    """
    return answers.prompted_trace(*_loaded(trace))


def computed_totals(trace: str) -> Totals:
    """From the ids alone, without a cache.

    Raises:
        MissingInput: the trace is not there.
    """
    from statistics import median

    told = _loaded(trace).trace
    blocks, times, size = told.prefix_blocks, told.arrival_times_s, told.prefix_block_size
    assert blocks is not None
    assert times is not None
    assert size is not None
    seen: set[int] = set()
    last: dict[int, tuple[float, int]] = {}
    counts: Counter[str] = Counter()
    since, between = [], []
    for ids, length, time in zip(blocks, told.input_lengths, times, strict=True):
        for place, block in enumerate(ids):
            tokens = min(size, length - place * size)
            counts.update(references=1, tokens=tokens)
            if block in last:
                counts.update(found=1, found_tokens=tokens)
                since.append(time - last[block][0])
                between.append(len(seen) - last[block][1])
        seen.update(ids)
        last.update(dict.fromkeys(ids, (time, len(seen))))
    return Totals(
        trace,
        len(told),
        counts["references"],
        counts["found"],
        counts["tokens"],
        counts["found_tokens"],
        size * max(map(len, blocks)),
        size * len(seen),
        median(since),
        size * median(between),
    )


def computed_curve(
    trace: str, units: str, policy: str, capacities: Iterable[int] = CAPACITIES
) -> tuple[Point, ...]:
    """One curve.

    Raises:
        MissingInput: the trace is not there.
    """
    nodes = prefix.Granularity(nodes=True) if units == "nodes" else None
    study = answers.cache_study(
        prompted(trace),
        tuple(capacities),
        policies=[prefix.Policy(policy)],
        granularity=nodes,
        seeds=SEEDS,
    )
    (curve,) = study.curves
    rows = zip(study.capacities, curve.hit_rate.tolist(), curve.margin.tolist(), strict=True)
    return tuple(Point(trace, units, policy, *row) for row in rows)


def record() -> None:
    """Compute everything and write both tables."""
    _TOTALS.write(Totals._fields, map(computed_totals, TRACES))
    points = (point for case in product(TRACES, UNITS, POLICIES) for point in computed_curve(*case))
    _CURVES.write(Point._fields, points)


@cache
def _loaded(trace: str) -> LoadedTrace:
    name = f"mooncake_{trace}.jsonl"
    default = Path(__file__).parents[5] / "shared/traces"
    path = Path(os.environ.get("FLUIDKV_TRACES") or default) / name
    if not path.is_file():
        raise MissingInput(f"no trace: FLUIDKV_TRACES names no folder with {name}")
    return read_trace(path)


if __name__ == "__main__":
    record()
