"""What is proved of rules (4) and (5), with constants, for every sequence: ours, not the paper's.

In round t the rule sees worths a, keeps x_t = all with a >= mu_t c, uses u_t, and then

    mu_{t+1} = mu_t exp(z_t),    z_t = eta g_t / M,    g_t = u_t - M.

n is the most tokens in a round, A the most that a token is seen to be worth, mu_1 > 0,

    low = -eta,    high = eta (n c - M)_+ / M,    so that low <= z_t <= high;
    psi(z) = e^z - 1 - z >= 0,    psi falls below 0 and rises above.

THE IDENTITY. S_T = sum of g_t over t <= T = (M / eta) log(mu_{T+1} / mu_1). For log mu_{t+1} -
log mu_t = eta g_t / M; sum over t. So the netted violation is the log of the price, no more.

THE PRICE. mu_t <= mu_max = max(mu_1, (A / c) e^high) for all t. Proof by induction: if mu_t c > A,
nothing is kept, g_t = -M and mu_{t+1} < mu_t. If mu_t c <= A, mu_{t+1} <= (A / c) e^high.

VIOLATION, NETTED. max over t <= T of [S_t]_+ <= (M / eta) log(mu_max / mu_1) <=

    max(0, (M / eta) log(A / (c mu_1)) + (n c - M)_+).

By the identity and the price. With eta = k / sqrt(T) it is sqrt(T) (M / k) log(A / (c mu_1)) and a
constant. If in every round n tokens are worth A, n c > M and c mu_1 <= A, then from the round on in
which S first exceeds s = (M / eta) log(A / (c mu_1)), S stays above s - M: the rate is right, and
the constant is, up to n c (`sequences.overload`).

REGRET, NETTED, against the optimum OPT_t of each round within M.

  (i)   OPT_t <= <a, x> for some x with c <1, x> <= M
             <= <a, x> + mu_t (M - c <1, x>)                              as mu_t >= 0
             <= <a, x_t> + mu_t (M - u_t) = <a, x_t> - mu_t g_t,          as x_t is the largest
        of L(., mu_t): it takes the tokens whose term a - mu_t c is not negative.
  (ii)  mu_{t+1} = mu_t (1 + z_t + psi(z_t)), so -mu_t z_t = mu_t - mu_{t+1} + mu_t psi(z_t).
  (iii) Sum (i), put in (ii), with g_t = M z_t / eta:

            Regret_T <= -sum mu_t g_t = (M / eta) (mu_1 - mu_{T+1} + sum mu_t psi(z_t))
                     <= (M / eta) (mu_1 + T max(mu_max psi(low), (A / c) psi(high))).

The last step: psi rises with the distance of z from 0 on either side. If z_t <= 0 the term is at
most mu_max psi(low). If z_t > 0 something was kept, so that mu_t <= A / c, and the term is at most
(A / c) psi(high). By Taylor's theorem psi(z) <= z^2 e^max(z, 0) / 2, and (A / c) e^high <= mu_max
where high > 0. So each term is at most mu_max (eta G / M)^2 / 2 with G = max(M, n c - M), and

            Regret_T <= M mu_1 / eta + eta T mu_max G^2 / (2 M)        for every eta above 0.

With eta = k / sqrt(T) both terms are of the order sqrt(T), and mu_max = max(mu_1, (A / c)
(1 + o(1))).

Both terms are reached: the first if all rounds hold M / c tokens worth a little less than the
falling price, the second by `sequences.worst_netted`. So O(sqrt T) is the rate of the rule in the
worst case, not better, if rounds may use more than M and are compared one by one.

REGRET, HARD BUDGET, price moved by what was KEPT, M = m c. Now u_t <= M, so -eta <= z_t <= 0, and
the price never rises. Of the m best tokens those are missing that are worth less than mu_t c, and
they are at most m minus those kept, (M - u_t) / c = -g_t / c. So (i) holds as it stands. As
(1 - e^z) / (-z) falls in -z, -z_t <= (1 - e^{z_t}) eta / (1 - e^{-eta}), hence

            Regret_T <= sum mu_t (M / eta) (-z_t) <= M (mu_1 - mu_{T+1}) / (1 - e^{-eta})
                     <= M mu_1 / (1 - e^{-eta}) = M mu_1 / eta + O(1),

on every sequence, without a violation. The larger eta the better, and best is mu_1 = 0: whoever
truncates needs no price. If c does not divide M, at most floor(M / c) - kept <= -g_t / c are
missing, and all holds.

WHERE IT ENDS. mu_1 = 0: the price stays 0, S grows by n c - M in each round: `most_violation` is
infinite. HARD with what was WANTED: rounds that want too much raise the price and earn nothing for
it, and regret can be T / 2 (`sequences`), or T (1 - 1 / n) where M = c and n tokens are worth 1. A
predicted worth that differs from the true one adds sum over rounds and tokens of |a - a_hat| to
each bound on regret: (i) holds for what is seen, and at most so much is lost in OPT_t and in
<a, x_t> together, since a token counts in one of them or in both, where it cancels.

All numbers are rounded up from balls, so they are bounds, too.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb

from fluidkv.exact.precision import outward, to_ball, working
from fluidkv.record import Record
from fluidkv.runs.checks import above_0, count, not_negative
from fluidkv.tokenpd.knapsack.pool import Pool
from fluidkv.tokenpd.pricing import Pricing
from fluidkv_papers.theory.price_rule.worths import worths

BITS = 128


@dataclass(frozen=True)
class PriceSetting(Record):
    """What the bounds depend on.

    Fields:
        rounds: T.
        tokens: n, the most in a round.
        budget, cost: M and c, units of memory.
        step, start: eta and mu_1.
        worth: A, the most that a token is seen to be worth.

    Raises:
        InputError: counts below 1, a step or worth that is not above 0, a start below 0.

    Examples:
        >>> from fluidkv_papers.theory.price_rule import PriceSetting, most_regret
        >>> few, many = (PriceSetting(n, tokens=2, budget=1, step=n**-0.5) for n in (100, 10_000))
        >>> [round(most_regret(each) / each.rounds, 3) for each in (few, many)]  # like 1 / sqrt(T)
        [0.153, 0.015]
    """

    rounds: int
    tokens: int
    budget: int
    step: Any
    start: Any = 1
    cost: int = 1
    worth: Any = 1

    def __post_init__(self) -> None:
        for name in ("rounds", "tokens", "budget", "cost"):
            count(name, getattr(self, name))
        above_0("step", self.step)
        above_0("worth", self.worth)
        not_negative("start", self.start)


def setting_of(pool: Pool, budget: int, pricing: Pricing) -> PriceSetting | None:
    """Of a run; None where no token is seen to be worth more than 0: with mu_1 > 0 none is kept.

    Examples:
        >>> from fluidkv.tokenpd import Pricing
        >>> from fluidkv.tokenpd.knapsack.pool import Pool
        >>> from fluidkv_papers.theory.price_rule import setting_of
        >>> returns, risk = [[1, 0.5], [1, 0.5]], np.zeros((2, 2))
        >>> pool = Pool(returns, request=[0, 0], arrival=[0, 0], end=[2, 2], risk=risk)
        >>> setting = setting_of(pool, 1, Pricing(step=0.1))
        >>> setting.rounds, setting.tokens, setting.worth
        (2, 2, 1.0)
    """
    given = worths(pool, budget, pricing)
    seen = given.seen[given.present]
    most = max(seen.tolist(), default=0)
    if most <= 0:
        return None
    tokens = int(given.present.sum(axis=1).max())
    rounds = len(given.seen)
    return PriceSetting(rounds, tokens, budget, pricing.step, pricing.start, pool.cost, most)


def highest_price(setting: PriceSetting) -> float:
    """mu_max: the price never exceeds it.

    Examples:
        >>> from fluidkv_papers.theory.price_rule import PriceSetting, highest_price
        >>> setting = PriceSetting(rounds=100, tokens=2, budget=1, step=0.1)
        >>> round(highest_price(setting), 4)  # exp(0.1)
        1.1052
    """
    with working(BITS):
        return _up(_highest(setting))


def most_violation(setting: PriceSetting) -> float:
    """The netted violation S of no round exceeds this, units of memory; infinite if mu_1 = 0.

    Examples:
        >>> from fluidkv_papers.theory.price_rule import PriceSetting, most_violation
        >>> cheap, dear = (PriceSetting(100, 2, 1, step=0.1, start=start) for start in (0.5, 1))
        >>> round(most_violation(cheap), 3), round(most_violation(dear), 3)  # 10 ln 2 + 1, and 1
        (7.931, 1.0)
    """
    if setting.start == 0:
        return float("inf")
    with working(BITS):
        ratio = _ball(setting.worth) / (setting.cost * _ball(setting.start))
        over = setting.budget / _ball(setting.step) * ratio.log() + _surplus(setting)
        return max(0.0, _up(over))


def most_regret(setting: PriceSetting) -> float:
    """Netted regret against the optima of rounds: the sharp form, for every eta.

    Examples:
        >>> from fluidkv_papers.theory.price_rule import PriceSetting, most_regret
        >>> setting = PriceSetting(rounds=100, tokens=2, budget=1, step=0.1)
        >>> round(most_regret(setting), 3)
        15.346
    """
    with working(BITS):
        step = _ball(setting.step)
        below = _highest(setting) * _psi(-step)
        above = (
            _ball(setting.worth) / setting.cost * _psi(step * _surplus(setting) / setting.budget)
        )
        added = setting.rounds * arb(max(_up(below), _up(above)))
        return _up(setting.budget / step * (_ball(setting.start) + added))


def most_regret_simply(setting: PriceSetting) -> float:
    """The same with squares for psi: M mu_1 / eta + eta T mu_max G^2 / (2 M), for every eta.

    Examples:
        >>> from fluidkv_papers.theory import price_rule
        >>> setting = price_rule.PriceSetting(rounds=100, tokens=2, budget=1, step=0.1)
        >>> price_rule.most_regret(setting) <= price_rule.most_regret_simply(setting)
        True
        >>> round(most_regret_simply(setting), 3)  # 10 + 5 exp(0.1)
        15.526
    """
    with working(BITS):
        step, largest = _ball(setting.step), max(setting.budget, _surplus(setting))
        squares = step * setting.rounds * _highest(setting) * largest**2 / (2 * setting.budget)
        return _up(setting.budget * _ball(setting.start) / step + squares)


def most_regret_kept(setting: PriceSetting) -> float:
    """Regret under a hard budget if (5) sees what was kept: M mu_1 / (1 - e^-eta).

    Examples:
        >>> from fluidkv_papers.theory.price_rule import PriceSetting, most_regret_kept
        >>> setting = PriceSetting(rounds=100, tokens=2, budget=1, step=0.1)
        >>> round(most_regret_kept(setting), 3)  # 1 / (1 - exp(-0.1)), however many rounds
        10.508
    """
    with working(BITS):
        return _up(setting.budget * _ball(setting.start) / (1 - (-_ball(setting.step)).exp()))


def _surplus(setting: PriceSetting) -> int:
    return max(0, setting.tokens * setting.cost - setting.budget)


def _highest(setting: PriceSetting) -> arb:
    high = _ball(setting.step) * _surplus(setting) / setting.budget
    return _ball(setting.start).max(_ball(setting.worth) / setting.cost * high.exp())


def _psi(z: arb) -> arb:
    return z.expm1() - z


def _ball(number: Any) -> arb:
    return to_ball(Fraction(float(number) if isinstance(number, np.floating) else number))


def _up(ball: arb) -> float:
    return outward(ball)[1]
