"""Drawn attention whose weights are dyadic, and policies that meet every rule of a run."""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from fluidkv.tokenpd import Pricing, policies
from fluidkv.tokenpd.attention.weights import Attention
from fluidkv.tokenpd.eviction.literal import Predict, Row
from fluidkv.tokenpd.eviction.policy import Choice, EvictionPolicy, Scope
from fluidkv.tokenpd.eviction.scorers import Accumulated, LastUsed, Persistence, Return, Votes
from fluidkv.tokenpd.objective import Objective
from fluidkv.tokenpd.pricing import Budget, Demand
from fluidkv.tokenpd.seen import Seen

STREAMS, KEYS, PARTS = 3, 9, 64
"""Weights are multiples of 1/64, so that sums of them, and of their squares, are exact."""


def drawn_attention(seed: int, streams: int = STREAMS, keys: int = KEYS) -> Attention:
    """Streams that start and end at different times; some weights are 0, some are equal."""
    random = np.random.default_rng(seed)
    weights = np.zeros((streams, keys, keys), np.float32)
    for stream in range(streams):
        liked = random.gamma(0.5, size=keys) + 1e-3
        for query in range(keys):
            share = random.gamma(2.0, size=query + 1) * liked[: query + 1]
            parts = random.multinomial(PARTS, share / share.sum())
            weights[stream, query, : query + 1] = parts / PARTS
    prompt = random.integers(1, keys // 2 + 2, streams)
    length = random.integers(prompt, keys + 1)
    start = random.integers(0, 5, streams)
    return Attention(weights, prompt, length, start, np.arange(streams))


class Foresight(eqx.Module):
    """The oracle: mean and variance of what is to come."""

    def begin(self, streams: int, keys: int) -> tuple[()]:
        return ()

    def observe(self, state: tuple[()], seen: Seen) -> tuple[()]:
        return state

    def predict(
        self, state: tuple[()], seen: Seen
    ) -> tuple[Float[Array, "stream key"], Float[Array, "stream key"]]:
        return seen.future, seen.spread


def foresee(rows: list[Row], key: int, to_come: list[float]) -> tuple[float, float]:
    """`Foresight`, written out."""
    if not to_come:
        return 0.0, 0.0
    mean = sum(to_come) / len(to_come)
    return mean, max(sum(one * one for one in to_come) / len(to_come) - mean * mean, 0.0)


class LastRow(eqx.Module):
    """The last weight that was seen; its variance is a field, an array."""

    variance: Array

    def begin(self, streams: int, keys: int) -> Float[Array, "stream key"]:
        return jnp.zeros((streams, keys))

    def observe(self, state: Float[Array, "stream key"], seen: Seen) -> Float[Array, "stream key"]:
        return seen.weights

    def predict(
        self, state: Float[Array, "stream key"], seen: Seen
    ) -> tuple[Float[Array, "stream key"], Float[Array, "stream key"]]:
        return state, jnp.broadcast_to(self.variance, state.shape)


def see_last_row(variance: float) -> Predict:
    """`LastRow`, written out."""

    def predict(rows: list[Row], key: int, to_come: list[float]) -> tuple[float, float]:
        return (rows[-1].weights.get(key, 0.0) if rows else 0.0), variance

    return predict


@dataclass(frozen=True)
class Case:
    """A policy, and what its predictor says, written out."""

    policy: EvictionPolicy
    predict: Predict | None = None


def _priced(**changes: Any) -> dict[str, Any]:
    """Fields of a policy with a price."""
    pricing = replace(Pricing(step=0.25, start=1 / 32), **changes)
    return {"scope": Scope.POOLED, "choice": Choice.PRICE, "pricing": pricing}


def _heap(**changes: Any) -> dict[str, Any]:
    """Fields of a heap for each stream."""
    return _priced(**changes) | {"scope": Scope.UNIFORM, "choice": Choice.HEAP}


def _last(name: str, variance: float, risk_aversion: float = 0.0, **fields: Any) -> Case:
    scorer = Return(LastRow(jnp.asarray(variance)), risk_aversion)
    return Case(EvictionPolicy(name, scorer, **fields), see_last_row(variance))


class OneOf(eqx.Module):
    """One of several scorers, by a number: all of them in one compilation."""

    scorers: tuple[Any, ...]
    index: Array

    def with_key(self, key: PRNGKeyArray) -> "OneOf":
        keyed = [one.with_key(key) if hasattr(one, "with_key") else one for one in self.scorers]
        return OneOf(tuple(keyed), self.index)

    def begin(self, streams: int, keys: int) -> tuple[Any, ...]:
        return tuple(one.begin(streams, keys) for one in self.scorers)

    def observe(self, state: tuple[Any, ...], seen: Seen) -> tuple[Any, ...]:
        return tuple(one.observe(its, seen) for one, its in zip(self.scorers, state, strict=True))

    def score(self, state: tuple[Any, ...], seen: Seen) -> Float[Array, "stream key"]:
        each = [one.score(its, seen) for one, its in zip(self.scorers, state, strict=True)]
        return jnp.stack(each)[self.index]


def compiled_together(group: list[Case]) -> list[EvictionPolicy]:
    """The policies of a group; where scorers differ, each as one of all of them."""
    if len({type(case.policy.score) for case in group}) == 1:
        return [case.policy for case in group]
    scorers = list(dict.fromkeys(case.policy.score for case in group))
    places = [jnp.asarray(at) for at in range(len(scorers))]
    return [
        replace(policy, score=OneOf(tuple(scorers), places[scorers.index(policy.score)]))
        for policy in (case.policy for case in group)
    ]


def groups() -> dict[str, list[Case]]:
    """Cases that are compiled together; all named policies, and others with every option."""
    known = policies(Foresight(), Pricing(step=0.25, start=1 / 32))
    # A third, a little more than that: a budget times either number is beyond 64 bits.
    third = Fraction(2 * 10**18, 6 * 10**18 - 1)
    wide = {"sinks": 1, "window": 1, "window_share": third}
    hard = {"budget": Budget.HARD, "demand": Demand.KEPT}
    penalised = {"penalty": 1 / 16, "risk_aversion": 0.5}
    named = [known[name] for name in known if known[name].choice is Choice.BEST]
    mixed = [
        *(Case(known[name]) for name in ("fifo", "streaming-llm", "h2o")),
        Case(EvictionPolicy("lru", LastUsed())),
        Case(EvictionPolicy("lru, wide", LastUsed(1.5), **wide)),
        Case(EvictionPolicy("votes of 2", Votes(2, 3))),
        Case(EvictionPolicy("votes of 1", Votes(1, 2))),
        Case(EvictionPolicy("persistence", Persistence(3), window=1)),
    ]
    return {
        "mixed": mixed,
        "mixed, pooled": [Case(replace(case.policy, scope=Scope.POOLED)) for case in mixed],
        "named": [Case(one, foresee) for one in named if one.scope is Scope.UNIFORM],
        "named, pooled": [Case(one, foresee) for one in named if one.scope is Scope.POOLED],
        "last": [_last("last", 0.125, window=1), _last("last", 0.125, scope=Scope.UNIFORM)],
        "last, averse": [_last("averse", 0.125, 0.25)],
        "priced": [Case(known[name], foresee) for name in ("token-pd", "token-pd-hard")],
        "heap": [Case(known["token-pd-heap"], foresee)],
        "full": [Case(known["full"])],
        "last, priced": [
            _last("priced", 0.125, **_priced()),
            _last("averse", 0.125, **_priced(risk_aversion=0.25)),
            _last("hard", 0.0, sinks=1, window=1, **_priced(budget=Budget.HARD)),
            _last("kept", 0.0, **_priced(**hard)),
            _last("free", 0.0, **_priced(start=0.0)),
            _last("beyond floats", 0.0, **_priced(step=1000.0)),
        ],
        "appendix": [
            _last("appendix", 0.125, **_priced(objective=Objective.APPENDIX, **penalised))
        ],
        "repaired": [
            _last("repaired", 0.125, **_priced(objective=Objective.REPAIRED, **penalised))
        ],
        "utility": [_last("utility", 0.125, **_priced(objective=Objective.UTILITY, **penalised))],
        "h2o, priced": [Case(EvictionPolicy("h2o", Accumulated(), **_priced(start=0.5)))],
        "heap of each": [
            _last("heap", 0.0, sinks=sinks, **_heap(demand=Demand.KEPT)) for sinks in (0, 1)
        ],
    }


ALWAYS = ("mixed", "mixed, pooled", "last, priced", "heap of each")
"""Groups that meet each rule at least once; the others are compiled in thorough tests only."""
