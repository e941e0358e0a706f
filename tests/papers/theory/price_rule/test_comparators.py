"""Comparators equal the best of all that can be tried, on small pools, exactly."""

from dataclasses import replace
from fractions import Fraction
from itertools import product
from random import Random

import numpy as np
import pytest

from fluidkv.errors import InputError
from fluidkv.tokenpd.knapsack.pool import Pool
from fluidkv.tokenpd.objective import Objective
from fluidkv.tokenpd.pricing import Budget, Pricing
from fluidkv_papers.theory.price_rule import (
    best_fixed_price,
    best_fixed_set,
    clairvoyant,
    purse_optimum,
    round_optimum,
)
from fluidkv_papers.theory.price_rule.bounds import PriceSetting
from fluidkv_papers.theory.price_rule.schedules import Schedule, returns_of
from fluidkv_papers.theory.price_rule.search import separating
from fluidkv_papers.theory.price_rule.worths import Worths, worths
from tests.papers.theory.price_rule.pools import drawn_pool, in_floats

RULES = (
    None,
    Pricing(1, risk_aversion=0.5, penalty=0.25, objective=Objective.APPENDIX),
)
CASES = [(seed, rule) for seed in range(40) for rule in RULES]


def _drawn(seed: int, rule: Pricing | None) -> tuple[Pool, int, Worths]:
    rng = Random(seed)
    pool = drawn_pool(rng, noisy=seed % 3 == 0)
    budget = rng.randint(pool.cost, 3 * pool.cost)
    return pool, budget, worths(pool, budget, rule)


def _all_kept(here: np.ndarray) -> list[np.ndarray]:
    """Every set of places among those that are there, of one row or of a table."""
    places = np.argwhere(here)
    out = []
    for choice in product((False, True), repeat=len(places)):
        kept = np.zeros(here.shape, bool)
        for place, chosen in zip(places, choice, strict=True):
            kept[tuple(place)] = chosen
        out.append(kept)
    return out


@pytest.mark.parametrize(("seed", "rule"), CASES)
def test_round_optimum_is_the_best_set_of_each_round(seed: int, rule: Pricing | None) -> None:
    pool, budget, given = _drawn(seed, rule)
    for at, best in enumerate(round_optimum(pool, budget, rule)):
        sets = [kept for kept in _all_kept(given.present[at]) if kept.sum() <= given.slots]
        assert best == max(sum(given.true[at][kept], Fraction(0)) for kept in sets)


def _priced(given: Worths, least: Fraction | None, hard: bool, pool: Pool) -> tuple[Fraction, int]:
    """Reward and use of one price, round by round."""
    reward, used = Fraction(0), 0
    for true, seen, here in zip(given.true, given.seen, given.present, strict=True):
        wanted = [j for j in np.flatnonzero(here) if least is not None and seen[j] >= least]
        if hard:
            wanted.sort(key=lambda j: (seen[j], pool.arrival[j], j))
            wanted = wanted[-given.slots :]
        reward += sum(true[wanted])
        used += len(wanted) * pool.cost
    return reward, used


@pytest.mark.parametrize("reading", Budget)
@pytest.mark.parametrize(("seed", "rule"), CASES)
def test_best_fixed_price_is_the_best_of_all(seed, rule, reading) -> None:
    pool, budget, given = _drawn(seed, rule)
    hard = reading is Budget.HARD
    tried = [None, *{value for value in given.seen.flat if value >= 0}, Fraction(0)]
    outcomes = [_priced(given, least, hard, pool) for least in tried]
    allowed = [out for out in outcomes if hard or out[1] <= len(given.true) * budget]
    best = best_fixed_price(pool, budget, reading, rule)
    assert best.reward == max(reward for reward, _ in allowed)
    assert (best.reward, best.used) == _priced(given, best.least_worth, hard, pool)


@pytest.mark.parametrize("seed", range(40))
def test_under_a_hard_budget_the_best_price_is_worth_the_round_optimum(seed: int) -> None:
    pool = drawn_pool(Random(seed), rounds=6, tokens=8)
    best = best_fixed_price(pool, 2 * pool.cost, Budget.HARD)
    assert best.reward == round_optimum(pool, 2 * pool.cost).sum()


@pytest.mark.parametrize("seed", range(40))
def test_the_purse_is_the_best_that_all_rounds_together_can_do(seed: int) -> None:
    pool = drawn_pool(Random(seed), rounds=3, tokens=3)
    given = worths(pool, pool.cost)
    sets = [kept for kept in _all_kept(given.present) if kept.sum() <= len(given.true)]
    best = max(sum(given.true[kept], Fraction(0)) for kept in sets)
    assert purse_optimum(pool, pool.cost) == best


@pytest.mark.parametrize(("seed", "rule"), CASES)
def test_best_fixed_set_is_the_best_of_all_sets(seed: int, rule: Pricing | None) -> None:
    pool, budget, given = _drawn(seed, rule)
    found = best_fixed_set(pool, budget, rule)
    rewards = []
    for choice in product((False, True), repeat=given.true.shape[1]):
        kept = given.present & np.array(choice)
        if (kept.sum(axis=1) <= given.slots).all():
            rewards.append(sum(given.true[kept], Fraction(0)))
    assert found.reward == max(rewards)
    assert (found.kept == given.present & found.kept.any(axis=0)).all()
    _consistent(found, given, Fraction(0))


