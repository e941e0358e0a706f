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
        >>> from pathlib import Path
        >>> Path("run").mkdir()
        >>> _ = Path("run/meta.json").write_text('{"engine": "SGLang", "kv_tokens": 8000}')
        >>> request = '{"arrival_s": 0, "input": 100, "output": 1000}'
        >>> np.savetxt("run/requests.jsonl", [request] * 4, fmt="%s")
        >>> t = np.arange(1, 21)  # seconds, of 50 steps each
        >>> rows = np.c_[t, 50 * t, 4 + 0 * t, 0 * t, 400 + 200 * t, 0.05 + t / 40, 0 * t]
        >>> names = "time_s,decode_iter,running,waiting,tokens,kv_usage,preemptions"
        >>> np.savetxt("run/decode_log.csv", rows, "%g", ",", header=names, comments="")
        >>> texts = fk.answers.tables(fk.replay_log("run"))
        >>> {name: len(text.splitlines()) for name, text in texts.items()}
        {'ticks.csv': 21, 'requests.csv': 5}
        >>> texts["ticks.csv"].split(",")[:3]
        ['time_s', 'running_measured', 'running_sglang+cache']
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
