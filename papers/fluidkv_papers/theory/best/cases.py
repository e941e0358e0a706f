"""All small cases: a few requests of a few lengths, in a memory that holds any one but not all."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from fluidkv.record import Record
from fluidkv.runs.requests import Requests
from fluidkv.serving.limits import Limits
from fluidkv.serving.rules import EngineRules


@dataclass(frozen=True)
class Case(Record):
    """Requests that are all there at the start, in this order, and a memory in tokens.

    Args:
        lengths: (input, output) of each, tokens.
        capacity: tokens; blocks of one.
        budget: most tokens computed in an iteration; None for no limit.

    Examples:
        >>> from fluidkv_papers.theory.best import Case
        >>> case = Case(((1, 2), (2, 2), (1, 1)), 3)
        >>> print(case)
        1+2, 2+2, 1+1 in 3 tokens
        >>> case.requests.output_length.tolist(), case.limits.capacity
        ([2, 2, 1], 3)
    """

    lengths: tuple[tuple[int, int], ...]
    capacity: int
    budget: int | None = None

    @property
    def requests(self) -> Requests:
        inputs, outputs = zip(*self.lengths, strict=True)
        return Requests(list(inputs), list(outputs))

    @property
    def limits(self) -> Limits:
        return Limits(self.capacity, max_num_batched_tokens=self.budget)

    def __str__(self) -> str:
        lengths = ", ".join(f"{i}+{o}" for i, o in self.lengths)
        tail = "" if self.budget is None else f", {self.budget} an iteration"
        return f"{lengths} in {self.capacity} tokens{tail}"


def small_cases(
    count: int,
    longest_input: int,
    longest_output: int,
    rules: EngineRules,
    *,
    budget: int | None = None,
) -> Iterator[Case]:
    """Every case with so many requests, the least tokens first.

    Memory holds each request alone, and not all at their longest: where it does nobody is evicted.

    Examples:
        >>> from fluidkv_papers.theory.best import small_cases
        >>> [str(case) for case in small_cases(2, 1, 2, fk.engine("vllm"))][:2]
        ['1+1, 1+1 in 1 tokens', '1+1, 1+2 in 2 tokens']
    """
    sizes = list(product(range(1, longest_input + 1), range(1, longest_output + 1)))
    found = [
        Case(lengths, capacity, budget)
        for lengths in product(sizes, repeat=count)
        for peaks in [[rules.peak_tokens(*length) for length in lengths]]
        for capacity in range(max(peaks), sum(peaks))
    ]
    yield from sorted(found, key=_size)


def _size(case: Case) -> tuple[int, int, tuple[tuple[int, int], ...]]:
    return sum(i + o for i, o in case.lengths), case.capacity, case.lengths
