"""The numbers behind the figures, against closed forms and second methods."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from fluidkv.answers.figures import measured_series
from fluidkv.exact.mass import iterate
from fluidkv.figures import MissingInput
from fluidkv.figures.registry import select
from fluidkv.workload import RequestClass, System, Workload
from fluidkv_papers.congestion.figures import cascades, figure_2
from fluidkv_papers.vllm.figures import measured_log

HALF = Fraction(1, 2)


@pytest.mark.parametrize(("lengths", "capacity"), [((2, 3), 518), ((2, 4), 626)])
def test_figure_2_admissions_are_those_of_the_literal_model(
    lengths: tuple[int, int], capacity: int
) -> None:
    """Recurrence (9) against execute, evict, admit on two classes: exactly equal, no eviction."""
    admitted = figure_2.admissions(lengths, 40)
    classes = tuple(RequestClass(50, length, HALF) for length in lengths)
    system = System(Workload(classes), Fraction(capacity))
    oldest = lengths[1]
    # 51 tokens for each request too many in stage 0; only class 2 is left in the oldest cohort.
    cohorts = [Fraction(5), *[Fraction(4)] * (oldest - 2), 4 - 51 / (HALF * (50 + oldest))]
    state = [[HALF * cohorts[j] for j in range(length)] for length in lengths]
    for n in range(1, 41):
        step = iterate(system, state)
        state = step.state
        assert sum(step.admitted) == admitted[n]
        assert not any(any(row) for row in step.evicted)


def test_figure_2_equilibrium_growth_and_limit() -> None:
    data = figure_2.data()
    assert data["equilibrium"] == 4
    # The real root of 51 z^3 + 52 z^2 + 26.5 z + 27 below -1; numpy is a second method, good to
    # some 1e-15 for a simple root of a cubic.
    roots = np.roots([51, 52, 26.5, 27])
    assert data["growth"] == pytest.approx(np.abs(roots).max(), rel=1e-13)
    assert abs(data["coprime"][-1] - 4) < 1e-6  # 0.7208^50 is 8e-8
    # After 50 iterations the decaying pair is down by (0.7207/1.0194)^50, some 3e-8.
    swing = abs(data["common_divisor_2"][-1] - 4)
    assert swing == pytest.approx(data["envelope"][-1], rel=1e-6)


def test_figure_8_memory_is_full_and_ends_in_the_maximal_cycle() -> None:
    data = select(["congestion_figure_8"])[0].data()
    masses = np.stack([data[f"stage_{j}"] for j in range(3)], axis=1)
    np.testing.assert_allclose(masses @ [3, 4, 5], 24, rtol=1e-15)
    for n in range(17, 25):
        j = (n - 17) % 3
        expected = np.zeros(3)
        expected[j] = 24 / (3 + j)
        np.testing.assert_array_equal(masses[n], expected)
    assert data["completed"][17:23].mean() == pytest.approx(24 / (3 * 5), rel=1e-15)


def test_figure_8_phases_are_where_the_data_puts_them() -> None:
    data = select(["congestion_figure_8"])[0].data()
    evicted = np.flatnonzero(data["evicted_tokens"])
    assert evicted[:4].tolist() == [7, 10, 13, 16]
    assert evicted[0] == cascades.FIRST_EVICTION
    # The cycle (8,0,0), (0,6,0), (0,0,4.8) starts anew right after the last of the four.
    assert data["stage_0"][cascades.WORST_CYCLE] == 8


def test_measured_log_figure_has_the_predicted_numbers(traces_dir: Path) -> None:
    """Stated for this log: 34.39 in flight, 657.8 iterations or 20.2 s, peak at 21 to 22 s."""
    data = measured_log.data()
    assert round(data["predicted_in_flight"], 2) == 34.39
    assert round(data["predicted_period_s"], 1) == 20.2
    period = data["predicted_period_s"] * data["iterations_per_s"]
    assert round(period, 1) == 657.8
    assert 21 <= data["measured_period_s"] <= 22
    # The fit can only take away variation, and a mode of this size takes away some.
    assert 0.1 < data["explained_share"] < 1
    # The caption says that the measured swings do not grow.
    assert data["spread_second_half"] < data["spread_first_half"]
    text = measured_log.caption(data)
    assert "41,408 KV tokens" in text
    assert "300 requests" in text
    assert "phase and its amplitude" in text
    assert "fitted" in text


def test_mode_fit_recovers_a_mode() -> None:
    t = np.linspace(20.0, 150.0, 131)
    mode = measured_series.Mode(20.0, 2 * np.pi / 21.0, 0.004)
    wave = mode.at(t, np.array([3.0, -1.5]))
    np.testing.assert_allclose(mode.fit(t, wave), [3.0, -1.5], rtol=1e-12)
    crest = np.exp(0.004 * 21.0)  # one turn later the same phase, grown
    assert mode.at(np.array([41.0]), np.array([1.0, 0.0]))[0] == pytest.approx(crest, rel=1e-12)


def test_missing_log_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FLUIDKV_TRACES", str(tmp_path))
    with pytest.raises(MissingInput, match="FLUIDKV_TRACES") as error:
        measured_log.data()
    assert str(tmp_path) not in str(error.value)  # the reason is the same on every machine
