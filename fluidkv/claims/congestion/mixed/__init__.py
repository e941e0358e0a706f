"""Section 4 and Appendix B: requests of several lengths."""

from fluidkv.claims.congestion.mixed import (
    drift,
    energy_descent,
    example_9,
    examples,
    exit,
    figure_3,
    identities,
    limit_roots,
    lyapunov,
    lyapunov_examples,
    pulse,
    theorem_22,
    theorem_24,
)

MODULES = (
    examples,
    figure_3,
    identities,
    exit,
    pulse,
    limit_roots,
    drift,
    example_9,
    theorem_24,
    lyapunov,
    lyapunov_examples,
    theorem_22,
    energy_descent,
)
"""In the order of the paper; each has its `CLAIMS`."""
