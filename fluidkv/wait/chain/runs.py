"""Many runs of chains of counts at once: `rollout` in groups (`fluidkv.runs.batch`), summed up.

A run's random words depend on its number and the iteration only, so that neither the groups nor
the threads nor the number of runs change what a run does.
"""

from collections.abc import Sequence
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
from fluidkv.wait.chain.chains import CountChain, CountState, beside, empty, taken
from fluidkv.wait.chain.counts import WAITS, count_step, f64, i32, over_segments, prompts
from fluidkv.wait.chain.draws import gamma

CALL, RECORDED_CALL = 500, 100
"""Iterations of a compiled call: between two of them a run can be interrupted."""
_MOST_ON_CPU = 1024
"""Runs of a group: their state and words stay in the second cache of a core."""
_MOST_ELSEWHERE = 2**17
_LEAST = 128
"""Groups are so large or a multiple: few sizes are compiled, and fewer runs take as long."""

CHAIN_RECORDS = {
    "queue": ("prompts before each segment, before any wait", "request"),
    "wait": ("time waited before the batch", "time"),
    "waited": ("arrivals to each segment during the wait", "request"),
    "joined": ("segments in the batch", "1"),
    "kv_tokens": ("tokens in the batch", "token"),
    "held_tokens": ("tokens in memory", "token"),
    "entered": ("prompts that came to wait before each segment during the iteration", "request"),
    "time": ("the clock after the iteration", "time"),
}
"""What `simulate_chain` can record of each iteration -> (what it is, unit).

>>> from fluidkv.wait import CHAIN_RECORDS
>>> sorted(CHAIN_RECORDS)
['entered', 'held_tokens', 'joined', 'kv_tokens', 'queue', 'time', 'wait', 'waited']
>>> CHAIN_RECORDS["joined"]
('segments in the batch', '1')
"""


class Plan(NamedTuple):
    """What is run.

    Fields:
        chains: at least one, of one kind.
        horizon, level: of each chain: where a run ends, and the memory that is watched; infinite
            where nobody asked.
        runs: of each chain.
        iterations: at most.
        seed: of all random numbers.
        record: names out of `CHAIN_RECORDS`.
        timed: whether the clock is set at every iteration. False: what was waited for is counted,
            and the time that it took drawn for many iterations at once, which has the same law.
    """

    chains: Sequence[CountChain]
    horizon: Sequence[float]
    level: Sequence[float]
    runs: int
    iterations: int
    seed: int
    record: tuple[str, ...]
    timed: bool

    @property
    def size(self) -> int:
        """Lanes: lane j is run j % runs of chain j // runs."""
        return len(self.chains) * self.runs


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


class Limits(NamedTuple):
    """Of each run: the time at which it ends, and the level of memory that is watched."""

    horizon: Float[Array | np.ndarray, " run"]
    level: Float[Array | np.ndarray, " run"]


class Run(NamedTuple):
    """Of all lanes; records are (iteration, [segment,] lane)."""

    state: CountState
    sums: Sums
    records: dict[str, np.ndarray]


class _Sums(Observer):
    """Goes on with the sums of the call before, and ends with the iterations that are left."""

    start: Sums
    limits: Limits
    timed: bool = eqx.field(static=True)

    def init(self, model: CountChain, state: CountState) -> Sums:
        return self.start

    def update(self, model: CountChain, memory: Sums, seen: Transition) -> Sums:
        before, flows = seen.before, seen.flows
        count = f64(over_segments(flows.waited))
        if self.timed:
            live = jnp.any(seen.after.time < self.limits.horizon)
            left = jnp.where(live, memory.left - 1, 0)
            start, idle, waiting_area = before.time + flows.wait, flows.wait, flows.waiting_area
            owed, owed_area = memory.owed, memory.owed_area
        else:
            left = memory.left - 1
            start, idle, waiting_area = before.time, 0.0, 0.0
            owed = memory.owed + count
            owed_area = memory.owed_area + count * (prompts(model, before) + (count - 1) / 2)
        above = flows.held_tokens > self.limits.level
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
        return _unless_ended(self.limits, before, after, memory) if self.timed else after

    def ended(self, memory: Sums) -> Bool[Array, ""]:
        return memory.left <= 0


