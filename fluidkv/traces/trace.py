"""A trace: observed requests, in the order of their file."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from numbers import Real
from operator import index
from typing import SupportsIndex

from fluidkv.errors import InputError
from fluidkv.record import Record
from fluidkv.text import printable
from fluidkv.workload import Workload


@dataclass(frozen=True)
class Trace(Record):
    """Requests as observed, one entry a request, in the order of the file (never sorted).

    Args:
        input_lengths: prompt tokens, each at least 1.
        decode_lengths: output tokens, each at least 1; as many as `input_lengths`.
        arrival_times_s: seconds after the first request of the file, so the first is 0; finite.
            A file that is not in order of arrival gives times that fall, even below 0. None where
            the source has no times.
        prefix_blocks: ids of the prompt's blocks, one tuple a request. Equal ids stand for equal
            tokens in that block and in all blocks before it. None where the source has none.
        prefix_block_size: tokens in one prefix block; given exactly when `prefix_blocks` is.
        prompt_segments: what each prompt says, (segment, length) pairs one after the other: token i
            of a segment is one thing wherever it occurs. None where the source does not say.
        output_segments: of each request the segment that its output is, None where nobody repeats
            it; given exactly when `prompt_segments` is.
        max_tokens: what each request asked for at most, tokens. None where the source does not say.
        name: shown in reports; no meaning, and no part of equality.

    Raises:
        InputError: no requests, fields of unequal length, or an entry outside the range above.

    Examples:
        >>> trace = fk.Trace((10, 10, 30), (2, 2, 5), (0.0, 1.5, 1.5))
        >>> [(each.input_length, each.share) for each in trace.workload().classes]
        [(10, Fraction(2, 3)), (30, Fraction(1, 3))]
        >>> trace.shares_prefixes
        False
    """

    input_lengths: tuple[int, ...]
    decode_lengths: tuple[int, ...]
    arrival_times_s: tuple[float, ...] | None = None
    prefix_blocks: tuple[tuple[int, ...], ...] | None = None
    prefix_block_size: int | None = None
    prompt_segments: tuple[tuple[tuple[int, int], ...], ...] | None = None
    output_segments: tuple[int | None, ...] | None = None
    max_tokens: tuple[int, ...] | None = None
    name: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", printable(self.name))
        inputs = _integers("input_lengths", self.input_lengths, least=1)
        if not inputs:
            raise InputError("input_lengths", inputs, "at least one request")
        decodes = _integers("decode_lengths", self.decode_lengths, least=1)
        _same_number("decode_lengths", decodes, len(inputs))
        object.__setattr__(self, "input_lengths", inputs)
        object.__setattr__(self, "decode_lengths", decodes)
        if self.arrival_times_s is not None:
            times = _times(self.arrival_times_s)
            _same_number("arrival_times_s", times, len(inputs))
            object.__setattr__(self, "arrival_times_s", times)
        if (self.prefix_blocks is None) != (self.prefix_block_size is None):
            allowed = "given exactly when prefix_blocks is given"
            raise InputError("prefix_block_size", self.prefix_block_size, allowed)
        if self.prefix_blocks is not None:
            blocks = tuple(_integers("prefix_blocks", b, least=0) for b in self.prefix_blocks)
            _same_number("prefix_blocks", blocks, len(inputs))
            size = _integer("prefix_block_size", self.prefix_block_size, 1)
            object.__setattr__(self, "prefix_blocks", blocks)
            object.__setattr__(self, "prefix_block_size", size)
        if self.max_tokens is not None:
            asked = _integers("max_tokens", self.max_tokens, least=1)
            _same_number("max_tokens", asked, len(inputs))
            object.__setattr__(self, "max_tokens", asked)
        self._check_segments()

    def _check_segments(self) -> None:
        prompts, outputs = self.prompt_segments, self.output_segments
        if prompts is None or outputs is None:
            if prompts is not outputs:
                raise InputError("output_segments", outputs, "given with prompt_segments, or not")
            return
        _same_number("prompt_segments", prompts, len(self))
        _same_number("output_segments", outputs, len(self))
        prompts = tuple(_segments(pairs) for pairs in prompts)
        for prompt, tokens in zip(prompts, self.input_lengths, strict=True):
            if sum(size for _, size in prompt) != tokens:
                raise InputError("prompt_segments", prompt, f"{tokens} tokens, as the input has")
        outputs = tuple(None if s is None else _integer("output_segments", s, 0) for s in outputs)
        object.__setattr__(self, "prompt_segments", prompts)
        object.__setattr__(self, "output_segments", outputs)

    @property
    def shares_prefixes(self) -> bool:
        """Whether it says what prompts share, by blocks or by segments.

        Only caches look at it; a workload, and an engine without a prefix cache, has lengths.
        """
        return bool(self.prompt_segments) or any(self.prefix_blocks or ())

    def __len__(self) -> int:
        """Number of requests."""
        return len(self.input_lengths)

    def workload(self, *, name: str | None = None) -> Workload:
        """The empirical joint distribution of (input, decode) lengths, one class a distinct pair.

        Arrival times and prefix blocks play no part in it.
        """
        return Workload.from_lengths(
            zip(self.input_lengths, self.decode_lengths, strict=True),
            name=self.name if name is None else name,
            note=f"empirical joint distribution of the lengths of {len(self):,} requests",
        )


def _integers(argument: str, values: Iterable[object], *, least: int) -> tuple[int, ...]:
    return tuple(_integer(argument, value, least) for value in values)


def _integer(argument: str, value: object, least: int) -> int:
    if type(value) is int and value >= least:  # nearly all; a trace may have millions
        return value
    if isinstance(value, bool) or not isinstance(value, SupportsIndex) or index(value) < least:
        raise InputError(argument, value, f"integers of at least {least}")
    return index(value)


def _segments(pairs: Iterable[Iterable[object]]) -> tuple[tuple[int, int], ...]:
    found = [tuple(pair) for pair in pairs]
    for pair in found:
        if len(pair) != 2:
            raise InputError("prompt_segments", pair, "pairs of a segment and a length")
    return tuple(
        (_integer("prompt_segments", segment, 0), _integer("prompt_segments", size, 1))
        for segment, size in found
    )


def _times(values: Iterable[object]) -> tuple[float, ...]:
    values = tuple(values)
    times = []
    for value in values:
        if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value):
            raise InputError("arrival_times_s", value, "finite numbers of seconds")
        times.append(float(value) + 0.0)  # + 0.0 makes -0.0 an ordinary zero
    if times and times[0] != 0:
        raise InputError("arrival_times_s", times[0], "0 first: seconds after the first request")
    return tuple(times)


def _same_number(argument: str, values: tuple[object, ...], requests: int) -> None:
    if len(values) != requests:
        raise InputError(argument, f"{len(values)} entries", f"{requests}, one a request")
