"""Sections 3 and 4: the rule, the price, and what is guaranteed under which reading."""

from types import ModuleType

from fluidkv.papers.tokenpd.claims.guarantee import (
    comparators,
    hard,
    netted,
    per_step,
    price,
    protocol,
    rates,
    returning,
    rule,
)

MODULES: tuple[ModuleType, ...] = (
    comparators,
    protocol,
    rule,
    price,
    netted,
    hard,
    per_step,
    returning,
    rates,
)
"""In the order of the paper; each has its `CLAIMS`."""
