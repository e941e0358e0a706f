"""Congestion, Figure 18: lengths 6, 10 and 9, 15 pulse apart and settle together."""

from fluidkv.papers.congestion.figures.gcd_runs import sets_figure

FIGURE = sets_figure(
    18,
    "Two nodes that pulse apart settle when their lengths are mixed",
    (6, 10),
    (9, 15),
    (6, 9, 10, 15),
    input_length=30,
    iterations=720,
    width=11.0,
    capacity=600,
)
