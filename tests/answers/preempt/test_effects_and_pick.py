"""Main effects on grids whose answer is known, and who is picked out of differences and noise."""

from itertools import product

import numpy as np
import pytest

from fluidkv.answers.preempt.effects import main_effects
from fluidkv.answers.preempt.pick import MARGIN, Aim, against_first, pick
from fluidkv.answers.preempt.rules import Combination
from fluidkv.serving.rules import Allocation, Restore, Victim

GRID = tuple(
    Combination(victim, restore, Allocation.BY_BLOCK)
    for victim, restore in product(list(Victim)[:4], list(Restore)[:2])
)
SPEED, GAP = Aim("throughput", 1), Aim("gap", -1)


def _picked(throughput, gap=None, *, allowed=None, margins=None):
    values = {"throughput": np.array(throughput, float)}
    aims = [SPEED]
    if gap is not None:
        values["gap"], aims = np.array(gap, float), [SPEED, GAP]
    size = len(throughput)
    against = {
        name: against_first(column, comparisons=(size - 1) * len(aims), relative=True)
        for name, column in values.items()
    }
    fine = np.ones(size, bool) if allowed is None else np.array(allowed)
    return pick(values, aims, against, fine, margins or {})


def test_effects_of_a_sum_have_all_of_the_variance():
    victim, restore = np.array([0.0, 1, 2, 5]), np.array([0.0, 3])
    means = (victim[:, None] + restore).ravel()
    found = main_effects(np.stack([means, means + 7], axis=1), GRID)
    assert found is not None
    parts = 4 * 2.25, 2 * (victim - 2).dot(victim - 2)  # 4 victims x 1.5^2 x 2; and the other
    assert [effect.factor for effect in found.of] == ["victim", "restore"]
    by_name = {effect.factor: effect for effect in found.of}
    whole = 2 * parts[0] + parts[1]
    assert by_name["restore"].share == pytest.approx(2 * parts[0] / whole)
    assert by_name["victim"].share == pytest.approx(parts[1] / whole)
    assert by_name["victim"].means == pytest.approx(victim + 1.5 + 3.5)
    assert found.together == pytest.approx(0, abs=1e-12)
    assert found.noise == pytest.approx(0, abs=1e-12)


def test_effects_of_a_product_around_zero_are_together():
    means = np.outer([-1, 1, -1, 1], [-1, 1]).ravel()
    found = main_effects(means[:, None].astype(float), GRID)
    assert found is not None
    assert [effect.share for effect in found.of] == [0, 0]
    assert found.together == 1
    assert np.isnan(found.noise)


def test_noise_near_one_where_there_is_nothing_else():
    draws = np.random.default_rng(0).normal(size=(200, 8, 12))
    noise = [found.noise for each in draws if (found := main_effects(each, GRID))]
    # The ratio of two estimates of one variance, with 7 and 77 degrees of freedom: mean 7 / 5.
    assert np.mean(noise) == pytest.approx(7 / 5, rel=0.15)


def test_what_does_not_differ_or_has_no_value_has_no_effects():
    assert main_effects(np.full((8, 3), 0.1), GRID) is None
    values = np.random.default_rng(1).random((8, 3))
    values[2, 1] = np.nan
    assert main_effects(values, GRID) is None


def test_pick_is_better_beyond_noise_and_the_margin():
    runs = 100 + np.array([-3.0, -1, 0, 1, 3])
    assert _picked([runs, runs * 1.10]).index == 1
    assert _picked([runs, runs * 1.10]).wins == 5
    assert _picked([runs, runs * (1 + MARGIN / 2)]).index == 0  # told from noise, but nothing
    noisy = runs * [1.5, 0.8, 1.4, 0.7, 1.3]
    assert noisy.mean() > (1 + MARGIN) * runs.mean()
    assert _picked([runs, noisy]).index == 0


def test_what_is_worse_in_one_aim_or_has_not_ended_is_not_picked():
    runs = np.array([100.0, 101, 99])
    faster = [runs, runs * 1.2, runs * 1.1]
    gap = [runs, runs * 1.3, runs]
    assert _picked(faster, gap).index == 2
    assert _picked(faster, gap).better == (2,)
    assert _picked(faster, gap, allowed=[True, True, False]).index == 0
    assert _picked(faster, margins={"throughput": 0.15}).better == (1,)


def test_the_best_of_many_looks_better_than_it_is():
    """Equal rules under noise: one at a time some look better; held together hardly ever."""
    draw = np.random.default_rng(5)
    wrong_alone = wrong = 0
    for _ in range(200):
        values = 100 * np.exp(draw.normal(0, 0.1, (25, 6)))
        found = against_first(values, comparisons=24, relative=True)
        wrong_alone += (found.mean > np.maximum(found.half, MARGIN)).any()
        wrong += _picked(values).index != 0
    assert wrong_alone > 200 / 7
    # By Bonferroni, one-sided, at most 2.5 % of draws: of 200 more than 11 once in 100.
    assert wrong <= 11


def test_those_not_told_from_the_pick_are_named():
    runs = np.array([100.0, 104, 97, 101])
    other = runs * [1.201, 1.199, 1.202, 1.1985]
    found = _picked([runs, runs * 1.2, other, runs * 1.1])
    assert found.index in (1, 2)
    assert found.close == (3 - found.index,)
    assert found.better == (1, 2, 3)


def test_one_run_says_nothing_of_noise():
    assert _picked([[100.0], [150.0]]).index == 0


def test_who_knows_what_no_server_knows_is_named_and_not_picked():
    runs = 100 + np.array([-3.0, -1, 0, 1, 3])
    values = {"throughput": np.array([runs, runs * 1.3, runs * 1.1])}
    against = {"throughput": against_first(values["throughput"], comparisons=2, relative=True)}
    ended, oracles = np.ones(3, bool), np.array([False, True, False])
    found = pick(values, [SPEED], against, ended, {}, oracles)
    assert (found.index, found.better, found.untold) == (2, (2,), (1,))
    assert pick(values, [SPEED], against, ended, {}).index == 1
