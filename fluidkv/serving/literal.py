"""The literal reference behind the interface of the fast engines."""

import sys
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from fluidkv.errors import InputError
from fluidkv.runs.batch import Progress, Watch
from fluidkv.runs.records import Outcome, RunRecords, in_windows, times_of
from fluidkv.runs.requests import Requests
from fluidkv.serving.arrays import RunArrays
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.kernel.engine import covers
from fluidkv.serving.limits import Limits
from fluidkv.serving.reference import COUNTS, Engine
from fluidkv.serving.rules import EngineRules
from fluidkv.serving.swap import Swap

LITERAL_STEPS = 100_000
"""Tokens of work, in all runs, up to which "auto" takes the literal engine in a new process.

It computes about 300,000 a second; to load the kernel takes about as long as this, and nothing once
it is loaded.
"""
_EVERY_SO_OFTEN = 1024  # iterations between two reports of progress


def goes_literally(
    backend: str,
    rules: EngineRules,
    arrays: RunArrays,
    *,
    jumps: bool,
    horizon: int,
    steps: int = LITERAL_STEPS,
) -> bool:
    """Whether a literal engine serves, and not the kernel.

    "auto" takes it where it is done before the kernel, which is not there yet, is loaded.

    Args:
        steps: tokens of work that it computes meanwhile.

    Raises:
        InputError: numbers that the kernel cannot hold, where it is asked for.
    """
    fits = covers(rules, arrays)
    if backend == "kernel" and not fits:
        raise InputError("backend", backend, "'reference' for numbers as large as these")
    loaded = "fluidkv.serving.kernel.loop" in sys.modules
    little = not fits or (not loaded and _steps(rules, arrays, jumps, horizon) <= steps)
    return backend == "reference" or (backend == "auto" and little)


def run_literally(
    rules: EngineRules,
    arrays: RunArrays,
    *,
    jumps: bool,
    iterations: int,
    every: int = 1,
    keep_requests: bool = True,
    batch_size: int | None = None,
    on_progress: Progress | None = None,
) -> RunRecords:
    """One run after the other, through `reference.Engine`; as `kernel.engine.run_kernel`.

    One at a time, whatever `batch_size`.
    """
    watch = Watch(on_progress)

    def outcome(run: int) -> Outcome:
        found = played(_engine(rules, arrays, run, jumps), iterations, watch)
        return found if keep_requests else found._replace(requests=None)

    found = (outcome(run) for run in range(arrays.requests.size))
    return in_windows(found, every, requests=arrays.output_length.shape[1])


def _engine(rules: EngineRules, arrays: RunArrays, run: int, jumps: bool) -> Engine:
    size = int(arrays.requests[run])
    table = Requests(
        arrays.input_length[run, :size],
        arrays.output_length[run, :size],
        arrival=arrays.arrival[run, :size],
        max_output=arrays.max_output[run, :size],
        priority=arrays.priority[run, :size],
        predicted_output=arrays.predicted[run, :size],
        estimated_output=arrays.estimated[run, :size],
        tbt_slo=arrays.tbt_slo[run, :size],
    )
    above, below = arrays.rate[run].tolist()
    limits = Limits(
        capacity=int(arrays.blocks[run] * arrays.block_size[run]),
        block_size=int(arrays.block_size[run]),
        max_num_seqs=int(arrays.sequences[run]),
        max_num_batched_tokens=int(arrays.budget[run]),
        watermark=float((arrays.watermark_blocks[run] + 0.5) / (arrays.blocks[run] + 1)),
        admission_rate=Fraction(above, below) if above else None,
        swap=Swap(
            *arrays.copying[run].tolist(),
            pool=int(arrays.pool[run]),
            sweet_spot=int(arrays.sweet_spot[run]),
            shared=bool(arrays.shared[run]),
        ),
        more_outputs=int(arrays.more_outputs[run]),
        seed=int(arrays.seed[run]),
    )
    *durations, per_pair = arrays.clock[run].tolist()
    unit = "s" if jumps else "iteration"
    clock = IterationClock(*durations, unit=unit, per_prefill_pair=per_pair)
    engine = Engine(table, rules, limits, clock, int(arrays.clients[run]) or None)
    engine.start_with([outputs for outputs in arrays.start[run].tolist() if outputs])
    return engine


class Steps(Protocol):
    """An engine that does one iteration after the other, as `reference.Engine`."""

    @property
    def now(self) -> float: ...
    @property
    def done(self) -> int: ...
    @property
    def arrived(self) -> int: ...
    @property
    def clients(self) -> int | None: ...
    @property
    def all(self) -> Sequence[Any]: ...
    @property
    def iteration(self) -> int: ...
    @property
    def stuck(self) -> bool: ...
    def step(self) -> dict[str, int]: ...


def played(engine: Steps, iterations: int, watch: Watch, names: Sequence[str] = COUNTS) -> Outcome:
    """An engine's run until all is done, it is stuck, or to the horizon.

    Args:
        names: of the counts of an iteration.
    """
    rows: list[list[int]] = []
    time: list[float] = []
    stuck, told, done, size = False, 0, engine.done, len(engine.all)
    while engine.iteration < iterations and engine.done < size and not stuck:
        rows.append(list(engine.step().values()))
        time.append(engine.now)
        stuck = engine.stuck
        if len(rows) % _EVERY_SO_OFTEN == 0:
            watch.report(len(rows) - told, engine.done - done)
            told, done = len(rows), engine.done
    watch.report(len(rows) - told, engine.done - done)
    requests = times_of(engine.all, [request.outputs for request in engine.all])
    if engine.clients:
        requests.arrival[engine.arrived :] = np.nan  # has not come
    counts = np.array(rows, np.int64).reshape(-1, len(names))
    return Outcome(counts, np.array(time), engine.done, stuck, requests)


def _steps(rules: EngineRules, arrays: RunArrays, jumps: bool, horizon: int) -> int:
    """Roughly what the literal engine has to do: a step for each token, one for each iteration."""
    real = np.arange(arrays.output_length.shape[1]) < arrays.requests[:, None]
    tokens = np.where(real, arrays.output_length, 0).sum(axis=1)
    smallest = arrays.input_length.min(axis=1)
    slots = np.minimum(arrays.blocks * arrays.block_size // smallest + 1, arrays.sequences)
    # Iterations that emit nothing: until the last comes, under a small budget, between permits.
    last = np.where(real, arrays.arrival, 0).max(axis=1)
    idle = np.zeros_like(last) if jumps else last / arrays.clock[:, 0]
    chunks = np.where(real, arrays.input_length, 0).sum(axis=1) / arrays.budget
    above, below = arrays.rate.T
    permits = np.where(above > 0, arrays.requests * below / np.maximum(above, 1), 0)
    most = slots * float(horizon)
    # Where requests keep evicting each other, the same tokens may be computed over and over.
    work = most if rules.may_cycle else np.minimum(tokens, most)
    return int((work + np.minimum(idle + chunks + permits, horizon)).sum())
