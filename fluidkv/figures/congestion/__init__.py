"""Figures of the paper Congestion, one a module."""

from fluidkv.figures.congestion import figure_1, figure_2, figure_6, figure_7, figure_8, figure_9

MODULES = (figure_1, figure_2, figure_6, figure_7, figure_8, figure_9)
"""In the order of the paper; each has its `FIGURE`."""
