"""The two-class systems on which section B.10 is checked, and its formulas written out."""

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import product

from fluidkv import exact
from fluidkv.exact.one_class.cycles import State
from fluidkv.ledger import Range
from fluidkv.workload import System

INPUTS = (1, 2, 7, 50)
SHARES = tuple(Fraction(q) for q in ("1/100", "1/3", "1/2", "4/5", "99/100"))
HALF = Fraction(1, 2)

Case = tuple[int, int, int, Fraction, Fraction]
"""a, b, l0, q, M."""


def pairs(longest: int = 10) -> Iterator[tuple[int, int]]:
    """a < b with a common divisor, shortest b first."""
    ordered = ((a, b) for b in range(2, longest + 1) for a in range(1, b))
    return ((a, b) for a, b in ordered if math.gcd(a, b) > 1)


def pair_system(a: int, b: int, input_length: int, q: Fraction, capacity: Fraction | int) -> System:
    return System(exact.two_lengths(a, b, 1 - q).workload(input_length), capacity)


def named(a: int, b: int, l0: int, q: Fraction, m: Fraction, *more: object) -> str:
    return f"(a, b) = ({a}, {b}), l0 = {l0}, q = {q}, M = {m}"


def systems(longest: int = 10, inputs: tuple[int, ...] = INPUTS) -> Range:
    """(a, b, l0, q, M), M once just above the largest request and once large."""

    def cases() -> Iterator[Case]:
        for (a, b), l0, q in product(pairs(longest), inputs, SHARES):
            yield a, b, l0, q, l0 + b + Fraction(1, 3)
        for a, b in pairs(longest):
            yield a, b, 50, HALF, Fraction(10**6)

    return Range(
        f"all a < b <= {longest} with gcd > 1, l0 in {inputs}, q in 1/100 ... 99/100, M of two",
        cases,
        name=named,
    )


def weights(a: int, b: int, l0: int, q: Fraction) -> list[Fraction]:
    """V of Lemma 30."""
    return [(l0 + 1 + j) * (Fraction(1) if j < a else q) for j in range(b)]


def printed_orbit(
    a: int, b: int, l0: int, q: Fraction, m: Fraction
) -> tuple[Fraction, list[Fraction], list[tuple[Fraction, ...]]]:
    """beta, alpha_r and Z^(r) of Proposition 31."""
    g = math.gcd(a, b)
    v = weights(a, b, l0, q)
    beta = m / sum(v[g - 1 :: g])
    alphas = [(m - beta * sum(v[r + g :: g])) / v[r] for r in range(g)]
    states = []
    for r, alpha in enumerate(alphas):
        state = [beta if j % g == r else Fraction(0) for j in range(b)]
        state[r] = alpha
        states.append(tuple(state))
    return beta, alphas, states


def class_masses(a: int, q: Fraction, y: State | list[Fraction]) -> list[list[Fraction]]:
    """Both classes of a cohort vector, as Lemma 30 has them: x_1j = p y_j, x_2j = q y_j."""
    return [[(1 - q) * x for x in y[:a]], [q * x for x in y]]


def printed_throughput(a: int, b: int, l0: int, q: Fraction, m: Fraction) -> Fraction:
    g = math.gcd(a, b)
    return 2 * m / (a * (2 * l0 + a + g) + q * (b - a) * (2 * l0 + a + b + g))
