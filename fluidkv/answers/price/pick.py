"""Which policy keeps most, and how much of that is pooling, how much the price.

A policy without a price gives each request its share of the budget, or orders the tokens of all
requests together: what the second keeps more than the first, with the same order, is what pooling
brings. A price decides token by token and never sorts: what it keeps more than the best of the
pool, with the same order, is what pricing brings.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fluidkv.answers.price.spread import Difference, Masses, difference
from fluidkv.record import Record
from fluidkv.tokenpd.eviction.policy import Choice, EvictionPolicy, Scope


@dataclass(frozen=True)
class Brings(Record):
    """What a change brings, all else alike.

    Fields:
        what: "pooling" or "pricing".
        without, with_it: names of the two policies.
        mass: what the second keeps more.

    Examples:
        >>> from fluidkv.answers import generated_attention
        >>> small = generated_attention("uneven", requests=3, prompt=2, length=6, seeds=2)
        >>> [found] = fk.price_tokens(small, 5, policies=["return", "return-pooled"]).pick.brings
        >>> found.what, found.without, found.with_it, round(found.mass.mean, 3)
        ('pooling', 'return', 'return-pooled', 0.028)
    """

    what: str
    without: str
    with_it: str
    mass: Difference

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "what": self.what,
            "without": self.without,
            "with": self.with_it,
            "mass": self.mass.to_dict(),
        }


@dataclass(frozen=True)
class Pick(Record):
    """What to take.

    Fields:
        name: of the policies that stay within the budget in every round and foresee nothing, the
            one that keeps most; None: there is none.
        close: those that are not told from it.
        behind: name -> what it keeps less than the one that keeps most.
        brings: each pair of policies that differ in pooling or in pricing alone.
    """

    name: str | None
    close: tuple[str, ...]
    behind: Mapping[str, Difference]
    brings: tuple[Brings, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "name": self.name,
            "close": list(self.close),
            "behind": {name: found.to_dict() for name, found in self.behind.items()},
            "brings": [each.to_dict() for each in self.brings],
        }


def picked(
    policies: Sequence[EvictionPolicy],
    masses: Mapping[str, Masses],
    allowed: Mapping[str, bool],
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


def _pairs(
    policies: Sequence[EvictionPolicy],
) -> list[tuple[str, EvictionPolicy, EvictionPolicy]]:
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
