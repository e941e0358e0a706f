"""Sequences that show what the guarantee does not cover, and where our bounds are reached; exact.

All have M = c = 1 and one request of two tokens at most, present in all rounds, whose worths
change; a worth of 0 stands for a token that is not there (mu_1 > 0). What is dropped may be kept
again in a later round, as in Appendix A, but for `needle`. The proofs are in the docstrings: most
are runs of two rounds that repeat, as S comes back to 0, so that they hold for every eta > 0 and,
multiplied by m, for every M = m c with m times as many tokens.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from fluidkv.runs.checks import count
from fluidkv.tokenpd.knapsack.pool import Pool
from fluidkv.tokenpd.pricing import Budget, Demand, Pricing
from fluidkv_papers.theory.price_rule.certified import exact_rounds
from fluidkv_papers.theory.price_rule.outcome import Outcome, outcome_of

HALF = Fraction(1, 2)


@dataclass(frozen=True)
class Case:
    """A sequence, and what is proved of the rule on it.

    Fields:
        pool: exact.
        start: mu_1.
        netted, hard: what the rule comes to under the two readings of the budget, where (5) sees
            what was wanted; None where no closed form is given.
        gone: what was evicted cannot come back.

    Examples:
        >>> from fluidkv.tokenpd.pricing import Budget
        >>> from fluidkv.tokenpd.knapsack.pool import Pool
        >>> from fluidkv_papers.theory.price_rule import Case, run_case
        >>> returns, risk = np.ones((4, 2), int), np.zeros((4, 2), int)
        >>> pool = Pool(returns, request=[0, 0], arrival=[0, 0], end=[4, 4], risk=risk)
        >>> run_case(Case(pool, start=Fraction(1)), Fraction(1, 2), Budget.NETTED).overuse
        2
    """

    pool: Pool
    start: Fraction
    netted: Outcome | None = None
    hard: Outcome | None = None
    gone: bool = False


def run_case(case: Case, step: Any, reading: Budget, demand: Demand = Demand.WANTED) -> Outcome:
    """The exact run of the rule on it, for any eta that is a rational above 0.

    Examples:
        >>> from fluidkv.tokenpd.pricing import Budget
        >>> from fluidkv.tokenpd.knapsack.pool import Pool
        >>> from fluidkv_papers.theory.price_rule import Case, run_case
        >>> returns, risk = np.ones((4, 2), int), np.zeros((4, 2), int)
        >>> pool = Pool(returns, request=[0, 0], arrival=[0, 0], end=[4, 4], risk=risk)
        >>> tied = Case(pool, start=Fraction(1))
        >>> {each.value: str(run_case(tied, Fraction(1, 2), each).regret) for each in Budget}
        {'netted': '0', 'hard': '2'}
    """
    start: Any = case.start
    pricing = Pricing(step, start, reading, demand)
    return outcome_of(exact_rounds(case.pool, 1, pricing, gone=case.gone), 1)


def tied(rounds: int, worth: Fraction = Fraction(1)) -> Case:
    """Two tokens worth the same in every round, mu_1 = worth: the smallest that separates.

    At mu = worth both are wanted (a tie stays), S = 1; at mu = worth e^eta none is, S = 0 again. No
    price wants just one. Two rounds bring 2 worth where rounds may overuse, so that the regret is
    0, and the memory is twice too full in every other round; under a hard budget they bring worth,
    and the regret is worth / 2 a round. So (3) is violated in the first round, the positive part of
    the violation is T / 2, and the regret under (3) is linear. `search.separating` finds none
    smaller: with one token both readings are the same.
    """
    count("rounds", rounds)
    half, odd = divmod(rounds, 2)
    netted = Outcome(-odd * worth, odd, half + odd, half + odd)
    hard = Outcome(half * worth, 0, 0, 0)
    return Case(pool_of([(worth, worth)] * rounds), worth, netted, hard)


def alternating(rounds: int) -> Case:
    """Values alternate: two tokens worth 1, then one worth 1/2; mu_1 = 1.

    At mu = 1 both are wanted, S = 1; at mu = e^eta > 1/2 nothing is, S = 0. Two rounds could bring
    3/2. They bring 2 where rounds may overuse (regret -1/2) and 1 under a hard budget (regret
    1/2). Nothing hangs on a tie: S is the same for every mu_1 with 1/2 < mu_1 <= 1; and with mu_1 =
    3/4 if each worth is another by less than 1/4, where two rounds still lose more than 1/4.
    """
    count("rounds", rounds)
    half, odd = divmod(rounds, 2)
    worths = [
        (Fraction(1), Fraction(1)) if t % 2 == 0 else (Fraction(0), HALF) for t in range(rounds)
    ]
    netted = Outcome(-half * HALF - odd, odd, half + odd, half + odd)
    return Case(pool_of(worths), Fraction(1), netted, Outcome(half * HALF, 0, 0, 0))


def idle_then_busy(rounds: int) -> Case:
    """Nothing in the first half, two tokens worth 1 in the second; mu_1 = 1, an even T.

    Each idle round lowers S by 1, each busy one raises it by 1 while mu <= 1, which is to the end.
    So all rounds of the second half use twice the memory: the positive part of the violation is
    T / 2, the netted one 0, whatever eta. And log(mu / mu_1) = -eta T / 2 in the middle: bounded
    above, but not below.
    """
    half = count("rounds", rounds) // 2
    worths = [(Fraction(0), Fraction(0))] * half + [(Fraction(1), Fraction(1))] * half
    netted = Outcome(Fraction(-half), 0, half, half)
    return Case(pool_of(worths), Fraction(1), netted, Outcome(Fraction(0), 0, 0, 0))


def zero_price(rounds: int) -> Case:
    """mu_1 = 0 and two tokens worth 1: the price stays 0, and the netted violation is T."""
    count("rounds", rounds)
    netted = Outcome(Fraction(-rounds), rounds, rounds, rounds)
    pool = pool_of([(Fraction(1), Fraction(1))] * rounds)
    return Case(pool, Fraction(0), netted, Outcome(Fraction(0), 0, 0, 0))


def needle(rounds: int) -> Case:
    """One token, worth 0 in the first round and 1 in all others, and memory for it; mu_1 = 1.

    If what is gone is gone, the rule drops it and gets nothing: against the clairvoyant, who knows
    the whole conversation and returns nothing either, regret is T - 1, under both readings.
    """
    count("rounds", rounds)
    lost = Outcome(Fraction(rounds - 1), 0, 0, 0)
    pool = pool_of([(Fraction(0),)] + [(Fraction(1),)] * (rounds - 1))
    return Case(pool, Fraction(1), lost, lost, gone=True)


def worst_netted(rounds: int, step: Fraction) -> Case:
    """Regret eta T / 4 where rounds may overuse: the rate sqrt(T) of our bound is reached.

    mu_1 = 1/2. At mu = 1/2 two tokens worth 1/2 are kept: one more than the optimum, which gains
    1/2. At mu = e^eta / 2 one worth (1 + eta) / 2 < mu is not: that loses (1 + eta) / 2, and S = 0
    again. Together eta / 2 in two rounds. The eta of the run must be this one; at most 1.
    """
    half, odd = divmod(count("rounds", rounds), 2)
    dear = (1 + step) / 2
    worths = [(HALF, HALF) if t % 2 == 0 else (Fraction(0), dear) for t in range(rounds)]
    netted = Outcome(half * step / 2 - odd * HALF, odd, half + odd, half + odd)
    return Case(pool_of(worths), HALF, netted, Outcome(half * dear, 0, 0, 0))


def falling(rounds: int, step: Fraction) -> Case:
    """One token, always worth a little less than the price: regret close to mu_1 / eta.

    mu_1 = 1. It is worth (1 - eta)^t in round t = 1, 2, ..., less than mu_t = e^(-eta (t - 1)), and
    is never kept. Regret is (1 - (1 - eta)^T) (1 - eta) / eta under each reading, and the first
    term of our bounds is reached. The eta of the run must be this one; below 1.
    """
    count("rounds", rounds)
    left = 1 - step
    lost = Outcome((1 - left**rounds) * left / step, 0, 0, 0)
    return Case(pool_of([(left**t,) for t in range(1, rounds + 1)]), Fraction(1), lost, lost)


def overload(rounds: int, start: Fraction) -> Case:
    """Two tokens worth 1 in every round, mu_1 < 1: the netted violation of the order sqrt(T).

    Both are kept until mu > 1, which is when S exceeds s = log(1 / mu_1) / eta. From then on S
    stays within (s - 1, s + 1].
    """
    count("rounds", rounds)
    return Case(pool_of([(Fraction(1), Fraction(1))] * rounds), start)


def two_futures(rounds: int, rich: bool) -> Case:
    """Two tokens worth 1/2 in the first half; then two worth 1, or none: against `purse_optimum`.

    T even. The purse holds T tokens. Who keeps y of the first half's T tokens gets y / 2 of the
    T / 2 that the poor future allows; in the rich one at most y / 2 + (T - y) of T, if all use
    stays within T. So one of the regrets is T / 4 or more: no online rule has o(T), and a rule
    that nets V above the budget has at least T / 4 - V / 2.
    """
    half = count("rounds", rounds) // 2
    later = Fraction(1 if rich else 0)
    return Case(pool_of([(HALF, HALF)] * half + [(later, later)] * half), HALF)


def pool_of(worths: Sequence[Sequence[Fraction]]) -> Pool:
    """Tokens of one request that are there in all rounds and are worth what is said in each."""
    table = np.array([list(row) for row in worths], object)
    rounds, tokens = table.shape
    none = np.zeros(tokens, np.int64)
    risk = np.full((rounds, tokens), Fraction(0), object)
    return Pool(table, none, none, np.full(tokens, rounds), risk)