class _Records(Observer):
    names: tuple[str, ...] = eqx.field(static=True)

    def init(self, model: CountChain, state: CountState) -> dict[str, Array]:
        like = dict.fromkeys(("queue", "waited", "entered"), state.queue) | {
            "joined": state.iterations
        }
        return {name: jnp.zeros_like(like.get(name, state.time)) for name in self.names}

    def update(self, model: CountChain, memory: Any, seen: Transition) -> dict[str, Array]:
        joined = over_segments(i32(seen.flows.joined))
        values = seen.flows._asdict() | {
            "queue": seen.before.queue,
            "time": seen.after.time,
            "joined": joined,
        }
        return {name: values[name] for name in self.names}

    def emit(self, model: CountChain, memory: Any, state: CountState) -> tuple[Any, Any]:
        return memory, memory

    def result(self, model: CountChain, memory: Any, written: Any) -> dict[str, Array]:
        return written


def run_chains(plan: Plan, on_progress: Progress | None) -> Run:
    """All lanes of a plan; `on_progress` is told (iterations done, runs ended) now and then."""
    on_cpu = jax.default_backend() == "cpu"
    threads = cores() if on_cpu else 1
    each = -(-plan.size // (threads * _LEAST)) * _LEAST
    size = min(each, _MOST_ON_CPU if on_cpu else _MOST_ELSEWHERE)
    with in_float64():
        chains = beside(plan.chains)
    run = partial(_run_group, plan, chains, size, Watch(on_progress))
    return _together(in_groups(run, plan.size, size, threads, run.args[-1]))


def _run_group(plan: Plan, chains: CountChain, size: int, watch: Watch, group: np.ndarray) -> Run:
    with in_float64():
        # Filled up with runs that nobody asked for, so that all groups share a compilation.
        lane = group[0] + np.arange(size)
        which = np.minimum(lane // plan.runs, len(plan.chains) - 1)
        place = which if len(plan.chains) > 1 else np.zeros(1, np.int64)
        chain = taken(chains, place)
        keys = run_keys(plan.seed, lane - which * plan.runs)
        limits = Limits(jnp.asarray(plan.horizon[place]), jnp.asarray(plan.level[place]))
        state, sums = _begin(chain, size)
        call = partial(_advance, chain, keys, timed=plan.timed, record=plan.record)
        watch.compile(size, lambda: call(state, sums, limits))
        sums = sums._replace(left=jnp.int32(plan.iterations))
        parts: list[dict[str, np.ndarray]] = []

        def on(at: int) -> Reached:
            nonlocal state, sums
            state, sums, records = call(state, sums, limits)
            iterations = np.asarray(state.iterations)[: group.size]
            end = min(at + (RECORDED_CALL if plan.record else CALL), plan.iterations)
            parts.append({name: np.asarray(records[name])[: end - at] for name in plan.record})
            ended = np.asarray(state.time >= limits.horizon)[: group.size] | (
                end == plan.iterations
            )
            return Reached(end, int(iterations.sum()), int(ended.sum()), not ended.all())

        go_on(on, plan.iterations, watch)
        records = {name: np.concatenate([part[name] for part in parts]) for name in plan.record}
        found = Run(*jax.device_get((state, sums._replace(left=sums.idle))), records)
        return jax.tree.map(lambda values: values[..., : group.size], found)


@partial(jax.jit, static_argnames=("timed", "record"))
def _advance(
    chain: CountChain,
    keys: UInt32[Array, "2 run"],
    state: CountState,
    sums: Sums,
    limits: Limits,
    *,
    timed: bool,
    record: tuple[str, ...],
) -> tuple[CountState, Sums, dict[str, Array]]:
    """Some iterations more of each run that is not at its end."""

    def step(chain: CountChain, state: CountState, _: None) -> tuple[CountState, Any]:
        after, flows = count_step(chain, state, keys)
        if timed:
            return _unless_ended(limits, state, after, state), flows
        return after._replace(time=state.time + flows.duration), flows

    observe = _Sums(sums, limits, timed), _Records(record)
    iterations = RECORDED_CALL if record else CALL
    state, _, (sums, records) = rollout(
        chain, state, iterations, observe=observe, step=step, every=1
    )
    if not timed:
        state, sums = _settle(chain, keys, state, sums)
    return state, sums, records


def _unless_ended(limits: Limits, state: CountState, new: Any, old: Any) -> Any:
    """The new values of runs whose clock was before their horizon."""
    alive = state.time < limits.horizon

    def choose(a: Array, b: Array) -> Array:
        return a if a.ndim == 0 else jnp.where(alive[None] if a.ndim > 1 else alive, a, b)

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


def _together(found: list[Run]) -> Run:
    longest = max((len(values) for each in found for values in each.records.values()), default=0)
    ended = [
        {name: filled_up(values, 0, longest) for name, values in each.records.items()}
        for each in found
    ]
    parts = [each._replace(records=records) for each, records in zip(found, ended, strict=True)]
    return jax.tree.map(lambda *columns: np.concatenate(columns, axis=-1), *parts)
