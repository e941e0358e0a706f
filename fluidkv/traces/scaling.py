"""What happens if prompts, answers or the rate were larger: the same requests, scaled.

Lengths are rounded up to whole tokens, as `Workload.scale_inputs` does, so that a length stays at
least 1 and the boundary that `study` finds is in the same unit as the factor here.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import overload

from fluidkv.errors import InputError
from fluidkv.traces.trace import Trace
from fluidkv.workload import RequestClass, Workload

_ONE = Fraction(1)
LONGEST = 10**8
"""No scaled length is longer: as in the files of traces."""


@dataclass(frozen=True)
class Scaling:
    """Factors on requests.

    Args:
        input: on prompt tokens.
        output: on output tokens.
        rate: on requests per second: the times of arrival are divided by it.

    Raises:
        InputError: a factor that is not a rational number above 0.

    Examples:
        >>> from fluidkv.traces.scaling import Scaling
        >>> str(Scaling(input=2, rate=Fraction(3, 2)))
        'inputs x 2, rounded up to whole tokens; arrivals x 1.5 as fast'
        >>> bool(Scaling())
        False
    """

    input: Fraction = _ONE
    output: Fraction = _ONE
    rate: Fraction = _ONE

    def __post_init__(self) -> None:
        for name in ("input", "output", "rate"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | Fraction) or value <= 0:
                raise InputError(f"scale_{name}", value, "a rational number above 0")
            object.__setattr__(self, name, Fraction(value))

    def __bool__(self) -> bool:
        """Whether anything changes."""
        return self != Scaling()

    def __str__(self) -> str:
        """In words; empty where nothing changes."""
        lengths = [
            f"{what} x {_plain(factor)}"
            for what, factor in (("inputs", self.input), ("outputs", self.output))
            if factor != 1
        ]
        if lengths:
            lengths[-1] += ", rounded up to whole tokens"
        rates = [f"arrivals x {_plain(self.rate)} as fast"] if self.rate != 1 else []
        return "; ".join([" and ".join(lengths), *rates] if lengths else rates)


@overload
def scale(load: Trace, scaling: Scaling) -> Trace: ...
@overload
def scale(load: Workload, scaling: Scaling) -> Workload: ...
def scale(load: Trace | Workload, scaling: Scaling) -> Trace | Workload:
    """The same requests with lengths and rate multiplied.

    What prompts share stays shared: blocks become longer or shorter with the inputs, and so does a
    segment; one that is an output goes with the outputs wherever a prompt repeats it. An input of
    segments is the sum of the scaled segments.

    Raises:
        InputError: a rate for requests without times; prefix blocks that would not be whole; a
            length above 10**8.

    Examples:
        >>> from fluidkv.traces import scale
        >>> from fluidkv.traces.scaling import Scaling
        >>> trace = fk.Trace((10, 30), (4, 5), (0.0, 3.0))
        >>> faster = scale(trace, Scaling(input=Fraction(1, 4), rate=2))
        >>> faster.input_lengths, faster.decode_lengths, faster.arrival_times_s
        ((3, 8), (4, 5), (0.0, 1.5))
    """
    if not scaling:
        return load
    return _trace(load, scaling) if isinstance(load, Trace) else _workload(load, scaling)


def _workload(workload: Workload, scaling: Scaling) -> Workload:
    if scaling.rate != 1:
        raise InputError("scale_rate", _plain(scaling.rate), "none for requests without times")
    inputs = _lengths("scale_input", (c.input_length for c in workload.classes), scaling.input)
    outputs = _lengths("scale_output", (c.decode_length for c in workload.classes), scaling.output)
    shares: dict[tuple[int, int], Fraction] = {}  # classes that have become one
    for lengths, each in zip(zip(inputs, outputs, strict=True), workload.classes, strict=True):
        shares[lengths] = shares.get(lengths, Fraction(0)) + each.share
    classes = tuple(RequestClass(*lengths, share) for lengths, share in shares.items())
    note = f"{workload.note}; {scaling}" if workload.note else str(scaling)
    return replace(workload, classes=classes, note=note)


def _trace(trace: Trace, scaling: Scaling) -> Trace:
    times = trace.arrival_times_s
    if scaling.rate != 1:
        if times is None:
            raise InputError("scale_rate", _plain(scaling.rate), "none for requests without times")
        factor = float(scaling.rate)
        times = tuple(time / factor for time in times)
    segments = _segments(trace, scaling)
    if segments is None:
        inputs = _lengths("scale_input", trace.input_lengths, scaling.input)
    else:
        inputs = tuple(sum(length for _, length in prompt) for prompt in segments)
    return replace(
        trace,
        input_lengths=inputs,
        decode_lengths=_lengths("scale_output", trace.decode_lengths, scaling.output),
        arrival_times_s=times,
        prefix_block_size=_block_size(trace, scaling.input),
        prompt_segments=segments,
        max_tokens=trace.max_tokens and _lengths("scale_output", trace.max_tokens, scaling.output),
    )


def _lengths(argument: str, lengths: Iterable[int], factor: Fraction) -> tuple[int, ...]:
    over, under = factor.numerator, factor.denominator
    scaled = tuple(-(-length * over // under) for length in lengths)
    if max(scaled) > LONGEST:
        raise InputError(argument, _plain(factor), f"lengths of at most {LONGEST:.0e} tokens")
    return scaled


def _block_size(trace: Trace, factor: Fraction) -> int | None:
    """Blocks are scaled with the prompts: as many of them, and the same ones shared."""
    if trace.prefix_block_size is None:
        return None
    size = trace.prefix_block_size * factor
    if size.denominator != 1:
        whole = f"whole prefix blocks: a multiple of 1/{trace.prefix_block_size}"
        raise InputError("scale_input", _plain(factor), whole)
    return size.numerator


def _segments(trace: Trace, scaling: Scaling) -> tuple[tuple[tuple[int, int], ...], ...] | None:
    if trace.prompt_segments is None or trace.output_segments is None:
        return None
    answers = {segment for segment in trace.output_segments if segment is not None}

    def longer(segment: int, length: int) -> int:
        return math.ceil(length * (scaling.output if segment in answers else scaling.input))

    return tuple(
        tuple((segment, longer(segment, length)) for segment, length in prompt)
        for prompt in trace.prompt_segments
    )


def _plain(factor: Fraction) -> str:
    """As a decimal where it is a short one."""
    decimal = f"{float(factor):g}"
    return decimal if Fraction(decimal) == factor else str(factor)
