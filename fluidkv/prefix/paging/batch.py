"""Thousands of runs of an eviction at random, of one sequence of requests, at once.

Which tokens are marked depends on the requests alone, so it is found once, literally; what differs
between runs is what is cached, a set of tokens in a few words of bits. Each access is looked at in
all runs together, and where all of them hit, as in a common prefix, nothing else is to do.

Equal to the literal run (`fluidkv.prefix.paging.marking`) access by access, given the same numbers.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, UInt32

from fluidkv.errors import InputError
from fluidkv.prefix.paging.marking import Access, marking, path_locked
from fluidkv.prefix.paging.tokens import Request, check_requests
from fluidkv.runs.checks import count
from fluidkv.runs.precision import in_float64, random_key

RandomPolicy = Literal["rlt", "random leaf"]
"""Which leaves may be drawn: those without a mark, or any."""

MOST_RUNS = 1_000_000


@dataclass(frozen=True)
class Plan:
    """Accesses one by one, as arrays over tokens, which are numbered in their order.

    Args:
        token: the number of each that is accessed; shape (accesses,).
        parent: of each token its parent's number, or the number of tokens where it has none.
        kept: tokens that may not go at an access, as bits of words, the first token lowest; shape
            (accesses, words).
        children: of each token the tokens below it, likewise, and a last column for roots; shape
            (words, tokens + 1).
    """

    token: Int[np.ndarray, " accesses"]
    parent: Int[np.ndarray, " tokens"]
    kept: UInt32[np.ndarray, "accesses words"]
    children: UInt32[np.ndarray, "words tokens_and_root"]


def batch_misses(
    requests: Iterable[Request],
    capacity: int,
    policy: RandomPolicy = "rlt",
    *,
    runs: int = 1,
    seed: int = 0,
) -> Bool[np.ndarray, "run access"]:
    """Runs in which each access misses (True) or hits (False), from the empty cache; tokens.

    Args:
        requests: paths that are processed together; one path each where nothing is batched.
        capacity: in tokens.
        policy: "rlt" evicts a leaf without a mark (Algorithm 1 of Routing, repaired so that it
            always can); "random leaf" any leaf off the request in process.
        runs: how many; run i depends on `seed` and i alone.

    Raises:
        InputError: a request that does not fit, another policy, a number of runs out of
            1 ... 1,000,000.

    Examples:
        >>> from fluidkv.prefix import batch_misses
        >>> requests = [[(0, 1)], [(0, 2)], [(0, 1)]]  # tokens 1 and 2 below token 0
        >>> batch_misses(requests, capacity=2).astype(int).tolist()
        [[1, 1, 0, 1, 0, 1]]
    """
    chosen = check_requests(requests, capacity)
    count("runs", runs, least=1, most=MOST_RUNS)
    plan = plan_of(chosen, capacity, policy)
    with in_float64():
        keys = jax.vmap(partial(jax.random.fold_in, random_key(seed)))(np.arange(runs))
        missed = _run(plan.token, plan.parent, plan.kept, plan.children, keys, capacity)
        return np.asarray(missed).T


def plan_of(requests: tuple[Request, ...], capacity: int, policy: RandomPolicy = "rlt") -> Plan:
    """What `batch_misses` does with requests that fit."""
    accesses = accesses_of(requests, capacity, policy)
    tokens = sorted({access.token for access in accesses})
    number = {token: at for at, token in enumerate(tokens)}
    parent = np.array([number.get(token[:-1], len(tokens)) for token in tokens], np.int32)
    kept = np.zeros((len(accesses), len(tokens)), bool)
    for row, access in zip(kept, accesses, strict=True):
        row[[number[token] for token in access.marked]] = True
    return Plan(
        np.array([number[access.token] for access in accesses], np.int32),
        parent,
        _words(kept),
        _words(np.arange(len(tokens) + 1)[:, None] == parent[None, :]).T,
    )


def _words(sets: Bool[np.ndarray, "sets tokens"]) -> UInt32[np.ndarray, "sets words"]:
    """Bits of 32 tokens together."""
    padded = np.pad(sets, ((0, 0), (0, -sets.shape[1] % 32)))
    return np.packbits(padded, axis=1, bitorder="little").view("<u4")


def accesses_of(requests: tuple[Request, ...], capacity: int, policy: RandomPolicy) -> list[Access]:
    """One by one, with what may not go."""
    if policy not in ("rlt", "random leaf"):
        raise InputError("policy", policy, "rlt, random leaf")
    by_request = marking(requests, capacity) if policy == "rlt" else map(path_locked, requests)
    return [access for accesses in by_request for access in accesses]


def uniforms(seed: int, run: int, accesses: int) -> Float[np.ndarray, " access"]:
    """The numbers in [0, 1) that a run has, one for each access whether it needs it or not."""
    with in_float64():
        key = jax.random.fold_in(random_key(seed), run)
        draw = jax.vmap(lambda at: jax.random.uniform(jax.random.fold_in(key, at), dtype="float32"))
        return np.asarray(draw(np.arange(accesses)))


def place(uniform: np.float32, among: int) -> int:
    """The place that a number in [0, 1) means among so many; in single precision, as compiled."""
    return min(int(np.float32(uniform) * np.float32(among)), among - 1)


_Words = UInt32[Array, "words run"]
"""A set of tokens in each run, 32 to a word, the first token in the lowest bit."""


class _Cache(NamedTuple):
    """What is cached in each run, which of it has no child in the cache, and how much it is."""

    cached: _Words
    leaves: _Words
    size: Int[Array, " run"]


@partial(jax.jit, static_argnames=("capacity",))
def _run(
    token: Int[Array, " accesses"],
    parent: Int[Array, " tokens"],
    kept: UInt32[Array, "accesses words"],
    children: UInt32[Array, "words tokens_and_root"],
    keys: Array,
    capacity: int,
) -> Bool[Array, "accesses run"]:
    runs, words = keys.shape[0], kept.shape[1]
    numbers = jax.vmap(
        lambda key, at: jax.random.uniform(jax.random.fold_in(key, at), dtype=jnp.float32),
        in_axes=(0, None),
    )

    def bit(at: Int[Array, " run"], chosen: Bool[Array, " run"]) -> _Words:
        """The set of one token, or nothing in runs that are not chosen; nor where it is a root."""
        one = jnp.where(chosen, jnp.uint32(1) << (at % 32).astype(jnp.uint32), jnp.uint32(0))
        return jnp.where(
            jnp.arange(words, dtype=jnp.int32)[:, None] == at[None, :] // 32, one[None, :], 0
        )

    def load(
        cache: _Cache, at: Array, asked: Array, row: Array, missed: Bool[Array, " run"]
    ) -> _Cache:
        cached, leaves, size = cache
        gone = _drawn(leaves & ~row[:, None], numbers(keys, at))
        evicts = missed & (size == capacity)
        cached, leaves = (held & ~bit(gone, evicts) for held in (cached, leaves))
        above = parent[gone]
        alone = evicts & (above < parent.shape[0]) & ~(cached & children[:, above]).any(axis=0)
        leaves |= bit(above, alone)
        new, under = (jnp.full(runs, number) for number in (asked, parent[asked]))
        leaves &= ~bit(under, missed & (under < parent.shape[0]))
        size += missed.astype(jnp.int32) - evicts.astype(jnp.int32)
        return _Cache(cached | bit(new, missed), leaves | bit(new, missed), size)

    def step(cache: _Cache, access: tuple[Array, Array, Array]) -> tuple[_Cache, Array]:
        at, asked, row = access
        missed = (cache.cached[asked // 32] >> (asked % 32).astype(jnp.uint32)) & 1 == 0
        cache = jax.lax.cond(
            missed.any(), lambda held: load(held, at, asked, row, missed), lambda held: held, cache
        )
        return cache, missed

    none = jnp.zeros((words, runs), jnp.uint32)
    empty = _Cache(none, none, jnp.zeros(runs, jnp.int32))
    _, missed = jax.lax.scan(
        step, empty, (jnp.arange(token.shape[0], dtype=jnp.int32), token, kept)
    )
    return missed


def _drawn(free: _Words, uniform: Float[Array, " run"]) -> Int[Array, " run"]:
    """In each run the token of a set at the place that a number means; token 0 of an empty one."""
    counts = jax.lax.population_count(free).astype(jnp.int32)
    upto = jnp.cumsum(counts, axis=0, dtype=jnp.int32)
    among = upto[-1]
    left = jnp.minimum((uniform * among.astype(jnp.float32)).astype(jnp.int32), among - 1)
    word = jnp.argmax(upto > left[None, :], axis=0).astype(jnp.int32)
    within = jnp.take_along_axis(free, word[None, :], axis=0)[0]
    left -= jnp.take_along_axis(upto - counts, word[None, :], axis=0)[0]
    place_in = jnp.zeros_like(word)
    for width in (16, 8, 4, 2, 1):  # which half of what is left of the word
        low = jax.lax.population_count(within & jnp.uint32(2**width - 1)).astype(jnp.int32)
        higher = left >= low
        left -= jnp.where(higher, low, 0)
        within = jnp.where(higher, within >> jnp.uint32(width), within)
        place_in += jnp.where(higher, width, 0)
    return jnp.where(among > 0, 32 * word + place_in, 0)
