"""Prompt types from a workload and a total rate, outputs binned, and what binning does to the load.

A workload of thousands of (input, output) pairs has too many types for a threshold each. Outputs
are cut into bins; a bin becomes one type, with the largest output that occurs in it and its mean
input rounded up. Within a bin c(l, l') = (l' + 1)(l + l'/2) is linear in l and grows with l', so
the load is not understated, unless all bins share one input: where long inputs come with long
outputs, it can be. The errors say so, exactly.

The outputs of a workload are taken as the paper's l', output tokens after the prefill.

Source: WAIT, section 6.2 (bins of 50 tokens, mean input of each); its representative is not said.
"""

import math
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise
from operator import itemgetter
from typing import Literal

from fluidkv.errors import InputError
from fluidkv.record import Record
from fluidkv.wait.model import Exact, PromptType, WaitSystem, count, exact, several
from fluidkv.workload import Workload

Cut = Literal["width", "share"]
"""How outputs are cut into bins: at equal widths, or after equal shares of the prompts."""
Pair = tuple[int, int]
"""Input and output length."""


@dataclass(frozen=True)
class BinnedPrompts(Record):
    """Prompt types that stand for a workload, and their errors against it; exact.

    Fields:
        types: by output, then input; their rates sum to the total rate.
        bins: of each type, the outputs (first, last) that its bin spans.
        type_of: of each class of the workload, the index of its type.
        token_rate_error: of sum lambda c, hence of the load where d2 = 0: (types - workload) /
            workload.
        output_error: of the mean output, hence of the throughput sum lambda l', likewise.
        input_error: of the mean input, likewise.
        longer_inputs: share of prompts whose input is longer than that of their type.
        dearer: share of prompts whose c is above that of their type.

    Examples:
        >>> workload = fk.Workload.from_lengths([(10, 2), (10, 4)])
        >>> from fluidkv.wait.prompts import prompt_types
        >>> binned = prompt_types(workload, 1, bins=1)
        >>> len(binned.types), binned.output_error  # all outputs count as 4, their mean is 3
        (1, Fraction(1, 3))
        >>> binned.system(base=1, per_kv_token=Fraction(1, 100)).load
        Fraction(3, 5)
    """

    types: tuple[PromptType, ...]
    bins: tuple[tuple[int, int], ...]
    type_of: tuple[int, ...]
    token_rate_error: Fraction
    output_error: Fraction
    input_error: Fraction
    longer_inputs: Fraction
    dearer: Fraction

    def system(self, base: Exact, per_kv_token: Exact, per_prefill_token: Exact = 0) -> WaitSystem:
        """These types on a server with iteration time d0 + d1 (tokens held) + d2 (inputs)."""
        return WaitSystem(self.types, base, per_kv_token, per_prefill_token)


def prompt_types(
    workload: Workload,
    rate: Exact,
    *,
    bins: int | None = None,
    cut: Cut = "width",
    ends: Iterable[int] | None = None,
    common_input: bool = False,
) -> BinnedPrompts:
    """A workload at a total rate, as prompt types.

    Args:
        workload: pairs of lengths and their shares.
        rate: prompts per unit of time, above 0; exact.
        bins: intervals of outputs, at least 1; those in which no output falls give no type. None
            (and no `ends`): nothing is binned, each pair is a type, and no error is made.
        cut: where bins end. "width": intervals of equal length from 1 to the longest output, as in
            the paper. "share": the k-th ends with the least output that at least k / bins of the
            prompts do not exceed; fewer bins where one output spans several.
        ends: the last output of each bin, increasing; the last one not below the longest output.
        common_input: one input for all types, the mean of all prompts rounded up, as Nested WAIT
            needs it. Without bins, each output is then a type.

    Raises:
        InputError: a number outside of what is said here, or both `bins` and `ends`.

    Examples:
        >>> workload = fk.Workload.from_lengths([(10, 2), (10, 4)])
        >>> from fluidkv.wait.prompts import prompt_types
        >>> found = prompt_types(workload, rate=3)
        >>> [(str(t.arrival_rate), t.input_length, t.output_length) for t in found.types]
        [('3/2', 10, 2), ('3/2', 10, 4)]
    """
    rate = exact("rate", rate, above=0)
    pairs = [(each.input_length, each.decode_length) for each in workload.classes]
    # Sums over thousands of classes are of whole numbers: shares in units of 1 / unit.
    unit = math.lcm(*(each.share.denominator for each in workload.classes))
    weights = [int(each.share * unit) for each in workload.classes]

    last = _last_outputs(pairs, weights, bins, cut, ends)
    groups = _groups(pairs, last, by_input=last is None and not common_input)
    common = _mean_input(range(len(pairs)), pairs, weights) if common_input else None
    lengths = [
        (
            common or _mean_input(group, pairs, weights),
            max(pairs[place][1] for place in group),
        )
        for group in groups
    ]
    type_of = [0] * len(pairs)
    for index, group in enumerate(groups):
        for place in group:
            type_of[place] = index
    total = [sum(weights[place] for place in group) for group in groups]
    types = (
        PromptType(rate * Fraction(weight, unit), *pair)
        for weight, pair in zip(total, lengths, strict=True)
    )
    return BinnedPrompts(
        tuple(types),
        _intervals(lengths, last),
        tuple(type_of),
        **_errors(pairs, [lengths[index] for index in type_of], weights),
    )


