"""Segment designs of the synthetic distribution: the memory bound (17) by number of segments."""

from collections.abc import Sequence
from fractions import Fraction
from functools import cache

from fluidkv import wait
from fluidkv.wait import theory
from fluidkv_papers.wait.instances.nested import LENGTHS, synthetic

LOADS = tuple(Fraction(k, 10) for k in (1, 5, 8))
COUNTS = (*range(1, 41), 50, 75, 100, 150, 200, 300, 400, LENGTHS)
HORIZON, DELTA = 1000, Fraction(1, 100)


def swept(
    system: "wait.WaitSystem",
    *,
    spare: int,
    horizon: int = HORIZON,
    delta: Fraction = DELTA,
    counts: Sequence[int] = COUNTS,
) -> "tuple[theory.design.SegmentDesign, ...]":
    """Designs by number of segments, ends at equal distances; those that can be served.

    Args:
        system: types of one input length.
        spare: prompts that each line of (16) keeps to spare, above the least thresholds.
        horizon, delta: of the bound.
        counts: numbers of segments; those above the number of outputs are left out.
    """
    problem = theory.design.SegmentProblem(system, horizon, delta)
    found = {}
    for number in counts:
        if number <= len(problem.outputs):
            ends = problem.ends(number)
            found[len(ends)] = problem.design(ends, (spare,) * len(ends))
    return tuple(design for _, design in sorted(found.items()) if design is not None)


@cache
def synthetic_designs(load: Fraction, spare: int) -> "tuple[theory.design.SegmentDesign, ...]":
    """`swept` of the synthetic distribution at a load."""
    return swept(synthetic(load), spare=spare)


def best(designs: "Sequence[theory.design.SegmentDesign]") -> "theory.design.SegmentDesign":
    """The least bound."""
    return min(designs, key=lambda design: design.total)


def dominated(design: "theory.design.SegmentDesign") -> bool:
    """Whether term 1 is above term 2 and above term 3."""
    return design.batch > design.queue and float(design.batch) > design.tail
