"""At which factors on all input lengths is a workload stable: every factor, not a search.

A workload with all inputs multiplied by t is F_t = t A_r + C (`pencil`), so the crossings in t
settle its verdict at every t > 0, as they do in the input length of a mix.
"""

import math
from fractions import Fraction

from flint import arb

from fluidkv.exact.linear_stability import InputScale, input_scale_bracket
from fluidkv.exact.mixed.mix import LengthMix
from fluidkv.exact.mixed.thresholds.pencil import Crossing, InputPencil
from fluidkv.exact.precision import outward, working
from fluidkv.exact.roots.spectrum import count_unstable
from fluidkv.workload import Workload

MOST_AGES = 2048
"""Decode length up to which every factor is looked at: seconds. Above it, a bracket is searched."""


def input_scale(workload: Workload, *, reach: int = 12) -> InputScale:
    """The boundary of stability on the axis of the input lengths.

    Args:
        workload: any number of classes.
        reach: powers of two to look at, where a bracket has to be searched.

    Returns:
        `complete` where the verdict at every factor above 0 is known and changes at most once.
        Otherwise what `input_scale_bracket` finds: two verdicts.

    Examples:
        >>> from fluidkv.exact.mixed.thresholds.scale import input_scale
        >>> scale = input_scale(fk.Workload.from_lengths([(8, 5), (8, 9)]))
        >>> scale.complete, round(float(8 * scale.stable), 3)
        (True, 64.433)
    """
    lengths = {c.decode_length for c in workload.classes}
    if len(lengths) > 1 and max(lengths) <= MOST_AGES:
        try:
            return _complete(LengthMix.of_workload(workload))
        except ArithmeticError:
            pass
    return input_scale_bracket(workload, reach=reach)


def _complete(mix: LengthMix) -> InputScale:
    """The one change of verdict, or that there is none.

    Raises:
        ArithmeticError: crossings that could not be told apart, or more than one change.
    """
    crossings = InputPencil(mix).crossings()
    return _settled(crossings, _count_beyond(mix, crossings))


def _settled(crossings: list[Crossing], modes: int) -> InputScale:
    """Likewise, from the crossings in ascending order and the modes that grow beyond them."""
    if any(c.outward == 0 for c in crossings):
        raise ArithmeticError("modes touch the circle")
    boundary: list[Crossing] | None = None
    for group in _together(crossings):  # from long inputs down
        fewest = modes - sum(c.outward for c in group if c.outward > 0)
        if modes > 0 and fewest <= 0:
            raise ArithmeticError("a stable stretch below an unstable one, or none: not told apart")
        was_stable = modes == 0
        modes -= sum(c.outward for c in group)
        if was_stable and modes > 0:
            boundary = group
    if modes == 0:  # the same at every factor
        return InputScale(Fraction(0), None, complete=True)
    if boundary is None:
        return InputScale(None, None, complete=True)
    ends = [_ends(c.length) for c in boundary]
    return InputScale(max(b for _, b in ends), min(a for a, _ in ends), complete=True)


def _count_beyond(mix: LengthMix, crossings: list[Crossing]) -> int:
    """Growing modes beyond all crossings: as many as in the limit, and counted far out.

    Raises:
        ArithmeticError: the count is another one, or undecided.
    """
    far = 2 * math.ceil(_ends(crossings[-1].length)[1]) + 1 if crossings else 1
    count = count_unstable(mix.weights(far))
    if (count.outside, count.on_circle) != (mix.decode_gcd - 1, 0):
        raise ArithmeticError("no count beyond the last crossing")
    return mix.decode_gcd - 1


def _together(crossings: list[Crossing]) -> list[list[Crossing]]:
    """Crossings from the last one down, those whose balls overlap in one group."""
    groups: list[list[Crossing]] = []
    for crossing in reversed(crossings):
        if groups and any(crossing.length.overlaps(c.length) for c in groups[-1]):
            groups[-1].append(crossing)
        else:
            groups.append([crossing])
    return groups


def _ends(ball: arb) -> tuple[Fraction, Fraction]:
    """Floats below and above all of the ball, as rationals."""
    with working(1024):
        low, high = outward(ball)
    return Fraction(low), Fraction(high)
