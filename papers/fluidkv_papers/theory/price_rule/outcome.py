"""What a run of the price rule comes to, beside the optima of its rounds."""

from dataclasses import dataclass
from typing import Any

from fluidkv.record import Record
from fluidkv.tokenpd.knapsack.run import PriceRun


@dataclass(frozen=True)
class Outcome(Record):
    """Totals over all rounds; Fractions where the run has them.

    Fields:
        regret: of the reward against the optima of rounds within M; below 0 where overuse earns.
        violation: [sum of (used - M)]_+, units of memory: overuse and underuse netted.
        overuse: sum of [used - M]_+: how far (3) is violated, all rounds added up.
        over: rounds that violate (3).

    Examples:
        >>> from fluidkv.tokenpd import Pricing
        >>> from fluidkv.tokenpd.knapsack.pool import Pool
        >>> from fluidkv.tokenpd.knapsack.literal import literal_rounds
        >>> from fluidkv_papers.theory.price_rule import outcome_of
        >>> returns, risk = np.ones((3, 2)), np.zeros((3, 2))
        >>> pool = Pool(returns, request=[0, 0], arrival=[0, 0], end=[3, 3], risk=risk)
        >>> found = outcome_of(literal_rounds(pool, 1, Pricing(step=0.5)), budget=1)
        >>> found.regret, found.violation, found.overuse, found.over
        (-1.0, 1, 2, 2)
    """

    regret: Any
    violation: int
    overuse: int
    over: int


def outcome_of(run: PriceRun, budget: int) -> Outcome:
    """Of a run under a budget of M units.

    Examples:
        >>> from fluidkv.tokenpd import Pricing
        >>> from fluidkv.tokenpd.pricing import Budget
        >>> from fluidkv.tokenpd.knapsack.pool import Pool
        >>> from fluidkv.tokenpd.knapsack.literal import literal_rounds
        >>> from fluidkv_papers.theory.price_rule import outcome_of
        >>> returns, risk = np.ones((4, 2)), np.zeros((4, 2))
        >>> pool = Pool(returns, request=[0, 0], arrival=[0, 0], end=[4, 4], risk=risk)
        >>> runs = [literal_rounds(pool, 1, Pricing(0.5, budget=reading)) for reading in Budget]
        >>> [outcome_of(run, budget=1).regret for run in runs]  # truncated, half is lost
        [0.0, 2.0]
    """
    excess = [int(used) - budget for used in run.used]
    above = [each for each in excess if each > 0]
    regret = sum((run.optimum - run.reward).tolist())
    return Outcome(regret, max(0, sum(excess)), sum(above), len(above))
