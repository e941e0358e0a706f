"""CSV of polled metrics: a column a metric, as people write it and Grafana exports it; or long.

    time,vllm:num_requests_running,vllm:num_requests_waiting,vllm:kv_cache_usage_perc
    1756818490,14,0,0.021

Long is a row a value, with columns of time, metric and value.
"""

from collections.abc import Iterator
from pathlib import Path

from fluidkv.errors import InputError
from fluidkv.logs.metrics import names as of
from fluidkv.logs.metrics.rows import chosen, table_of
from fluidkv.logs.metrics.table import Table
from fluidkv.reading import BROKEN, csv_rows, reading
from fluidkv.traces.format import BadRow, listed

_METRIC = ("metric", "name", "__name__", "series")
_VALUE = ("value", "values")


def is_metrics(header: tuple[str, ...]) -> bool:
    """Whether the columns of a CSV file are polled metrics: times, and requests running."""
    plain = [of.plain(name) for name in header]
    timed = any(name in of.TIMES for name in plain)
    wide = any(of.counter_of(name) == of.RUNNING for name in header)
    long = any(n in _METRIC for n in plain) and any(n in _VALUE for n in plain)
    return timed and (wide or long)


def read_csv(path: Path) -> Table:
    """The table of a CSV file.

    Raises:
        InputError: a file that is unreadable; no column of times or of requests running; two
            columns of one metric; what `table_of` refuses.
    """
    with reading(path) as text:
        (_, header), *body = [*csv_rows(text, path)] or [(0, None)]
    if header is None:
        raise InputError("source", str(path), "a CSV file with a header line")
    plain = [of.plain(name) for name in header]
    time = next((plain.index(name) for name in of.TIMES if name in plain), None)
    if time is None:
        allowed = f"a column of times, such as time or t (found: {listed(header)})"
        raise InputError("source", str(path), allowed)
    metric = next((plain.index(name) for name in _METRIC if name in plain), None)
    value = next((plain.index(name) for name in _VALUE if name in plain), None)
    if metric is not None and value is not None:
        return _long(path, body, (time, metric, value))
    places = chosen(header, str(path))

    def rows() -> Iterator[tuple[int, object, dict[str, object]] | tuple[int, BadRow]]:
        for line, cells in body:
            if cells is None:
                yield line, BadRow(BROKEN)
            elif len(cells) != len(header):
                few = len(cells) < len(header)
                yield line, BadRow(f"{'fewer' if few else 'more'} cells than the header")
            else:
                yield line, cells[time], {name: cells[at] for name, at in places.items()}

    used = [header[place] for place in places.values()]
    return table_of(str(path), used, rows(), form="metrics-csv")


def _long(
    path: Path, body: list[tuple[int, list[str] | None]], places: tuple[int, int, int]
) -> Table:
    """A row a value: what has one time is one row, in the order of the file."""
    series: dict[str, None] = {}
    turns: dict[str, tuple[int, dict[str, str]]] = {}
    broken: list[tuple[int, BadRow]] = []
    for line, cells in body:
        if cells is None or len(cells) <= max(places):
            broken.append((line, BadRow(BROKEN if cells is None else "too few cells")))
            continue
        at, metric, value = (cells[place] for place in places)
        if of.counter_of(metric) is None:
            continue
        series.setdefault(metric)
        turns.setdefault(at, (line, {}))[1][metric] = value
    names = tuple(series)
    wanted = {names[place]: ours for ours, place in chosen(names, str(path)).items()}

    def rows() -> Iterator[tuple[int, object, dict[str, object]] | tuple[int, BadRow]]:
        yield from broken
        for at, (line, values) in turns.items():
            missing = [ours for metric, ours in wanted.items() if metric not in values]
            if missing:
                yield line, BadRow(f"{missing[0]}: missing")
            else:
                yield line, at, {ours: values[metric] for metric, ours in wanted.items()}

    return table_of(str(path), tuple(wanted), rows(), form="metrics-csv")
