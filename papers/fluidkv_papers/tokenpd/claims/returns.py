"""Token-PD, section 3: a token's return and its risk.

A token's weights in the queries to come have a law on [0, 1]; R is its mean, sigma^2 its variance.
"""

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations_with_replacement, product
from random import Random

from fluidkv.ledger import Origin, Range
from fluidkv.tokenpd.objective import Objective, worth_of
from fluidkv_papers.tokenpd.paper import statements

CLAIMS = statements(origin=Origin.READING)

_SECTION = "section 3, returns and risks"
Law = tuple[Fraction, ...]
"""Equally likely values, in order: any law with rational probabilities, if there are enough."""


def _laws(most: int = 5, parts: int = 6) -> Iterator[Law]:
    grid = [Fraction(n, parts) for n in range(parts + 1)]
    for size in range(1, most + 1):
        yield from combinations_with_replacement(grid, size)


def _mean(law: Law) -> Fraction:
    return sum(law, Fraction(0)) / len(law)


def _variance(law: Law) -> Fraction:
    return _mean(tuple((value - _mean(law)) ** 2 for value in law))


def _worth(law: Law, aversion: Fraction | int) -> Fraction:
    """R - lambda sigma^2, as rule (4) weighs it."""
    return worth_of(
        Objective.RULE, _mean(law), _variance(law), risk_aversion=aversion, penalty=Fraction(0)
    )


def _words(law: Law) -> str:
    return f"weights {', '.join(map(str, law))}, equally likely"


_LAWS = Range(
    "laws of up to 5 equally likely weights, sixths from 0 to 1",
    lambda: ((law,) for law in _laws()),
)


@CLAIMS.claim("section-3.risk.at-most", _SECTION, over=_LAWS)
def _at_most(law: Law) -> bool | str:
    """The risk is at most R (1 - R).

    Paper: R in [0, 1], sigma^2 = Var[R]
    Note: Bhatia and Davis's inequality: E[w^2] <= E[w] on [0, 1]. Equality where all weights are 0
    or 1."""
    of = _mean(law)
    return _variance(law) <= of * (1 - of) or _words(law)


@CLAIMS.claim(
    "section-3.risk.worth",
    f"{_SECTION}, with section 6",
    over=lambda: product(_laws(), (Fraction(0), Fraction(1, 4), Fraction(1, 2), Fraction(1))),
)
def _worth_is_positive(law: Law, aversion: Fraction) -> bool | str:
    """R - lambda sigma^2 is not negative for lambda up to 1.

    Checked: lambda = 0, 1/4, 1/2, 1; laws of up to 5 equally likely weights, sixths from 0 to 1
    Paper: lambda from 0 to 0.5 (section 6)
    Note: Proof. It is at least R (1 - lambda (1 - R)). Above 1 it can be negative
    (appendix-a.payoff.range-every-lambda)."""
    return _worth(law, aversion) >= 0 or f"lambda = {aversion}, {_words(law)}"


def _raised(most: int, parts: int = 10) -> Iterator[tuple[Law, Law]]:
    """A law, and the same with its greatest weight raised: nowhere less attention."""
    for law in _laws(most, parts):
        for above in range(int(law[-1] * parts) + 1, parts + 1):
            yield law, (*law[:-1], Fraction(above, parts))


_RAISED = Range("laws of up to 4 weights, tenths, and one weight raised", lambda: _raised(4))


@CLAIMS.claim("section-3.risk.monotone", f"{_SECTION}, with section 6", over=_RAISED)
def _monotone(law: Law, raised: Law) -> bool | str:
    """Up to lambda = 1/2, more attention is never worth less.

    Paper: lambda from 0 to 0.5 (section 6)
    Note: Proof. Raising one of n weights w changes R - lambda sigma^2 at the rate (1 - 2 lambda (w
    - R)) / n. With lambda = 1 it can be: weights 0, 0, 3/5 are worth 3/25, and 0, 0, 1 are worth
    1/9."""
    half = Fraction(1, 2)
    return _worth(raised, half) >= _worth(law, half) or f"{_words(law)}, and {raised[-1]}"


def _rows(seed: int) -> tuple[tuple[Fraction, ...], ...]:
    """Attention of up to 6 queries to come, each over the tokens up to its own."""
    drawn = Random(seed)
    rows = []
    for query in range(drawn.randint(1, 6)):
        raw = [drawn.randint(0, 5) for _ in range(query + 2)]
        raw[-1] += 1
        rows.append(tuple(Fraction(x, sum(raw)) for x in raw))
    return tuple(rows)


_DRAWN = Range(
    "drawn attention of 1 to 6 queries to come, seeds 0 to 99", lambda: map(_one, range(100))
)


def _one(seed: int) -> tuple[tuple[tuple[Fraction, ...], ...]]:
    return (_rows(seed),)


def _returns(rows: tuple[tuple[Fraction, ...], ...]) -> list[Fraction]:
    tokens = len(rows[-1])
    return [
        sum((row[token] for row in rows if token < len(row)), Fraction(0)) / len(rows)
        for token in range(tokens)
    ]


@CLAIMS.claim("section-3.returns.in-unit", _SECTION, over=_DRAWN, origin=Origin.PRINTED)
def _in_unit(rows: tuple[tuple[Fraction, ...], ...]) -> bool:
    """A return lies within 0 and 1.

    Paper: R in [0, 1]"""
    return all(0 <= value <= 1 for value in _returns(rows))


@CLAIMS.claim("section-3.returns.sum", _SECTION, over=_DRAWN)
def _sum(rows: tuple[tuple[Fraction, ...], ...]) -> bool:
    """The returns of a request's tokens, those still to come included, add up to 1.

    Ours: so what can be kept of N requests is worth N at most
    Paper: the expected fraction of future query attention mass
    Note: Each query's weights add up to 1, and so does their mean. It bounds the payoff of a round
    by the number of requests, where Appendix A has 1 + delta."""
    return sum(_returns(rows)) == 1
