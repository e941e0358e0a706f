"""Numbers and rows of `fluidkv wait`, in 80 columns. What is said to be at most is rounded up."""

import math
import textwrap
from collections.abc import Iterable, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction

from rich.console import Console
from rich.text import Text

from fluidkv.cli.wait_source import Load
from fluidkv.wait.model import Exact, PromptType

WIDTH = 80
_LABEL = 13
_SHOWN = 5  # types or segments named in a row
_NEVER = 1e-15  # no chance is told from a smaller one
Row = tuple[str, str]


def heading(console: Console, text: str) -> None:
    console.print(Text(f"\n{text}", "bold"), soft_wrap=True)


def rows(console: Console, table: Iterable[Row]) -> None:
    """Label and text, wrapped beside the label."""
    for name, text in table:
        lines = textwrap.wrap(text, WIDTH - _LABEL) or [""]
        for place, line in enumerate(lines):
            label = name if not place else ""
            console.print(Text(f"{label:<{_LABEL}}{line}"), soft_wrap=True)


def paragraph(console: Console, text: str) -> None:
    for line in textwrap.wrap(text, WIDTH):
        console.print(Text(line), soft_wrap=True)


def of_types(types: Sequence[PromptType], values: Iterable[str]) -> str:
    """ "1 of type 1:1 (input:output), 1 of 1:2"."""
    words = [f"{v} of {label(t)}" for t, v in zip(types, values, strict=True)]
    words[0] = f"{words[0].replace(' of ', ' of type ')} (input:output)"
    return listed(words)


def named(types: Sequence[PromptType], values: Iterable[str]) -> str:
    return listed([f"{v} of {label(t)}" for t, v in zip(types, values, strict=True)])


def listed(words: Sequence[str]) -> str:
    """The first few; how many more there are."""
    more = len(words) - _SHOWN
    if more <= 1:
        return ", ".join(words)
    return f"{', '.join(words[:_SHOWN])}, {more} more"


def label(each: PromptType) -> str:
    return f"{each.input_length}:{each.output_length}"


def tokens(value: Exact) -> str:
    return f"{short(value)} KV tokens"


def tokens_at_most(value: Exact) -> str:
    return f"{at_most(value)} KV tokens"


def per(load: Load) -> str:
    return "a second" if load.unit == "s" else "per unit of time"


def unit(load: Load) -> str:
    return f" {load.unit}" if load.unit else ""


def time(value: Exact, load: Load) -> str:
    return f"{short(value)}{unit(load)}"


def signed(value: Fraction) -> str:
    return f"{float(value):+.1%}"


def percent(share: float) -> str:
    return f"{share:.1%}" if share >= 1e-3 else f"{100 * share:.1g}%"


def percent_at_most(share: float) -> str:
    """Two digits, rounded up."""
    return f"{_rounded(100 * share, ROUND_CEILING, 2)}%"


def chance_at_most(value: float) -> str:
    """Three digits, rounded up; "1e-15" for whatever is below."""
    return "1e-15" if value <= _NEVER else _rounded(value, ROUND_CEILING, 3)


def short(value: Exact) -> str:
    """Whole numbers in full, others to four digits."""
    return _rounded(value, ROUND_HALF_EVEN)


def at_most(value: Exact | float) -> str:
    """As `short`, rounded up."""
    return _rounded(value, ROUND_CEILING)


def at_least(value: Exact | float) -> str:
    """As `short`, rounded down."""
    return _rounded(value, ROUND_FLOOR)


def number(value: float) -> str:
    """As `short`, of a double; "-" for none."""
    return "-" if math.isnan(value) else _rounded(value, ROUND_HALF_EVEN)


def _rounded(value: Exact | float, rounding: str, digits: int = 4) -> str:
    """Whole numbers of up to 15 digits, and digits before the point of up to 12, in full."""
    exact = Fraction(value)
    if exact.denominator == 1 and abs(exact) < 10**15 and not isinstance(value, float):
        return f"{exact.numerator:,}"
    context = Context(prec=60, rounding=rounding)
    decimal = context.divide(Decimal(exact.numerator), Decimal(exact.denominator))
    if 1000 <= abs(decimal) < 10**12:
        return f"{int(decimal.to_integral_value(rounding=rounding)):,}"
    return f"{float(Context(prec=digits, rounding=rounding).plus(decimal)):.{digits}g}"
