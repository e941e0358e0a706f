"""Where the sizes that meet what is asked begin, on drawn orders."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fluidkv.answers.size.sizes import AXES, Size, between, edge_of, spread

KV, RATE = AXES["kv"], AXES["rate"]


@given(st.lists(st.booleans(), min_size=1, max_size=12))
def test_the_edge_is_what_a_literal_reading_says(marks):
    """Marks of sizes from the hardest to the easiest, blocks 1, 2, ..."""
    met = {Size(place + 1): mark for place, mark in enumerate(marks)}
    found = edge_of(KV, met)
    if not any(marks):
        assert found is None
        return
    runs = [
        (first, last)
        for first in range(len(marks))
        for last in range(first, len(marks))
        if all(marks[first : last + 1])
        and not any(marks[max(0, first - 1) : first])
        and not any(marks[last + 1 : last + 2])
    ]
    first, last = runs[-1]
    if not marks[-1]:  # the widest, and of equal ones the easiest
        first, last = max(runs, key=lambda run: ((run[1] + 1) / (run[0] + 1), run[1]))
    assert found is not None
    assert found.answer == Size(first + 1)
    assert found.blocker == (Size(first) if first else None)
    assert found.ceiling == (None if last == len(marks) - 1 else Size(last + 1))
    others = [run for run in runs if run != (first, last)]
    assert [(a.blocks - 1, b.blocks - 1) for a, b in found.islands] == others


def test_a_slower_rate_is_the_easier_one():
    met = {Size(9, 0.5): True, Size(9, 1.0): True, Size(9, 2.0): False}
    found = edge_of(RATE, met)
    assert found is not None
    assert (found.answer, found.blocker) == (Size(9, 1.0), Size(9, 2.0))


@pytest.mark.parametrize(("low", "high", "count"), [(1, 1000, 12), (10, 14, 12), (5, 6, 3)])
def test_sizes_between_are_strictly_between(low, high, count):
    found = between(KV, Size(low), Size(high), count)
    blocks = [size.blocks for size in found]
    assert blocks == sorted(set(blocks))
    assert all(low < each < high for each in blocks)
    assert len(blocks) == min(count, high - low - 1) or high - low > count


def test_a_grid_has_both_ends():
    grid = spread(KV, Size(1), 7, 900, 6)
    assert (grid[0], grid[-1]) == (Size(7), Size(900))
