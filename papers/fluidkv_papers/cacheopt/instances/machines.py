"""OPT-13B on an A100, in rationals: what it costs to bring S tokens back."""

from fractions import Fraction
from typing import NamedTuple

from fluidkv.preempt.restoring.roofline import A100_FLOPS, OPT_13B, PCIE4_BYTES

WEIGHTS = int(OPT_13B.parameters)
PAIR = 4 * OPT_13B.layers * OPT_13B.attended
"""Operations for a pair of tokens, all layers: twice 2 h."""
PEAK, BUS = int(A100_FLOPS), int(PCIE4_BYTES)
SPOT = 4000
"""Tokens: the paper's sweet spot."""


def operations(tokens: int) -> int:
    """Counted token by token: all weights, and itself and each before it."""
    return sum(2 * WEIGHTS + PAIR * place for place in range(1, tokens + 1))


class Recomputation(NamedTuple):
    """alpha S^2 + kappa S, seconds."""

    alpha: Fraction
    kappa: Fraction

    def __call__(self, tokens: int | Fraction) -> Fraction:
        return self.alpha * tokens**2 + self.kappa * tokens

    def crossing(self, per_token: Fraction) -> Fraction:
        """The length at which copies out and in take as long; 0 or less: swapping is faster."""
        return (per_token - self.kappa) / self.alpha


def recomputation(share: Fraction) -> Recomputation:
    """At this share of the GPU's operations."""
    speed = share * PEAK
    return Recomputation(Fraction(PAIR, 2) / speed, (2 * WEIGHTS + Fraction(PAIR, 2)) / speed)


def out_and_in(bandwidth: Fraction | int) -> Fraction:
    """Seconds to copy a token out and in."""
    return 2 * OPT_13B.kv_bytes / Fraction(bandwidth)


def bandwidth_for(spot: int, share: Fraction) -> Fraction:
    """Bytes a second with which the sweet spot is this one."""
    return 2 * OPT_13B.kv_bytes * spot / recomputation(share)(spot)
