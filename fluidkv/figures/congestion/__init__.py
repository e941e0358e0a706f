"""Figures of the paper Congestion, one a module."""

from fluidkv.figures.congestion import (
    figure_1,
    figure_2,
    figure_3,
    figure_6,
    figure_7,
    figure_8,
    figure_9,
    figure_10,
    figure_11,
    figure_12,
    figure_13,
    figure_14,
    figure_15,
    figure_16,
    figure_17,
)

MODULES = (
    figure_1,
    figure_2,
    figure_3,
    figure_6,
    figure_7,
    figure_8,
    figure_9,
    figure_10,
    figure_11,
    figure_12,
    figure_13,
    figure_14,
    figure_15,
    figure_16,
    figure_17,
)
"""In the order of the paper; each has its `FIGURE`."""
