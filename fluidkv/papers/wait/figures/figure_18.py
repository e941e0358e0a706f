"""WAIT, Figure 18: the memory bound over the number of segments, two horizons."""

from fractions import Fraction

from fluidkv.papers.wait.figures.segments import Panel, segments_figure

FIGURE = segments_figure(
    18,
    "At 60 prompts/s it is least at 4 segments; a hundred times the horizon costs little",
    Panel(60, 1, Fraction(1, 10)),
    Panel(60, 100, Fraction(1, 10)),
)
