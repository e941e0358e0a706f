"""What the value of an option may be: whole numbers, numbers, exact numbers, words, members.

A kind reads what a command line, a spec of a sweep or a caller says, and refuses the rest in one
line. Numbers and words also know what lies between two ends, for the ranges and samples of a
sweep. A decimal number is exact, in text, in a TOML file and in Python: 0.1 is 1/10.
"""

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from enum import Enum
from fractions import Fraction
from numbers import Integral
from typing import Any, Literal, NamedTuple, Protocol

from fluidkv.errors import InputError
from fluidkv.text import NUMBER, nearest

Value = int | float | Fraction | str | None
Scale = Literal["linear", "log"]
FEW_DIGITS = 60
"""Of a number that nothing else bounds: a double holds it."""
MOST_DIGITS = 1000
"""Of a numerator or denominator; Python writes out some 4300."""


class Reads(Protocol):
    """How values of one kind are read."""

    def read(self, argument: str, said: Any) -> Any:
        """The value of what is written, or a value itself; raises InputError for another one."""
        ...


class Kind(Reads, Protocol):
    """How values of one kind are read, shown and interpolated."""

    @property
    def words(self) -> str:
        """What is allowed, as errors and pages say it."""
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
        return self._ends if self.most < 2**53 else f"a whole number of at least {self.least:,}"

    @property
    def _ends(self) -> str:
        return f"a whole number from {self.least:,} to {self.most:,}"

    def read(self, argument: str, said: object) -> int:
        value = rational(said)
        if value is None or value.denominator != 1 or not self.least <= value <= self.most:
            above = value is not None and value > self.most
            raise InputError(argument, said, self._ends if above else self.words)
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
        value = _double(rational(said))
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
    """Rationals above `above` (or from it on) and at most `most`, such as those of `example`.

    Fields:
        below: whether they are below `most`.
    """

    above: Fraction | int = 0
    most: Fraction | int | float = 1
    denominator: int = 1000
    example: str = '0.25 or "1/3"'
    included: bool = False
    what: str = "a number"
    below: bool = False

    @property
    def words(self) -> str:
        if self.below:
            ends = f"strictly between {self.above} and {self.most}"
            return f"{self.what} {ends}, such as {self.example}"
        low = "of at least" if self.included else "above"
        high = "" if self.most == math.inf else f" and at most {self.most}"
        return f"{self.what} {low} {self.above}{high}, such as {self.example}"

    def read(self, argument: str, said: object) -> Fraction:
        value = rational(said, MOST_DIGITS if self.most < math.inf else FEW_DIGITS)
        if value is None or not self.above <= value <= self.most:
            raise InputError(argument, said, self.words)
        if (value == self.above and not self.included) or (value == self.most and self.below):
            raise InputError(argument, said, self.words)
        return value

    def between(self, low: Fraction, high: Fraction, part: Fraction, scale: Scale) -> Fraction:
        if scale == "log":
            near = Fraction(_power(low, high, part)).limit_denominator(self.denominator)
            return min(max(near, low), high)
        return low + (high - low) * part


SHARE = Exact(example="1/2 or 0.5", what="a share", below=True)
POSITIVE = Exact(0, math.inf, example="0.01 or 1/100")


@dataclass(frozen=True)
class Several:
    """Values of one kind, with commas between them."""

    kind: Reads

    def read(self, argument: str, said: Any) -> tuple[Any, ...]:
        parts = said.split(",") if isinstance(said, str) else said
        return tuple(self.kind.read(argument, each) for each in parts)


class Pair(NamedTuple):
    """Two values of one option; refusals show them as they are written."""

    first: Any
    second: Any

    def __repr__(self) -> str:
        return ":".join(str(value).removesuffix(".0") for value in self)

    __str__ = __repr__


