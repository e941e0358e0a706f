"""Figures 5 and 22 to 24: memory, running requests and evictions of runs on Vidur's machine."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from fluidkv.figures.figure import Axes, Canvas, Data, Figure
from fluidkv.figures.style import BLACK, BLUE, NOTE, ORANGE
from fluidkv_papers.congestion.experiments import a100
from fluidkv_papers.congestion.experiments.printed_tables import (
    FIGURE_24_RATE_PER_S,
    TABLE_3_CAP,
    TABLE_3_LENGTHS,
    TABLE_3_RATE_PER_S,
    TABLE_6,
    TABLE_7,
    Routed,
)

LOOKS: dict[str, tuple[str, Any]] = {
    "restart": (ORANGE, (0, (3, 1))),
    "vidur-sarathi": (BLUE, "-"),
}
"""Engine -> its colour and line."""


@dataclass(frozen=True)
class Setting:
    """One column of a figure: what is run, and what it is called.

    Args:
        key: of its data.
        title: over the column.
        lengths: outputs, equal shares.
        rate_per_s: Poisson arrivals; None: all wait at the start.
        cap: most admissions an iteration.
    """

    key: str
    title: str
    lengths: tuple[int, ...]
    rate_per_s: float | None = None
    cap: int | None = None


def _figure(
    number: int,
    title: str,
    settings: Sequence[Setting],
    caption: Callable[[Data], str],
    *,
    beside: str = "",
    window: int,
    iterations: int | None = None,
    size: tuple[float, float] = (9.5, 6.6),
    lowest_memory: float = 98.5,
    running: tuple[float, float] | None = None,
) -> Figure:
    """The paper's figure of this number, and what it is `beside` in the paper."""
    return Figure(
        id=f"congestion_figure_{number}",
        title=title,
        source=f"Congestion, Figure {number}{beside}",
        parameters=_parameters(settings, iterations),
        size=size,
        data=partial(runs, settings, iterations),
        draw=partial(
            _draw_runs,
            settings=settings,
            window=window,
            lowest_memory=lowest_memory,
            running=running,
        ),
        caption=caption,
    )


def _routed_figure(
    number: int,
    title: str,
    case: Routed,
    *,
    iterations: int,
    window: int,
    running: tuple[float, float],
    note: str = "",
) -> Figure:
    """Two nodes and their pool, in the first iterations."""
    keys = ("first", "second", "mixed")
    settings = tuple(
        Setting(key, f"{{{', '.join(map(str, lengths))}}}", lengths)
        for key, lengths in zip(keys, case.lengths, strict=True)
    )

    def caption(data: Data) -> str:
        first, second, mixed = (f"{int(row.evictions):,}" for row in case.rows)
        return (
            f"The first {iterations:,} iterations of 20,000 requests that all wait at the start. "
            f"{_SHOWN} Evictions so far: {told(data, settings, {})}. In their whole runs the paper "
            f"has {first}, {second} and {mixed}. {note}{_OPEN}. `fluidkv table {case.key}` has the "
            "whole runs."
        )

    beside = f" and Table {case.key}"
    return _figure(
        number,
        title,
        settings,
        caption,
        beside=beside,
        window=window,
        iterations=iterations,
        running=running,
    )


def runs(settings: Sequence[Setting], iterations: int | None) -> Data:
    """Both engines in every setting.

    Args:
        settings: columns.
        iterations: horizon; None: to the end of the 20,000 requests.

    Returns:
        "iteration", and "KEY.ENGINE.NAME" with NAME memory (share of the capacity after
        scheduling), running, evicted; NaN after a run's end. Scalars "KEY.ENGINE.evictions", of all
        that was run.
    """
    found: dict[str, np.ndarray | float] = {}
    for setting in settings:
        for engine in LOOKS:
            run = a100.run(
                setting.lengths,
                engine,
                cap=setting.cap,
                rate_per_s=setting.rate_per_s,
                iterations=iterations,
            ).isel(run=0)
            key = f"{setting.key}.{engine}"
            found[f"{key}.memory"] = run.used_blocks.values / float(run.blocks)
            found[f"{key}.running"] = run.running.values.astype(np.float64)
            found[f"{key}.evicted"] = run.preempt.values.astype(np.float64)
            found[f"{key}.evictions"] = float(run.preempt.sum())
    longest = max(len(values) for values in found.values() if isinstance(values, np.ndarray))
    padded = {
        name: np.pad(values, (0, longest - len(values)), constant_values=np.nan)
        if isinstance(values, np.ndarray)
        else values
        for name, values in found.items()
    }
    return {"iteration": np.arange(1.0, longest + 1), **padded}


