"""Systems on which the statements are tried: random rational ones, and the paper's instances."""

from collections.abc import Iterator
from fractions import Fraction
from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from fluidkv.wait.model import WaitSystem

RANDOM = "200 random rational systems of 1 to 4 types (seed 1), loads below 1"
_COUNT = 200


def random_systems() -> "Iterator[WaitSystem]":
    """Systems of small lengths and rates, scaled to a random load below 1."""
    from fluidkv.wait.model import PromptType, WaitSystem

    draw = Random(1)
    pairs = [(length, output) for length in range(1, 6) for output in range(1, 6)]
    for _ in range(_COUNT):
        lengths = draw.sample(pairs, draw.randint(1, 4))
        types = [PromptType(_rational(draw), *pair) for pair in lengths]
        system = WaitSystem(types, _rational(draw), _rational(draw))
        load = Fraction(draw.randint(1, 19), 20)
        yield system.scaled(load / system.load)


def hello(
    rate: Fraction | int = 4,
    *,
    base: Fraction = Fraction(1, 2),
    per_kv_token: Fraction = Fraction(1, 24),
) -> "WaitSystem":
    """Examples 1 and 2: l = l' = 1; by default four come in an iteration of the equilibrium."""
    from fluidkv.wait.model import PromptType, WaitSystem

    return WaitSystem((PromptType(rate, 1, 1),), base, per_kv_token)


def proposition_3(base: Fraction = Fraction(1, 2)) -> "WaitSystem":
    """Its two types, l = 1 and l' = 1, 2, at equal rates that make n* = 1, 1 and tau* = 1.

    tau* = d0 + 9 d1 = 1 for any d0 in (0, 1): the paper gives no clock.
    """
    from fluidkv.wait.model import PromptType, WaitSystem

    types = (PromptType(1, 1, 1), PromptType(1, 1, 2))
    return WaitSystem(types, base, (1 - base) / 9)


TWO_TYPES = {"equality": (2, 2), "slack in one": (2, 1), "slack": (1, 1)}
"""Which types have slack below n = 2, 2 -> their rates."""


def two_types(case: str) -> "WaitSystem":
    """l = 1, l' = 1 and 2, d0 = 1/2; Delta T = 1 at n = 2, 2 whatever the rates."""
    from fluidkv.wait.model import PromptType, WaitSystem

    rates = TWO_TYPES[case]
    types = [PromptType(rate, 1, output) for rate, output in zip(rates, (1, 2), strict=True)]
    return WaitSystem(types, Fraction(1, 2), Fraction(1, 36))


def margin(values: "ArrayLike", chance: float = 1e-6) -> float:
    """What a mean of a few runs may be off by: standard errors times Student's quantile.

    Args:
        values: one a run.
        chance: that a right record is off by more, one-sided. With n runs the quantile is that of
            n - 1 degrees of freedom: 5 runs need many more errors than 500.
    """
    import numpy as np
    from scipy.stats import t

    runs = np.asarray(values, np.float64)
    error = float(runs.std(ddof=1)) / runs.size**0.5
    return error * float(t.ppf(1 - chance, runs.size - 1))


def _rational(draw: Random) -> Fraction:
    return Fraction(draw.randint(1, 30), draw.randint(1, 30))
