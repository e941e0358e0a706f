"""Token-PD, (5): the price multiplied by what was used above or below the budget."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from fluidkv.ledger import Finding, Origin, Range, sympy
from fluidkv_papers.tokenpd.instances import rounds as markets
from fluidkv_papers.tokenpd.instances.rounds import HALF, ONE
from fluidkv_papers.tokenpd.paper import statements

CLAIMS = statements()

_SIZES = ((1, 1), (2, 1), (3, 2))


def _runs() -> Iterator[tuple[markets.Market, markets.Rounds]]:
    for rounds in markets.sequences((HALF, ONE), tokens=2, rounds=2):
        for memory, cost in _SIZES:
            for start in (Fraction(0), HALF, Fraction(3)):
                yield markets.Market(memory, cost, start, Fraction(3, 2)), rounds


_RUNS = Range(
    "up to two rounds of up to two tokens worth 1/2 or 1, (M, c) = (1, 1), (2, 1), (3, 2), "
    "mu_1 = 0, 1/2, 3",
    _runs,
    name=lambda market, rounds: f"{markets.shown(rounds)} at {market}",
)


@CLAIMS.claim("equation-5.non-negative", "(5)", over=_RUNS)
def _non_negative(market: markets.Market, rounds: markets.Rounds) -> bool:
    """No price is below 0, and none that starts above 0 reaches it.

    Ours: by its form, whatever was used
    Paper: the multiplicative form preserves mu >= 0"""
    prices = [turn.following for turn in markets.played(market, rounds)]
    return min(prices) >= 0 and (min(prices) > 0) is (market.start > 0)


@CLAIMS.claim(
    "equation-5.sub-gradient",
    "(5)",
    over=lambda: (
        (markets.Market(memory, cost, Fraction(n, 4)), values)
        for (values,) in markets.sequences((Fraction(1, 4), HALF, ONE), tokens=3, rounds=1)
        for memory, cost in _SIZES
        for n in range(6)
    ),
)
def _sub_gradient(market: markets.Market, values: markets.Values) -> bool:
    """M less what (4) uses is a sub-gradient of the round's dual function at its price, and (5) is
    an exponentiated step against it, divided by M.

    Checked: a round of up to three tokens worth 1/4, 1/2 or 1, prices 0 ... 5/4 and all others
    there
    Paper: exponentiated sub-gradient descent"""
    (turn,) = markets.played(market, [values])
    slope = -turn.excess
    above = all(
        _dual(market, values, price)
        >= _dual(market, values, turn.price) + slope * (price - turn.price)
        for price in (Fraction(n, 8) for n in range(11))
    )
    return above and turn.following == turn.price * market.growth**-slope


def _dual(market: markets.Market, values: markets.Values, price: Fraction) -> Fraction:
    """max over x of L(x, mu)."""
    return market.memory * price + sum((max(a - price * market.cost, 0) for a in values), 0)


@CLAIMS.claim("equation-5.identity", "(5)", origin=Origin.READING)
def _identity() -> bool | str:
    """What is used above M less what is left free, added up over any rounds, is (M / eta)
    log(mu_(T+1) / mu_1).

    Checked: one step in symbols, which telescopes
    Ours: an identity: cumulated violation is the logarithm of the price
    Paper: [sum of c x - M]_+ = O(sqrt(T))
    Note: So the violation is bounded as far as the price is."""
    eta, memory, price = sympy.symbols("eta M mu", positive=True)
    used = sympy.symbols("u", real=True)
    following = price * sympy.exp(eta * (used - memory) / memory)
    step = memory / eta * sympy.log(following / price)
    left = sympy.simplify(sympy.expand_log(step, force=True) - (used - memory))
    return left == 0 or f"{left} is left"


@dataclass
class _Counted:
    """A number that counts what is done with it."""

    value: float
    done: list[str]

    def _after(self, other: "_Counted | float", name: str, value: float) -> "_Counted":
        self.done.append(name)
        return _Counted(value, self.done)

    def __add__(self, other: float) -> "_Counted":
        return self._after(other, "+", self.value + other)

    def __sub__(self, other: float) -> "_Counted":
        return self._after(other, "-", self.value - other)

    def __mul__(self, other: float) -> "_Counted":
        return self._after(other, "*", self.value * other)

    def __truediv__(self, other: float) -> "_Counted":
        return self._after(other, "/", self.value / other)


def _operations(tokens: int, *, with_sum: bool) -> int:
    """Of the exponent of (5)."""
    done: list[str] = []
    used = _Counted(0.0 if with_sum else float(tokens), done)
    for _ in range(tokens if with_sum else 0):
        used = used + 1.0
    _ = (used - 4.0) * 0.1 / 4.0
    return len(done)


@CLAIMS.claim("equation-5.constant-cost", "(5)")
def _constant_cost() -> Finding:
    """Once it is known how much is used, an update of the price takes as many operations for one
    token as for a thousand.

    Checked: operations counted for 1, 10, 100 and 1,000 tokens
    Paper: O(1) update cost
    Note: An engine that frees and takes memory knows how much is used. The sum in (5) takes as many
    additions as (4) takes decisions."""
    counts = [_operations(n, with_sum=False) for n in (1, 10, 100, 1000)]
    return Finding(len(set(counts)) == 1, f"{counts[0]}, and one exponential")
