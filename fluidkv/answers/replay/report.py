"""The tables of a replay, as text."""

import numpy as np
import xarray as xr

from fluidkv.answers.replay.account import LATENCIES, SERIES
from fluidkv.answers.replay.result import Replay


def tables(replay: Replay) -> dict[str, str]:
    """`ticks.csv` and `requests.csv`: one row a tick or request, one column a quantity and account.

    What is not logged is empty. Numbers are written with the shortest digits that read back as the
    same float.

    Examples:
        >>> from fluidkv.answers import tables
        >>> said = tables(fk.replay_log("sample:vllm-rtx4090"))
        >>> {name: len(text.splitlines()) - 1 for name, text in said.items()}
        {'ticks.csv': 184, 'requests.csv': 300}
    """
    data = replay.to_xarray()
    return {
        "ticks.csv": _table(data, {"time_s": data.time.values}, tuple(SERIES)),
        "requests.csv": _table(
            data,
            {name: data[name].values for name in ("input_length", "output_length")},
            tuple(LATENCIES),
        ),
    }


def _table(data: xr.Dataset, columns: dict[str, np.ndarray], names: tuple[str, ...]) -> str:
    for name in names:
        for account in data.account.values:
            column = f"{name} {account}".replace(" ", "_")
            columns[column] = data[name].sel(account=account).values
    rows = zip(*(values.tolist() for values in columns.values()), strict=True)
    return "\n".join([",".join(columns), *(",".join(map(_cell, row)) for row in rows)]) + "\n"


def _cell(value: float) -> str:
    """Empty where it is not logged."""
    return "" if value != value else repr(value)
