"""The pictures of a study: their numbers, what their titles claim, and that all of them draw."""

import json
import math
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from fluidkv.answers.figures.cascade import _mean_of_last
from fluidkv.answers.figures.study import study_figures
from fluidkv.answers.study.result import StudyResult
from fluidkv.answers.study.study import study_system
from fluidkv.figures import wording, write_figures
from fluidkv.figures.figure import Figure
from fluidkv.figures.render import MANIFEST, draw
from fluidkv.measured import Timeseries, compare_with_prediction, measure
from fluidkv.workload import RequestClass, System, Workload


def _equal_shares(*lengths: tuple[int, int]) -> Workload:
    return Workload(tuple(RequestClass(i, d, Fraction(1, len(lengths))) for i, d in lengths))


SYSTEMS = {
    "unstable": System(_equal_shares((2, 3)), 24),
    "slowly unstable": System(_equal_shares((50, 2), (50, 4)), 626),
    "stable": System(_equal_shares((50, 2), (50, 3)), 518),
    # V = (2, 2): the mode lies exactly at -1.
    "neutral": System(
        Workload((RequestClass(1, 1, Fraction(1, 3)), RequestClass(1, 2, Fraction(2, 3)))), 10
    ),
    "no modes": System(_equal_shares((5, 1)), 60),
    "many modes": System(_equal_shares((300, 40), (300, 99)), 10**6),
}


@cache
def study(name: str) -> StudyResult:
    return study_system(SYSTEMS[name], iterations=2000 if name == "stable" else 120)


def figure(name: str, id: str) -> Figure:
    return {figure.id: figure for figure in study_figures(study(name))}[id]


def log(running: np.ndarray, *, start: float = 0.0, rate: float = 30.0) -> Timeseries:
    """One tick a second, always a backlog, `rate` iterations a second."""
    t_s = start + np.arange(len(running), dtype=np.float64)
    return Timeseries(t_s, running, np.ones(len(running)), rate * running)


LOGS = {
    "swinging": log(300 + 40 * np.sin(np.arange(120) / 4)),
    "noise": log(300 + 10 * np.random.default_rng(1).standard_normal(120), start=1.7e9),
    "flat": log(np.full(30, 300.0)),
    "one tick": log(np.array([300.0])),
    "idle": log(np.zeros(20)),
}


def measured_figure(system: str, name: str) -> Figure:
    return study_figures(compared(system, name))[-1]


def compared(system: str, name: str) -> StudyResult:
    """The study as if the log had been given, without another simulation."""
    found = study(system).stability
    versus = compare_with_prediction(
        measure(LOGS[name]), float(found.equilibrium.in_flight), found.leading_period
    )
    return replace(study(system), comparison=versus, series=LOGS[name])


@pytest.mark.daily(2)
@pytest.mark.parametrize("name", SYSTEMS)
def test_figures_of_every_kind_of_system_draw(name: str) -> None:
    """Without a warning, which would fail the test."""
    for each in study_figures(study(name)):
        data = each.data()
        assert draw(each, data, "png").startswith(b"\x89PNG")
        assert each.caption(data).endswith(".")
        assert "\n" not in each.title


@pytest.mark.daily(6)
@pytest.mark.parametrize("name", LOGS)
@pytest.mark.parametrize("system", ["unstable", "slowly unstable", "stable", "no modes"])
def test_every_kind_of_log_draws_beside_every_prediction(system: str, name: str) -> None:
    each = measured_figure(system, name)
    data = each.data()
    assert draw(each, data, "png").startswith(b"\x89PNG")
    assert each.caption(data).endswith(".")


