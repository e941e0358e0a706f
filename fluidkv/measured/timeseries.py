"""A time series of an engine's counters, and its reader; times in seconds, as engines log them."""

import math
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fluidkv.errors import InputError
from fluidkv.labels import dataset
from fluidkv.reading import BROKEN, csv_rows, reading
from fluidkv.record import Record
from fluidkv.text import NUMBER

if TYPE_CHECKING:
    import xarray as xr

Array = NDArray[np.float64]

# Nothing that an engine counts is as large or, above 0, as small: no sum or ratio overflows.
_LEAST, _MOST = 1e-12, 1e12

# Our name -> the names that engines and their exporters use, best first. "vllm:" and "sglang:"
# in front of a name are ignored, and so is case.
_COLUMNS = {
    "t": ("t", "t_s", "time", "time_s", "timestamp"),
    "running": ("running", "num_requests_running", "num_running_reqs"),
    "waiting": ("waiting", "num_requests_waiting", "num_queue_reqs"),
    "gen_throughput": (
        "gen_throughput",
        "generation_throughput",
        "avg_generation_throughput_toks_per_s",
    ),
    "kv_cache_pct": ("kv_cache_pct", "kv_cache_usage_perc", "gpu_cache_usage_perc", "token_usage"),
}
_REQUIRED = ("t", "running", "waiting", "gen_throughput")
# These gauges run from 0 to 1 in spite of "perc" in their names.
_FRACTIONS = ("kv_cache_usage_perc", "gpu_cache_usage_perc", "token_usage")


@dataclass(frozen=True)
class ReadReport(Record):
    """What a reader did to a file. `dropped` and `changed` pair a reason with a count of rows."""

    rows_read: int
    rows_kept: int
    dropped: tuple[tuple[str, int], ...] = ()
    changed: tuple[tuple[str, int], ...] = ()

    @property
    def statement(self) -> str:
        """One line: rows read and kept, and why others were dropped or changed."""
        words = [f"{self.rows_read:,} rows read, {self.rows_kept:,} kept"]
        words += [f"{count:,} dropped: {reason}" for reason, count in self.dropped]
        words += [f"{count:,} changed: {reason}" for reason, count in self.changed]
        return "; ".join(words)

    def to_dict(self) -> dict[str, object]:
        """Plain values for JSON."""
        return {
            "read": self.rows_read,
            "kept": self.rows_kept,
            "dropped_because": [{"what": what, "rows": rows} for what, rows in self.dropped],
            "changed_because": [{"what": what, "rows": rows} for what, rows in self.changed],
        }


@dataclass(frozen=True, eq=False)
class Timeseries(Record):
    """Counters of one engine, one row a tick.

    Args:
        t_s: seconds, strictly increasing, shape (ticks,).
        running: requests in the batch, shape (ticks,).
        waiting: requests in the queue, shape (ticks,).
        gen_throughput: output tokens a second, shape (ticks,).
        kv_cache_pct: KV cache in use, per cent, shape (ticks,), NaN where unreadable; or None.
        report: what the reader kept and dropped; None for a series made in memory.

    Raises:
        InputError: no ticks, unequal lengths, values that are not finite, times that do not
            increase.
    """

    t_s: Array
    running: Array
    waiting: Array
    gen_throughput: Array
    kv_cache_pct: Array | None = None
    report: ReadReport | None = None

    def to_xarray(self) -> "xr.Dataset":
        """The counters along `time`."""
        titles = {
            "running": ("request", "requests in the batch"),
            "waiting": ("request", "requests in the queue"),
            "gen_throughput": ("token / s", "output tokens"),
            "kv_cache_pct": ("percent", "KV cache in use"),
        }
        return dataset(
            {
                name: ("time", getattr(self, name), *title)
                for name, title in titles.items()
                if getattr(self, name) is not None
            },
            {"time": ("time", self.t_s, "s", "time of the tick")},
        )

    def __post_init__(self) -> None:
        for name in ("t_s", "running", "waiting", "gen_throughput", "kv_cache_pct"):
            values = getattr(self, name)
            if values is None and name == "kv_cache_pct":
                continue
            values = np.array(values, dtype=np.float64)
            if values.ndim != 1 or values.size == 0 or values.size != np.size(self.t_s):
                raise InputError(name, values.shape, "one number a tick, at least one tick")
            if name != "kv_cache_pct" and not np.isfinite(values).all():
                raise InputError(name, "nan or inf", "finite numbers")
            values.flags.writeable = False
            object.__setattr__(self, name, values)
        if (np.diff(self.t_s) <= 0).any():
            raise InputError("t_s", "times that do not increase", "strictly increasing seconds")


