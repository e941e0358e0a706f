"""Scaled requests: the same ones, longer, shorter or faster."""

import math
from collections import Counter
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fluidkv.answers.prompted import prompted_trace
from fluidkv.errors import InputError
from fluidkv.traces import Trace, scale
from fluidkv.traces.scaling import Scaling
from fluidkv.workload import RequestClass, Workload
from tests.traces.strategies import traces

factors = st.builds(Fraction, st.integers(1, 12), st.integers(1, 12))
lengths = st.integers(1, 5000)


@st.composite
def short_traces(draw: st.DrawFn) -> Trace:
    """Traces with times whose scaled lengths a trace may have."""
    pairs = draw(st.lists(st.tuples(lengths, lengths), min_size=1, max_size=8))
    gaps = [draw(st.floats(0, 1000)) for _ in pairs[1:]]
    times = [0.0]
    for gap in gaps:
        times.append(times[-1] + gap)
    return Trace(tuple(i for i, _ in pairs), tuple(o for _, o in pairs), tuple(times))


@st.composite
def segmented(draw: st.DrawFn) -> Trace:
    """Prompts of shared segments 0 to 3, each before a segment of its own; some outputs named."""
    requests = draw(st.integers(1, 6))
    prompts, outputs, answers = [], [], []
    for row in range(requests):
        shared = [(draw(st.integers(0, 3)), draw(st.integers(1, 300)))]
        told = [each for each in answers if draw(st.booleans())]
        prompts.append((*shared, *told, (10 + row, draw(st.integers(1, 300)))))
        outputs.append(draw(st.integers(1, 300)))
        answers.append((100 + row, outputs[-1]))
    inputs = tuple(sum(size for _, size in prompt) for prompt in prompts)
    return Trace(
        inputs,
        tuple(outputs),
        tuple(float(row) for row in range(requests)),
        prompt_segments=tuple(prompts),
        output_segments=tuple(100 + row for row in range(requests)),
    )


def _counts(workload: Workload) -> dict[tuple[int, int], Fraction]:
    return {(c.input_length, c.decode_length): c.share for c in workload.classes}


@given(traces())
def test_a_factor_of_one_changes_nothing(trace: Trace) -> None:
    assert scale(trace, Scaling()) is trace
    workload = trace.workload()
    assert scale(workload, Scaling()) is workload


@given(short_traces(), factors, factors, factors)
def test_lengths_are_the_smallest_whole_numbers_from_the_product_on(
    trace: Trace, inputs: Fraction, outputs: Fraction, rate: Fraction
) -> None:
    scaled = scale(trace, Scaling(inputs, outputs, rate))
    for before, after, factor in (
        (trace.input_lengths, scaled.input_lengths, inputs),
        (trace.decode_lengths, scaled.decode_lengths, outputs),
    ):
        for length, longer in zip(before, after, strict=True):
            assert longer >= 1
            assert longer - 1 < length * factor <= longer
    assert trace.arrival_times_s is not None
    assert scaled.arrival_times_s is not None
    for before, after in zip(trace.arrival_times_s, scaled.arrival_times_s, strict=True):
        # One division's rounding; of a subnormal, half its last place, times the rate.
        allowed = math.ulp(0.0) * float(rate)
        assert math.isclose(after * float(rate), before, rel_tol=1e-15, abs_tol=allowed)
    assert all(a <= b for a, b in pairwise(scaled.arrival_times_s))


@given(short_traces(), factors, factors)
def test_a_scaled_workload_is_the_workload_of_the_scaled_trace(
    trace: Trace, inputs: Fraction, outputs: Fraction
) -> None:
    scaling = Scaling(inputs, outputs)
    of_trace, of_workload = scale(trace, scaling).workload(), scale(trace.workload(), scaling)
    assert _counts(of_trace) == _counts(of_workload)
    assert len(_counts(of_workload)) == len(of_workload.classes)  # equal ones became one


