"""The price rule as a value: (5) with (4), and the two readings of the budget.

(5) multiplies the price by exp(eta (used - M) / M) after each round, so after any number of rounds

    mu = mu_1 exp(eta S / M),   S = sum over rounds of (used - M).

S is an integer where costs and budget are, so the engines carry S and not mu: nothing is rounded
on the way, and what the price did is known from what was used.
"""

from dataclasses import dataclass
from enum import Enum

import numpy as np

from fluidkv.record import Record
from fluidkv.runs.checks import above_0, not_negative
from fluidkv.tokenpd.objective import Objective


class Budget(Enum):
    """NETTED: a round may use more than M, and what is used above and below M is added up, as in
    the theorem. HARD: no round does, as (3) says; of what (4) wants, the best that fit stay.

    Examples:
        >>> from fluidkv.tokenpd import Pricing
        >>> from fluidkv.tokenpd.pricing import Budget
        >>> from fluidkv.tokenpd.knapsack.pool import Pool
        >>> from fluidkv.tokenpd.knapsack.literal import literal_rounds
        >>> pool = Pool([[1, 1]], request=[0, 0], arrival=[0, 0], end=[1, 1], risk=[[0, 0]])
        >>> runs = {each: literal_rounds(pool, 1, Pricing(0.5, budget=each)) for each in Budget}
        >>> {each.value: run.used.tolist() for each, run in runs.items()}
        {'netted': [2], 'hard': [1]}
    """

    NETTED = "netted"
    HARD = "hard"


class Demand(Enum):
    """What (5) sees under a hard budget: what rule (4) WANTED, or what was KEPT.

    Examples:
        >>> from fluidkv.tokenpd import Pricing
        >>> from fluidkv.tokenpd.pricing import Budget, Demand
        >>> from fluidkv.tokenpd.knapsack.pool import Pool
        >>> from fluidkv.tokenpd.knapsack.literal import literal_rounds
        >>> pool = Pool([[1, 1]], request=[0, 0], arrival=[0, 0], end=[1, 1], risk=[[0, 0]])
        >>> pricings = {each: Pricing(0.5, budget=Budget.HARD, demand=each) for each in Demand}
        >>> runs = {each.value: literal_rounds(pool, 1, p) for each, p in pricings.items()}
        >>> {name: run.imbalance.tolist() for name, run in runs.items()}
        {'wanted': [0, 1], 'kept': [0, 0]}
    """

    WANTED = "wanted"
    KEPT = "kept"


@dataclass(frozen=True)
class Pricing(Record):
    """Rule (4) with (5).

    Fields:
        step: eta, above 0. The paper takes it in proportion to 1 / sqrt(rounds).
        start: mu_1, worth per unit of memory; at 0 the price stays 0.
        risk_aversion, penalty: lambda and delta.

    Raises:
        InputError: a step not above 0; a start, risk aversion or penalty below 0.

    Examples:
        >>> from fluidkv.tokenpd import Pricing
        >>> from fluidkv.tokenpd.knapsack.pool import Pool
        >>> from fluidkv.tokenpd.knapsack.literal import literal_rounds
        >>> pool = Pool([[1, 1]], request=[0, 0], arrival=[0, 0], end=[1, 1], risk=[[0, 0]])
        >>> run = literal_rounds(pool, 1, Pricing(step=0.5, start=1))
        >>> run.price.round(2).tolist()  # two tokens were kept, one fits: exp(0.5)
        [1.0, 1.65]
    """

    step: float
    start: float = 1.0
    budget: Budget = Budget.NETTED
    demand: Demand = Demand.WANTED
    objective: Objective = Objective.RULE
    risk_aversion: float = 0.0
    penalty: float = 0.0

    def __post_init__(self) -> None:
        for name in ("step", "start", "risk_aversion", "penalty"):
            if isinstance(number := getattr(self, name), np.generic):  # single precision spreads
                object.__setattr__(self, name, number.item())
        above_0("step", self.step)
        for name in ("start", "risk_aversion", "penalty"):
            not_negative(name, getattr(self, name))
