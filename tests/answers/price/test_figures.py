"""The picture of an answer about tokens and their price: its numbers, and that it draws."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

from fluidkv.answers.price.figures import price_figure
from fluidkv.answers.price.result import PriceAnswer
from fluidkv.figures import write_figures
from tests.answers.price.made import made


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
