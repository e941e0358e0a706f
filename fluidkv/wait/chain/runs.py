"""Many runs of chains of counts at once: `rollout` in groups (`fluidkv.runs.batch`), summed up.

A run's random words depend on its number and the iteration only, so that neither the groups nor
the threads nor the number of runs change what a run does.
"""

from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, UInt32

from fluidkv.fluid.driver import Observer, Transition, rollout
from fluidkv.processes import cores
from fluidkv.runs.batch import Progress, Reached, Watch, filled_up, go_on, in_groups
from fluidkv.runs.precision import in_float64
from fluidkv.runs.words import run_keys, words
from fluidkv.wait.chain.chains import CountChain, CountState, empty, taken
from fluidkv.wait.chain.counts import WAITS, count_step, f64, i32, over_segments, prompts
from fluidkv.wait.chain.draws import gamma
from fluidkv.wait.chain.plan import Plan

CALL, RECORDED_CALL = 500, 100
"""Iterations of a compiled call: between two of them a run can be interrupted."""
_MOST_ON_CPU = 1024
"""Runs of a group: their state and words stay in the second cache of a core."""
_MOST_ELSEWHERE = 2**17
_LEAST = 128
"""Groups are so large or a multiple: few sizes are compiled, and fewer runs take as long."""


class Sums(NamedTuple):
    """What is summed up on the way.

    Fields:
        left: iterations that may still be made; 0 once every run has ended.
        stuck: iterations that had to wait first.
        idle: time waited.
        area: prompts in the system, integrated over time; expected, given all counts and `time`.
        queue_sum, queue_max: of queues as they were at the start of each iteration.
        peak: most tokens in memory in an iteration.
        exceeded: start of the first iteration above the level; infinite: none.
        owed: arrivals that were waited for and whose time is not drawn yet.
        owed_area: sum over them of the prompts in the system before each.
    """

    left: Int[Array, ""]
    stuck: Int[Array, " run"]
    idle: Float[Array, " run"]
    area: Float[Array, " run"]
    queue_sum: Int[Array, "segment run"]
    queue_max: Int[Array, "segment run"]
    peak: Float[Array, " run"]
    exceeded: Float[Array, " run"]
    owed: Float[Array, " run"]
    owed_area: Float[Array, " run"]


class Run(NamedTuple):
    """Of all lanes; records are (iteration, [segment,] lane)."""

    state: CountState
    sums: Sums
    records: dict[str, np.ndarray]


class _Sums(Observer):
    """Goes on with the sums of the call before, and ends with the iterations that are left."""

    start: Sums
    horizon: Float[Array, " run"]
    level: Float[Array, " run"]
    timed: bool = eqx.field(static=True)

    def init(self, model: CountChain, state: CountState) -> Sums:
        return self.start

    def update(self, model: CountChain, memory: Sums, transition: Transition) -> Sums:
        before, flows = transition.before, transition.flows
        count = f64(over_segments(flows.waited))
        if self.timed:
            live = jnp.any(transition.after.time < self.horizon)
            left = jnp.where(live, memory.left - 1, 0)
            start, idle, waiting_area = before.time + flows.wait, flows.wait, flows.waiting_area
            owed, owed_area = memory.owed, memory.owed_area
        else:
            left = memory.left - 1
            start, idle, waiting_area = before.time, 0.0, 0.0
            owed = memory.owed + count
            owed_area = memory.owed_area + count * (prompts(model, before) + (count - 1) / 2)
        above = flows.held_tokens > self.level
        after = Sums(
            left=left,
            stuck=memory.stuck + i32(count > 0),
            idle=memory.idle + idle,
            area=memory.area + waiting_area + flows.area,
            queue_sum=memory.queue_sum + before.queue.astype(jnp.int64),
            queue_max=jnp.maximum(memory.queue_max, before.queue),
            peak=jnp.maximum(memory.peak, flows.held_tokens),
            exceeded=jnp.minimum(memory.exceeded, jnp.where(above, start, jnp.inf)),
            owed=owed,
            owed_area=owed_area,
        )
        return _unless(before.time >= self.horizon, after, memory) if self.timed else after

    def ended(self, memory: Sums) -> Bool[Array, ""]:
        return memory.left <= 0


class _Records(Observer):
    names: tuple[str, ...] = eqx.field(static=True)

    def init(self, model: CountChain, state: CountState) -> dict[str, Array]:
        like = dict.fromkeys(("queue", "waited", "entered"), state.queue) | {
            "joined": state.iterations
        }
        return {name: jnp.zeros_like(like.get(name, state.time)) for name in self.names}

    def update(self, model: CountChain, memory: Any, transition: Transition) -> dict[str, Array]:
        joined = over_segments(i32(transition.flows.joined))
        values = transition.flows._asdict() | {
            "queue": transition.before.queue,
            "time": transition.after.time,
            "joined": joined,
        }
        return {name: values[name] for name in self.names}

    def emit(self, model: CountChain, memory: Any, state: CountState) -> tuple[Any, Any]:
        return memory, memory

    def result(self, model: CountChain, memory: Any, written: Any) -> dict[str, Array]:
        return written


