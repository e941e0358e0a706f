"""Which form of the engine serves: the loop as machine code, or as plain Python."""

from fluidkv.errors import InputError
from fluidkv.runs.requests import Requests
from fluidkv.serving.arrays import Runs
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.limits import Limits
from fluidkv.serving.rules import EngineRules
from fluidkv.serving.running.engine import covers, is_loaded

LITERAL_STEPS = 100_000
"""Tokens of work, in all runs, up to which "auto" takes the literal engine in a new process.

It computes about 300,000 a second; to load the kernel takes about as long as this, and nothing once
it is loaded.
"""


def goes_literally(
    backend: str,
    rules: EngineRules,
    batch: Runs,
    *,
    jumps: bool,
    horizon: int,
) -> bool:
    """Whether a literal engine serves, and not the kernel.

    "auto" takes it where it is done before the kernel, which is not there yet, is loaded.

    Raises:
        InputError: numbers that the kernel cannot hold, where it is asked for.
    """
    fits = covers(rules, batch)
    if backend == "kernel" and not fits:
        raise InputError("backend", backend, "'reference' for numbers as large as these")
    little = not is_loaded() and _steps(rules, batch, jumps, horizon) <= LITERAL_STEPS
    little = little or not fits
    return backend == "reference" or (backend == "auto" and little)


def _steps(rules: EngineRules, batch: Runs, jumps: bool, horizon: int) -> int:
    """Roughly what the literal engine has to do: a step for each token, one for each iteration."""
    runs = zip(batch.tables, batch.limits, batch.clocks, strict=True)
    return sum(_steps_of(rules, *run, jumps, horizon) for run in runs)


def _steps_of(
    rules: EngineRules,
    table: Requests,
    limits: Limits,
    clock: IterationClock,
    jumps: bool,
    horizon: int,
) -> int:
    smallest = int(table.input_length.min())
    slots = min(limits.blocks * limits.block_size // smallest + 1, limits.sequences)
    # Iterations that emit nothing: until the last comes, under a small budget, between permits.
    idle = 0.0 if jumps else float(table.arrival[-1]) / clock.base
    chunks = int(table.input_length.sum()) / limits.budget
    permits = float(len(table) / limits.admission_rate) if limits.admission_rate else 0.0
    most = slots * float(horizon)
    # Where requests keep evicting each other, the same tokens may be computed over and over.
    work = most if rules.may_cycle else min(int(table.output_length.sum()), most)
    return int(work + min(idle + chunks + permits, horizon))
