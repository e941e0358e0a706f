"""The most mass that can be kept where nothing comes back: attention as an online knapsack.

A key that is kept after a round has its weight in the next row of its stream; a query's own key is
there whoever keeps what, and counts for all alike.
"""

import numpy as np

from fluidkv.tokenpd.attention.weights import Attention
from fluidkv.tokenpd.knapsack.pool import Pool

MOST_CELLS = 100_000
"""Tokens times rounds up to which the schedule that brings nothing back takes a second or two."""


def pool_of(attention: Attention) -> Pool:
    """Keys as tokens of a pool: what keeping each brings in each round, the queries' own left out.

    A key may be kept from the round after it was written until its stream's last row.
    """
    streams = len(attention.weights)
    rounds = np.arange(attention.rounds)
    rows = attention.prompt[:, None] + rounds - attention.start[:, None] - 1  # (stream, round)
    lives = (rows >= attention.prompt[:, None]) & (rows < attention.length[:, None])
    safe = np.where(lives, rows, 0)
    given = attention.weights[np.arange(streams)[:, None], safe].astype(np.float64)
    given = np.where(lives[:, :, None], given, 0)  # (stream, round, key)
    written, end, useful = _lives(attention)
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


def _lives(attention: Attention) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of streams and keys: the round a key is written in, the first after its end, if it counts."""
    key = np.arange(attention.weights.shape[2])
    written = attention.start[:, None] + np.maximum(key - attention.prompt[:, None] + 1, 0)
    end = (attention.start + attention.length - attention.prompt + 1)[:, None]
    return written, end, (written + 1 < end) & (key < attention.length[:, None])


def held_optimum(attention: Attention, tokens: int) -> float | str:
    """Mass that the best schedule keeps in which nothing comes back; or why it is not computed.

    It knows all rows. In floats, by a linear programme; `fluidkv_papers.theory.price_rule` has an
    exact one.
    """
    written, end, useful = _lives(attention)
    cells = int((end - written - 1)[useful].sum())  # before a pool of many takes memory
    if cells > MOST_CELLS:
        return f"{cells:,} tokens times rounds; it is computed up to {MOST_CELLS:,}"
    pool = pool_of(attention)
    rows = attention.prompt[:, None] + np.arange(attention.rounds) - attention.start[:, None] - 1
    own = 0.0
    for stream, row in enumerate(rows):
        at = row[(row >= attention.prompt[stream]) & (row < attention.length[stream])]
        own += float(attention.weights[stream, at, at].sum(dtype=np.float64))
    return own + _best_held(pool, tokens)


def _best_held(pool: Pool, tokens: int) -> float:
    """The most that tokens bring of which so many are held in a round, and which never come back.

    Whether a token is held in a round is a number in [0, 1] that never rises from its arrival on.
    The constraints are those of a flow, so that the best numbers are whole.
    """
    from scipy.optimize import linprog
    from scipy.sparse import coo_array, vstack

    token, now = np.nonzero(pool.present.T)  # by token, then by round
    cells = np.arange(token.size)
    later = cells[1:][token[1:] == token[:-1]]  # each is the round after the one before it
    steps, ones = np.arange(later.size), np.ones(later.size)
    places = (np.concatenate([steps, steps]), np.concatenate([later, later - 1]))
    falls = coo_array((np.concatenate([ones, -ones]), places), shape=(later.size, cells.size))
    fits = coo_array((np.ones(cells.size), (now, cells)), shape=(len(pool.returns), cells.size))
    most = np.concatenate([np.zeros(later.size), np.full(len(pool.returns), float(tokens))])
    found = linprog(
        -pool.returns[now, token],
        vstack([falls, fits]).tocsr(),
        most,
        bounds=(0, 1),
        method="highs",
    )
    return -float(found.fun)
