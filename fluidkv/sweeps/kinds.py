"""What the value of a setting may be: whole numbers, numbers, exact numbers, words.

A kind reads what a spec says, says it again in JSON, and finds values between two ends for ranges
and samples. A decimal number is exact, in a TOML file and in Python: 0.1 is 1/10.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any, Literal, Protocol

from fluidkv.errors import InputError
from fluidkv.text import NUMBER, nearest

Value = int | float | Fraction | str | None
Scale = Literal["linear", "log"]
_MOST_DIGITS = 1000  # of a numerator or denominator; Python writes out some 4300


class Kind(Protocol):
    """How values of one kind are read, shown and interpolated."""

    @property
    def words(self) -> str:
        """What is allowed, as errors and pages say it."""
        ...

    def read(self, argument: str, said: object) -> Value:
        """The value of what a spec says; raises InputError for another one."""
        ...

    def between(self, low: Any, high: Any, part: Fraction, scale: Scale) -> Value:
        """The value at a part in [0, 1] of the way from `low` to `high`, both included."""
        ...


@dataclass(frozen=True)
class Whole:
    """Whole numbers of at least `least` and at most `most`."""

    least: int = 1
    most: int = 2**62

    @property
    def words(self) -> str:
        below = f" and at most {self.most:,}" if self.most < 2**53 else ""
        return f"a whole number of at least {self.least:,}{below}"

    def read(self, argument: str, said: object) -> int:
        value = _exact(said)
        if value is None or value.denominator != 1 or not self.least <= value <= self.most:
            raise InputError(argument, said, self.words)
        return int(value)

    def between(self, low: int, high: int, part: Fraction, scale: Scale) -> int:
        if scale == "log":
            return round(_power(low, high, part))
        return round(low + (high - low) * part)


@dataclass(frozen=True)
class Number:
    """Finite doubles, above `above`, at least `least`, at most `most`; below `below`."""

    above: float = -math.inf
    least: float = -math.inf
    most: float = math.inf
    below: float = math.inf

    @property
    def words(self) -> str:
        bounds = [
            f"above {self.above:g}" if self.above > -math.inf else "",
            f"of at least {self.least:g}" if self.least > -math.inf else "",
            f"of at most {self.most:g}" if self.most < math.inf else "",
            f"below {self.below:g}" if self.below < math.inf else "",
        ]
        return " ".join(["a number", " and ".join(each for each in bounds if each)]).strip()

    def read(self, argument: str, said: object) -> float:
        value = _double(_exact(said))
        if value is None or not self.above < value < self.below:
            raise InputError(argument, said, self.words)
        if not self.least <= value <= self.most:
            raise InputError(argument, said, self.words)
        return value

    def between(self, low: float, high: float, part: Fraction, scale: Scale) -> float:
        if scale == "log":
            return _power(low, high, part)
        return float(Fraction(low) + (Fraction(high) - Fraction(low)) * part)


@dataclass(frozen=True)
class Exact:
    """Rationals above `above` and at most `most`, as 0.1, 1 or "1/3"."""

    above: Fraction | int = 0
    most: Fraction | int = 1
    denominator: int = 1000

    @property
    def words(self) -> str:
        return f'a number above {self.above} and at most {self.most}, such as 0.25 or "1/3"'

    def read(self, argument: str, said: object) -> Fraction:
        value = _exact(said)
        if value is None or not self.above < value <= self.most:
            raise InputError(argument, said, self.words)
        return value

    def between(self, low: Fraction, high: Fraction, part: Fraction, scale: Scale) -> Fraction:
        if scale == "log":
            near = Fraction(_power(low, high, part)).limit_denominator(self.denominator)
            return min(max(near, low), high)
        return low + (high - low) * part


@dataclass(frozen=True)
class Word:
    """A name; one of `known` unless `check` judges it."""

    known: tuple[str, ...] = ()
    check: Callable[[str], object] | None = None
    what: str = "a name"

    @property
    def words(self) -> str:
        return f"one of {', '.join(self.known)}" if self.known else self.what

    def read(self, argument: str, said: object) -> str:
        if not isinstance(said, str):
            raise InputError(argument, said, self.words)
        if self.check is not None:
            try:
                self.check(said)
            except InputError as error:
                raise InputError(argument, said, error.allowed) from None
        elif self.known and said not in self.known:
            raise InputError(argument, said, nearest(said, self.known))
        return said

    def between(self, low: Any, high: Any, part: Fraction, scale: Scale) -> str:
        raise NotImplementedError  # there is nothing between two words; ranges are refused before


def plain(value: object) -> Any:
    """As JSON has it, so that reading it again gives the same value."""
    if isinstance(value, tuple | list):
        return [plain(each) for each in value]
    if isinstance(value, Fraction):
        return str(value)
    return "none" if value is None else value


def shown(value: object) -> str:
    """A value in a coordinate of texts: 30, "30 60" of several classes."""
    if isinstance(value, tuple):
        return " ".join(shown(each) for each in value)
    return "none" if value is None else str(value)


def evenly(kind: Kind, low: Any, high: Any, count: int, scale: Scale) -> list[Value]:
    """`count` values from `low` to `high`, both included."""
    if count == 1:
        return [low]
    inner = (kind.between(low, high, Fraction(i, count - 1), scale) for i in range(1, count - 1))
    return [low, *inner, high]


def spread(
    kind: Kind, low: Any, high: Any, parts: Iterable[float], scale: Scale, denominator: int
) -> list[Value]:
    """Values at parts in [0, 1) of a sample: every whole number, or multiple of 1 / denominator,
    between the ends has its part; numbers lie where their part says.
    """
    if isinstance(kind, Whole):
        return _whole_parts(low, high, parts, scale)
    if isinstance(kind, Exact):
        first, last = math.ceil(low * denominator), math.floor(high * denominator)
        return [Fraction(k, denominator) for k in _whole_parts(first, last, parts, scale)]
    return [kind.between(low, high, Fraction(part), scale) for part in parts]


def _whole_parts(low: int, high: int, parts: Iterable[float], scale: Scale) -> list[Any]:
    if scale == "log":
        found: Sequence[int] = [int(_power(low, high + 1, part)) for part in parts]
    elif high - low < 2**22:  # a part has 30 bits: the product is exact
        found = [low + int((high - low + 1) * part) for part in parts]
    else:
        found = [low + int((high - low + 1) * Fraction(part)) for part in parts]
    return [min(max(k, low), high) for k in found]


def _power(low: Any, high: Any, part: Any) -> float:
    return float(low) * (float(high) / float(low)) ** float(part)


def _exact(said: object) -> Fraction | None:
    """The number that is meant, of a double the decimal that it is written as; None where there is
    none, and for one with more digits than can be written out.
    """
    if isinstance(said, bool):
        return None
    if isinstance(said, float):
        said = Decimal(repr(float(said)))  # float: NumPy's doubles say their type too
    found = Fraction(said) if isinstance(said, int | Fraction) else None
    if isinstance(said, Decimal):
        found = _decimal(said)
    if isinstance(said, str):
        found = _quotient(said.replace(" ", "").split("/"))
    if found is None or max(abs(found.numerator), found.denominator) >= 10**_MOST_DIGITS:
        return None
    return found


def _quotient(parts: Sequence[str]) -> Fraction | None:
    if len(parts) > 2 or not all(NUMBER.fullmatch(each) for each in parts):
        return None
    try:
        above, below = (_decimal(Decimal(each)) for each in [*parts, "1"][:2])
    except InvalidOperation:  # an exponent that Decimal has no room for
        return None
    return None if above is None or not below else above / below


def _decimal(said: Decimal) -> Fraction | None:
    """Exactly; looks at the exponent first, as 1e999999999 would fill the memory."""
    if not said.is_finite():
        return None
    if not said:
        return Fraction(0)
    last = said.as_tuple().exponent
    assert isinstance(last, int)
    return Fraction(said) if last >= -_MOST_DIGITS and said.adjusted() <= _MOST_DIGITS else None


def _double(exact: Fraction | None) -> float | None:
    if exact is None:
        return None
    try:
        return float(exact)
    except OverflowError:
        return None
