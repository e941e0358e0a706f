"""Sections 5 and 6 and Appendix D: policies, and what the numerical experiments show."""

from fluidkv.papers.congestion.claims.experiments import (
    arithmetic,
    bursts,
    figure_4,
    gpu_figures,
    metastability,
    mixing,
    rate_limit,
    restart_resume,
    table_8,
    tables_4_5,
    tables_4_5_counts,
    victims,
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
    tables_4_5_counts,
    gpu_figures,
    table_8,
    bursts,
    arithmetic,
    vidur_gains,
    vidur_tables,
    vidur_bursts,
    restart_resume,
    victims,
)
"""In the order of the paper; each has its `CLAIMS`."""
