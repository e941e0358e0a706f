"""Congestion, Figure 22: memory of lengths routed apart and of their coprime pool."""

from fluidkv.papers.congestion.experiments.printed_tables import TABLE_6
from fluidkv.papers.congestion.figures.vidur_runs import routed_figure

FIGURE = routed_figure(
    22,
    "Without a common divisor the pool of four lengths forgets its start",
    TABLE_6,
    iterations=800,
    running=(780, 960),
    note="restart fills memory to the last token: one or two requests at a time go on being "
    "evicted. ",
)
