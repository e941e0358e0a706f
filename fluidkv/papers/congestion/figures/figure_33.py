"""Congestion, Figure 33: coprime mixing and rate limits, by burst factor."""

from fluidkv.papers.congestion.experiments.nodes import COPRIME
from fluidkv.papers.congestion.figures.burst_sweep import sweep_figure

FIGURE = sweep_figure(
    33,
    "Under bursts coprime mixing evicts less, and the cap x* lets none be evicted",
    COPRIME,
    rate=1.0,
)
