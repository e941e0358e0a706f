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
from fluidkv.wait.chain.chain import f64, i32, over_segments
from fluidkv.wait.chain.counts import WAITS, CountChain, CountState, taken
from fluidkv.wait.chain.draws import gamma

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

>>> from fluidkv.wait.chain.runs import CHAIN_RECORDS
>>> sorted(CHAIN_RECORDS)
['entered', 'held_tokens', 'joined', 'kv_tokens', 'queue', 'time', 'wait', 'waited']
>>> CHAIN_RECORDS["joined"]
('segments in the batch', '1')
"""

CALL, RECORDED_CALL = 500, 100
"""Iterations of a compiled call: between two of them a run can be interrupted."""
_MOST_ON_CPU = 1024
"""Runs of a group: their state and words stay in the second cache of a core."""
_MOST_ELSEWHERE = 2**17
_LEAST = 128
"""Groups are so large or a multiple: few sizes are compiled, and fewer runs take as long."""


class Plan(NamedTuple):
    """What is run.

    Fields:
        chains: of one kind, along a last axis.
        horizon, memory: where each chain ends, and the level that is watched; maybe infinite.
        runs: of each chain.
        iterations: at most.
        seed: of all random numbers.
        record: names out of `CHAIN_RECORDS`.
        timed: whether the clock is set at every iteration. False: what was waited for is counted,
            and the time that it took drawn for many iterations at once, which has the same law.
            (Where seven of ten iterations wait, that is 1.75 times as fast; where one of 25 does,
            3 %.)
    """

    chains: CountChain
    horizon: Float[np.ndarray, " chain"]
    memory: Float[np.ndarray, " chain"]
    runs: int
    iterations: int
    seed: int
    record: tuple[str, ...]
    timed: bool


class Until(NamedTuple):
    """Where each run ends, in time and iterations, and the level that is watched."""

    horizon: Float[Array, " run"]
    iterations: Int[Array, ""]
    level: Float[Array, " run"]

    def goes_on(self, state: CountState) -> Bool[Array, " run"]:
        return (state.time < self.horizon) & (state.iterations < self.iterations)


class Sums(NamedTuple):
    """What is summed up on the way.

    Fields:
        live: whether a run goes on.
        stuck: iterations that had to wait first.
        idle: time waited.
        area: prompts in the system, integrated over time; expected, given all counts and `time`.
        queue_sum, queue_max: of queues as they were at the start of each iteration.
        peak: most tokens in memory in an iteration.
        exceeded: start of the first iteration above the level; infinite: none.
        owed: arrivals that were waited for and whose time is not drawn yet.
        owed_area: sum over them of the prompts in the system before each.
    """

    live: Bool[Array, " run"]
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
    """Goes on with the sums of the call before, and ends once no run goes on."""

    start: Sums
    until: Until
    timed: bool = eqx.field(static=True)

    def init(self, model: CountChain, state: CountState) -> Sums:
        return self.start

    def update(self, model: CountChain, memory: Sums, transition: Transition) -> Sums:
        before, flows = transition.before, transition.flows
        count = f64(over_segments(flows.waited))
        sums = memory._replace(
            live=self.until.goes_on(transition.after),
            stuck=memory.stuck + i32(count > 0),
            area=memory.area + flows.area,
            queue_sum=memory.queue_sum + before.queue.astype(jnp.int64),
            queue_max=jnp.maximum(memory.queue_max, before.queue),
            peak=jnp.maximum(memory.peak, flows.held_tokens),
        )
        if self.timed:
            above = jnp.where(
                flows.held_tokens > self.until.level, before.time + flows.wait, jnp.inf
            )
            sums = sums._replace(
                idle=memory.idle + flows.wait,
                area=memory.area + flows.waiting_area + flows.area,
                exceeded=jnp.minimum(memory.exceeded, above),
            )
        else:
            present = model.prompts(before) + (count - 1) / 2
            owed_area = memory.owed_area + count * present
            sums = sums._replace(owed=memory.owed + count, owed_area=owed_area)
        return _where(memory.live, sums, memory)

    def ended(self, memory: Sums) -> Bool[Array, ""]:
        return ~jnp.any(memory.live)


class _Records(Observer):
    """Some of `CHAIN_RECORDS`, of every iteration."""

    names: tuple[str, ...] = eqx.field(static=True)

    def init(self, model: CountChain, state: CountState) -> dict[str, Array]:
        queue, count = state.queue, state.iterations
        like = {"queue": queue, "waited": queue, "entered": queue, "joined": count}
        return {name: jnp.zeros_like(like.get(name, state.time)) for name in self.names}

    def update(self, model: CountChain, memory: Any, transition: Transition) -> dict[str, Array]:
        values = transition.flows._asdict() | {
            "queue": transition.before.queue,
            "time": transition.after.time,
            "joined": over_segments(i32(transition.flows.joined)),
        }
        return {name: values[name] for name in self.names}

    def emit(self, model: CountChain, memory: Any, state: CountState) -> tuple[Any, Any]:
        return memory, memory

    def result(self, model: CountChain, memory: Any, written: Any) -> dict[str, Array]:
        return written


def run_chains(plan: Plan, on_progress: Progress | None) -> Run:
    """Run i of chain j in lane j runs + i; `on_progress` is told (iterations, runs ended)."""
    on_cpu, lanes = jax.default_backend() == "cpu", len(plan.horizon) * plan.runs
    threads = cores() if on_cpu else 1
    share = -(-lanes // (threads * _LEAST)) * _LEAST
    size = min(share, _MOST_ON_CPU if on_cpu else _MOST_ELSEWHERE)
    with in_float64():
        chains = jax.tree.map(jnp.asarray, plan.chains)
    watch = Watch(on_progress)
    groups = in_groups(partial(_run_group, plan, chains, size, watch), lanes, size, threads, watch)
    longest = max((len(rows) for run in groups for rows in run.records.values()), default=0)
    filled = [
        run._replace(records={n: filled_up(rows, 0, longest) for n, rows in run.records.items()})
        for run in groups
    ]
    return jax.tree.map(lambda *columns: np.concatenate(columns, axis=-1), *filled)


def _run_group(plan: Plan, chains: CountChain, size: int, watch: Watch, group: np.ndarray) -> Run:
    with in_float64():
        # Filled up with runs that nobody asked for, so that all groups share a compilation.
        lane = group[0] + np.arange(size)
        which = np.minimum(lane // plan.runs, len(plan.horizon) - 1)
        place = which if len(plan.horizon) > 1 else np.zeros(1, np.int64)
        chain, keys = taken(chains, place), run_keys(plan.seed, lane - which * plan.runs)
        horizon, level = jnp.asarray(plan.horizon[place]), jnp.asarray(plan.memory[place])
        until = Until(horizon, jnp.int32(plan.iterations), level)
        state, sums = _begin(chain, size)
        call = partial(_advance, chain, keys, until, timed=plan.timed, record=plan.record)
        watch.compile(size, lambda: call(state, sums))
        sums = sums._replace(live=~sums.live)
        parts: list[dict[str, Array]] = []

        def on(at: int) -> Reached:
            nonlocal state, sums
            state, sums, records = call(state, sums)
            parts.append(records)
            live, iterations = sums.live[: group.size], state.iterations[: group.size]
            at += RECORDED_CALL if plan.record else CALL
            return Reached(at, int(iterations.sum()), int((~live).sum()), bool(live.any()))

        go_on(on, plan.iterations, watch)
        records = {name: np.concatenate([part[name] for part in parts]) for name in plan.record}
        rows = {name: values[: plan.iterations] for name, values in records.items()}
        run = Run(state, sums, rows)
        return jax.tree.map(lambda values: np.asarray(values)[..., : group.size], run)


@partial(jax.jit, static_argnames=("timed", "record"))
def _advance(
    chain: CountChain,
    keys: UInt32[Array, "2 run"],
    until: Until,
    state: CountState,
    sums: Sums,
    *,
    timed: bool,
    record: tuple[str, ...],
) -> tuple[CountState, Sums, dict[str, Array]]:
    """Some iterations more of each run that is not at its end."""

    def step(chain: CountChain, state: CountState, _: Any) -> tuple[CountState, Any]:
        after, flows = chain.iterate(state, partial(words, keys, state.iterations))
        if not timed:
            after = after._replace(time=state.time + flows.duration)
        return _where(until.goes_on(state), after, state), flows

    observe = _Sums(sums, until, timed), _Records(record)
    iterations = RECORDED_CALL if record else CALL
    state, _, (sums, records) = rollout(
        chain, state, iterations, observe=observe, step=step, every=1
    )
    if not timed:
        state, sums = _settle(chain, keys, state, sums)
    return state, sums, records


def _where(goes_on: Bool[Array, " run"], new: Any, old: Any) -> Any:
    """New values of runs that go on, old ones of the others."""
    return jax.tree.map(
        lambda *pair: jnp.where(goes_on[None] if pair[0].ndim > 1 else goes_on, *pair), new, old
    )


def _settle(
    chain: CountChain, keys: Array, state: CountState, sums: Sums
) -> tuple[CountState, Sums]:
    """Draw the time of what was waited for and is owed: so many gaps, each exponential."""
    time = gamma(sums.owed, partial(words, keys, state.iterations - 1), WAITS) / chain.total_rate
    gap = time / jnp.maximum(sums.owed, 1.0)  # expected, given their sum
    none = jnp.zeros_like(time)
    idle, area = sums.idle + time, sums.area + sums.owed_area * gap
    settled = sums._replace(idle=idle, area=area, owed=none, owed_area=none)
    return state._replace(time=state.time + time), settled


def _begin(chain: CountChain, size: int) -> tuple[CountState, Sums]:
    """Runs that have not begun."""
    state = jax.tree.map(lambda v: jnp.zeros((*v.shape[:-1], size), v.dtype), chain.empty())
    none = state.time
    return state, Sums(
        live=none > 0,
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
