"""Many systems as arrays: the same systems, checked as one is, exact, cut and combined."""

import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fluidkv import InputError, RequestClass, System, Systems, Workload, simulate
from fluidkv.systems.rationals import Rationals, rationals
from tests.small_systems import one_class
from tests.strategies import systems

HALF = Fraction(1, 2)
FEW = {"input_length": [3, 5], "decode_length": (4, 6), "share": [Fraction(1, 3), HALF]}


def _one(numerator: int, denominator: int) -> Rationals:
    return Rationals(np.array([numerator]), np.array([denominator]))


def _row(*values: int) -> np.ndarray:
    return np.array([values])


@given(st.lists(systems(), min_size=1, max_size=5))
def test_arrays_hold_the_systems_that_they_were_made_of(listed: list[System]) -> None:
    many = Systems.of(listed)
    assert list(many) == listed
    assert [many[i] for i in range(-len(many), 0)] == listed
    assert many.longest_decode.tolist() == [s.workload.longest_decode for s in listed]
    assert many.classes.tolist() == [len(s.workload.classes) for s in listed]
    assert Systems.of(many) is many
    assert pickle.loads(pickle.dumps(many)) == many


def test_a_grid_is_every_combination_with_the_last_axis_fastest() -> None:
    many = Systems.grid(**FEW, capacity=[100, Fraction(201, 2)])
    expected = [
        System(Workload((RequestClass(l0, 4, p), RequestClass(l0, 6, 1 - p))), m)
        for l0 in (3, 5)
        for p in FEW["share"]
        for m in (Fraction(100), Fraction(201, 2))
    ]
    assert list(many) == expected
    assert list(many.coords) == ["input_length", "share", "capacity"]
    assert many.coords["input_length"].values.tolist() == [3] * 4 + [5] * 4
    assert many.coords["capacity"][1:] == ("token", "KV capacity")
    assert many.described()["shares"][1].tolist()[2] == [0.5, 0.5]


def test_tuples_are_one_value_for_all_classes() -> None:
    many = Systems.grid(
        input_length=[(3, 5, 7), (2, 2, 9)],
        decode_length=8,
        share=(HALF, Fraction(1, 4)),
        capacity=90,
    )
    assert many.share.floats.tolist() == [[0.5, 0.25, 0.25]] * 2
    assert many.decode_length.tolist() == [[8, 8, 8]] * 2
    assert many.coords["input_length_2"].values.tolist() == [7, 9]


def test_a_list_goes_along_its_axes_together() -> None:
    many = Systems.listed(input_length=[3, 5], decode_length=4, capacity=np.array([20, 30]))
    assert [(s.workload.classes[0].input_length, s.capacity) for s in many] == [(3, 20), (5, 30)]
    with pytest.raises(InputError, match="input_length: got '2 values'; allowed: 1, or 3"):
        Systems.listed(input_length=[3, 5], decode_length=4, capacity=[20, 30, 40])


def test_what_is_not_varied_stays() -> None:
    system = System(Workload((RequestClass(3, 4, HALF), RequestClass(9, 2, HALF))), Fraction(77))
    many = Systems.vary(system, capacity=[77, 80])
    assert many[0] == system
    assert many[1] == System(system.workload, Fraction(80))
    with pytest.raises(InputError, match="axes: got 'capasity'"):
        Systems.vary(system, capasity=[3])


def test_parts_keep_their_coordinates() -> None:
    many = Systems.grid(**FEW, capacity=100).with_coords(rank=(range(4), "1", "rank"))
    part = many[many.coords["rank"].values % 2 == 1]
    assert list(part) == [many[1], many[3]]
    assert part.coords["rank"].values.tolist() == [1, 3]
    assert part.index.tolist() == part[:].index.tolist() == [1, 3]
    assert part == many[1::2] == many[[1, 3]]
    assert part != Systems.of(list(part), rank=[1, 3])  # it is no part, and draws other starts
    assert part != many[::2]
    with pytest.raises(InputError, match="systems: got"):
        many[4:]
    with pytest.raises(IndexError):
        many[4]