def test_starts_are_those_of_the_simulation() -> None:
    simulation = study("unstable").simulation
    data = figure("unstable", "perturbed_starts").data()
    columns = [name for name in data if name.startswith("in_flight_")]
    assert len(columns) == simulation.trajectories.sizes["batch"]
    np.testing.assert_array_equal(
        np.stack([data[name] for name in columns]), simulation.trajectories.in_flight
    )
    noise = simulation.trajectories.start.values == "noise, 10%"
    np.testing.assert_array_equal(
        data["evicted_noise_10_percent"],
        simulation.trajectories.evicted.values[noise].mean(axis=0),
    )


def test_cascade_is_the_first_start_and_ends_in_the_worst_case() -> None:
    run = study("unstable").simulation.trajectories.isel(batch=0)
    each = figure("unstable", "cascade")
    data = each.data()
    shown = len(data["iteration"])
    for name in ("in_flight", "empty_stages"):
        np.testing.assert_array_equal(data[name], run[name].values[:shown])
    settled = data["settled"]
    assert shown >= settled + 3 * 3
    empty = data["empty_stages"]
    assert (np.diff(empty) >= 0).all()
    np.testing.assert_array_equal(empty == 2, data["iteration"] >= settled)
    # Three whole rounds later the mean of one round is that of the worst cycle, up to rounding of
    # sums of some hundred numbers around 1; Lemma 1 by hand: (2*2 + 3 + 1) / (2 (2 + 3)).
    assert data["worst_case_ratio"] == 0.8
    assert data["throughput"][-1] == pytest.approx(0.8, rel=1e-13)
    assert f"within {settled:.0f} iterations and lose 20 %" in each.title


def test_mean_of_last_counts_what_there_is() -> None:
    values = np.array([3.0, 1.0, 2.0, 6.0])
    np.testing.assert_allclose(_mean_of_last(values, 2), [3, 2, 1.5, 4], rtol=1e-15)


@pytest.mark.parametrize(("iterations", "words"), [(2, "No eviction yet"), (22, "Evictions begin")])
def test_a_short_cascade_says_how_far_it_came(iterations: int, words: str) -> None:
    result = study_system(SYSTEMS["unstable"], iterations=iterations)
    each = {f.id: f for f in study_figures(result)}["cascade"]
    assert each.title.startswith(words)
    data = each.data()
    assert math.isnan(data["settled"])
    assert draw(each, data, "png").startswith(b"\x89PNG")


def test_cascade_is_drawn_for_equal_requests_of_two_tokens_or_more() -> None:
    assert [f.id for f in study_figures(study("no modes"))] == ["perturbed_starts", "spectrum"]
    assert [f.id for f in study_figures(study("stable"))] == ["perturbed_starts", "spectrum"]


def test_title_of_an_unstable_system_states_growth_and_period() -> None:
    """3 z^2 + 4 z + 5: modulus sqrt(5/3), angle pi - atan(sqrt(44)/4); two turns by hand."""
    period = 2 * math.pi / (math.pi - math.atan(math.sqrt(44) / 4))
    factor = (5 / 3) ** (period / 2)
    assert figure("unstable", "perturbed_starts").title == (
        f"Unstable: each swing ({period:.3g} iterations) is {factor:.3g} times as large as the last"
    )
    assert figure("unstable", "spectrum").title == (
        f"2 of 2 modes grow; the fastest turns once in {period:.3g} iterations"
    )


def test_titles_say_what_was_certified() -> None:
    # The real root -1.0194 of Example 5: 1.0194^2 = 1.039 in a turn of two.
    assert figure("slowly unstable", "perturbed_starts").title == (
        "Unstable: each swing (2 iterations) is 3.9 % larger than the last"
    )
    # Modulus 0.72084 (Example 4) and angle 0.75 pi give 0.418 in a turn.
    assert figure("stable", "perturbed_starts").title == (
        "Stable: each swing (2.67 iterations) shrinks to 42 % of the last"
    )
    for id in ("perturbed_starts", "spectrum"):
        assert "neither grow nor decay" in figure("neutral", id).title
        assert "there are no modes" in figure("no modes", id).title


