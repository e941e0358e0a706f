"""The most mass that can be kept where nothing comes back: attention as an online knapsack.

A key that is kept after a round has its weight in the next row of its stream; a query's own key is
there whoever keeps what, and counts for all alike.
"""

import numpy as np

from fluidkv.tokenpd.attention.weights import Attention
from fluidkv.tokenpd.knapsack.pool import Pool
from fluidkv.tokenpd.regret.schedules import clairvoyant

MOST_CELLS = 100_000
"""Tokens times rounds up to which the schedule that brings nothing back takes some 5 seconds."""


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


def held_optimum(attention: Attention, tokens: int) -> float | str:
    """Mass that the best schedule keeps in which nothing comes back; or why it is not computed.

    It knows all rows, and is the exact solution of a flow (`fluidkv.tokenpd.clairvoyant`).
    """
    pool = pool_of(attention)
    cells = int(pool.present.sum())
    if cells > MOST_CELLS:
        return f"{cells:,} tokens times rounds; it is computed up to {MOST_CELLS:,}"
    rows = attention.prompt[:, None] + np.arange(attention.rounds) - attention.start[:, None] - 1
    own = 0.0
    for stream, row in enumerate(rows):
        at = row[(row >= attention.prompt[stream]) & (row < attention.length[stream])]
        own += float(attention.weights[stream, at, at].sum(dtype=np.float64))
    return own + float(clairvoyant(pool, tokens).reward)
