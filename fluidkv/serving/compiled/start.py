"""From plain arrays to the compiled engine's, and back."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int
from numpy.typing import ArrayLike

from fluidkv.runs.batch import filled_up
from fluidkv.runs.records import RequestTimes
from fluidkv.serving.arrays import RunArrays
from fluidkv.serving.compiled.queue import AWAY, NEVER_RAN
from fluidkv.serving.compiled.state import (
    Choices,
    Copies,
    Line,
    Merits,
    Numbers,
    Progress,
    Queue,
    Runs,
    Slots,
    State,
    Table,
    Times,
)
from fluidkv.serving.limits import UNLIMITED
from fluidkv.serving.rules import (
    Allocation,
    EngineRules,
    Growth,
    Guard,
    Keeps,
    Requeue,
    Restore,
    Victim,
)


def numbers_of(rules: EngineRules, arrays: RunArrays, *, jumps: bool) -> Numbers:
    """Settings of the runs, and the rules that are not compiled in."""
    start, least, decay = rules.ratio.scaled
    return Numbers(
        requests=_int32(arrays.requests),
        blocks=_int32(arrays.blocks),
        block_size=_int32(arrays.block_size),
        watermark_blocks=_int32(arrays.watermark_blocks),
        sequences=_int32(arrays.sequences),
        budget=_int32(arrays.budget),
        rate=jnp.asarray(arrays.rate[:, 0], jnp.int64),
        rate_unit=jnp.asarray(arrays.rate[:, 1], jnp.int64),
        clients=_int32(np.minimum(arrays.clients, arrays.requests)),
        clock=jnp.asarray(arrays.clock, jnp.float64),
        jumps=jnp.array(jumps),
        reserved_tokens=_int32(np.array(rules.reserved_tokens)),
        keeps_outputs=jnp.array(rules.keeps is Keeps.OUTPUTS),
        one_free=jnp.array(rules.growth is Growth.ONE_FREE),
        always_guarded=jnp.array(rules.guard is Guard.ALWAYS),
        admits_after_eviction=jnp.array(rules.admits_after_eviction),
        copying=jnp.asarray(arrays.copying, jnp.float64),
        pool=_int32(arrays.pool),
        sweet_spot=_int32(arrays.sweet_spot * (rules.restore is Restore.CHEAPER)),
        shared=jnp.asarray(arrays.shared),
        evicts_itself=jnp.array(rules.allocation.evicts_itself),
        doubles=jnp.array(rules.allocation is Allocation.ESTIMATE_THEN_DOUBLE),
        more_outputs=jnp.asarray(arrays.more_outputs, jnp.int64),
        ratio=jnp.array([start, least, decay, rules.ratio.clip, rules.ratio.ahead], jnp.int64),
        seed=_int32(arrays.seed),
        range_tokens=_int32(np.array(min(rules.ranges.tokens, UNLIMITED))),
    )


def table_of(rules: EngineRules, arrays: RunArrays, size: int) -> Table:
    """The requests, padded to `size`; those that are padding never come."""
    real = np.arange(arrays.arrival.shape[1]) < arrays.requests[:, None]

    def lengths(column: np.ndarray) -> jax.Array:
        return _int32(filled_up(np.where(real, column, 1), 1, size, 1))

    return Table(
        lengths(arrays.input_length),
        lengths(arrays.output_length),
        lengths(arrays.max_output) if Choices.of(rules).longest else None,
        _merits(rules, arrays, size),
        jnp.asarray(filled_up(np.where(real, arrays.arrival, np.inf), 1, size, np.inf)),
    )


def _merits(rules: EngineRules, arrays: RunArrays, size: int) -> Merits:
    """What the victim rule looks at, (run, size)."""
    remaining = rules.victim in (Victim.LONGEST_REMAINING, Victim.LOOSEST_OBJECTIVE)
    looseness = np.searchsorted(rules.ranges.tbt_slo, arrays.tbt_slo, side="right")
    objectives = rules.victim is Victim.LOOSEST_OBJECTIVE
    return Merits(
        _int32(filled_up(arrays.predicted, 1, size, 1)) if remaining else None,
        _int32(_places(arrays, size)) if rules.victim is Victim.LEAST_URGENT else None,
        _int32(filled_up(looseness, 1, size, 0)) if objectives else None,
    )


def _places(arrays: RunArrays, size: int) -> Int[np.ndarray, "run request"]:
    """Of each request by priority, then arrival, which is its index; padding comes last."""
    return np.argsort(_line(arrays, size), axis=1)


def _line(arrays: RunArrays, size: int) -> Int[np.ndarray, "run place"]:
    real = np.arange(arrays.arrival.shape[1]) < arrays.requests[:, None]
    last = np.iinfo(np.int64).max
    return np.argsort(
        filled_up(np.where(real, arrays.priority, last), 1, size, last), axis=1, kind="stable"
    )


def state_of(
    rules: EngineRules, arrays: RunArrays, slots: int, size: int, *, keep_requests: bool
) -> State:
    """Before the first iteration: the requests that `start` names run, nobody waits."""
    runs = arrays.requests.size
    running = (arrays.start > 0).sum(1)
    outputs = np.zeros((runs, slots), np.int64)
    for run in range(runs):
        outputs[run, : running[run]] = arrays.start[run][arrays.start[run] > 0]
    alive = outputs > 0
    inputs, targets, longest, estimated = (
        np.where(alive, filled_up(column, 1, slots, 1)[:, :slots], 1)
        for column in (
            arrays.input_length,
            arrays.output_length,
            arrays.max_output,
            _estimated(arrays),
        )
    )
    computed = np.where(alive, inputs + outputs - 1, 0)
    blocks = np.where(alive, _held(rules, arrays, computed, inputs + estimated - 1), 0)
    since = np.where(alive, 0.0, np.nan)
    none = np.zeros((runs, slots))
    merits = jax.tree.map(
        lambda column: column[:, :slots], _merits(rules, arrays, max(size, slots))
    )
    by_estimate = rules.allocation is not Allocation.BY_BLOCK
    swaps = rules.restore is not Restore.RECOMPUTE
    return State(
        Runs(
            live=jnp.asarray(arrays.requests > 0),
            stuck=jnp.zeros(runs, bool),
            now=jnp.zeros(runs, jnp.float64),
            iterations=jnp.zeros(runs, jnp.int32),
            arrived=_int32(running),
            done=jnp.zeros(runs, jnp.int32),
            running=_int32(running),
            used=_int32(blocks.sum(1)),
            tail=_int32(running),
            credit=jnp.zeros(runs, jnp.int64),
            ratio=jnp.full(runs, rules.ratio.scaled[0], jnp.int64),
        ),
        Slots(
            alive=jnp.asarray(alive),
            request=_int32(np.where(alive, np.arange(slots), size)),
            input=_int32(inputs),
            target=_int32(targets),
            longest=_int32(longest) if Choices.of(rules).longest else None,
            merits=merits,
            computed=_int32(computed),
            blocks=_int32(blocks),
            tokens=jnp.zeros((runs, slots), jnp.int32),
            ready=jnp.zeros((runs, slots)) if swaps else None,
            progress=_progress(
                outputs,
                computed,
                estimated if by_estimate else None,
                since,
                none,
                keep_requests,
                swaps,
            ),
        ),
        _queue(rules, arrays, running, size),
        _empty_store(runs, size, _estimated(arrays) if by_estimate else None, keep_requests, swaps),
        _no_copies(runs) if swaps else None,
    )


def _no_copies(runs: int) -> Copies:
    none, wide = jnp.zeros(runs, jnp.int32), jnp.zeros(runs, jnp.int64)
    return Copies(jnp.zeros(runs, jnp.float64), held=wide, out=wide, leaving=none, longest=none)


def _queue(
    rules: EngineRules, arrays: RunArrays, running: Int[np.ndarray, " run"], size: int
) -> Queue:
    """The first requests run, and nobody was evicted."""
    runs = running.size
    ring, line = np.zeros((runs, size), np.int64), None
    if rules.requeue is Requeue.BY_PRIORITY:
        line = Line(_int32(_line(arrays, size)), _int32(_places(arrays, size)))
        ring = np.where(_line(arrays, size) < running[:, None], AWAY, NEVER_RAN)
    return Queue(
        fresh=_int32(running),
        head=jnp.zeros(runs, jnp.int32),
        evicted=jnp.zeros(runs, jnp.int32),
        ring=_int32(ring),
        tags=jnp.zeros((runs, size), jnp.int32) if rules.requeue is Requeue.TAIL else None,
        line=line,
    )


def _estimated(arrays: RunArrays) -> Int[np.ndarray, "run request"]:
    """No more than the memory has tokens: what is given is the same for all that are more."""
    return np.minimum(arrays.estimated, (arrays.blocks * arrays.block_size)[:, None])


def _held(
    rules: EngineRules, arrays: RunArrays, computed: np.ndarray, estimated: np.ndarray
) -> Int[np.ndarray, "run slot"]:
    """Blocks of who runs at the start, with so many tokens computed, in all estimated."""

    def blocks_of(tokens: np.ndarray) -> np.ndarray:
        return -(-(tokens + rules.reserved_tokens) // arrays.block_size[:, None])

    if rules.allocation is Allocation.BY_BLOCK:
        return blocks_of(computed)
    free = arrays.watermark_blocks if rules.guard is Guard.ALWAYS else 0
    most = arrays.blocks - np.maximum(free, 1 if rules.growth is Growth.ONE_FREE else 0)
    return np.maximum(blocks_of(computed + 1), np.minimum(blocks_of(estimated), most[:, None]))


def _empty_store(
    runs: int, size: int, estimated: np.ndarray | None, keep_requests: bool, swaps: bool
) -> Progress:
    zero, never = np.zeros((runs, size)), np.full((runs, size), np.nan)
    if estimated is not None:
        estimated = filled_up(estimated, 1, size, 1)
    return _progress(zero, zero, estimated, never, zero, keep_requests, swaps)


def _progress(
    outputs: np.ndarray,
    highest: np.ndarray,
    estimated: np.ndarray | None,
    since: np.ndarray,
    none: np.ndarray,
    keep: bool,
    swaps: bool,
) -> Progress:
    times = Times(
        *(jnp.asarray(since, jnp.float64) for _ in range(3)),
        gap=jnp.asarray(none, jnp.float64),
        evictions=_int32(none),
        halted=jnp.asarray(none, jnp.float64),
        since=jnp.full(none.shape, jnp.nan),
    )
    kept = _int32(none) if swaps else None
    given = None if estimated is None else _int32(estimated)
    return Progress(_int32(outputs), _int32(highest), kept, given, times if keep else None)


def with_slots(state: State, slots: int) -> State:
    """The same state with more slots, which are empty."""
    more = ((0, 0), (0, slots - state.slots.alive.shape[1]))
    longer = jax.tree.map(lambda values: jnp.pad(values, more), state.slots)
    nobody = state.queue.ring.shape[1]
    request = jnp.pad(state.slots.request, more, constant_values=nobody)
    return state._replace(slots=longer._replace(request=request))


def requests_of(arrays: RunArrays, state: State) -> RequestTimes:
    """What is recorded of each request: from the store, and from the slots if it is there."""
    slots: Slots = jax.device_get(state.slots)
    store: Progress = jax.device_get(state.store)
    size = arrays.output_length.shape[1]
    run, slot = np.nonzero(np.asarray(slots.request) < store.outputs.shape[1])
    request = np.asarray(slots.request)[run, slot]

    def merged(stored: ArrayLike, held: ArrayLike) -> np.ndarray:
        values = np.array(stored)
        values[run, request] = np.asarray(held)[run, slot]
        return values[:, :size]

    outputs = merged(store.outputs, slots.progress.outputs).astype(np.int64)
    stored, held = store.times, slots.progress.times
    if stored is None or held is None:
        raise ValueError("a run without times has no records of requests")
    admitted, first, last, gap, evictions, halted, _ = map(merged, stored, held)
    real = np.arange(size) < arrays.requests[:, None]
    finished = real & (outputs == arrays.output_length)
    arrived = np.asarray(state.runs.arrived)
    arrival = _arrivals(arrays, last, finished, arrived)
    return RequestTimes(
        arrival=np.where(real, arrival, np.nan),
        admitted=admitted,
        first_token=first,
        last_token=last,
        longest_gap=np.where(real, gap, np.nan),
        evictions=evictions.astype(np.int64),
        outputs=outputs,
        finished=finished,
        halted=np.where(real, halted, np.nan),
    )


def _arrivals(
    arrays: RunArrays, last_token: np.ndarray, finished: np.ndarray, arrived: np.ndarray
) -> Float[np.ndarray, "run request"]:
    """Actual arrival times. In a closed population, the clients come at 0, the others when one is
    done; that is the time of its last token."""
    times = np.array(arrays.arrival)
    for run in np.flatnonzero(arrays.clients):
        clients, started = int(arrays.clients[run]), int((arrays.start[run] > 0).sum())
        times[run, arrived[run] :] = np.nan  # has not come
        departures = np.sort(last_token[run, finished[run]])
        index = np.arange(started, arrived[run])
        follows = index - clients
        times[run, index] = np.where(
            follows < 0, 0.0, departures[np.clip(follows, 0, None)] if departures.size else 0.0
        )
    return times


def _int32(values: Int[np.ndarray, "..."] | Float[np.ndarray, "..."]) -> jax.Array:
    return jnp.asarray(np.asarray(values).astype(np.int32))
