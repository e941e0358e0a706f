"""The numbers behind Figures 4, 19, 20, 28, 29, 30, 33 and 34 against closed forms."""

from fractions import Fraction

import numpy as np
import pytest

from fluidkv.figures.figure import Figure
from fluidkv.figures.registry import select
from fluidkv_papers.congestion.figures import figure_4, figure_30

X_STAR = 1000 / 610  # M / (21 + ... + 40)


def paper_figure(number: int) -> Figure:
    return select([f"congestion_figure_{number}"])[0]


@pytest.mark.thorough
def test_collapsed_servers_are_on_the_worst_cycle():
    data = figure_4.data()
    assert data["worst"] == 2000 / (40 * 50)
    assert data["best"] == 2000 / sum(range(11, 51))
    rate = data["rate"]
    gone = data["collapsed_share"] == 1
    assert gone[rate > data["best"]].all()
    # The cycle: M / 11 requests admitted, M / 50 completed 40 iterations later, the rest evicted.
    # The window is 25 cycles; sums of a few thousand roundings of numbers below 2000.
    np.testing.assert_allclose(data["throughput"][gone], 1, rtol=0, atol=1e-9)
    evicted = float((Fraction(2000, 11) - Fraction(2000, 50)) / 40)
    np.testing.assert_allclose(data["evicted"][gone], evicted, rtol=0, atol=1e-9)


@pytest.mark.thorough
def test_nothing_waits_below_the_worst_cycle():
    data = figure_4.data()
    below = data["rate"] < 1
    assert not data["waiting"][below].max() > 0.01
    assert "no run had collapsed at λ up to 1.1" in figure_4.caption(data)


def test_the_share_of_x_star_is_that_of_the_cycles():
    data = paper_figure(20).data()
    best, seen = data["partial.best"], data["partial.seen"]
    assert np.allclose(best, [1000 / 1415, 1000 / 1925, 1000 / 1670], rtol=1e-15)
    # Cycles of whole numbers over 17, 19 and 7: rounding of a mean over 3600 iterations.
    np.testing.assert_allclose(seen, [10 / 17, 8 / 19, 4 / 7], rtol=0, atol=1e-9)
    assert data["coprime.best"][2] == 600 / 360.25


def test_the_cap_keeps_memory_below_capacity():
    data = paper_figure(28).data()
    assert data["limited.evicted"].max() == 0
    # Under the cap at most x* (22 + ... + 40) is held before admission.
    assert data["limited.memory"].max() <= X_STAR * sum(range(22, 41)) * (1 + 1e-12)
    assert data["greedy.memory"].max() > data["capacity"]


def test_below_x_star_the_cap_is_what_completes():
    data = paper_figure(29).data()
    cap, done = data["cap"], data["completed"]
    # Arrivals are lost, so an iteration completes min(A, cap), A Poisson of mean 5.
    p0, p1 = np.exp(-5.0), 5 * np.exp(-5.0)
    low = cap[cap <= 1]
    want = low * (1 - p0)
    # 8 runs of 3,980 iterations: a standard error below cap sqrt(p0 / 31,840) = 0.0005; five.
    np.testing.assert_allclose(done[: len(low)], want, rtol=0, atol=0.0025)
    at = int(np.flatnonzero(cap == data["best"])[0])
    peak = X_STAR * (1 - p0 - p1) + p1
    # One standard error is sqrt(0.032 / 31,840) = 0.001.
    assert abs(done[at] - peak) < 0.005
    assert done.argmax() == at
    assert not data["evicted"][: at + 1].any()


@pytest.mark.thorough
def test_longer_bursts_leave_less_to_mixing():
    data = figure_30.data()
    ratio = data["mixed"] / data["apart"]
    assert np.all(np.diff(ratio[2:]) < 0)
    assert ratio[-1] < 0.02


@pytest.mark.thorough
def test_the_cap_of_section_5_1_never_evicts():
    data = paper_figure(33).data()
    for routing in ("apart", "mixed"):
        assert not data[f"capped.{routing}"].any()
        assert data[f"queued.{routing}"].max() > 0
    assert np.all(data["greedy.mixed"] < data["greedy.apart"])
