"""Segments on which the statements about Nested WAIT are tried, and runs that several share."""

from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import xarray as xr

    from fluidkv.wait.model import WaitSystem
    from fluidkv.wait.segments import Segments

RUNS = 10_000
"""One size for all runs of counts, so that each number of segments compiles once."""

INSTANCE = "the two types of Proposition 3 (l = 1, outputs 1 and 2, two come in d0), d1 = 0"
NESTED = (3, 2)
"""The least whole thresholds that satisfy (12) there: M^pi = 15."""


def instance() -> "Segments":
    """Types of Proposition 3 in units of d0: Delta T = 1 with d1 = 0."""
    from fluidkv.wait.segments import Segments

    return Segments(1, (1, 2), (Fraction(2), Fraction(1)))


def four() -> "Segments":
    """Four segments: l = 4, outputs 2, 4, 6 and 8 at equal rates, eight come in a unit of time."""
    from fluidkv.wait.segments import Segments

    return Segments(4, (2, 4, 6, 8), tuple(Fraction(rate) for rate in (8, 6, 4, 2)))


FOUR_CLOCK = Fraction(1, 2), Fraction(1, 1000)
"""d0 and d1 beside `four`: a load of 0.33."""

LENGTHS = 500
SYNTHETIC = f"weights 0.99^k for outputs k = 1..{LENGTHS}, l = 62, d0 = 20 ms, d1 = 1 us a token"


def synthetic(load: Fraction, *, every: int = 1) -> "WaitSystem":
    """Outputs of 1..500 tokens that grow rarer: a stand-in for the paper's distribution.

    Args:
        load: rho, to nine digits.
        every: keep only outputs that are multiples of this.
    """
    from fluidkv.wait.model import PromptType, WaitSystem

    types = [
        PromptType(Fraction(int(10**6 * 0.99**k)), 62, k) for k in range(every, LENGTHS + 1, every)
    ]
    unscaled = WaitSystem(types, Fraction(1, 50), Fraction(1, 10**6))
    return unscaled.scaled((load / unscaled.load).limit_denominator(10**9))


@cache
def instance_runs(
    thresholds: tuple[int, int],
    horizon: int,
    seed: int = 0,
    per_kv_token: Fraction = Fraction(0),
    runs: int = RUNS,
) -> "xr.Dataset":
    """Runs of the instance; d0 = 1."""
    from fluidkv.wait.chain.simulate import simulate_chain

    return simulate_chain(
        instance(),
        thresholds,
        base=1,
        per_kv_token=per_kv_token,
        runs=runs,
        horizon=float(horizon),
        seed=seed,
    )


def mean_and_error(values: object) -> tuple[float, float]:
    """Mean over runs and its standard error."""
    import numpy as np

    table = np.asarray(values, np.float64)
    return float(table.mean()), float(table.std(ddof=1)) / table.size**0.5


def at_most(count: int, of: int, confidence: float = 0.99) -> float:
    """Clopper and Pearson's upper end, one-sided, of the chance of what was seen `count` times."""
    from scipy.stats import beta

    return 1.0 if count == of else float(beta.ppf(confidence, count + 1, of - count))
