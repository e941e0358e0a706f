"""Text from outside: what is a number in it, how it is shown, which name is meant."""

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches

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


def id_key(id: str) -> str:
    """The same for all ways to write an id: `congestion.figure-2` and `congestion_figure_2`."""
    return re.sub(r"[._]", "-", id.strip().lower())


def nearest(name: object, known: Iterable[str]) -> str:
    """What is allowed in place of a name that is not known: up to three near it, else all."""
    there = list(known)
    return nearest_of(near_names(name, there)) or f"one of {', '.join(there)}"


def nearest_of(near: Sequence[str]) -> str:
    """Names that may be meant, of those that are allowed; "" of none."""
    return f"{', '.join(near)} (the nearest)" if near else ""


def near_names(name: object, known: Iterable[str]) -> list[str]:
    """Up to three of the known names that are near one that is not, or none of them.

    Near are those that it begins, of three letters on, and those that are spelled alike.
    """
    there, asked = list(known), str(name).strip().lower()
    near = [each for each in there if len(asked) > 2 and each.lower().startswith(asked)]
    lower = {each.lower(): each for each in there}
    alike = (lower[each] for each in get_close_matches(asked, lower, 3, 0.6))
    near += [each for each in alike if each not in near]
    return near[:3]
