"""Congestion, Figure 32: mixing and rate limits on Vidur's machine, by burst factor."""

from fluidkv.papers.congestion.experiments.printed_tables import TABLE_7
from fluidkv.papers.congestion.figures.vidur_burst_sweep import sweep_figure

FIGURE = sweep_figure(
    32,
    "With a divisor of 25 the pool still evicts under bursts; the cap at x* all but ends it",
    TABLE_7,
)
