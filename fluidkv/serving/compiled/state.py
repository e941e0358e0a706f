"""What the compiled engine carries from one iteration to the next.

The first axis of every array is the run. Three kinds of array, by what an iteration may do:

    (run,)          counters, a clock
    (run, slot)     running requests, in order of admission, with holes: passed over in full
    (run, request)  the table, the store and the queue: only looked up and written at a few places,
                     so that an iteration costs the same however long the queue is

Counts are int32. None can overflow: `engine.run_engine` refuses requests of 2^29 tokens or more and
memory of 2^30 or more; what runs fits in the memory, but for the growth of one iteration, which is
at most its tokens, and so the budget, 2^30. Of unfinished prompts there may be several (newcomers
that come first, those that are copied back, victims that are admitted again at once), so what is
asked for is summed in int64. Where newcomers come first memory is below 2^29: they and those who
ran before hold at most as much each before somebody goes.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from fluidkv.serving.rules import Allocation, EngineRules, Gate, RatioReset, Restore, Victim


class Choices(NamedTuple):
    """Answers that are compiled in, besides where the evicted wait: `Queue`. Others are numbers."""

    victim: Victim
    gate: Gate
    prefill_alone: bool
    newcomers_first: bool
    swaps: bool
    by_estimate: bool
    reset: RatioReset | None  # only where the gate looks at the ratio
    in_turn: bool  # only where it matters
    asker_stays: bool

    @classmethod
    def of(cls, rules: EngineRules) -> "Choices":
        reset = rules.ratio.reset if rules.gate is Gate.RATIO else None
        by_estimate = rules.allocation is not Allocation.BY_BLOCK
        swaps = rules.restore is not Restore.RECOMPUTE
        order = rules.prefill_alone, rules.newcomers_first, swaps, by_estimate
        stays = rules.asker_stays
        in_turn = rules.in_turn and (stays or rules.victim is not Victim.LAST_ADMITTED)
        return cls(rules.victim, rules.gate, *order, reset, in_turn, stays)

    @property
    def first_of_equals(self) -> bool:
        """Whether of equals the one admitted first goes."""
        return self.victim.first_of_equals and not self.asker_stays

    @property
    def longest(self) -> bool:
        """Whether a rule looks at the most outputs that a request may have."""
        return self.gate in (Gate.PEAK, Gate.RATIO) or self.victim is Victim.COST_AWARE


class Numbers(NamedTuple):
    """Settings of a run: those of its limits and clock a run, those of its rules one for all."""

    requests: Int[Array, " run"]
    blocks: Int[Array, " run"]
    block_size: Int[Array, " run"]
    watermark_blocks: Int[Array, " run"]
    sequences: Int[Array, " run"]
    budget: Int[Array, " run"]
    rate: Int[Array, " run"]  # numerator, 0: no limit; int64
    rate_unit: Int[Array, " run"]  # denominator; int64
    clients: Int[Array, " run"]
    clock: Float[Array, "run 4"]
    jumps: Bool[Array, ""]
    reserved_tokens: Int[Array, ""]
    keeps_outputs: Bool[Array, ""]
    one_free: Bool[Array, ""]
    always_guarded: Bool[Array, ""]
    admits_after_eviction: Bool[Array, ""]
    copying: Float[Array, "run 2"]  # time of a token, and of a copy besides
    pool: Int[Array, " run"]  # tokens that the host holds
    sweet_spot: Int[Array, " run"]  # only who holds more is swapped
    shared: Bool[Array, " run"]  # one copy after the other
    evicts_itself: Bool[Array, ""]  # who outgrows what it was given
    doubles: Bool[Array, ""]  # what it is given then; else `more_outputs`
    more_outputs: Int[Array, " run"]  # int64
    ratio: Int[Array, " 5"]  # start, least, decay (over SCALE), clip, ahead; int64
    seed: Int[Array, " run"]
    range_tokens: Int[Array, ""]


class Merits(NamedTuple):
    """What the victim rule looks at that never changes; None where it does not."""

    predicted: Array | None  # outputs
    urgency: Array | None  # place among all requests of the run, 0: the most urgent
    looseness: Array | None  # range of the TBT objective


class Table(NamedTuple):
    """The requests of a run; `longest`: most outputs that the engine may assume."""

    input: Int[Array, "run request"]
    output: Int[Array, "run request"]
    longest: Int[Array, "run request"] | None  # None where no rule looks at it
    merits: Merits  # (run, request)
    arrival: Float[Array, "run request"]  # not falling; infinite in the padding


class Times(NamedTuple):
    """What is recorded of a request for its own sake. NaN: not yet."""

    admitted: Array
    first: Array
    last: Array
    gap: Array
    evictions: Array
    halted: Array
    since: Array  # of a halt that goes on


class Progress(NamedTuple):
    """What outlives an eviction: in a slot while a request runs, in the store while it does not."""

    outputs: Array
    highest: Array
    kept: Array | None  # tokens in the host's memory; None where nobody swaps
    estimated: Array | None  # outputs that memory is given for; None where it is given by block
    times: Times | None


class Slots(NamedTuple):
    """Running requests in order of admission; holes are not alive.

    A hole of a request that is done keeps it until it is stored; one that is empty or stored
    already (an eviction) has the request "N", one past the last.
    """

    alive: Bool[Array, "run slot"]
    request: Int[Array, "run slot"]
    input: Int[Array, "run slot"]
    target: Int[Array, "run slot"]  # output_length
    longest: Int[Array, "run slot"] | None
    merits: Merits  # (run, slot)
    computed: Int[Array, "run slot"]
    blocks: Int[Array, "run slot"]
    tokens: Int[Array, "run slot"]  # to compute in this iteration
    ready: Float[Array, "run slot"] | None  # end of its copy in; infinite: not queued yet
    progress: Progress


class Line(NamedTuple):
    """The order by priority and arrival, of all requests of a run; never changes."""

    request: Int[Array, "run place"]
    place: Int[Array, "run request"]


class Queue(NamedTuple):
    """Who waits: requests that never ran, from `fresh` to those arrived; and the evicted ones.

    `ring` holds the evicted. Head of the queue: a stack of `evicted`, the top is next. Tail: a ring
    from `head` on; `tags` says how many had arrived when each was evicted, so that it stands behind
    exactly these. By priority, `fresh` only counts, and `ring` says of each place of the line where
    its request is: see `queue`.
    """

    fresh: Int[Array, " run"]
    head: Int[Array, " run"]
    evicted: Int[Array, " run"]
    ring: Int[Array, "run request"]
    tags: Int[Array, "run request"] | None  # None: not at the tail
    line: Line | None  # None: not by priority


class Runs(NamedTuple):
    """Counters of each run."""

    live: Bool[Array, " run"]
    stuck: Bool[Array, " run"]
    now: Float[Array, " run"]
    iterations: Int[Array, " run"]
    arrived: Int[Array, " run"]
    done: Int[Array, " run"]
    running: Int[Array, " run"]
    used: Int[Array, " run"]  # blocks
    tail: Int[Array, " run"]  # slots in use, holes among them
    credit: Int[Array, " run"]  # admissions that the rate limit allows, times rate_unit; int64
    ratio: Int[Array, " run"]  # new-token ratio over SCALE; int64


class Copies(NamedTuple):
    """The host's memory and the bus; of the copies out of an iteration what its start waits for."""

    free_at: Float[Array, " run"]  # end of the last copy
    held: Int[Array, " run"]  # tokens in the host; int64
    out: Int[Array, " run"]  # tokens of all; int64
    leaving: Int[Array, " run"]  # how many copies
    longest: Int[Array, " run"]  # of one


