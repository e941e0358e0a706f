"""What tells runs apart, as coordinates along `run`: limits, clocks, clients, and what a user says.

Every run's capacity is there; of the other caps and coefficients those in which runs differ.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fluidkv.labels import Column, Said, said_columns
from fluidkv.runs.dataset import NAMES
from fluidkv.runs.values import one_each
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.limits import Limits

_OF_LIMITS = {
    "capacity": ("token", "KV tokens of the memory"),
    "max_num_seqs": ("request", "most requests running at once; NaN: no cap"),
    "max_num_batched_tokens": ("token", "most tokens that an iteration computes; NaN: no cap"),
    "watermark": ("1", "share of the blocks that admission leaves free"),
    "admission_rate": ("request / iteration", "most admissions; NaN: no cap"),
    "more_outputs": ("token", "outputs that memory is given for at a time"),
}
_OF_SWAP = {
    "per_token": ("time / token", "time to copy a token one way"),
    "per_copy": ("time", "time that a copy takes besides"),
    "pool": ("token", "tokens that the host can hold; NaN: no limit"),
    "sweet_spot": ("token", "who holds more is swapped"),
}
_OF_CLOCK = {
    "base": ("time", "d0, of each iteration"),
    "per_kv_token": ("time / token", "d1, of each token in the cache"),
    "per_prefill_token": ("time / token", "d2, of each token of prefill"),
    "per_prefill_pair": ("time / token", "d3, of each pair of tokens of prefill"),
    "per_request": ("time / request", "d4, of each request that decodes"),
    "experts": ("time", "d5, of reading all experts"),
    "expert_share": ("1", "share of the experts that a token goes through"),
}


def run_coordinates(coords: Said | None, **given: Any) -> dict[str, Column]:
    """Coordinates along `run` for what is given to `serve`.

    Args:
        coords: what a user says of each run, such as its seed.
        given: arguments, each one for all runs or one for each; `limits`, `clock` and `clients`
            become coordinates.

    Raises:
        InputError: numbers of runs that differ, a name that is taken.
    """
    columns = one_each(given)
    runs = max(map(len, columns.values()))
    found: dict[str, Column] = {}
    limits = [each for each in columns.get("limits", ()) if isinstance(each, Limits)]
    clocks = [each or IterationClock.iterations() for each in columns.get("clock", ())]
    if len(limits) == runs:
        found |= _columns("", limits, _OF_LIMITS, "capacity")
        found |= _columns("swap_", [each.swap for each in limits], _OF_SWAP)
    if all(isinstance(each, IterationClock) for each in clocks):
        unit = clocks[0].unit if clocks else ""
        titles = {n: (u.replace("time", unit), title) for n, (u, title) in _OF_CLOCK.items()}
        found |= _columns("", clocks, titles)
    clients = columns.get("clients", [])
    if len(set(clients)) > 1:
        found["clients"] = "run", _numbers(clients), "request", "closed population; NaN: none"
    return found | said_columns(coords, "run", runs, NAMES | found.keys())


def _columns(
    prefix: str, values: Sequence[Any], titles: Mapping[str, tuple[str, str]], always: str = ""
) -> dict[str, Column]:
    """Fields in which the values differ."""
    found: dict[str, Column] = {}
    for name, (units, title) in titles.items():
        column = [getattr(each, name) for each in values]
        if name == always or len(set(column)) > 1:
            found[prefix + name] = "run", _numbers(column), units, title
    return found


def _numbers(column: Sequence[Any]) -> np.ndarray:
    if all(isinstance(each, int) for each in column):
        return np.array(column)
    return np.array([np.nan if each is None else float(each) for each in column])
