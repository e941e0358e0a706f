"""Types, times and tokens in the words of `fluidkv wait`."""

from collections.abc import Iterable, Sequence

from fluidkv.report.numbers import at_most, listed, short
from fluidkv.wait.model import Exact, PromptType


def of_types(types: Sequence[PromptType], values: Iterable[str]) -> str:
    """ "1 of type 1:1 (input:output), 1 of 1:2"."""
    words = [f"{v} of {label(t)}" for t, v in zip(types, values, strict=True)]
    words[0] = f"{words[0].replace(' of ', ' of type ')} (input:output)"
    return listed(words)


def named(types: Sequence[PromptType], values: Iterable[str]) -> str:
    return listed([f"{v} of {label(t)}" for t, v in zip(types, values, strict=True)])


def label(each: PromptType) -> str:
    return f"{each.input_length}:{each.output_length}"


def tokens(value: Exact) -> str:
    return f"{short(value)} KV tokens"


def tokens_at_most(value: Exact) -> str:
    return f"{at_most(value)} KV tokens"


def per(unit: str) -> str:
    return "per second" if unit == "s" else "per unit of time"


def time(value: Exact | float | str, unit: str) -> str:
    """With its unit, where that has a name; text stays as it is."""
    text = value if isinstance(value, str) else short(value)
    return f"{text} {unit}".rstrip()
