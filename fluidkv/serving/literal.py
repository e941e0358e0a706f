"""Which form of the engine serves: the loop as machine code, or as plain Python."""

import numpy as np

from fluidkv.errors import InputError
from fluidkv.serving.arrays import RunArrays
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
    arrays: RunArrays,
    *,
    jumps: bool,
    horizon: int,
) -> bool:
    """Whether a literal engine serves, and not the kernel.

    "auto" takes it where it is done before the kernel, which is not there yet, is loaded.

    Raises:
        InputError: numbers that the kernel cannot hold, where it is asked for.
    """
    fits = covers(rules, arrays)
    if backend == "kernel" and not fits:
        raise InputError("backend", backend, "'reference' for numbers as large as these")
    little = not is_loaded() and _steps(rules, arrays, jumps, horizon) <= LITERAL_STEPS
    little = little or not fits
    return backend == "reference" or (backend == "auto" and little)


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
