"""Token-PD, Appendix A: the Lagrangian of a round, and whether (2) is the rule of section 4."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import product

from fluidkv.ledger import Finding, Origin, Range, sympy
from fluidkv_papers.tokenpd.instances.rounds import HALF, ONE, Market, Values, sequences
from fluidkv_papers.tokenpd.paper import statements

CLAIMS = statements()

_QUARTERS = tuple(Fraction(n, 4) for n in range(5))


@CLAIMS.claim("appendix-a.lagrangian", "Appendix A, primal programme", kind="lemma")
def _lagrangian() -> Finding:
    """L is linear in x, but for mu M, and concave in mu.

    Checked: second derivatives of two tokens, in symbols
    Ours: affine in each of the two, so convex in mu as well, which a minimum over mu needs
    Paper: linear in x and concave in mu"""
    a, b, c, memory, price, x, y = sympy.symbols("a b c M mu x y", real=True)
    lagrangian = a * x + b * y + price * (memory - c * (x + y))
    in_x = [sympy.diff(lagrangian, u, v) for u in (x, y) for v in (x, y)]
    in_price = sympy.diff(lagrangian, price, 2)
    return Finding(None if not any(in_x) and in_price.is_nonpositive else f"{in_x}, {in_price}")


def lagrangian(market: Market, worth: Values, kept: Values, price: Fraction) -> Fraction:
    """<a, x> + mu (M - <c, x>)."""
    earned = sum((a * x for a, x in zip(worth, kept, strict=True)), Fraction())
    return earned + price * (market.memory - market.cost * sum(kept))


def _rounds() -> Iterator[tuple[Market, Values]]:
    for (worth,) in sequences((-HALF, HALF, ONE), tokens=2, rounds=1):
        for memory, cost in ((1, 1), (2, 1), (1, 2)):
            for price in _QUARTERS:
                yield Market(memory, cost, price), worth


@CLAIMS.claim("appendix-a.greedy-maximiser", "Appendix A, (2)", over=_rounds, kind="lemma")
def _greedy(market: Market, worth: Values) -> bool:
    """(2) maximises L for its price over x in [0, 1]^n.

    Checked: up to two tokens worth -1/2, 1/2 or 1, prices 0 ... 1, (M, c) = (1, 1), (2, 1), (1, 2),
    against all x in quarters
    Paper: the greedy maximiser of L for fixed mu"""
    kept = tuple(Fraction(a - market.start * market.cost >= 0) for a in worth)
    found = lagrangian(market, worth, kept, market.start)
    others = product(_QUARTERS, repeat=len(worth))
    return all(lagrangian(market, worth, x, market.start) <= found for x in others)


_TOKENS = Range(
    "one token, R = 0 ... 1, risk and lambda 0, delta = 0 ... 1, mu c = 0 ... 1, in quarters",
    lambda: product(_QUARTERS, repeat=3),
    name=lambda penalty, value, price: f"R = {value}, delta = {penalty}, mu c = {price}",
)


@CLAIMS.fails(
    "appendix-a.algorithm-1.same-rule",
    "Appendix A, (2), with section 4, (4)",
    over=_TOKENS,
    kind="lemma",
)
def _same_rule(penalty: Fraction, value: Fraction, price: Fraction) -> bool:
    """Token-PD, which section 4 defines by (4), selects by (2) of Appendix A, for any delta.

    Ours: a = R - lambda sigma^2 - delta, and delta is not in (4)
    Paper: Token-PD selects x = I[a - mu c >= 0]; Algorithm 1 in Sec. 4 is precisely (2)-(5)
    Note: Holds where delta = 0. Else the proof is of another rule: (4) at a price that is delta / c
    higher. There is no Algorithm 1; (2)-(5) may be those of sections 3 and 4.
    Holds: appendix-a.algorithm-1.same-rule.no-penalty"""
    return (value - penalty - price >= 0) is (value - price >= 0)


@CLAIMS.claim(
    "appendix-a.algorithm-1.same-rule.no-penalty",
    "Appendix A, (2), with section 4, (4)",
    over=_TOKENS.where("delta = 0", lambda penalty, value, price: penalty == 0),
    origin=Origin.READING,
    kind="lemma",
)
def _no_penalty(penalty: Fraction, value: Fraction, price: Fraction) -> bool:
    """With delta = 0, (2) of Appendix A keeps what (4) of section 4 keeps.

    Paper: Algorithm 1 in Sec. 4 is precisely (2)-(5)"""
    return (value - penalty - price >= 0) is (value - price >= 0)
