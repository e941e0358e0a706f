"""What vLLM's RFC 54644 prints of its offline runs, and what follows from the numbers alone.

Qwen of 0.5B, 300 requests at once, last come first against least computed first, at four sizes of
memory. The recompute tax is recomputed tokens over all tokens computed. Lengths are not printed,
nor are the caps; blocks are taken as vLLM's default of 16 tokens. Bounds are exact: every number
stands for all that are printed so.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor

from fluidkv.ledger import span

REQUESTS, BLOCK_SIZE = 300, 16
POOL, NO_PREEMPTION = 4200, 2800
"""Blocks: of the machine, and with which nobody was preempted."""
WASTED, LEAST_WASTED = 623_948, 354_882
"""Tokens at 400 blocks: last come first, least computed first."""
A_PREEMPTION, LEAST_A_PREEMPTION = "415", "261"


@dataclass(frozen=True)
class Row:
    """One size of memory: blocks, tax under last come first, share of the waste that goes."""

    blocks: int
    tax: str
    saved: str


ROWS = (Row(1600, "0.322", "0.59"), Row(800, "0.579", "0.40"), Row(400, "0.788", "0.43"))


def useful() -> tuple[int, int]:
    """Least and most tokens that the 300 requests need: all computed, less the wasted."""
    low, high = span(ROWS[-1].tax)
    return ceil(WASTED * (1 / high - 1)), floor(WASTED * (1 / low - 1))


def middle_useful() -> int:
    """Useful tokens by the printed tax itself."""
    tax = Fraction(ROWS[-1].tax)
    return round(WASTED * (1 - tax) / tax)


def wasted(row: Row) -> tuple[Fraction, Fraction]:
    """Least and most tokens that last come first wastes, the requests being the same."""
    (low, high), (least, most) = span(row.tax), useful()
    return least * low / (1 - low), most * high / (1 - high)


def preemptions(wasted: int, each: str) -> tuple[int, int]:
    """Least and most preemptions that waste so much, so many tokens each."""
    low, high = span(each)
    return ceil(wasted / high), floor(wasted / low)


def tax_left(row: Row) -> tuple[Fraction, Fraction]:
    """Least and most tax once the printed share of the waste is gone."""
    (low, high), (few, many) = span(row.tax), span(row.saved)

    def left(tax: Fraction, saved: Fraction) -> Fraction:
        waste = tax / (1 - tax) * (1 - saved)
        return waste / (1 + waste)

    return left(low, many), left(high, few)


def longest_evicted() -> int:
    """Tokens that somebody evicted must have held, at least, under vLLM's rules (`most_lost`)."""
    _, most = useful()
    blocks = ceil(Fraction(WASTED - most, BLOCK_SIZE * REQUESTS))
    return (blocks - 1) * BLOCK_SIZE + 1
