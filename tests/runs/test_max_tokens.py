"""What clients ask for at most, from text to a column of a table."""

import numpy as np
import pytest

from fluidkv.errors import InputError
from fluidkv.runs.max_tokens import EXACT, MaxTokens, max_tokens_of
from fluidkv.runs.requests import Requests

TABLE = Requests([10, 20, 30], [5, 6, 700], arrival=[0, 1, 2], class_index=[0, 1, 0])


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("exact", [5, 6, 700]),
        ("700", [700, 700, 700]),
        ("2x", [10, 12, 1400]),
        ("1.1x", [6, 7, 770]),
        ("context:2000", [1990, 1980, 1970]),
    ],
)
def test_a_rule_says_what_each_asks_for(text: str, asked: list[int]) -> None:
    rule = max_tokens_of(text)
    assert str(rule) == text
    found = rule.of(TABLE)
    assert found.max_output.tolist() == asked
    assert rule.at_most(TABLE).max_output.tolist() == asked
    for name in ("input_length", "output_length", "arrival", "class_index"):
        assert np.array_equal(getattr(found, name), getattr(TABLE, name))


def test_a_draw_is_between_its_bounds_and_no_less_than_what_is_put_out() -> None:
    table = Requests([1] * 4000, [100] * 2000 + [900] * 2000)
    rule = max_tokens_of("uniform:500:1000")
    asked = rule.of(table, seed=3).max_output
    low, high = asked[:2000], asked[2000:]
    assert (low.min(), low.max(), high.min(), high.max()) == (500, 1000, 900, 1000)
    assert abs(low.mean() - 750) < 15  # 4.6 standard errors of 144 / sqrt(2000)
    assert np.array_equal(asked, rule.of(table, seed=3).max_output)
    assert not np.array_equal(asked, rule.of(table, seed=4).max_output)
    assert set(rule.at_most(table).max_output.tolist()) == {1000}


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        ("600", "at least the 700 outputs of request 2, counted from 0"),
        ("uniform:1:699", "at least the 700 outputs of request 2, counted from 0"),
        ("context:100", "a context for request 2, counted from 0: 30 input + 700 output"),
    ],
)
def test_less_than_is_put_out_is_refused_with_its_row(text: str, allowed: str) -> None:
    with pytest.raises(InputError) as caught:
        max_tokens_of(text).of(TABLE)
    assert (caught.value.argument, caught.value.allowed) == ("max_tokens", allowed)


@pytest.mark.parametrize("text", ["", "x", "2y", "-3", "4.5", "uniform:5", "context", "exact:3"])
def test_another_text_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="exact, a number of tokens such as 4096"):
        max_tokens_of(text)


@pytest.mark.parametrize("text", ["0", "uniform:9:3", "0.5x"])
def test_numbers_out_of_range_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="max_tokens"):
        max_tokens_of(text)


def test_exactly_is_what_a_table_has_anyway() -> None:
    assert EXACT.of(TABLE) is TABLE
    assert str(MaxTokens("column", column="asked")) == "column:asked"
