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
