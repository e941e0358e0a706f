"""Rows of named values, from whatever file, become a table; what cannot be a row is dropped."""

import math
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path

import numpy as np

from fluidkv.errors import InputError
from fluidkv.logs.log import Engine
from fluidkv.logs.metrics import names as of
from fluidkv.logs.metrics.table import Table
from fluidkv.text import NUMBER
from fluidkv.traces.cells import MAX_TIME_S, date_time
from fluidkv.traces.format import BadRow
from fluidkv.traces.report import Tally

_LEAST, _MOST = 1e-12, 1e12  # as `fluidkv.measured.timeseries` has them
_SINCE_1970 = 1e9  # seconds: a time as large is one since 1970, and no run is as long
_UNITS = ((1e17, 1e-9), (1e14, 1e-6), (1e11, 1e-3))  # times above are in ns, us, ms


def chosen(names: Sequence[str], source: str) -> dict[str, int]:
    """Our name -> place of the one series that has it, of the best name.

    Raises:
        InputError: two series of one name, which differ in their labels; nothing of ours.
    """
    found: dict[str, list[int]] = {}
    for place, name in enumerate(names):
        ours = of.counter_of(name)
        if ours is not None:
            found.setdefault(ours, []).append(place)
    places = {}
    for ours, candidates in found.items():
        best = min(of.rank_of(names[place]) for place in candidates)
        same = [place for place in candidates if of.rank_of(names[place]) == best]
        if len(same) > 1:
            raise InputError("source", source, _one_series(ours, [names[place] for place in same]))
        places[ours] = same[0]
    if of.RUNNING not in places:
        wanted = ", ".join(of.NAMES[of.RUNNING][1:])
        raise InputError("source", source, f"metrics with the requests running ({wanted})")
    return places


def _one_series(ours: str, names: list[str]) -> str:
    first, second = (of.labels_of(name) for name in names[:2])
    differ = [key for key in {**first, **second} if first.get(key) != second.get(key)]
    by = f" (they differ in {', '.join(differ[:3])})" if differ else ""
    return (
        f"one series of {ours}: {len(names)} are there{by}; ask for one, as in "
        f'{of.plain(names[0])}{{{differ[0] if differ else "instance"}="..."}}'
    )


def moment(cell: object) -> tuple[float, bool]:
    """(seconds, whether they are since 1970) of a number in s, ms, us or ns, or of a date.

    Raises:
        BadRow: another text.
    """
    text = str(cell).strip().strip('"')
    if NUMBER.fullmatch(text) and len(text) < 40:
        value = float(text)
        unit = next((unit for least, unit in _UNITS if value >= least), 1.0)
        if not 0 <= value * unit <= MAX_TIME_S:
            raise BadRow("time: out of range")
        return value * unit, value * unit >= _SINCE_1970
    zoned = text.endswith("Z") or text[-6:-5] in ("+", "-")
    at: Decimal = date_time({"time": text}, "time")
    return float(at), zoned


def value_of(cell: object, name: str) -> float:
    """A number that a counter may have; "12.5%" of a share in use is 0.125.

    Raises:
        BadRow: anything else.
    """
    text = str(cell).strip()
    scale = 1.0
    if text.endswith("%"):
        text, scale = text[:-1].strip(), 0.01 if name == of.KV_SHARE else 1.0
    value = float(text) * scale if NUMBER.fullmatch(text) and len(text) < 400 else math.nan
    if value != 0 and not _LEAST <= value <= _MOST:
        raise BadRow(f"{name}: missing, negative or not a finite number")
    return value


_ROUNDED = 1.001  # a share that was computed as used over total may end a little above 1


def _check_share(values: Mapping[str, float], source: str, line: int) -> None:
    """Pass, or refuse the file: dropping such rows would leave those with little in use."""
    for name, most, what in (
        (of.KV_SHARE, 1.0, "a share of the KV in use from 0 to 1, or with %, or as kv_cache_pct"),
        (of.KV_PERCENT, 100.0, "a share of the KV in use from 0 to 100 per cent"),
    ):
        if values.get(name, 0.0) > most * _ROUNDED:
            raise InputError("source", source, f"{what} (line {line}: {values[name]:g})")


def table_of(
    source: str,
    series: Sequence[str],
    rows: Iterable[tuple[int, object, Mapping[str, object]] | tuple[int, BadRow]],
    *,
    form: str,
    cache: Mapping[str, str] | None = None,
) -> Table:
    """The table of rows (line, time, our name -> value).

    A row is dropped, and reported, whose time or one of whose values cannot be read, or that has
    the time of the row before.

    Args:
        series: names as the file has them.
        form: of the file, for the report.

    Raises:
        InputError: time that falls; a share in use above all of it; no row left.
    """
    tally = Tally()
    lines: list[int] = []
    times: list[float] = []
    kept: list[dict[str, float]] = []
    since = False
    for row in rows:
        line = row[0]
        try:
            if len(row) == 2:
                raise row[1]
            at, since = moment(row[1])
            values = {name: value_of(cell, name) for name, cell in row[2].items()}
            _check_share(values, source, line)
            if times and at == times[-1]:
                raise BadRow("the time of the row before")
        except BadRow as bad:
            tally.drop(bad.what, line)
            continue
        if times and at < times[-1]:
            fall = f"line {line}: time falls from {times[-1]:.12g} to {at:.12g}"
            raise InputError("source", source, f"one run with increasing times ({fall})")
        tally.keep(line, changed=(), flagged=())
        lines.append(line)
        times.append(at)
        kept.append(values)
    report = tally.report(source=Path(source).name, format=form)
    if not kept:
        found = "; ".join(str(reason) for reason in report.dropped_because[:2]) or "no rows"
        raise InputError("source", source, f"at least one row of metrics ({found})")
    zero = times[0] if times[0] >= _SINCE_1970 else 0.0
    return Table(
        source=source,
        lines=tuple(lines),
        times_s=np.array(times) - zero,
        columns={name: np.array([values[name] for values in kept]) for name in kept[0]},
        engine=_one_engine(series, source),
        cache=cache or {},
        zero_s=zero if since else None,
        report=report,
    )


def _one_engine(series: Sequence[str], source: str) -> Engine | None:
    found = {of.engine_in(name) for name in series}
    if {"vllm", "sglang"} <= found:
        raise InputError("source", source, "metrics of one engine (vLLM's and SGLang's are there)")
    return "vllm" if "vllm" in found else "sglang" if "sglang" in found else None
