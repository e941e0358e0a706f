"""Regret and violation over T = 10^2 ... 10^6: long runs on drawn and adversarial rounds.

Every run has eta = 1 / sqrt(T), the paper's proportion with the constant 1. `rates.csv` has a row
for each study, T and block of seeds; it is read by claims and figures, and a part of it is computed
again in the tests. Written by

    python -m fluidkv_papers.tokenpd.instances.rates [SEEDS [SEEDS_AT_10^6]]

with 1,000 seeds up to T = 10^5 and 100 at 10^6, in 50 blocks of as many seeds each, from which
intervals are drawn. Adversarial rounds that are not drawn are the same for every seed: one is run.
"""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from math import sqrt

import numpy as np
from jaxtyping import Float

from fluidkv.tokenpd.knapsack.sequences.adversarial import Alternating, Growing, Overload, Turning
from fluidkv.tokenpd.knapsack.sequences.draws import Sequence
from fluidkv.tokenpd.knapsack.sequences.random import Drifting, Stochastic
from fluidkv.tokenpd.knapsack.sequences.sums import PriceSums, price_sums
from fluidkv.tokenpd.pricing import Budget, Demand, Pricing
from fluidkv_papers.records import Table
from fluidkv_papers.theory.price_rule.exponents import Exponent, fit_exponent
from fluidkv_papers.theory.price_rule.hindsight import fixed_price_between

_TABLE = Table(__file__)

HORIZONS = (10**2, 10**3, 10**4, 10**5, 10**6)
SEEDS, LONGEST_SEEDS, BLOCKS = 1000, 100, 50
CONSTANT = 1.0
"""eta sqrt(T)."""

MEASURES = (
    "rounds_netted",
    "rounds_hard",
    "rounds_kept",
    "price_netted",
    "price_gap",
    "violation",
    "overuse",
)
"""What is recorded, means over the seeds of a block.

rounds_netted, rounds_hard, rounds_kept: regret against the optima of rounds where rounds may
overuse; under a hard budget with (5) moved by what was wanted; and by what was kept. Under a hard
budget the best fixed price earns what the optima of rounds do, so that is its regret, too.
price_netted: regret, netted, against the best fixed price that uses T M at most, from above.
price_gap: how much less that may be (`hindsight`). violation: [S]_+. overuse: sum of [g]_+.
"""


Prices = Callable[[int], tuple[float, ...]]


@dataclass(frozen=True)
class Study:
    """Rounds, and the price that the rule starts from.

    Fields:
        rounds: T -> the sequence; that of the worst case depends on eta, so on T.
        kind: stochastic, drifting or adversarial.
        budget: M; tokens cost 1.
        start: mu_1.
        prices: T -> fixed prices that are run beside: all values that occur, or some near the best.
        all_values: which of the two.
        drawn: whether seeds differ.
    """

    rounds: Callable[[int], Sequence]
    kind: str
    budget: int
    start: float
    prices: Prices
    all_values: bool = False
    drawn: bool = True


def _always(sequence: Sequence) -> Callable[[int], Sequence]:
    return lambda rounds: sequence


def _near(price: float) -> Prices:
    """Nine prices, 0.25 / sqrt(T) apart: five deviations of the quantile either way, and more."""
    return lambda rounds: tuple(max(0.0, price + k * 0.25 / sqrt(rounds)) for k in range(-4, 5))


def _values(*values: float) -> Prices:
    return lambda rounds: values


def _drawn(sequence: Sequence, kind: str, start: float, near: float) -> Study:
    return Study(_always(sequence), kind, 4, start, _near(near))


def _written(sequence: Sequence, start: float, *values: float) -> Study:
    """Adversarial rounds of few values, the same for every seed."""
    return Study(_always(sequence), "adversarial", 1, start, _values(*values), True, False)


def _dear(rounds: int) -> float:
    """(1 + eta) / 2, for `sequences.worst_netted`."""
    return 0.5 * (1 + CONSTANT / sqrt(rounds))


_ALIKE = Overload(turn=0.0)
STUDIES = {
    "uniform, dear": _drawn(Stochastic(), "stochastic", 1.0, 0.5),
    "uniform, cheap": _drawn(Stochastic(), "stochastic", 0.1, 0.5),
    "skewed, dear": _drawn(Stochastic(skew=3.0), "stochastic", 1.0, 0.125),
    "drifting, dear": _drawn(Drifting(), "drifting", 1.0, 0.2383),
    "drifting, cheap": _drawn(Drifting(), "drifting", 0.1, 0.2383),
    "growing": Study(_always(Growing()), "drifting", 1, 1.0, _near(0.5), drawn=False),
    "alternating": _written(Alternating(), 1.0, 0.5, 1.0),
    "alike": _written(_ALIKE, 1.0, 1.0),
    "alike, cheap": _written(_ALIKE, 0.1, 1.0),
    "idle, then busy": _written(Overload(), 1.0, 1.0),
    "worst netted": Study(
        lambda rounds: Alternating(2, 1, high=0.5, low=_dear(rounds)),
        "adversarial",
        1,
        0.5,
        lambda rounds: (0.5, _dear(rounds)),
        all_values=True,
        drawn=False,
    ),
    "two futures": Study(
        _always(Turning(tokens=2)), "adversarial", 1, 0.5, _values(0.5, 1.0), all_values=True
    ),
}
"""Dear ones start at or above every worth, cheap ones below most of them; the prices near the best
of `Drifting` are from a trial of 128 seeds (0.23828 uses a little more than M on average)."""


