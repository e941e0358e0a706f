"""Congestion, Figure 31: mixing and rate limits on Vidur's machine, by burst factor."""

from fluidkv.papers.congestion.experiments.printed_tables import TABLE_6
from fluidkv.papers.congestion.figures.vidur_burst_sweep import sweep_figure

FIGURE = sweep_figure(
    31, "Under bursts the coprime pool evicts next to nothing; capped at x*, nobody does", TABLE_6
)
