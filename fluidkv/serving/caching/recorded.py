"""Runs of engines with a prefix cache as a dataset."""

from collections.abc import Sequence

import numpy as np
import xarray as xr
from jaxtyping import Int
from numpy.typing import ArrayLike

from fluidkv.labels import with_columns
from fluidkv.runs.dataset import as_dataset, labelled
from fluidkv.runs.records import RunRecords
from fluidkv.runs.requests import Requests

_HITS = {
    "hit_tokens": "tokens found in the cache, at all admissions",
    "first_hit_tokens": "tokens found in the cache at the first admission",
}
Hits = Int[np.ndarray, "run kind request"]
"""Tokens that requests found in the cache: at all admissions, and at their first."""


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
