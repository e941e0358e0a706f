"""A client's file beside polled metrics: what lies between the two is part of the model."""

import json
from pathlib import Path

import numpy as np
import pytest

from fluidkv.answers import replay_log
from fluidkv.answers.replay.errors import SeriesError
from fluidkv.answers.replay.result import Replay
from fluidkv.answers.served.logged import read_server
from fluidkv.logs import read_log
from tests.answers.replay.logs import CLOCK
from tests.answers.replay.polled import write_polled
from tests.logs.columns import column, times

PAGE = Path(__file__).parents[3] / "docs" / "replay.md"


def off(answer: Replay, name: str) -> float:
    """How far the main prediction is off: rms of a series, median of relative errors of times."""
    error = answer.main.errors[name]
    assert error is not None
    return error.rmse if isinstance(error, SeriesError) else error.median_relative


@pytest.mark.parametrize("delay_s", [0.0, 0.3, 1.0])
def test_a_delay_between_client_and_scheduler_comes_back(tmp_path, delay_s) -> None:
    """To 0.05 s, a twentieth of a tick; the counts of a run of 60 requests say no more."""
    write_polled(tmp_path, delay_s=delay_s)
    log = read_log(tmp_path)
    assert log.delay_s == pytest.approx(delay_s, abs=0.05)
    answer = replay_log(tmp_path)
    assert answer.log.delay_s == log.delay_s
    assert off(answer, "running") < 1.0
    assert off(answer, "latency") < 0.04
    assert answer.to_dict()["measured"]["delay_s"] == log.delay_s


def test_counted_iterations_give_the_clock(tmp_path) -> None:
    """To 10 % of each coefficient: ticks of a second are cut at iterations of 25 ms."""
    write_polled(tmp_path)
    clock = replay_log(tmp_path).fit.clock
    ours = [clock.base, clock.per_kv_token, clock.per_prefill_token]
    truth = [CLOCK.base, CLOCK.per_kv_token, CLOCK.per_prefill_token]
    assert ours == pytest.approx(truth, rel=0.1)


@pytest.fixture
def slow_pages(tmp_path):
    """Polled from 35 s before the run on, each page up to 0.3 s late."""
    write_polled(tmp_path, delay_s=0.05, before_s=35.0, answer_s=0.3)
    return tmp_path


def test_times_are_those_of_the_run_and_not_of_the_first_poll(slow_pages) -> None:
    log = read_log(slow_pages)
    assert min(times(log, "arrival_s")) == 0
    assert 0 <= column(log, "ends_s")[0] < 1.3
    assert max(times(log, "last_token_s")) <= column(log, "ends_s")[-1] < 36


def test_replay_and_size_have_a_cost_of_prefill_from_one_folder(slow_pages) -> None:
    """Ticks with preemptions were left out, and those that stayed showed no prefill."""
    fit = replay_log(slow_pages).fit
    assert fit.clock.per_prefill_token > 0
    assert [ticks for _, ticks in fit.dropped] == [1]  # the first, of which no start is known
    clock = read_server(str(slow_pages)).clock
    assert clock is not None
    assert clock.per_prefill_token > 0


@pytest.fixture(scope="module")
def tiny(traces_dir):
    """A benchmark and a living server, with the steps of its scheduler."""
    folder = traces_dir / "vllm_cpu_tiny"
    if not folder.is_dir():
        pytest.skip(f"no {folder}")
    return folder


def test_the_estimated_delay_is_that_of_the_scheduler_s_own_steps(tiny) -> None:
    """Polls count iterations, and the scheduler wrote down how many had arrived by each."""
    log, steps = read_log(tiny), json.loads((tiny / "steps.json").read_text())
    iterations = np.cumsum(column(log, "iterations")).astype(int)
    assert iterations[-1] == len(steps["records"])
    arrived = np.array([row[steps["columns"].index("arrived")] for row in steps["records"]])
    sent = np.sort(times(log, "arrival_s"))

    def apart(delay_s: float) -> float:
        count = np.searchsorted(sent + delay_s, column(log, "ends_s"), side="right")
        return float(np.abs(count - arrived[iterations - 1]).mean())

    delays = 0.01 * np.arange(100)
    best = delays[np.argmin([apart(delay) for delay in delays])]
    assert log.delay_s == pytest.approx(best, abs=0.02)  # two of the steps that are tried
    assert apart(log.delay_s) < apart(0.0) / 2


@pytest.mark.parametrize(
    ("fit", "row"),
    [("first", (7.2, 14.7, 20.5, 29.7, 161, 14.6)), ("second", (3.7, 10.4, 10.8, 38.7, 162, 14.6))],
)
def test_the_page_has_what_the_unseen_halves_of_that_run_came_to(tiny, fit, row) -> None:
    answer = replay_log(tiny, fit=fit)
    shown = (
        off(answer, "running"),
        off(answer, "waiting"),
        100 * off(answer, "latency"),
        100 * off(answer, "ttft"),
        answer.main.preemptions,
        answer.main.duration_s,
    )
    assert shown == pytest.approx(row, abs=0.051)  # as rounded there
    assert f"| {row[2]} % |" in PAGE.read_text()
    assert answer.preemptions_seen == 158
