"""Random mixes for the tests of crossings and thresholds, seeded."""

import random
from fractions import Fraction

from fluidkv.exact.mixed.mix import LengthMix


def random_mixes(
    count: int, *, seed: int, longest: int = 16, classes: tuple[int, ...] = (2, 3, 4)
) -> list[LengthMix]:
    """Mixes of every kind: common divisors 1 to 4, equal and unequal inputs, uneven shares."""
    rng = random.Random(seed)
    mixes = []
    while len(mixes) < count:
        size = rng.choice(classes)
        divisor = rng.choice((1, 1, 2, 3, 4))
        if longest // divisor < size:
            continue
        lengths = [divisor * n for n in rng.sample(range(1, longest // divisor + 1), size)]
        parts = [rng.choice((rng.randint(1, 9), rng.randint(1, 997))) for _ in lengths]
        ratios = None
        if rng.random() < 0.5:
            ratios = [Fraction(rng.randint(1, 30), rng.randint(1, 30)) for _ in lengths]
        mixes.append(LengthMix(lengths, [Fraction(x, sum(parts)) for x in parts], ratios))
    return mixes


TOUCHING = LengthMix(
    (3, 4, 5),
    (Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)),
    (Fraction(11, 58), Fraction(62, 29), Fraction(19, 29)),
)
"""h has a double zero at cos(theta) = -1/8, where L = 1: two modes touch the circle.

Found by solving T = T' = 0 at 2 cos(theta) = -1/4 for the ratios, which enter linearly.
"""

TRIPLE = LengthMix((2, 5), (Fraction(9, 10), Fraction(1, 10)), (Fraction(2, 3), Fraction(6)))
"""h has a triple zero at z = -1, where L = 1. Found by solving T(-2) = 0 for the ratios."""

NEVER = LengthMix((1, 2), (Fraction(3, 4), Fraction(1, 4)), (Fraction(1), Fraction(3)))
"""C = A_r times a number: no root depends on L. A_r = (3/4 + 3/4) z + 3/4 and C = z + 1/2."""
