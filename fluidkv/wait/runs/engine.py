"""When each segment runs next: the one part of WAIT and Nested WAIT that has to go step by step.

Their turns (`fluidkv.wait.runs.turns`) leave little to do in an iteration: look up which segments
may run, and how many tokens they hold. Many runs go side by side, on any device.

One compilation serves all numbers: thresholds, lengths, clocks, horizons, and batches of runs of
about one size.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from fluidkv.runs.batch import Reached, Watch, go_on, power_of_two
from fluidkv.runs.precision import in_float64
from fluidkv.serving.clock import IterationClock
from fluidkv.wait.runs.history import Schedule
from fluidkv.wait.runs.turns import Segment

MOST_ENTRIES = 2**22
"""Entries of all tables of a group together, unless one run needs more: 64 MB, and as much again
for what a run records."""
_MOST_ITERATIONS = 1024
_LEAST = {"runs": 8, "segments": 4, "entries": 1024, "iterations": 128}  # compiled in for fewer too


class Scheduled(NamedTuple):
    """A run's schedule, and whether it ended because nothing can run any more."""

    schedule: Schedule
    stuck: bool


class Tables(NamedTuple):
    """Numbers of many runs, as arrays. All tables of a field lie one after the other.

    Fields:
        gate, tokens, prefill: by entry; `Segment.gate`, and the tokens and inputs of the turn that
            it makes possible.
        first: entry of b = 0.
        follows: `Segment.follows`.
        base, per_kv_token, per_prefill_token: d0, d1, d2.
        horizon: no iteration starts at or after it.
        iterations: most of them.
    """

    gate: Float[Array, " entry"]
    tokens: Int[Array, " entry"]
    prefill: Int[Array, " entry"]
    first: Int[Array, "run segment"]
    follows: Bool[Array, "run segment"]
    base: Float[Array, " run"]
    per_kv_token: Float[Array, " run"]
    per_prefill_token: Float[Array, " run"]
    horizon: Float[Array, " run"]
    iterations: Int[Array, " run"]


class State(NamedTuple):
    """A run between two iterations: the clock, turns of each segment, and iterations so far."""

    now: Float[Array, " run"]
    turns: Int[Array, "run segment"]
    iteration: Int[Array, " run"]


class Step(NamedTuple):
    """One iteration. Where a run has ended, `start` is not finite or no segment ran."""

    start: Float[Array, " run"]
    end: Float[Array, " run"]
    ran: Bool[Array, "run segment"]


def schedules(
    segments: Sequence[list[Segment]],
    clocks: Sequence[IterationClock],
    *,
    horizon: Sequence[float],
    iterations: int,
    watch: Watch,
) -> list[Scheduled]:
    """The schedules of runs that go in one batch.

    Args:
        segments: of each run.
        clocks: d0, d1 and d2 of each run.
        horizon: of each run, on its clock: no iteration starts at or after it.
        iterations: of a run, at most.
        watch: told of iterations.
    """
    with in_float64():
        tables = _tables(segments, clocks, horizon, iterations)
        state = _start(tables)
        steps = _length(segments)
        parts: list[Step] = []

        def on(at: int) -> Reached:
            nonlocal state
            state, part = advance(steps, tables, state)
            parts.append(jax.device_get(part))
            live = bool(parts[-1].ran[-1].any())
            return Reached(at + steps, int(state.iteration.sum()), 0, live)

        go_on(on, iterations, watch)
        last = jax.device_get(_select(tables, state)[0])
    start, end, ran = (np.concatenate(column) for column in zip(*parts, strict=True))
    found = []
    for run, own in enumerate(segments):
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
    start, ran, tokens, inputs = _select(tables, state)
    # `IterationClock.duration`, in its order. A product may not be fused with the sum after it,
    # which would round once instead of twice: a maximum with 0, which changes nothing here, stands
    # between the two.
    kv = jnp.maximum(tables.per_kv_token * tokens.astype(jnp.float64), 0.0)
    prefill = jnp.maximum(tables.per_prefill_token * inputs.astype(jnp.float64), 0.0)
    end = start + ((tables.base + kv) + prefill)
    live = ran.any(axis=1)
    following = State(
        now=jnp.where(live, end, state.now),
        turns=state.turns + ran.astype(jnp.int32),
        iteration=state.iteration + live.astype(jnp.int64),
    )
    return following, Step(start, end, ran)


