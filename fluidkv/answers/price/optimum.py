"""What no policy can keep more of: the best set of each round, and the best that brings nothing back.

A key that is kept after a round has its weight in the next row of its stream; a query's own key is
there whoever keeps what, and counts for all alike.
"""

import numpy as np
from jaxtyping import Float

from fluidkv.tokenpd.attention.weights import Attention
from fluidkv.tokenpd.knapsack.pool import Pool


def round_optima(attention: Attention, tokens: int) -> Float[np.ndarray, " round"]:
    """Mass that the best set of so many tokens keeps in each round, the queries' own included.

    The set may bring back what was evicted, and knows the rows of the round; those of prompts, which
    are computed before anything is evicted, do not count.
    """
    found = np.zeros(attention.rounds)
    for now in range(attention.rounds):
        row = attention.prompt + now - attention.start - 1
        runs = np.flatnonzero((row >= attention.prompt) & (row < attention.length))
        older = np.concatenate(
            [attention.weights[stream, row[stream], : row[stream]] for stream in runs] or [[]]
        ).astype(np.float64)
        own = sum(float(attention.weights[stream, row[stream], row[stream]]) for stream in runs)
        if tokens < older.size:
            older = np.partition(older, older.size - tokens)[older.size - tokens :]
        found[now] = own + older.sum()
    return found


def pool_of(attention: Attention) -> Pool:
    """Keys as tokens of a pool: what keeping each brings in each round, the queries' own left out.

    A key may be kept from the round after it was written until its stream's last row.
    """
    streams, _, keys = attention.weights.shape
    rounds = np.arange(attention.rounds)
    rows = attention.prompt[:, None] + rounds - attention.start[:, None] - 1  # (stream, round)
    lives = (rows >= attention.prompt[:, None]) & (rows < attention.length[:, None])
    safe = np.where(lives, rows, 0)
    given = attention.weights[np.arange(streams)[:, None], safe].astype(np.float64)
    given = np.where(lives[:, :, None], given, 0)  # (stream, round, key)
    key = np.arange(keys)
    written = attention.start[:, None] + np.maximum(key - attention.prompt[:, None] + 1, 0)
    end = (attention.start + attention.length - attention.prompt + 1)[:, None]
    useful = (written + 1 < end) & (key < attention.length[:, None])
    stream, position = np.nonzero(useful)
    returns = given[stream, :, position].T
    own = position[None] >= rows[stream].T  # the query's own key, and keys not yet written
    return Pool(
        returns=np.clip(np.where(own, 0, returns), 0, 1),
        request=attention.request[stream],
        arrival=written[stream, position] + 1,
        end=np.broadcast_to(end, useful.shape)[stream, position],
        risk=np.zeros_like(returns),
    )
