"""The clock of requests on that of ticks, by arrays alone."""

import tracemalloc

import numpy as np
import pytest

from fluidkv.logs.joined.lay import laying
from fluidkv.logs.log import LoggedRequests, LoggedTicks


def test_the_search_takes_no_more_memory_for_three_days() -> None:
    """570 MB where the delay is looked for minutes around each coarse step."""
    rng = np.random.default_rng(0)
    arrival = np.sort(rng.uniform(0, 3 * 86_400, 30_000))
    last = np.sort(arrival + rng.uniform(20, 60, arrival.size))
    tokens = np.ones(arrival.size, np.int64)
    requests = LoggedRequests(tokens, tokens, arrival, last_token_s=last)
    ends = np.arange(0, 3 * 86_400, 30.0) + 1000
    counted = np.searchsorted(arrival, ends - 1000) - np.searchsorted(last, ends - 1000)
    ticks = LoggedTicks(ends, counted.astype(float), np.zeros(ends.size))
    tracemalloc.start()
    found = laying(requests, ticks)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found is not None
    assert found.agrees
    assert (found.low, found.high) == pytest.approx((-1000, -1000), abs=0.1)
    assert most < 100e6
