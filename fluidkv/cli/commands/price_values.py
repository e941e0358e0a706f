"""What the options of `fluidkv price` say, as values."""

from collections.abc import Iterable
from difflib import get_close_matches
from fractions import Fraction

from fluidkv.cli import arguments as read
from fluidkv.errors import InputError

_NUMBER = "a number of at least 0, such as 0.01 or 1/100"
_BUDGET = "a whole number of tokens, at least 1, or a share of what is held at most, such as 25%"


def from_0(argument: str, text: str) -> Fraction:
    """A number that may be 0."""
    value = read.exact_number(argument, text, _NUMBER)
    if value < 0:
        raise InputError(argument, text, _NUMBER)
    return value


def tokens_or_share(argument: str, text: str) -> int | Fraction:
    """Tokens as an int, a share as a Fraction; `25%` is 1/4."""
    if text.strip().endswith("%"):
        share = read.exact_number(argument, text.strip()[:-1], _BUDGET) / 100
        if not share > 0:
            raise InputError(argument, text, _BUDGET)
        return share
    value = read.exact_number(argument, text, _BUDGET)
    if value < 1 or value.denominator != 1:
        raise InputError(argument, text, _BUDGET)
    return value.numerator


def unknown(argument: str, name: str, known: Iterable[str]) -> InputError:
    """A name that is not there: names near it, or all."""
    names = list(known)
    near = get_close_matches(name, names, n=3, cutoff=0.5)
    return InputError(argument, name, f"one of {', '.join(near or names)}")
