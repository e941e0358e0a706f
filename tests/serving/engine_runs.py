"""Rules and runs for the engines' tests: by hand, or drawn from a seed.

Memory is small against the requests, so that evictions, full memory and requests that can never be
served all show within a few iterations. Nothing is filtered.
"""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from fluidkv.runs.records import RequestTimes, RunRecords
from fluidkv.serving.arrays import RunArrays
from fluidkv.serving.limits import UNLIMITED
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


def runs_of(seed: int, runs: int = RUNS) -> RunArrays:
    """Runs in which some requests run at the start, with all that any rule looks at."""
    rng, arrays = np.random.default_rng(seed), drawn(seed, runs=runs)
    return arrays._replace(
        start=np.array([_started(row(arrays, run), rng) for run in range(runs)]),
        copying=np.full((runs, 2), rng.choice([0.0, 0.1])),
        pool=rng.integers(0, 40, runs),
        sweet_spot=rng.integers(0, 12, runs),
        shared=rng.integers(0, 2, runs) > 0,
        more_outputs=rng.integers(1, 6, runs),
    )


def _started(arrays: RunArrays, rng: np.random.Generator, most: int = 3) -> list[int]:
    """Outputs of the first few of a run, as long as they fit, whatever is reserved; then 0."""
    outputs, left = [0] * most, int(arrays.blocks[0])
    for index in range(min(most, int(arrays.requests[0]))):
        emitted = int(rng.integers(0, arrays.output_length[0, index]))
        tokens = int(arrays.input_length[0, index]) + emitted + 1
        left -= -(-tokens // int(arrays.block_size[0]))
        if emitted == 0 or left < 0:
            break
        outputs[index] = emitted
    return outputs


def one(inputs: np.ndarray, outputs: np.ndarray, *, blocks: int, block_size: int) -> RunArrays:
    """One run, everything at the start, nothing capped."""
    column = {"requests": inputs.size, "blocks": blocks, "block_size": block_size}
    return RunArrays(
        inputs[None],
        outputs[None],
        outputs[None],
        np.zeros((1, inputs.size)),
        **{name: np.array([value]) for name, value in column.items()},
        watermark_blocks=np.array([0]),
        sequences=np.array([UNLIMITED]),
        budget=np.array([UNLIMITED]),
        rate=np.array([[0, 1]]),
        clients=np.array([0]),
        clock=np.array([[1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]]),
        start=np.zeros((1, 0), np.int64),
        **unasked(outputs[None]),
    )


def clocks(durations: np.ndarray) -> np.ndarray:
    """d0 to d3, and for every other run what its requests and its experts cost."""
    batches = np.tile([[0.0, 0.0, 1.0], [0.03, 0.7, 0.2]], (len(durations), 1))
    return np.column_stack((durations, batches[: len(durations)]))


def unasked(outputs: np.ndarray) -> dict[str, np.ndarray]:
    """What only some rules look at: true predictions, no objectives, an instant bus."""
    runs = len(outputs)
    return {
        "priority": np.zeros_like(outputs),
        "predicted": outputs,
        "estimated": outputs,
        "tbt_slo": np.full(outputs.shape, np.inf),
        "copying": np.zeros((runs, 2)),
        "pool": np.full(runs, UNLIMITED),
        "sweet_spot": np.zeros(runs, np.int64),
        "shared": np.ones(runs, bool),
        "more_outputs": np.full(runs, 100),
        "seed": np.zeros(runs, np.int64),
    }


def crowds(seed: int, *, runs: int = 8, size: int = 60) -> RunArrays:
    """More requests than the strategy draws, so that many are evicted in one iteration."""
    rng = np.random.default_rng(seed)
    inputs, outputs = rng.integers(1, 14, (2, runs, size))
    gaps = np.round(rng.exponential(rng.choice([0.0, 0.3, 2.0], (runs, 1)), (runs, size)), 2)
    block_size = rng.choice([1, 3, 16], runs)
    blocks = rng.integers(120, 400, runs) // block_size
    return RunArrays(
        inputs,
        outputs,
        outputs + rng.integers(0, 4, (runs, size)),
        gaps.cumsum(axis=1),
        requests=rng.integers(size // 2, size + 1, runs),
        blocks=blocks,
        block_size=block_size,
        watermark_blocks=rng.integers(0, 3, runs),
        sequences=rng.choice([UNLIMITED, 12], runs),
        budget=rng.choice([UNLIMITED, 40], runs),
        rate=np.array([(0, 1), (3, 2)])[rng.integers(0, 2, runs)],
        clients=rng.choice([0, 0, 25], runs),
        clock=clocks(rng.uniform(0.1, 1.0, (runs, 4))),
        start=np.zeros((runs, 0), np.int64),
        **unasked(outputs) | {"estimated": rng.integers(1, 14, (runs, size))},
    )


def drawn(seed: int, *, runs: int = 33, size: int = 14) -> RunArrays:
    """Small runs under memory that is short, with all that any rule looks at; quick to draw."""
    rng = np.random.default_rng(seed)
    shape = (runs, size)
    inputs, outputs = rng.integers(1, 10, (2, *shape))
    block_size = rng.choice([1, 1, 2, 4], runs)
    return RunArrays(
        inputs,
        outputs,
        outputs + rng.integers(0, 4, shape),
        rng.choice([0.0, 0.0, 0.5, 1.0, 3.7], shape).cumsum(axis=1),
        requests=rng.integers(1, size + 1, runs),
        blocks=rng.integers(22, 48, runs) // block_size,
        block_size=block_size,
        watermark_blocks=rng.choice([0, 0, 1, 3], runs),
        sequences=rng.choice([UNLIMITED, UNLIMITED, 3, 8], runs),
        budget=rng.choice([UNLIMITED, UNLIMITED, 3, 8, 20], runs),
        rate=np.array([(0, 1), (0, 1), (1, 1), (3, 2)])[rng.integers(0, 4, runs)],
        clients=rng.choice([0, 0, 0, 3, 9], runs),
        clock=clocks(rng.uniform(0.1, 1.0, (runs, 4))),
        start=np.zeros((runs, 0), np.int64),
        **unasked(outputs)
        | {
            "priority": rng.integers(-1, 3, shape),
            "predicted": rng.integers(1, 10, shape),
            "estimated": rng.integers(1, 10, shape),
            "tbt_slo": rng.choice([0.1, 0.2, 0.3, 1.0, np.inf], shape),
            "seed": rng.integers(0, 2**30, runs),
        },
    )


def row(arrays: RunArrays, run: int) -> RunArrays:
    return RunArrays(*(column[run : run + 1] for column in arrays))


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
