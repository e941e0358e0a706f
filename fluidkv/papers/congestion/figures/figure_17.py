"""Congestion, Figure 17: of three sets of three decode lengths, the one with a divisor pulses."""

from fluidkv.papers.congestion.figures.gcd_runs import sets_figure

FIGURE = sets_figure(
    17,
    "Three lengths without a common divisor settle at the equilibrium; with one they pulse",
    (2, 7, 12),
    (2, 9, 12),
    (2, 8, 12),
    input_length=30,
    iterations=600,
    width=10.0,
)
