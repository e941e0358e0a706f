"""Segments on which the statements about Nested WAIT are tried, and runs that several share."""

from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING

from fluidkv import wait
from fluidkv.runs.rates import RateSteps
from fluidkv.wait import theory

if TYPE_CHECKING:
    import xarray as xr

RUNS = 10_000
"""One size for all runs of counts, so that each number of segments compiles once."""

INSTANCE = "the two types of Proposition 3 (l = 1, outputs 1 and 2, two come in d0), d1 = 0"
NESTED = (3, 2)
"""The least whole thresholds that satisfy (12) there: M^pi = 15."""

FOUR_CLOCK = Fraction(1, 2), Fraction(1, 1000)
"""d0 and d1 beside `four`: a load of 0.33."""

LENGTHS = 500
SYNTHETIC = f"weights 0.99^k for outputs k = 1..{LENGTHS}, l = 62, d0 = 20 ms, d1 = 1 us a token"


def instance() -> "wait.Segments":
    """Types of Proposition 3 in units of d0: Delta T = 1 with d1 = 0."""
    return wait.Segments(1, (1, 2), (Fraction(2), Fraction(1)))


def four() -> "wait.Segments":
    """Four segments: l = 4, outputs 2, 4, 6 and 8 at equal rates, eight come per unit of time."""
    return wait.Segments(4, (2, 4, 6, 8), tuple(Fraction(rate) for rate in (8, 6, 4, 2)))


def four_types() -> "wait.WaitSystem":
    """Types of `four`, with its clock."""
    types = [wait.PromptType(2, 4, output) for output in (2, 4, 6, 8)]
    return wait.WaitSystem(types, *FOUR_CLOCK)


def synthetic(load: Fraction, *, every: int = 1) -> "wait.WaitSystem":
    """Outputs of 1..500 tokens that grow rarer: a stand-in for the paper's distribution.

    Args:
        load: rho, to nine digits.
        every: keep only outputs that are multiples of this.
    """
    types = [
        wait.PromptType(Fraction(int(10**6 * 0.99**k)), 62, k)
        for k in range(every, LENGTHS + 1, every)
    ]
    unscaled = wait.WaitSystem(types, Fraction(1, 50), Fraction(1, 10**6))
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
    return wait.simulate_chain(
        instance(),
        thresholds,
        base=1,
        per_kv_token=per_kv_token,
        runs=runs,
        horizon=float(horizon),
        seed=seed,
    )


def literal_peak(segments: "wait.Segments", thresholds: tuple[int, ...]) -> int:
    """Prompt by prompt: n_k of them at every stage from the one after the end before."""
    return sum(
        n * (segments.input_length + stage)
        for n, start, end in zip(thresholds, segments.starts, segments.ends, strict=True)
        for stage in range(start, end + 1)
    )


PIECE = 25
"""d0 between changes of the rate in `varying_runs`."""


@cache
def varying_runs(horizon: int) -> "xr.Dataset":
    """Runs of the instance where all rates halve and double; shares stay.

    The worst rates are those of the instance, for which its thresholds are the least.
    """
    worst = theory.bounds.worst_case_segments(1, (1, 2), [[1, 1], [Fraction(1, 2), Fraction(1, 2)]])
    if worst != instance():
        raise ArithmeticError("not the worst rates of the instance")
    starts = tuple(range(0, 325, PIECE))
    steps = RateSteps(starts, tuple(1 if i % 2 == 0 else 0.5 for i in range(len(starts))))
    return wait.simulate_chain(
        worst,
        NESTED,
        base=1,
        per_kv_token=0,
        runs=RUNS,
        horizon=float(horizon),
        seed=3,
        rate_steps=steps,
    )
