"""Many runs of a chain: groups of them, in threads, some hundred iterations a call.

A run's random words depend on its number and the iteration only, so that neither the groups nor
the threads nor the number of runs change what a run does.
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Event, Lock
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Int

from fluidkv.fluid.precision import in_float64
from fluidkv.wait.chain.lanes import Form, Lanes
from fluidkv.wait.chain.state import Chain, Step, empty
from fluidkv.wait.chain.step import iterate
from fluidkv.wait.chain.waits import settle
from fluidkv.wait.chain.words import run_keys

Progress = Callable[[int, int], None]

CALL, RECORDED_CALL = 500, 100
"""Iterations of a compiled call: between two of them a run can be interrupted."""
_MOST_ON_CPU = 1024
"""Runs of a group: their state and words stay in the second cache of a core."""
_MOST_ELSEWHERE = 2**17
_LEAST = 128
"""Groups are so large or a multiple: few sizes are compiled, and fewer runs take as long."""


class Plan(NamedTuple):
    """What is run, besides the numbers in `Lanes`; `record`: names out of `Step`."""

    seed: int
    runs: int
    iterations: int
    horizon: float
    level: float
    record: tuple[str, ...]


class Found(NamedTuple):
    """The final state of all runs, and records (iteration, [lane,] run)."""

    chain: Chain
    records: dict[str, np.ndarray]


def run_groups(form: Form, lanes: Lanes, plan: Plan, on_progress: Progress | None) -> Found:
    """All runs of a plan; `on_progress` is told (iterations done, runs ended) now and then."""
    on_cpu = jax.default_backend() == "cpu"
    threads = _cores() if on_cpu else 1
    each = -(-plan.runs // (threads * _LEAST)) * _LEAST
    size = min(each, _MOST_ON_CPU if on_cpu else _MOST_ELSEWHERE)
    groups = [np.arange(first, first + size) for first in range(0, plan.runs, size)]
    told = _Told(on_progress)

    def run(group: np.ndarray) -> Found:
        try:
            return _run_group(form, lanes, plan, group, told)
        except BaseException:
            told.stop.set()
            raise

    if threads == 1 or len(groups) == 1:
        return _together([run(group) for group in groups], plan.runs)
    with ThreadPoolExecutor(threads) as pool:
        try:
            return _together(list(pool.map(run, groups)), plan.runs)
        except BaseException:  # an interrupt while waiting, or what a thread raised
            told.stop.set()
            pool.shutdown(cancel_futures=True)
            raise


class _Told:
    """What the threads share: whether to stop, what all have done, and who compiles."""

    def __init__(self, tell: Progress | None) -> None:
        self.stop, self.compiling = Event(), Lock()
        self._tell, self._telling = tell, Lock()
        self._iterations = self._ended = 0

    def report(self, iterations: int, ended: int) -> None:
        with self._telling:
            self._iterations += iterations
            self._ended += ended
            if self._tell is not None:
                self._tell(self._iterations, self._ended)


def _run_group(form: Form, lanes: Lanes, plan: Plan, group: np.ndarray, told: _Told) -> Found:
    with in_float64():
        chain = empty(run_keys(plan.seed, group), lanes)
        real = group < plan.runs  # the last group is filled up, so that all share a compilation
        bounds = [jnp.asarray(np.float64(value)) for value in (plan.horizon, plan.level)]
        rows = RECORDED_CALL if plan.record else 0
        call = partial(_iterations, form, rows, lanes, *bounds)
        with told.compiling:  # one thread compiles, in a call of no iterations
            call(chain, jnp.int32(0), jnp.int32(0))
        parts: list[dict[str, np.ndarray]] = []
        at = iterations = ended = 0
        while at < plan.iterations and not told.stop.is_set():
            end = min(at + (rows or CALL), plan.iterations)
            chain, steps = call(chain, jnp.int32(at), jnp.int32(end))
            parts.append({n: np.asarray(getattr(steps, n))[: end - at] for n in plan.record})
            at = end
            done = np.asarray(chain.time) >= plan.horizon
            done = done | (at >= plan.iterations)
            so_far = int(np.asarray(chain.iterations)[real].sum()), int(done[real].sum())
            told.report(so_far[0] - iterations, so_far[1] - ended)
            iterations, ended = so_far
            if done.all():
                break
        records = {name: np.concatenate([part[name] for part in parts]) for name in plan.record}
        return Found(jax.device_get(chain), records)


@partial(jax.jit, static_argnames=("form", "rows"))
def _iterations(
    form: Form,
    rows: int,
    lanes: Lanes,
    horizon: Array,
    level: Array,
    chain: Chain,
    begin: Int[Array, ""],
    end: Int[Array, ""],
) -> tuple[Chain, Step | None]:
    """Iterations `begin` to `end`, and their records if `rows`, at least so many, are kept."""

    def one(iteration: Int[Array, ""], carry: tuple[Chain, Any]) -> tuple[Chain, Any]:
        chain, records = carry
        chain, step = iterate(form, lanes, horizon, level, chain, iteration)
        if rows:
            row = iteration - begin
            records = jax.tree.map(
                lambda kept, new: lax.dynamic_update_index_in_dim(kept, new, row, axis=0),
                records,
                step,
            )
        return chain, records

    records = None
    if rows:
        step = jax.eval_shape(lambda: iterate(form, lanes, horizon, level, chain, begin)[1])
        records = jax.tree.map(lambda of: jnp.zeros((rows, *of.shape), of.dtype), step)
    chain, records = lax.fori_loop(begin, end, one, (chain, records))
    return settle(form, lanes, chain, end - 1), records


def _together(found: list[Found], runs: int) -> Found:
    chain = jax.tree.map(
        lambda *columns: np.concatenate(columns, axis=-1)[..., :runs],
        *(each.chain for each in found),
    )
    names = found[0].records
    longest = max((len(each.records[name]) for each in found for name in names), default=0)
    records = {
        name: np.concatenate([_lengthened(each.records[name], longest) for each in found], axis=-1)[
            ..., :runs
        ]
        for name in names
    }
    return Found(chain, records)


def _lengthened(values: np.ndarray, iterations: int) -> np.ndarray:
    """With zeros for the iterations that other groups did longer."""
    missing = [(0, iterations - len(values))] + [(0, 0)] * (values.ndim - 1)
    return np.pad(values, missing)


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
