"""Congestion, Figure 34: mixing to a divisor of 5, and rate limits, by burst factor."""

from fluidkv.papers.congestion.experiments.nodes import PARTIAL
from fluidkv.papers.congestion.figures.burst_sweep import sweep_figure

FIGURE = sweep_figure(
    34,
    "Under bursts partial mixing evicts somewhat less, and the cap x* lets none be evicted",
    PARTIAL,
    rate=0.35,
)
