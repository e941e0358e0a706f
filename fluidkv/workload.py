"""Requests, workloads and systems: frozen, validated where they are made, and exact.

Lengths and capacities are in tokens. Shares are rationals; a binary float is refused, because a
stability verdict about `0.1` would be a verdict about 3602879701896397/36028797018963968.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from numbers import Rational
from operator import index
from typing import TYPE_CHECKING, SupportsIndex

from fluidkv.errors import InputError
from fluidkv.record import Record
from fluidkv.text import printable


@dataclass(frozen=True)
class RequestClass(Record):
    """Requests that agree in both lengths.

    Args:
        input_length: l0, prompt tokens, at least 1.
        decode_length: l1, output tokens, at least 1.
        share: p, the fraction of admitted requests in this class, in (0, 1]. An integer or a
            `Fraction`; see `share_from_float` for floats.

    Raises:
        InputError: a length that is not a positive integer, or a share outside (0, 1].

    Source: Congestion, sections 2.2 and 4.1.

    Examples:
        >>> chat = fk.RequestClass(500, 200, Fraction(3, 4))
        >>> chat.peak_footprint, chat.share
        (700, Fraction(3, 4))
    """

    input_length: int
    decode_length: int
    share: Fraction = Fraction(1)

    if TYPE_CHECKING:  # what may be passed is wider than what is stored

        def __init__(
            self, input_length: int, decode_length: int, share: Fraction | int = 1
        ) -> None: ...

    def __post_init__(self) -> None:
        object.__setattr__(self, "input_length", _length("input_length", self.input_length))
        object.__setattr__(self, "decode_length", _length("decode_length", self.decode_length))
        share = _rational("share", self.share)
        if not 0 < share <= 1:
            raise InputError("share", str(share), "a rational number in (0, 1]")
        object.__setattr__(self, "share", share)

    @property
    def peak_footprint(self) -> int:
        """Tokens held in the last stage: l0 + l1."""
        return self.input_length + self.decode_length


@dataclass(frozen=True)
class Workload(Record):
    """A mix of request classes whose shares sum to one.

    Args:
        classes: at least one class.
        name: shown in reports; no meaning.
        requests: how many observed requests the classes summarise; None if none were observed.
        note: one sentence about the origin, shown in reports.

    Raises:
        InputError: no classes, or shares that do not sum to exactly 1.

    Examples:
        >>> chat = fk.RequestClass(500, 200, Fraction(3, 4))
        >>> code = fk.RequestClass(2000, 100, Fraction(1, 4))
        >>> mix = fk.Workload((chat, code))
        >>> mix.mean_input_length, mix.mean_decode_length, mix.decode_gcd
        (Fraction(875, 1), Fraction(175, 1), 100)
        >>> [c.share for c in fk.Workload.from_lengths([(10, 2), (10, 3), (10, 3)]).classes]
        [Fraction(1, 3), Fraction(2, 3)]
    """

    classes: tuple[RequestClass, ...]
    name: str = ""
    requests: int | None = None
    note: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "classes", tuple(self.classes))
        for text in ("name", "note"):  # of a file, perhaps: they are shown
            object.__setattr__(self, text, printable(getattr(self, text)))
        if not self.classes:
            raise InputError("classes", self.classes, "at least one RequestClass")
        total = _sum_of_shares(self.classes)
        if total != 1:
            raise InputError("share", f"sum {total}", "shares that sum to exactly 1")

    @classmethod
    def from_lengths(
        cls, lengths: Iterable[tuple[int, int]], *, name: str = "", note: str = ""
    ) -> "Workload":
        """The empirical joint distribution of (input, decode) length pairs, one class a pair.

        Classes are sorted by (decode_length, input_length).
        """
        counts = Counter((int(i), int(d)) for i, d in lengths)
        return cls.from_counts(counts, name=name, note=note)

    @classmethod
    def from_counts(
        cls, counts: Mapping[tuple[int, int], int], *, name: str = "", note: str = ""
    ) -> "Workload":
        """Like `from_lengths`, from a mapping (input_length, decode_length) -> requests."""
        total = sum(counts.values())
        if total < 1:
            raise InputError("lengths", dict(counts), "at least one request")
        ordered = sorted(counts.items(), key=lambda item: (item[0][1], item[0][0]))
        classes = tuple(RequestClass(i, d, Fraction(n, total)) for (i, d), n in ordered)
        return cls(classes, name=name, requests=total, note=note)

    @property
    def longest_decode(self) -> int:
        """d = max l1 over classes: the number of cohort ages."""
        return max(c.decode_length for c in self.classes)

    @property
    def decode_gcd(self) -> int:
        """Greatest common divisor of the decode lengths (Congestion, Theorem 3)."""
        return math.gcd(*(c.decode_length for c in self.classes))

    @property
    def largest_footprint(self) -> int:
        """max (l0 + l1) over classes, tokens."""
        return max(c.peak_footprint for c in self.classes)

    @property
    def mean_input_length(self) -> Fraction:
        return self.mean([c.input_length for c in self.classes])

    @property
    def mean_decode_length(self) -> Fraction:
        return self.mean([c.decode_length for c in self.classes])

    def mean(self, values: Sequence[int]) -> Fraction:
        """The mean over requests of a value for each class, exact."""
        return _weighted_sum(self.classes, values)

    def scale_inputs(self, factor: Fraction | int) -> "Workload":
        """The workload with every input length multiplied by `factor` and rounded up."""
        factor = _rational("factor", factor)
        if factor <= 0:
            raise InputError("factor", str(factor), "a positive rational number")
        classes = tuple(
            RequestClass(math.ceil(c.input_length * factor), c.decode_length, c.share)
            for c in self.classes
        )
        return Workload(classes, name=self.name, requests=self.requests, note=self.note)


@dataclass(frozen=True)
class System(Record):
    """A workload served from a KV cache of a given size.

    Args:
        workload: the request classes.
        capacity: M, KV tokens; a positive integer or rational above the largest request.

    Raises:
        InputError: no workload; a capacity not above max(l0 + l1), which Congestion assumes
            (section 2.2).

    Examples:
        >>> system = fk.System(fk.Workload.from_lengths([(500, 200)]), capacity=70_000)
        >>> system.capacity, system.workload.largest_footprint
        (Fraction(70000, 1), 700)
    """

    workload: Workload
    capacity: Fraction

    if TYPE_CHECKING:  # what may be passed is wider than what is stored

        def __init__(self, workload: Workload, capacity: Fraction | int) -> None: ...

    def __post_init__(self) -> None:
        capacity = _rational("capacity", self.capacity)
        largest = self.workload.largest_footprint
        if not capacity > largest:
            raise InputError(
                "capacity",
                _plain(capacity),
                f"more than {largest} tokens, the largest request (input + decode)",
            )
        object.__setattr__(self, "capacity", capacity)


def share_from_float(value: float, *, max_denominator: int = 10**6) -> Fraction:
    """The nearest rational to a float share with a bounded denominator: the one way in for floats.

    Raises:
        InputError: a value outside (0, 1] or not finite, or one that rounds to 0.

    Examples:
        >>> fk.share_from_float(0.1)
        Fraction(1, 10)
        >>> Fraction(0.1) == fk.share_from_float(0.1)
        False
    """
    if not isinstance(value, float | int) or not math.isfinite(value) or not 0 < value <= 1:
        raise InputError("share", value, "a finite number in (0, 1]")
    share = Fraction(value).limit_denominator(max_denominator)
    if share == 0:
        raise InputError("share", value, f"at least 1/{max_denominator}")
    return share


def _length(argument: str, value: object) -> int:
    if type(value) is int and value >= 1:  # nearly always; the check of a protocol is slow
        return value
    if isinstance(value, bool) or not isinstance(value, SupportsIndex) or index(value) < 1:
        raise InputError(argument, value, "an integer of at least 1")
    return index(value)


def _rational(argument: str, value: object) -> Fraction:
    if type(value) is Fraction:
        return value
    if isinstance(value, bool) or not isinstance(value, Rational):
        hint = " (share_from_float converts)" if argument == "share" else ""
        raise InputError(argument, value, f"an integer or a Fraction{hint}")
    return Fraction(int(value.numerator), int(value.denominator))


def _plain(value: Fraction) -> int | str:
    return value.numerator if value.denominator == 1 else str(value)


def _sum_of_shares(classes: tuple[RequestClass, ...]) -> Fraction:
    return _weighted_sum(classes, [1] * len(classes))


def _weighted_sum(classes: tuple[RequestClass, ...], values: Sequence[int]) -> Fraction:
    """Sum of share times value, over one common denominator (fast for thousands of classes)."""
    common = math.lcm(*(c.share.denominator for c in classes))
    total = sum(
        c.share.numerator * (common // c.share.denominator) * v
        for c, v in zip(classes, values, strict=True)
    )
    return Fraction(total, common)
