"""Sizes of a cache worth looking at, where nobody names any."""

import math

NUMBER = 10
"""Sizes at most."""


def sizes_between(longest: int, whole: int, number: int = NUMBER) -> tuple[int, ...]:
    """Sizes at equal ratios, from a cache that holds any request to one that never evicts.

    Args:
        longest: tokens of the longest request.
        whole: tokens of all that is ever asked for, at least `longest`.
        number: sizes, at least 2; those between the two ends are rounded to two digits, up.

    Returns:
        Ascending; fewer where two are the same.
    """
    ratio = (whole / longest) ** (1 / (number - 1))
    between = (_rounded_up(longest * ratio**step) for step in range(1, number - 1))
    return tuple(sorted({longest, whole, *(size for size in between if longest < size < whole)}))


def _rounded_up(value: float) -> int:
    unit = 10 ** max(0, math.floor(math.log10(value)) - 1)
    return math.ceil(value / unit) * unit
