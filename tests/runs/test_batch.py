"""Groups, threads, progress; and one value for all runs or one for each."""

from threading import get_ident

import numpy as np
import pytest

from fluidkv.errors import InputError
from fluidkv.runs.batch import Reached, Watch, go_on, in_groups
from fluidkv.runs.records import Outcome, in_windows, together
from fluidkv.runs.values import one_each


@pytest.mark.parametrize("threads", [1, 3])
def test_groups_are_found_in_order(threads: int) -> None:
    found = in_groups(lambda group: group.tolist(), 7, 3, threads, Watch())
    assert found == [[0, 1, 2], [3, 4, 5], [6]]


def test_a_raise_in_a_thread_stops_the_others() -> None:
    watch = Watch()

    def run(group: np.ndarray) -> int:
        if group[0] == 0:
            raise KeyboardInterrupt
        go_on(lambda at: Reached(at + 1, 0, 0, True), 2**60, watch)  # for ever, but for the stop
        return 0

    with pytest.raises(KeyboardInterrupt):
        in_groups(run, 4, 1, 2, watch)


def test_a_shape_is_compiled_once() -> None:
    watch, calls = Watch(), []
    for shape in (1, 2, 1, 2):
        watch.compile(shape, lambda: calls.append(get_ident()))
    assert len(calls) == 2


def test_progress_is_of_all_groups_together() -> None:
    told: list[tuple[int, int]] = []
    watch = Watch(lambda *done: told.append(done))
    for _ in range(2):
        go_on(lambda at: Reached(at + 5, at + 5, at // 5, at < 5), 100, watch)
    assert told == [(5, 0), (10, 1), (15, 1), (20, 2)]


def test_runs_of_any_length_go_into_windows() -> None:
    """Of two iterations each; a run may have none."""
    some = Outcome(np.array([[1, 5], [2, 9], [4, 7]]), np.array([1.0, 2.0, 3.5]), 2, False, None)
    none = Outcome(np.zeros((0, 2), np.int64), np.zeros(0), 0, True, None)
    found = together(in_windows(outcome, 2, peak=1) for outcome in (some, none))
    assert found.counts.tolist() == [[[3, 14], [4, 7]], [[0, 0], [0, 0]]]
    assert found.time[0].tolist() == [2.0, 3.5]
    assert np.isnan(found.time[1]).all()
    assert found.peak is not None
    assert found.peak[0].tolist() == [9, 7]
    assert (found.iterations.tolist(), found.stuck.tolist()) == ([3, 0], [False, True])


def test_what_is_single_serves_all_runs() -> None:
    found = one_each({"a": [1, 2, 3], "b": "x", "c": None, "d": np.array([4, 5, 6]), "e": (7,)})
    assert found == {
        "a": [1, 2, 3],
        "b": ["x"] * 3,
        "c": [None] * 3,
        "d": [4, 5, 6],
        "e": [7] * 3,
    }


def test_columns_of_different_lengths_are_refused() -> None:
    with pytest.raises(InputError, match="b: got '2 of them'"):
        one_each({"a": [1, 2, 3], "b": [1, 2]})
