"""Text from outside: what is a number in it, and how it is shown."""

import re

NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
"""A decimal number. `float` and `Decimal` would also take 1_000, nan and the digits of any script.
There is one way to match each text, so that a long one cannot make the match slow."""


def printable(text: str) -> str:
    r"""The text with every character that prints nothing of its own written out, as in `repr`.

    So controls (`\x1b`), marks of direction (`\u202e`), line ends, separators other than the blank,
    and the halves of a surrogate pair (`\udcff`) become the letters of their escapes.
    """
    if text.isprintable():  # nearly always
        return text
    return "".join(each if each.isprintable() else repr(each)[1:-1] for each in text)
