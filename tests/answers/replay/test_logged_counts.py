"""What a log counts is what is said of it: preemptions that were polled, a pool without blocks."""

import shutil

import numpy as np
import pytest

from fluidkv.answers import replay_log
from fluidkv.answers.replay.source import limits_of_source
from fluidkv.answers.served.logged import read_server
from fluidkv.errors import InputError
from fluidkv.logs import read_log
from fluidkv.logs.settings import LoggedSettings
from fluidkv.traces.samples.shipped import sample_path
from tests.logs.columns import column
from tests.logs.metrics.test_metrics import wide


@pytest.fixture(scope="module")
def polled(tmp_path_factory):
    """The log that ships, its counters polled: 5 preemptions before it, 17 in it."""
    folder, source = tmp_path_factory.mktemp("polled"), sample_path("sample:vllm-rtx4090")
    for name in ("requests.jsonl", "meta.json"):
        shutil.copy(source / name, folder / name)
    whole = read_log(source)
    ends = column(whole, "ends_s")
    series = {
        "vllm:num_requests_running": [0.0, *column(whole, "running")],
        "vllm:num_requests_waiting": [0.0, *column(whole, "waiting")],
        "vllm:kv_cache_usage_perc": [0.0, *column(whole, "kv_used")],
        "vllm:generation_tokens_total": np.cumsum([0, *column(whole, "generated_tokens")]),
        "vllm:prompt_tokens_total": np.cumsum([0, *column(whole, "prompt_tokens")]),
        "vllm:num_preemptions_total": 5 + np.linspace(0, 17, len(ends) + 1).round(),
    }
    wide(folder / "metrics.csv", series, times=[0.0, *ends])
    return folder


def test_preemptions_that_were_counted_are_no_lower_bound(polled) -> None:
    totals = read_server(str(polled)).totals
    assert (totals.preemptions, totals.counted) == (17, True)
    found = replay_log(polled)
    assert (found.preemptions_seen, found.preemptions_counted) == (17, True)


def test_a_pool_of_which_no_file_says_the_blocks(polled) -> None:
    said = LoggedSettings(capacity=41_408)
    found = limits_of_source(said, None, 16, None, None, 0.0)
    assert (found.capacity, found.block_size) == (41_408, 16)
    assert limits_of_source(said, 1_600, 16, None, None, 0.0).capacity == 1_600
    found = limits_of_source(said, None, None, None, None, 0.0)
    assert (found.capacity, found.block_size) == (41_408, 16)  # vLLM's own blocks
    with pytest.raises(InputError, match=r"capacity.*where no file says"):
        limits_of_source(LoggedSettings(), None, None, None, None, 0.0)
