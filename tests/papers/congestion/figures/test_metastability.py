"""The metastability figure: its numbers against exact values, its words against its numbers."""

import numpy as np
import pytest

from fluidkv.figures.figure import Data
from fluidkv_papers.congestion.figures import metastability
from fluidkv_papers.congestion.figures.metastability_panels import actions_panel

TINY = metastability.Size(60, 1200, 3, 80, 4, 400, 4)


@pytest.fixture(scope="module")
def data() -> Data:
    return metastability.data(TINY)


@pytest.mark.thorough
def test_bounds_are_the_exact_ones(data: Data) -> None:
    assert data["worst"] == 1
    assert data["best"] == 100 / 61
    assert set(data["collapsed"]) <= {1.0, 531 / 511}
    assert data["collapsed_share"].sum() == 1


@pytest.mark.thorough
def test_survival_falls_within_its_band(data: Data) -> None:
    for index in range(len(data["survival_rate"])):
        share, low, high = (data[f"survival_{n}_{index}"] for n in ("share", "low", "high"))
        known = ~np.isnan(share)
        assert (np.diff(share[known]) <= 0).all()
        assert (low[known] <= share[known]).all()
        assert (share[known] <= high[known]).all()
    assert (np.diff(data["hazard"]) > 0).all()  # 1.15 to 1.4: apart by factors of 3


def test_lines_over_the_load_end_where_none_collapsed(data: Data) -> None:
    for capacity in metastability._CAPACITIES:
        events = data[f"time_events_{capacity}"]
        assert (events[:-1] > 0).all()
        mean, least, most = (data[f"time_{n}_{capacity}"] for n in ("mean", "least", "most"))
        assert (least < mean).all()
        assert (mean[events > 0] < most[events > 0]).all()


def test_a_capped_server_stops_evicting_in_one_lifetime(data: Data) -> None:
    """The window of panel (e) is one lifetime, l1 = 40."""
    assert metastability._STEP == metastability._DECODE
    assert data["action_cap_last_eviction"] <= 40
    assert data["action_sequences_evicting"] == 0
    assert data["action_nothing_evicting"] == 1


def test_the_caption_says_what_the_data_says(data: Data) -> None:
    text = metastability.caption(data)
    assert "the mass model 1.00, and without evictions 1.639" in text
    for rate in data["collapsed"]:
        assert f"{rate:.3f} (" in text
    dropped = 1 - data["action_dropped_evicting"]
    assert f"{dropped:.0%} of the servers stop evicting" in text
    far = {**data, "time_least_4000": data["time_least_4000"] + 1e6}
    assert "97% (M = 4,000)" in metastability.caption(far)


def test_no_queue_is_drawn_below_zero(data: Data) -> None:
    """Also not one whose median is none: it lies on the axis and is drawn there."""
    from matplotlib.figure import Figure as Canvas

    none = {**data, "action_shed_50": np.zeros_like(data["action_shed_50"])}
    ax = Canvas().subplots()
    actions_panel(none, ax, metastability._LABELS, metastability._SHED_FOR)
    for name, label in metastability._LABELS.items():
        (line,) = (each for each in ax.get_lines() if each.get_label() == label)
        shown = np.asarray(line.get_ydata())
        np.testing.assert_array_equal(shown, none[f"action_{name}_50"][: shown.size])
    assert ax.get_ylim()[0] == 0


@pytest.mark.thorough
def test_the_same_seed_gives_the_same_numbers(data: Data) -> None:
    again = metastability.data(TINY)
    assert list(again) == list(data)
    for name, value in data.items():
        np.testing.assert_array_equal(value, again[name], err_msg=name)