def _consistent(found: Schedule, given: Worths, paid: Fraction) -> None:
    """What is said to be kept fits, is there, and brings what is said."""
    assert not (found.kept & ~given.present).any()
    assert (found.kept.sum(axis=1) <= given.slots).all()
    assert found.reward == sum(given.true[found.kept], Fraction(0)) - paid


@pytest.mark.parametrize("price", [None, Fraction(0), Fraction(1, 7), Fraction(3, 5)])
@pytest.mark.parametrize(("seed", "rule"), CASES[::2])
def test_the_clairvoyant_is_the_best_of_all_schedules(seed, rule, price) -> None:
    rng = Random(seed)
    pool = drawn_pool(rng, rounds=4, tokens=3, noisy=bool(seed % 2))
    budget = rng.randint(pool.cost, 2 * pool.cost)
    given = worths(pool, budget, rule)
    rewards = []
    for kept in _all_kept(given.present):
        returned = returns_of(kept, given.present)
        if (kept.sum(axis=1) <= given.slots).all() and (price is not None or not returned):
            rewards.append(sum(given.true[kept], Fraction(0)) - returned * (price or 0))
    found = clairvoyant(pool, budget, rule, price_of_return=price)
    assert found.reward == max(rewards)
    _consistent(found, given, found.returned * (price or Fraction(0)))
    assert price is not None or found.returned == 0


@pytest.mark.parametrize("seed", range(10))
def test_comparators_are_ordered_and_free_return_is_the_round_optimum(seed: int) -> None:
    pool = drawn_pool(Random(seed), rounds=8, tokens=10)
    budget = 3 * pool.cost
    prices = (None, Fraction(1, 2), Fraction(1, 10), Fraction(0))
    values = [clairvoyant(pool, budget, price_of_return=price).reward for price in prices]
    best = round_optimum(pool, budget).sum()
    assert best_fixed_set(pool, budget).reward <= values[0]
    assert values == sorted(values)
    assert values[-1] == best <= purse_optimum(pool, budget)


def test_floats_give_the_same_schedule_as_the_rationals_that_they_are() -> None:
    exact = drawn_pool(Random(5), rounds=20, tokens=30)
    floats = in_floats(exact)
    rationals = replace(floats, returns=floats.returns.astype(object))
    found, same = (clairvoyant(pool, 4 * exact.cost) for pool in (floats, rationals))
    assert isinstance(same.reward, Fraction)
    assert found.reward == pytest.approx(float(same.reward), rel=1e-14)  # a sum of few doubles


def test_a_wrong_proposal_is_mended(monkeypatch: pytest.MonkeyPatch) -> None:
    """The exact search alone decides: it starts here from empty slots and no potentials."""
    from fluidkv_papers.theory.price_rule import flows

    def nothing(arcs, nodes, units):
        flow = [0] * len(arcs)
        at = 0
        while at != nodes - 1:  # along empty slots; their arcs stand first
            index = next(i for i, arc in enumerate(arcs) if arc.tail == at and not arc.gain)
            flow[index], at = units, arcs[index].head
        return flow, [0.0] * nodes

    pool = drawn_pool(Random(3), rounds=6, tokens=6)
    right = clairvoyant(pool, 2 * pool.cost).reward
    assert right > 0
    monkeypatch.setattr(flows, "_proposed", nothing)
    assert clairvoyant(pool, 2 * pool.cost).reward == right


def test_bad_input_is_one_line() -> None:
    pool = drawn_pool(Random(0))
    with pytest.raises(InputError, match="budget"):
        round_optimum(pool, pool.cost - 1)
    with pytest.raises(InputError, match="price_of_return"):
        clairvoyant(pool, pool.cost, price_of_return=-1)
    with pytest.raises(InputError, match="reading: got 'hard'"):
        best_fixed_price(pool, 1, "hard")  # type: ignore[arg-type]  # what a user may write
    with pytest.raises(InputError, match="pool: got None"):
        round_optimum(None, 1)  # type: ignore[arg-type]  # what a user may write
    with pytest.raises(InputError, match="pricing: got 'rule'"):
        purse_optimum(pool, pool.cost, "rule")  # type: ignore[arg-type]  # what a user may write
    with pytest.raises(InputError, match="start: got -1"):
        PriceSetting(10, 2, 1, 0.1, start=-1)
    with pytest.raises(InputError, match="base: got "):
        separating(base=Fraction(1))


def test_memory_for_more_than_there_is_keeps_what_is_worth_something() -> None:
    pool = in_floats(drawn_pool(Random(0)))
    most = np.where(pool.present, pool.returns, 0).sum()
    for budget in (1000, 2**60):
        assert float(clairvoyant(pool, budget).reward) == pytest.approx(most)
        assert float(best_fixed_set(pool, budget).reward) == pytest.approx(most)


def test_no_rounds_are_worth_nothing() -> None:
    none, alone = np.zeros((0, 1)), np.zeros(1, int)
    pool = Pool(none, alone, alone, alone + 1, none)
    assert clairvoyant(pool, 1).reward == best_fixed_set(pool, 1).reward == 0


def test_the_purse_is_of_memory_not_of_slots() -> None:
    """Three units a round, tokens of two: one fits in a round, three in two of them together."""
    alone = np.zeros(2, int)
    pool = Pool(np.ones((2, 2)), alone, alone, alone + 2, np.zeros((2, 2)), cost=2)
    assert round_optimum(pool, 3).tolist() == [1, 1]
    assert purse_optimum(pool, 3) == 3
    assert best_fixed_price(pool, 4).reward == 4
