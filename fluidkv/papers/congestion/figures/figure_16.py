"""Congestion, Figure 16: decode lengths 4 and 7 settle at the equilibrium, 4 and 8 do not."""

from fluidkv.papers.congestion.figures.gcd_runs import sets_figure

FIGURE = sets_figure(
    16,
    "Lengths 4 and 7 damp the first burst; lengths 4 and 8 pulse and evict for good",
    (4, 7),
    (4, 8),
    input_length=40,
    iterations=400,
    width=9.0,
)
