"""Pages of /metrics one behind the other, as a loop of `date +%s; curl -s .../metrics` writes them.

A page begins with its time, seconds since 1970 or a date, on a line of its own (a "#" may stand in
front). Labels in braces are passed over, but for those of vLLM's cache_config_info.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from fluidkv.errors import InputError
from fluidkv.logs.metrics import names as of
from fluidkv.logs.metrics.rows import chosen, table_of
from fluidkv.logs.metrics.table import Table
from fluidkv.reading import lines, reading
from fluidkv.traces.format import BadRow

_LINE = re.compile(r"((?:vllm|sglang)[:_][a-z0-9_:]{1,80}(?:\{.{0,2000}\})?) +(\S{1,60})(?: +\S+)?")
_TIME = re.compile(r"#?\s*(?:time(?:stamp)?[:=]?\s*)?(\d[\dTZ :.,+-]{5,40})", re.IGNORECASE)
RECORDS = "while sleep 1; do date +%s.%N; curl -s localhost:8000/metrics; done > metrics.txt"
"""What writes such a file."""


def is_page(text: str) -> bool:
    """Whether the beginning of a file has lines of /metrics of an engine."""
    return any(_LINE.fullmatch(line.strip()) for line in text.splitlines())


def read_pages(path: Path) -> Table:
    """The table of all pages.

    Raises:
        InputError: a file that is unreadable; pages without times; two series of one metric; what
            `table_of` refuses.
    """
    pages, cache = _pages(path)
    series = tuple({name: None for _, _, values in pages for name in values})
    if not any(at for _, at, _ in pages):
        allowed = f"pages of /metrics with their times, as written by: {RECORDS}"
        raise InputError("source", str(path), allowed)
    wanted = {ours: series[place] for ours, place in chosen(series, str(path)).items()}

    def rows() -> Iterator[tuple[int, object, dict[str, object]] | tuple[int, BadRow]]:
        for line, at, values in pages:
            missing = [ours for ours, name in wanted.items() if name not in values]
            if not at or missing:
                yield line, BadRow(f"{missing[0]}: missing" if at else "page without its time")
            else:
                yield line, at, {ours: values[name] for ours, name in wanted.items()}

    used = tuple(wanted.values())
    return table_of(str(path), used, rows(), form="metrics-pages", cache=cache)


def _pages(path: Path) -> tuple[list[tuple[int, str, dict[str, str]]], dict[str, str]]:
    """(line, time, series -> value) of each page, and the labels of the cache.

    A page ends where its next time stands, or where a series comes again.
    """
    pages: list[tuple[int, str, dict[str, str]]] = []
    cache: dict[str, str] = {}
    at, values, begin = "", {}, 1
    with reading(path) as text:
        for number, line in enumerate(lines(text, path), start=1):
            line = line.strip()
            found, time = _LINE.fullmatch(line), _TIME.fullmatch(line)
            if time or (found and found[1] in values):
                if values:
                    pages.append((begin, at, values))
                at, values, begin = time[1].strip() if time else "", {}, number
            if not found:
                continue
            if of.plain(found[1]) == of.CACHE_INFO:
                cache |= of.labels_of(found[1])
            elif of.counter_of(found[1]) is not None:
                values[found[1]] = found[2]
    if values:
        pages.append((begin, at, values))
    return pages, cache
