"""Between two times: each convention of a `Span` on one run, by hand."""

import numpy as np
import pytest
import xarray as xr

from fluidkv.runs.measuring import (
    Span,
    completed_outputs,
    level,
    peak,
    served,
    statistics,
    times,
    total,
)

NEVER = np.nan


@pytest.fixture
def run() -> xr.Dataset:
    """Four requests; windows end at 2, 4, 6 and 8."""
    columns = {
        "arrival": [0.0, 1.0, 3.0, 5.0],
        "first_token": [2.0, 4.0, 6.0, NEVER],
        "last_token": [4.0, 8.0, 6.0, NEVER],
        "longest_gap": [2.0, 3.0, 0.0, 0.0],
        "finished": [True, True, True, False],
        "output_length": [2, 3, 1, 4],
    }
    windows = {
        "time": [2.0, 4.0, 6.0, 8.0],
        "completed": [0, 1, 1, 1],
        "waiting": [1.0, 0.0, 2.0, 1.0],
    }
    return xr.Dataset(
        {name: (("run", "request"), [values]) for name, values in columns.items()}
        | {name: (("run", "window"), [values]) for name, values in windows.items()}
    )


def values(found: xr.DataArray) -> list[float | None]:
    return [None if np.isnan(value) else value for value in found.values[0]]


def test_a_request_belongs_to_the_span_in_which_it_came(run: xr.Dataset) -> None:
    """From the first time on, to before the last."""
    assert values(times(run, "latency", Span(1, 5, end=8))) == [None, 7.0, 3.0, None]
    assert values(times(run, "ttft", Span(0, 3, end=8))) == [2.0, 3.0, None, None]


def test_or_to_the_one_in_which_its_event_came(run: xr.Dataset) -> None:
    """After the first time, up to the last."""
    assert values(times(run, "latency", Span(4, 8, by="event"))) == [None, 7.0, 3.0, None]
    assert values(times(run, "ttft", Span(2, 6, by="event"))) == [None, 3.0, 3.0, None]


def test_who_is_not_served_is_left_out_or_counts_so_far(run: xr.Dataset) -> None:
    """At 7 the second has waited 6 and the fourth 2; what comes later is not seen."""
    left_out, so_far = Span(0, 6, end=7), Span(0, 6, unserved="so far", end=7)
    assert values(times(run, "latency", left_out)) == [4.0, None, 3.0, None]
    assert values(times(run, "latency", so_far)) == [4.0, 6.0, 3.0, 2.0]
    assert served(run, so_far).values.tolist() == [[True, False, True, False]]


def test_times_between_tokens_are_of_requests_with_two(run: xr.Dataset) -> None:
    assert values(times(run, "tpot", Span(0, 9))) == [2.0, 2.0, None, None]
    assert values(times(run, "longest_gap", Span(0, 9))) == [2.0, 3.0, None, None]


def test_outputs_count_where_their_request_completes(run: xr.Dataset) -> None:
    assert completed_outputs(run, Span(4, 8)).item() == 3 + 1
    assert completed_outputs(run, Span(0, 6)).item() == 2 + 1


def test_a_window_that_is_cut_counts_whole_or_in_part(run: xr.Dataset) -> None:
    """From 3 to 7: windows to 4 and 6; or half of that, all of the next, half of the last."""
    assert total(run, "completed", Span(3, 7)).item() == 2
    assert total(run, "completed", Span(3, 7), cut="linear").item() == 0.5 + 1 + 0.5
    assert level(run, "waiting", 5.0).item() == 1.0
    assert peak(run, "waiting", Span(0, 5)).item() == 1.0


def test_statistics_are_of_the_values_that_there_are() -> None:
    found = statistics(xr.DataArray([[1.0, np.nan, 3.0], [np.nan] * 3], dims=("run", "request")))
    assert found["mean"].values[0] == found["p50"].values[0] == 2.0
    assert found["p99"].values[0] == pytest.approx(2.98)
    assert all(np.isnan(column.values[1]) for column in found.values())