@dataclass(frozen=True)
class Paired:
    """Two values with a colon between them.

    Fields:
        words: what is allowed.
        usual: the second value, where it is left out; None: it may not be.
        rising: whether the first one is below the second.
    """

    first: Reads
    second: Reads
    words: str
    usual: Any = None
    rising: bool = False

    def read(self, argument: str, said: Any) -> Pair:
        first, *others = said.split(":") if isinstance(said, str) else said
        refusal = InputError(argument, said, self.words)
        if len(others) > 1:
            raise refusal
        try:
            second = self.second.read(argument, others[0] if others else self.usual)
            pair = Pair(self.first.read(argument, first), second)
        except InputError:
            raise refusal from None
        if self.rising and not pair.first < pair.second:
            raise refusal
        return pair


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


@dataclass(frozen=True)
class Member:
    """A member of an enumeration, or its value as users write it.

    Fields:
        members: makes those that are allowed, when one is read: what has them may be slow to load.
    """

    members: Callable[[], Iterable[Enum]]

    @property
    def words(self) -> str:
        return f"one of {', '.join(each.value for each in self.members())}"

    def read(self, argument: str, said: object) -> Enum:
        known = {each.value: each for each in self.members()}
        if isinstance(said, Enum):
            if said in known.values():
                return said
            raise InputError(argument, said, self.words)
        if not isinstance(said, str) or said not in known:
            raise InputError(argument, said, nearest(said, known))
        return known[said]


@dataclass(frozen=True)
class Written:
    """What a function reads from text; a value that is no text is as it is."""

    reads: Callable[[str, str], Any]

    def read(self, argument: str, said: Any) -> Any:
        return self.reads(argument, said) if isinstance(said, str) else said


@dataclass(frozen=True)
class Text:
    """Any text, which somebody else judges."""

    def read(self, argument: str, said: Any) -> Any:
        return said


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


def rational(said: object, digits: int = MOST_DIGITS) -> Fraction | None:
    """The number that is meant: "0.5", "41408" and "1/2" exactly, of a double the decimal that it
    is written as. None where there is none, and for one with more digits than that.
    """
    if isinstance(said, bool):
        return None
    number = Fraction(int(said)) if isinstance(said, Integral) else None
    if isinstance(said, Fraction):
        number = said
    if isinstance(said, float):
        number = _decimal(Decimal(repr(float(said))), digits)  # NumPy's doubles say their type too
    if isinstance(said, Decimal):
        number = _decimal(said, digits)
    if isinstance(said, str):
        number = _quotient([each.strip() for each in said.split("/")], digits)
    if number is None or max(abs(number.numerator), number.denominator) >= 10**digits:
        return None
    return number


def metric_bound(argument: str, text: str, *, needs: str) -> tuple[str, Fraction, str]:
    """`METRIC=BOUND[UNIT]` as name, number and unit; what the name may be is not looked at.

    Args:
        needs: what the whole has to look like.
    """
    name, _, bound = text.partition("=")
    number = r"[0-9.]+(?:[eE][-+]?[0-9]+)?"
    match = re.fullmatch(rf"\s*([-+]?(?:{number}|nan|inf))\s*([a-z]*)\s*", bound)
    if match is None:
        raise InputError(argument, text, needs)
    if match[1].lstrip("-+") in ("nan", "inf") or match[1].startswith("-"):
        raise InputError(argument, text, "a finite bound of at least 0")
    exact = rational(match[1], FEW_DIGITS)
    if exact is None:
        raise InputError(argument, text, needs)
    return name.strip(), exact, match[2]


def _quotient(parts: Sequence[str], digits: int) -> Fraction | None:
    if len(parts) > 2 or not all(NUMBER.fullmatch(each) for each in parts):
        return None
    try:
        above, below = (_decimal(Decimal(each), digits) for each in [*parts, "1"][:2])
    except InvalidOperation:  # an exponent that Decimal has no room for
        return None
    return None if above is None or not below else above / below


def _decimal(said: Decimal, digits: int) -> Fraction | None:
    """Exactly; looks at the exponent first, as 1e999999999 would fill the memory."""
    if not said.is_finite():
        return None
    if not said:
        return Fraction(0)
    last = said.as_tuple().exponent
    assert isinstance(last, int)
    return Fraction(said) if last >= -digits and said.adjusted() <= digits else None


def _double(exact: Fraction | None) -> float | None:
    if exact is None:
        return None
    try:
        return float(exact)
    except OverflowError:
        return None
