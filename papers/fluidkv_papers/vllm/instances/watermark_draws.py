"""How far chance alone goes: the benchmark under 39 draws of the order of arrival, on record.

The requests are known, and what happens then follows from the order in which the 128 that are sent
at once reach the scheduler. It is not published, and each row is a run of its own: a change between
two rows has the chance of both. So a draw has another order in each of its rows (`arrived`); two
numbers of one run each are held to be apart if they are farther apart than 95 of 100 pairs of draws
are, *at that watermark and for that number*. It follows that a model that is right in everything
fails one such comparison in twenty.

And of 39 draws, a fortieth lies outside the range in one of twenty cases.

The draws take half a minute to compute, so they stand in `watermark_draws.csv`; the tests compute
them again. All use the clock that is fitted to the first row, in the order of the client.
"""

from collections.abc import Callable, Sequence
from dataclasses import astuple, fields
from functools import cache

import numpy as np
from jaxtyping import Float

from fluidkv.serving.run import serve
from fluidkv.serving.server import Server
from fluidkv_papers.records import Table
from fluidkv_papers.vllm.instances import watermark_runs as bench
from fluidkv_papers.vllm.instances.watermark_runs import rows

DRAWS = 39
"""The first has the client's order in all rows."""

_TABLE = Table(__file__)

Statistic = Callable[[Sequence[bench.Row]], Sequence[float]]
"""Numbers of one table, such as the preemptions of a row, or changes against the first row."""


@cache
def recorded() -> tuple[tuple[bench.Row, ...], ...]:
    """One table for each draw; its rows in the order of `PUBLISHED`."""
    found, width = _TABLE.rows(bench.Row), len(bench.WATERMARKS)
    return tuple(tuple(found[k : k + width]) for k in range(0, len(found), width))


def computed(draw: int, *, within: int | None = None) -> tuple[bench.Row, ...]:
    """The table of one draw; `within` as of `arrived`."""
    width = len(bench.WATERMARKS)
    orders = range((draw - 1) * width + 1, draw * width + 1) if draw else [0] * width
    requests = [bench.arrived(order, within=within) for order in orders]
    runs = serve(
        requests, Server("vllm", [bench.limits(w) for w in bench.WATERMARKS]), clients=bench.CLIENTS
    )
    return rows(runs, bench.fitted_clock())


def record() -> None:
    """Compute all draws and write them."""
    rows = ([draw, *astuple(row)] for draw in range(DRAWS) for row in computed(draw))
    _TABLE.write(["draw", *(f.name for f in fields(bench.Row))], rows)


def of_draws(statistic: Statistic) -> Float[np.ndarray, "draw number"]:
    """The numbers of each recorded draw."""
    return np.array([statistic(table) for table in recorded()], dtype=float)


def chance(statistic: Statistic) -> Float[np.ndarray, " number"]:
    """What 95 of 100 pairs of draws differ by at most."""
    values = of_draws(statistic)
    one, other = np.triu_indices(len(values), 1)
    return np.quantile(abs(values[one] - values[other]), 0.95, axis=0)


def preemptions(index: int) -> Statistic:
    return lambda rows: [rows[index].preemptions]


def all_preemptions(rows: Sequence[bench.Row]) -> list[float]:
    return [row.preemptions for row in rows]


def gone(rows: Sequence[bench.Row]) -> list[float]:
    """Share of the preemptions that the second row is without."""
    return [1 - rows[1].preemptions / rows[0].preemptions]


def gains(rows: Sequence[bench.Row]) -> list[float]:
    """Tokens/s of the other rows, over those of the first."""
    return [row.output_per_s / rows[0].output_per_s - 1 for row in rows[1:]]


def best_gain(rows: Sequence[bench.Row]) -> list[float]:
    return [max(gains(rows))]


def changes(name: str, *, scale: float = 1.0) -> Statistic:
    """A time of the other rows less that of the first, for the rows that were published."""

    def statistic(rows: Sequence[bench.Row]) -> list[float]:
        shown = [row for row, known in zip(rows, bench.PUBLISHED, strict=True) if _has(known, name)]
        first, *others = (getattr(row, name) for row in shown)
        return [scale * (value - first) for value in others]

    return statistic


def _has(row: bench.Row, name: str) -> bool:
    return getattr(row, name) is not None
