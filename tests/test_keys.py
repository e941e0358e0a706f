"""One table makes what JSON has of a record and the reference of its keys."""

from dataclasses import dataclass
from fractions import Fraction

import pytest

from fluidkv.keys import Key, Keyed, json_rows


@dataclass(frozen=True)
class Window(Keyed):
    """A range.

    Fields:
        first, least: the smallest; the same.
        last: the largest;
            None if there is none.
    """

    first: int
    last: int | None

    KEYS = (Key("first", "tokens"), Key("last", "tokens"))


@dataclass(frozen=True)
class Found(Keyed):
    """What is found.

    Fields:
        rate: Completed, on average.
        windows: all of them.
    """

    rate: Fraction | None
    windows: tuple[Window, ...]

    KEYS = (
        Key("rate", "per iteration", exact=True),
        Key("search.windows", "count", of=lambda found: len(found.windows), what="in all"),
        Key("search.least", "tokens", of="least.first", what="of them"),
        Key("windows[]", below=Window),
        Key("least", below="tests.test_keys:Window"),
        Key("least_exact", of="first_as_text"),
    )

    @property
    def least(self) -> Window:
        """The first of them.

        There is one.
        """
        return self.windows[0]

    @property
    def first_as_text(self) -> str:
        """As text."""
        return str(self.least.first)


def test_values_are_made_in_the_order_of_the_table_with_exact_ones_beside_them():
    found = Found(Fraction(1, 4), (Window(1, None), Window(3, 9)))
    one, other = {"first": 1, "last": None}, {"first": 3, "last": 9}
    assert list(found.to_dict().items()) == [
        ("rate", 0.25),
        ("rate_exact", "1/4"),
        ("search", {"windows": 2, "least": 1}),
        ("windows", [one, other]),
        ("least", one),
        ("least_exact", "1"),
    ]
    assert Found(None, found.windows).to_dict()["rate_exact"] is None


def test_what_a_key_is_says_the_docstring_of_what_it_comes_from():
    """Exact values are explained once for all, in no row."""
    window = [("first", "tokens", "the smallest; the same")]
    window += [("last", "tokens", "the largest; null if there is none")]
    below = {f: [(f"{f}.{path}", *rest) for path, *rest in window] for f in ("windows[]", "least")}
    assert list(json_rows(Found)) == [
        ("rate", "per iteration", "completed, on average"),
        ("search.windows", "count", "in all"),
        ("search.least", "tokens", "of them"),
        ("windows[]", "", "all of them"),
        *below["windows[]"],
        ("least", "", "the first of them"),
        *below["least"],
    ]


def test_rows_as_they_are_stand_below_a_front():
    assert list(json_rows([("a", "text", "b")], "c[].")) == [("c[].a", "text", "b")]


def test_a_key_that_nothing_has_is_an_error():
    @dataclass(frozen=True)
    class Wrong(Keyed):
        KEYS = (Key("nothing"),)

    with pytest.raises(AttributeError, match="nothing"):
        Wrong().to_dict()


class Bare(Keyed):
    """Keys that nothing describes."""

    KEYS = (Key("rate", "per iteration"),)


def test_a_key_that_nothing_describes_is_refused() -> None:
    with pytest.raises(ValueError, match="Bare: rate is described nowhere"):
        list(json_rows(Bare))
