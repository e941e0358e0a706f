"""Regret and violation over T = 10^2 ... 10^6: long runs on drawn and adversarial rounds, on record.

Every run has eta = 1 / sqrt(T), the paper's proportion with the constant 1. `rates.csv` has a row
for each study, T and block of seeds; it is read by claims and figures, and a part of it is computed
again in the tests. Written by

    python -m fluidkv.papers.tokenpd.instances.rates PATH [SEEDS [SEEDS_AT_MOST_ROUNDS]]

with 1,000 seeds up to T = 10^5 and `LONGEST_SEEDS` at 10^6, in 50 blocks of as many seeds each, so
that intervals can be drawn from blocks. Adversarial rounds that are not drawn are the same for every
seed: they are run once.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from math import sqrt

from fluidkv.tokenpd.knapsack.sequences.adversarial import Alternating, Growing, Overload, Turning
from fluidkv.tokenpd.knapsack.sequences.draws import Sequence
from fluidkv.tokenpd.knapsack.sequences.random import Drifting, Stochastic

_FILE = files("fluidkv.papers.tokenpd.instances") / "rates.csv"

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


@dataclass(frozen=True)
class Study:
    """Rounds, and the price that the rule starts from.

    Fields:
        rounds: T -> the sequence; that of the worst case depends on eta, so on T.
        kind: stochastic, drifting or adversarial.
        budget: M; tokens cost 1.
        start: mu_1.
        usual: a price near the best fixed one; None where fixed prices are not compared.
        drawn: whether seeds differ.
    """

    rounds: Callable[[int], Sequence]
    kind: str
    budget: int
    start: float
    usual: float | None = None
    drawn: bool = True


def _always(sequence: Sequence) -> Callable[[int], Sequence]:
    return lambda rounds: sequence


def _worst(rounds: int) -> Sequence:
    """`sequences.worst_netted` with the study's eta."""
    return Alternating(2, 1, high=0.5, low=0.5 * (1 + CONSTANT / sqrt(rounds)))


_UNIFORM, _SKEWED, _DRIFTING = Stochastic(), Stochastic(skew=3.0), Drifting()

STUDIES = {
    "uniform, dear": Study(_always(_UNIFORM), "stochastic", 4, 1.0, 0.5),
    "uniform, cheap": Study(_always(_UNIFORM), "stochastic", 4, 0.1, 0.5),
    "skewed, dear": Study(_always(_SKEWED), "stochastic", 4, 1.0, 0.125),
    "drifting, dear": Study(_always(_DRIFTING), "drifting", 4, 1.0, 0.3),
    "drifting, cheap": Study(_always(_DRIFTING), "drifting", 4, 0.1, 0.3),
    "growing": Study(_always(Growing()), "drifting", 1, 1.0, drawn=False),
    "alternating": Study(_always(Alternating()), "adversarial", 1, 1.0, drawn=False),
    "alike": Study(_always(Overload(turn=0.0)), "adversarial", 1, 1.0, drawn=False),
    "alike, cheap": Study(_always(Overload(turn=0.0)), "adversarial", 1, 0.1, drawn=False),
    "idle, then busy": Study(_always(Overload()), "adversarial", 1, 1.0, drawn=False),
    "worst netted": Study(_worst, "adversarial", 1, 0.5, drawn=False),
    "two futures": Study(_always(Turning(tokens=2)), "adversarial", 1, 0.5),
}
"""Dear ones start at or above every worth, cheap ones below most."""