def run_chains(plan: Plan, on_progress: Progress | None) -> Run:
    """Run i of chain j in lane j runs + i; `on_progress` is told (iterations, runs ended)."""
    on_cpu, lanes = jax.default_backend() == "cpu", len(plan.specs) * plan.runs
    threads = cores() if on_cpu else 1
    each = -(-lanes // (threads * _LEAST)) * _LEAST
    size = min(each, _MOST_ON_CPU if on_cpu else _MOST_ELSEWHERE)
    with in_float64():
        chains = jax.tree.map(jnp.asarray, plan.chains)
    watch = Watch(on_progress)
    groups = in_groups(partial(_run_group, plan, chains, size, watch), lanes, size, threads, watch)
    longest = max((len(part) for run in groups for part in run.records.values()), default=0)
    filled = [
        run._replace(
            records={name: filled_up(run.records[name], 0, longest) for name in plan.record}
        )
        for run in groups
    ]
    return jax.tree.map(lambda *columns: np.concatenate(columns, axis=-1), *filled)


def _run_group(plan: Plan, chains: CountChain, size: int, watch: Watch, group: np.ndarray) -> Run:
    with in_float64():
        # Filled up with runs that nobody asked for, so that all groups share a compilation.
        lane = group[0] + np.arange(size)
        which = np.minimum(lane // plan.runs, len(plan.specs) - 1)
        place = which if len(plan.specs) > 1 else np.zeros(1, np.int64)
        chain, keys = taken(chains, place), run_keys(plan.seed, lane - which * plan.runs)
        horizon, level = (jnp.asarray(plan.column(name)[place]) for name in ("horizon", "memory"))
        state, sums = _begin(chain, size)
        call = partial(_advance, chain, keys, horizon, level, timed=plan.timed, record=plan.record)
        watch.compile(size, lambda: call(state, sums))
        sums = sums._replace(left=jnp.int32(plan.iterations))
        parts: list[dict[str, np.ndarray]] = []

        def on(at: int) -> Reached:
            nonlocal state, sums
            state, sums, records = call(state, sums)
            end = min(at + (RECORDED_CALL if plan.record else CALL), plan.iterations)
            parts.append({name: np.asarray(records[name])[: end - at] for name in plan.record})
            ended = np.asarray(state.time >= horizon)[: group.size] | (end == plan.iterations)
            iterations = int(state.iterations[: group.size].sum())
            return Reached(end, iterations, int(ended.sum()), not ended.all())

        go_on(on, plan.iterations, watch)
        records = {name: np.concatenate([part[name] for part in parts]) for name in plan.record}
        run = Run(state, sums._replace(left=sums.idle), records)
        return jax.tree.map(lambda values: np.asarray(values)[..., : group.size], run)


@partial(jax.jit, static_argnames=("timed", "record"))
def _advance(
    chain: CountChain,
    keys: UInt32[Array, "2 run"],
    horizon: Float[Array, " run"],
    level: Float[Array, " run"],
    state: CountState,
    sums: Sums,
    *,
    timed: bool,
    record: tuple[str, ...],
) -> tuple[CountState, Sums, dict[str, Array]]:
    """Some iterations more of each run that is not at its end."""

    def step(chain: CountChain, state: CountState, _: Any) -> tuple[CountState, Any]:
        after, flows = count_step(chain, state, keys)
        if timed:
            return _unless(state.time >= horizon, after, state), flows
        return after._replace(time=state.time + flows.duration), flows

    observe = _Sums(sums, horizon, level, timed), _Records(record)
    iterations = RECORDED_CALL if record else CALL
    state, _, (sums, records) = rollout(
        chain, state, iterations, observe=observe, step=step, every=1
    )
    if not timed:
        state, sums = _settle(chain, keys, state, sums)
    return state, sums, records


def _unless(ended: Bool[Array, " run"], new: Any, old: Any) -> Any:
    """Old values of runs that have ended; new ones of the others, and of all together."""

    def choose(new: Array, old: Array) -> Array:
        by_run = ended[None] if new.ndim > 1 else ended
        return jnp.where(by_run, old, new) if new.ndim else new

    return jax.tree.map(choose, new, old)


def _settle(
    chain: CountChain, keys: Array, state: CountState, sums: Sums
) -> tuple[CountState, Sums]:
    """Draw the time of what was waited for and is owed: so many gaps, each exponential."""
    time = gamma(sums.owed, partial(words, keys, state.iterations - 1), WAITS) / chain.total_rate
    each = time / jnp.maximum(sums.owed, 1.0)  # expected, given their sum
    none = jnp.zeros_like(time)
    return state._replace(time=state.time + time), sums._replace(
        idle=sums.idle + time,
        area=sums.area + sums.owed_area * each,
        owed=none,
        owed_area=none,
    )


def _begin(chain: CountChain, size: int) -> tuple[CountState, Sums]:
    state = jax.tree.map(lambda v: jnp.zeros((*v.shape[:-1], size), v.dtype), empty(chain))
    none = state.time
    return state, Sums(
        left=jnp.int32(0),
        stuck=state.iterations,
        idle=none,
        area=none,
        queue_sum=state.queue.astype(jnp.int64),
        queue_max=state.queue,
        peak=none,
        exceeded=jnp.full_like(none, jnp.inf),
        owed=none,
        owed_area=none,
    )
