"""Games over all sequences: what is known for paging, and that their cycles are real."""

from fractions import Fraction
from itertools import product

import pytest

from fluidkv.prefix.paging.adversaries import batches_of_tails, drawn, in_a_loop, tails
from fluidkv.prefix.paging.bounds import harmonic, lru_ratio, rlt_ratio
from fluidkv.prefix.paging.games import optimum_rate, play, worst
from fluidkv.prefix.paging.lru import accesses, lru_misses
from fluidkv.prefix.paging.optimum import fewest_misses
from fluidkv.prefix.paging.tokens import needed, singles


def _lru(capacity: int):
    def online(cached, request):
        missed = 0
        for step in accesses(cached, request, capacity):
            cached, missed = step.after, missed + step.missed
        return cached, missed

    return online


@pytest.mark.parametrize("capacity", [2, 3, 4])
def test_lru_is_k_competitive_on_pages(capacity: int) -> None:
    # Sleator and Tarjan, 1985
    pages = singles((page,) for page in range(capacity + 1))
    found = worst(play(pages, capacity, (), _lru(capacity)))
    assert found is not None
    assert found.ratio == capacity


def test_a_cycle_costs_what_it_says_when_it_is_played() -> None:
    requests = singles([(0, 0), (0, 1), (0, 2), (1,), (1, 0)])
    found = worst(play(requests, 3, (), _lru(3)))
    assert found is not None
    once, more = found.cycle * 20, found.cycle * 40
    assert lru_misses(more, 3) - lru_misses(once, 3) == 20 * found.gain
    assert fewest_misses(more, 3) - fewest_misses(once, 3) == 20 * found.cost


def test_no_short_sequence_beats_the_cycle() -> None:
    requests = singles([(0,), (0, 0), (1,)])
    found = worst(play(requests, 2, (), _lru(2)))
    assert found is not None
    for each in product(requests, repeat=6):
        assert lru_misses(each, 2) <= found.ratio * fewest_misses(each, 2)


def test_the_rate_of_the_optimum_is_the_mean_of_long_draws() -> None:
    requests = singles(tails(3, 1))
    rate = optimum_rate(requests, 3)
    assert rate == 1 / (4 * harmonic(3)) == Fraction(3, 22)
    # all sequences of 7 and of 6: the last request costs nearly the rate already
    added = [
        Fraction(sum(fewest_misses(each, 3) for each in product(requests, repeat=n)), 4**n)
        for n in (6, 7)
    ]
    assert abs(added[1] - added[0] - rate) < Fraction(1, 4)


def test_adversaries_are_as_the_proofs_say() -> None:
    assert tails(6, 3) == tuple((0, 0, last) for last in range(5))
    batches = batches_of_tails(6, 2, 3)
    assert len(batches) == 6 - 2 - 3 + 3
    assert all(len(set(batch)) == 3 and batch[:2] == ((0, 0), (0, 1)) for batch in batches)
    assert len({token for batch in batches for token in needed(batch)}) == 7
    assert len(in_a_loop(batches, 3)) == 12
    from random import Random

    assert set(drawn(batches, 100, Random(0))) == set(batches)


def test_bounds_at_the_clean_tokens_that_attain_them() -> None:
    assert lru_ratio(6, 3) == (5, -2)
    assert rlt_ratio(6, 3) == (2 * harmonic(5) - 1, -2)
    assert lru_ratio(6, 3, 2) == (4, -2)


def test_numbers_that_do_not_fit_are_refused() -> None:
    requests = singles([(0,), (1,)])
    small = Fraction(1, 3**39)
    game = play(requests, 1, (), lambda state, asked: (state, small if asked == ((0,),) else 1))
    with pytest.raises(ArithmeticError, match="64 bits"):
        worst(game)


def test_a_gain_at_no_cost_is_refused() -> None:
    game = play(singles([(0,)]), 1, (), lambda state, _: (state, 1))
    with pytest.raises(ArithmeticError, match="at no cost"):
        worst(game)
