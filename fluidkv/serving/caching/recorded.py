"""Runs of engines with a prefix cache as a dataset; how those of literal engines are played."""

from collections.abc import Iterable, Sequence

import numpy as np
import xarray as xr
from jaxtyping import Int
from numpy.typing import ArrayLike

from fluidkv.labels import with_columns
from fluidkv.runs.batch import Progress, Watch, filled_up
from fluidkv.runs.dataset import as_dataset, labelled
from fluidkv.runs.records import Outcome, RunRecords, in_windows
from fluidkv.runs.requests import Requests
from fluidkv.serving.literal import Steps, played

_HITS = {
    "hit_tokens": "tokens found in the cache, at all admissions",
    "first_hit_tokens": "tokens found in the cache at the first admission",
}
Hits = Int[np.ndarray, "run kind request"]
"""Tokens that requests found in the cache: at all admissions, and at their first."""


def played_all(
    engines: Iterable[Steps],
    names: Sequence[str],
    horizon: int,
    *,
    every: int,
    keep_requests: bool,
    requests: int,
    on_progress: Progress | None,
) -> tuple[RunRecords, Hits | None]:
    """Play each engine to its end, or to the horizon.

    Args:
        engines: one a run, looked at one by one.
        names: of their counts.
        horizon, every, keep_requests, on_progress: as `serve`.
        requests: of the longest table.
    """
    watch = Watch(on_progress)
    hits: list[np.ndarray] = []

    def outcome(engine: Steps) -> Outcome:
        ended = played(engine, horizon, watch, names)
        of_run = np.array([[getattr(r, name) for r in engine.all] for name in _HITS])
        hits.append(filled_up(of_run, 1, requests, 0))
        return ended if keep_requests else ended._replace(requests=None)

    records = in_windows(map(outcome, engines), every, requests=requests)
    return records, np.stack(hits) if keep_requests else None


def recorded(
    records: RunRecords,
    hits: Hits | None,
    names: Sequence[str],
    tables: Sequence[Requests],
    *,
    every: int,
    blocks: ArrayLike,
    block_size: ArrayLike,
    label: str,
    unit: str,
) -> xr.Dataset:
    """The dataset of `serve`; arguments as of `as_dataset`."""
    dataset = as_dataset(
        records,
        names,
        tables,
        blocks=blocks,
        block_size=block_size,
        every=every,
        label=label,
        unit=unit,
    )
    if hits is None:
        return dataset
    columns = {
        name: (hits[:, kind], title, "token") for kind, (name, title) in enumerate(_HITS.items())
    }
    return with_columns(dataset, labelled(("run", "request"), columns))
