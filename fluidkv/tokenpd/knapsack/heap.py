"""Section 5's heap, written out: when memory is full, the smallest recorded excess value goes.

A round: requests that have ended free theirs; the new tokens are written, and their excess values
recorded, at the price of the round; the smallest go until the rest fits, for good. The price
follows (5), but does not limit anything: it only shifts what is recorded.

Source: Token-PD, section 5, "Hook points".
"""

import heapq
from functools import partial

from fluidkv.tokenpd.knapsack.literal import Rounds
from fluidkv.tokenpd.knapsack.pool import Pool
from fluidkv.tokenpd.knapsack.price import price_of
from fluidkv.tokenpd.knapsack.run import PriceRun, tokens_that_fit
from fluidkv.tokenpd.pricing import Demand, Pricing


def literal_heap(pool: Pool, budget: int, pricing: Pricing, *, fresh: bool = False) -> PriceRun:
    """The heap over a pool, token by token; see `heap_rounds`.

    Args:
        budget: M, units of memory; always hard.
        fresh: excess values are computed again in each round.

    Raises:
        InputError: a budget below one token.

    Examples:
        >>> from fluidkv.tokenpd import Pricing
        >>> from fluidkv.tokenpd.knapsack.pool import Pool
        >>> from fluidkv.tokenpd.knapsack.heap import literal_heap
        >>> returns, risk = [[0.75, 0.5], [0.25, 0.5]], np.zeros((2, 2))
        >>> pool = Pool(returns, request=[0, 0], arrival=[0, 0], end=[2, 2], risk=risk)
        >>> run = literal_heap(pool, budget=1, pricing=Pricing(step=0.5))
        >>> run.kept.tolist()  # the second token was worth less when written, and is gone
        [[True, False], [True, False]]
    """
    fits = tokens_that_fit(budget, pool.cost, len(pool.returns))
    price_at = partial(price_of, pricing, budget)
    rounds = Rounds(pool, budget, pricing, price_at)
    imbalance, excess = 0, dict[int, float]()
    for now in range(len(pool.returns)):
        worth = rounds.worth(pool.seen, now, rounds.present(now))
        price = price_at(imbalance)
        excess = {token: g for token, g in excess.items() if token in worth}
        for token, value in worth.items():
            if max(pool.arrival[token], 0) == now or (fresh and token in excess):
                excess[token] = value - price * pool.cost

        # Of equal values the older goes first.
        heap = [(g, int(pool.arrival[token]), token) for token, g in excess.items()]
        heapq.heapify(heap)
        asked = list(excess)
        while len(heap) > fits:
            del excess[heapq.heappop(heap)[-1]]

        seen = excess if pricing.demand is Demand.KEPT else asked
        imbalance += pool.cost * len(seen) - budget
        rounds.note(now, imbalance, asked, list(excess), 0)
    return rounds.run()
