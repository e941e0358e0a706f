"""Prompt types and the system that serves them: what every question of this room is about.

Numbers are exact. Stage 0 of a prompt is its prefill and stage k its k-th output token; while
stage k is computed it holds l + k tokens. One iteration advances each prompt in the batch by one
stage and takes d0 + d1 (tokens held by the batch) + d2 (inputs of the prompts at stage 0).

So a prompt takes w = d1 c + d2 l of the server's time beside d0, wherever the paper has d1 c, and
holds c as before: what is about time gets the new term, what is about memory does not.

Source: WAIT, section 2; d2 is ours, and with d2 = 0 all is the paper's.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, Decimal, localcontext
from fractions import Fraction
from numbers import Rational
from typing import TYPE_CHECKING, Any

from fluidkv.errors import InputError
from fluidkv.record import Record
from fluidkv.runs.checks import count
from fluidkv.serving.clock import IterationClock

Exact = Fraction | int
"""An exact number: what rates and times are given as."""


@dataclass(frozen=True)
class PromptType(Record):
    """Prompts that agree in both lengths, and how often they come.

    Args:
        arrival_rate: lambda, prompts per unit of time, above 0; exact.
        input_length: l, tokens, at least 1.
        output_length: l', tokens, at least 1.

    Raises:
        InputError: a number outside of what is said here, or a binary float as the rate.

    Source: WAIT, section 2.2.

    Examples:
        >>> prompt = fk.wait.PromptType(1, input_length=2, output_length=1)
        >>> prompt.stages, prompt.lifetime_cost  # 2 tokens at its prefill, 3 at its output
        (2, Fraction(5, 1))
    """

    arrival_rate: Fraction
    input_length: int
    output_length: int

    if TYPE_CHECKING:  # what may be passed is wider than what is stored

        def __init__(self, arrival_rate: Exact, input_length: int, output_length: int) -> None: ...

    def __post_init__(self) -> None:
        object.__setattr__(self, "arrival_rate", exact("arrival_rate", self.arrival_rate, above=0))
        for name in ("input_length", "output_length"):
            object.__setattr__(self, name, count(name, getattr(self, name)))

    @property
    def stages(self) -> int:
        """Iterations that a prompt takes part in: prefill and one for each output token."""
        return self.output_length + 1

    @property
    def lifetime_cost(self) -> Fraction:
        """c = sum of l + k over k = 0..l': tokens held, summed over a prompt's iterations."""
        return self.stages * (self.input_length + Fraction(self.output_length, 2))


@dataclass(frozen=True)
class WaitSystem(Record):
    """Prompt types that come to one server, and its iteration time.

    Args:
        types: at least one; no two with the same lengths.
        base: d0, time of an iteration without tokens, above 0; exact.
        per_kv_token: d1, time for each token that the batch holds, at least 0; exact.
        per_prefill_token: d2, time for each input token of the prompts whose stage 0 the batch
            computes, at least 0; exact. The paper has none.

    Raises:
        InputError: a number outside of what is said here, no types, or two with the same lengths.

    Source: WAIT, equation (1), and a term of ours.

    Examples:
        >>> from fluidkv.wait import PromptType, WaitSystem
        >>> system = WaitSystem([PromptType(1, 2, 1)], base=1, per_kv_token=Fraction(1, 10))
        >>> system.load  # 1 prompt per unit of time, each holds 2 + 3 tokens
        Fraction(1, 2)
        >>> system.scaled(2).load
        Fraction(1, 1)
    """

    types: tuple[PromptType, ...]
    base: Fraction
    per_kv_token: Fraction
    per_prefill_token: Fraction = Fraction(0)

    if TYPE_CHECKING:

        def __init__(
            self,
            types: Iterable[PromptType],
            base: Exact,
            per_kv_token: Exact,
            per_prefill_token: Exact = 0,
        ) -> None: ...

    def __post_init__(self) -> None:
        types = several("types", self.types, "at least one PromptType")
        if not types or not all(isinstance(each, PromptType) for each in types):
            raise InputError("types", self.types, "at least one PromptType")
        lengths = [(each.input_length, each.output_length) for each in types]
        if len(set(lengths)) < len(lengths):
            twice = next(pair for pair in lengths if lengths.count(pair) > 1)
            raise InputError("types", f"{twice[0]}:{twice[1]} twice", "one rate for these lengths")
        object.__setattr__(self, "types", types)
        object.__setattr__(self, "base", exact("base", self.base, above=0))
        for name in ("per_kv_token", "per_prefill_token"):
            object.__setattr__(self, name, exact(name, getattr(self, name), least=0))

    @property
    def arrival_rate(self) -> Fraction:
        """Sum of lambda: prompts per unit of time."""
        return sum((each.arrival_rate for each in self.types), Fraction(0))

    @property
    def token_rate(self) -> Fraction:
        """Sum of lambda c: token-iterations asked for per unit of time."""
        return sum((each.arrival_rate * each.lifetime_cost for each in self.types), Fraction(0))

    @property
    def prefill_rate(self) -> Fraction:
        """Sum of lambda l: input tokens that come per unit of time."""
        return sum((each.arrival_rate * each.input_length for each in self.types), Fraction(0))

    @property
    def load(self) -> Fraction:
        """rho = sum of lambda w; no policy is stable where it is 1 or more (Proposition 1).

        An iteration lasts d0 and what its prompts add, and who has completed has added w. So in
        any time what all completed prompts added is less than that time, whatever the policy.
        """
        rate = self.per_prefill_token * self.prefill_rate
        return self.per_kv_token * self.token_rate + rate

    def time_of(self, each: PromptType) -> Fraction:
        """w = d1 c + d2 l: what a prompt adds to the durations of its iterations."""
        prefill = self.per_prefill_token * each.input_length
        return self.per_kv_token * each.lifetime_cost + prefill

    @property
    def clock(self) -> IterationClock:
        """The iteration time as floats, for runs.

        Raises:
            InputError: a coefficient that floats cannot hold.
        """
        return IterationClock(
            finite("base", self.base),
            finite("per_kv_token", self.per_kv_token),
            finite("per_prefill_token", self.per_prefill_token),
        )

    def scaled(self, factor: Exact) -> "WaitSystem":
        """The same system with every arrival rate multiplied by `factor`."""
        by = exact("factor", factor, above=0)
        types = (
            PromptType(by * each.arrival_rate, each.input_length, each.output_length)
            for each in self.types
        )
        return WaitSystem(types, self.base, self.per_kv_token, self.per_prefill_token)


def exact(
    argument: str, value: object, *, above: int | None = None, least: int | None = None
) -> Fraction:
    """The value as a Fraction.

    Raises:
        InputError: not an exact number, or outside of the bound.

    Examples:
        >>> from fluidkv.wait.model import exact
        >>> exact("rate", 3, above=0)
        Fraction(3, 1)
        >>> exact("rate", 0.5, above=0)
        Traceback (most recent call last):
            ...
        fluidkv.errors.InputError: rate: got 0.5; allowed: an integer or a Fraction above 0
    """
    bound = "" if above is None else f" above {above}"
    bound = bound if least is None else f" of at least {least}"
    if isinstance(value, Rational) and not isinstance(value, bool):
        number = Fraction(int(value.numerator), int(value.denominator))
        if not ((above is not None and number <= above) or (least is not None and number < least)):
            return number
        value = str(plain(number))
    raise InputError(argument, value, f"an integer or a Fraction{bound}")


def probability(argument: str, value: object) -> Fraction:
    """The value as a Fraction in (0, 1).

    Raises:
        InputError: not an exact number, or outside of it.
    """
    number = exact(argument, value, above=0)
    if number >= 1:
        raise InputError(argument, str(plain(number)), "a probability in (0, 1)")
    return number


def several(argument: str, values: Any, what: str) -> tuple[Any, ...]:
    """The items of a sequence, whose kind is checked one by one elsewhere.

    Args:
        argument: its name.
        values: anything that can be iterated but for a string.
        what: what the items should be, for the message.

    Raises:
        InputError: something that is no sequence.

    Examples:
        >>> from fluidkv.wait.model import several
        >>> several("thresholds", [3, 2], "one number a type")
        (3, 2)
        >>> several("thresholds", 3, "one number a type")
        Traceback (most recent call last):
            ...
        fluidkv.errors.InputError: thresholds: got 3; allowed: a sequence: one number a type
    """
    if not isinstance(values, str | bytes):
        try:
            items = iter(values)
        except TypeError:
            pass
        else:
            return tuple(items)
    raise InputError(argument, values, f"a sequence: {what}")


def finite(argument: str, value: Exact) -> float:
    """The exact number as the nearest float.

    Raises:
        InputError: a number so large, or so near 0, that it would become infinite or 0.
    """
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if math.isinf(number) or (value and not number):
        raise InputError(argument, shown(value), "a number that a float can hold")
    return number


def plain(value: Exact) -> int | str:
    """A number as it was given, for messages; what takes more than 40 digits, as `shown`."""
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > 128:
        return shown(value)
    return int(value) if value.denominator == 1 else str(value)


def shown(value: Exact) -> str:
    """A number in words: whole ones in full up to 40 digits, others to six digits."""
    if value.denominator == 1 and value.numerator.bit_length() <= 128:
        return str(value.numerator)
    if 1e-300 < abs(value) < 1e300:
        return f"{float(value):.6g}"
    with localcontext(prec=6, Emax=MAX_EMAX, Emin=MIN_EMIN):
        return f"{(Decimal(value.numerator) / Decimal(value.denominator)).normalize():g}"
