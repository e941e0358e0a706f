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
    """

    regret: Any
    violation: int
    overuse: int
    over: int


def outcome_of(run: PriceRun, budget: int) -> Outcome:
    """Of a run under a budget of M units."""
    excess = [int(used) - budget for used in run.used]
    above = [each for each in excess if each > 0]
    regret = sum((run.optimum - run.reward).tolist())
    return Outcome(regret, max(0, sum(excess)), sum(above), len(above))
