"""Many runs of a chain, in groups (`fluidkv.runs.batch`).

A run's random words depend on its number and the iteration only, so that neither the groups nor
the threads nor the number of runs change what a run does.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Int

from fluidkv.processes import cores
from fluidkv.runs.batch import Progress, Reached, Watch, filled_up, go_on, in_groups
from fluidkv.runs.precision import in_float64
from fluidkv.runs.words import run_keys
from fluidkv.wait.chain.lanes import Lanes, numbers_of
from fluidkv.wait.chain.numbers import Form, Numbers
from fluidkv.wait.chain.state import Chain, Step, empty
from fluidkv.wait.chain.step import iterate
from fluidkv.wait.chain.waits import settle

CALL, RECORDED_CALL = 500, 100
"""Iterations of a compiled call: between two of them a run can be interrupted."""
_MOST_ON_CPU = 1024
"""Runs of a group: their state and words stay in the second cache of a core."""
_MOST_ELSEWHERE = 2**17
_LEAST = 128
"""Groups are so large or a multiple: few sizes are compiled, and fewer runs take as long."""


class Plan(NamedTuple):
    """What is run, besides the numbers of the chains; `record`: names out of `Step`."""

    seed: int
    iterations: int
    record: tuple[str, ...]


class Found(NamedTuple):
    """The final state of all lanes, and records (iteration, [segment,] lane)."""

    chain: Chain
    records: dict[str, np.ndarray]


def run_chain(form: Form, lanes: Lanes, plan: Plan, on_progress: Progress | None) -> Found:
    """All lanes of a plan; `on_progress` is told (iterations done, runs ended) now and then."""
    on_cpu = jax.default_backend() == "cpu"
    threads = cores() if on_cpu else 1
    each = -(-lanes.size // (threads * _LEAST)) * _LEAST
    size = min(each, _MOST_ON_CPU if on_cpu else _MOST_ELSEWHERE)
    run = partial(_run_group, form, lanes, plan, size, lanes.cells(size), Watch(on_progress))
    return _together(in_groups(run, lanes.size, size, threads, run.args[-1]))


def _run_group(
    form: Form,
    lanes: Lanes,
    plan: Plan,
    size: int,
    cells: int,
    watch: Watch,
    group: np.ndarray,
) -> Found:
    with in_float64():
        # Filled up with runs that nobody asked for, so that all groups share a compilation.
        lane = group[0] + np.arange(size)
        numbers = numbers_of(lanes, lane, cells)
        horizon = np.asarray(numbers.horizon)[: group.size]
        chain = empty(run_keys(plan.seed, lanes.run_of(lane)), numbers)
        rows = RECORDED_CALL if plan.record else 0
        call = partial(_iterations, form, rows, numbers)
        watch.compile(size, lambda: call(chain, jnp.int32(0), jnp.int32(0)))
        parts: list[dict[str, np.ndarray]] = []

        def on(at: int) -> Reached:
            nonlocal chain
            end = min(at + (rows or CALL), plan.iterations)
            chain, steps = call(chain, jnp.int32(at), jnp.int32(end))
            parts.append({n: np.asarray(getattr(steps, n))[: end - at] for n in plan.record})
            time = np.asarray(chain.time)[: group.size]
            done = (time >= horizon) | (end >= plan.iterations)
            of_all = int(chain.iterations[: group.size].sum()), int(done.sum())
            return Reached(end, *of_all, not done.all())

        go_on(on, plan.iterations, watch)
        records = {name: np.concatenate([part[name] for part in parts]) for name in plan.record}
        found = Found(jax.device_get(chain), records)
        return jax.tree.map(lambda values: values[..., : group.size], found)


@partial(jax.jit, static_argnames=("form", "rows"))
def _iterations(
    form: Form,
    rows: int,
    numbers: Numbers,
    chain: Chain,
    begin: Int[Array, ""],
    end: Int[Array, ""],
) -> tuple[Chain, Step | None]:
    """Iterations `begin` to `end`, and their records if `rows`, at least so many, are kept."""

    def one(iteration: Int[Array, ""], carry: tuple[Chain, Any]) -> tuple[Chain, Any]:
        chain, records = carry
        chain, step = iterate(form, numbers, chain, iteration)
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
        step = jax.eval_shape(lambda: iterate(form, numbers, chain, begin)[1])
        records = jax.tree.map(lambda of: jnp.zeros((rows, *of.shape), of.dtype), step)
    chain, records = lax.fori_loop(begin, end, one, (chain, records))
    return settle(form, numbers, chain, end - 1), records


def _together(found: list[Found]) -> Found:
    longest = max((len(values) for each in found for values in each.records.values()), default=0)
    ended = [
        {name: filled_up(values, 0, longest) for name, values in each.records.items()}
        for each in found
    ]
    parts = [each._replace(records=records) for each, records in zip(found, ended, strict=True)]
    return jax.tree.map(lambda *columns: np.concatenate(columns, axis=-1), *parts)
