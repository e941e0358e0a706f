"""The two-class systems on which section B.10 is checked, and its formulas written out."""

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING

from fluidkv.ledger.claim import Claim, Kind, Outcome
from fluidkv.papers.congestion.paper import congestion
from fluidkv.verdict import Verdict

if TYPE_CHECKING:
    from fluidkv.workload import System

LONGEST = 10
INPUTS = (1, 2, 7, 50)
SHARES = tuple(Fraction(q) for q in ("1/100", "1/3", "1/2", "4/5", "99/100"))
RANGE = f"all a < b <= {LONGEST} with gcd > 1, l0 in {INPUTS}, q in 1/100 ... 99/100, M of two"


def pairs(longest: int = LONGEST) -> Iterator[tuple[int, int]]:
    """a < b with a common divisor, shortest b first."""
    ordered = ((a, b) for b in range(2, longest + 1) for a in range(1, b))
    return ((a, b) for a, b in ordered if math.gcd(a, b) > 1)


def pair_system(
    a: int, b: int, input_length: int, q: Fraction, capacity: Fraction | int
) -> "System":
    from fluidkv.exact.mixed.mix import two_lengths
    from fluidkv.workload import System

    return System(two_lengths(a, b, 1 - q).workload(input_length), capacity)


def cases() -> Iterator[tuple[int, int, int, Fraction, Fraction]]:
    """(a, b, l0, q, M), M once just above the largest request and once large."""
    for (a, b), l0, q in product(pairs(), INPUTS, SHARES):
        yield a, b, l0, q, l0 + b + Fraction(1, 3)
    for a, b in pairs():
        yield a, b, 50, Fraction(1, 2), Fraction(10**6)


def named(a: int, b: int, l0: int, q: Fraction, m: Fraction) -> str:
    return f"(a, b) = ({a}, {b}), l0 = {l0}, q = {q}, M = {m}"


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


def printed_throughput(a: int, b: int, l0: int, q: Fraction, m: Fraction) -> Fraction:
    g = math.gcd(a, b)
    return 2 * m / (a * (2 * l0 + a + g) + q * (b - a) * (2 * l0 + a + b + g))


def pulse_claim(
    id: str,
    statement: str,
    place: str,
    check: Callable[[], Outcome],
    kind: Kind,
    checked: str = RANGE,
    expected: Verdict = Verdict.HOLDS,
) -> Claim:
    """A claim that is checked on `cases` unless it says otherwise."""
    return congestion(id, statement, place, check, kind=kind, checked=checked, expected=expected)
