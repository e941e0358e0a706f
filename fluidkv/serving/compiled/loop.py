"""The compiled engine: arrive, evict, admit, execute, and the loop around them."""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from fluidkv.serving.compiled import copies, queue
from fluidkv.serving.compiled.admit import Admitted, admit, could_enter
from fluidkv.serving.compiled.evict import evict
from fluidkv.serving.compiled.execute import Executed, arrive, execute
from fluidkv.serving.compiled.granting import end_grants
from fluidkv.serving.compiled.state import Choices, Numbers, Runs, State, Table, asks, decoding
from fluidkv.serving.compiled.victims import within_budget
from fluidkv.serving.limits import UNLIMITED
from fluidkv.serving.reference import COUNTS

COLUMNS = len(COUNTS)
"""Counts of an iteration."""


class Piece(NamedTuple):
    """Some iterations of all runs.

    Fields:
        state: after them.
        iteration: how many the runs have done in all, those that had not ended.
        counts, time: of each window that the piece has a part of: what it adds to the window, and
            the clock after it.
        overflow: there were too few slots; nothing else here means anything.
    """

    state: State
    iteration: Int[Array, ""]
    counts: Int[Array, "window run count"]
    time: Float[Array, "window run"]
    overflow: Bool[Array, ""]


@partial(jax.jit, static_argnames=("choices", "windows"))
def advance(
    choices: Choices,
    windows: int,
    numbers: Numbers,
    table: Table,
    state: State,
    begin: Int[Array, ""],
    end: Int[Array, ""],
    every: Int[Array, ""],
) -> Piece:
    """Iterations `begin` to `end`, or until no run is live. Parts of at most `windows` windows."""
    runs = state.runs.live.shape[0]
    first = begin // every

    def going(piece: Piece) -> Bool[Array, ""]:
        return jnp.any(piece.state.runs.live) & (piece.iteration < end) & ~piece.overflow

    def one(piece: Piece) -> Piece:
        state, counts, overflow = iterate(choices, numbers, table, piece.state)
        window = piece.iteration // every - first
        sums = lax.dynamic_index_in_dim(piece.counts, window, keepdims=False) + counts
        return Piece(
            state,
            piece.iteration + 1,
            lax.dynamic_update_index_in_dim(piece.counts, sums, window, axis=0),
            lax.dynamic_update_index_in_dim(piece.time, state.runs.now, window, axis=0),
            overflow,
        )

    start = Piece(
        state,
        begin,
        jnp.zeros((windows, runs, COLUMNS), jnp.int64),
        jnp.zeros((windows, runs), jnp.float64),
        jnp.array(False),
    )
    return lax.while_loop(going, one, start)


def iterate(
    choices: Choices, numbers: Numbers, table: Table, state: State
) -> tuple[State, Int[Array, "run count"], Bool[Array, ""]]:
    """One iteration of every live run: the state, its counts, and whether slots ran out."""
    running_in = state.runs.running
    state = state._replace(runs=arrive(numbers, table, state.runs))
    state, live = copies.land(state), state.runs.live
    if choices.prefill_alone:
        state, admitted, prefills = _prefill(choices, numbers, table, state)
        unlimited = numbers._replace(budget=jnp.full_like(numbers.budget, UNLIMITED))
        state, ended = end_grants(choices, numbers, state, live & ~prefills)
        state, evictions, _ = evict(choices, unlimited, state, live & ~prefills)
    elif choices.newcomers_first:
        state, admitted = admit(choices, numbers, table, state, numbers.budget, jnp.ones_like(live))
        state, ended = end_grants(choices, numbers, state, live)
        state, evictions, _ = evict(choices, numbers, state, live)
    else:
        state, ended = end_grants(choices, numbers, state, live)
        state, evictions, asked = evict(choices, numbers, state, live)
        may_admit = numbers.admits_after_eviction | (evictions == 0)
        state, admitted = admit(choices, numbers, table, state, numbers.budget - asked, may_admit)
    scheduled = state.runs
    waiting = queue.waiting(state.queue, scheduled.arrived)
    state, copied = copies.go(numbers, state)
    state, executed = execute(numbers, table, state)
    state = state._replace(runs=_ended(choices, numbers, table, state))
    counts = _counts(running_in, scheduled, waiting, ended + evictions, admitted, executed, copied)
    counts = jnp.where(live[:, None], counts, 0).astype(jnp.int64)
    return state, counts, admitted.overflow


def _prefill(
    choices: Choices, numbers: Numbers, table: Table, state: State
) -> tuple[State, Admitted, Bool[Array, " run"]]:
    """Prefills go on and new ones come; which runs have any, and do nothing else."""
    slots = state.slots
    ask = jnp.where(decoding(slots), 0, asks(slots))
    tokens, asked = within_budget(ask, numbers.budget)
    state = state._replace(slots=slots._replace(tokens=tokens))
    everyone = jnp.ones_like(state.runs.live)
    state, admitted = admit(choices, numbers, table, state, numbers.budget - asked, everyone)
    prefilling = state.slots.alive & (state.slots.tokens > 0)
    return state, admitted, jnp.any(prefilling, axis=1)


def _ended(choices: Choices, numbers: Numbers, table: Table, state: State) -> Runs:
    """A run ends when all is done; or stuck: see `reference.Engine.stuck`."""
    runs = state.runs
    more_come = (numbers.clients == 0) & (runs.arrived < numbers.requests)
    idle = (runs.running == 0) & (queue.waiting(state.queue, runs.arrived) > 0) & ~more_come
    stuck = runs.live & idle & ~could_enter(choices, numbers, table, state)
    live = runs.live & (runs.done < numbers.requests) & ~stuck
    return runs._replace(live=live, stuck=runs.stuck | stuck)


def _counts(
    running_in: Int[Array, " run"],
    scheduled: Runs,
    waiting: Int[Array, " run"],
    evictions: Int[Array, " run"],
    admitted: Admitted,
    executed: Executed,
    copied: Int[Array, " run"],
) -> Int[Array, "run count"]:
    """Ordered as `reference.COUNTS`."""
    before = (running_in, scheduled.running, waiting, scheduled.used)
    entered = (admitted.fresh, admitted.resumed)
    return jnp.stack([*before, evictions, *entered, *executed, copied], axis=1)