def _last_outputs(
    pairs: Sequence[Pair],
    weights: Sequence[int],
    bins: int | None,
    cut: str,
    ends: Iterable[int] | None,
) -> list[int] | None:
    """The last output of each bin, increasing; None where nothing is binned."""
    longest = max(output for _, output in pairs)
    if cut not in ("width", "share"):
        raise InputError("cut", cut, "'width' or 'share'")
    if ends is not None:
        given = [count("ends", end) for end in several("ends", ends, "increasing outputs")]
        if bins is not None:
            raise InputError("bins", bins, "either bins or ends")
        if not given or any(b <= a for a, b in pairwise(given)) or given[-1] < longest:
            allowed = f"increasing outputs, the last at least the longest, {longest}"
            raise InputError("ends", given, allowed)
        return given
    if bins is None:
        return None
    number = count("bins", bins)
    if cut == "share":
        return _quantiles(pairs, weights, number)
    number = min(number, longest)  # more are all empty
    width = -(-longest // number)
    return [width * k for k in range(1, number + 1)]


def _quantiles(pairs: Sequence[Pair], weights: Sequence[int], number: int) -> list[int]:
    """For k = 1..number, the least output that k / number of the prompts do not exceed."""
    by_output: Counter[int] = Counter()
    for (_, output), weight in zip(pairs, weights, strict=True):
        by_output[output] += weight
    outputs = sorted(by_output)
    reached = list(accumulate(by_output[output] for output in outputs))
    number = min(number, reached[-1])  # with as many as prompts, each output ends one
    least = (-(-k * reached[-1] // number) for k in range(1, number + 1))
    return sorted({outputs[bisect_left(reached, weight)] for weight in least})


def _groups(
    pairs: Sequence[Pair], last: Sequence[int] | None, *, by_input: bool
) -> list[list[int]]:
    """Classes of one type each, by output, then input."""
    groups: dict[Pair, list[int]] = defaultdict(list)
    for place, (length, output) in enumerate(pairs):
        bin_ = output if last is None else bisect_left(last, output)
        groups[bin_, length if by_input else 0].append(place)
    return [groups[key] for key in sorted(groups)]


def _intervals(lengths: Iterable[Pair], last: Sequence[int] | None) -> tuple[Pair, ...]:
    """The bin, first and last output, in which each type's output falls."""
    if last is None:
        return tuple((output, output) for _, output in lengths)
    bins = [(before + 1, end) for before, end in pairwise((0, *last))]
    return tuple(bins[bisect_left(last, output)] for _, output in lengths)


def _mean_input(places: Iterable[int], pairs: Sequence[Pair], weights: Sequence[int]) -> int:
    """Mean over prompts of these classes, rounded up."""
    tokens = total = 0
    for place in places:
        tokens += weights[place] * pairs[place][0]
        total += weights[place]
    return -(-tokens // total)


def _errors(
    pairs: Sequence[Pair], stand_ins: Sequence[Pair], weights: Sequence[int]
) -> dict[str, Fraction]:
    """The exact differences between each class and the type that it became."""

    def relative(value: Callable[[Pair], int]) -> Fraction:
        true = sum(w * value(pair) for w, pair in zip(weights, pairs, strict=True))
        ours = sum(w * value(pair) for w, pair in zip(weights, stand_ins, strict=True))
        return Fraction(ours - true, true)

    def above(value: Callable[[Pair], int]) -> Fraction:
        rows = zip(weights, pairs, stand_ins, strict=True)
        return Fraction(sum(w for w, is_, as_ in rows if value(is_) > value(as_)), sum(weights))

    return {
        "token_rate_error": relative(_twice_cost),
        "output_error": relative(itemgetter(1)),
        "input_error": relative(itemgetter(0)),
        "longer_inputs": above(itemgetter(0)),
        "dearer": above(_twice_cost),
    }


def _twice_cost(pair: Pair) -> int:
    """2 c, whole."""
    length, output = pair
    return (output + 1) * (2 * length + output)
