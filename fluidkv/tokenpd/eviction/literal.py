"""One run of a policy over attention weights, written out; the meaning of the compiled one.

Tokens are pairs (stream, key), memory is a set of them, and what a scorer knows of a stream is the
list of rows that it was shown. Each order is a short function of that list, apart from the compiled
scorers. Slow on purpose.

Sums are plain ones, in the order of rows and keys. The compiled run adds rows in the same order and
keys in any, so that both agree to the bit where weights are dyadic rationals of few bits.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import PRNGKeyArray

from fluidkv.errors import InputError
from fluidkv.runs.precision import in_float64, random_key
from fluidkv.tokenpd.attention.weights import Attention
from fluidkv.tokenpd.eviction.policy import Choice, EvictionPolicy, Scope
from fluidkv.tokenpd.eviction.run import EvictionRun
from fluidkv.tokenpd.eviction.scorers import (
    Accumulated,
    Drawn,
    LastUsed,
    Persistence,
    Return,
    Votes,
    Written,
    draws,
)
from fluidkv.tokenpd.knapsack.literal import price_of
from fluidkv.tokenpd.objective import worth_of
from fluidkv.tokenpd.pricing import Budget, Demand

Token = tuple[int, int]
"""A stream and a key of it."""


@dataclass(frozen=True)
class Row:
    """What a query gave to the keys that were there, summing to one."""

    round: int
    query: int
    weights: dict[int, float]


@dataclass
class Stream:
    """A running stream: the rows that scorers were shown, and those that wait for the delay."""

    prompt: int
    query: int
    seen: list[Row] = field(default_factory=list)
    late: list[Row] = field(default_factory=list)


Predict = Callable[[list[Row], int, list[float]], tuple[float, float]]
"""Mean and variance of a key's weight, from the rows seen and the true weights still to come."""


def evict_literally(
    attention: Attention,
    budget: int,
    policy: EvictionPolicy,
    *,
    delay: int = 0,
    comes_back: bool = False,
    key: PRNGKeyArray | None = None,
    predict: Predict | None = None,
) -> EvictionRun:
    """`evict`, one budget and policy, token by token, with masks.

    Args:
        predict: what the predictor of a `Return` says, written out.
    """
    run = _Run(attention, budget, policy, delay, comes_back, key, predict)
    for round_ in range(attention.rounds):
        run.round(round_)
    return run.found()


