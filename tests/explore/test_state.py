"""What the page can show, and what it refuses."""

from fractions import Fraction

import pytest

from fluidkv.errors import InputError
from fluidkv.exact.survival import eviction_free_equilibrium, survival_weights
from fluidkv.explore.state import LONGEST_OUTPUT, MOST_CLASSES, PageState, of_classes
from fluidkv.workload import RequestClass, Workload


def test_equal_lengths_are_one_and_parts_have_no_divisor():
    state = PageState(50, ((4, 6), (2, 2), (4, 2)), 626)
    assert state.outputs == ((2, 1), (4, 4))
    assert state.link == "in=50&out=2:1,4:4&kv=626&start=over:25&n=200"
    assert state.system().workload.classes[1].share == Fraction(4, 5)


def test_parts_are_counted_once_equal_lengths_are_one():
    assert PageState(50, ((4, 2000), (5, 2000)), 626).outputs == ((4, 1), (5, 1))
    assert PageState(50, ((4, 500), (4, 499), (5, 1)), 626).outputs == ((4, 999), (5, 1))
    with pytest.raises(InputError) as refused:
        PageState(50, ((4, 999), (4, 1000), (5, 1)), 1000)
    assert (refused.value.argument, refused.value.value) == ("parts of the load", 1999)


@pytest.mark.parametrize("start", ["over:0", "over:25", "over:12.5", "over:100000"])
def test_a_push_leaves_memory_full(start):
    state = PageState(7, ((3, 1), (5, 2)), 400, start)
    weights = survival_weights(state.system().workload)
    masses = state.masses()
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
        ((4097, ((2, 1),), 10_000), "input length"),
        ((50, ((LONGEST_OUTPUT + 1, 1),), 10_000), "output length"),
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
    ],
    ids=lambda given: str(given)[:40],
)
def test_what_is_out_of_range_is_named(given, argument):
    with pytest.raises(InputError) as refused:
        PageState(*given)
    assert refused.value.argument == argument


def test_a_workload_of_the_user_becomes_parts():
    shares = (Fraction(1, 3), Fraction(1, 6), Fraction(1, 2))
    classes = [RequestClass(30, n, p) for n, p in zip((9, 2, 5), shares, strict=True)]
    state = of_classes(Workload(tuple(classes)), Fraction(2500))
    assert state.key == "in=30&out=2:1,5:3,9:2"


def test_the_page_has_one_input_length():
    half = Fraction(1, 2)
    workload = Workload((RequestClass(30, 2, half), RequestClass(31, 3, half)))
    with pytest.raises(InputError, match="one input length"):
        of_classes(workload, Fraction(100))
