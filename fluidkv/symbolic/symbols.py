"""The symbols of the room, and a mix or a workload as coefficients made of them.

    F(z) = sum over s of (L slope_s + growth_s) z^{d-1-s},
    slope_s = sum of p_k r_k,    growth_s = (1 + s) sum of p_k,    both over l1_k > s.

Source: Congestion, equation (10) and B.9.
"""

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

import sympy
from sympy import Expr

from fluidkv.errors import InputError
from fluidkv.exact.mixed.mix import LengthMix
from fluidkv.workload import Workload

Z = sympy.Symbol("z")
"""z of the characteristic polynomial, a complex number.

Examples:
    >>> from fluidkv.symbolic import Z
    >>> Z.is_real is None
    True
"""

INPUT_LENGTH = sympy.Symbol("l0", nonnegative=True)
"""l0 in tokens, a real number of at least 0; of inputs that differ, the L in l0_k = r_k L.

Examples:
    >>> from fluidkv.symbolic import INPUT_LENGTH
    >>> INPUT_LENGTH, (INPUT_LENGTH + 1).is_positive
    (l0, True)
"""

DECODE_LENGTH = sympy.Symbol("l1", integer=True, positive=True)
"""l1 in tokens, where all requests are alike.

Examples:
    >>> from fluidkv.symbolic import DECODE_LENGTH
    >>> DECODE_LENGTH, DECODE_LENGTH.is_integer
    (l1, True)
"""

CAPACITY = sympy.Symbol("M", positive=True)
"""M in tokens.

Examples:
    >>> from fluidkv.symbolic import CAPACITY
    >>> CAPACITY, CAPACITY.is_positive
    (M, True)
"""


class Coefficients(NamedTuple):
    """Of F, by age s = 0 ... d-1: `memory` is V_s, L slope_s + growth_s for a mix.

    A workload has its inputs, so there L is 1.
    """

    slope: tuple[Expr, ...]
    growth: tuple[Expr, ...]
    memory: tuple[Expr, ...]


def class_symbols(classes: int) -> tuple[tuple[Expr, ...], tuple[Expr, ...]]:
    """Shares p1, p2 ... and 1 less their sum, and input ratios r1, r2 ..., one of each a class.

    Classes of a mix are in ascending order of their decode lengths, those of a workload in its own.

    Args:
        classes: how many, at least 1.

    Raises:
        InputError: fewer than one.

    Examples:
        >>> from fluidkv.symbolic import class_symbols
        >>> class_symbols(2)
        ((p1, 1 - p1), (r1, r2))
    """
    if classes < 1:
        raise InputError("classes", classes, "an integer of at least 1")
    first = sympy.symbols(f"p1:{classes}", positive=True)
    ratios = sympy.symbols(f"r1:{classes + 1}", positive=True)
    return (*first, 1 - sympy.Add(*first)), ratios


def coefficients(mix: LengthMix | Workload, *, shares: bool, ratios: bool) -> Coefficients:
    """slope_s, growth_s and V_s of a mix or a workload.

    Args:
        mix: whose classes these are.
        shares: p1, p2 ... for the shares of all classes but the last, whose share is the rest.
        ratios: r1, r2 ... for the input ratios of a mix.

    Raises:
        InputError: ratios of a workload, whose inputs are numbers.
    """
    if ratios and isinstance(mix, Workload):
        raise InputError("ratios", True, "False for a workload, whose inputs are numbers")
    decodes, portions, inputs = _classes(mix)
    share_symbols, ratio_symbols = class_symbols(len(decodes))
    portions = share_symbols if shares else portions
    inputs = ratio_symbols if ratios else inputs
    length = sympy.Integer(1) if isinstance(mix, Workload) else INPUT_LENGTH
    alive = _alive(decodes, portions)
    slope = _alive(decodes, [p * r for p, r in zip(portions, inputs, strict=True)])
    growth = [(1 + s) * a for s, a in enumerate(alive)]
    # A common input is taken out of the sum, as the paper writes it.
    memory = [
        a * (length + 1 + s) if a == b else b * length + g
        for s, (a, b, g) in enumerate(zip(alive, slope, growth, strict=True))
    ]
    return Coefficients(tuple(slope), tuple(growth), tuple(memory))


def polynomial(descending: Sequence[Expr]) -> Expr:
    """The polynomial in z with these coefficients, highest power first."""
    top = len(descending) - 1
    return sympy.Add(*(c * Z ** (top - s) for s, c in enumerate(descending)))


def _classes(
    mix: LengthMix | Workload,
) -> tuple[tuple[int, ...], tuple[Expr, ...], tuple[Expr, ...]]:
    """Decode lengths, shares, and input ratios or inputs, one of each a class."""
    if isinstance(mix, LengthMix):
        columns = mix.decode_lengths, mix.shares, mix.input_ratios
    else:
        rows = ((c.decode_length, c.share, c.input_length) for c in mix.classes)
        columns = tuple(zip(*rows, strict=True))
    decodes, *rationals = columns
    portions, inputs = (tuple(map(sympy.Rational, column)) for column in rationals)
    return decodes, portions, inputs


def _alive(decodes: Sequence[int], values: Sequence[Expr]) -> list[Expr]:
    """The sum of a value over the classes with l1 > s, at each age s = 0 ... d-1."""
    ending: list[Expr] = [sympy.Integer(0)] * max(decodes)
    for length, value in zip(decodes, values, strict=True):
        ending[length - 1] += value
    return list(accumulate(reversed(ending)))[::-1]
