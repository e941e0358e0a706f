"""Which policy keeps most, and how much of that is pooling, how much the price.

A policy without a price gives each request its share of the budget, or orders the tokens of all
requests together: what the second keeps more than the first, with the same order, is what pooling
brings. A price decides token by token and never sorts: what it keeps more than the best of the
pool, with the same order, is what pricing brings.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fluidkv.answers.price.result import Brings, Pick
from fluidkv.answers.price.spread import Masses, difference
from fluidkv.tokenpd.eviction.policy import Choice, EvictionPolicy, Scope


def picked(
    policies: Sequence[EvictionPolicy], masses: Mapping[str, Masses], allowed: Mapping[str, bool]
) -> Pick:
    """The policy that keeps most, and what pooling and pricing bring.

    Args:
        policies: compared.
        masses: name -> of each run, the mass that each request keeps.
        allowed: name -> whether it may be taken.
    """
    brings = tuple(
        Brings(what, a.name, b.name, difference(masses[b.name], masses[a.name]))
        for what, a, b in _pairs(policies)
    )
    names = [each.name for each in policies if allowed[each.name]]
    if not names:
        return Pick(None, (), {}, brings)
    best = max(names, key=lambda name: np.mean([run.mean() for run in masses[name]]))
    others = [name for name in names if name != best]
    behind = {
        name: difference(masses[best], masses[name], comparisons=len(others)) for name in others
    }
    close = tuple(name for name, found in behind.items() if not found.told)
    return Pick(best, close, behind, brings)


def _pairs(policies: Sequence[EvictionPolicy]) -> list[tuple[str, EvictionPolicy, EvictionPolicy]]:
    """Pairs that differ in one thing alone."""
    found = []
    for a in policies:
        for b in policies:
            if not _same_order(a, b) or a.choice is not Choice.BEST:
                continue
            if (a.scope, b.scope, b.choice) == (Scope.UNIFORM, Scope.POOLED, Choice.BEST):
                found.append(("pooling", a, b))
            elif a.scope is b.scope is Scope.POOLED and b.choice is Choice.PRICE:
                found.append(("pricing", a, b))
    return found


def _same_order(a: EvictionPolicy, b: EvictionPolicy) -> bool:
    """Whether the two order tokens alike, whoever competes and however many stay."""
    return bool(_order(a) == _order(b))


def _order(policy: EvictionPolicy) -> tuple[Any, ...]:
    score, pricing = policy.score, policy.pricing
    predictor = getattr(score, "predictor", None)
    if predictor is None:
        by = score
    else:  # a pricing says how returns and risks are weighed, else the scorer does
        by = (predictor, (score if pricing is None else pricing).risk_aversion)
    return by, policy.sinks, policy.window, policy.window_share
