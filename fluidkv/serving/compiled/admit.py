"""Admission in the compiled engine: the longest front of the queue that passes the gate.

The conditions of a candidate are prefix sums over those before it, all taken as admitted; the first
that fails ends it. A chunk of candidates at a time, and on while a whole chunk is admitted.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Int

from fluidkv.serving.compiled import queue
from fluidkv.serving.compiled.granting import given_blocks
from fluidkv.serving.compiled.state import (
    Choices,
    Merits,
    Numbers,
    Progress,
    Slots,
    State,
    Table,
    before,
    blocks_of,
    compact,
    pick,
    put_window,
    total,
)
from fluidkv.serving.rules import Gate, NewTokenRatio

CHUNK = 32
"""Candidates looked at in one go. Any number gives the same admissions."""

_WHOLE = NewTokenRatio.SCALE


class Admitted(NamedTuple):
    """What an iteration admitted."""

    fresh: Int[Array, " run"]  # that never ran
    resumed: Int[Array, " run"]  # that were evicted before
    overflow: Bool[Array, ""]  # more than there are slots: the iteration means nothing


class _Round(NamedTuple):
    state: State
    admitted: Admitted
    more: Bool[Array, " run"]
    budget: Int[Array, " run"]  # int64
    reserved: Int[Array, " run"]  # what the gate sets aside for those that run; int64


def admit(
    choices: Choices,
    numbers: Numbers,
    table: Table,
    state: State,
    budget: Int[Array, " run"],
    may_admit: Bool[Array, " run"],
) -> tuple[State, Admitted]:
    """The head of the queue enters; its tokens are set to what it computes in this iteration.

    Newcomers that come first see a memory that only they hold.
    """
    runs = state.runs
    can_go = runs.used if choices.newcomers_first else jnp.zeros_like(runs.used)
    credit = runs.credit + jnp.where(runs.live, numbers.rate, 0)
    sequences = numbers.sequences.astype(jnp.int64)
    permits = jnp.where(numbers.rate > 0, credit // numbers.rate_unit, sequences)
    permits = jnp.minimum(permits, sequences).astype(jnp.int32)
    state = state._replace(runs=runs._replace(credit=credit % numbers.rate_unit))
    some_wait = queue.waiting(state.queue, runs.arrived) > 0
    none = jnp.zeros_like(runs.running)
    start = _Round(
        state,
        Admitted(none, none, jnp.array(False)),
        runs.live & may_admit & some_wait & ((budget > 0) | choices.swaps) & (permits > 0),
        budget.astype(jnp.int64),
        _reserved(choices, numbers, state),
    )
    end = lax.while_loop(
        lambda round: jnp.any(round.more),
        lambda round: _admit_chunk(choices, numbers, table, permits, can_go, round),
        start,
    )
    return end.state, end.admitted


def could_enter(
    choices: Choices, numbers: Numbers, table: Table, state: State
) -> Bool[Array, " run"]:
    """Whether the head of the queue would enter an empty memory; if nobody waits, nothing."""
    request, _ = queue.first(state.queue, state.runs.arrived, 1)
    head = _look_up(choices, numbers, table, state.store, request)
    guard = jnp.where(numbers.always_guarded, numbers.watermark_blocks, 0).astype(jnp.int64)
    nothing = jnp.zeros_like(head.length)
    return _passes(choices, numbers, head, head.length, nothing, guard[:, None], nothing)[:, 0]


class _Candidates(NamedTuple):
    """Who waits first. Of each what a slot wants, and in int64 what the gate sums up."""

    request: Int[Array, "run some"]
    input: Int[Array, "run some"]
    target: Int[Array, "run some"]
    longest: Int[Array, "run some"] | None
    merits: Merits
    progress: Progress
    length: Int[Array, "run some"]
    full: Int[Array, "run some"]  # blocks of its whole length, or what it is given
    copied: Bool[Array, "run some"]  # its cache waits in the host
    reserve: Int[Array, "run some"]  # what the gate sets aside for it once it runs


def _admit_chunk(
    choices: Choices,
    numbers: Numbers,
    table: Table,
    permits: Int[Array, " run"],
    can_go: Int[Array, " run"],
    round: _Round,
) -> _Round:
    state, overflow = _make_room(round.state)
    runs, so_far = state.runs, round.admitted
    more = round.more & ~overflow
    request, evicted = queue.first(state.queue, runs.arrived, CHUNK)
    candidates = _look_up(choices, numbers, table, state.store, request)
    place = jnp.arange(CHUNK, dtype=jnp.int32)[None]

    copied = candidates.copied
    wanted = jnp.where(copied, 0, candidates.length)
    budget = round.budget[:, None] - before(wanted)
    chunk = jnp.clip(budget, 0, wanted)
    # Only the last may get a part of its tokens; it holds all blocks at once with prefills alone,
    # where it is given what it is estimated to need, and where it is copied back.
    asked = jnp.where(copied, candidates.length, chunk)
    at_once = choices.prefill_alone or choices.by_estimate
    held = candidates.full if at_once else blocks_of(numbers, asked)
    running = runs.running[:, None] + place
    guarded = numbers.always_guarded | (running > 0)
    guard = jnp.where(guarded, numbers.watermark_blocks[:, None], 0).astype(jnp.int64)
    used = (runs.used - can_go).astype(jnp.int64)[:, None] + before(held)
    reserved = round.reserved[:, None] + before(candidates.reserve)
    passes = (
        more[:, None]
        & (place < queue.waiting(state.queue, runs.arrived)[:, None])
        & ((budget > 0) | copied)
        & ((so_far.fresh + so_far.resumed)[:, None] + place < permits[:, None])
        & (running < numbers.sequences[:, None])
        & _passes(choices, numbers, candidates, asked, used, guard, reserved)
    )
    count = jnp.min(jnp.where(passes, CHUNK, place), axis=1)
    enters = place < count[:, None]

    resumed = total(enters & evicted)
    fresh = count - resumed
    state = State(
        runs._replace(
            running=runs.running + count,
            tail=runs.tail + count,
            used=runs.used + total(jnp.where(enters, held, 0)),
        ),
        _enter(state, candidates, enters, chunk, held),
        queue.leave(state.queue, fresh, resumed, request, enters),
        state.store,
        state.copies,
    )
    return _Round(
        state,
        Admitted(so_far.fresh + fresh, so_far.resumed + resumed, so_far.overflow | overflow),
        more & (count == CHUNK),
        round.budget - total(jnp.where(enters, chunk, 0), jnp.int64),
        round.reserved + total(jnp.where(enters, candidates.reserve, 0), jnp.int64),
    )


def _make_room(state: State) -> tuple[State, Bool[Array, ""]]:
    """A chunk must fit behind the last slot of every run; if not, holes are closed."""

    def full(state: State) -> Bool[Array, ""]:
        return jnp.any(state.runs.tail + CHUNK > state.slots.alive.shape[1])

    # A loop of no or one turn, not a cond: what does not change passes through a loop in place.
    turns = full(state).astype(jnp.int32)
    state = lax.fori_loop(0, turns, lambda _, state: compact(state), state)
    return state, full(state)


def _look_up(
    choices: Choices,
    numbers: Numbers,
    table: Table,
    store: Progress,
    request: Int[Array, "run some"],
) -> _Candidates:
    progress: Progress = pick(store, request)
    inputs, target = pick((table.input, table.output), request)
    length = (inputs + progress.outputs).astype(jnp.int64)
    longest = None if table.longest is None else pick(table.longest, request)
    reserve = _reserve(choices, numbers, inputs, progress.outputs, longest)
    full = given_blocks(numbers, inputs, progress)
    merits: Merits = pick(table.merits, request)
    copied = jnp.zeros(length.shape, bool) if progress.kept is None else progress.kept > 0
    return _Candidates(
        request, inputs, target, longest, merits, progress, length, full, copied, reserve
    )


def _enter(
    state: State,
    candidates: _Candidates,
    enters: Bool[Array, "run some"],
    chunk: Int[Array, "run some"],
    held: Int[Array, "run some"],
) -> Slots:
    """Those admitted, behind the last slot. What is written for the others is an empty hole."""
    progress = candidates.progress
    if progress.times is not None:
        now = state.runs.now[:, None]
        admitted = jnp.where(jnp.isnan(progress.times.admitted), now, progress.times.admitted)
        progress = progress._replace(times=progress.times._replace(admitted=admitted))
    slots = Slots(
        alive=enters,
        request=jnp.where(enters, candidates.request, state.queue.ring.shape[1]),
        input=candidates.input,
        target=candidates.target,
        longest=candidates.longest,
        merits=candidates.merits,
        computed=jnp.zeros_like(candidates.request) if progress.kept is None else progress.kept,
        blocks=held.astype(jnp.int32),
        tokens=jnp.where(enters, chunk, 0).astype(jnp.int32),
        ready=None if progress.kept is None else jnp.where(candidates.copied, jnp.inf, 0.0),
        progress=progress,
    )
    return put_window(state.slots, state.runs.tail, slots)


# ----------------------------------------------------------------------------------------- gates


def _passes(
    choices: Choices,
    numbers: Numbers,
    candidates: _Candidates,
    chunk: Int[Array, "run some"],
    used: Int[Array, "run some"],
    guard: Int[Array, "run some"],
    reserved: Int[Array, "run some"],
) -> Bool[Array, "run some"]:
    """The gate, for each after those before it: `used` and `reserved` are theirs and who runs."""
    room = numbers.blocks.astype(jnp.int64)[:, None] - guard
    match choices.gate:
        case Gate.FIRST_CHUNK:
            return used + blocks_of(numbers, chunk) <= room
        case Gate.FULL_INPUT:
            return used + candidates.full <= room
        case Gate.PEAK:  # in `reserved`, who runs holds its blocks already
            return reserved + candidates.reserve <= room
        case Gate.RATIO:
            size = numbers.block_size.astype(jnp.int64)[:, None] * NewTokenRatio.SCALE
            return reserved + candidates.reserve <= (room - used - candidates.full) * size


def _reserve(
    choices: Choices,
    numbers: Numbers,
    inputs: Int[Array, "run some"],
    outputs: Int[Array, "run some"],
    longest: Int[Array, "run some"] | None,
) -> Int[Array, "run some"]:
    """What the gate sets aside for a request: blocks at its peak, or outputs that may come."""
    if choices.gate is Gate.PEAK and longest is not None:
        # Its last token is never stored.
        return blocks_of(numbers, (inputs + longest - 1).astype(jnp.int64))
    if choices.gate is Gate.RATIO and longest is not None:
        possible = jnp.minimum((longest - outputs).astype(jnp.int64), numbers.ratio[3])
        return possible * NewTokenRatio.SCALE
    return jnp.zeros(inputs.shape, jnp.int64)


def _reserved(choices: Choices, numbers: Numbers, state: State) -> Int[Array, " run"]:
    """What is set aside for those that run; of outputs, the share that the ratio says."""
    slots = state.slots
    reserve = _reserve(choices, numbers, slots.input, slots.progress.outputs, slots.longest)
    reserved = total(jnp.where(slots.alive, reserve, 0), jnp.int64)
    if choices.gate is Gate.RATIO:
        return reserved // NewTokenRatio.SCALE * state.runs.ratio
    return reserved
