"""Sizes that are compiled in: how many runs go together, with how many slots; and threads.

Sizes are rounded up, so that runs of about the same size share a compilation.
"""

from typing import NamedTuple

import jax
import numpy as np

from fluidkv.processes import cores
from fluidkv.runs.batch import power_of_two
from fluidkv.serving.arrays import RunArrays
from fluidkv.serving.compiled.admit import CHUNK
from fluidkv.serving.rules import EngineRules

FEWEST_SLOTS, FEWEST_REQUESTS = 128, 1024
"""Compiled in for fewer too."""

_SLOTS_OF_A_GROUP = 16384
"""On a CPU, of all runs of a group together: their fields stay in the second cache of a core."""
_GROUP_BYTES = 2**30
"""Most memory that the requests of a group take, whatever the device."""
_ROWS_OF_A_CALL = 2**16
"""Windows that a call records, of all runs together. They take 14 int64 each."""
_MOST_WINDOWS = 4096


class Plan(NamedTuple):
    """Sizes of a call of the compiled loop.

    Fields:
        runs: that go together, a group.
        slots: for running requests, of each run; `engine` doubles them where they are too few.
        requests: in a table, padding among them.
        windows: that a call records at most. A call of many iterations costs least: what is as long
            as the table is copied once a call.
        threads: groups that run at the same time.
    """

    runs: int
    slots: int
    requests: int
    windows: int
    threads: int


def plan(rules: EngineRules, arrays: RunArrays, batch_size: int | None = None) -> Plan:
    """How to run these runs on the default device; at most `batch_size` of them together."""
    running = _expected_running(rules, arrays)
    slots = _rounded(running + running // 4 + CHUNK, FEWEST_SLOTS)
    size = _rounded(arrays.arrival.shape[1], FEWEST_REQUESTS)
    total = arrays.requests.size
    on_cpu = jax.default_backend() == "cpu"
    threads = min(cores(), total) if on_cpu else 1
    runs = min(power_of_two(-(-total // threads)), max(1, _GROUP_BYTES // _bytes_of(size, slots)))
    if on_cpu:
        runs = min(runs, max(1, _SLOTS_OF_A_GROUP // slots))
    runs = min(runs, batch_size or runs)
    runs = 1 << (runs.bit_length() - 1)  # a power of two, rounded down
    windows = min(_MOST_WINDOWS, max(1, _ROWS_OF_A_CALL // runs))
    return Plan(runs, slots, size, windows, threads)


def _expected_running(rules: EngineRules, arrays: RunArrays) -> int:
    """About the most requests that run at once: as many mean prompts as fit.

    Newcomers that come first stand beside those that they are going to evict.
    """
    most = max(1, arrays.start.shape[1])
    for run in np.flatnonzero(arrays.requests):
        size = int(arrays.requests[run])
        tokens = arrays.input_length[run, :size].mean() + rules.reserved_tokens
        blocks = max(1.0, np.ceil(tokens / arrays.block_size[run]))
        fit = (1 + rules.newcomers_first) * arrays.blocks[run] / blocks
        fit = min(fit, arrays.sequences[run], size)
        most = max(most, int(np.ceil(fit)))
    return most


def _bytes_of(size: int, slots: int) -> int:
    """Of a run: table, store and queue, about 80 bytes a request; slots, 100; twice, in and out."""
    return 2 * (80 * size + 100 * slots)


def _rounded(size: int, least: int) -> int:
    """Up to `least` or a power of two, or half way between two, so that few sizes are compiled."""
    power = max(least, power_of_two(size))
    return power // 4 * 3 if power // 4 * 3 >= max(size, least) else power
