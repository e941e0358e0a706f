"""Datasets over the starts of one system, or of many: leading dimensions, ids, shares.

A single system gives dimensions `batch, ...`; many give `system, batch, ...` and the coordinates of
`Systems`. Where starts end in what has a name of its own, such as attractors, each of these gets an
*id*: 0, 1, 2 ... of a system, in the order in which its starts lead there. So an id stays what it
is where starts are added behind the others.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from jaxtyping import Float, Int, Shaped
from scipy.special import betaincinv

from fluidkv.labels import Column, dataset
from fluidkv.systems import Systems
from fluidkv.workload import System

NONE = -1
"""Stands for "no id"."""

CONFIDENCE = 0.95
"""Of the interval of a share."""


class Discovered(NamedTuple):
    """What the starts of each system lead to.

    Fields:
        ids: of each start; NONE where it leads to nothing known.
        first: of each id, the number of the first start that leads there; NONE where a system has
            fewer ids than another.
        starts: of each id, how many starts lead there.
    """

    ids: Int[np.ndarray, "system batch"]
    first: Int[np.ndarray, "system attractor_id"]
    starts: Int[np.ndarray, "system attractor_id"]


def one_or_many(systems: System | Systems | Sequence[System]) -> System | Systems:
    """What an argument `systems` may be, as one of two.

    Raises:
        InputError: something else.
    """
    return systems if isinstance(systems, System | Systems) else Systems.of(systems)


def dataset_over(
    of: System | Systems,
    starts: Mapping[str, Column],
    systems: Mapping[str, Column] | None = None,
    **attrs: Any,
) -> xr.Dataset:
    """A dataset by the convention.

    Args:
        of: whose results they are.
        starts: variables over (system, batch, ...), with the dimensions that follow these two.
        systems: variables over (system, ...), with the dimensions that follow.
        attrs: others than those of the convention.

    Raises:
        InputError: systems with a coordinate that is named as a variable.
    """
    many = isinstance(of, Systems)

    def placed(lead: tuple[str, ...], column: Column) -> Column:
        dims, values, units, title = column
        tail = (dims,) if isinstance(dims, str) else tuple(dims)
        values = np.asarray(values)
        return (*lead[not many :], *tail), values if many else values[0], units, title

    variables = {name: placed(("system", "batch"), column) for name, column in starts.items()}
    variables |= {name: placed(("system",), column) for name, column in (systems or {}).items()}
    if not isinstance(of, Systems):
        return dataset(variables, system=of, **attrs)
    return dataset(variables, of.described(variables), **attrs)


def discovered(codes: Int[np.ndarray, "system batch"]) -> Discovered:
    """Ids of what has a code of its own, from 0 on; NONE is nothing."""
    ids = np.full(codes.shape, NONE, np.int32)
    known = np.flatnonzero(codes.ravel() != NONE)
    systems = known // codes.shape[1]
    keys = systems * (int(codes.max(initial=0)) + 1) + codes.ravel()[known]
    _, first, inverse, counts = np.unique(
        keys, return_index=True, return_inverse=True, return_counts=True
    )
    order = np.argsort(first)  # by system, and there by the start that came first
    owner = systems[first[order]]
    place = np.arange(order.size) - np.searchsorted(owner, owner)
    rank = np.empty_like(place)
    rank[order] = place
    ids.ravel()[known] = rank[inverse]
    most = int(place.max(initial=-1)) + 1
    firsts = np.full((len(codes), most), NONE, np.int32)
    firsts[owner, place] = known[first[order]] % codes.shape[1]
    starts = np.zeros((len(codes), most), np.int32)
    starts[owner, place] = counts[order]
    return Discovered(ids, firsts, starts)


def by_attractor(
    attractors: Discovered, values: Shaped[np.ndarray, "system batch"], none: Any
) -> Shaped[np.ndarray, "system attractor_id"]:
    """What the first start that leads to each attractor has; `none` where a system has fewer."""
    rows = np.arange(len(values))[:, None], np.maximum(attractors.first, 0)
    return np.where(attractors.first != NONE, values[rows], none)


def attractor_table(
    attractors: Discovered,
    names: Shaped[np.ndarray, "system batch"],
    throughput: Float[np.ndarray, "system batch"],
    own: Mapping[str, Column],
) -> dict[str, Column]:
    """A row for each attractor, as variables of systems; empty text, 0 and NaN where a system has
    fewer than another.

    Args:
        names, throughput: of each start.
        own: what attractors of this kind have besides.
    """
    starts, first, batch = attractors.starts, attractors.first, attractors.ids.shape[1]
    low, high = interval_of_share(starts, batch)
    share, low, high = (np.where(first != NONE, x, np.nan) for x in (starts / batch, low, high))
    name, rate = by_attractor(attractors, names, ""), by_attractor(attractors, throughput, np.nan)
    interval = f"{CONFIDENCE:.0%} confidence interval of basin_share"
    columns = {
        "starts": (starts, "starts that lead there"),
        "first_start": (first, f"first start that leads there; {NONE}: no such attractor"),
        "basin_share": (share, "share of the starts given"),
        "basin_low": (low, f"lower end of the {interval}"),
        "basin_high": (high, f"upper end of the {interval}"),
    }
    return {
        "name": ("attractor_id", name, "1", "the attractor"),
        **own,
        "rate": ("attractor_id", rate, "request/iteration", "requests completed an iteration"),
        **{key: ("attractor_id", values, "1", title) for key, (values, title) in columns.items()},
    }


def interval_of_share(
    count: Int[np.ndarray, "*shape"], total: int
) -> tuple[Float[np.ndarray, "*shape"], Float[np.ndarray, "*shape"]]:
    """Clopper and Pearson's interval of a probability, of independent draws: never too narrow."""
    tail = (1 - CONFIDENCE) / 2
    low = betaincinv(np.maximum(count, 1), total - count + 1, tail)
    high = betaincinv(count + 1, np.maximum(total - count, 1), 1 - tail)
    return np.where(count > 0, low, 0.0), np.where(count < total, high, 1.0)
