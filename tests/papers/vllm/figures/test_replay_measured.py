"""The numbers behind the picture of a replay."""

import numpy as np
import pytest

from fluidkv.answers import replay_log
from fluidkv.answers.figures.replay import replay_data, replay_figure
from fluidkv.figures import MissingInput
from fluidkv_papers.vllm.figures import replay_measured
from tests.answers.replay.logs import write_log


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