class _Run:
    def __init__(
        self,
        attention: Attention,
        budget: int,
        policy: EvictionPolicy,
        delay: int,
        comes_back: bool,
        key: PRNGKeyArray | None,
        predict: Predict | None,
    ) -> None:
        self.attention, self.budget, self.policy = attention, budget, policy
        self.delay, self.comes_back, self.predict = delay, comes_back, predict
        self.key = random_key(0) if key is None else key
        self.running: dict[int, Stream] = {}
        self.kept: set[Token] = set()
        self.recorded: dict[Token, float] = {}
        self.imbalance = 0
        self.notes: list[dict[str, Any]] = []

    def round(self, now: int) -> None:
        """Write, measure, observe, choose."""
        self.note: dict[str, Any] = {"mass": {}, "error": {}, "optimum": 0.0}
        self.drawn = self.draw(now)
        there = set(self.kept)
        new = self.write(now)
        there |= new
        self.measure(now, there)
        for stream in self.running.values():
            while stream.late and stream.late[0].round <= now - self.delay:
                stream.seen.append(stream.late.pop(0))
        self.note["used"] = len(there)
        for name in [n for n, s in self.running.items() if s.query == self.last(n)]:
            del self.running[name]
        may = {token for token in there if token[0] in self.running}
        if self.comes_back:
            may = {(name, at) for name, s in self.running.items() for at in range(s.query + 1)}
        self.kept = self.choose(now, may, new)
        self.note |= {"kept": set(self.kept), "recomputed": len(self.kept - there)}
        self.note["imbalance"] = self.imbalance
        self.notes.append(self.note)

    def last(self, name: int) -> int:
        return int(self.attention.length[name]) - 1

    def true(self, name: int, query: int, key: int) -> float:
        return float(self.attention.weights[name, query, key])

    # ---------------------------------------------------------------------------------------- write

    def write(self, now: int) -> set[Token]:
        """New tokens: whole prompts, whose rows are seen at once, or one of each stream."""
        new: set[Token] = set()
        for name, stream in self.running.items():
            stream.query += 1
            new.add((name, stream.query))
        for name in np.flatnonzero(self.attention.start == now).tolist():
            prompt = int(self.attention.prompt[name])
            self.running[name] = stream = Stream(prompt, prompt - 1)
            for query in range(prompt):
                weights = self.shared(name, query, list(range(query + 1)))
                stream.seen.append(Row(now, query, weights))
            new |= {(name, at) for at in range(prompt)}
        return new

    def shared(self, name: int, query: int, keys: list[int]) -> dict[int, float]:
        """A row over these keys alone."""
        mass = sum(self.true(name, query, at) for at in keys)
        return {at: self.true(name, query, at) / mass if mass else 0.0 for at in keys}

    # -------------------------------------------------------------------------------------- measure

    def measure(self, now: int, there: set[Token]) -> None:
        """What the rows of running streams lose, and the most that they could have."""
        others: list[float] = []
        for name, stream in sorted(self.running.items()):
            query = stream.query
            if query < stream.prompt:
                continue
            keys = sorted(at for whose, at in there if whose == name)
            shared = self.shared(name, query, keys)
            row = [self.true(name, query, at) for at in range(query + 1)]
            off = [(shared.get(at, 0.0) - row[at]) ** 2 for at in range(query + 1)]
            self.note["mass"][name] = sum(row[at] for at in keys)
            self.note["error"][name] = math.sqrt(sum(off) / sum(one**2 for one in row))
            stream.late.append(Row(now, query, shared))
            self.note["optimum"] += row[query]
            others += row[:query]
        self.note["optimum"] += sum(sorted(others, reverse=True)[: self.budget])

    # --------------------------------------------------------------------------------------- choose

    def choose(self, now: int, may: set[Token], new: set[Token]) -> set[Token]:
        """Who stays."""
        policy, pricing = self.policy, self.policy.pricing
        self.note |= {"price": math.nan, "wanted": len(may)}
        if policy.choice is Choice.ALL:
            return may
        worth = {token: self.worth(now, token) for token in may}
        if pricing is None:
            return self.best(may, worth)

        price = price_of(pricing, self.budget, self.imbalance)
        if policy.choice is Choice.HEAP:
            self.recorded |= {token: worth[token] - price for token in may & new}
            wanted, stay = may, self.best(may, self.recorded)
        else:
            wanted = {token for token in may if worth[token] >= price or self.tier(token) > 0}
            stay = wanted if pricing.budget is Budget.NETTED else self.best(wanted, worth)
        seen = stay if pricing.demand is Demand.KEPT else wanted
        self.imbalance += len(seen) - self.budget
        self.note |= {"price": price, "wanted": len(wanted)}
        return stay

    def best(self, tokens: set[Token], worth: dict[Token, float]) -> set[Token]:
        """The best that fit: tier, worth, then the newer."""

        def rank(token: Token) -> tuple[int, float, int, int]:
            return self.tier(token), worth[token], token[1], token[0]

        if self.policy.scope is Scope.POOLED:
            return set(sorted(tokens, key=rank, reverse=True)[: self.budget])
        stay: set[Token] = set()
        for place, name in enumerate(sorted(self.running)):
            share = self.budget // len(self.running)
            share += place < self.budget % len(self.running)
            own = [token for token in tokens if token[0] == name]
            stay |= set(sorted(own, key=rank, reverse=True)[:share])
        return stay

    def tier(self, token: Token) -> int:
        """2 for sinks, 1 for the window, 0 for the others."""
        name, at = token
        window = self.policy.window
        window += math.floor(self.policy.window_share * self.budget / len(self.running))
        if at < self.policy.sinks:
            return 2
        return int(at > self.running[name].query - window)

    def worth(self, now: int, token: Token) -> float:
        """What a token is ordered by."""
        (name, at), scorer, pricing = token, self.policy.score, self.policy.pricing
        stream, risk = self.running[name], 0.0
        if isinstance(scorer, Drawn):
            returns = float(self.drawn[token])
        elif isinstance(scorer, Return):
            if self.predict is None:
                raise InputError("predict", None, "what the predictor says, written out")
            queries = range(stream.query + 1, self.last(name) + 1)
            returns, risk = self.predict(
                stream.seen, at, [self.true(name, query, at) for query in queries]
            )
            if pricing is None:
                return returns - scorer.risk_aversion * risk
        else:
            returns = ORDERS[type(scorer)](scorer, stream, at, now)
        if pricing is None:
            return returns
        aversion, penalty = pricing.risk_aversion, pricing.penalty
        objective = pricing.objective
        return worth_of(objective, returns, risk, risk_aversion=aversion, penalty=penalty)

    def draw(self, now: int) -> np.ndarray:
        """The numbers of a round, if the policy asks for any."""
        if not isinstance(self.policy.score, Drawn):
            return np.array([])
        with in_float64():
            return np.asarray(draws(self.key, now, self.attention.weights.shape[::2]))

    # ---------------------------------------------------------------------------------------- found

    def found(self) -> EvictionRun:
        """All rounds."""
        streams, _, keys = self.attention.weights.shape
        masks = np.zeros((len(self.notes), streams, keys), bool)
        by_stream = {name: np.zeros((len(self.notes), streams)) for name in ("mass", "error")}
        for round_, note in enumerate(self.notes):
            for token in note["kept"]:
                masks[round_][token] = True
            for name, values in by_stream.items():
                for stream, value in note[name].items():
                    values[round_, stream] = value
        of = {
            name: np.array([note[name] for note in self.notes])
            for name in ("used", "wanted", "recomputed", "price", "imbalance", "optimum")
        }
        rows = np.array([len(note["mass"]) for note in self.notes])
        return EvictionRun(rows=rows, kept=masks.sum((1, 2)), masks=masks, **by_stream, **of)


