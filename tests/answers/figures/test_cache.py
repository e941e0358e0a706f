"""The picture of an answer about caches: its numbers, and that it draws."""

import warnings

from fluidkv.answers import cache_study, prompted_generator
from fluidkv.answers.figures.cache import LOOKS, cache_figure, coinciding
from fluidkv.figures import write_figures
from fluidkv.prefix import Policy

SMALL = prompted_generator(
    "gsp", parameters={"groups": 6, "queries": 8, "lengths": (10, 20), "order": "round-robin"}
)


def test_the_figure_is_the_answer_and_draws(tmp_path):
    answer = cache_study(SMALL, (40, 60, 90), seeds=2)
    figure = cache_figure(answer)
    data = figure.data()
    assert data["capacity"].tolist() == [40, 60, 90]
    for curve in answer.curves:
        assert data[f"{curve.policy.value}.hit_rate"].tolist() == curve.hit_rate.tolist()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        write_figures([figure], tmp_path / "new")


def test_every_policy_looks_like_no_other():
    assert set(LOOKS) == {policy.value for policy in Policy}
    assert len(set(LOOKS.values())) == len(LOOKS)


def test_curves_on_each_other_are_named():
    answer = cache_study(SMALL, (40, 60), policies=[Policy.LRU, Policy.RELEASED, Policy.MRU])
    text = coinciding(cache_figure(answer).data())
    assert text == " L-LRU and least recently released lie on each other."
