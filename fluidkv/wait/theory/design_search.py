"""A smaller memory bound for as many segments: thresholds or ends moved, one at a time.

Source: none; both searches are additions to WAIT, section 7.2.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator

from fluidkv.wait.theory.design import SegmentDesign, SegmentProblem

_ROUNDS = 20  # of a local search; those seen end after two to six

_Choice = tuple[tuple[int, ...], tuple[int, ...]]
_Neighbours = Callable[[SegmentProblem, SegmentDesign, int], Iterator[_Choice]]


def tightened(problem: SegmentProblem, design: SegmentDesign) -> SegmentDesign:
    """Thresholds above the least ones, where the tail falls by more than the batch grows.

    Whole thresholds may lie just above p_k n_(k-1), and 1 / eta_k grows like one over the
    distance. A local search: one more or less to spare in one segment, kept where the total falls,
    until none does. It is never worse than `design`; nothing says that it is the best.

    Examples:
        >>> from fluidkv.wait import PromptType, WaitSystem
        >>> from fluidkv.wait.theory.design import SegmentProblem
        >>> from fluidkv.wait.theory.design_search import tightened
        >>> types = [PromptType(4, 3, 1), PromptType(1, 3, 4), PromptType(1, 3, 6)]
        >>> problem = SegmentProblem(WaitSystem(types, 1, Fraction(1, 200)), 100, Fraction(1, 100))
        >>> design = problem.design(ends=(1, 6))
        >>> better = tightened(problem, design)
        >>> design.thresholds, better.thresholds, round(design.total - better.total)
        ((16, 6), (17, 7), 1)
    """
    return _descend(problem, design, _extras)


def moved(problem: SegmentProblem, design: SegmentDesign) -> SegmentDesign:
    """The same number of segments with ends elsewhere: a local search over one end at a time.

    Thresholds keep what they have to spare. Never worse than `design`, not certainly the best.

    Examples:
        >>> from fluidkv.wait import PromptType, WaitSystem
        >>> from fluidkv.wait.theory.design import SegmentProblem
        >>> from fluidkv.wait.theory.design_search import moved
        >>> types = [PromptType(4, 3, 1), PromptType(1, 3, 4), PromptType(1, 3, 6)]
        >>> problem = SegmentProblem(WaitSystem(types, 1, Fraction(1, 200)), 100, Fraction(1, 100))
        >>> design = problem.design(ends=(4, 6))
        >>> better = moved(problem, design)
        >>> better.segments.ends, better.total < design.total
        ((1, 6), True)
    """
    return _descend(problem, design, _ends)


def _descend(
    problem: SegmentProblem, design: SegmentDesign, neighbours: _Neighbours
) -> SegmentDesign:
    best = design
    for _ in range(_ROUNDS):
        before = best.total
        for place in range(best.count):
            for ends, extra in neighbours(problem, best, place):
                other = problem.design(ends, extra)
                if other is not None and other.total < best.total:
                    best = other
        if best.total >= before:
            break
    return best


def _extras(problem: SegmentProblem, design: SegmentDesign, place: int) -> Iterator[_Choice]:
    for change in (1, -1):
        value = design.extra[place] + change
        if value >= 0:
            yield (
                design.segments.ends,
                (*design.extra[:place], value, *design.extra[place + 1 :]),
            )


def _ends(problem: SegmentProblem, design: SegmentDesign, place: int) -> Iterator[_Choice]:
    ends = design.segments.ends
    if place + 1 == len(ends):  # the last end is the longest output
        return
    low = bisect_right(problem.outputs, ends[place - 1]) if place else 0
    high = bisect_left(problem.outputs, ends[place + 1])
    here, step = bisect_left(problem.outputs, ends[place]), 1
    while step <= len(problem.outputs):
        for row in (here - step, here + step):
            if low <= row < high:
                yield (*ends[:place], problem.outputs[row], *ends[place + 1 :]), design.extra
        step *= 2