@pytest.mark.parametrize(
    ("factor", "words"),
    [
        (2.0, "is 2 times as large as the last"),
        (1234.5, "is 1,234 times as large as the last"),
        (1.084, "is 8.4 % larger than the last"),
        (1.0, "is 0 % smaller than the last"),
        (0.9, "is 10 % smaller than the last"),
        (0.0146, "shrinks to 1.5 % of the last"),
    ],
)
def test_words_for_a_change(factor: float, words: str) -> None:
    assert wording._change(factor) == words


def test_caption_says_what_the_windows_hide_and_what_is_cut_off() -> None:
    """Windows of two iterations cannot follow a mode that turns in 2.67; 0.72^n soon vanishes."""
    each = figure("stable", "perturbed_starts")
    data = each.data()
    assert study("stable").simulation.trajectories.attrs["every"] == 2
    text = each.caption(data)
    assert "One point every 2 iterations" in text
    assert "faster than the points follow" in text
    assert "of 2,000, where all kinds have settled" in text
    shown = int(text.split("Shown up to iteration ")[1].split(" ")[0])
    for name in data:
        if name.startswith("in_flight_"):
            off = np.abs(data[name] - 1)
            assert off[data["iteration"] > shown].max() <= 0.01 * off.max()
    growing = figure("slowly unstable", "perturbed_starts")
    assert "settled" not in growing.caption(growing.data())


