"""Differences between policies: seeds, requests, and what is called none."""

import math

import numpy as np
import pytest

from fluidkv.answers.price.spread import difference, fewest
from tests.answers.price.made import made


def test_a_difference_over_seeds_is_students():
    first = [np.array([0.5, 0.7]), np.array([0.6, 0.8])]
    second = [np.array([0.4, 0.6]), np.array([0.3, 0.5])]
    found = difference(first, second)
    # differences of means: 0.1 and 0.3; t(0.975, 1) = 12.706, standard error 0.1
    assert found.mean == pytest.approx(0.2)
    assert found.high - found.mean == pytest.approx(1.2706, rel=1e-4)
    assert (found.over, found.told, found.known) == ("seeds", False, True)


def test_the_same_gain_at_every_seed_is_told():
    runs = [np.array([0.5, 0.7]), np.array([0.6, 0.9])]
    found = difference([each + 0.01 for each in runs], runs)
    assert found.told
    assert found.low == pytest.approx(0.01)


def test_one_run_is_held_against_the_spread_of_its_requests():
    draw = np.random.default_rng(3)
    base = draw.uniform(size=200)
    noise = 0.1 * draw.standard_normal(200)
    assert not difference([base + noise - noise.mean()], [base]).told
    found = difference([base + noise + 0.05], [base])
    assert found.told
    assert found.over == "requests"
    half = 1.96 * noise.std() / math.sqrt(200)  # the normal limit of the bootstrap
    assert (found.high - found.low) / 2 == pytest.approx(half, rel=0.1)


def test_too_few_requests_tell_nothing():
    assert fewest(0.05) == 6  # 2^-5 < 0.05 < 2^-4
    assert fewest(0.01) == 8
    few = [np.full(5, 0.9)]
    found = difference(few, [np.full(5, 0.1)])
    assert not found.told
    assert not found.known
    assert found.to_dict()["low"] is None
    assert difference([np.full(6, 0.9)], [np.full(6, 0.1)]).told


def test_many_comparisons_make_wider_intervals():
    draw = np.random.default_rng(4)
    one, other = [draw.uniform(size=9) for _ in range(4)], [draw.uniform(size=9) for _ in range(4)]
    alone, many = difference(one, other), difference(one, other, comparisons=10)
    assert many.low < alone.low < alone.high < many.high


def test_the_pick_stays_within_the_budget():
    """token-pd keeps most, but uses more than it may."""
    answer = made()
    assert answer.pick.name in ("returns-pooled", "token-pd-hard")
    assert answer.pick.close  # the two keep the same
    assert set(answer.pick.behind) == {"lru", "returns", "returns-pooled", "token-pd-hard"} - {
        answer.pick.name
    }


def test_pooling_and_pricing_are_held_apart():
    brings = {(each.what, each.with_it): each for each in made().pick.brings}
    assert set(brings) == {
        ("pooling", "returns-pooled"),
        ("pricing", "token-pd"),
        ("pricing", "token-pd-hard"),
    }
    pooling, hard = brings["pooling", "returns-pooled"], brings["pricing", "token-pd-hard"]
    assert pooling.without == "returns"
    assert pooling.mass.mean == pytest.approx(0.1)
    assert pooling.mass.told
    assert hard.without == "returns-pooled"
    assert hard.mass.mean == 0
    assert not hard.mass.told
