"""The atlas: certified thresholds of all pairs up to 60 at nine shares, on two processes.

    python -m benchmarks.atlas

The peer is a search in floats: bisection over whole input lengths, `max |numpy.roots| < 1` for
stable. It knows one change from unstable to stable and proves nothing; both are timed on the same
sample of pairs in one process, and where they differ is counted.
"""

import time
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from benchmarks.report import against, load
from fluidkv.exact.mixed.mix import LengthMix, two_lengths
from fluidkv.exact.mixed.thresholds.atlas import TENTHS, threshold_atlas
from fluidkv.exact.mixed.thresholds.pencil import InputPencil
from fluidkv.exact.mixed.thresholds.threshold import input_threshold
from fluidkv.exact.roots.polynomial import (
    characteristic_polynomial,
    count_inside_by_form,
    count_inside_by_recursion,
)
from fluidkv.exact.roots.spectrum import count_unstable
from fluidkv.suite.tables import markdown_table as table
from fluidkv.suite.tables import seconds
from fluidkv.suite.timing import Times, times

LONGEST, TARGET_S = 60, 300
_DEGREES = (15, 30, 59, 119, 239)
_FORM_UP_TO = 59  # seconds beyond
_SAMPLE = 40  # pairs, spread over all of them


@dataclass(frozen=True)
class DegreeCost:
    """What one mix of this degree costs.

    Fields:
        crossings: all of them, with certificates.
        recursion, form: one count of roots in integers, by either way; the form only up to 59.
        count: one count as `count_unstable` makes it, winding numbers at high degree.
        threshold: the whole answer.
    """

    degree: int
    crossings: Times
    recursion: Times
    form: Times | None
    count: Times
    threshold: Times


@dataclass(frozen=True)
class AtlasTiming:
    """Fields:
    costs: by degree.
    whole_s: the atlas on two processes, wall time.
    mixes: how many it holds.
    certified, floats: seconds for the sample, in one process.
    sample, differing: mixes in it, and those in which the floats are wrong.
    """

    costs: list[DegreeCost]
    whole_s: float
    mixes: int
    certified_s: float
    floats_s: float
    sample: int
    differing: int


def run(longest: int = LONGEST, degrees: tuple[int, ...] = _DEGREES) -> AtlasTiming:
    costs = [_cost(degree) for degree in degrees]
    start = time.perf_counter()
    found = threshold_atlas(longest)
    whole = time.perf_counter() - start
    pairs = [(a, n) for n in range(2, longest + 1) for a in range(1, n)]
    sample = [
        two_lengths(a, n, p)
        for a, n in pairs[:: max(1, len(pairs) // _SAMPLE)]
        for p in TENTHS[::4]
    ]
    sample = [mix for mix in sample if mix.decode_gcd == 1]
    certified, certified_s = _timed([lambda m=m: input_threshold(m).least for m in sample])
    floats, floats_s = _timed([lambda m=m: _float_search(m) for m in sample])
    return AtlasTiming(
        costs,
        whole,
        len(pairs) * found.sizes["share"],
        certified_s,
        floats_s,
        len(sample),
        sum(a != b for a, b in zip(certified, floats, strict=True)),
    )


def _cost(degree: int) -> DegreeCost:
    """At equal shares, the shorter output near half the longer, just below the threshold."""
    ages = degree + 1
    mix = two_lengths(ages // 2 - 1 + ages // 2 % 2, ages, Fraction(1, 2))
    found = input_threshold(mix)
    if found.least is None:
        raise RuntimeError(f"no threshold at degree {degree}")
    weights = mix.weights(found.least - 1)
    polynomial = characteristic_polynomial(weights)
    if count_inside_by_recursion(polynomial) != degree - 2:
        raise RuntimeError("the recursion does not find the two growing modes")
    return DegreeCost(
        degree,
        crossings=times(lambda: InputPencil(mix).crossings(), calls=3),
        recursion=times(lambda: count_inside_by_recursion(polynomial), calls=3),
        form=times(lambda: count_inside_by_form(polynomial), calls=3)
        if degree <= _FORM_UP_TO
        else None,
        count=times(lambda: count_unstable(weights), calls=3),
        threshold=times(lambda: input_threshold(mix), calls=3),
    )


def _timed(calls: list) -> tuple[list, float]:
    calls[0]()
    start = time.perf_counter()
    answers = [call() for call in calls]
    return answers, time.perf_counter() - start


def _float_search(mix: LengthMix) -> int:
    """The same question to numpy.roots, by doubling and bisection."""
    if _stable_in_floats(mix, 0):
        return 0
    low, high = 0, 1
    while not _stable_in_floats(mix, high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _stable_in_floats(mix, middle) else (middle, high)
    return high


def _stable_in_floats(mix: LengthMix, length: int) -> bool:
    weights = mix.weights(length)
    coefficients = np.array(weights.memory, dtype=np.float64) / weights.denominator
    return bool(np.abs(np.roots(coefficients)).max() < 1)


def report() -> str:
    """The tables in Markdown."""
    t = run()
    rows = [
        [
            str(c.degree),
            *(seconds(x.best) for x in (c.crossings, c.recursion)),
            seconds(c.form.best) if c.form is not None else "",
            *(seconds(x.best) for x in (c.count, c.threshold)),
        ]
        for c in t.costs
    ]
    header = ["degree", "crossings", "count, recursion", "count, form", "count", "threshold"]
    growth = ", ".join(
        f"{b.degree / a.degree:.1f} x the degree {b.threshold.best / a.threshold.best:.1f} x"
        for a, b in zip(t.costs, t.costs[1:], strict=False)
    )
    return "\n".join(
        [
            "## Atlas of thresholds",
            "",
            f"All {t.mixes:,} mixes (pairs up to {LONGEST} at {len(TENTHS)} shares) on two"
            f" processes: {seconds(t.whole_s)},"
            f" {seconds(t.whole_s / t.mixes)} a mix"
            f" ({against('target 5 minutes', t.whole_s < TARGET_S)}).",
            "",
            table(header, rows),
            "",
            f'Best of three. One threshold costs: {growth}. "count" is what is used: the'
            " recursion up to degree 60, a winding number beyond.",
            "",
            f"Against bisection with `numpy.roots` on {t.sample} coprime mixes, one process:"
            f" certified {seconds(t.certified_s)}, floats {seconds(t.floats_s)}, ratio"
            f" {t.floats_s / t.certified_s:.1f}. The floats differ in {t.differing}.",
            "",
            f"Load at the end: {load()}.",
        ]
    )


if __name__ == "__main__":
    print(report())
