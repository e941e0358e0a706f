"""Runs of engines with a prefix cache, one after the other, as a dataset."""

from collections.abc import Iterable, Sequence

import numpy as np
import xarray as xr
from jaxtyping import Int
from numpy.typing import ArrayLike

from fluidkv.labels import with_columns
from fluidkv.runs.batch import Progress, Watch, filled_up
from fluidkv.runs.dataset import as_dataset, labelled
from fluidkv.runs.records import Outcome, in_windows
from fluidkv.runs.requests import Requests
from fluidkv.serving.literal import Steps, played

_FOUND = {
    "hit_tokens": "tokens found in the cache, at all admissions",
    "first_hit_tokens": "tokens found in the cache at the first admission",
}


def recorded(
    engines: Iterable[Steps],
    names: Sequence[str],
    tables: Sequence[Requests],
    *,
    horizon: int,
    every: int,
    keep_requests: bool,
    blocks: ArrayLike,
    block_size: ArrayLike,
    label: str,
    unit: str,
    on_progress: Progress | None,
) -> xr.Dataset:
    """Play each engine to its end, or to the horizon.

    Args:
        engines: one a run, looked at one by one.
        names: of their counts.
        horizon, every, keep_requests, on_progress: as `serve`.
        tables, blocks, block_size, label, unit: as `as_dataset`.
    """
    watch = Watch(on_progress)
    found: list[np.ndarray] = []

    def outcome(engine: Steps) -> Outcome:
        ended = played(engine, horizon, watch, names)
        found.append(np.array([[getattr(r, name) for name in _FOUND] for r in engine.all]).T)
        return ended if keep_requests else ended._replace(requests=None)

    size = max(map(len, tables))
    dataset = as_dataset(
        in_windows(map(outcome, engines), every, requests=size),
        names,
        tables,
        blocks=blocks,
        block_size=block_size,
        every=every,
        label=label,
        unit=unit,
    )
    if not keep_requests:
        return dataset
    return with_hits(dataset, np.stack([filled_up(each, 1, size, 0) for each in found]))


def with_hits(dataset: xr.Dataset, hits: Int[np.ndarray, "run 2 request"]) -> xr.Dataset:
    """Also what requests found: at all admissions, and at the first."""
    columns = {
        name: (hits[:, place], title, "token") for place, (name, title) in enumerate(_FOUND.items())
    }
    return with_columns(dataset, labelled(("run", "request"), columns))
