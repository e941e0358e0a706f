"""Congestion, Figure 24: memory with lengths 4 and 7, and with 4 and 8."""

from fluidkv.figures.figure import Canvas, Data, Figure
from fluidkv.papers.congestion.experiments.printed_tables import FIGURE_24_RATE_PER_S
from fluidkv.papers.congestion.figures import vidur_runs as vidur

SETTINGS = tuple(
    vidur.Setting(
        f"{a}_{b}_{'at_once' if rate is None else 'rate'}",
        f"{{{a}, {b}}}, {'all at once' if rate is None else f'{rate:,.0f} a second'}",
        (a, b),
        rate,
    )
    for rate in (None, FIGURE_24_RATE_PER_S)
    for a, b in ((4, 7), (4, 8))
)


def data() -> Data:
    """As `vidur_runs.runs`."""
    return vidur.runs(SETTINGS, None)


def draw(data: Data, canvas: Canvas) -> None:
    vidur.draw_runs(data, canvas, SETTINGS, lowest_memory=97, running=(840, 950))


def caption(data: Data) -> str:
    counts = vidur.told(data, SETTINGS, {"4_7_rate": "0"})
    return (
        f"20,000 requests with inputs of 512. Evictions: {counts}. The paper's rate is 7000; it "
        "does not print a count for {4, 8}. All at once, the first burst is as large as memory, "
        "and {4, 8} keeps it; at 7,000 a second on our clock memory fills in steps, and 140 "
        f"iterations are too few for the mode to grow. {vidur.OPEN}; time by a line "
        "through Vidur's decode batches, which is faster than the paper's."
    )


FIGURE = Figure(
    id="congestion_figure_24",
    title="Lengths 4 and 8 keep the burst that they start with; 4 and 7 spread it out",
    source="Congestion, Figure 24",
    parameters=vidur.parameters(SETTINGS, None),
    size=(11.0, 5.2),
    data=data,
    draw=draw,
    caption=caption,
)