# ------------------------------------------------------------------------------------------ orders


def _written(_: Written, stream: Stream, key: int, now: int) -> float:
    return min((row.round for row in stream.seen if key in row.weights), default=now)


def _last_used(scorer: LastUsed, stream: Stream, key: int, now: int) -> float:
    rows = [row for row in stream.seen if key in row.weights]
    used = [row.round for row in rows if row.weights[key] > scorer.multiple / len(row.weights)]
    return max([row.round for row in rows[:1]] + used, default=now)


def _accumulated(_: Accumulated, stream: Stream, key: int, now: int) -> float:
    return sum(row.weights.get(key, 0.0) for row in stream.seen)


def _votes(scorer: Votes, stream: Stream, key: int, now: int) -> float:
    first = stream.prompt - scorer.window
    if key >= first:
        return math.inf if key == stream.query else 1e9 - (stream.query - key)
    voters = [row for row in stream.seen if first <= row.query < stream.prompt]
    half = scorer.kernel // 2
    neighbours = range(key - half, key - half + scorer.kernel)
    return sum(
        sum(row.weights.get(at, 0.0) for row in voters) for at in neighbours if 0 <= at < first
    )


def _persistence(scorer: Persistence, stream: Stream, key: int, now: int) -> float:
    rows = [row for row in stream.seen[-scorer.history :] if key in row.weights]
    return -sum(row.weights[key] < 1 / len(row.weights) for row in rows)


ORDERS: dict[type, Callable[[Any, Stream, int, int], float]] = {
    Written: _written,
    LastUsed: _last_used,
    Accumulated: _accumulated,
    Votes: _votes,
    Persistence: _persistence,
}
"""Scorer -> its order, from the rows that it was shown."""
