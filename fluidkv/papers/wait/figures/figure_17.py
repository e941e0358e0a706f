"""WAIT, Figure 17: the memory bound over the number of segments, a heavy load, two deltas."""

from fractions import Fraction

from fluidkv.papers.wait.figures.segments import Panel, segments_figure

FIGURE = segments_figure(
    17,
    "At 100 prompts/s it is least at 11 segments, in no smooth U: tails can exceed the batch",
    Panel(100, 1, Fraction(1, 10)),
    Panel(100, 1, Fraction(1, 1000)),
)
