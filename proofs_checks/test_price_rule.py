"""Token-PD, rules (4) and (5): our bounds and each step of their proofs, on any sequences.

The proofs are in `fluidkv_papers.theory.price_rule.bounds`. Runs are exact: worths, eta and mu_1
are rational, and every decision is one of balls. Adversaries look at the price before they choose.
"""

from dataclasses import replace
from fractions import Fraction
from math import exp
from typing import Any

import numpy as np
from flint import arb
from hypothesis import example, given, target
from hypothesis import strategies as st

from fluidkv.exact.precision import working
from fluidkv.tokenpd.knapsack.literal import literal_rounds
from fluidkv.tokenpd.knapsack.pool import Pool
from fluidkv.tokenpd.knapsack.run import PriceRun
from fluidkv.tokenpd.pricing import Budget, Demand, Pricing
from fluidkv_papers.theory.price_rule.bounds import (
    PriceSetting,
    highest_price,
    most_regret,
    most_regret_kept,
    most_regret_simply,
    most_violation,
    setting_of,
)
from fluidkv_papers.theory.price_rule.cases import pool_of
from fluidkv_papers.theory.price_rule.certified import exact_rounds
from fluidkv_papers.theory.price_rule.outcome import outcome_of

WORTH = st.fractions(0, 1, max_denominator=12)
STEP = st.sampled_from(
    [Fraction(1, 100), Fraction(1, 10), Fraction(1, 2), Fraction(1), Fraction(4)]
)
START = st.fractions(Fraction(1, 50), 2, max_denominator=50)


@st.composite
def markets(draw: st.DrawFn, noisy: bool = False) -> tuple[Pool, int, Any]:
    """A pool that is there throughout, a budget, and a rational pricing without readings."""
    tokens, rounds = draw(st.integers(1, 5)), draw(st.integers(1, 12))
    row = st.lists(WORTH, min_size=tokens, max_size=tokens)
    pool = pool_of(draw(st.lists(row, min_size=rounds, max_size=rounds)))
    if noisy:
        seen = np.array(draw(st.lists(row, min_size=rounds, max_size=rounds)), object)
        pool = replace(pool, predicted=seen)
    pool = replace(pool, cost=draw(st.integers(1, 3)))
    step: Any = draw(STEP)
    start: Any = draw(START)
    return pool, draw(st.integers(pool.cost, 9)), Pricing(step, start)


@st.composite
def adversaries(draw: st.DrawFn) -> tuple[Pool, int, Any]:
    """M = m c; each round holds tokens at the price, a hair below it, or of worth 1, or none."""
    slots, tokens = draw(st.integers(1, 3)), draw(st.integers(1, 6))
    step: Any = draw(STEP)
    start: Any = draw(START)
    price, rows = float(start), []
    for kind in draw(st.lists(st.sampled_from(["at", "below", "one", "none"]), max_size=40)):
        exact = min(Fraction(1), Fraction(price))
        worth = {
            # At S = 0 just the price; else a hair above, whatever doubles made of it.
            "at": exact
            if price == float(start)
            else min(Fraction(1), exact * (1 + Fraction(1, 10**9))),
            "below": exact * (1 - Fraction(1, 10**9)),
            "one": Fraction(1),
            "none": Fraction(0),
        }[kind]
        rows.append([worth] * tokens)
        wanted = tokens if kind in ("at", "one") and worth >= Fraction(price) else 0
        price *= exp(float(step) * (wanted - slots) / slots)
    pool = pool_of(rows or [[Fraction(1)] * tokens])
    return pool, slots, Pricing(step, start)


SEQUENCES = st.one_of(markets(), adversaries())
LARGEST_EXPONENT = Fraction(179, 100)
"""e^z <= 1 + z + z^2 for all z up to here, as mirror descent against any price uses it."""


@given(SEQUENCES)
@example((pool_of([[Fraction(1)] * 2]), 1, Pricing(1)))
def test_price_and_netted_violation_stay_below_their_bounds(drawn) -> None:
    pool, budget, pricing = drawn
    run = exact_rounds(pool, budget, pricing)
    setting = setting_of(pool, budget, pricing)
    if setting is None:
        assert not run.kept.any()
        return
    # One rounding of a price to a double, 2^-53 of it, beside a bound that is rounded up.
    assert max(float(price) for price in run.price) <= highest_price(setting) * (1 + 2**-50)
    assert max(run.imbalance) <= most_violation(setting)


@given(SEQUENCES)
def test_netted_regret_stays_below_its_bounds(drawn) -> None:
    pool, budget, pricing = drawn
    outcome = outcome_of(exact_rounds(pool, budget, pricing), budget)
    setting = setting_of(pool, budget, pricing)
    if setting is None:
        assert outcome.regret == 0
        return
    bound = most_regret(setting)
    target(float(outcome.regret) / bound)
    assert outcome.regret <= bound <= most_regret_simply(setting)


@given(SEQUENCES)
def test_a_hard_budget_priced_by_what_was_kept_costs_at_most_the_first_term(drawn) -> None:
    pool, budget, pricing = drawn
    rule = replace(pricing, budget=Budget.HARD, demand=Demand.KEPT)
    run = exact_rounds(pool, budget, rule)
    outcome = outcome_of(run, budget)
    assert outcome.over == 0
    assert (np.diff(run.imbalance) <= 0).all()
    bound = most_regret_kept(PriceSetting(1, 1, budget, rule.step, rule.start))
    target(float(outcome.regret) / bound)
    assert 0 <= outcome.regret <= bound


