"""The record of a trace: what it accepts, and its workload."""

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given

from fluidkv.errors import InputError
from fluidkv.traces import Trace
from tests.traces.strategies import traces


@given(traces())
def test_workload_is_the_empirical_joint_distribution(trace: Trace) -> None:
    counts = Counter(zip(trace.input_lengths, trace.decode_lengths, strict=True))
    shares = {(c.input_length, c.decode_length): c.share for c in trace.workload().classes}
    assert shares == {pair: Fraction(n, len(trace)) for pair, n in counts.items()}
    assert trace.workload().requests == len(trace)


def test_workload_carries_the_name_of_the_trace_unless_given_another() -> None:
    trace = Trace((1,), (2,), name="mine")
    assert trace.workload().name == "mine"
    assert trace.workload(name="yours").name == "yours"


def test_name_is_no_part_of_equality() -> None:
    assert Trace((1,), (2,), name="a") == Trace((1,), (2,), name="b")
    assert Trace((1,), (2,)) != Trace((1,), (3,))


def test_numpy_integers_and_lists_become_plain_tuples() -> None:
    trace = Trace(list(np.array([3, 4])), [1, 2], [0, 1.5])  # type: ignore[arg-type]
    assert trace.input_lengths == (3, 4)
    assert {type(value) for value in trace.input_lengths} == {int}
    assert trace.arrival_times_s == (0.0, 1.5)


@pytest.mark.parametrize(
    ("argument", "fields"),
    [
        ("input_lengths", {"input_lengths": (), "decode_lengths": ()}),
        ("input_lengths", {"input_lengths": (0,)}),
        ("input_lengths", {"input_lengths": (1.0,)}),
        ("input_lengths", {"input_lengths": (True,)}),
        ("decode_lengths", {"decode_lengths": (-1,)}),
        ("decode_lengths", {"decode_lengths": (1, 2)}),
        ("arrival_times_s", {"arrival_times_s": (1.0,)}),
        ("arrival_times_s", {"arrival_times_s": (0.0, 1.0)}),
        ("arrival_times_s", {"arrival_times_s": (math.nan,)}),
        ("arrival_times_s", {"arrival_times_s": ("0",)}),
        ("prefix_block_size", {"prefix_blocks": ((1,),)}),
        ("prefix_block_size", {"prefix_block_size": 512}),
        ("prefix_block_size", {"prefix_blocks": ((1,),), "prefix_block_size": 0}),
        ("prefix_blocks", {"prefix_blocks": ((-1,),), "prefix_block_size": 512}),
        ("prefix_blocks", {"prefix_blocks": ((1,), (2,)), "prefix_block_size": 512}),
    ],
)
def test_bad_field_is_refused_by_name(argument: str, fields: dict) -> None:
    good: dict = {"input_lengths": (5,), "decode_lengths": (7,)}
    with pytest.raises(InputError, match=f"^{argument}: "):
        Trace(**(good | fields))
