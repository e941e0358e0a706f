"""Rows become turns, and turns ticks: each boundary belongs to one side."""

import numpy as np

from fluidkv.logs.stdout.rows import StatRow, Turns, durations_of, interval_of


def test_engines_that_print_within_two_seconds_are_one_turn() -> None:
    turns = Turns()
    for engine, at_s in (("a", 10.0), ("b", 12.0), ("c", 12.5)):
        turns.add(StatRow(1, at_s, engine, running=0, waiting=0, kv_used=0, generated=0))
    assert [list(turn) for turn in turns.turns] == [["a", "b"], ["c"]]


def test_a_gap_of_one_and_a_half_intervals_is_no_pause_yet() -> None:
    ends = np.array([0.0, 10.0, 20.0, 35.0, 51.0])
    assert interval_of(ends) == 35 / 3  # the lower median is 10: 16 is a pause
    assert interval_of(ends[[0, 1, 4]]) == 10
    assert durations_of(ends, 10.0, pauses_count=False).tolist() == [10, 10, 10, 15, 10]
    assert durations_of(ends, 10.0, pauses_count=True).tolist() == [10, 10, 10, 15, 16]
