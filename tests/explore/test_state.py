"""What the page can show, and what it refuses."""

from fractions import Fraction

import pytest

from fluidkv.errors import InputError
from fluidkv.exact.survival import eviction_free_equilibrium, survival_weights
from fluidkv.explore.state import (
    LONGEST_INPUT,
    LONGEST_OUTPUT,
    MOST_CLASSES,
    Lengths,
    Load,
    PageState,
    lengths_of,
)
from fluidkv.workload import RequestClass, Workload
from tests.explore.cases import start_masses


def test_equal_lengths_are_one_and_parts_have_no_divisor():
    lengths = Lengths((50,), ((4, 6), (2, 2), (4, 2)))
    assert lengths.outputs == ((2, 1), (4, 4))
    state = PageState(lengths, 626)
    assert state.link == "in=50&out=2:1,4:4&kv=626&start=over:25&n=200"
    assert state.system().workload.classes[1].share == Fraction(4, 5)


def test_parts_are_counted_once_equal_lengths_are_one():
    assert Lengths((50,), ((4, 2000), (5, 2000))).outputs == ((4, 1), (5, 1))
    assert Lengths((50,), ((4, 500), (4, 499), (5, 1))).outputs == ((4, 999), (5, 1))
    with pytest.raises(InputError) as refused:
        Lengths((50,), ((4, 999), (4, 1000), (5, 1)))
    assert (refused.value.argument, refused.value.value) == ("parts of the load", 1999)


@pytest.mark.parametrize("start", ["over:0", "over:25", "over:12.5", "over:100000"])
def test_a_push_leaves_memory_full(start):
    state = PageState(Lengths((7,), ((3, 1), (5, 2))), 400, start)
    weights = survival_weights(state.system().workload)
    masses = start_masses(state)
    held = sum((v * y for v, y in zip(weights.memory, masses, strict=True)), Fraction(0))
    assert held == state.capacity * weights.denominator
    assert min(masses) >= 0
    rate = eviction_free_equilibrium(state.system()).rate
    share = Fraction(start.partition(":")[2]) / 100
    most = Fraction(state.capacity * weights.denominator, weights.memory[0])
    assert masses[0] == min(rate * (1 + share), most)


@pytest.mark.parametrize(
    ("given", "argument"),
    [
        ((0, ((2, 1),), 100), "input length"),
        ((LONGEST_INPUT + 1, ((2, 1),), 200_000), "input length"),
        ((50, ((LONGEST_OUTPUT + 1, 1),), 50_000), "output length"),
        ((50, ((2, 0),), 10_000), "parts of the load"),
        ((50, ((2, 1001), (3, 1)), 10_000), "parts of the load"),
        ((50, (), 10_000), "classes"),
        ((50, ((2, 1),) * (MOST_CLASSES + 1), 10_000), "classes"),
        ((50, ((2, 1),), 52), "capacity"),
        ((50, ((2, 1),), 10_000_001), "capacity"),
        ((50, ((2, 1),), 100, "over:25", 9), "iterations"),
        ((50, ((2, 1),), 100, "over:-1"), "start"),
        ((50, ((2, 1),), 100, "over:1e3"), "start"),
        ((50, ((2, 1),), 100, "list:1"), "start"),
        ((50, ((2, 1),), 100, "list:2,1"), "start"),
        ((50, ((2, 1),), 100, "full"), "start"),
        ((50, ((2, 1),), 100, "empty", 50, (0, 100)), "window"),
        ((50, ((2, 1),), 100, "empty", 50, (9, 101)), "window"),
        ((50, ((2, 1),), 100, "empty", 50, None, (9, 50)), "drafts"),
        ((50, ((2, 1),), 100, "empty", 50, None, (1, -1)), "drafts"),
        ((50, ((2, 1),), 56, "empty", 50, None, (4, 50)), "capacity"),
        ((50, ((2, 1),), 100, "list:1,0", 50, (9, 100)), "start"),
    ],
    ids=lambda given: str(given)[:40],
)
def test_what_is_out_of_range_is_named(given, argument):
    input_length, outputs, *rest = given
    with pytest.raises(InputError, match=f"^{argument}: "):
        PageState(Lengths((input_length,), outputs), *rest)


def test_a_workload_of_the_user_becomes_parts():
    shares = (Fraction(1, 3), Fraction(1, 6), Fraction(1, 2))
    classes = [RequestClass(30, n, p) for n, p in zip((9, 2, 5), shares, strict=True)]
    state = PageState(lengths_of(Workload(tuple(classes))), 2500)
    assert state.key == "in=30&out=2:1,5:3,9:2"


def test_input_lengths_that_differ_stand_beside_their_outputs():
    half = Fraction(1, 2)
    workload = Workload((RequestClass(31, 3, half), RequestClass(30, 2, half)))
    state = PageState(lengths_of(workload), 100)
    assert state.key == "in=30,31&out=2:1,3:1"
    assert set(state.system().workload.classes) == set(workload.classes)


def test_what_requests_hold_is_of_the_verdict_and_of_the_link():
    state = PageState(Lengths((50,), ((9, 1),)), 626, "empty", 50, (40, 50), (3, 60))
    assert state.key == "in=50&out=9:1&window=40:50&drafts=3:60"
    assert state.link == "in=50&out=9:1&kv=626&start=empty&n=50&window=40:50&drafts=3:60"
    (_, growth), *_ = state.server().footprint.growths
    assert growth.steps == tuple(Fraction(n, 125) for n in (50, 30, 18, 27))
    assert Fraction(int(growth.start[0]), growth.unit) == 54


def test_a_load_is_named_and_has_limits():
    load = Load("yours", Workload.from_lengths([(10, 4), (10, 4), (12, 5)]), "log.csv")
    assert load.counts == [[10, 4, 2], [12, 5, 1]]
    assert PageState(load, 100).link == "load=yours&kv=100&start=over:25&n=200"
    with pytest.raises(InputError, match="1 to 32,768 tokens of output"):
        Load("yours", Workload.from_lengths([(10, LONGEST_OUTPUT + 1)]), "")