@given(markets(noisy=True))
def test_errors_of_prediction_add_at_most_their_sum(drawn) -> None:
    pool, budget, pricing = drawn
    errors = sum(abs(pool.returns - pool.seen).ravel(), Fraction(0))
    netted = outcome_of(exact_rounds(pool, budget, pricing), budget)
    setting = setting_of(pool, budget, pricing)
    bound = Fraction(most_regret(setting)) if setting else Fraction(0)
    assert netted.regret <= bound + errors
    rule = replace(pricing, budget=Budget.HARD, demand=Demand.KEPT)
    kept = outcome_of(exact_rounds(pool, budget, rule), budget)
    first = most_regret_kept(PriceSetting(1, 1, budget, rule.step, rule.start))
    assert kept.regret <= Fraction(first) + errors


@given(markets(), st.sampled_from([Fraction(11, 10), Fraction(3, 2), Fraction(4)]))
def test_each_step_of_the_proof_holds_in_rationals(drawn, base: Fraction) -> None:
    """With e^(eta / M) rational all but eta itself is, and eta / M = log(base) cancels."""
    pool, budget, pricing = drawn
    run = exact_rounds(pool, budget, pricing, base=base)
    excess = [int(used) - budget for used in run.used]
    price = Fraction(pricing.start)
    for at, g in enumerate(excess):
        assert run.price[at] == price
        assert run.optimum[at] - run.reward[at] <= -price * g  # (i)
        price *= base**g  # (5)
    assert run.price[-1] == price == Fraction(pricing.start) * base ** sum(excess)  # the identity
    most = max((Fraction(a) for a in pool.seen.ravel()), default=Fraction(0))
    for price, g in zip(run.price, excess, strict=False):
        assert g <= 0 or price * pool.cost <= most  # what was kept is worth the price
    for g in {*excess, 1, -1}:  # 0 <= psi(z) <= z^2 e^max(z, 0) / 2: psi of (ii)
        with working(128):
            z = (arb(base.numerator) / arb(base.denominator)).log() * g
            assert not z.expm1() - z < 0
            assert not z.expm1() - z > z**2 * (z.exp() if g > 0 else 1) / 2


@given(SEQUENCES)
def test_doubles_keep_the_bounds_too(drawn) -> None:
    """The engine's own arithmetic, with room for its rounding: 1e-9 of the bound."""
    pool, budget, pricing = drawn
    floats = replace(pool, returns=pool.returns.astype(float), risk=pool.risk.astype(float))
    rule = Pricing(float(pricing.step), float(pricing.start))
    setting = setting_of(floats, budget, rule)
    run: PriceRun = literal_rounds(floats, budget, rule)
    if setting is not None:
        assert outcome_of(run, budget).regret <= most_regret(setting) * (1 + 1e-9)
        assert run.imbalance.max() <= most_violation(setting)


def _excess(z: arb) -> arb:
    """1 + z + z^2 - e^z."""
    return 1 + z + z**2 - z.exp()


def test_e_to_z_is_below_1_plus_z_plus_z_squared_up_to_its_root() -> None:
    """f = 1 + z + z^2 - e^z has f(0) = f'(0) = 0 and f'' = 2 - e^z.

    Up to log 2 it is convex, so that it is at least its value at 0, where it is flat: 0. From log 2
    on it is concave, so that between log 2 and 1.79 it is at least the less of the two values
    there. Both are above 0, and it falls below 0 soon after.
    """
    with working(128):
        log_2 = arb(2).log()
        largest = _ball(LARGEST_EXPONENT)
        assert _excess(log_2) > 0
        assert _excess(largest) > 0
        assert _excess(arb("1.7932")) > 0
        assert _excess(arb("1.7933")) < 0
        assert log_2 < largest


def test_the_same_by_balls_that_cover_the_range() -> None:
    """A second way. For |z| <= 1 the series after z^2 / 2 is at most |z|^3 e^|z| / 6 < z^2 / 2.

    Balls cover [1, 1.79] and [-2, -1]. Below -2 e^z < 1 < 1 + z + z^2.
    """
    with working(128):
        assert arb(1) / 2 - arb(1).exp() / 6 > 0
        for first, last in ((Fraction(1), LARGEST_EXPONENT), (Fraction(-2), Fraction(-1))):
            half_width = (last - first) / 2000
            for part in range(1000):
                centre = first + half_width * (2 * part + 1)
                assert (
                    _excess(
                        _ball(centre)
                        .union(_ball(centre - half_width))
                        .union(_ball(centre + half_width))
                    )
                    > 0
                )


def _ball(number: Fraction) -> arb:
    return arb(number.numerator) / number.denominator


def test_psi_is_at_most_half_of_z_squared_times_e_to_its_positive_part() -> None:
    """psi = e^z - 1 - z is the integral of (z - s) e^s over s from 0 to z, and e^s <= e^max(z, 0).

    Checked where it is used: at exponents -eta and eta (n c - M) / M.
    """
    with working(128):
        for k in range(-400, 401):
            z = arb(k) / 100
            psi, most = z.expm1() - z, z**2 / 2 * z.max(arb(0)).exp()
            assert not psi > most
            assert not psi < 0