class State(NamedTuple):
    runs: Runs
    slots: Slots
    queue: Queue
    store: Progress  # (run, request)
    copies: Copies | None = None  # None where nobody swaps


def pick(values, index: Int[Array, "run some"]):
    """values[run, index] of each array of a tree; the index must be inside."""
    return jax.tree.map(
        lambda v: jnp.take_along_axis(v, index, axis=1, mode="promise_in_bounds"), values
    )


def put(values, index: Int[Array, "run some"], new):
    """The trees with [run, index] = new; an index past the end writes nothing."""
    run = jnp.arange(index.shape[0], dtype=jnp.int32)[:, None]
    return jax.tree.map(lambda v, n: v.at[run, index].set(n, mode="drop"), values, new)


def put_window(values, start: Int[Array, " run"], new):
    """The trees with [run, start : start + width] = new; the window must be inside."""
    write = jax.vmap(lambda v, n, at: lax.dynamic_update_slice(v, n, (at,)))
    return jax.tree.map(lambda v, n: write(v, n, start), values, new)


def total(values: Array, dtype=jnp.int32) -> Array:
    """Sum over slots or candidates, a run."""
    return jnp.sum(values, axis=1, dtype=dtype)


def before(values: Int[Array, "run some"]) -> Int[Array, "run some"]:
    """Sums of what stands before each."""
    return jnp.cumsum(values, axis=1) - values


