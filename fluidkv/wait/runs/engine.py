"""When each lane runs next: the one part of WAIT and Nested WAIT that has to go step by step.

Lanes (see `fluidkv.wait.runs.lanes`) leave little to do in an iteration: look up which lanes may
run, and how many tokens they hold. Many runs go side by side, on any device.

One compilation serves all numbers: thresholds, lengths, clocks, horizons, and batches of runs of
about one size.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from fluidkv.fluid.precision import in_float64
from fluidkv.serving.clock import IterationClock
from fluidkv.wait.runs.history import Schedule
from fluidkv.wait.runs.lanes import Lane

MOST_ENTRIES = 2**22
"""Entries of all tables of a group together, unless one run needs more: 64 MB, and as much again
for what a run records."""
_MOST_ITERATIONS = 1024
_LEAST = {"runs": 8, "lanes": 4, "entries": 1024, "iterations": 128}  # compiled in for fewer too


class Scheduled(NamedTuple):
    """A run's schedule, and whether it ended because nothing can run any more."""

    schedule: Schedule
    stuck: bool


class Tables(NamedTuple):
    """Lanes of many runs, as arrays. All tables of a field lie one after the other.

    Fields:
        gate, tokens: by entry; `Lane.gate`, and the tokens of the run that it makes possible.
        first: entry of b = 0.
        follows: `Lane.follows`.
        base, per_kv_token: d0, d1.
        horizon: no iteration starts at or after it.
        iterations: most of them.
    """

    gate: Float[Array, " entry"]
    tokens: Int[Array, " entry"]
    first: Int[Array, "run lane"]
    follows: Bool[Array, "run lane"]
    base: Float[Array, " run"]
    per_kv_token: Float[Array, " run"]
    horizon: Float[Array, " run"]
    iterations: Int[Array, " run"]


class State(NamedTuple):
    """A run between two iterations: the clock, how often each lane ran, and iterations so far."""

    now: Float[Array, " run"]
    runs: Int[Array, "run lane"]
    iteration: Int[Array, " run"]


class Step(NamedTuple):
    """One iteration. Where a run has ended, `start` is not finite or no lane ran."""

    start: Float[Array, " run"]
    end: Float[Array, " run"]
    ran: Bool[Array, "run lane"]


def schedules(
    lanes: Sequence[list[Lane]],
    clocks: Sequence[IterationClock],
    *,
    horizon: Sequence[float],
    iterations: int,
    on_progress: Callable[[int], None] | None = None,
) -> list[Scheduled]:
    """The schedules of runs that go in one batch.

    Args:
        lanes: of each run.
        clocks: d0 and d1 of each run.
        horizon: of each run, on its clock: no iteration starts at or after it.
        iterations: of a run, at most.
        on_progress: called now and then with the iterations done since the last call.
    """
    with in_float64():
        tables = _tables(lanes, clocks, horizon, iterations)
        state = _start(tables)
        steps = _length(lanes)
        parts: list[Step] = []
        while True:
            state, part = advance(steps, tables, state)
            part = jax.device_get(part)
            parts.append(part)
            done = part.ran.any(axis=2)
            if on_progress is not None and done.any():
                on_progress(int(done.sum()))
            if not done[-1].any():
                break
        last = jax.device_get(_select(tables, state)[0])
    start, end, ran = (np.concatenate(column) for column in zip(*parts, strict=True))
    found = []
    for run, own in enumerate(lanes):
        size = int(ran[:, run].any(axis=1).sum())  # a run that has ended never goes on
        schedule = Schedule(start[:size, run], end[:size, run], ran[:size, run, : len(own)])
        stuck = size < iterations and bool(np.isinf(last[run]))
        found.append(Scheduled(schedule, stuck))
    return found


def groups(entries: Sequence[int]) -> Iterator[slice]:
    """Runs that go together: as many as fit into `MOST_ENTRIES`, but one at least."""
    first = total = 0
    for run, size in enumerate(entries):
        if run > first and total + size > MOST_ENTRIES:
            yield slice(first, run)
            first, total = run, 0
        total += size
    yield slice(first, len(entries))


# -------------------------------------------------------------------------------- compiled


@partial(jax.jit, static_argnames="steps")
def advance(steps: int, tables: Tables, state: State) -> tuple[State, Step]:
    """So many iterations of every run that has not ended; `Step` has them along its first axis."""
    return lax.scan(lambda state, _: iterate(tables, state), state, length=steps)