def test_arrays_of_systems_cannot_be_written_to() -> None:
    many = Systems.grid(**FEW, capacity=100)
    for array in (many.input_length, many.share.numerator, many[1:].decode_length):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_rationals_come_in_lowest_terms_and_are_never_rounded() -> None:
    third = Rationals(np.array([[2, 4]]), np.array([[6, 6]]))
    many = Systems(np.array([[1, 1]]), np.array([[2, 3]]), third, _one(10, 2))
    assert many[0].workload.classes[0].share == Fraction(1, 3)
    assert many.capacity == (5, 1)
    odd = Fraction(2**62 + 2**9 + 1, 2**62 - 1)
    assert rationals("share", [odd]).floats.tolist() == [float(odd)]
    big = 2**61 - 1  # a prime: the common denominator of these shares has 122 bits
    shares = (Fraction(1, big), Fraction(1, big - 1), 1 - Fraction(1, big) - Fraction(1, big - 1))
    with pytest.raises(InputError, match="beyond 64 bits"):
        Systems.grid(input_length=1, decode_length=2, share=shares, capacity=9)
    near = [Rationals(np.array([[1, 1, big - 2 + k]]), np.array([[big] * 3])) for k in (0, 1)]
    lengths = np.ones((1, 3), int)
    assert Systems(lengths, lengths, near[0], _one(9, 1)).classes.tolist() == [3]
    with pytest.raises(InputError, match="sum to exactly 1"):
        Systems(lengths, lengths, near[1], _one(9, 1))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"input_length": range(3)}, r"input_length: got '0 \(system 0\)'; allowed: an integer"),
        (
            {"input_length": [1, 50, 96]},
            r"capacity: got '100 \(system 2\)'; allowed: more than 101",
        ),
        ({"capacity": [1000, 99.5]}, r"capacity: got '99.5 \(value 1\)'; allowed: an integer"),
        ({"capacity": [200, "x"]}, "capacity: got"),
        ({"capacity": (100, 200)}, "capacity: got .* one number for a system"),
        ({"decode_length": []}, "decode_length: got .* at least one value"),
        ({"decode_length": [5, True]}, r"decode_length: got 'True \(value 1\)'"),
        ({"decode_length": (5, 6)}, "share: got None; allowed: the shares of 2 classes"),
        ({"decode_length": (5, 6), "share": [0.5]}, "share_from_float converts"),
        ({"decode_length": (5, 6), "share": [HALF, 1]}, r"share: got '0 \(system 1\)'"),
        ({"decode_length": (5, 6), "share": (HALF, HALF, HALF)}, "decode_length: got '2 classes'"),
        ({"decode_length": (5, 6), "share": (HALF, Fraction(1, 3))}, "system 0.*exactly 1"),
        ({"share": HALF}, "share: got .* sum to exactly 1"),
        ({"decode_length": [(5, 6), (5,)]}, "as many classes as the first"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_bad_axes_are_refused_in_one_line(given: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Systems.grid(**{"input_length": 3, "decode_length": 5, "capacity": 100} | given)


def test_empty_places_come_last_and_hold_nothing() -> None:
    one = Rationals(np.array([[1, 0]]), np.array([[1, 1]]))
    memory = _one(20, 1)
    assert len(Systems(_row(3, 0), _row(4, 0), one, memory)[0].workload.classes) == 1
    with pytest.raises(InputError, match=r"input_length: got '2 .* 0 where decode_length is 0"):
        Systems(_row(3, 2), _row(4, 0), one, memory)
    part = Rationals(np.array([[1, 0, 1]]), np.array([[2, 1, 2]]))
    with pytest.raises(InputError, match=r"decode_length: got '5 .* 0 behind a place"):
        Systems(_row(3, 0, 2), _row(4, 0, 5), part, memory)


def test_a_hundred_thousand_systems_are_arrays_alone() -> None:
    many = Systems.grid(input_length=np.arange(1, 401), decode_length=range(1, 251), capacity=1000)
    assert len(many) == 100_000
    assert many[99_999] == one_class(400, 250, 1000)


def test_what_is_beyond_64_bits_on_the_way_is_still_exact() -> None:
    with pytest.raises(InputError, match="more than 9223372036854775808 tokens"):
        Systems.grid(input_length=2**62, decode_length=2**62, capacity=100)
    first, second = Fraction(1, 2**31 - 1), 1 - Fraction(2, 2**31 - 1)
    many = Systems.grid(
        input_length=1, decode_length=(2, 3, 4), share=(first, second), capacity=9
    )  # a common denominator would be their product, of 62 bits
    assert many[0].workload.classes[2].share == first
    shares = Fraction(1, 999999999989), Fraction(1, 1000000000039)
    with pytest.raises(InputError, match="beyond 64 bits"):
        Systems.grid(input_length=1, decode_length=(2, 3, 4), share=shares, capacity=9)


def test_what_is_left_out_or_cuts_out_no_list_is_named() -> None:
    with pytest.raises(InputError, match="capacity: got None; allowed: a number, a tuple or"):
        Systems.grid(input_length=1, decode_length=2, capacity=None)
    many = Systems.grid(**FEW, capacity=100)
    for index in (None, True, np.array([[0, 1]])):
        with pytest.raises(InputError, match="a number, a slice, a mask or a list of indices"):
            many[index]  # pyright: ignore[reportArgumentType, reportCallIssue]  # on purpose


def test_coordinates_say_nothing_else_than_the_systems_and_their_results() -> None:
    many = Systems.grid(**FEW, capacity=[100])
    assert many.with_coords(capacity=[100] * 4).coords["capacity"].values.tolist() == [100] * 4
    for name in ("system", "shares", "capacity"):
        with pytest.raises(InputError, match="coords: got"):
            many.with_coords(**{name: range(4)})
    with pytest.raises(InputError, match=r"allowed: a list of values, or \(values, units, long"):
        many.with_coords(rank=(0, 1, 2, 3))
    assert many.with_coords(part=[HALF] * 4).coords["part"].values.tolist() == ["1/2"] * 4
    for name in ("evicted", "batch", "stage"):
        named = many.with_coords(**{name: range(4)})
        with pytest.raises(InputError, match=f"systems: got .*{name}"):
            simulate(named, np.zeros((1, 6)), iterations=1)
