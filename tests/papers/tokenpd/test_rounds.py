"""Small markets in rationals: rounds by hand, and what grows faster than sqrt(T)."""

from fractions import Fraction
from itertools import product

import pytest

from fluidkv.tokenpd.pricing import Budget, Demand
from fluidkv_papers.tokenpd.instances.rounds import (
    HALF,
    ONE,
    Market,
    outgrows,
    played,
    regret,
    relaxed_best,
    sequences,
)


@pytest.mark.parametrize("budget", Budget)
@pytest.mark.parametrize("demand", Demand)
def test_rounds_are_those_of_four_and_five_by_hand(budget: Budget, demand: Demand) -> None:
    for (memory, cost), start in product(((1, 1), (3, 2)), (HALF, Fraction(3))):
        market = Market(memory, cost, start, Fraction(3, 2), budget, demand)
        for rounds in sequences((HALF, ONE), tokens=2, rounds=2):
            price = start
            for turn, values in zip(played(market, rounds), rounds, strict=True):
                wanted = sorted((a for a in values if a >= price * cost), reverse=True)
                kept = wanted if budget is Budget.NETTED else wanted[: memory // cost]
                seen = kept if demand is Demand.KEPT else wanted
                assert (turn.price, sorted(turn.kept, reverse=True)) == (price, kept)
                assert turn.excess == cost * len(kept) - memory
                price *= Fraction(3, 2) ** (cost * len(seen) - memory)
                assert turn.following == price


def test_regret_is_against_the_best_that_fit() -> None:
    assert regret(Market(start=Fraction(2)), [(HALF, ONE), ()]) == 1
    assert regret(Market(), [(ONE, ONE)]) == -1


def test_part_of_a_token_fills_what_whole_ones_leave() -> None:
    assert relaxed_best(Market(memory=3, cost=2), (ONE, HALF)) == Fraction(5, 4)
    assert relaxed_best(Market(), (HALF,)) == HALF


def test_only_what_passes_each_multiple_of_the_root_outgrows_it() -> None:
    assert outgrows(lambda rounds: rounds) == (
        "more than 1 sqrt(T) at T = 4, 2 sqrt(T) at T = 16, 4 sqrt(T) at T = 64"
    )
    assert outgrows(lambda rounds: 3 * Fraction(rounds) ** 0) is None
    assert outgrows(lambda rounds: -rounds) is None
