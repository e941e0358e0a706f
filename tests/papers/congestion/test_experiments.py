"""Claims about experiments: the criteria see what they are to see, and only that."""

import numpy as np
import pytest
import xarray as xr

from fluidkv_papers.congestion.claims.experiments import (
    bursts,
    restart_resume,
    table_8,
    tables_4_5_counts,
    vidur_tables,
)
from fluidkv_papers.congestion.experiments import keeping
from fluidkv_papers.congestion.experiments.printed_tables import TABLE_6, TABLE_7


@pytest.mark.parametrize(("every", "calm"), [(1, 0), (4, 3), (8, 7), (9, 8)])
def test_calm_is_counted_between_evictions(every: int, calm: int) -> None:
    at = np.arange(200)
    found = xr.Dataset(
        {"waiting": ("window", np.ones(200)), "preempt": ("window", at % every == 0)}
    )
    assert vidur_tables.longest_calm(found) == calm


def test_calm_is_counted_in_the_second_half_while_requests_wait() -> None:
    preempt, waiting = np.zeros(200), np.zeros(200)
    waiting[:160], preempt[80:160:4] = 1, 1
    found = xr.Dataset({"waiting": ("window", waiting), "preempt": ("window", preempt)})
    assert vidur_tables.longest_calm(found) == 3


@pytest.mark.parametrize(
    ("left", "holds"), [(0.66, True), (0.85, True), (0.9, False), (0.5, False)]
)
def test_what_is_left_is_compared_as_a_factor(monkeypatch, left: float, holds: bool) -> None:
    monkeypatch.setattr(vidur_tables, "evictions", lambda case, engine: (1000.0, 1000 * left))
    assert (vidur_tables.reduction(TABLE_7).counterexample is None) is holds


def test_ten_points_off_near_a_reduction_of_all_is_seen(monkeypatch) -> None:
    monkeypatch.setattr(vidur_tables, "evictions", lambda case, engine: (1000.0, 113.0))
    assert vidur_tables.reduction(TABLE_6).counterexample is not None


def test_tail_is_the_share_of_runs_on_the_smaller_side() -> None:
    evicted = np.arange(100.0).reshape(1, 100, 1)
    assert tables_4_5_counts.least_tail(evicted, 3) == pytest.approx(0.04)  # 0, 1, 2, 3
    assert tables_4_5_counts.least_tail(evicted, 98) == pytest.approx(0.02)  # 98, 99
    assert tables_4_5_counts.least_tail(evicted, 1000) == 0


def test_a_window_that_saves_less_is_the_counterexample(monkeypatch) -> None:
    monkeypatch.setattr(bursts, "window_ratio", lambda routing, w: {1: 0.3, 2: 0.4, 5: 0.1}[w])
    assert bursts.longer_windows_help((1, 2, 5)).counterexample == "0.300 at 1, 0.400 at 2"
    assert bursts.longer_windows_help((2, 5)).counterexample is None


def test_throughput_is_over_the_steps_that_are_said(monkeypatch) -> None:
    monkeypatch.setattr(table_8, "by_run", lambda *_: np.full(4, 1.6066 * 3980))
    assert table_8.throughput(True, "1.61").counterexample is not None
    assert table_8.throughput(True, "1.61", 3980).counterexample is None


@pytest.mark.parametrize(
    ("swing", "period", "holds"), [(0.6, 64.0, True), (0.4, 64.0, False), (0.6, 69.8, False)]
)
def test_an_oscillation_needs_its_swing_and_its_period(
    monkeypatch, swing: float, period: float, holds: bool
) -> None:
    def run(swing: float, period: float) -> keeping.Kept:
        return keeping.Kept(1.0, 1.0, 0.0, 2.0, 0.0, swing, period, np.ones(1))

    runs = {"restart": run(1.0, 64.0), "vllm": run(swing, period)}
    monkeypatch.setattr(
        keeping, "runs", lambda engine, lengths: (runs[engine],) * len(keeping.INPUTS)
    )
    assert (restart_resume.oscillation_stays(keeping.ONE).counterexample is None) is holds