def _select(
    tables: Tables, state: State
) -> tuple[
    Float[Array, " run"], Bool[Array, "run segment"], Int[Array, " run"], Int[Array, " run"]
]:
    """When the next iteration starts, which segments run in it, what they hold, and prefill.

    Infinite: nothing can ever run. No segment runs where a run is at its horizon.
    """
    at = tables.first + state.turns
    gate = tables.gate.at[at].get(mode="promise_in_bounds")
    tokens = tables.tokens.at[at].get(mode="promise_in_bounds")
    prefill = tables.prefill.at[at].get(mode="promise_in_bounds")
    # The first gate that opens; one that is open already does not hold the clock up.
    opens = jnp.where(tables.follows, jnp.inf, gate).min(axis=1)
    start = jnp.maximum(state.now, opens)
    live = (start < tables.horizon) & (state.iteration < tables.iterations)
    before = jnp.pad(state.turns[:, :-1], ((0, 0), (1, 0))).astype(jnp.float64)
    may = gate <= jnp.where(tables.follows, before, start[:, None])
    # A segment runs only together with all before it; types do not look at each other.
    all_before = lax.cummin(may.astype(jnp.int8), axis=1) > 0
    ran = jnp.where(tables.follows, all_before, may) & live[:, None]
    held, computed = (jnp.where(ran, each, 0).sum(axis=1) for each in (tokens, prefill))
    return start, ran, held, computed


# ---------------------------------------------------------------------------------- shapes


def _tables(
    segments: Sequence[list[Segment]],
    clocks: Sequence[IterationClock],
    horizon: Sequence[float],
    iterations: int,
) -> Tables:
    runs = power_of_two(len(segments), _LEAST["runs"])
    width = power_of_two(max(len(own) for own in segments), _LEAST["segments"])
    sizes = [segment.gate.size for own in segments for segment in own]
    entries = power_of_two(1 + sum(sizes), _LEAST["entries"])
    gate, tokens = np.full(entries, np.inf), np.zeros(entries, np.int64)
    prefill = np.zeros(entries, np.int64)
    first = np.zeros((runs, width), np.int32)  # entry 0: a segment that never runs, as padding
    follows = np.zeros((runs, width), bool)
    at = 1
    for run, own in enumerate(segments):
        for index, segment in enumerate(own):
            gate[at : at + segment.gate.size] = segment.gate
            tokens[at : at + segment.turns] = segment.tokens[1:]
            prefill[at : at + segment.turns] = segment.prefill[1:]
            first[run, index], follows[run, index] = at, segment.follows
            at += segment.gate.size
    padding = [0.0] * (runs - len(segments))
    return Tables(
        gate=jnp.asarray(gate),
        tokens=jnp.asarray(tokens),
        prefill=jnp.asarray(prefill),
        first=jnp.asarray(first),
        follows=jnp.asarray(follows),
        base=jnp.asarray([*(clock.base for clock in clocks), *padding]),
        per_kv_token=jnp.asarray([*(clock.per_kv_token for clock in clocks), *padding]),
        per_prefill_token=jnp.asarray([*(clock.per_prefill_token for clock in clocks), *padding]),
        horizon=jnp.asarray([*horizon, *padding]),
        iterations=jnp.full(runs, iterations, jnp.int64),
    )


def _start(tables: Tables) -> State:
    runs = tables.base.size
    return State(
        jnp.zeros(runs), jnp.zeros(tables.first.shape, jnp.int32), jnp.zeros(runs, jnp.int64)
    )


def _length(segments: Sequence[list[Segment]]) -> int:
    """Iterations of a call: not many more than there can be."""
    most = max(sum(segment.turns for segment in own if not segment.follows) for own in segments)
    return min(_MOST_ITERATIONS, power_of_two(most + 1, _LEAST["iterations"]))
