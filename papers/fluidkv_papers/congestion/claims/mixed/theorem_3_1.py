"""Congestion, Theorem 3 (1): lengths with a common divisor, how many modes grow, who leaves."""

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import product

from fluidkv import exact, fluid, runs
from fluidkv.ledger import Evidence, Seen, np
from fluidkv_papers.congestion.instances.return_survey import system_of
from fluidkv_papers.congestion.paper import statements

CLAIMS = statements()

_HALF = Fraction(1, 2)


def _latest(seen: list[tuple[int, str]]) -> str:
    return "{}, {}".format(*max(seen, key=lambda found: found[0]))


def _common() -> Iterator[tuple[int, int, Fraction]]:
    pairs = ((a, n) for n in range(4, 13) for a in range(2, n) if math.gcd(a, n) > 1)
    tenths = (Fraction(1, 10), _HALF, Fraction(9, 10))
    return ((a, n, share) for (a, n), share in product(pairs, tenths))


@CLAIMS.claim(
    "theorem-3.1.count",
    "Theorem 3 (1)",
    over=_common,
    ours=lambda seen: (
        f"in all {{count}} mixes, for every l0 beyond some; the largest is {_latest(seen)}"
    ),
    refuted=Evidence.BALL,
)
def _common_divisor_count(a: int, n: int, share: Fraction) -> Seen | str:
    """With a common divisor g of two decode lengths, g - 1 modes grow and the others decay, for all
    l0 from some length on.

    Checked: all pairs with a common divisor up to 12, p = 1/10, 1/2, 9/10, every l0
    Paper: g - 1 unstable roots and n - g stable ones, for all sufficiently large l0
    Note: Of these mixes proved, in balls: crossings of the unit circle cut the axis of l0; none
    lies beyond."""
    last = exact.input_threshold(exact.two_lengths(a, n, share)).windows[-1]
    counted = (last.growing_modes, last.neutral_modes) == (math.gcd(a, n) - 1, 0)
    mix = f"({a}, {n}), p = {share}"
    return Seen((last.first, mix)) if counted and last.last is None else f"{mix}: {last}"


@CLAIMS.claim(
    "theorem-3.1.leaves",
    "Theorem 3 (1), last sentence",
    over=lambda: product(((2, 6), (3, 6), (4, 6)), (1e-2, 1e-4)),
    refuted=Evidence.FLOAT,
)
def _leaves(pair: tuple[int, int], size: float) -> bool | str:
    """Then small perturbations of the equilibrium lead to eviction in finite time.

    Checked: (2, 6), (3, 6), (4, 6) at l0 = 50; 80 starts each
    Ours: in {count} batches of 40 all starts reach eviction, and none comes back for good
    Paper: leaves the region without evictions in finite time
    Note: l0 = 50, equal shares; uniform starts shrunk towards the equilibrium by 0.0001 and 0.01.
    Those without projection on the unstable modes have measure 0."""
    system = system_of(exact.two_lengths(*pair, _HALF), 50)
    near: dict = {"around": fluid.cohort_model(system).equilibrium()[0], "size": size}
    starts = fluid.uniform_starts(runs.random_key(3), system, count=40, **near)
    found = fluid.convergence(system, starts, iterations=5_000)
    stays = (found.last_eviction.values == 0) | (found.outcome.values == fluid.RETURNED)
    return not np.any(stays) or f"{pair}, size {size}: {int(stays.sum())} starts never evict"
