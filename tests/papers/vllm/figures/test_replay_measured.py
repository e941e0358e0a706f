"""The numbers behind the picture of a replay."""

import numpy as np
import pytest

from fluidkv.answers import replay_log
from fluidkv.answers.figures.replay import replay_data, replay_figure
from fluidkv.figures import MissingInput
from fluidkv_papers.vllm.figures import replay_measured
from tests.answers.replay.logs import write_log


def test_the_measured_log_has_the_numbers_of_the_page(traces_dir) -> None:
    """docs/replay.md: 3.2 %, 12.8 % and 6.6 % of the time in the second half; the periods."""
    data = replay_measured.data()
    errors = ("main_latency_error", "plain_latency_error", "baseline_latency_error")
    assert [round(100 * data[name], 1) for name in errors] == [1.2, 4.9, 2.6]
    in_half = [round(100 * data[f"{name}_in_half"], 1) for name in errors]
    assert in_half == [3.2, 12.8, 6.6]
    assert round(data["measured_period_s"], 1) == 21.2
    assert round(data["main_period_s"], 1) == 20.7
    ours, theirs = data["main_latency_s"], data["measured_latency_s"]
    assert np.median(np.abs(ours / theirs - 1)) == data["main_latency_error"]
    caption = replay_measured.FIGURE.caption(data)
    assert "off by 3.2% of the time that they spend in that half" in caption
    assert "As a share of all of a latency, the fitted half included: 1.2%" in caption
    assert "in the second half alone (93 to 166 s): 19.7 s (p = 0.144" in caption


@pytest.mark.parametrize("caching", [False, True])
def test_any_log_is_drawn(tmp_path, caching) -> None:
    write_log(tmp_path, caching=caching)
    found = replay_log(tmp_path)
    figure = replay_figure(found)
    data = figure.data()
    assert ("plain_running" in data) is caching
    assert data["main_kv_used"].max() <= 100
    assert "60 requests" in figure.caption(data)
    from matplotlib.figure import Figure as Canvas

    figure.draw(data, Canvas(layout="constrained"))


def test_without_the_log_the_figure_is_skipped(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("FLUIDKV_TRACES", str(tmp_path))
    with pytest.raises(MissingInput, match="no measured log"):
        replay_measured.data()


def test_data_holds_nothing_but_arrays_and_scalars(tmp_path) -> None:
    write_log(tmp_path)
    data = replay_data(replay_log(tmp_path))
    assert {np.ndim(value) for value in data.values()} == {0, 1}
