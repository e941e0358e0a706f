"""Section 4 and Appendix B: requests of several lengths."""

from fluidkv.claims.congestion.mixed import (
    drift,
    energy_descent,
    example_8,
    example_9,
    examples,
    figure_3,
    figures_16_17,
    finite_exit,
    identities,
    limit_roots,
    lyapunov,
    lyapunov_examples,
    pulse,
    recurrence,
    theorem_22,
    theorem_24,
)

MODULES = (
    examples,
    figure_3,
    recurrence,
    identities,
    finite_exit,
    pulse,
    limit_roots,
    example_8,
    drift,
    example_9,
    theorem_24,
    lyapunov,
    lyapunov_examples,
    theorem_22,
    energy_descent,
    figures_16_17,
)
"""In the order of the paper; each has its `CLAIMS`."""
