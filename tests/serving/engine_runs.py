"""Rules and runs for the engines' tests: by hand, or drawn from a seed.

Memory is small against the requests, so that evictions, full memory and requests that can never be
served all show within a few iterations. Nothing is filtered.
"""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from fluidkv.runs.records import RequestTimes, RunRecords
from fluidkv.runs.requests import Requests
from fluidkv.serving.arrays import Runs
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.limits import Limits
from fluidkv.serving.rules import (
    Allocation,
    EngineRules,
    Gate,
    Growth,
    Guard,
    Keeps,
    NewTokenRatio,
    Ranges,
    RatioReset,
    Requeue,
    Restore,
    Victim,
)
from fluidkv.serving.swap import Swap

RUNS = 24
"""Runs of a drawn batch."""

_GATES = {
    "together": list(Gate),
    "alone": [Gate.FULL_INPUT, Gate.PEAK, Gate.RATIO],
    "newcomers": [Gate.FIRST_CHUNK, Gate.FULL_INPUT],
}
"""What may be asked at the gate where prefills and decodes go together, alone, newcomers first."""


def rules_of(seed: int) -> EngineRules:
    """Every answer is drawn."""
    rng = np.random.default_rng(seed)

    def any_of(values: Any) -> Any:
        return list(values)[rng.integers(len(values))]

    order = any_of(["together", *_GATES])
    allocation = any_of([Allocation.BY_BLOCK] * 3 + list(Allocation))
    by_block = allocation is Allocation.BY_BLOCK
    in_turn = order != "newcomers" and rng.random() < 0.5
    restore = any_of([Restore.RECOMPUTE, *Restore])
    least, start = sorted(Fraction(int(tenths), 10) for tenths in rng.integers(0, 10, 2))
    reset, steps, clip, ahead = any_of(RatioReset), *(int(rng.integers(1, n)) for n in (20, 12, 5))
    return EngineRules(
        "drawn",
        "",
        victim=any_of(Victim),
        keeps=any_of(Keeps) if restore is Restore.RECOMPUTE else Keeps.OUTPUTS,
        requeue=any_of(Requeue),
        growth=any_of(Growth),
        gate=any_of(_GATES[order]) if by_block else Gate.FULL_INPUT,
        guard=any_of(Guard),
        reserved_tokens=int(rng.integers(0, 3)),
        admits_after_eviction=order != "newcomers" and rng.random() < 0.5,
        prefill_alone=order == "alone",
        newcomers_first=order == "newcomers",
        ratio=NewTokenRatio(start, least, steps, clip, reset, ahead - 1),
        restore=restore,
        allocation=allocation,
        in_turn=in_turn,
        asker_stays=in_turn and rng.random() < 0.5,
        ranges=Ranges((0.15, 0.5), tokens=int(rng.integers(1, 6))),
    )


def varied(rules: EngineRules, seed: int) -> EngineRules:
    """The same order, gate, victim and queue; the answers beside them are drawn."""
    drawn_rules = rules_of(seed)
    swaps, grants = rules.restore, rules.allocation
    estimates = [each for each in Allocation if each is not Allocation.BY_BLOCK]
    computes = swaps is Restore.RECOMPUTE
    return replace(
        rules,
        keeps=drawn_rules.keeps if computes else Keeps.OUTPUTS,
        restore=swaps if computes else (Restore.SWAP, Restore.CHEAPER)[seed % 2],
        growth=drawn_rules.growth,
        guard=drawn_rules.guard,
        reserved_tokens=drawn_rules.reserved_tokens,
        admits_after_eviction=drawn_rules.admits_after_eviction and not rules.newcomers_first,
        ratio=replace(drawn_rules.ratio, reset=rules.ratio.reset),
        allocation=grants if grants is Allocation.BY_BLOCK else estimates[seed % len(estimates)],
    )


def runs_of(seed: int, runs: int = RUNS, *, everybody: bool = False) -> Runs:
    """Runs in which some requests run at the start, with all that any rule looks at."""
    rng, batch = np.random.default_rng(seed), drawn(seed, runs=runs, everybody=everybody)
    start = [_started(*run, rng) for run in zip(batch.tables, batch.limits, strict=True)]
    copying = float(rng.choice([0.0, 0.1]))
    pool, spot = rng.integers(0, 40, runs), rng.integers(0, 12, runs)
    shared, more = rng.integers(0, 2, runs) > 0, rng.integers(1, 6, runs)
    swaps = [
        Swap(copying, copying, int(p), int(s), bool(b))
        for p, s, b in zip(pool, spot, shared, strict=True)
    ]
    limits = [
        replace(each, swap=swap, more_outputs=int(outputs))
        for each, swap, outputs in zip(batch.limits, swaps, more, strict=True)
    ]
    return batch._replace(start=start, limits=limits)


def _started(table: Requests, limits: Limits, rng: np.random.Generator, most: int = 3) -> list[int]:
    """Outputs of the first few of a run, as long as they fit, whatever is reserved."""
    outputs, left = [], limits.blocks
    for index in range(min(most, len(table))):
        emitted = int(rng.integers(0, table.output_length[index]))
        left -= limits.blocks_of(int(table.input_length[index]) + emitted + 1)
        if emitted == 0 or left < 0:
            break
        outputs.append(emitted)
    return outputs


def one(inputs: Any, outputs: Any, *, blocks: int, block_size: int, **columns: Any) -> Runs:
    """One run, everything at the start where no arrivals are said, nothing capped."""
    table, limits = Requests(inputs, outputs, **columns), Limits(blocks * block_size, block_size)
    return Runs([table], [limits], [IterationClock.iterations()], [None], [()])


