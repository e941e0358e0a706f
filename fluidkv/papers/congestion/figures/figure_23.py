"""Congestion, Figure 23: memory of lengths routed apart, and of a pool with a common divisor."""

from typing import TYPE_CHECKING

from fluidkv.figures.figure import Data, Figure
from fluidkv.papers.congestion.experiments.printed_tables import TABLE_7
from fluidkv.papers.congestion.figures import vidur_runs as vidur

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

_ITERATIONS = 2000
_KEYS = ("first", "second", "mixed")
_SETTINGS = tuple(
    vidur.Setting(key, f"{{{', '.join(map(str, lengths))}}}", lengths)
    for key, lengths in zip(_KEYS, TABLE_7.lengths, strict=True)
)


def data() -> Data:
    """As `vidur_runs.runs`."""
    return vidur.runs(_SETTINGS, _ITERATIONS)


def draw(data: Data, canvas: "Canvas") -> None:
    canvas.suptitle(FIGURE.title, x=0.01, ha="left")
    vidur.draw_runs(data, canvas, _SETTINGS, lowest_memory=98, running=(640, 960))


def caption(data: Data) -> str:
    printed = dict(zip(_KEYS, (f"{int(r.evictions):,}" for r in TABLE_7.rows), strict=True))
    return (
        f"The first {_ITERATIONS:,} iterations of 20,000 requests that all wait at the start. "
        f"Evictions so far: {vidur.told(data, _SETTINGS, {})}. In their whole runs the paper has "
        f"{printed['first']}, {printed['second']} and {printed['mixed']}. {vidur.OPEN}. `fluidkv "
        "table 7` has the whole runs."
    )


FIGURE = Figure(
    id="congestion_figure_23",
    title="A pool with common divisor 25 pulses less than its parts, and for good",
    source="Congestion, Figure 23 and Table 7",
    parameters=vidur.parameters(_SETTINGS, _ITERATIONS),
    size=(9.5, 5.2),
    data=data,
    draw=draw,
    caption=caption,
)
