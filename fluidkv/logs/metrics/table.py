"""Polled counters as a table of times and columns, and what they say tick by tick."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from fluidkv.errors import InputError
from fluidkv.logs.log import Array, Engine, LoggedTicks, ServerLog
from fluidkv.logs.meta import NULL_BLOCKS
from fluidkv.logs.metrics import names as of
from fluidkv.logs.settings import LoggedSettings
from fluidkv.traces.report import LoadReport

_MOST = 1e12  # of any counter: none is so large, and no sum overflows


@dataclass(frozen=True)
class Table:
    """Rows of counters as they were polled.

    Args:
        source: the file.
        lines: of each row, for messages, shape (row,).
        times_s: seconds, strictly increasing, shape (row,).
        columns: by our names, each of shape (row,).
        engine: that the names are of.
        cache: labels of vLLM's `cache_config_info`.
        zero_s: seconds since 1970 of time 0; None where the file does not say.
        report: what became of each row.
    """

    source: str
    lines: tuple[int, ...]
    times_s: Array
    columns: Mapping[str, Array]
    engine: Engine | None
    report: LoadReport
    cache: Mapping[str, str] = field(default_factory=dict)
    zero_s: float | None = None


def log_of(table: Table) -> ServerLog:
    """What a table says.

    Where tokens are counted, a tick lies between two rows, and the first row only begins one.

    Raises:
        InputError: fewer than two rows (three, where tokens are counted); a counter that falls.
    """
    columns, times = table.columns, table.times_s
    for name in of.COUNTERS:
        if name in columns and (np.diff(columns[name]) < 0).any():
            row = int(np.argmax(np.diff(columns[name]) < 0)) + 1
            before, after = columns[name][row - 1 : row + 1]
            fall = f"line {table.lines[row]}: {name} falls from {before:.12g} to {after:.12g}"
            raise InputError("source", table.source, f"counters of one server's life ({fall})")
    counted = any(name in columns for name in of.COUNTERS)
    least = 3 if counted else 2
    if len(times) < least:
        allowed = f"at least {least} rows of metrics (found {len(times)})"
        raise InputError("source", table.source, allowed)
    first = 1 if counted else 0
    durations = np.diff(times, prepend=2 * times[0] - times[1])[first:]

    def at_ends(name: str) -> Array | None:
        return columns[name][first:] if name in columns else None

    def during(counter: str, rate: str = "") -> Array | None:
        if counter in columns:
            return np.diff(columns[counter])
        return columns[rate][first:] * durations if rate in columns else None

    settings = _settings(table)
    preempted = at_ends(of.PREEMPTED)
    return ServerLog(
        source=table.source,
        engine=table.engine,
        ticks=LoggedTicks(
            ends_s=times[first:],
            running=at_ends(of.RUNNING),
            waiting=at_ends(of.WAITING),
            kv_used=_kv_used(table, settings.capacity, first),
            generated_tokens=during(of.GENERATED, of.GENERATED_RATE),
            generation_rate=at_ends(of.GENERATED_RATE),
            prompt_tokens=during(of.PROMPTS, of.PROMPT_RATE),
            preemptions=None if preempted is None else preempted - columns[of.PREEMPTED][0],
            iterations=during(of.ITERATIONS),
            report=table.report,
        ),
        settings=settings,
        clock_zero_s=table.zero_s,
    )


def _kv_used(table: Table, capacity: int | None, first: int) -> Array | None:
    columns = table.columns
    if of.KV_TOKENS in columns and capacity is not None:
        return columns[of.KV_TOKENS][first:] / capacity
    if of.KV_SHARE in columns:
        return columns[of.KV_SHARE][first:]
    return columns[of.KV_PERCENT][first:] / 100 if of.KV_PERCENT in columns else None


def _settings(table: Table) -> LoggedSettings:
    """What labels of the cache, or SGLang's size of its pool, say."""
    sizes = table.columns.get(of.CAPACITY)
    if sizes is not None and sizes[-1] >= 1:
        if sizes.min() != sizes.max():
            found = f"{sizes.min():,.0f} and {sizes.max():,.0f}"
            allowed = f"one KV capacity of one server (it is {found})"
            raise InputError("source", table.source, allowed)
        return LoggedSettings(capacity=int(sizes[-1]))
    count, size = (_count(table.cache.get(n)) for n in ("num_gpu_blocks", "block_size"))
    capacity = _count(table.cache.get("kv_cache_size_tokens"))
    if capacity is None and count and size:
        capacity = count * size
    share, caching = table.cache.get("gpu_memory_utilization", ""), table.cache.get
    return LoggedSettings(
        capacity=capacity,
        blocks=count - NULL_BLOCKS if count and capacity == count * (size or 0) else None,
        block_size=size,
        prefix_caching={"true": True, "false": False}.get(
            caching("enable_prefix_caching", "").lower()
        ),
        memory_share=float(share) if share.replace(".", "", 1).isdecimal() else None,
    )


def _count(text: str | None) -> int | None:
    """A whole number above 0 in a label; vLLM writes None for what is not set."""
    if text is None or not text.isascii() or not text.isdecimal() or len(text) > 15:
        return None
    return int(text) or None
