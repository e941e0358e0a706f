"""Token-PD, Appendix A: the range of a, and what a round can pay."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import product

from fluidkv.ledger import Origin, Range
from fluidkv_papers.tokenpd.instances.rounds import HALF, ONE
from fluidkv_papers.tokenpd.paper import statements

CLAIMS = statements()
APPENDIX_A_PAYOFF = CLAIMS.section("appendix-a.payoff", "Appendix A, regret analysis", kind="lemma")

_QUARTERS = tuple(Fraction(n, 4) for n in range(5))


def _laws() -> Iterator[tuple[Fraction, Fraction, Fraction]]:
    """lambda, mean and variance of a share that is drawn within 0 and 1."""
    for aversion in (Fraction(1, 4), HALF, ONE, Fraction(2), Fraction(4)):
        for top in (ONE, HALF):
            for n in range(1, 5):  # it is `top` with this chance, and else 0
                p = Fraction(n, 4)
                yield aversion, p * top, p * (1 - p) * top**2


_LAWS = Range(
    "delta = 0, lambda = 1/4 ... 4, shares of 1 or 1/2 with probability 1/4 ... 1, and else 0",
    _laws,
    name=lambda aversion, mean, variance: (
        f"lambda = {aversion}, R = {mean}, sigma^2 = {variance}: a = {mean - aversion * variance}"
    ),
)


@APPENDIX_A_PAYOFF.claim(
    "range", over=_LAWS.where("lambda at most 1", lambda aversion, mean, variance: aversion <= 1)
)
def _range(aversion: Fraction, mean: Fraction, variance: Fraction) -> bool:
    """a is within -delta and 1 for lambda up to 1.

    Ours: sigma^2 is at most R (1 - R)
    Paper: because a is in [-delta, 1]"""
    return 0 <= mean - aversion * variance <= 1 and variance <= mean * (1 - mean)


@APPENDIX_A_PAYOFF.fails(
    "range-every-lambda", ", with lambda > 0", over=_LAWS, origin=Origin.READING
)
def _every_lambda(aversion: Fraction, mean: Fraction, variance: Fraction) -> bool:
    """a is within -delta and 1 for every lambda above 0.

    Ours: a risk-averse enough rule makes a token worth less than nothing
    Paper: because a is in [-delta, 1]; lambda > 0
    Note: The paper's ablation ends at lambda = 0.5.
    Holds: appendix-a.payoff.range, section-3.risk.worth"""
    return 0 <= mean - aversion * variance <= 1


@APPENDIX_A_PAYOFF.fails(
    "bound",
    over=Range(
        "requests with one token of R = 1 and no risk, by number, all kept; delta = 1/4",
        lambda: ((requests, Fraction(1, 4)) for requests in range(1, 9)),
        name=lambda requests, penalty: (
            f"{requests} requests: {requests * (1 - penalty)} against {1 + penalty}"
        ),
    ),
)
def _bound(requests: int, penalty: Fraction) -> bool:
    """The payoff <a, x> of a round is at most B = 1 + delta.

    Ours: it is a sum over tokens: up to the number of requests, since returns of one sum to one
    Paper: the per-round payoff is bounded by B := 1 + delta
    Note: Holds of one token (a x). What enters the mirror descent is another number: (c k - M) / M,
    which is between -1 and (n c - M) / M.
    Holds: appendix-a.payoff.bound.one-token"""
    return requests * (1 - penalty) <= 1 + penalty


@APPENDIX_A_PAYOFF.claim(
    "bound.one-token", over=lambda: product(_QUARTERS, repeat=3), origin=Origin.READING
)
def _one_token(value: Fraction, penalty: Fraction, kept: Fraction) -> bool:
    """The payoff a x of a token is at most B in absolute value.

    Checked: one token, R, delta and x = 0 ... 1 in quarters, no risk
    Paper: the per-round payoff is bounded by B := 1 + delta"""
    return abs((value - penalty) * kept) <= 1 + penalty
