"""Congestion, Figure 21: lengths 20, 40 and 25, 50 pulse apart, and together too."""

from fluidkv.papers.congestion.figures.gcd_runs import sets_figure

FIGURE = sets_figure(
    21,
    "With a divisor of 5 left, the mixed node still pulses and evicts",
    (20, 40),
    (25, 50),
    (20, 25, 40, 50),
    input_length=30,
    iterations=800,
    width=11.0,
    capacity=1000,
)
