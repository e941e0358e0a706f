"""Figures of the paper WAIT, one a module, and what goes beyond them."""

from fluidkv.papers.wait.figures import (
    figure_7,
    figure_8,
    figure_11,
    figure_12,
    figure_13,
    figure_14,
    figure_15,
    figure_16,
    figure_17,
    figure_18,
    gap,
    overflow,
    policies,
    wrong_inputs,
)

MODULES = (
    figure_7,
    figure_8,
    figure_11,
    figure_12,
    figure_13,
    figure_14,
    figure_15,
    figure_16,
    figure_17,
    figure_18,
    policies,
    wrong_inputs,
    gap,
    overflow,
)
"""In the order of the paper, then ours; each has its `FIGURE`."""