def iterate(tables: Tables, state: State) -> tuple[State, Step]:
    """One iteration of every run."""
    start, ran, tokens = _select(tables, state)
    # `IterationClock.duration`, in its order. A product may not be fused with the sum after it,
    # which would round once instead of twice: a maximum with 0, which changes nothing here, stands
    # between the two.
    kv = jnp.maximum(tables.per_kv_token * tokens.astype(jnp.float64), 0.0)
    end = start + (tables.base + kv)
    live = ran.any(axis=1)
    following = State(
        now=jnp.where(live, end, state.now),
        runs=state.runs + ran.astype(jnp.int32),
        iteration=state.iteration + live.astype(jnp.int64),
    )
    return following, Step(start, end, ran)


def _select(
    tables: Tables, state: State
) -> tuple[Float[Array, " run"], Bool[Array, "run lane"], Int[Array, " run"]]:
    """When the next iteration starts, which lanes run in it, and what they hold.

    Infinite: nothing can ever run. No lane runs where a run is at its horizon.
    """
    at = tables.first + state.runs
    gate = tables.gate.at[at].get(mode="promise_in_bounds")
    tokens = tables.tokens.at[at].get(mode="promise_in_bounds")
    # The first gate that opens; one that is open already does not hold the clock up.
    opens = jnp.where(tables.follows, jnp.inf, gate).min(axis=1)
    start = jnp.maximum(state.now, opens)
    live = (start < tables.horizon) & (state.iteration < tables.iterations)
    before = jnp.pad(state.runs[:, :-1], ((0, 0), (1, 0))).astype(jnp.float64)
    may = gate <= jnp.where(tables.follows, before, start[:, None])
    # A segment runs only together with all before it; types do not look at each other.
    all_before = lax.cummin(may.astype(jnp.int8), axis=1) > 0
    ran = jnp.where(tables.follows, all_before, may) & live[:, None]
    return start, ran, jnp.where(ran, tokens, 0).sum(axis=1)


# ---------------------------------------------------------------------------------- shapes


def _tables(
    lanes: Sequence[list[Lane]],
    clocks: Sequence[IterationClock],
    horizon: Sequence[float],
    iterations: int,
) -> Tables:
    runs = _power(len(lanes), _LEAST["runs"])
    width = _power(max(len(own) for own in lanes), _LEAST["lanes"])
    sizes = [lane.gate.size for own in lanes for lane in own]
    entries = _power(1 + sum(sizes), _LEAST["entries"])
    gate, tokens = np.full(entries, np.inf), np.zeros(entries, np.int64)
    first = np.zeros((runs, width), np.int32)  # entry 0: a lane that never runs, as padding
    follows = np.zeros((runs, width), bool)
    at = 1
    for run, own in enumerate(lanes):
        for index, lane in enumerate(own):
            gate[at : at + lane.gate.size] = lane.gate
            tokens[at : at + lane.runs] = lane.tokens[1:]
            first[run, index], follows[run, index] = at, lane.follows
            at += lane.gate.size
    padding = [0.0] * (runs - len(lanes))
    return Tables(
        gate=jnp.asarray(gate),
        tokens=jnp.asarray(tokens),
        first=jnp.asarray(first),
        follows=jnp.asarray(follows),
        base=jnp.asarray([*(clock.base for clock in clocks), *padding]),
        per_kv_token=jnp.asarray([*(clock.per_kv_token for clock in clocks), *padding]),
        horizon=jnp.asarray([*horizon, *padding]),
        iterations=jnp.full(runs, iterations, jnp.int64),
    )


def _start(tables: Tables) -> State:
    runs = tables.base.size
    return State(
        jnp.zeros(runs), jnp.zeros(tables.first.shape, jnp.int32), jnp.zeros(runs, jnp.int64)
    )


def _length(lanes: Sequence[list[Lane]]) -> int:
    """Iterations of a call: not many more than there can be."""
    most = max(sum(lane.runs for lane in own if not lane.follows) for own in lanes)
    return min(_MOST_ITERATIONS, _power(most + 1, _LEAST["iterations"]))


def _power(size: int, least: int) -> int:
    """Up to a power of two, and to `least`."""
    return max(least, 1 << max(0, size - 1).bit_length())
