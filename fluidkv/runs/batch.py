"""Many runs: groups of one shape, in threads, some hundred iterations a call.

A *run* is one trajectory of one setting and seed; a *batch*, or a group of one, is what is computed
together. A compiled call does some iterations of a group and lets go of the interpreter, so that
groups go to threads; between two calls a run can be interrupted, and progress is told. The engines
of `fluidkv.serving` and `fluidkv.wait` bring the calls.
"""

from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from threading import Event, Lock
from typing import NamedTuple, TypeVar

import numpy as np
from jaxtyping import Int

Progress = Callable[[int, int], None]
"""Told now and then, maybe from another thread: iterations, and requests or runs that are done, of
all runs together."""

Found = TypeVar("Found")


class Reached(NamedTuple):
    """Where a group is after a call: iterations of its runs in all and what is done in them, so
    far; whether any of its runs goes on."""

    at: int
    iterations: int
    done: int
    live: bool


class Watch:
    """What groups share: whether to stop, what is compiled, and what all of them have done."""

    def __init__(self, tell: Progress | None = None) -> None:
        self.stop = Event()
        self._tell, self._telling, self._compiling = tell, Lock(), Lock()
        self._compiled: set[Hashable] = set()
        self._iterations = self._done = 0

    def report(self, iterations: int, done: int) -> None:
        """So many more."""
        with self._telling:
            self._iterations += iterations
            self._done += done
            if self._tell is not None:
                self._tell(self._iterations, self._done)

    def compile(self, shape: Hashable, call: Callable[[], object]) -> None:
        """One thread compiles for a shape, in a call of no iterations; the others wait for it."""
        with self._compiling:
            if shape not in self._compiled:
                call()
                self._compiled.add(shape)


def go_on(advance: Callable[[int], Reached], iterations: int, watch: Watch) -> None:
    """Call `advance(at)` for what comes after iteration `at`, until no run of the group goes on.

    Args:
        advance: one compiled call, and what is kept of it.
        iterations: horizon.
        watch: told of each call; ends the loop early.
    """
    now = Reached(0, 0, 0, True)
    while now.live and now.at < iterations and not watch.stop.is_set():
        before, now = now, advance(now.at)
        watch.report(now.iterations - before.iterations, now.done - before.done)


def in_groups(
    run: Callable[[Int[np.ndarray, " run"]], Found],
    runs: int,
    size: int,
    threads: int,
    watch: Watch,
) -> list[Found]:
    """What `run` found of each group of `size` runs (of the last one, maybe fewer), in order.

    An exception in a thread, or an interrupt, stops all of them and is raised.
    """
    groups = [np.arange(first, min(first + size, runs)) for first in range(0, runs, size)]
    if threads == 1 or len(groups) == 1:
        return [run(group) for group in groups]

    def guarded(group: np.ndarray) -> Found:
        try:
            return run(group)
        except BaseException:
            watch.stop.set()
            raise

    with ThreadPoolExecutor(threads) as pool:
        try:
            return list(pool.map(guarded, groups))
        except BaseException:  # an interrupt while waiting, or what a thread raised
            watch.stop.set()
            pool.shutdown(cancel_futures=True)
            raise


def filled_up(values: np.ndarray, axis: int, size: int, fill: float = 0) -> np.ndarray:
    """To `size` along `axis`; the same array where nothing is missing."""
    if values.shape[axis] >= size:
        return values
    missing = [(0, 0)] * values.ndim
    missing[axis] = (0, size - values.shape[axis])
    return np.pad(values, missing, constant_values=fill)


def power_of_two(size: int, least: int = 1) -> int:
    """Up to a power of two, and to `least`: few sizes are compiled."""
    return max(least, 1 << max(0, size - 1).bit_length())
