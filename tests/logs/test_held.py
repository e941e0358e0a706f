"""KV in use that no file says: reckoned from the requests; a column of zeros is none."""

from dataclasses import replace

import numpy as np
import pytest

from fluidkv.logs import read_log
from fluidkv.logs.held import held_tokens, recorded
from tests.logs.columns import ticks_of
from tests.logs.test_vllm_folder import TICKS, write


def test_requests_hold_their_prompt_and_what_they_have_made_in_whole_blocks() -> None:
    """40 and 32 tokens in; of the outputs half, and none; the third came last and is preempted."""
    held = held_tokens(
        np.array([2.0, 5.0]),
        np.array([2.0, 0.0]),
        np.array([40, 32, 900]),
        np.array([20, 10, 10]),
        np.array([0.0, 1.0, 1.0]),
        np.array([1.0, 2.0, 1.5]),
        np.array([3.0, 4.0, 4.0]),
    )
    assert held.tolist() == [64 + 32, 0]


def test_a_counter_that_nobody_filled_in_is_not_recorded() -> None:
    zeros, running = np.zeros(2), np.array([0.0, 3.0])
    assert recorded(zeros, running) is None
    assert recorded(zeros, np.zeros(2)) is zeros
    assert recorded(None, running) is None
    assert recorded(zeros, None) is zeros
    some = np.array([0.0, 0.1])
    assert recorded(some, running) is some


def test_a_column_of_zeros_is_said_and_not_taken(tmp_path) -> None:
    zeros = [f"{tick.rpartition(',')[0]},0.0" for tick in TICKS]
    folder = write(tmp_path, ticks=zeros)
    log = read_log(folder)
    assert ticks_of(log).kv_used is None
    assert any("taken as not recorded" in note for note in log.notes)
    assert np.isnan(log.timed().kv_used).all()
    # no capacity is needed, since nothing is logged as a part of it
    held = log.timed().clock_arrays()["kv_tokens"]
    # one and two prompts of 7 and 11 tokens, each in a block of 16
    assert held.tolist() == [16, 32, 0]


def test_on_the_measured_run_it_is_off_by_two_percent() -> None:
    log = read_log("sample:vllm-rtx4090")
    run = log.timed()
    logged = run.kv_tokens
    nan = np.full(len(logged), np.nan)
    reckoned = replace(run, kv_used=nan).kv_tokens
    off = np.sqrt(((reckoned - logged) ** 2).mean()) / logged.mean()
    assert off == pytest.approx(0.02, abs=0.002)
