"""Thousands of runs of an eviction at random, of one sequence of requests, at once.

Which tokens are marked depends on the requests alone, so it is found once, literally; what differs
between runs is what is cached. Each access is looked at in all runs together, and where all of them
hit, as in a common prefix, that is all that there is to do.

Equal to the literal run (`fluidkv.prefix.paging.marking`) access by access, given the same numbers.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from fluidkv.errors import InputError
from fluidkv.prefix.paging.marking import Access, marking, path_locked
from fluidkv.prefix.paging.tokens import Request, check_requests
from fluidkv.runs.checks import count

RandomPolicy = Literal["rlt", "random leaf"]

MOST_RUNS = 1_000_000


@dataclass(frozen=True)
class Plan:
    """Accesses one by one, as arrays over tokens, which are numbered in their order.

    Args:
        token: the number of each that is accessed; shape (accesses,).
        parent: of each token its parent's number, or the number of tokens where it has none.
        kept: whether a token may not go at an access; shape (accesses, tokens).
    """

    token: Int[np.ndarray, " accesses"]
    parent: Int[np.ndarray, " tokens"]
    kept: Bool[np.ndarray, "accesses tokens"]


def batch_misses(
    requests: Iterable[Request],
    capacity: int,
    policy: RandomPolicy = "rlt",
    *,
    runs: int = 1,
    seed: int = 0,
) -> Int[np.ndarray, "run access"]:
    """Runs in which each access misses (1) or hits (0), from the empty cache; tokens.

    Args:
        requests: paths that are processed together; one path each where nothing is batched.
        capacity: in tokens.
        policy: "rlt" evicts a leaf without a mark (Algorithm 1 of Routing, repaired so that it
            always can); "random leaf" any leaf off the request in process.
        runs: how many; run i depends on `seed` and i alone.

    Raises:
        InputError: a request that does not fit, another policy, a number of runs out of
            1 ... 1,000,000.
    """
    chosen = check_requests(requests, capacity)
    count("runs", runs, least=1, most=MOST_RUNS)
    plan = plan_of(chosen, capacity, policy)
    keys = jax.vmap(partial(jax.random.fold_in, jax.random.key(seed)))(np.arange(runs))
    return np.asarray(_run(plan.token, plan.parent, plan.kept, keys, capacity)).T


def plan_of(requests: tuple[Request, ...], capacity: int, policy: RandomPolicy = "rlt") -> Plan:
    """What `batch_misses` does with requests that fit."""
    accesses = accesses_of(requests, capacity, policy)
    tokens = sorted({access.token for access in accesses})
    number = {token: at for at, token in enumerate(tokens)}
    kept = np.zeros((len(accesses), len(tokens)), bool)
    for row, access in zip(kept, accesses, strict=True):
        row[[number[token] for token in access.marked]] = True
    return Plan(
        np.array([number[access.token] for access in accesses], np.int32),
        np.array([number.get(token[:-1], len(tokens)) for token in tokens], np.int32),
        kept,
    )


def accesses_of(requests: tuple[Request, ...], capacity: int, policy: RandomPolicy) -> list[Access]:
    """One by one, with what may not go."""
    if policy not in ("rlt", "random leaf"):
        raise InputError("policy", policy, "rlt, random leaf")
    by_request = marking(requests, capacity) if policy == "rlt" else map(path_locked, requests)
    return [access for accesses in by_request for access in accesses]


def uniforms(seed: int, run: int, accesses: int) -> Float[np.ndarray, " access"]:
    """The numbers in [0, 1) that a run has, one for each access whether it needs it or not."""
    key = jax.random.fold_in(jax.random.key(seed), run)
    draw = jax.vmap(lambda at: jax.random.uniform(jax.random.fold_in(key, at), dtype=jnp.float32))
    return np.asarray(draw(np.arange(accesses)))


def place(uniform: np.float32, among: int) -> int:
    """The place that a number in [0, 1) means among so many; in single precision, as compiled."""
    return min(int(np.float32(uniform) * np.float32(among)), among - 1)


_Cache = tuple[Bool[Array, "run tokens"], Int[Array, "run tokens"]]
"""What is cached; how many children of each token are cached, and in a last column of the roots."""


@partial(jax.jit, static_argnames=("capacity",))
def _run(
    token: Int[Array, " accesses"],
    parent: Int[Array, " tokens"],
    kept: Bool[Array, "accesses tokens"],
    keys: Array,
    capacity: int,
) -> Bool[Array, "accesses run"]:
    runs, tokens = keys.shape[0], parent.shape[0]
    order = jnp.arange(tokens)

    def load(cache: _Cache, at: Array, asked: Array, row: Array, missed: Array) -> _Cache:
        cached, children = cache
        free = cached & (children[:, :tokens] == 0) & ~row[None, :]
        rank = jnp.cumsum(free, axis=1, dtype=jnp.int32)
        drawn = jax.vmap(
            lambda key: jax.random.uniform(jax.random.fold_in(key, at), dtype=jnp.float32)
        )(keys)
        most = rank[:, -1]
        chosen = jnp.minimum((drawn * most.astype(jnp.float32)).astype(jnp.int32), most - 1)
        gone = jnp.argmax(rank > chosen[:, None], axis=1).astype(jnp.int32)
        evicts = missed & (cached.sum(axis=1) == capacity)
        cached &= ~((order[None, :] == gone[:, None]) & evicts[:, None])
        cached |= (order == asked)[None, :] & missed[:, None]
        run = jnp.arange(runs)
        children = children.at[run, parent[gone]].add(-evicts.astype(jnp.int32))
        return cached, children.at[:, parent[asked]].add(missed.astype(jnp.int32))

    def step(cache: _Cache, access: tuple[Array, Array, Array]) -> tuple[_Cache, Array]:
        at, asked, row = access
        missed = ~cache[0][:, asked]
        cache = jax.lax.cond(
            missed.any(), lambda held: load(held, at, asked, row, missed), lambda held: held, cache
        )
        return cache, missed

    empty = (jnp.zeros((runs, tokens), bool), jnp.zeros((runs, tokens + 1), jnp.int32))
    _, missed = jax.lax.scan(step, empty, (jnp.arange(token.shape[0]), token, kept))
    return missed
