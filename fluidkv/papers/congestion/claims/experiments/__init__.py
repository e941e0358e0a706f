"""Sections 5 and 6 and Appendix D: policies, and what the numerical experiments show."""

from fluidkv.papers.congestion.claims.experiments import (
    bursts,
    figure_4,
    metastability,
    mixing,
    rate_limit,
    restart_resume,
    table_8,
    tables_4_5,
    vidur_arithmetic,
    vidur_bursts,
    vidur_gains,
    vidur_tables,
)

MODULES = (
    rate_limit,
    figure_4,
    metastability,
    mixing,
    tables_4_5,
    table_8,
    bursts,
    vidur_arithmetic,
    vidur_gains,
    vidur_tables,
    vidur_bursts,
    restart_resume,
)
"""In the order of the paper; each has its `CLAIMS`."""
