"""Certified work by degree, beside all roots in floats.

A mix of two output lengths in equal shares, the shorter near half the longer, at an input length as
long as the longer: F has degree d, the longest output less one. What is proved (how many roots lie
outside the unit circle, the spectral radius, the least input length that is stable) is timed by
degree; `numpy.roots` finds all roots, as eigenvalues, and proves nothing. Counts are compared.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

from fluidkv.exact.mixed.mix import LengthMix, two_lengths
from fluidkv.exact.mixed.thresholds.threshold import input_threshold
from fluidkv.exact.roots.spectrum import certify_spectrum, count_unstable
from fluidkv.suite.report import Rate, Ratio, Section, against, rate
from fluidkv.suite.settings import Effort, Told
from fluidkv.suite.timing import times

NAME = "certified"
_CALLS = 3
_FLOATS_UP_TO = 800  # degree; its cube is many seconds beyond
_NEAR = 1e-8  # to the unit circle: floats of this size cannot tell on which side a root is
_FITTED = 100  # degrees from here on; below it, other routes are taken, and starting a call counts


def measure(effort: Effort, tell: Told) -> Section:
    """Count, radius and threshold at each degree, and the exponents that fit them."""
    rates: list[Rate] = []
    ratios: list[Ratio] = []
    for degree in effort.degrees:
        tell(f"degree {degree:,}")
        found = _ways(degree)
        rates += found.values()
        ratios += [
            against(f"d = {degree}", found[way], found["numpy"]) for way in ("count", "radius")
        ]
    for way in ("count", "radius", "threshold", "numpy.roots"):
        ratios.append(_exponent(way, [each for each in rates if each.way == way]))
    return Section(
        NAME,
        "Certified work by degree",
        "Two output lengths in equal shares, the shorter near half the longer, inputs as long as "
        "the longer. count: roots outside the unit circle; radius: of the largest root, enclosed; "
        "threshold: the least stable input length, of all. Exponents are fitted to degrees from "
        f"{_FITTED} on. Counts by numpy.roots were the same.",
        "answers",
        tuple(rates),
        tuple(ratios),
        as_time=True,
    )


def _ways(degree: int) -> dict[str, Rate]:
    case, mix = f"d = {degree}", _mix(degree)
    weights = mix.weights(degree + 1)
    top = max(weights.memory)
    floats = np.array([each / top for each in weights.memory])
    calls: dict[str, Callable[[], object]] = {
        "count": lambda: count_unstable(weights),
        "radius": lambda: certify_spectrum(weights),
        "threshold": lambda: input_threshold(mix),
    }
    found = {way: rate(case, way, 1, times(call, calls=_CALLS)) for way, call in calls.items()}
    if degree > _FLOATS_UP_TO:
        return found | {"numpy": Rate(case, "numpy.roots", None, why="many seconds")}
    moduli = np.abs(np.roots(floats))
    certain = np.abs(moduli - 1).min() > _NEAR
    if certain and count_unstable(weights).outside != int((moduli > 1).sum()):
        raise AssertionError(f"degree {degree}: numpy.roots counts {(moduli > 1).sum()} outside")
    taken = times(lambda: np.roots(floats), calls=_CALLS, warm_up=0)
    return found | {"numpy": rate(case, "numpy.roots", 1, taken)}


def _mix(degree: int) -> LengthMix:
    """Lengths without a common divisor."""
    ages = degree + 1
    return two_lengths(ages // 2 - 1 + ages // 2 % 2, ages, Fraction(1, 2))


def _exponent(way: str, rates: Sequence[Rate]) -> Ratio:
    """Of the degree, by least squares on logarithms."""
    points = [
        (int(each.case.removeprefix("d = ")), each.per_second)
        for each in rates
        if each.per_second is not None
    ]
    points = [point for point in points if point[0] >= _FITTED] or points
    value = None
    if len(points) > 1:
        degrees, rate_of = np.log(np.array(points, float)).T
        value = float(-np.polyfit(degrees, rate_of, 1)[0])
    return Ratio("all", f"exponent of the degree, {way}", value)
