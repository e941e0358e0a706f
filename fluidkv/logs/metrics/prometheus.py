"""The JSON of Prometheus's /api/v1/query_range: series of [time, "value"], each with its labels.

Several answers may stand in one file, a JSON object a line, or one file each.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from fluidkv.errors import InputError
from fluidkv.logs.metrics import names as of
from fluidkv.logs.metrics.rows import chosen, table_of
from fluidkv.logs.metrics.table import Table
from fluidkv.reading import reading
from fluidkv.traces.format import BadRow

_ANSWER = 'the JSON of /api/v1/query_range ({"status": "success", "data": {"result": [...]}})'


def read_range(path: Path) -> Table:
    """The table of a file with one answer or several. Times that not all series have are dropped.

    Raises:
        InputError: a file that is unreadable or is no such answer; two series of one metric; what
            `table_of` refuses.
    """
    series: dict[str, Mapping[str, object]] = {}
    cache: dict[str, str] = {}
    for answer in _answers(path):
        for name, labels, values in _series(answer, path):
            if of.plain(name) == of.CACHE_INFO:
                cache |= labels
            elif of.counter_of(name) is not None:
                series[_shown(name, labels)] = values
    names = tuple(series)
    wanted = {ours: series[names[place]] for ours, place in chosen(names, str(path)).items()}
    times = sorted({at for values in wanted.values() for at in values}, key=_order)

    def rows() -> Iterator[tuple[int, object, dict[str, object]] | tuple[int, BadRow]]:
        for number, at in enumerate(times, start=1):
            missing = [name for name, values in wanted.items() if at not in values]
            if missing:
                yield number, BadRow(f"{missing[0]}: no value at this time")
            else:
                yield number, at, {name: values[at] for name, values in wanted.items()}

    return table_of(str(path), names, rows(), form="prometheus-range", cache=cache)


def is_range(text: str) -> bool:
    """Whether the beginning of a JSON file looks like an answer of Prometheus."""
    return '"resultType"' in text or ('"status"' in text and '"success"' in text)


def _order(at: str) -> tuple[int, float, str]:
    try:
        return 0, float(at), at
    except ValueError:
        return 1, 0.0, at


def _answers(path: Path) -> list[dict[str, Any]]:
    with reading(path) as text:
        content = text.read()
    try:
        found = [json.loads(content)]
    except (ValueError, RecursionError):
        try:
            found = [json.loads(line) for line in content.splitlines() if line.strip()]
        except (ValueError, RecursionError) as error:
            said = " ".join(str(error).split())[:60]
            raise InputError("source", str(path), f"{_ANSWER} ({said})") from None
    if not found or not all(isinstance(answer, dict) for answer in found):
        raise InputError("source", str(path), _ANSWER)
    return found


def _series(
    answer: dict[str, Any], path: Path
) -> Iterator[tuple[str, dict[str, str], dict[str, object]]]:
    """(name, labels, time -> value) of each series of a range."""
    data = answer.get("data")
    results = data.get("result") if isinstance(data, dict) else None
    if not isinstance(results, list):
        raise InputError("source", str(path), _ANSWER)
    for result in results:
        metric = result.get("metric") if isinstance(result, dict) else None
        values = result.get("values") if isinstance(result, dict) else None
        if not isinstance(metric, dict) or not isinstance(values, list):
            raise InputError("source", str(path), f"{_ANSWER}: metric and values in each result")
        labels = {str(key): str(value) for key, value in metric.items()}
        pairs = [p for p in values if isinstance(p, list) and len(p) == 2]
        yield labels.pop("__name__", ""), labels, {str(at): value for at, value in pairs}


def _shown(name: str, labels: Mapping[str, str]) -> str:
    inside = ",".join(f'{key}="{value}"' for key, value in sorted(labels.items()))
    return f"{name}{{{inside}}}" if inside else name
