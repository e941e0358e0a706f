"""Messages of bad input: one line, whatever the value is."""

from fractions import Fraction

import pytest

from fluidkv.errors import InputError


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (3, "got 3;"),
        ("two\nlines", r"got 'two\nlines';"),
        (10**5000, "got about 10^5000;"),
        (-(10**5000), "got about -10^5000;"),
        (Fraction(1, 10**5000), "got Fraction with a number too long to write out;"),
        ([1, 10**5000], "got list with a number too long to write out;"),
    ],
    ids=["whole", "lines", "large", "low", "share", "list"],  # pytest cannot write them out either
)
def test_a_message_is_one_short_line(value, said):
    message = str(InputError("x", value, "less"))
    assert said in message
    assert "\n" not in message
    assert len(message) < 100


@pytest.mark.parametrize("bad", ["\x1b]0;t\x07", "\x9b\x7f", "\u202e", "\ud800", "a\nb"])
def test_no_part_of_a_message_steers_a_terminal(bad: str) -> None:
    class Raw:
        def __repr__(self) -> str:
            return bad

    for error in (InputError(bad, 1, "x"), InputError("x", Raw(), "x"), InputError("x", bad, bad)):
        assert str(error).isprintable()
