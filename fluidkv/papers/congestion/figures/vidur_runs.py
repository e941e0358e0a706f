"""Figures 5 and 22 to 24: memory, running requests and evictions of runs on Vidur's machine."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fluidkv.figures.figure import Axes, Canvas, Data, Figure
from fluidkv.figures.style import BLUE, GREY, ORANGE
from fluidkv.papers.congestion.experiments import a100
from fluidkv.papers.congestion.experiments.printed_tables import Routed

COLORS = {"restart": ORANGE, "vidur-sarathi": BLUE}


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


def routed_figure(
    number: int,
    title: str,
    case: Routed,
    *,
    iterations: int,
    running: tuple[float, float],
    note: str = "",
) -> Figure:
    """The paper's figure of this number: two nodes and their pool, in the first iterations."""
    keys = ("first", "second", "mixed")
    settings = tuple(
        Setting(key, f"{{{', '.join(map(str, lengths))}}}", lengths)
        for key, lengths in zip(keys, case.lengths, strict=True)
    )

    def draw(data: Data, canvas: Canvas) -> None:
        draw_runs(data, canvas, settings, lowest_memory=98, running=running)

    def caption(data: Data) -> str:
        first, second, mixed = (f"{int(row.evictions):,}" for row in case.rows)
        return (
            f"The first {iterations:,} iterations of 20,000 requests that all wait at the start. "
            f"Evictions so far: {told(data, settings, {})}. In their whole runs the paper has "
            f"{first}, {second} and {mixed}. {note}{OPEN}. `fluidkv table {case.key}` has the "
            "whole runs."
        )

    return Figure(
        id=f"congestion_figure_{number}",
        title=title,
        source=f"Congestion, Figure {number} and Table {case.key}",
        parameters=parameters(settings, iterations),
        size=(9.5, 5.2),
        data=lambda: runs(settings, iterations),
        draw=draw,
        caption=caption,
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
        for engine in COLORS:
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


def draw_runs(
    data: Data,
    canvas: Canvas,
    settings: Sequence[Setting],
    *,
    lowest_memory: float,
    running: tuple[float, float] | None = None,
) -> None:
    """One column a setting: memory, running requests, evictions by iteration.

    Args:
        data, canvas, settings: as in `runs`.
        lowest_memory: per cent, where the axis begins.
        running: range of its axis; None: no such row.
    """
    heights = [1, 1.2, 1.2] if running else [1.2, 1]
    rows = canvas.subplots(
        len(heights), len(settings), sharex=True, sharey="row", squeeze=False, height_ratios=heights
    )
    n = data["iteration"]
    for column, setting in enumerate(settings):
        axes = rows[:, column]
        for engine, color in COLORS.items():
            key = f"{setting.key}.{engine}"
            axes[0].plot(n, 100 * data[f"{key}.memory"], color=color, linewidth=0.8)
            if running:
                axes[1].plot(n, data[f"{key}.running"], color=color, linewidth=0.9)
            _evictions(data, axes[-1], key, color)
        axes[0].axhline(100, color=GREY, linewidth=0.8)
        axes[0].set(ylim=(lowest_memory, 100 + 0.06 * (100 - lowest_memory)), title=setting.title)
        axes[-1].set(xlabel="iteration", xlim=(0, n[-1]))
    rows[0, 0].set_ylabel("memory held, %\n(axis cut below)")
    if running:
        rows[1, 0].set(ylabel="requests\nrunning", ylim=running)
    rows[-1, 0].set_ylabel("evictions an\niteration")
    rows[-1, 0].set_ylim(0, 1.25 * rows[-1, 0].get_ylim()[1])  # room for the legend
    for engine, color in COLORS.items():
        rows[-1, -1].plot([], [], color=color, label=engine)
    rows[-1, -1].legend(loc="upper right", ncols=2, columnspacing=1.0)


def _evictions(data: Data, ax: Axes, key: str, color: str) -> None:
    n, evicted = data["iteration"], data[f"{key}.evicted"]
    some = evicted > 0
    ax.vlines(n[some], 0, evicted[some], color=color, linewidth=0.7)


def told(data: Data, settings: Sequence[Setting], paper: Mapping[str, str]) -> str:
    """Evictions of each setting, by engine, beside the paper's."""
    parts = []
    for setting in settings:
        counts = ", ".join(
            f"{data[f'{setting.key}.{engine}.evictions']:,.0f} {engine}" for engine in COLORS
        )
        printed = f" (paper: {paper[setting.key]})" if setting.key in paper else ""
        parts.append(f"{setting.title}: {counts}{printed}")
    return "; ".join(parts)


OPEN = (
    "Open in the paper: capacity, prefill budget, order and arrival of the requests. Here 30,208 "
    "blocks of 16 tokens, no budget, classes in turn"
)


def parameters(settings: Sequence[Setting], iterations: int | None) -> dict[str, object]:
    return {
        "input_length": a100.INPUT,
        "requests": a100.REQUESTS,
        "settings": [
            {"decode_lengths": list(s.lengths), "arrivals_per_s": s.rate_per_s, "cap": s.cap}
            for s in settings
        ],
        "engines": list(COLORS),
        "blocks": a100.BLOCKS,
        "block_size": a100.BLOCK_SIZE,
        "watermark": a100.WATERMARK,
        "batch_cap": a100.BATCH_CAP,
        "clock": [a100.BASE_S, a100.PER_KV_TOKEN_S],
        "iterations": iterations,
        "seed": 0,
    }
