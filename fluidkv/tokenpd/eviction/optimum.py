"""The most that rows can give to a budget's tokens, whoever chooses them."""

import numpy as np
from jaxtyping import Float, Int

from fluidkv.tokenpd.attention.weights import Attention


def attainable_mass(
    attention: Attention, budgets: Int[np.ndarray, " run"]
) -> tuple[Int[np.ndarray, " round"], Float[np.ndarray, "run round"]]:
    """How many rows each round measures, and the most that they can give to what can be there.

    That is their own tokens and the best M, of all streams together, of those written before: as if
    what was evicted came back for nothing.
    """
    rows = np.zeros(attention.rounds, np.int64)
    most = np.zeros((len(budgets), attention.rounds))
    for round_ in range(attention.rounds):
        age = round_ - attention.start
        runs = np.flatnonzero((age > 0) & (age <= attention.length - attention.prompt))
        query = attention.prompt[runs] + age[runs] - 1
        rows[round_] = len(runs)
        share = attention.weights[runs, query].astype(np.float64)
        share /= share.sum(1, keepdims=True)
        own = share[np.arange(len(runs)), query]
        share[np.arange(len(runs)), query] = 0.0  # later keys have none either
        ranked = np.sort(share, axis=None)[::-1]
        up_to = np.concatenate([[0.0], np.cumsum(ranked)])
        most[:, round_] = own.sum() + up_to[np.minimum(budgets, len(ranked))]
    return rows, most