def test_gain_is_the_response_of_the_recurrence() -> None:
    """Memory made to swing at one period, recurrence (9) run until its transient is gone."""
    data = figure("stable", "spectrum").data()
    size, capacity = 0.01, 518.0
    v, alive = np.array([51.0, 52.0, 26.5]), np.array([1.0, 1.0, 0.5])  # Example 4
    x = capacity / v.sum()
    steps = 400  # 0.7208^200 is below 1e-28: the second half is the response alone
    for k in (10, 500, data["period"].size - 1):
        turn = 2 * np.pi / data["period"][k]
        a = np.full(steps, x)
        for n in range(2, steps):
            a[n] = (capacity * (1 + size * np.cos(turn * n)) - v[1:] @ a[[n - 1, n - 2]]) / v[0]
        running = np.convolve(a, alive)[:steps]
        n = np.arange(steps // 2, steps)
        basis = np.stack([np.cos(turn * n), np.sin(turn * n), np.ones(n.size)], 1)
        for series, level, name in (
            (a, x, "gain_admissions"),
            (running, x * alive.sum(), "gain_in_flight"),
        ):
            # At period 2 the sine vanishes on every n; lstsq then leaves it out.
            fitted = np.linalg.lstsq(basis, series[n], rcond=1e-9)[0]
            gain = np.hypot(fitted[0], fitted[1]) / (size * level)
            # Two float sums of some hundred terms, divided by size = 0.01.
            assert gain == pytest.approx(data[name][k], rel=1e-9)


def test_periods_run_from_two_iterations_to_ten_lifetimes() -> None:
    short = figure("stable", "spectrum").data()["period"]
    assert short[-1] == 2
    assert 30 <= short[0] < 33  # 10 d, and the next grid point
    long = figure("many modes", "spectrum").data()["period"]
    assert 99 / 33 < long[-1] <= 99 / 32
    assert (np.diff(long) < 0).all()


def test_roots_are_drawn_only_where_all_are_enclosed() -> None:
    few, many = figure("unstable", "spectrum").data(), figure("many modes", "spectrum").data()
    found = sorted(few["root_real"] + 1j * few["root_imag"], key=np.imag)
    # 3 z^2 + 4 z + 5
    exact = [(-4 - 1j * math.sqrt(44)) / 6, (-4 + 1j * math.sqrt(44)) / 6]
    np.testing.assert_allclose(found, exact, rtol=1e-14)
    assert many["root_real"].size == 0
    assert many["degree"] == 98
    assert many["leading_period"].size >= 1


@pytest.mark.parametrize("name", SYSTEMS)
def test_growing_modes_are_marked_where_they_lie(name: str) -> None:
    found, each = study(name), figure(name, "spectrum")
    data = each.data()
    marked = data["growing_real"] + 1j * data["growing_imag"]
    assert (np.abs(marked) > 1).all()
    assert len(marked) == len(found.growing_modes.modes)
    # A mirror image has no mark of its own; a real root has none.
    assert found.stability.unstable_modes == sum(1 if z.imag == 0 else 2 for z in marked)
    turns = 2 * np.pi / np.abs(np.angle(marked))
    np.testing.assert_allclose(data["growing_period"], turns, rtol=1e-12)
    assert ("growing modes (every" in each.caption(data)) == (len(marked) > 1)


def test_count_in_the_caption_is_the_certified_one() -> None:
    each = figure("unstable", "spectrum")
    assert "(exact): 2 of 2 modes outside the unit circle, 0 on it" in each.caption(each.data())
    each = figure("many modes", "spectrum")
    outside = study("many modes").stability.unstable_modes
    text = each.caption(each.data())
    assert f"(ball): {outside} of 98 modes outside the unit circle" in text
    assert "drawn from floats" in text


def test_measured_title_puts_the_numbers_side_by_side() -> None:
    # Example 5: x* = 4 of mean lifetime 3. sin(t/4) has period 8 pi, about 25.1 s.
    title = measured_figure("slowly unstable", "swinging").title
    mean = f"{measure(LOGS['swinging']).running_mean:.1f}"
    assert title.startswith(f"Predicted 12.0 requests in flight (unstable), measured {mean};")
    predicted, measured = title.split("; period ")[1].split(" against ")
    assert predicted == "0.067 s"  # 2 iterations at 30 a second
    # One tick is 1 s, and the peak is found between ticks.
    assert float(measured.removesuffix(" s")) == pytest.approx(8 * math.pi, abs=0.5)


def test_measured_title_claims_no_period_where_there_is_none() -> None:
    for name in ("noise", "flat", "one tick", "idle"):
        assert measured_figure("stable", name).title.endswith("with no clear period")
    # Where only the log has a period, nothing is held against it.
    assert "against" not in measured_figure("no modes", "swinging").title
    assert "; period 2" in measured_figure("no modes", "swinging").title


def test_mode_is_drawn_only_where_it_grows_within_reach() -> None:
    """1.0194^(30 * 95 s) is some 10^24: no small deviation; a stable mode only fades."""
    for system, words in (("slowly unstable", "is not drawn"), ("stable", "no curve is predicted")):
        each = measured_figure(system, "swinging")
        data = each.data()
        assert "mode" not in data
        assert words in each.caption(data)
    each = measured_figure("no modes", "swinging")
    assert "No period is predicted" in each.caption(each.data())


def test_a_log_is_drawn_where_its_measurement_was_given() -> None:
    drawn = [each.id for each in study_figures(compared("no modes", "swinging"))]
    assert drawn == ["perturbed_starts", "spectrum", "measured"]
    alone = replace(study("no modes"), series=LOGS["swinging"])
    assert [each.id for each in study_figures(alone)] == drawn[:2]


def test_files_and_manifest_of_a_study(tmp_path: Path) -> None:
    results = write_figures(study_figures(study("stable")), tmp_path)
    assert [r.id for r in results] == ["perturbed_starts", "spectrum"]
    written = sorted(path.name for path in tmp_path.iterdir())
    assert written == sorted([MANIFEST, *(name for r in results for name in r.files)])
    entries = json.loads((tmp_path / MANIFEST).read_text(encoding="utf-8"))["figures"]
    each = figure("stable", "spectrum")
    assert entries["spectrum"]["caption"] == each.caption(each.data())
    assert entries["perturbed_starts"]["parameters"]["seed"] == 0
