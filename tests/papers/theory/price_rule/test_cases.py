"""Closed forms of the named sequences are what exact runs give; the search finds none smaller."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from math import floor, log

import numpy as np
import pytest

from fluidkv.tokenpd.pricing import Budget, Demand, Pricing
from fluidkv_papers.theory.price_rule.bounds import (
    PriceSetting,
    most_regret,
    most_regret_kept,
    most_violation,
)
from fluidkv_papers.theory.price_rule.cases import (
    Case,
    alternating,
    falling,
    idle_then_busy,
    needle,
    overload,
    pool_of,
    run_case,
    tied,
    two_futures,
    worst_netted,
    zero_price,
)
from fluidkv_papers.theory.price_rule.certified import exact_rounds
from fluidkv_papers.theory.price_rule.comparators import purse_optimum, round_optimum
from fluidkv_papers.theory.price_rule.outcome import outcome_of
from fluidkv_papers.theory.price_rule.schedules import best_fixed_set, clairvoyant
from fluidkv_papers.theory.price_rule.search import separating

ANY_STEP = [tied, alternating, zero_price, needle]
STEPS = [Fraction(1, 100), Fraction(1, 3), Fraction(1), Fraction(5)]


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("make", ANY_STEP)
def test_closed_forms_hold_for_every_step_and_length(
    make: Callable[[int], Case], step: Fraction
) -> None:
    for rounds in (1, 2, 3, 10, 33):
        _as_proved(make(rounds), step)


def _as_proved(case: Case, step: Fraction) -> None:
    assert run_case(case, step, Budget.NETTED) == case.netted
    assert run_case(case, step, Budget.HARD) == case.hard


@pytest.mark.parametrize("step", STEPS)
def test_idle_rounds_are_paid_for_by_busy_ones(step: Fraction) -> None:
    for rounds in (2, 4, 20):
        _as_proved(idle_then_busy(rounds), step)


@pytest.mark.parametrize("step", [Fraction(1, 50), Fraction(1, 4), Fraction(1)])
@pytest.mark.parametrize("rounds", [1, 2, 9, 40])
def test_the_second_term_of_the_bound_on_netted_regret_is_reached(step, rounds) -> None:
    case = worst_netted(rounds, step)
    _as_proved(case, step)
    bound = most_regret(PriceSetting(rounds, 2, 1, step, Fraction(1, 2), worth=(1 + step) / 2))
    assert case.netted is not None
    assert case.netted.regret <= bound
    first_term = Fraction(1, 2) / step
    if rounds % 2 == 0 and step <= Fraction(1, 50):
        # eta T / 4 of (1 / eta) T mu_max psi(eta), where mu_max is near 1/2 and psi near eta^2 / 2
        assert 4 * case.netted.regret == step * rounds
        assert float(bound - first_term) < 1.1 * float(case.netted.regret)


@pytest.mark.parametrize("step", [Fraction(1, 50), Fraction(1, 4)])
@pytest.mark.parametrize("rounds", [1, 10, 100])
def test_a_worth_that_falls_with_the_price_is_never_kept(step, rounds) -> None:
    case = falling(rounds, step)
    _as_proved(case, step)
    kept = run_case(case, step, Budget.HARD, Demand.KEPT)
    assert kept == case.hard
    bound = most_regret_kept(PriceSetting(rounds, 1, 1, step))
    assert kept.regret <= bound
    if rounds * step >= 2:
        assert kept.regret >= Fraction(3, 5) * Fraction(bound)


@pytest.mark.parametrize("rounds", [30, 100])
def test_overload_nets_what_the_bound_says_but_for_a_token(rounds: int) -> None:
    step, start = Fraction(1, 10), Fraction(1, 4)
    outcome = run_case(overload(rounds, start), step, Budget.NETTED)
    bound = most_violation(PriceSetting(rounds, 2, 1, step, start))
    assert bound - 2 < outcome.violation <= bound
    assert floor(log(4) * 10) in (outcome.violation, outcome.violation - 1)


def test_the_first_round_may_violate_the_budget() -> None:
    outcome = run_case(tied(1), Fraction(1, 10), Budget.NETTED)
    assert (outcome.over, outcome.overuse, outcome.violation) == (1, 1, 1)


@pytest.mark.parametrize("start", [0.51, 0.75, 0.87])
def test_alternating_hangs_on_no_tie(start: float) -> None:
    worths = [[Fraction(k, 100) for k in row] for row in ((99, 88), (0, 45))] * 10
    case = Case(pool_of(worths), Fraction(start))
    hard = run_case(case, Fraction(1, 100), Budget.HARD)
    netted = run_case(case, Fraction(1, 100), Budget.NETTED)
    assert hard.regret == 10 * Fraction(45, 100)
    assert netted.regret == 10 * Fraction(45 - 88, 100)


@pytest.mark.parametrize("reading", Budget)
def test_larger_budgets_change_nothing(reading: Budget) -> None:
    """Five times the tokens and the memory, tokens of 4 units: regret and tokens, times five."""
    small = alternating(12)
    proved = small.hard if reading is Budget.HARD else small.netted
    assert proved is not None
    pool = replace(pool_of(np.repeat(small.pool.returns, 5, axis=1).tolist()), cost=4)
    outcome = outcome_of(exact_rounds(pool, 20, Pricing(0.25, 0.25, reading)), 20)
    assert outcome.regret == 5 * proved.regret
    assert (outcome.violation, outcome.overuse) == (20 * proved.violation, 20 * proved.overuse)


def test_the_needle_is_lost_against_the_clairvoyant_and_the_fixed_set() -> None:
    case = needle(7)
    assert clairvoyant(case.pool, 1).reward == best_fixed_set(case.pool, 1).reward == 6
    assert round_optimum(case.pool, 1).sum() == 6


@pytest.mark.parametrize("rounds", [8, 40])
def test_no_rule_is_right_about_both_futures(rounds: int) -> None:
    lost = []
    for rich in (False, True):
        case = two_futures(rounds, rich)
        run = exact_rounds(case.pool, 1, Pricing(0.1, 0.5))
        best = purse_optimum(case.pool, 1)
        assert best == Fraction(rounds) / (1 if rich else 2)
        lost.append(best - run.reward.sum())
        netted = max(0, int(run.imbalance[-1]))
    assert max(lost) >= Fraction(rounds, 4) - Fraction(netted, 2)


def test_the_search_finds_none_smaller_and_the_alternating_one() -> None:
    half = Fraction(1, 2)
    found = separating()
    assert found[0].period == ((half, half),)
    assert (found[0].hard, found[0].netted, found[0].rounds) == (half, 0, 2)
    periods = [each.period for each in found]
    assert ((Fraction(1), Fraction(1)), (Fraction(0), half)) in periods
    below_0 = [each for each in found if each.netted < 0]
    assert below_0[0].size[:3] == (2, 3, Fraction(5, 2))  # alternating, in one order or the other
    assert set(below_0[0].period) == set(map(tuple, alternating(2).pool.returns.tolist()))


def test_one_token_separates_nothing() -> None:
    assert separating(tokens=1, longest=3) == []


@pytest.mark.thorough
@pytest.mark.parametrize("base", [Fraction(21, 20), Fraction(11, 10), Fraction(2)])
def test_the_smallest_are_the_same_for_other_steps(base: Fraction) -> None:
    half = Fraction(1, 2)
    found = separating(longest=3, base=base)
    assert found[0].period == ((half, half),)
    assert all(each.size >= found[0].size for each in found)
