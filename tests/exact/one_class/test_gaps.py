"""Gap vectors: one canonical rotation, names, and a list that misses none and repeats none."""

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fluidkv.errors import InputError
from fluidkv.exact.one_class.gaps import (
    canonical_gaps,
    checked_gaps,
    count_gap_vectors,
    cycle_name,
    gap_vectors,
    rotational_order,
)

some_gaps = st.lists(st.integers(1, 4), min_size=1, max_size=8)


def compositions(total):
    for cuts in product((False, True), repeat=total - 1):
        ends = [0, *(place for place, cut in enumerate(cuts, start=1) if cut), total]
        yield tuple(b - a for a, b in pairwise(ends))


@given(some_gaps, st.integers(0, 7))
def test_every_rotation_has_the_same_canonical_one(gaps, turn):
    turn %= len(gaps)
    turned = gaps[turn:] + gaps[:turn]
    canonical = canonical_gaps(gaps)
    assert canonical_gaps(turned) == canonical
    assert canonical in {tuple(gaps[h:] + gaps[:h]) for h in range(len(gaps))}
    assert canonical >= tuple(turned)


@pytest.mark.parametrize(
    ("gaps", "name"),
    [
        ((1,), "fixed point"),
        ((1, 1, 1), "fixed point"),
        ((7,), "maximal-eviction cycle"),
        ((1, 3, 1, 4), "balanced cycle (4,1,3,1)"),
        ((1, 2), "balanced cycle (2,1)"),
    ],
)
def test_names(gaps, name):
    assert cycle_name(gaps) == name


def test_rotational_order():
    assert [rotational_order(g) for g in ((3,), (2, 1), (2, 2), (2, 1, 2, 1), (1,) * 5)] == [
        1,
        1,
        2,
        2,
        5,
    ]


@pytest.mark.parametrize("total", range(1, 13))
def test_listed_gap_vectors_are_those_of_all_compositions_up_to_rotation(total):
    listed = list(gap_vectors(total))
    assert len(set(listed)) == len(listed) == count_gap_vectors(total)
    assert set(listed) == {canonical_gaps(gaps) for gaps in compositions(total)}
    lengths = [len(gaps) for gaps in listed]
    assert lengths == sorted(lengths, reverse=True)


@given(st.integers(1, 12).flatmap(lambda n: st.tuples(st.just(n), st.integers(1, n))))
def test_a_number_of_live_positions_selects(total_and_live):
    total, live = total_and_live
    listed = list(gap_vectors(total, live))
    assert listed == [gaps for gaps in gap_vectors(total) if len(gaps) == live]
    assert len(listed) == count_gap_vectors(total, live)


def test_counts_of_binary_necklaces():
    # OEIS A000031 less the necklace without a bead.
    assert [count_gap_vectors(n) for n in range(1, 11)] == [1, 2, 3, 5, 7, 13, 19, 35, 59, 107]
    assert count_gap_vectors(16) == 4115


@pytest.mark.parametrize(
    "gaps", [(), (0, 3), (-1, 4), (1.0, 2), (True, 2), ("1", 2), None, 3, (1, None)]
)
def test_gaps_that_are_not_positive_integers_are_refused(gaps):
    with pytest.raises(InputError, match=r"^gaps: got .*; allowed: positive integers"):
        canonical_gaps(gaps)


def test_gaps_with_another_sum_are_refused_and_the_sum_is_said():
    with pytest.raises(InputError, match=r"sum to 9, the decode length, not to 8$"):
        checked_gaps((4, 4), 9)


def test_integers_of_numpy_are_integers():
    gaps = canonical_gaps([np.int64(1), np.int64(3)])  # pyright: ignore[reportArgumentType]
    assert gaps == (3, 1)
    assert all(type(g) is int for g in gaps)


@pytest.mark.parametrize(
    ("arguments", "name"),
    [((0,), "decode_length"), ((2.0,), "decode_length"), ((4, 0), "live"), ((4, 5), "live")],
)
def test_lengths_out_of_range_are_refused(arguments, name):
    with pytest.raises(InputError, match=f"^{name}: got"):
        list(gap_vectors(*arguments))
    with pytest.raises(InputError, match=f"^{name}: got"):
        count_gap_vectors(*arguments)
