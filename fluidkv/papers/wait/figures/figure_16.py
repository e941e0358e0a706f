"""WAIT, Figure 16: the memory bound over the number of segments, a light load, two deltas."""

from fractions import Fraction

from fluidkv.papers.wait.figures.segments import Panel, segments_figure

FIGURE = segments_figure(
    16,
    "At 30 prompts/s the memory bound is least at 3 segments",
    Panel(30, 1, Fraction(1, 10)),
    Panel(30, 1, Fraction(1, 1000)),
)