def _draw_runs(
    data: Data,
    canvas: Canvas,
    *,
    settings: Sequence[Setting],
    window: int,
    lowest_memory: float,
    running: tuple[float, float] | None,
) -> None:
    """One column a setting: memory of each engine, running requests, evictions.

    Args:
        data, canvas, settings: as in `runs`.
        window: iterations, over which memory's range and the mean of evictions are taken.
        lowest_memory: per cent, where the axis begins.
        running: range of its axis; None: no such row.
    """
    heights = [1, 1, 1.6, 1.3] if running else [1, 1, 1.3]
    rows = canvas.subplots(
        len(heights), len(settings), sharex=True, sharey="row", squeeze=False, height_ratios=heights
    )
    n = data["iteration"]
    for column, setting in enumerate(settings):
        axes = rows[:, column]
        for ax, (engine, (color, style)) in zip(axes, LOOKS.items(), strict=False):
            low, high = (
                100 * windowed(data[f"{setting.key}.{engine}.memory"], window, of)
                for of in (np.nanmin, np.nanmax)
            )
            edges = window * np.arange(len(low) + 1)
            ax.stairs(high, edges, baseline=low, fill=True, color=color, alpha=0.35)
            ax.stairs(high, edges, baseline=None, color=color, linewidth=1)
            ax.set_ylim(lowest_memory, 100 + 0.15 * (100 - lowest_memory))
            evicted = windowed(data[f"{setting.key}.{engine}.evicted"], window, np.nanmean)
            line = {"color": color, "linestyle": style, "linewidth": 1.2, "label": engine}
            axes[-1].stairs(evicted, edges, baseline=None, **line)
            if running:
                axes[2].plot(n, data[f"{setting.key}.{engine}.running"], **line)
        if running:
            _note(axes[2], _late_swings(data, setting))
        _note(axes[-1], _evicted(data, setting, window))
        axes[0].set_title(f"{setting.title}\n ", fontweight="bold")
        axes[-1].set(xlabel="iteration", xlim=(0, n[-1]))
    for row in rows[: len(LOOKS)]:
        row[0].set(ylabel="memory\nheld, %", yticks=[lowest_memory, 100])
    if running:
        rows[2, 0].set(ylabel="requests\nrunning", ylim=running)
    rows[-1, 0].set_ylabel("evictions per\niteration")
    rows[-1, 0].set_ylim(0, 1.7 * rows[-1, 0].get_ylim()[1])  # room for the notes
    messages = [text for text in _ROWS if running or text != _SWINGS]
    for row, text in zip(rows, messages, strict=True):
        _say_above(row[0], text.format(window))
    canvas.legend(*rows[-1, 0].get_legend_handles_labels(), loc="outside lower left", ncols=2)


_SWINGS = "requests whose lengths have a common divisor leave together: their number swings"
_ROWS = (
    "restart gives its last token of memory to newcomers (shaded: least to most)",
    "vidur-sarathi keeps 1 % from newcomers; requests that grow may take it",
    _SWINGS,
    "evictions, means over {} iterations",
)
"""What to see in each row."""
_MESSAGE: dict[str, Any] = NOTE | {"color": BLACK}


def _say_above(ax: Axes, text: str) -> None:
    """Over this column and the next: a title would push them apart."""
    ax.set_title(ax.get_title(loc="left") or " ", fontweight="bold")
    note = ax.annotate(text, (0, 1), (0, 4), xycoords="axes fraction", **_MESSAGE)
    note.set_in_layout(False)


def windowed(values: np.ndarray, window: int, of: Callable[..., np.ndarray]) -> np.ndarray:
    """(window,): a statistic over each `window` iterations, as far as there are any."""
    known = values[: np.count_nonzero(~np.isnan(values))]
    missing = -len(known) % window
    full = np.pad(known, (0, missing), constant_values=np.nan)
    return of(full.reshape(-1, window), axis=1)


def _note(ax: Axes, text: str) -> None:
    ax.annotate(text, (1, 1), (-2, -2), xycoords="axes fraction", ha="right", va="top", **NOTE)


def late_swing(data: Data, key: str) -> float:
    """Most less least requests running, over the quarter of a run before its last tenth."""
    values = data[f"{key}.running"]
    length = np.count_nonzero(~np.isnan(values))
    return float(np.ptp(values[int(0.65 * length) : int(0.9 * length)]))


def _late_swings(data: Data, setting: Setting) -> str:
    return "\n".join(
        f"{engine}: late swing {late_swing(data, f'{setting.key}.{engine}'):.0f}"
        for engine in LOOKS
    )


def _evicted(data: Data, setting: Setting, window: int) -> str:
    """How many each engine evicts, and until when."""
    lines = []
    for engine in LOOKS:
        evicted = data[f"{setting.key}.{engine}.evicted"]
        at = np.flatnonzero(evicted > 0)
        if not at.size:
            lines.append(f"{engine}: none")
            continue
        last = at[-1] + 1
        late = np.count_nonzero(~np.isnan(evicted)) - last < window
        until = "to the end" if late else f"the last at {last:,}"
        lines.append(f"{engine}: {np.nansum(evicted):,.0f}, {until}")
    return "\n".join(lines)