def blocks_of(numbers: Numbers, tokens: Int[Array, "run some"]) -> Int[Array, "run some"]:
    """ceil((tokens + reserved) / size) of whole numbers, by floats: integers divide far slower.

    It is floor((tokens + reserved + size - 1/2) / size), whose quotient is at least 1/(2 size) away
    from a whole number. Its rounding, in 1/size and in the product, is at most 2^-52 of it, which
    is less, as the numerator is below 2^51. A plain ceil of a division would not do: XLA may write
    it as a product with 1/size, and 525 (1/75) is above 7.
    """
    size = numbers.block_size.astype(jnp.float64)[:, None]
    held = (tokens + numbers.reserved_tokens.astype(tokens.dtype)).astype(jnp.float64)
    return jnp.floor((held + (size - 0.5)) * (1 / size)).astype(tokens.dtype)


def positions(slots: Slots) -> Int[Array, "1 slot"]:
    return jnp.arange(slots.alive.shape[1], dtype=jnp.int32)[None]


def missing(slots: Slots) -> Int[Array, "run slot"]:
    """Tokens that a request lacks before its next output; meaningless in holes."""
    return slots.input + slots.progress.outputs - slots.computed


def coming_back(slots: Slots) -> Bool[Array, "run slot"]:
    """Its cache is not there yet."""
    if slots.progress.kept is None:
        return jnp.zeros_like(slots.alive)
    return slots.alive & (slots.progress.kept > 0)


def asks(slots: Slots) -> Int[Array, "run slot"]:
    """Tokens that a running request would compute next; 0 in holes."""
    return jnp.where(slots.alive & ~coming_back(slots), missing(slots), 0)


def decoding(slots: Slots) -> Bool[Array, "run slot"]:
    """Only the token just emitted is missing from the cache."""
    return (slots.progress.outputs > 0) & (missing(slots) == 1)


def compact(state: State) -> State:
    """Running requests move together, in their order; those that are done go to the store."""
    runs, slots, store = state.runs, state.slots, state.store
    nobody = state.queue.ring.shape[1]
    if store.times is not None:
        store = put(store, jnp.where(slots.alive, nobody, slots.request), slots.progress)
    where = positions(slots)
    rank = jnp.cumsum(slots.alive, axis=1, dtype=jnp.int32) - 1
    origin = put(
        jnp.zeros_like(slots.request),
        jnp.where(slots.alive, rank, where.shape[1]),
        jnp.broadcast_to(where, rank.shape),
    )
    slots = pick(slots, origin)
    alive = where < runs.running[:, None]
    slots = slots._replace(alive=alive, request=jnp.where(alive, slots.request, nobody))
    return state._replace(runs=runs._replace(tail=runs.running), slots=slots, store=store)
