"""The host's memory and the bus to it in the compiled engine; as `serving.copies`."""

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from fluidkv.serving.compiled.state import Copies, Numbers, Progress, State, coming_back, total


def leave(
    numbers: Numbers,
    copies: Copies,
    progress: Progress,
    computed: Int[Array, "run some"],
    goes: Bool[Array, "run some"],
) -> tuple[Int[Array, "run some"], Copies]:
    """Victims, in order: the tokens of each in the host, and the copies with theirs."""
    assert progress.kept is not None  # as there are copies
    goes &= jnp.ones_like(computed, bool)
    leaves = goes & (progress.kept == 0) & (computed > numbers.sweet_spot[:, None])
    tokens = jnp.where(leaves, computed, 0)
    most = numbers.pool.astype(jnp.int64)

    def one(held: Array, asked: Array) -> tuple[Array, Array]:
        fits = (asked > 0) & (held + asked <= most)
        return held + jnp.where(fits, asked, 0), fits

    # One after the other: where one does not fit, a smaller one behind it may.
    held, fits = lax.scan(one, copies.held, tokens.T.astype(jnp.int64))
    sent = jnp.where(fits.T, tokens, 0)
    return jnp.where(fits.T, computed, progress.kept), Copies(
        copies.free_at,
        held=held,
        out=copies.out + total(sent, jnp.int64),
        leaving=copies.leaving + total(fits.T),
        longest=jnp.maximum(copies.longest, jnp.max(sent, axis=1)),
    )


def land(state: State) -> State:
    """Who is back by now leaves the host."""
    slots, copies = state.slots, state.copies
    if copies is None or slots.ready is None or slots.progress.kept is None:
        return state
    kept = slots.progress.kept
    back = coming_back(slots) & (slots.ready <= state.runs.now[:, None])
    back &= state.runs.live[:, None]
    left = jnp.where(back, 0, kept)
    return state._replace(
        slots=slots._replace(progress=slots.progress._replace(kept=left)),
        copies=copies._replace(held=copies.held - total(jnp.where(back, kept, 0), jnp.int64)),
    )


def go(numbers: Numbers, state: State) -> tuple[State, Int[Array, " run"]]:
    """The copies of an iteration are queued, those out first; it begins when these are done.

    Returns:
        The state, its clock where the iteration begins to compute; tokens that it copies.
    """
    slots, copies, runs = state.slots, state.copies, state.runs
    if copies is None or slots.ready is None or slots.progress.kept is None:
        return state, jnp.zeros_like(runs.running)
    free = jnp.where(numbers.shared, jnp.maximum(runs.now, copies.free_at), runs.now)
    out = jnp.where(numbers.shared, copies.out, copies.longest.astype(jnp.int64))
    some = copies.leaving > 0
    count = jnp.where(numbers.shared, copies.leaving, 1)
    free = jnp.where(some, _after(numbers, free, out, count), free)
    began = jnp.where(some, free, runs.now)

    new = coming_back(slots) & jnp.isinf(slots.ready) & runs.live[:, None]
    tokens = jnp.where(new, slots.progress.kept, 0).astype(jnp.int64)
    shared = numbers.shared[:, None]
    upto = jnp.where(shared, jnp.cumsum(tokens, axis=1), tokens)
    places = jnp.where(shared, jnp.cumsum(new, axis=1, dtype=jnp.int32), 1)
    ready = _after(numbers, free[:, None], upto, places)
    # The last of them is done last; nobody is done before the bus was free.
    last = jnp.max(jnp.where(new, ready, free[:, None]), axis=1)
    copied = copies.out + total(tokens, jnp.int64)
    nothing = jnp.zeros_like(copies.leaving)
    return state._replace(
        runs=runs._replace(now=jnp.where(runs.live, began, runs.now)),
        slots=slots._replace(ready=jnp.where(new, ready, slots.ready)),
        copies=copies._replace(
            free_at=jnp.where(runs.live, last, copies.free_at),
            out=jnp.zeros_like(copies.out),
            leaving=nothing,
            longest=nothing,
        ),
    ), copied.astype(jnp.int32)


def _after(numbers: Numbers, start: Float[Array, "..."], tokens: Array, copies: Array) -> Array:
    """As `serving.copies.Copies`, in its order; maxima keep products out of fused sums."""
    per_token, per_copy = (numbers.copying[:, i] for i in range(2))
    if start.ndim == 2:
        per_token, per_copy = per_token[:, None], per_copy[:, None]
    token = jnp.maximum(per_token * tokens.astype(jnp.float64), 0.0)
    return start + (token + jnp.maximum(per_copy * copies.astype(jnp.float64), 0.0))
