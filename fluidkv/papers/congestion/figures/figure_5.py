"""Congestion, Figure 5: memory under greedy and under rate-limited admission."""

import numpy as np

from fluidkv.figures.figure import Canvas, Data, Figure
from fluidkv.papers.congestion.experiments.printed_tables import (
    TABLE_3_CAP,
    TABLE_3_LENGTHS,
    TABLE_3_RATE_PER_S,
)
from fluidkv.papers.congestion.figures import vidur_runs as vidur

_SETTINGS = (
    vidur.Setting("greedy", "greedy", TABLE_3_LENGTHS, TABLE_3_RATE_PER_S),
    vidur.Setting(
        "capped",
        f"at most {TABLE_3_CAP} admissions an iteration",
        TABLE_3_LENGTHS,
        TABLE_3_RATE_PER_S,
        TABLE_3_CAP,
    ),
)


def data() -> Data:
    """As `vidur_runs.runs`."""
    return vidur.runs(_SETTINGS, None)


def draw(data: Data, canvas: Canvas) -> None:
    vidur.draw_runs(data, canvas, _SETTINGS, lowest_memory=93)


def caption(data: Data) -> str:
    evicted = data["greedy.vidur-sarathi.evicted"]
    share = np.mean(evicted[~np.isnan(evicted)] > 0)
    counts = vidur.told(data, _SETTINGS, {"greedy": "2,232", "capped": "0"})
    return (
        f"20,000 requests of Table 3 at 300 a second. Evictions: {counts}. Memory never exceeds "
        "the capacity: a block is given out only where one is free. Under greedy vidur-sarathi "
        f"{share:.1%} of the iterations evict; the paper has 25.2% of cycles above the line. "
        f"{vidur.OPEN}; time by a line through Vidur's decode batches."
    )


FIGURE = Figure(
    id="congestion_figure_5",
    title="A cap on admissions: no eviction by Vidur's rules, few under restart",
    source="Congestion, Figure 5 and Table 3",
    parameters=vidur.parameters(_SETTINGS, None),
    size=(9.0, 4.2),
    data=data,
    draw=draw,
    caption=caption,
)
