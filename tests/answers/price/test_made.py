"""An answer made by hand: quantiles, violation, differences between policies, and its picture."""

import json
import math
import warnings
from dataclasses import replace

import numpy as np
import pytest

from fluidkv.answers.price.figures import price_figure
from fluidkv.answers.price.result import Kept, PriceAnswer
from fluidkv.answers.price.spread import difference, fewest
from fluidkv.answers.price.tally import Tally
from fluidkv.figures import write_figures
from tests.answers.price.made import POLICIES, made


def _kept(used: list[list[int]], mass: list[list[float]] | None = None) -> Kept:
    """Of runs that used so much, and whose requests kept so much."""
    tally = Tally(POLICIES[0], there=np.ones((1, 1), bool))
    tally.used = [np.array(each) for each in used]
    tally.mass = tally.error = [np.array(each) for each in mass or [[0.5]] * len(used)]
    tally.total, tally.optimum = [0.0] * len(used), [0.0] * len(used)
    tally.recomputed = [0] * len(used)
    return tally.kept(8, None)


def test_use_and_violation() -> None:
    kept = _kept([[10, 3, 0, 9], [9, 2, -1, 8]])
    assert kept.average == pytest.approx(((10 + 3 + 9) / 3 + (9 + 2 + 8) / 3) / 2)
    assert kept.peak == 10
    assert not kept.fits
    assert kept.largest == 2
    assert kept.positive == (2 + 1 + 1) / 2  # 10, 9 in one run; 9 in the other
    assert kept.netted == 0  # 22 and 18 of 32


def test_netted_violation_adds_up_what_is_above_and_below() -> None:
    kept = _kept([[10, 9, 7]])
    assert (kept.netted, kept.positive, kept.largest) == (2, 3, 2)


def test_the_worst_request_and_the_fifth_percentile() -> None:
    kept = _kept([[1], [1]], [[0.9, 0.5], [0.7, 0.3]])
    assert kept.mean == pytest.approx(0.6)
    assert kept.worst == 0.3
    assert kept.low == pytest.approx(0.33)  # 0.15 of the way from the least to the next


def test_everything_is_plain() -> None:
    found = json.loads(json.dumps(made().to_dict(), allow_nan=False))
    assert found["policies"][3]["violation"] == {"netted": 8.0, "positive": 8.0, "largest": 2}
    assert found["policies"][0]["price_by_round"] is None
    assert found["pick"]["brings"][0]["what"] == "pooling"
    assert len(found["policies"][0]["there_by_round"]) == found["rounds"]


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


def only(answer: PriceAnswer, *names: str) -> PriceAnswer:
    return replace(answer, kept=tuple(each for each in answer.kept if each.name in names))


def free(answer: PriceAnswer) -> PriceAnswer:
    """A price that starts at 0, and stays there."""
    kept = [
        each if each.price is None else replace(each, price=np.zeros_like(each.price))
        for each in answer.kept
    ]
    return replace(answer, kept=tuple(kept))


def test_the_figure_is_the_answer():
    answer = made()
    data = price_figure(answer).data()
    assert data["mean"].tolist() == [each.mean for each in answer.kept]
    priced = answer.of("token-pd")
    assert priced is not None
    assert priced.price is not None
    assert data["token-pd.price"].tolist() == priced.price.tolist()
    assert data["token-pd.used"].tolist() == priced.used[0].tolist()
    assert data["token-pd.round"].size == priced.there.sum()
    assert "returns.price" not in data


@pytest.mark.parametrize(
    "change",
    [
        lambda answer: answer,
        lambda answer: only(answer, "lru"),
        lambda answer: only(answer, "token-pd"),
        free,
    ],
    ids=["all", "no price", "one", "price 0"],
)
def test_it_draws(change, tmp_path):
    answer = change(made())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        write_figures([price_figure(answer)], tmp_path / "new")


def test_the_caption_says_who_uses_more_than_the_budget():
    more = "+: uses more than the budget in some rounds."
    for answer, said in ((made(), True), (only(made(), "lru"), False)):
        figure = price_figure(answer)
        assert (more in figure.caption(figure.data())) is said
