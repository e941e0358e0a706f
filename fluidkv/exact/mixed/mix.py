"""A mix of decode lengths, with the input length left open.

Whether a mixed workload is stable turns on its decode lengths and shares, and on how long the
inputs are. So a mix fixes the former and the ratios between the inputs, and everything about it is
a function of one number: the input length L. Class k then has l0_k = r_k L.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from numbers import Rational
from operator import index
from typing import TYPE_CHECKING, SupportsIndex

from fluidkv.errors import InputError
from fluidkv.exact.survival import SurvivalWeights
from fluidkv.record import Record
from fluidkv.workload import RequestClass, Workload


@dataclass(frozen=True)
class LengthMix(Record):
    """Decode lengths, shares and input ratios of a mix.

    Args:
        decode_lengths: l1_k, all different, at least 1; kept in ascending order.
        shares: p_k, rationals in (0, 1) that sum to 1; the last may be left out.
        input_ratios: r_k, positive rationals, l0_k = r_k L; 1 for all classes if left out, so that
            L is the common input length l0.

    Raises:
        InputError: fewer than two lengths, a length that repeats or is not a positive integer,
            shares or ratios that are floats, out of range, too many or too few, or that do not sum
            to 1.

    Source: Congestion, section 4.1 and equation (7).

    Examples:
        >>> mix = fk.LengthMix((5, 9), [Fraction(1, 4)])
        >>> mix.shares[1], mix.decode_gcd, mix.ages
        (Fraction(3, 4), 1, 9)
        >>> mix.workload(input_length=100).mean_decode_length
        Fraction(8, 1)
    """

    decode_lengths: tuple[int, ...]
    shares: tuple[Fraction, ...]
    input_ratios: tuple[Fraction, ...]

    if TYPE_CHECKING:  # what may be passed is wider than what is stored

        def __init__(
            self,
            decode_lengths: Sequence[int],
            shares: Sequence[Fraction | int],
            input_ratios: Sequence[Fraction | int] | None = None,
        ) -> None: ...
    else:

        def __init__(self, decode_lengths, shares, input_ratios=None) -> None:
            lengths = _checked_lengths(decode_lengths)
            portions = _checked_shares(shares, len(lengths))
            ratios = _checked_ratios(input_ratios, len(lengths))
            order = sorted(range(len(lengths)), key=lengths.__getitem__)
            for name, values in (
                ("decode_lengths", lengths),
                ("shares", portions),
                ("input_ratios", ratios),
            ):
                object.__setattr__(self, name, tuple(values[i] for i in order))

    @classmethod
    def of_workload(cls, workload: Workload) -> "LengthMix":
        """The mix whose L is the factor on all input lengths of a workload; L = 1 is as it stands.

        Classes of one decode length act as one, with the mean of their inputs.

        Raises:
            InputError: all requests of one decode length.
        """
        shares: dict[int, Fraction] = {}
        inputs: dict[int, Fraction] = {}
        for c in workload.classes:
            shares[c.decode_length] = shares.get(c.decode_length, Fraction(0)) + c.share
            carried = inputs.get(c.decode_length, Fraction(0))
            inputs[c.decode_length] = carried + c.share * c.input_length
        lengths = sorted(shares)
        return cls(lengths, [shares[n] for n in lengths], [inputs[n] / shares[n] for n in lengths])

    @property
    def ages(self) -> int:
        """d, the longest decode length: F has degree d - 1."""
        return self.decode_lengths[-1]

    @property
    def decode_gcd(self) -> int:
        """g, the greatest common divisor of the decode lengths."""
        return math.gcd(*self.decode_lengths)

    @property
    def common_input(self) -> bool:
        """Whether all classes have the same input length, so that L is l0."""
        return all(r == 1 for r in self.input_ratios)

    @cached_property
    def limit(self) -> SurvivalWeights:
        """V_s / L as L grows without bound, sum of p_k r_k over l1_k > s: coefficients of A_r.

        `requests` is alpha_s, as everywhere.
        """
        slope, alive, denominator = self._suffix_sums
        return SurvivalWeights(slope, alive, denominator)

    def weights(self, input_length: Fraction | int) -> SurvivalWeights:
        """V_s and alpha_s at L = `input_length`, any rational of at least 0.

        The model has inputs of at least one token; L = 0 is there because thresholds are defined
        over it.

        Raises:
            InputError: a float, or a negative input length.
        """
        length = _rational("input_length", input_length)
        if length < 0:
            raise InputError("input_length", str(length), "a rational number of at least 0")
        slope, alive, denominator = self._suffix_sums
        top, bottom = length.numerator, length.denominator
        memory = tuple(
            r * top + a * (1 + s) * bottom
            for s, (r, a) in enumerate(zip(slope, alive, strict=True))
        )
        return SurvivalWeights(memory, tuple(a * bottom for a in alive), denominator * bottom)

    def workload(self, input_length: int) -> Workload:
        """Request classes at L = `input_length`, at least 1.

        Raises:
            InputError: an input length r_k L that is not a positive integer.
        """
        inputs = [r * input_length for r in self.input_ratios]
        for value in inputs:
            if value.denominator != 1:
                raise InputError("input_length", input_length, f"r_k L whole, not {value}")
        rows = zip(inputs, self.decode_lengths, self.shares, strict=True)
        return Workload(tuple(RequestClass(int(i), n, p) for i, n, p in rows))

    @cached_property
    def _suffix_sums(self) -> tuple[tuple[int, ...], tuple[int, ...], int]:
        """Sums over l1_k > s of p_k r_k and of p_k, as integers over one denominator."""
        products = [p * r for p, r in zip(self.shares, self.input_ratios, strict=True)]
        common = math.lcm(*(x.denominator for x in (*products, *self.shares)))
        ending = [0] * self.ages
        ending_input = [0] * self.ages
        for n, share, product in zip(self.decode_lengths, self.shares, products, strict=True):
            ending[n - 1] = int(share * common)
            ending_input[n - 1] = int(product * common)
        alive = tuple(accumulate(reversed(ending)))[::-1]
        slope = tuple(accumulate(reversed(ending_input)))[::-1]
        return slope, alive, common


def two_lengths(first: int, second: int, share: Fraction) -> LengthMix:
    """Two classes with a common input length; `share` is that of `first`.

    Examples:
        >>> from fluidkv.exact import two_lengths
        >>> two_lengths(5, 9, Fraction(1, 4)) == fk.LengthMix((5, 9), [Fraction(1, 4)])
        True
    """
    return LengthMix((first, second), (share, 1 - share))


def _listed(argument: str, values: object) -> list:
    if not isinstance(values, Iterable) or isinstance(values, str):
        raise InputError(argument, values, "a sequence, as in (5, 9) or (Fraction(1, 2),)")
    return list(values)


def _checked_lengths(values: object) -> list[int]:
    lengths = _listed("decode_lengths", values)
    for n in lengths:
        if isinstance(n, bool) or not isinstance(n, SupportsIndex) or index(n) < 1:
            raise InputError("decode_lengths", n, "integers of at least 1")
    if len(lengths) < 2:
        raise InputError("decode_lengths", lengths, "at least two lengths")
    if len(set(lengths)) != len(lengths):
        repeated = next(n for n in lengths if lengths.count(n) > 1)
        raise InputError("decode_lengths", f"{repeated} twice", "lengths that all differ")
    return [index(n) for n in lengths]


def _checked_shares(values: object, count: int) -> list[Fraction]:
    shares = [_rational("shares", p) for p in _listed("shares", values)]
    if len(shares) == count - 1:
        shares.append(1 - sum(shares, Fraction(0)))
    if len(shares) != count:
        raise InputError("shares", f"{len(shares)} shares", f"{count}, or {count - 1}")
    if sum(shares) != 1 and all(0 < p < 1 for p in shares):
        raise InputError("shares", f"sum {sum(shares)}", "shares that sum to exactly 1")
    for p in shares:
        if not 0 < p < 1:
            raise InputError("shares", str(p), "rational numbers strictly between 0 and 1")
    return shares


def _checked_ratios(values: object, count: int) -> list[Fraction]:
    if values is None:
        return [Fraction(1)] * count
    ratios = [_rational("input_ratios", r) for r in _listed("input_ratios", values)]
    if len(ratios) != count:
        raise InputError("input_ratios", f"{len(ratios)} ratios", f"{count}, one a length")
    for r in ratios:
        if r <= 0:
            raise InputError("input_ratios", str(r), "positive rational numbers")
    return ratios


def _rational(argument: str, value: object) -> Fraction:
    if isinstance(value, bool) or not isinstance(value, Rational):
        raise InputError(argument, value, "integers or Fractions, not floats")
    return Fraction(int(value.numerator), int(value.denominator))