@given(st.lists(st.tuples(lengths, lengths), min_size=1, max_size=5, unique=True), factors)
def test_inputs_are_scaled_as_the_boundary_of_study_has_them(
    pairs: list[tuple[int, int]], factor: Fraction
) -> None:
    share = Fraction(1, len(pairs))
    workload = Workload(tuple(RequestClass(i, o, share) for i, o in pairs))
    merged: Counter[tuple[int, int]] = Counter()
    for each in workload.scale_inputs(factor).classes:
        merged[each.input_length, each.decode_length] += 1
    assert _counts(scale(workload, Scaling(input=factor))) == {
        lengths: n * share for lengths, n in merged.items()
    }


@given(st.data(), st.integers(1, 40), st.integers(1, 40))
def test_prefix_blocks_stay_as_many_and_as_shared(
    data: st.DataObject, block: int, twelfths: int
) -> None:
    block *= 12
    inputs = tuple(data.draw(st.lists(st.integers(1, 2000), min_size=1, max_size=6)))
    ids = tuple(
        tuple(data.draw(st.integers(0, 1)) * 1000 + row * 50 + k for k in range(-(-size // block)))
        for row, size in enumerate(inputs)
    )
    trace = Trace(inputs, (1,) * len(inputs), (0.0,) * len(inputs), ids, block)
    scaled = scale(trace, Scaling(input=Fraction(twelfths, 12)))
    assert scaled.prefix_blocks == ids
    assert scaled.prefix_block_size is not None
    assert scaled.prefix_block_size == block // 12 * twelfths
    for size, row in zip(scaled.input_lengths, ids, strict=True):
        assert -(-size // scaled.prefix_block_size) == len(row)  # as the reader would have it


def test_blocks_that_would_not_be_whole_are_refused() -> None:
    trace = Trace((700,), (1,), (0.0,), ((1, 2),), 512)
    with pytest.raises(InputError, match="multiple of 1/512"):
        scale(trace, Scaling(input=Fraction(1, 3)))


@given(segmented(), factors, factors)
def test_segments_that_begin_alike_still_do(
    trace: Trace, inputs: Fraction, outputs: Fraction
) -> None:
    scaled = scale(trace, Scaling(inputs, outputs))
    assert scaled.prompt_segments is not None
    assert trace.prompt_segments is not None
    prompted_trace(scaled)  # what refuses contradictions takes it
    for before, after in zip(trace.prompt_segments, scaled.prompt_segments, strict=True):
        for (segment, size), (same, longer) in zip(before, after, strict=True):
            assert segment == same
            # An answer is told in full: as long as the output that it was.
            told = scaled.decode_lengths[segment - 100] if segment >= 100 else None
            assert longer == (told or math.ceil(size * inputs))


def test_a_rate_needs_times() -> None:
    for load in (Trace((1,), (1,)), Workload((RequestClass(1, 1),))):
        with pytest.raises(InputError, match="scale_rate"):
            scale(load, Scaling(rate=Fraction(2)))


@pytest.mark.parametrize("factor", [0, -1, 0.5, True, Fraction(-1, 2)])
def test_a_factor_is_a_rational_above_zero(factor: object) -> None:
    with pytest.raises(InputError, match="scale_output"):
        Scaling(output=factor)  # type: ignore[arg-type]  # what is refused


def test_lengths_have_an_end() -> None:
    with pytest.raises(InputError, match="scale_input"):
        scale(Trace((10,), (1,)), Scaling(input=Fraction(10**8)))


def test_what_was_scaled_is_said() -> None:
    assert str(Scaling()) == ""
    assert str(Scaling(Fraction(2))) == "inputs x 2, rounded up to whole tokens"
    assert str(Scaling(rate=Fraction(3, 2))) == "arrivals x 1.5 as fast"
    said = "inputs x 1/3 and outputs x 2, rounded up to whole tokens; arrivals x 0.5 as fast"
    assert str(Scaling(Fraction(1, 3), Fraction(2), Fraction(1, 2))) == said
    workload = scale(Workload((RequestClass(4, 2),), note="mine"), Scaling(Fraction(2)))
    assert workload.note == "mine; inputs x 2, rounded up to whole tokens"
