"""A policy as a value: what tokens are ordered by, among whom they compete, and how many stay."""

from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import Any

from fluidkv.errors import InputError
from fluidkv.record import Record
from fluidkv.runs.checks import count, instance
from fluidkv.tokenpd.pricing import Pricing


class Scope(Enum):
    """POOLED: one budget for all streams. UNIFORM: each stream that goes on has the same share.

    Shares are rounded down; tokens that are left over go to the first streams, one each. So of a
    budget below one token for each stream, the first streams have one token and the others none.

    Examples:
        >>> from fluidkv.tokenpd import policy
        >>> from fluidkv.tokenpd.eviction.policy import Scope
        >>> [policy(name).scope is Scope.POOLED for name in ("h2o", "h2o-pooled")]
        [False, True]
    """

    UNIFORM = "uniform"
    POOLED = "pooled"


class Choice(Enum):
    """ALL: nothing is evicted, whatever the budget: the yardstick. BEST: the best that fit stay.

    PRICE: rule (4) under the policy's `Pricing`: all stay whose worth is no less than the price, or
    of these the best that fit under a hard budget; one price for all streams, so `Scope.POOLED`.
    HEAP: section 5: the excess value that each token had when it was written is recorded, and the
    smallest go until the rest fits; what (5) sees as wanted is all that was there before.

    Examples:
        >>> from fluidkv.tokenpd import Pricing, policies
        >>> from fluidkv.tokenpd.eviction.policy import Choice
        >>> from fluidkv.tokenpd.returns.averages import LastSeen
        >>> every = policies(LastSeen(), Pricing(step=0.1))
        >>> every["full"].choice
        <Choice.ALL: 'all'>
        >>> [name for name, each in every.items() if each.choice is Choice.PRICE]
        ['token-pd', 'token-pd-hard']
    """

    ALL = "all"
    BEST = "best"
    PRICE = "price"
    HEAP = "heap"


@dataclass(frozen=True)
class EvictionPolicy(Record):
    """Which tokens stay.

    Fields:
        name: what it is called in tables.
        score: a `Scorer`: what tokens are ordered by; the highest stay.
        sinks: so many first tokens of each stream go last of all.
        window: so many newest tokens of each stream go last but for the sinks.
        window_share: the same, as a share of what each stream would have of the budget if all that
            go on had the same; rounded down, added to `window`.
        pricing: for Choice.PRICE and Choice.HEAP. Its risk aversion, penalty and objective make
            returns and risks into worths, whatever the scorer says of them.

    Raises:
        InputError: a negative count, a share outside [0, 1], a price where none is asked for or
            none where one is, or Choice.PRICE in Scope.UNIFORM.

    Examples:
        >>> from fluidkv.tokenpd import generated, generators, evict
        >>> from fluidkv.tokenpd.eviction.policy import EvictionPolicy
        >>> from fluidkv.tokenpd.eviction.scorers import Accumulated
        >>> mine = EvictionPolicy("mine", Accumulated(), sinks=1, window=2)
        >>> attention = generated(generators()["sinks"], 0, requests=2, prompt=4, length=12)
        >>> run = evict(attention, 12, mine)
        >>> round(float(run.mean_mass), 2), round(float(run.mean_optimum), 2)
        (0.83, 0.95)
    """

    name: str
    score: Any
    scope: Scope = Scope.UNIFORM
    choice: Choice = Choice.BEST
    sinks: int = 0
    window: int = 0
    window_share: Fraction = Fraction(0)
    pricing: Pricing | None = None

    def __post_init__(self) -> None:
        count("sinks", self.sinks, least=0)
        count("window", self.window, least=0)
        if not 0 <= self.window_share <= 1:
            raise InputError("window_share", self.window_share, "a Fraction from 0 to 1")
        if self.choice in (Choice.PRICE, Choice.HEAP):
            instance("pricing", self.pricing, Pricing, "a Pricing")
        elif self.pricing is not None:
            raise InputError("pricing", self.pricing, "None, where nothing is priced")
        if self.choice is Choice.PRICE and self.scope is not Scope.POOLED:
            raise InputError("scope", self.scope, "Scope.POOLED: one price for all streams")
