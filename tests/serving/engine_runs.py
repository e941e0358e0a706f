"""Runs for the engines' tests, as plain arrays."""

import numpy as np

from fluidkv.runs.records import RequestTimes, RunRecords
from fluidkv.serving.arrays import RunArrays
from fluidkv.serving.limits import UNLIMITED


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