def limited(batch: Runs, **fields: Any) -> Runs:
    """The same under other limits; a field is what it is made of, or a function of the old ones."""

    def changed(limits: Limits) -> Limits:
        made = {name: field(limits) if callable(field) else field for name, field in fields.items()}
        return replace(limits, **made)

    return batch._replace(limits=list(map(changed, batch.limits)))


def blocks_left(blocks: int, limits: int) -> float:
    """A watermark of so many blocks, of those that there are."""
    return (blocks + 0.5) / (limits + 1)


def _batch(
    columns: dict[str, np.ndarray], numbers: dict[str, np.ndarray], durations: np.ndarray
) -> Runs:
    """Of each run its row; of its requests as many as `requests` says.

    For every other clock requests and experts cost something, too.
    """
    tables, limits, clocks, clients = [], [], [], []
    for run in range(len(durations)):
        number = {name: int(column[run]) for name, column in numbers.items()}
        size, blocks = number["block_size"], number["blocks"]
        own = {name: column[run, : number["requests"]] for name, column in columns.items()}
        tables.append(Requests(**own))
        limits.append(
            Limits(
                blocks * size,
                size,
                number["sequences"] or None,
                number["budget"] or None,
                blocks_left(number["watermark_blocks"], blocks),
                RATES[number["rate"]],
                seed=number.get("seed", 0),
            )
        )
        d0, d1, d2, d3 = durations[run].tolist()
        others = (0.03, 0.7, 0.2) if run % 2 else ()
        clocks.append(IterationClock(d0, d1, d2, **dict(zip(_OTHERS, (d3, *others), strict=False))))
        clients.append(number["clients"] or None)
    return Runs(tables, limits, clocks, clients, [()] * len(tables))


RATES = (None, None, Fraction(1), Fraction(3, 2))
_OTHERS = ("per_prefill_pair", "per_request", "experts", "expert_share")


def crowds(seed: int, *, runs: int = 8, size: int = 60) -> Runs:
    """More requests than the strategy draws, so that many are evicted in one iteration."""
    rng = np.random.default_rng(seed)
    inputs, outputs = rng.integers(1, 14, (2, runs, size))
    gaps = np.round(rng.exponential(rng.choice([0.0, 0.3, 2.0], (runs, 1)), (runs, size)), 2)
    block_size = rng.choice([1, 3, 16], runs)
    columns = {
        "input_length": inputs,
        "output_length": outputs,
        "arrival": gaps.cumsum(axis=1),
        "max_output": outputs + rng.integers(0, 4, (runs, size)),
        "estimated_output": rng.integers(1, 14, (runs, size)),
    }
    numbers = {
        "requests": rng.integers(max(1, size // 2), size + 1, runs),
        "blocks": rng.integers(120, 400, runs) // block_size,
        "block_size": block_size,
        "watermark_blocks": rng.integers(0, 3, runs),
        "sequences": rng.choice([0, 12], runs),
        "budget": rng.choice([0, 40], runs),
        "rate": rng.choice([0, 3], runs),
        "clients": rng.choice([0, 0, 25], runs),
    }
    return _batch(columns, numbers, rng.uniform(0.1, 1.0, (runs, 4)))


def drawn(seed: int, *, runs: int = 33, size: int = 14, everybody: bool = False) -> Runs:
    """Small runs under memory that is short, with all that any rule looks at; quick to draw."""
    rng = np.random.default_rng(seed)
    shape = (runs, size)
    inputs, outputs = rng.integers(1, 10, (2, *shape))
    block_size = rng.choice([1, 1, 2, 4], runs)
    columns = {
        "input_length": inputs,
        "output_length": outputs,
        "max_output": outputs + rng.integers(0, 4, shape),
        "arrival": rng.choice([0.0, 0.0, 0.5, 1.0, 3.7], shape).cumsum(axis=1),
        "priority": rng.integers(-1, 3, shape),
        "predicted_output": rng.integers(1, 10, shape),
        "estimated_output": rng.integers(1, 10, shape),
        "tbt_slo": rng.choice([0.1, 0.2, 0.3, 1.0, np.inf], shape),
    }
    numbers = {
        "requests": np.full(runs, size) if everybody else rng.integers(1, size + 1, runs),
        "blocks": rng.integers(22, 48, runs) // block_size,
        "block_size": block_size,
        "watermark_blocks": rng.choice([0, 0, 1, 3], runs),
        "sequences": rng.choice([0, 0, 3, 8], runs),
        "budget": rng.choice([0, 0, 3, 8, 20], runs),
        "rate": rng.integers(0, len(RATES), runs),
        "clients": rng.choice([0, 0, 0, 3, 9], runs),
        "seed": rng.integers(0, 2**30, runs),
    }
    return _batch(columns, numbers, rng.uniform(0.1, 1.0, (runs, 4)))


def row(batch: Runs, run: int) -> Runs:
    return Runs._make(column[run : run + 1] for column in batch)


def only(records: RunRecords, run: int) -> RunRecords:
    """One run of many."""
    here, times = slice(run, run + 1), records.requests
    return records._replace(
        counts=records.counts[here],
        time=records.time[here],
        iterations=records.iterations[here],
        done=records.done[here],
        stuck=records.stuck[here],
        requests=times and RequestTimes._make(column[here] for column in times),
    )


def assert_equal(ours: RunRecords, literal: RunRecords) -> None:
    """To the bit, times too."""
    assert (ours.requests is None) == (literal.requests is None)
    for mine, theirs in ((ours, literal), (ours.requests or (), literal.requests or ())):
        for place, (column, expected) in enumerate(zip(mine, theirs, strict=True)):
            if isinstance(column, np.ndarray):
                np.testing.assert_array_equal(column, expected, err_msg=str(place))
