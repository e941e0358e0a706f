"""Classes, workloads and systems: exact, frozen, validated where they are made."""

import dataclasses
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fluidkv.errors import InputError
from fluidkv.workload import RequestClass, System, Workload, share_from_float
from tests.strategies import workloads


@pytest.mark.parametrize(
    "bad", [0, -1, 2.0, 2.5, float("nan"), float("inf"), "3", None, True, Fraction(3)]
)
@pytest.mark.parametrize("field", ["input_length", "decode_length"])
def test_lengths_are_positive_integers(bad, field):
    lengths = {"input_length": 2, "decode_length": 3, field: bad}
    with pytest.raises(InputError, match=field) as caught:
        RequestClass(**lengths)
    assert caught.value.allowed == "an integer of at least 1"


def test_numpy_integers_are_integers():
    assert RequestClass(np.int64(2), np.int32(3)) == RequestClass(2, 3)  # pyright: ignore


@pytest.mark.parametrize("bad", [0, -1, 2, Fraction(3, 2), 0.5, "1/2", None, True])
def test_shares_are_rationals_up_to_one(bad):
    with pytest.raises(InputError, match="share"):
        RequestClass(2, 3, bad)


def test_a_float_share_is_refused_with_the_name_of_the_way_in():
    with pytest.raises(InputError, match="share_from_float"):
        RequestClass(2, 3, 0.5)  # pyright: ignore[reportArgumentType]


@given(st.fractions(min_value=Fraction(1, 1000), max_value=1, max_denominator=1000))
def test_share_from_float_returns_the_simple_fraction_that_was_meant(share):
    assert share_from_float(float(share), max_denominator=1000) == share


@pytest.mark.parametrize("bad", [0.0, -0.5, 1.5, float("nan"), float("inf"), 1e-12])
def test_share_from_float_refuses_what_is_no_share(bad):
    with pytest.raises(InputError, match="share"):
        share_from_float(bad)


def test_shares_must_sum_to_exactly_one():
    third = Fraction(333333, 1000000)
    with pytest.raises(InputError, match="sum to exactly 1"):
        Workload((RequestClass(1, 2, third), RequestClass(1, 3, 2 * third)))
    with pytest.raises(InputError, match="at least one"):
        Workload(())


def test_records_are_frozen():
    system = System(Workload((RequestClass(2, 3),)), 24)
    for record, field in ((system, "capacity"), (system.workload, "name")):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(record, field, 1)


@pytest.mark.parametrize("bad", [5, 4, 0, -3, Fraction(5)])
def test_capacity_must_exceed_the_largest_request(bad):
    with pytest.raises(InputError, match="more than 5 tokens, the largest request"):
        System(Workload((RequestClass(2, 3),)), bad)


@pytest.mark.parametrize("bad", [24.0, "24", None, float("inf"), True])
def test_capacity_is_rational(bad):
    with pytest.raises(InputError, match="capacity"):
        System(Workload((RequestClass(2, 3),)), bad)


def test_capacity_just_above_the_largest_request_is_allowed():
    assert System(Workload((RequestClass(2, 3),)), Fraction(51, 10)).capacity == Fraction(51, 10)


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), min_size=1, max_size=40))
def test_from_lengths_is_the_empirical_distribution(lengths):
    workload = Workload.from_lengths(lengths)
    assert workload.requests == len(lengths)
    for c in workload.classes:
        count = lengths.count((c.input_length, c.decode_length))
        assert c.share == Fraction(count, len(lengths))
    assert workload.mean_decode_length == Fraction(sum(d for _, d in lengths), len(lengths))
    assert workload.mean_input_length == Fraction(sum(i for i, _ in lengths), len(lengths))


@given(workloads(), st.integers(1, 5))
def test_scaling_inputs_by_an_integer_is_exact(workload, factor):
    scaled = workload.scale_inputs(factor)
    assert scaled.mean_input_length == factor * workload.mean_input_length
    assert scaled.mean_decode_length == workload.mean_decode_length


def test_gcd_and_extremes():
    workload = Workload.from_lengths([(10, 128), (700, 256), (3, 512)])
    assert workload.decode_gcd == 128
    assert workload.longest_decode == 512
    assert workload.largest_footprint == 956


@pytest.mark.parametrize("bad", ["x", None, (5, 9), RequestClass(5, 9)])
def test_a_system_is_of_a_workload(bad):
    with pytest.raises(InputError, match=r"^workload: got .*; allowed: a Workload"):
        System(bad, 3)
