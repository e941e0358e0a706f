"""Congestion, Figure 23: memory of lengths routed apart, and of a pool with a common divisor."""

from fluidkv.papers.congestion.experiments.printed_tables import TABLE_7
from fluidkv.papers.congestion.figures.vidur_runs import routed_figure

FIGURE = routed_figure(
    23,
    "A pool with common divisor 25 pulses less than its parts, and for good",
    TABLE_7,
    iterations=2000,
    running=(640, 960),
)
