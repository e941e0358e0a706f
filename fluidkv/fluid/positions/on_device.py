"""One class by its labels in JAX, for an accelerator: batch last, each lane at its own iteration.

A step of the loop is one thing in each lane: to the next completion in one go, a completion, or one
label trimmed or used up. So no lane waits for another that has more of them to do in the same
iteration; all wait only for the lane with most steps in the whole horizon. Labels lie in rings
(label, batch), where a lane reads two and writes two of them a step, wherever they are.

It is `reference.Positions` up to rounding: sums are made anew for all lanes at once, every so many
steps, and what memory is off by then is taken from the next excess. Pure, and no lane looks at
another, so that a batch may be spread over devices. Call it under `in_float64`.

On a CPU it is slow, and not meant for it: docs/mass_engine.md has the numbers.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Int

from fluidkv.runs.batch import power_of_two
from fluidkv.runs.devices import over_devices
from fluidkv.runs.precision import in_float64

Numbers = Float[Array, " batch"]
Whole = Int[Array, " batch"]

_LANES = 1 << 17  # of a block: as many as an accelerator has threads
_NUMBERS = 1 << 28  # of a block, rings and what is made on the way: 2 GB
_ARRAYS = 8  # as large as the rings, at once
_FEWEST = 8  # a compiled loop in vectors; alone, a trajectory would be rounded in another way


class _Lanes(NamedTuple):
    """As `lane` names it, one column a lane.

    Fields:
        units, births: rings of labels.
        requests, total, older, tokens: N, A, C and w of the reference.
        excess: tokens that are still to be trimmed in iteration `now`.
        off: what memory was found to be above capacity when the sums were made anew.
    """

    units: Float[Array, "label batch"]
    births: Int[Array, "label batch"]
    requests: Numbers
    total: Numbers
    older: Numbers
    tokens: Numbers
    excess: Numbers
    off: Numbers
    now: Whole
    since: Whole
    head: Whole
    tail: Whole


def follow_on_device(
    inputs: Numbers,
    stages: Whole,
    capacity: Numbers,
    start: Float[Array, "stage batch"],
    iterations: Int[Array, ""],
) -> Float[Array, "stage batch"]:
    """Masses by stage after so many iterations.

    Args:
        inputs: l0 of each trajectory.
        stages: l1 of each, at most the stages of `start`, where it has no mass beyond them.
        capacity: M of each.
        start: masses at or below capacity.
        iterations: how many, at least 1; traced, so that another number compiles nothing.
    """
    lanes = _begin(inputs, capacity, start)

    def unfinished(lanes: _Lanes) -> Array:
        return jnp.any((lanes.now < iterations) | (lanes.excess > 0))

    def turn(lanes: _Lanes) -> _Lanes:
        lanes = lax.fori_loop(
            0, len(start), lambda _, now: _step(inputs, stages, now, iterations), lanes
        )
        return _summed(inputs, capacity, lanes)

    lanes = lax.while_loop(unfinished, turn, lanes)
    return _states(lanes, len(start))


def _begin(inputs: Numbers, capacity: Numbers, start: Float[Array, "stage batch"]) -> _Lanes:
    """Labels of the start, oldest first; all of memory is still off."""
    stages, batch = start.shape
    ring = 1 << stages.bit_length()
    oldest_first = start[::-1]
    live = oldest_first > 0
    place = jnp.where(live, jnp.cumsum(live, axis=0, dtype=jnp.int32) - 1, ring)
    lane = jnp.broadcast_to(jnp.arange(batch, dtype=jnp.int32), place.shape)
    ages = jnp.broadcast_to(jnp.arange(stages, dtype=jnp.int32)[::-1, None], place.shape)
    zero, none = jnp.zeros(batch, start.dtype), jnp.zeros(batch, jnp.int32)
    rows = jnp.arange(1, stages + 1, dtype=start.dtype)[:, None]
    held = jnp.sum(start * (inputs[None] + rows), axis=0)
    lanes = _Lanes(
        units=jnp.zeros((ring, batch), start.dtype).at[place, lane].set(oldest_first, mode="drop"),
        births=jnp.zeros((ring, batch), jnp.int32).at[place, lane].set(-ages, mode="drop"),
        requests=jnp.sum(start, axis=0),
        total=zero,
        older=zero,
        tokens=zero,
        excess=zero,
        off=held - capacity,
        now=none,
        since=none,
        head=none,
        tail=jnp.sum(live, axis=0, dtype=jnp.int32),
    )
    return _settled(inputs, lanes, jnp.ones(batch, bool))


def _step(inputs: Numbers, stages: Whole, lanes: _Lanes, until: Int[Array, ""]) -> _Lanes:
    """The next thing in each lane; nothing in one that is done."""
    trims = lanes.excess > 0
    moves = ~trims & (lanes.now < until)
    oldest, born = _label(lanes, lanes.head)
    there = lanes.tail > lanes.head
    end = jnp.where(there, born + stages, lanes.now + 1)
    # While memory is off, the next iteration is not like the ones between completions.
    plain = moves & (end > lanes.now + 1) & (lanes.off == 0)
    last = jnp.minimum(end - 1, until)
    fits = plain & (_left(lanes, last) > 0)
    # Where the youngest label is used up on the way: the first iteration that finds it so.
    ratio = -lanes.total / jnp.where(lanes.older < 0, lanes.older, -1.0)
    guess = lanes.since + jnp.ceil(ratio - lanes.tokens).astype(jnp.int32)
    n = jnp.clip(guess, lanes.now + 1, last)
    n = jnp.where((n > lanes.now + 1) & (_left(lanes, n - 1) <= 0), n - 1, n)
    n = jnp.where((n < last) & (_left(lanes, n) > 0), n + 1, n)
    used = plain & ~fits
    before = lanes.total / (lanes.tokens + (n - 1 - lanes.since).astype(lanes.total.dtype))
    grown = lanes.tokens + (n - lanes.since).astype(lanes.total.dtype)
    lost = before - (lanes.older + before) * grown
    # A completion, or whatever is not plain.
    changes = moves & ~plain
    gone = (lanes.now - lanes.since).astype(lanes.total.dtype)
    requests = jnp.where(gone > 0, lanes.total / (lanes.tokens + gone), lanes.requests)
    youngest = jnp.where(gone > 0, lanes.older + requests, _label(lanes, lanes.tail - 1)[0])
    units = _write(lanes.units, lanes.tail - 1, youngest, changes & there)
    completes = changes & there & (born + stages == lanes.now + 1)
    # It may be the youngest too, of which the ring has just been told.
    oldest = jnp.where(lanes.tail - lanes.head == 1, youngest, oldest)
    requests = requests - jnp.where(completes, oldest, 0.0)
    freed = jnp.where(completes, (inputs + stages.astype(inputs.dtype)) * oldest, 0.0)
    excess = requests - freed + lanes.off
    admits = changes & (excess < 0)
    new = jnp.where(admits, -excess / (inputs + 1), 0.0)
    now = jnp.where(fits, last, jnp.where(used, n, jnp.where(changes, lanes.now + 1, lanes.now)))
    units = _write(units, lanes.tail, new, admits)
    births = _write(lanes.births, lanes.tail, now, admits)
    lanes = lanes._replace(
        units=units,
        births=births,
        requests=jnp.where(used, -lanes.older, jnp.where(changes, requests + new, lanes.requests)),
        excess=jnp.where(
            used, jnp.maximum(lost, 0.0), jnp.where(changes, jnp.maximum(excess, 0.0), lanes.excess)
        ),
        off=jnp.where(changes, 0.0, lanes.off),
        now=now,
        head=lanes.head + completes.astype(jnp.int32),
        tail=lanes.tail + admits.astype(jnp.int32) - used.astype(jnp.int32),
    )
    lanes = _trimmed(inputs, lanes, trims)
    settles = (trims | used | changes) & (lanes.excess == 0)
    return _settled(inputs, lanes, settles)


def _trimmed(inputs: Numbers, lanes: _Lanes, trims: Array) -> _Lanes:
    """The youngest label loses what is too much, or is used up."""
    units, born = _label(lanes, lanes.tail - 1)
    tokens = inputs + 1 + (lanes.now - born).astype(inputs.dtype)
    needed = units * tokens
    whole = needed <= lanes.excess
    cut = jnp.where(whole, units, lanes.excess / tokens)
    rest = jnp.where(whole, lanes.excess - needed, 0.0)
    return lanes._replace(
        units=_write(lanes.units, lanes.tail - 1, units - cut, trims & ~whole),
        requests=jnp.where(trims, lanes.requests - cut, lanes.requests),
        excess=jnp.where(trims, rest, lanes.excess),
        tail=lanes.tail - (trims & whole).astype(jnp.int32),
    )


def _settled(inputs: Numbers, lanes: _Lanes, which: Array) -> _Lanes:
    """Memory is full: what holds until something completes or the youngest is used up."""
    units, born = _label(lanes, lanes.tail - 1)
    tokens = inputs + 1 + (lanes.now - born).astype(inputs.dtype)
    requests = jnp.where(lanes.tail - lanes.head == 1, units, lanes.requests)
    return lanes._replace(
        requests=jnp.where(which, requests, lanes.requests),
        total=jnp.where(which, requests * tokens, lanes.total),
        older=jnp.where(which, units - requests, lanes.older),
        tokens=jnp.where(which, tokens, lanes.tokens),
        since=jnp.where(which, lanes.now, lanes.since),
    )


def _summed(inputs: Numbers, capacity: Numbers, lanes: _Lanes) -> _Lanes:
    """Sums made anew from the labels, where a lane is not within an iteration."""
    live, ages = _live(lanes)
    current = _current(lanes)
    units = jnp.where(live, current, 0.0)
    requests = jnp.sum(units, axis=0)
    tokens = inputs[None] + 1 + ages.astype(inputs.dtype)
    held = jnp.sum(units * tokens, axis=0)
    at_rest = (lanes.excess == 0) & (lanes.now > 0)
    alone = lanes.tail - lanes.head == 1
    lanes = lanes._replace(
        units=jnp.where(at_rest[None], current, lanes.units),
        requests=jnp.where(at_rest, requests, lanes.requests),
        # A single label is what its completion makes it; nothing adds up.
        off=jnp.where(at_rest & ~alone, held - capacity, lanes.off),
    )
    return _settled(inputs, lanes, at_rest)


def _left(lanes: _Lanes, n: Whole) -> Numbers:
    """Requests of the youngest label at iteration n, where nothing completes before."""
    return lanes.older + lanes.total / (lanes.tokens + (n - lanes.since).astype(lanes.total.dtype))


def _label(lanes: _Lanes, which: Whole) -> tuple[Numbers, Whole]:
    """Units and birth of a label of each lane."""
    at = (which & (len(lanes.units) - 1))[None]
    units = jnp.take_along_axis(lanes.units, at, axis=0)[0]
    return units, jnp.take_along_axis(lanes.births, at, axis=0)[0]


def _write(ring: Array, which: Whole, value: Array, where: Array) -> Array:
    at = jnp.where(where, which & (len(ring) - 1), len(ring))
    return ring.at[at, jnp.arange(ring.shape[1], dtype=at.dtype)].set(value, mode="drop")


def _live(lanes: _Lanes) -> tuple[Array, Int[Array, "label batch"]]:
    """Which places of the rings hold a label, and how old these are."""
    ring = len(lanes.units)
    place = jnp.arange(ring, dtype=jnp.int32)[:, None]
    behind = (place - lanes.head[None]) & (ring - 1)
    return behind < (lanes.tail - lanes.head)[None], lanes.now[None] - lanes.births


def _current(lanes: _Lanes) -> Float[Array, "label batch"]:
    """Units of the labels, of the youngest too."""
    gone = lanes.now > lanes.since
    return _write(lanes.units, lanes.tail - 1, _left(lanes, lanes.now), gone)


def _states(lanes: _Lanes, stages: int) -> Float[Array, "stage batch"]:
    live, ages = _live(lanes)
    at = jnp.where(live, ages, stages)
    lane = jnp.broadcast_to(jnp.arange(at.shape[1], dtype=at.dtype), at.shape)
    empty = jnp.zeros((stages, at.shape[1]), lanes.units.dtype)
    return empty.at[at, lane].set(_current(lanes), mode="drop")


follow_jit = jax.jit(follow_on_device)
"""`follow_on_device`, compiled."""


def advance_on_device(
    inputs: Float[np.ndarray, " lane"],
    stages: Int[np.ndarray, " lane"],
    capacity: Float[np.ndarray, " lane"],
    start: Float[np.ndarray, "lane stage"],
    iterations: int,
) -> Float[np.ndarray, "lane stage"]:
    """`follow_on_device` of any batch, in blocks, over all devices of this host."""
    lanes, ending = len(start), np.asarray(iterations, np.int32)
    at = np.arange(max(lanes, _FEWEST)) % lanes
    whole = np.asarray(stages, np.int32)

    def call(values: Any) -> Any:
        return _follow_rows(*values, ending)

    most = max(1, _NUMBERS // (_ARRAYS * start.shape[1]))
    with in_float64():
        found = over_devices(
            call,
            tuple(values[at] for values in (inputs, whole, capacity, start)),
            axes=0,
            found_axes=0,
            lanes=min(_LANES, power_of_two(most)),
        )
    return found[:lanes]


@jax.jit
def _follow_rows(inputs, stages, capacity, start, iterations):
    return follow_on_device(inputs, stages, capacity, start.T, iterations).T
