"""A benchmark's result and polled metrics, as people have them, are enough for a clock."""

import json

import numpy as np
import pytest

from fluidkv.errors import InputError
from fluidkv.logs import read_log
from fluidkv.logs.log import ServerLog
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.clock_fit.fit import fit_clock
from fluidkv.serving.clock_fit.points import tick_points
from tests.logs.columns import column, times
from tests.logs.metrics.test_metrics import wide
from tests.traces.results.written import Asked, vllm

SINCE_1970 = 1787267000.0
_SEEN = ("arrival_s", "first_token_s", "last_token_s", "input_lengths", "decode_lengths")


@pytest.fixture(scope="module")
def measured() -> ServerLog:
    return read_log("sample:vllm-rtx4090")


@pytest.fixture(scope="module")
def polled(measured, tmp_path_factory) -> ServerLog:
    """The measured run as `vllm bench serve` and a poll of /metrics would have recorded it."""
    folder = tmp_path_factory.mktemp("polled")
    of = {name: times(measured, name) for name in _SEEN}
    asked = [
        Asked(400 + sent, int(inputs), first - sent, ((last - first) / max(outputs - 1, 1),) * n)
        for sent, first, last, inputs, outputs in zip(*of.values(), strict=True)
        for n in (int(outputs) - 1,)
    ]
    (folder / "bench.json").write_text(json.dumps(vllm(asked)))
    series = {
        "vllm:num_requests_running": [0.0, *column(measured, "running")],
        "vllm:num_requests_waiting": [0.0, *column(measured, "waiting")],
        "vllm:kv_cache_usage_perc": [0.0, *column(measured, "kv_used")],
        "vllm:generation_tokens_total": np.cumsum([0, *column(measured, "generated_tokens")]),
    }
    ends = [SINCE_1970 + t for t in (0.0, *column(measured, "ends_s"))]
    wide(folder / "metrics.csv", series, times=ends)
    (folder / "meta.json").write_text('{"kv_cache": {"num_kv_tokens": 41408}}')
    return read_log(folder)


def test_their_clocks_are_laid_to_a_tenth_of_a_second(measured, polled) -> None:
    assert polled.offset_s is not None
    assert polled.offset_s[1] - polled.offset_s[0] < 0.1
    ours, theirs = (
        np.array(times(log, "arrival_s")) - column(log, "ends_s")[0] for log in (polled, measured)
    )
    assert ours == pytest.approx(theirs, abs=0.05)
    assert min(times(polled, "arrival_s")) == 0


def test_the_clock_is_that_of_the_log_with_every_time(measured, polled) -> None:
    """Without the times of scheduling it is off by half a percent, for prefill by an eighth."""
    assert measured.timed().stood_in == ()
    assert polled.timed().stood_in == ("queued_s", "scheduled_s")
    exact, ours = (fitted(log) for log in (measured, polled))
    assert ours.base == pytest.approx(exact.base, rel=0.005)
    assert ours.per_kv_token == pytest.approx(exact.per_kv_token, rel=0.01)
    assert ours.per_prefill_token == pytest.approx(exact.per_prefill_token, rel=0.15)


def fitted(log: ServerLog) -> IterationClock:
    return fit_clock(tick_points(**log.timed().clock_arrays())).clock


def test_what_stands_in_is_said_to_be_missing(polled) -> None:
    assert [each.what for each in polled.missing] == ["preemptions", "when requests were scheduled"]


def test_without_times_of_requests_nothing_stands_in(tmp_path) -> None:
    (tmp_path / "trace.csv").write_text("input_tokens,output_tokens\n3,4\n5,6\n")
    rows = "t,running,waiting,gen_throughput,kv_cache_pct\n1,1,0,5,1\n2,1,0,5,1\n"
    (tmp_path / "metrics.csv").write_text(rows)
    with pytest.raises(InputError, match="when requests arrived"):
        read_log(tmp_path).timed()
