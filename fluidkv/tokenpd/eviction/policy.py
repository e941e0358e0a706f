"""A policy as a value: what tokens are ordered by, among whom they compete, and how many stay."""

from dataclasses import dataclass
from enum import Enum
from typing import Any

from fluidkv.runs.checks import count, instance
from fluidkv.tokenpd.pricing import Pricing


class Scope(Enum):
    """UNIFORM: each running stream has the same share of the budget. POOLED: one budget for all."""

    UNIFORM = "uniform"
    POOLED = "pooled"


class Choice(Enum):
    """BEST: the best that fit stay. PRICE: rule (4) under the policy's `Pricing`, whose budget is
    netted or hard. HEAP: section 5: the excess value that each token had when it was written is
    recorded, and the smallest go until the rest fits."""

    BEST = "best"
    PRICE = "price"
    HEAP = "heap"


@dataclass(frozen=True)
class EvictionPolicy:
    """Which tokens stay.

    Fields:
        name: what it is called in tables.
        score: a `Scorer`: what tokens are ordered by; the highest stay.
        sinks: so many first tokens of each stream go last of all.
        window: so many newest tokens of each stream go last but for the sinks.
        pricing: for Choice.PRICE and Choice.HEAP.

    Raises:
        InputError: a negative count, or a price where none is asked for or none where one is.
    """

    name: str
    score: Any
    scope: Scope = Scope.UNIFORM
    choice: Choice = Choice.BEST
    sinks: int = 0
    window: int = 0
    pricing: Pricing | None = None

    def __post_init__(self) -> None:
        count("sinks", self.sinks, least=0)
        count("window", self.window, least=0)
        instance("scope", self.scope, Scope, "Scope.UNIFORM or Scope.POOLED")
        instance("choice", self.choice, Choice, "Choice.BEST, Choice.PRICE or Choice.HEAP")
        if self.choice is not Choice.BEST:
            instance("pricing", self.pricing, Pricing, "a Pricing")
