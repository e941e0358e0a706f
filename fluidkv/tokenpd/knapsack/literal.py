"""A run of rules (4) and (5), written out to be compared with the paper by eye; the slow reference.

A round: requests that have ended free theirs; rule (4) wants what is worth its price; under a hard
budget the best of that stay, as many as fit; (5) sets the next price.

Source: Token-PD, (4), (5); Appendix A, (2).
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np

from fluidkv.tokenpd.knapsack.pool import Pool
from fluidkv.tokenpd.knapsack.price import price_of
from fluidkv.tokenpd.knapsack.run import PriceRun, tokens_that_fit
from fluidkv.tokenpd.objective import worth_of
from fluidkv.tokenpd.pricing import Budget, Demand, Pricing

Price = Callable[[int], Any]
"""The price at an imbalance S."""


def literal_rounds(
    pool: Pool, budget: int, pricing: Pricing, *, gone: bool = False, price_at: Price | None = None
) -> PriceRun:
    """The price rule over a pool, token by token; see `price_rounds`.

    Args:
        budget: M, units of memory.
        gone: what was evicted cannot come back.
        price_at: mu at an imbalance, in place of mu_1 exp(eta S / M): Fractions where e^eta is
            rational. A pool may hold Fractions too (arrays of objects).

    Raises:
        InputError: a budget below one token.

    Examples:
        >>> from fluidkv.tokenpd import Pricing
        >>> from fluidkv.tokenpd.knapsack.pool import Pool
        >>> from fluidkv.tokenpd.knapsack.literal import literal_rounds
        >>> returns, risk = np.ones((3, 2)), np.zeros((3, 2))
        >>> pool = Pool(returns, request=[0, 0], arrival=[0, 0], end=[3, 3], risk=risk)
        >>> run = literal_rounds(pool, budget=1, pricing=Pricing(step=0.5))
        >>> run.kept.tolist()  # two are one too many; at a price above 1 none stays
        [[True, True], [False, False], [True, True]]
    """
    fits = tokens_that_fit(budget, pool.cost, len(pool.returns))
    price_at = price_at or partial(price_of, pricing, budget)
    imbalance, before, evicted = 0, set[int](), set[int]()
    rounds = Rounds(pool, budget, pricing, price_at)
    for now in range(len(pool.returns)):
        present = rounds.present(now)
        worth = rounds.worth(pool.seen, now, present)
        price = price_at(imbalance)
        allowed = [token for token in present if not (gone and token in evicted)]

        wanted = [token for token in allowed if worth[token] >= price * pool.cost]  # (4)
        kept = wanted
        if pricing.budget is Budget.HARD:
            kept = best(wanted, worth, pool, fits)

        seen = kept if pricing.demand is Demand.KEPT else wanted
        imbalance += pool.cost * len(seen) - budget  # (5)
        back = [token for token in kept if token in evicted and token not in before]
        rounds.note(now, imbalance, wanted, kept, len(back))
        evicted |= set(present) - set(kept)
        before = set(kept)
    return rounds.run()


def best(tokens: Iterable[int], worth: dict[int, Any], pool: Pool, fits: int) -> list[int]:
    """Of the tokens those worth most, as many as fit; among equals the newer."""

    def rank(token: int) -> tuple[Any, int, int]:
        return worth[token], int(pool.arrival[token]), token

    return sorted(tokens, key=rank, reverse=True)[:fits]


class Rounds:
    """A pool, round by round, and the notes of a run over it."""

    def __init__(self, pool: Pool, budget: int, pricing: Pricing, price_at: Price) -> None:
        self._pool, self._pricing = pool, pricing
        self._fits = tokens_that_fit(budget, pool.cost)
        self._price_at = price_at
        shape = pool.returns.shape
        self._wanted, self._kept = np.zeros(shape, bool), np.zeros(shape, bool)
        self._used, self._imbalance, self._back = [], [0], []
        self._reward, self._optimum = [], []

    def present(self, now: int) -> list[int]:
        """Tokens of requests that have come and not ended."""
        pool = self._pool
        return [
            token
            for token in range(len(pool.arrival))
            if pool.arrival[token] <= now < pool.end[token]
        ]

    def worth(self, returns: np.ndarray, now: int, tokens: Iterable[int]) -> dict[int, Any]:
        """What keeping each of them adds in the round, by these returns."""
        pricing = self._pricing
        return {
            token: worth_of(
                pricing.objective,
                returns[now, token],
                self._pool.risk[now, token],
                risk_aversion=pricing.risk_aversion,
                penalty=pricing.penalty,
            )
            for token in tokens
        }

    def note(
        self, now: int, imbalance: int, wanted: list[int], kept: list[int], brought_back: int
    ) -> None:
        """What the round came to; `imbalance` is the one after it."""
        pool, present = self._pool, self.present(now)
        realised = self.worth(pool.returns, now, present)
        most = sorted(realised.values(), reverse=True)[: self._fits]
        self._wanted[now, wanted] = True
        self._kept[now, kept] = True
        self._used.append(pool.cost * len(kept))
        self._imbalance.append(imbalance)
        self._reward.append(sum(realised[token] for token in kept))
        self._optimum.append(sum(worth for worth in most if worth > 0))
        self._back.append(brought_back)

    def run(self) -> PriceRun:
        """All of it."""
        return PriceRun(
            price=_numbers([self._price_at(at) for at in self._imbalance]),
            wanted=self._wanted,
            kept=self._kept,
            used=np.array(self._used, np.int64),
            imbalance=np.array(self._imbalance, np.int64),
            reward=_numbers(self._reward),
            optimum=_numbers(self._optimum),
            brought_back=np.array(self._back, np.int64),
        )


def _numbers(values: list[Any]) -> np.ndarray:
    """Floats, or objects where there is a Fraction."""
    plain = all(isinstance(value, int | float | np.number) for value in values)
    return np.array(values, np.float64 if plain else object)
