"""Prompt types from a workload: what is kept exactly, and the errors of what is not."""

from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fluidkv.errors import InputError
from fluidkv.wait.prompts import prompt_types
from fluidkv.workload import RequestClass, Workload
from tests.strategies import workloads

rates = st.builds(Fraction, st.integers(1, 60), st.integers(1, 12))
many = workloads(max_classes=8, decode_lengths=st.integers(1, 20))


@st.composite
def binnings(draw):
    """Every way to ask for bins, and none."""
    bins = draw(st.one_of(st.none(), st.integers(1, 25)))
    cut = draw(st.sampled_from(["width", "share"]))
    ends = draw(st.one_of(st.none(), st.sets(st.integers(1, 30)))) if bins is None else None
    common = {"common_input": draw(st.booleans())}
    if ends is None:
        return {"bins": bins, "cut": cut, **common}
    return {"ends": sorted({*ends, 20}), **common}


def cost(length, output):
    return sum(Fraction(length + k) for k in range(output + 1))


def sums(workload, rate):
    """Literally: sum lambda c, sum lambda l', sum lambda l of the workload as it is."""
    rows = [(rate * c.share, c.input_length, c.decode_length) for c in workload.classes]
    return (
        sum(r * cost(i, o) for r, i, o in rows),
        sum(r * o for r, _, o in rows),
        sum(r * i for r, i, _ in rows),
    )


@given(many, rates, binnings())
def test_errors_are_those_of_the_types_against_the_workload(workload, rate, how):
    found = prompt_types(workload, rate, **how)
    tokens, outputs, inputs = sums(workload, rate)
    system = found.system(1, 0)
    assert system.arrival_rate == rate
    assert system.token_rate == tokens * (1 + found.token_rate_error)
    throughput = sum(t.arrival_rate * t.output_length for t in found.types)
    assert throughput == outputs * (1 + found.output_error)
    assert sum(t.arrival_rate * t.input_length for t in found.types) == inputs * (
        1 + found.input_error
    )


@given(many, rates, binnings())
def test_each_class_is_a_part_of_its_type(workload, rate, how):
    found = prompt_types(workload, rate, **how)
    longer, dearer = Fraction(0), Fraction(0)
    rate_of = [Fraction(0)] * len(found.types)
    for each, index in zip(workload.classes, found.type_of, strict=True):
        kind, (first, last) = found.types[index], found.bins[index]
        rate_of[index] += rate * each.share
        assert first <= each.decode_length <= kind.output_length <= last
        longer += each.share * (each.input_length > kind.input_length)
        dearer += each.share * (cost(each.input_length, each.decode_length) > kind.lifetime_cost)
    assert rate_of == [t.arrival_rate for t in found.types]
    assert (found.longer_inputs, found.dearer) == (longer, dearer)
    # A type's output occurs, and its input is the mean rounded up.
    for index, kind in enumerate(found.types):
        members = [c for c, t in zip(workload.classes, found.type_of, strict=True) if t == index]
        assert kind.output_length in [c.decode_length for c in members]
        of = workload.classes if how["common_input"] else members
        mean = sum(c.share * c.input_length for c in of) / sum(c.share for c in of)
        assert 0 <= kind.input_length - mean < 1
    key = [(t.output_length, t.input_length) for t in found.types]
    assert key == sorted(set(key))
    assert all(a[1] < b[0] for a, b in pairwise(sorted({*found.bins})))


@given(many, rates)
def test_without_bins_nothing_is_wrong(workload, rate):
    found = prompt_types(workload, rate)
    pairs = {(c.input_length, c.decode_length) for c in workload.classes}
    assert {(t.input_length, t.output_length) for t in found.types} == pairs
    errors = (found.token_rate_error, found.output_error, found.input_error)
    assert (*errors, found.longer_inputs, found.dearer) == (0,) * 5


@given(many, rates, binnings())
def test_bins_with_inputs_of_their_own_never_understate_the_load(workload, rate, how):
    found = prompt_types(workload, rate, **{**how, "common_input": False})
    assert found.token_rate_error >= 0
    assert found.output_error >= 0


def test_a_common_input_understates_the_load_where_long_inputs_have_long_outputs():
    half = Fraction(1, 2)
    workload = Workload((RequestClass(1, 1, half), RequestClass(99, 9, half)))
    found = prompt_types(workload, 2, common_input=True)
    assert [(t.input_length, t.output_length) for t in found.types] == [(50, 1), (50, 9)]
    # c: 3 and 1035 as they are; 101 and 545 at an input of 50.
    assert found.token_rate_error == Fraction(101 + 545, 3 + 1035) - 1 < 0
    assert (found.longer_inputs, found.dearer) == (half, half)
    assert found.output_error == 0


def spread(outputs):
    """Shares as the outputs are repeated; every input 1."""
    return Workload.from_lengths((1, output) for output in outputs)


