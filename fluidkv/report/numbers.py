"""Numbers as a person reads them: four digits, thousands separated, no zeros at the end.

What is said to be at most is rounded up, what is said to be at least is rounded down.
"""

import math
from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction

Number = Fraction | int | float

_IN_FULL = 10**15  # whole numbers below it, and from 10**12 on no others, are written out
_LARGE = 10**12
_ROUNDING = 1e-9  # of a mean: its interval is not told from none
_NEVER = 1e-15  # no chance is told from a smaller one


def short(value: Number | None, digits: int = 4) -> str:
    """Whole numbers in full, others to so many digits, but never fewer than before the point.

    "-" for None and NaN.
    """
    return _rounded(value, ROUND_HALF_EVEN, digits)


def at_most(value: Number, digits: int = 4) -> str:
    """As `short`, rounded up."""
    return _rounded(value, ROUND_CEILING, digits)


def at_least(value: Number, digits: int = 4) -> str:
    """As `short`, rounded down."""
    return _rounded(value, ROUND_FLOOR, digits)


def percent(share: Number | None) -> str:
    """One decimal; of less than 0.1% the first digit."""
    if share is None or math.isnan(share):
        return "-"
    share = float(share)
    return f"{share:.1%}" if share == 0 or abs(share) >= 1e-3 else f"{100 * share:.1g}%"


def percent_at_most(share: float) -> str:
    """Two digits, rounded up."""
    return f"{_rounded(100 * share, ROUND_CEILING, 2)}%"


def signed(share: Number | None) -> str:
    """A difference as a percentage, with its sign; "from 0" where there was nothing before."""
    if share is None or math.isnan(share):
        return "-"
    return f"{float(share):+.1%}" if math.isfinite(share) else "from 0"


def half_shown(half: float, mean: float = 1.0) -> float:
    """Half of an interval as it is shown: 0 below a billionth of the mean, which is rounding.

    Args:
        mean: 1 where the interval is a share of the mean.
    """
    return 0.0 if half < _ROUNDING * abs(mean) else half


def seconds(value: float | None) -> str:
    return "none" if value is None else f"{value:.1f} s"


def chance_at_most(value: float) -> str:
    """Three digits, rounded up; "1e-15" for whatever is below."""
    return "1e-15" if value <= _NEVER else _rounded(value, ROUND_CEILING, 3)


def exact(value: Fraction, digits: int = 6, width: int = 16) -> str:
    """As `short`, and behind it the fraction itself where that is short enough to read."""
    text = str(value)
    behind = f" ({text})" if "/" in text and len(text) < width else ""
    return short(value, digits) + behind


def counted(count: int, one: str, many: str = "") -> str:
    """ "1 run", "2 runs"."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def modes_grow(count: int | None) -> str:
    if count is None:
        return "growing modes not decided"
    if count == 0:
        return "no mode grows"
    return f"{counted(count, 'mode')} {'grows' if count == 1 else 'grow'}"


def listed(words: Sequence[str], most: int = 5) -> str:
    """The first few, and how many more there are."""
    more = len(words) - most
    return ", ".join(words) if more <= 1 else f"{', '.join(words[:most])}, {more} more"


def _rounded(value: Number | None, rounding: str, digits: int) -> str:
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return "-" if value is None or math.isnan(value) else f"{value:g}"
    fraction = Fraction(value)
    if fraction.denominator == 1 and abs(fraction) < _IN_FULL:
        return f"{fraction.numerator:,}"
    decimal = Context(prec=60, rounding=rounding).divide(
        Decimal(fraction.numerator), Decimal(fraction.denominator)
    )
    if 10 ** (digits - 1) <= abs(decimal) < _LARGE:
        return f"{int(decimal.to_integral_value(rounding=rounding)):,}"
    return f"{float(Context(prec=digits, rounding=rounding).plus(decimal)):,.{digits}g}"