def computed(study: Study, rounds: int, seeds: int) -> dict[str, Float[np.ndarray, " seed"]]:
    """Each measure of each seed."""
    sequence, step = study.rounds(rounds), CONSTANT / sqrt(rounds)
    run = partial(price_sums, sequence, study.budget, rounds=rounds, seeds=seeds)
    sums = run(Pricing(step, study.start), prices=study.prices(rounds))
    kept = run(Pricing(step, study.start, Budget.HARD, Demand.KEPT))
    low, high = _best_price(study, sums)
    values = {
        "rounds_netted": sums.optimum - sums.netted,
        "rounds_hard": sums.optimum - sums.hard,
        "rounds_kept": kept.optimum - kept.hard,
        "price_netted": high - sums.netted,
        "price_gap": high - low,
        "violation": np.maximum(sums.imbalance, 0).astype(np.float64),
        "overuse": sums.above.astype(np.float64),
    }
    return {name: values[name] for name in MEASURES}


def _best_price(study: Study, sums: PriceSums) -> tuple[np.ndarray, np.ndarray]:
    if not study.all_values:
        return fixed_price_between(sums, study.budget)
    allowed = sums.fixed_used <= sums.rounds * study.budget
    best = np.where(allowed, sums.fixed_netted, 0.0).max(axis=0)
    return best, best


def seeds_of(study: Study, rounds: int, seeds: int, longest: int) -> int:
    """How many are run."""
    return 1 if not study.drawn else longest if rounds == HORIZONS[-1] else seeds


def rows(name: str, rounds: int, seeds: int) -> Iterator[list[str]]:
    """Those of one study and length: blocks of seeds, means, and shares of seeds above 0."""
    found = computed(STUDIES[name], rounds, seeds)
    for block, places in enumerate(np.array_split(np.arange(seeds), min(seeds, BLOCKS))):
        means = [f"{values[places].mean():.9g}" for values in found.values()]
        shares = [f"{(values[places] > 0).mean():.6g}" for values in found.values()]
        yield [name, str(rounds), str(block), str(len(places)), *means, *shares]


HEADER = ["study", "rounds", "block", "seeds", *MEASURES, *(f"{each}_above_0" for each in MEASURES)]


def record(seeds: int = SEEDS, longest: int = LONGEST_SEEDS) -> None:
    """Run all studies and write them, study by study."""
    parts = (
        rows(name, rounds, seeds_of(study, rounds, seeds, longest))
        for name, study in STUDIES.items()
        for rounds in HORIZONS
    )
    _TABLE.write(HEADER, (row for part in parts for row in part))


@dataclass(frozen=True)
class Recorded:
    """One measure of one study at one T.

    Fields:
        blocks: means over blocks of seeds.
        seeds: how many, in all blocks.
        above_0: share of seeds at which it is above 0.
    """

    blocks: Float[np.ndarray, " block"]
    seeds: int
    above_0: float


@cache
def recorded() -> dict[tuple[str, str], dict[int, Recorded]]:
    """What is on record: (study, measure) -> T -> blocks."""
    table = _TABLE.lines()
    found: dict[tuple[str, str], dict[int, Recorded]] = {}
    for name in STUDIES:
        for rounds in HORIZONS:
            here = [row for row in table if (row["study"], row["rounds"]) == (name, str(rounds))]
            sizes = np.array([int(row["seeds"]) for row in here])
            for measure in MEASURES:
                blocks = np.array([float(row[measure]) for row in here])
                shares = np.array([float(row[f"{measure}_above_0"]) for row in here])
                share = float((shares * sizes).sum() / sizes.sum())
                record = Recorded(blocks, int(sizes.sum()), share)
                found.setdefault((name, measure), {})[rounds] = record
    return found


@cache
def exponent(study: str, measure: str, least: int = HORIZONS[0]) -> Exponent:
    """The power of T that a measure follows, from T = `least` on; `fit_exponent` says how."""
    at = recorded()[study, measure]
    return fit_exponent({T: each.blocks for T, each in at.items() if least <= T})


if __name__ == "__main__":
    record(*map(int, sys.argv[1:]))