def test_bins_of_equal_width_are_the_papers():
    """WAIT, section 6.2: outputs 1 to 500 in ten bins of 50."""
    found = prompt_types(spread(range(1, 501)), 500, bins=10)
    assert found.bins == tuple((first, first + 49) for first in range(1, 501, 50))
    assert [t.output_length for t in found.types] == list(range(50, 501, 50))
    assert [t.arrival_rate for t in found.types] == [50] * 10
    # Mean output 275 for 250.5.
    assert found.output_error == Fraction(275 * 2, 501) - 1


def test_a_bin_is_represented_by_the_largest_output_that_occurs():
    found = prompt_types(spread([1, 1, 12, 38, 100]), 5, ends=[10, 50, 150, 200])
    assert found.bins == ((1, 10), (11, 50), (51, 150))
    assert [(t.output_length, t.arrival_rate) for t in found.types] == [(1, 2), (38, 2), (100, 1)]
    assert found.type_of == (0, 1, 1, 2)


def test_width_that_does_not_divide_is_rounded_up_and_empty_bins_vanish():
    found = prompt_types(spread([1, 10]), 1, bins=4)  # of 3: 1-3, 4-6, 7-9, 10-12
    assert found.bins == ((1, 3), (10, 12))


@pytest.mark.parametrize(
    ("outputs", "bins", "last"),
    [
        ([1, 2, 3, 4], 2, [2, 4]),
        ([1, 2, 3, 4, 5], 2, [3, 5]),
        ([7, 7, 7, 8], 4, [7, 8]),
        ([1, 50, 50, 90], 3, [50, 90]),
        ([3], 5, [3]),
        ([1, 1, 1, 1, 1, 1, 2, 2, 3], 5, [1, 2, 3]),  # more bins than outputs
    ],
)
def test_bins_of_equal_share_end_with_the_output_that_reaches_the_share(outputs, bins, last):
    found = prompt_types(spread(outputs), 1, bins=bins, cut="share")
    assert [end for _, end in found.bins] == last


@given(many, st.integers(1, 12))
def test_no_bin_of_equal_share_holds_more_than_its_share_before_its_last_output(workload, bins):
    found = prompt_types(workload, 1, bins=bins, cut="share")
    for kind, (_, last) in zip(found.types, found.bins, strict=True):
        at_last = sum(c.share for c in workload.classes if c.decode_length == last)
        assert kind.arrival_rate - at_last < Fraction(1, bins)


@given(many, rates)
def test_one_bin_is_one_type(workload, rate):
    (kind,) = prompt_types(workload, rate, bins=1).types
    assert (kind.arrival_rate, kind.output_length) == (rate, workload.longest_decode)


def test_thousands_of_classes_are_added_as_whole_numbers(monkeypatch):
    """Fractions added one by one take seconds for a trace: at most a few a type are made here."""
    counts = {(1 + k * 7919 % 8000, 1 + k % 1999): 1 + k % 9 for k in range(20_000)}
    workload = Workload.from_counts(counts)
    assert len(workload.classes) == 20_000
    ways: list[dict[str, Any]] = [
        {"bins": 10},
        {"bins": 10, "cut": "share"},
        {"common_input": True},
    ]
    added: list[Fraction] = []
    add = Fraction.__add__
    for how in ways:
        added.clear()
        with monkeypatch.context() as patch:
            patch.setattr(Fraction, "__add__", lambda a, b: (added.append(a), add(a, b))[1])
            found = prompt_types(workload, Fraction(7, 3), **how)
        assert len(added) <= len(found.types)
        assert sum(t.arrival_rate for t in found.types) == Fraction(7, 3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rate": 0}, r"^rate: got '0'; allowed: an integer or a Fraction above 0$"),
        ({"rate": 0.5}, r"^rate: got 0.5"),
        ({"bins": 0}, r"^bins: got 0; allowed: an integer of at least 1$"),
        ({"bins": 2.0}, r"^bins: got 2.0"),
        ({"bins": True}, r"^bins: got True"),
        ({"bins": 2, "cut": "mass"}, r"^cut: got 'mass'; allowed: 'width' or 'share'$"),
        ({"bins": 2, "ends": [9]}, r"^bins: got 2; allowed: either bins or ends$"),
        ({"ends": []}, r"^ends: got \[\]; allowed: increasing outputs, the last at least .* 9$"),
        ({"ends": [4, 8]}, r"^ends: got \[4, 8\]; allowed: increasing .* 9$"),
        ({"ends": [9, 9]}, r"^ends: got \[9, 9\]"),
        ({"ends": [0, 9]}, r"^ends: got 0; allowed: an integer of at least 1$"),
        ({"ends": 9}, r"^ends: got 9; allowed: a sequence: increasing outputs$"),
    ],
)
def test_bad_input_is_one_line(arguments, message):
    with pytest.raises(InputError, match=message):
        prompt_types(spread([1, 9]), **{"rate": 1, **arguments})
