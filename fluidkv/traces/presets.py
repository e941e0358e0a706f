"""Synthetic workloads with the length statistics of Table 1 of CacheOPT.

The paper prints mean, minimum and maximum of each length, and nothing else about their shape. So
each length follows the distribution that assumes nothing else: the one of greatest entropy with
that mean on that interval, a truncated exponential. Input and output are coupled as if independent.
Nothing here was sampled from the data sets.
"""

import math
from collections import Counter
from dataclasses import dataclass, replace

from fluidkv.errors import InputError
from fluidkv.text import nearest
from fluidkv.workload import Workload

# Requests in a preset. A multiple of 100, so that a mean of two decimals is met exactly.
_REQUESTS = 5_000

# Pairs the i-th shortest input with the (i * _STRIDE mod _REQUESTS)-th shortest output. Coprime to
# _REQUESTS, so each is used once; near _REQUESTS over the golden ratio, so that every run of inputs
# meets outputs spread evenly, which is what independence looks like.
_STRIDE = 3_091


@dataclass(frozen=True)
class _Lengths:
    """Mean (in hundredths), minimum and maximum of a length, tokens."""

    mean_hundredths: int
    minimum: int
    maximum: int


# Source: CacheOPT, Table 1. Printed there as 2.47K, 3.2K and 461K: 2470, 3200 and 461000.
_TABLE_1 = {
    "alpaca": (_Lengths(1931, 9, 2470), _Lengths(5841, 13, 292)),
    "bookcorpus": (_Lengths(195211, 18, 461_000), _Lengths(68120, 32, 1041)),
    "sharegpt": (_Lengths(16131, 16, 3200), _Lengths(33799, 19, 991)),
}


def preset_names() -> tuple[str, ...]:
    """What `preset` takes, in alphabetical order.

    Examples:
        >>> from fluidkv.traces.presets import preset_names
        >>> preset_names()
        ('alpaca', 'bookcorpus', 'sharegpt')
        >>> {name: len(fk.preset(name).classes) for name in preset_names()}
        {'alpaca': 2314, 'bookcorpus': 5000, 'sharegpt': 5000}
    """
    return tuple(_TABLE_1)


def preset(name: str) -> Workload:
    """A synthetic workload whose lengths have the mean, minimum and maximum of a data set.

    Args:
        name: one of `preset_names()`.

    Returns:
        Classes of exact share, the same on every call. Mean, minimum and maximum of input and
        decode lengths equal the printed figures exactly; shape and coupling are assumptions,
        which `note` states. `requests` is None, since none were observed.

    Raises:
        InputError: an unknown name.

    Source: CacheOPT, Table 1. Its maxima in thousands (2.47K, 3.2K, 461K) are rounded there.

    Examples:
        >>> workload = fk.preset("alpaca")
        >>> len(workload.classes), sum(each.share for each in workload.classes)
        (2314, Fraction(1, 1))
        >>> round(float(workload.mean_input_length), 2)
        19.31
        >>> workload.note.partition(":")[0]
        'synthetic, not the alpaca data set'
    """
    if name not in preset_names():
        raise InputError("preset", name, nearest(name, preset_names()))
    inputs, decodes = (_sample(lengths) for lengths in _TABLE_1[name])
    pairs = Counter((inputs[i], decodes[i * _STRIDE % _REQUESTS]) for i in range(_REQUESTS))
    note = (
        f"synthetic, not the {name} data set: mean, minimum and maximum of both lengths match "
        "CacheOPT Table 1; shape (truncated exponential) and independence are assumed"
    )
    return replace(Workload.from_counts(pairs, name=name, note=note), requests=None)


def _sample(lengths: _Lengths) -> list[int]:
    """_REQUESTS integers, ascending, with exactly the mean, minimum and maximum given.

    The two ends are set; those between are quantiles at evenly spaced probabilities, rounded, and
    what rounding left over is spread one token at a time over evenly spaced places.
    """
    low, high, inner = lengths.minimum, lengths.maximum, _REQUESTS - 2
    wanted = lengths.mean_hundredths * _REQUESTS // 100 - low - high
    width = high - low
    rate = _rate(wanted / inner - low, width)
    values = [low + round(_quantile((i + 0.5) / inner, rate, width)) for i in range(inner)]
    missing = wanted - sum(values)
    step = 1 if missing > 0 else -1
    movable = [i for i, value in enumerate(values) if low <= value + step <= high]
    for i in range(abs(missing)):
        values[movable[i * len(movable) // abs(missing)]] += step
    return [low, *sorted(values), high]


def _rate(mean: float, width: float) -> float:
    """r such that the density proportional to exp(-r x) on [0, width] has this mean; by bisection.

    The mean 1/r - width / (exp(r width) - 1) falls from width/2 at r = 0 to below any m at r = 1/m.
    A mean above width/2 is that of the mirror image, with a negative rate.
    """
    if mean > width / 2:
        return -_rate(width - mean, width)
    low, high = 0.0, 1 / mean
    for _ in range(60):  # beyond the 53 bits of a double
        rate = (low + high) / 2
        if 1 / rate - width / math.expm1(rate * width) > mean:
            low = rate
        else:
            high = rate
    return (low + high) / 2


def _quantile(probability: float, rate: float, width: float) -> float:
    """Inverse distribution function of the density proportional to exp(-rate x) on [0, width]."""
    return -math.log1p(probability * math.expm1(-rate * width)) / rate