def read_timeseries(path: str | Path) -> Timeseries:
    """Read an engine's counters from a CSV file with a header line.

    Columns are found by name, in any order; others are ignored. Needed: `t` (seconds), `running`,
    `waiting`, `gen_throughput` (tokens a second); `kv_cache_pct` where present. The names of the
    engines' Prometheus gauges are understood too (`num_requests_running`, ...); a KV gauge that
    runs from 0 to 1 is turned into per cent.

    A row with a cell that is no number, or is negative, or beyond what a counter may be, or that
    repeats the time before it, is dropped and counted in `report`. An unreadable `kv_cache_pct`
    becomes NaN and is counted.

    Raises:
        InputError: a missing, empty or binary file; missing columns; time that goes backwards
            (two runs in one file, or rows out of order); no row left.

    Examples:
        >>> from pathlib import Path
        >>> rows = '''t,running,waiting,gen_throughput
        ... 0,3,0,30
        ... 1,4,2,40
        ... 2,x,2,40
        ... 3,4,1,44'''
        >>> _ = Path("mine.csv").write_text(rows)
        >>> series = fk.read_timeseries("mine.csv")
        >>> series.t_s.tolist(), series.running.tolist()
        ([0.0, 1.0, 3.0], [3.0, 4.0, 4.0])
        >>> series.report.dropped
        (('a cell that is missing, negative or not a finite number', 1),)
    """
    path = Path(path)
    with reading(path, "measured") as text:
        (_, header), *body = [*csv_rows(text, path, "measured")] or [(0, None)]
    if header is None:
        allowed = "a CSV file with a header line (this file is empty, or its quotes are broken)"
        raise InputError("measured", str(path), allowed)
    places = _find_columns(header)
    rows: list[list[float]] = []
    kv: list[float] = []
    dropped: Counter[str] = Counter()
    changed: Counter[str] = Counter()
    for number, cells in body:
        if cells is None:
            dropped[BROKEN] += 1
            continue
        values = [_number(cells, places[name]) for name in _REQUIRED]
        fault = _fault(values, rows)
        if fault:
            dropped[fault] += 1
            continue
        if rows and values[0] < rows[-1][0]:
            raise InputError(
                "measured",
                f"line {number}: t falls from {rows[-1][0]:.12g} to {values[0]:.12g}",
                "one run with increasing times",
            )
        rows.append(values)
        if "kv_cache_pct" in places:
            kv.append(_number(cells, places["kv_cache_pct"]))
            if math.isnan(kv[-1]):
                changed["kv_cache_pct unreadable, set to NaN"] += 1
    if not rows:
        why = "; ".join(f"{count} rows with {reason}" for reason, count in dropped.items())
        raise InputError("measured", why or "a header only", "at least one row of finite numbers")
    t_s, running, waiting, throughput = np.array(rows).T
    scale = 100.0 if _is_fraction(header, places.get("kv_cache_pct")) else 1.0
    return Timeseries(
        t_s,
        running,
        waiting,
        throughput,
        kv_cache_pct=scale * np.array(kv) if kv else None,
        report=ReadReport(len(body), len(rows), tuple(dropped.items()), tuple(changed.items())),
    )


def _find_columns(header: list[str]) -> dict[str, int]:
    """Our column name -> its place in the file."""
    names = [_plain(cell) for cell in header]
    places = {
        ours: names.index(alias)
        for ours, aliases in _COLUMNS.items()
        for alias in reversed(aliases)  # the last one written wins, so the best name goes last
        if alias in names
    }
    missing = [name for name in _REQUIRED if name not in places]
    if missing:
        allowed = "; ".join(f"{name} (or {', '.join(_COLUMNS[name][1:])})" for name in missing)
        raise InputError("measured", header, f"a header with the missing columns {allowed}")
    return places


def _plain(cell: str) -> str:
    return cell.strip().lower().removeprefix("vllm:").removeprefix("sglang:")


def _is_fraction(header: list[str], place: int | None) -> bool:
    return place is not None and _plain(header[place]) in _FRACTIONS


def _number(cells: list[str], place: int) -> float:
    """The cell as a number that a counter may have, else NaN."""
    cell = cells[place].strip() if place < len(cells) else ""
    value = float(cell) if NUMBER.fullmatch(cell) else math.nan
    return value if value == 0 or _LEAST <= value <= _MOST else math.nan


def _fault(values: list[float], kept: list[list[float]]) -> str:
    if any(math.isnan(v) for v in values):
        return "a cell that is missing, negative or not a finite number"
    if kept and values[0] == kept[-1][0]:
        return "the same time as the row before"
    return ""