def told(data: Data, settings: Sequence[Setting], paper: Mapping[str, str]) -> str:
    """Evictions of each setting, by engine, beside the paper's."""
    parts = []
    for setting in settings:
        counts = ", ".join(
            f"{data[f'{setting.key}.{engine}.evictions']:,.0f} {engine}" for engine in LOOKS
        )
        printed = f" (paper: {paper[setting.key]})" if setting.key in paper else ""
        parts.append(f"{setting.title}: {counts}{printed}")
    return "; ".join(parts)


_SHOWN = (
    "Late swing: most less least requests running, over the quarter of the run before its last "
    "tenth."
)
_OPEN = (
    "Open in the paper: capacity, prefill budget, order and arrival of the requests. Here 30,208 "
    "blocks of 16 tokens, no budget, classes in turn"
)


def _parameters(settings: Sequence[Setting], iterations: int | None) -> dict[str, object]:
    return {
        "input_length": a100.INPUT,
        "requests": a100.REQUESTS,
        "settings": [
            {"decode_lengths": list(s.lengths), "arrivals_per_s": s.rate_per_s, "cap": s.cap}
            for s in settings
        ],
        "engines": list(LOOKS),
        "blocks": a100.BLOCKS,
        "block_size": a100.BLOCK_SIZE,
        "watermark": a100.WATERMARK,
        "batch_cap": a100.BATCH_CAP,
        "clock": [a100.BASE_S, a100.PER_KV_TOKEN_S],
        "iterations": iterations,
        "seed": 0,
    }


# --- Figures 5 and 24 -----------------------------------------------------------------------------

_AT_300 = (TABLE_3_LENGTHS, TABLE_3_RATE_PER_S)
_GREEDY_AND_CAPPED = (
    Setting("greedy", "greedy", *_AT_300),
    Setting("capped", f"at most {TABLE_3_CAP} admissions per iteration", *_AT_300, TABLE_3_CAP),
)
TWO_PAIRS = tuple(
    Setting(
        f"{a}_{b}_{'at_once' if rate is None else 'rate'}",
        f"{{{a}, {b}}}, {'all at once' if rate is None else f'{rate:,.0f} a second'}",
        (a, b),
        rate,
    )
    for rate in (None, FIGURE_24_RATE_PER_S)
    for a, b in ((4, 7), (4, 8))
)


def _capped_caption(data: Data) -> str:
    evicted = data["greedy.vidur-sarathi.evicted"]
    share = np.mean(evicted[~np.isnan(evicted)] > 0)
    counts = told(data, _GREEDY_AND_CAPPED, {"greedy": "2,232", "capped": "0"})
    return (
        f"20,000 requests of Table 3 at 300 a second. Evictions: {counts}. Memory never exceeds "
        "the capacity: a block is given out only where one is free. Under greedy vidur-sarathi "
        f"{share:.1%} of the iterations evict; the paper has 25.2% of cycles above the line. "
        f"{_OPEN}; time by a line through Vidur's decode batches."
    )


def _pairs_caption(data: Data) -> str:
    counts = told(data, TWO_PAIRS, {"4_7_rate": "0"})
    return (
        f"20,000 requests with inputs of 512. {_SHOWN} Evictions: {counts}. The paper's rate is "
        "7000; it does not print a count for {4, 8}. All at once, the first burst is as large as "
        "memory, and {4, 8} keeps it; at 7,000 a second on our clock memory fills in steps, and "
        f"140 iterations are too few for the mode to grow. {_OPEN}; time by a line "
        "through Vidur's decode batches, which is faster than the paper's."
    )


FIGURES = (
    _figure(
        5,
        "A cap on admissions: no eviction by Vidur's rules, few under restart",
        _GREEDY_AND_CAPPED,
        _capped_caption,
        beside=" and Table 3",
        window=50,
        size=(9.5, 5.2),
        lowest_memory=93,
    ),
    _routed_figure(
        22,
        "Without a common divisor the pool of four lengths forgets its start",
        TABLE_6,
        iterations=800,
        window=25,
        running=(780, 1000),
        note="restart fills memory to the last token: one or two requests at a time go on being "
        "evicted. ",
    ),
    _routed_figure(
        23,
        "A pool with common divisor 25 pulses less than its parts, and for good",
        TABLE_7,
        iterations=2000,
        window=50,
        running=(640, 1030),
    ),
    _figure(
        24,
        "Lengths 4 and 8 keep the burst that they start with; 4 and 7 spread it out",
        TWO_PAIRS,
        _pairs_caption,
        window=8,
        size=(11.0, 6.6),
        running=(840, 985),
    ),
)
