"""The literal reference behind the interface of the fast engines."""

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from fluidkv.serving.arrays import RunArrays, RunRecords
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.limits import Limits
from fluidkv.serving.reference import COUNTS, Engine
from fluidkv.serving.requests import Requests
from fluidkv.serving.rules import EngineRules

Progress = Callable[[int, int], None]
_EVERY_SO_OFTEN = 1024  # iterations between two reports of progress


def run_literally(
    rules: EngineRules,
    arrays: RunArrays,
    *,
    jumps: bool,
    iterations: int,
    every: int = 1,
    keep_requests: bool = True,
    on_progress: Progress | None = None,
) -> RunRecords:
    """One run after the other, through `reference.Engine`; as `engine.run_engine`."""
    runs = [
        _run(_engine(rules, arrays, run, jumps), arrays, run, iterations, every, on_progress)
        for run in range(arrays.requests.size)
    ]
    windows = max(len(time) for _, time, _, _ in runs)
    counts = np.zeros((len(runs), windows, len(COUNTS)), np.int64)
    times = np.full((len(runs), windows), np.nan)
    for run, (rows, time, _, _) in enumerate(runs):
        counts[run, : len(time)] = rows
        times[run, : len(time)] = time
    engines = [engine for *_, engine, _ in runs]
    return RunRecords(
        counts,
        times,
        iterations=np.array([engine.iteration for engine in engines]),
        done=np.array([engine.done for engine in engines]),
        stuck=np.array([stuck for *_, stuck in runs]),
        **(_of_requests(engines, arrays.output_length.shape) if keep_requests else {}),
    )


def _engine(rules: EngineRules, arrays: RunArrays, run: int, jumps: bool) -> Engine:
    size = int(arrays.requests[run])
    table = Requests(
        arrays.input_length[run, :size],
        arrays.output_length[run, :size],
        arrival=arrays.arrival[run, :size],
        max_output=arrays.max_output[run, :size],
    )
    above, below = arrays.rate[run].tolist()
    limits = Limits(
        capacity=int(arrays.blocks[run] * arrays.block_size[run]),
        block_size=int(arrays.block_size[run]),
        max_num_seqs=int(arrays.sequences[run]),
        max_num_batched_tokens=int(arrays.budget[run]),
        watermark=float((arrays.watermark_blocks[run] + 0.5) / (arrays.blocks[run] + 1)),
        admission_rate=Fraction(above, below) if above else None,
    )
    clock = IterationClock(*arrays.clock[run].tolist(), unit="s" if jumps else "iteration")
    engine = Engine(table, rules, limits, clock, int(arrays.clients[run]) or None)
    engine.start_with([outputs for outputs in arrays.start[run].tolist() if outputs])
    return engine


def _run(
    engine: Engine,
    arrays: RunArrays,
    run: int,
    iterations: int,
    every: int,
    on_progress: Progress | None,
) -> tuple[list[np.ndarray], list[float], Engine, bool]:
    rows: list[np.ndarray] = []
    time: list[float] = []
    stuck = False
    while engine.iteration < iterations and engine.done < len(engine.all) and not stuck:
        row = np.array(list(engine.step().values()), np.int64)
        if engine.iteration % every == 1 or every == 1:
            rows.append(row)
            time.append(engine.now)
        else:
            rows[-1] += row
            time[-1] = engine.now
        stuck = engine.stuck
        if on_progress is not None and engine.iteration % _EVERY_SO_OFTEN == 0:
            on_progress(engine.iteration, engine.done)
    return rows, time, engine, stuck


def _of_requests(engines: list[Engine], shape: tuple[int, ...]) -> dict[str, np.ndarray]:
    kinds = {
        "arrival": np.nan,
        "admitted_at": np.nan,
        "first_token_at": np.nan,
        "last_token_at": np.nan,
        "longest_gap": 0.0,
        "evictions": 0,
        "outputs": 0,
        "finished": False,
    }
    found = {name: np.full(shape, empty) for name, empty in kinds.items()}
    for run, engine in enumerate(engines):
        for request in engine.all:
            for name, column in found.items():
                value = getattr(request, name)
                if name == "arrival" and engine.clients and request.index >= engine.arrived:
                    value = np.nan  # has not come
                if value is not None:
                    column[run, request.index] = value
    return found
