"""Footprints: refused in one line where they are none, and what they hold."""

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

import fluidkv as fk
from fluidkv.footprints import (
    FullAttention,
    Growth,
    Hybrid,
    RecordedFootprint,
    SlidingWindow,
    StateSpace,
)

HALF = Fraction(1, 2)
NOTHING = np.zeros(0, np.int64)


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda: SlidingWindow(0), "window: got 0; allowed: an integer of at least 1"),
        (
            lambda: fk.Speculation(3, Fraction(6, 5)),
            "acceptance: got 6/5; allowed: a rational number in [0, 1]",
        ),
        (
            lambda: fk.Speculation(3, (HALF, HALF)),
            "acceptance: got (Fraction(1, 2), Fraction(1, 2)); allowed: one number, or 3, one a "
            "draft",
        ),
        (lambda: fk.Speculation(0, HALF), "drafts: got 0; allowed: an integer of at least 1"),
        (
            lambda: fk.Speculation(2, HALF, -1),
            "reserved: got -1; allowed: an integer of at least 0",
        ),
        (
            lambda: Hybrid(((HALF, FullAttention()), (Fraction(1, 3), SlidingWindow(9)))),
            "layers: got 'sum 5/6'; allowed: shares that sum to exactly 1",
        ),
        (
            lambda: Hybrid(((Fraction(0), FullAttention()), (Fraction(1), SlidingWindow(9)))),
            "layers: got 'a share of 0'; allowed: rational shares in (0, 1]",
        ),
        (lambda: StateSpace(-1), "constant: got -1; allowed: a number of at least 0"),
        (lambda: StateSpace(0), "constant: got 0; allowed: a number above 0, or per_token above 0"),
        (
            lambda: RecordedFootprint([]),
            "held: got (); allowed: what is held in at least one iteration",
        ),
        (
            lambda: RecordedFootprint([3, 0]),
            "held: got '0 in iteration 1'; allowed: tokens above 0",
        ),
        (
            lambda: RecordedFootprint([3.5]),  # pyright: ignore[reportArgumentType]
            "held[0]: got 3.5; allowed: an integer or a Fraction",
        ),
        (
            lambda: RecordedFootprint([Fraction(1, 1009), Fraction(1, 1013)]),
            "held: got 'a common denominator of 1022117'; allowed: rationals over a common "
            "denominator of at most 1,000,000",
        ),
        (
            lambda: Growth(NOTHING, NOTHING),
            "held: got 'no iteration'; allowed: what is held in at least one iteration",
        ),
        (
            lambda: Growth(np.array([4]), np.array([5]), (Fraction(0),)),
            "steps: got 'sum 0'; allowed: chances of steps of 1, 2, ... places that sum to 1, so "
            "that a request ends",
        ),
        (lambda: fk.FootprintMix([]), "parts: got (); allowed: at least one part"),
        (
            lambda: fk.RequestFootprint(5, 2, shared_prefix=6),
            "shared_prefix: got 6; allowed: an integer from 0 to the input length, 5",
        ),
        (
            lambda: fk.RequestFootprint(5, 0),
            "output_length: got 0; allowed: an integer of at least 1",
        ),
        (
            lambda: fk.RequestFootprint(5, 2, prefill_chunk=0),
            "prefill_chunk: got 0; allowed: an integer of at least 1",
        ),
        (
            lambda: fk.FullServer(fk.RequestFootprint(5, 2), 7),
            "capacity: got 7; allowed: more than 7 tokens, the most that a request holds",
        ),
    ],
)
def test_what_is_no_footprint_is_refused_in_one_line(made: Callable[[], object], said: str) -> None:
    with pytest.raises(fk.InputError) as refused:
        made()
    assert str(refused.value) == said


@pytest.mark.parametrize(
    ("footprint", "held"),
    [
        (fk.RequestFootprint(5, 3), [6, 7, 8]),
        (fk.RequestFootprint(5, 3, block=4), [8, 8, 8]),
        (fk.RequestFootprint(5, 3, shared_prefix=5), [1, 2, 3]),
        (fk.RequestFootprint(5, 1, prefill_chunk=2), [2, 4, 6]),
        # a prompt that is computed at once is held whole; then the window holds
        (fk.RequestFootprint(5, 3, attention=SlidingWindow(4)), [6, 4, 4]),
        (fk.RequestFootprint(5, 3, attention=SlidingWindow(4), prefill_chunk=2), [2, 4, 5, 4, 4]),
        # a window that does not end with a block holds one more
        (fk.RequestFootprint(5, 5, attention=SlidingWindow(4), block=4), [8, 8, 4, 8, 8]),
        (fk.RequestFootprint(5, 3, attention=StateSpace(10, 2)), [22, 24, 26]),
        (
            fk.RequestFootprint(
                5, 3, attention=Hybrid(((HALF, StateSpace(10)), (HALF, FullAttention())))
            ),
            [8, 8.5, 9],
        ),
        (RecordedFootprint([Fraction(7, 2), 4]), [3.5, 4]),
        (fk.RequestFootprint(5, 1, speculation=fk.Speculation(3, HALF)), [9]),
    ],
)
def test_what_is_held_iteration_by_iteration(footprint: fk.RequestFootprint, held: list) -> None:
    ((_, growth),) = footprint.growths
    assert (growth.start / growth.unit).tolist() == held
    assert not len(growth.held)


def test_drafts_follow_the_token_that_ends_the_prompt() -> None:
    ((_, growth),) = fk.RequestFootprint(5, 4, speculation=fk.Speculation(2, HALF)).growths
    assert growth.start.tolist() == [8]
    assert growth.held.tolist() == [9, 10, 11]
    assert growth.steps == (HALF, Fraction(1, 4), Fraction(1, 4))
    assert growth.iterations == 4


def test_drafts_that_are_always_accepted_shorten_a_life() -> None:
    ((_, growth),) = fk.RequestFootprint(5, 8, speculation=fk.Speculation(2, Fraction(1))).growths
    assert growth.iterations == 1 + 3
    assert np.array_equal(growth.start, [8])
